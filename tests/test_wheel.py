"""The package as users get it: the wheel, without extras, in an environment that has nothing else."""

import os
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LOG = "arm,reward,dollars\n" + "".join(f"a,{0.5 + i / 50},0.2\nb,{1.5 + i / 50},1.6\n" for i in range(20))
IDENTIFY = """
import bestmix as bm
inst = bm.Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=0.1, sigma_cost=0.1)
print(*bm.identify(inst.problem, inst.sampler(seed=1), budget=300).support)
"""
SIMULATE = """
import bestmix as bm
result = bm.simulate(bm.catalog.load("D2P"), bm.SFSR(), budget=4_000, runs=200, seed=1)
print(result.errors, result.loss)
"""
EXTRAS = {  # a command that needs it, and the extra that its sentence names
    "plots": ["solve", "log.csv", "--bound", "dollars=1", "--figure", "figure.png"],
    "frames": ["solve", "log.parquet", "--bound", "dollars=1"],
    "dask": ["sweep", "grid.toml", "--cluster", "tcp://127.0.0.1:1"],
    "postgres": ["experiment", "list", "postgresql://127.0.0.1:1/nothing"],
    "service": ["serve"],
}


def requirements(dist, found):
    """The names of what it asks for without extras, and of what those ask for."""
    for asked in map(Requirement, dist.requires or []):
        name = canonicalize_name(asked.name)
        if name not in found and (asked.marker is None or asked.marker.evaluate({"extra": ""})):
            found.add(name)
            requirements(distribution(name), found)
    return found


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with an environment ``env`` that has the wheel's files and links to what it asks for, and nothing else.

    That pip installs it, how long that takes and how large it is: ``python -m bench install``.
    """
    folder = tmp_path_factory.mktemp("wheel")
    build = "from hatchling.build import build_wheel; print(build_wheel(__import__('sys').argv[1]))"
    made = subprocess.run(
        [sys.executable, "-c", build, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    venv.create(folder / "env")
    (site,) = (folder / "env/lib").glob("python3*/site-packages")
    with zipfile.ZipFile(folder / made.stdout.strip().splitlines()[-1]) as wheel:
        wheel.extractall(site)
    (metadata,) = site.glob("bestmix-*.dist-info")
    asked = requirements(Distribution.at(metadata), {"bestmix"}) - {"bestmix"}
    for name in asked:
        for top in {file.parts[0] for file in distribution(name).files if file.parts[0] != ".."}:
            if not (site / top).exists():
                (site / top).symlink_to(distribution(name).locate_file(top))
    script = folder / "env/bin/bestmix"
    script.write_text(f"#!{folder}/env/bin/python\nfrom bestmix.cli import main\nmain()\n")
    script.chmod(0o755)
    (folder / "log.csv").write_text(LOG)
    (folder / "log.parquet").write_bytes(b"PAR1")
    (folder / "grid.toml").write_text('instances = ["A1"]\nstrategies = ["uniform"]\nbudgets = [100]\nruns = 10\n')
    return folder


def run(folder, *words):
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [folder / "env/bin" / words[0], *words[1:]], cwd=folder, env=clean, capture_output=True, text=True
    )


def test_solve_and_identify(installed):
    done = run(installed, "bestmix", "solve", "log.csv", "--bound", "dollars=1")
    assert done.returncode == 0, done.stderr
    assert "Mix" in done.stdout
    assert run(installed, "python", "-c", IDENTIFY).stdout.split() == ["arm0", "arm1"]


def test_the_demo_without_figures(installed):
    done = run(installed, "bestmix", "demo", "--output", "demo", "--budget", "60")
    assert done.returncode == 0, done.stderr
    assert "codec" in (installed / "demo/report.html").read_text()


def test_simulations_without_the_extra_for_speed(installed):
    """The same figures as with machine code, in plain Python, with a sentence where that takes long."""
    done = run(installed, "python", "-c", SIMULATE)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Numba is not installed") == done.stderr.count("install bestmix[fast]") == 1
    compiled = subprocess.run([sys.executable, "-c", SIMULATE], capture_output=True, text=True, check=True)
    assert done.stdout == compiled.stdout != ""
    assert "Numba is not installed" not in compiled.stderr


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_sentence_for_a_missing_extra(installed, extra):
    done = run(installed, "bestmix", *EXTRAS[extra])
    assert done.returncode != 0
    assert f"install bestmix[{extra}]" in done.stderr
    assert "Traceback" not in done.stderr
