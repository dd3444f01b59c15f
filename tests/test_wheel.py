"""The package as users get it: the wheel, without extras, in an environment that has nothing else."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LOG = "arm,reward,dollars\n" + "".join(f"a,{0.5 + i / 50},0.2\nb,{1.5 + i / 50},1.6\n" for i in range(20))
IDENTIFY = """
import bestmix as bm
inst = bm.Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=0.1, sigma_cost=0.1)
print(*bm.identify(inst.problem, inst.sampler(seed=1), budget=300).support)
"""
EXTRAS = {  # a command that needs it, and the extra that its sentence names
    "plots": ["solve", "log.csv", "--bound", "dollars=1", "--figure", "figure.png"],
    "frames": ["solve", "log.parquet", "--bound", "dollars=1"],
    "dask": ["sweep", "grid.toml", "--cluster", "tcp://127.0.0.1:1"],
    "postgres": ["experiment", "list", "postgresql://127.0.0.1:1/nothing"],
    "service": ["serve"],
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with an environment ``env`` in which only the wheel and what it asks for are installed."""
    folder = tmp_path_factory.mktemp("wheel")
    build = "from hatchling.build import build_wheel; print(build_wheel(__import__('sys').argv[1]))"
    made = subprocess.run(
        [sys.executable, "-c", build, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    venv.create(folder / "env", with_pip=True)
    pip = [folder / "env/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, folder / made.stdout.strip().splitlines()[-1]], check=True, capture_output=True, cwd=folder)
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


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_sentence_for_a_missing_extra(installed, extra):
    done = run(installed, "bestmix", *EXTRAS[extra])
    assert done.returncode != 0
    assert f"install bestmix[{extra}]" in done.stderr
    assert "Traceback" not in done.stderr
