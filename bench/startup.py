"""Starting up: imports, the command's help, and machine code that is kept for the next start."""

import statistics
import subprocess
import sys
import tempfile
import time
from os import environ
from pathlib import Path

from bench.timing import Figure

TITLE = "Starting up, each time in a fresh interpreter"
COMMAND = Path(sys.executable).parent / "bestmix"
TRIALS = "arm,quality,dollars\n" + "".join(
    f"{name},{quality + 0.1 * k:.2f},{dollars + 0.2 * k:.2f}\n"
    for name, quality, dollars in (("small", 0.3, 0.5), ("medium", 0.6, 1.5), ("large", 0.9, 4.0))
    for k in range(5)
)
HELP = """
import sys
sys.argv = ["bestmix", "--help"]
from bestmix.cli import main
try:
    main()
finally:
    print(*(name for name in ("numba", "matplotlib") if name in sys.modules), file=sys.stderr)
"""


def measure(quick: bool) -> list[Figure]:
    return [*imports(3 if quick else 7), help_is_light(), *second_start(1 if quick else 3)]


def imports(rounds: int) -> list[Figure]:
    statements = {
        "import numpy": None,
        "import bestmix": 0.15,
        "from bestmix import Instance, Problem, catalog, noise": 0.15,
        "from bestmix import SFSR, identify, simulate, solve": None,
    }
    seconds = {s: [] for s in statements}
    for _ in range(rounds):
        for statement, found in seconds.items():
            found.append(import_seconds(statement))
    median = {s: statistics.median(found) for s, found in seconds.items()}
    base = median["import numpy"]
    return [
        Figure(
            f"{s}, minus import numpy", median[s] - base, "s", target, at_most=True, note=f"{median[s]:.3f} s in all"
        )
        for s, target in list(statements.items())[1:]
    ]


def import_seconds(statement: str) -> float:
    code = f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def help_is_light() -> Figure:
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - start
    loaded = done.stderr.split()
    assert "Usage" in done.stdout
    note = f"loads {' and '.join(loaded)}" if loaded else f"neither numba nor matplotlib; {seconds:.2f} s"
    return Figure("bestmix --help, heavy modules loaded", float(len(loaded)), "", 0.0, at_most=True, note=note)


def second_start(rounds: int) -> list[Figure]:
    """``bestmix solve`` twice with an empty cache of machine code; the second must not compile."""
    first, second, compiled = [], [], 0
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            trials, cache = Path(folder) / "trials.csv", Path(folder) / "cache"
            trials.write_text(TRIALS)
            first.append(solve_seconds(trials, cache))
            before = contents(cache)
            assert before, "the first start compiled nothing"
            second.append(solve_seconds(trials, cache))
            compiled += len(set(contents(cache)) - set(before))
    once, again = statistics.median(first), statistics.median(second)
    note = f"{once:.1f} s, then {again:.1f} s"
    return [
        Figure("bestmix solve, first start against second", once / again, target=2.0, note=note),
        Figure("functions that the second start compiles", float(compiled), "", 0.0, at_most=True),
    ]


def solve_seconds(trials: Path, cache: Path) -> float:
    arguments = [COMMAND, "solve", trials, "--reward", "quality", "--bound", "dollars=2"]
    start = time.perf_counter()
    subprocess.run(arguments, env=environ | {"NUMBA_CACHE_DIR": str(cache)}, capture_output=True, check=True)
    return time.perf_counter() - start


def contents(folder: Path) -> list[tuple[str, int, int]]:
    """Name, time and size of every file."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files]
