"""Starting up: imports, the command's help, and machine code that is kept for the next start."""

import statistics
import subprocess
import sys
import tempfile
import time
from os import environ, times
from pathlib import Path
from typing import NamedTuple

from bench.timing import Figure
from bestmix import Instance

TITLE = "Starting up, each time in a fresh interpreter"
TRIALS = "arm,quality,dollars\n" + "".join(
    f"{name},{quality + 0.1 * k:.2f},{dollars + 0.2 * k:.2f}\n"
    for name, quality, dollars in (("small", 0.3, 0.5), ("medium", 0.6, 1.5), ("large", 0.9, 4.0))
    for k in range(5)
)
PROBLEM = """
arms = ["small", "large"]
[bounds]
dollars = 2.0
"""
TRIAL = """echo '{"reward": 0.5, "costs": {"dollars": 1.0}}'"""
HELP = """
import sys
sys.argv = ["bestmix", "--help"]
from bestmix.cli import main
try:
    main()
finally:
    print(*(name for name in ("numba", "matplotlib") if name in sys.modules), file=sys.stderr)
"""
CPU_AND_NUMBA = 'print(sum(os.times()[:4]), "numba" in sys.modules, file=sys.stderr)'
CLI = f"""
import os, sys
sys.argv = ["bestmix", *{{words}}]
from bestmix.cli import main
try:
    main()
finally:
    {CPU_AND_NUMBA}
"""
IDENTIFY = f"""
import os, sys
import numpy as np
from bestmix import Instance, identify
rng = np.random.default_rng(0)
instance = Instance(rng.random(16), 2 * rng.random((1, 16)), [1.0], sigma_reward=0.5, sigma_cost=0.5)
identify(instance.problem, instance.sampler(seed=1), budget=2000)
{CPU_AND_NUMBA}
"""
LOG = ["--reward", "quality", "--bound", "dollars=2"]
COMMANDS = {
    "bestmix solve": ["solve", "trials.csv", *LOG],
    "bestmix tradeoff": ["tradeoff", "trials.csv", *LOG, "--cost", "dollars"],
    "bestmix explain": ["explain", "trials.csv", *LOG],
    "bestmix limit": ["limit", "trials.csv", *LOG],
    "bestmix gaps": ["gaps", "guess.toml"],
    "bestmix demo": ["demo", "--budget", "100", "--output", "demo"],
    "bestmix run": ["run", "problem.toml", "--budget", "60", "--exec", "sh trial.sh {arm}", "--state", "run.json"],
    "bestmix experiment create": ["experiment", "create", "store.db", "router", "problem.toml", "--budget", "60"],
    "bestmix compare D2P": ["compare", "D2P", "--strategy", "sfsr"],
    "bestmix plan": ["plan", "trials.csv", *LOG],
    "bestmix plan D2P": ["plan", "D2P"],
}
MOST_SECONDS = {  # of CPU, in the first start
    "identify, 16 arms, 1 cost, 2,000 trials": 2.0,
    **dict.fromkeys(COMMANDS),
    "bestmix solve": 2.0,
    "bestmix compare D2P": 12.0,
    "bestmix plan": 25.0,
}


def measure(quick: bool) -> list[Figure]:
    return [*imports(3 if quick else 7), help_is_light(), *starts(1 if quick else 3)]


def imports(rounds: int) -> list[Figure]:
    """CPU time of statements; where they load NumPy, which anybody has to wait for, beyond NumPy's own."""
    statements = {
        "import numpy": None,
        "import bestmix": 0.15,
        "from bestmix import Instance, Problem, catalog, noise": 0.15,
        "from bestmix import SFSR, identify, simulate, solve": None,
    }
    seconds: dict[str, list[float]] = {s: [] for s in statements}
    loads: dict[str, bool] = {}
    for _ in range(rounds):
        for statement, found in seconds.items():
            cpu, loads[statement] = import_cpu(statement)
            found.append(cpu)
    median = {s: statistics.median(found) for s, found in seconds.items()}
    base, figures = median["import numpy"], []
    for s, target in list(statements.items())[1:]:
        name, own = (f"{s}, minus import numpy", median[s] - base) if loads[s] else (s, median[s])
        note = f"{median[s]:.3f} s in all" if loads[s] else "without NumPy"
        figures.append(Figure(f"{name}, CPU", own, "s", target, at_most=True, note=note))
    return figures


def import_cpu(statement: str) -> tuple[float, bool]:
    """Seconds of CPU that a statement takes in a fresh interpreter, and whether it loads NumPy."""
    code = (
        f"import sys, time; start = time.process_time(); {statement}; "
        "print(time.process_time() - start, 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    cpu, numpy = done.stdout.split()
    return float(cpu), numpy == "True"


def help_is_light() -> Figure:
    before = sum(times()[2:4])
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    seconds = sum(times()[2:4]) - before
    loaded = done.stderr.split()
    assert "Usage" in done.stdout
    note = f"loads {' and '.join(loaded)}" if loaded else f"neither numba nor matplotlib; {seconds:.2f} s of CPU"
    return Figure("bestmix --help, heavy modules loaded", float(len(loaded)), "", 0.0, at_most=True, note=note)


def starts(rounds: int) -> list[Figure]:
    return [figure for name, target in MOST_SECONDS.items() for figure in cold_and_warm(name, target, rounds)]


def cold_and_warm(name: str, target: float | None, rounds: int) -> list[Figure]:
    """A start twice with a cache of machine code that is empty at first: CPU time, and whether Numba is loaded."""
    first, second, compiled = [], [], 0
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            cache = Path(folder) / "cache"
            first.append(start(name, with_files(Path(folder) / "first"), cache))
            before = contents(cache)
            second.append(start(name, with_files(Path(folder) / "second"), cache))
            compiled += len(set(contents(cache)) - set(before))
    cold, warm = min(first), min(second)
    numba = "loads Numba" if cold.numba else "without Numba"
    note = f"{numba}; {cold.wall:.1f} s on the clock; again {warm.cpu:.1f} s, {warm.wall:.1f} s on the clock"
    return [
        Figure(f"{name}, first start, CPU", cold.cpu, "s", target, at_most=True, note=note),
        Figure(f"{name}, functions that the second start compiles", float(compiled), "", 0.0, at_most=True),
    ]


class Start(NamedTuple):
    """CPU and wall seconds of a process, and whether it loaded Numba."""

    cpu: float
    wall: float
    numba: bool


def with_files(folder: Path) -> Path:
    """A new folder with what the commands read."""
    folder.mkdir()
    (folder / "trials.csv").write_text(TRIALS)
    (folder / "problem.toml").write_text(PROBLEM)
    (folder / "trial.sh").write_text(TRIAL)
    Instance([1.7, 2.6, 2.1], [[0.0, 1.8, 1.3]], [1.0], sigma_cost=0.5).save(folder / "guess.toml")
    return folder


def start(name: str, folder: Path, cache: Path) -> Start:
    code = CLI.format(words=COMMANDS[name]) if name in COMMANDS else IDENTIFY
    env, began = environ | {"NUMBA_CACHE_DIR": str(cache)}, time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr}")
    cpu, numba = done.stderr.splitlines()[-1].split()
    return Start(float(cpu), time.perf_counter() - began, numba == "True")


def contents(folder: Path) -> list[tuple[str, int, int]]:
    """Name, time and size of every file."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files]
