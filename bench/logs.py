"""Logs of a million rows: read and solved against a twin that holds every cell as a Python object."""

import csv
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from bench.timing import Figure, in_turns
from bestmix import Problem, from_log
from bestmix.answers import bootstrap as module
from bestmix.answers.bootstrap import bootstrap
from bestmix.answers.logs.tables import read_trials

TITLE = "Logs of a million rows: CPU time and memory"
ARMS = 10
NAMES = {"reward": "quality", "bounds": {"dollars": 1.0}}
COMMAND = """
import os, resource, sys
sys.argv = ["bestmix", "solve", {path!r}, "--reward", "quality", "--bound", "dollars=1", "--json"]
from bestmix.cli import main
try:
    main()
finally:
    print(sum(os.times()[:2]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, file=sys.stderr)
"""


def measure(quick: bool) -> list[Figure]:
    rows, rounds = (100_000, 2) if quick else (1_000_000, 2)
    with tempfile.TemporaryDirectory() as folder:
        paths = write(Path(folder), rows)
        commands = [figure for path in paths for figure in command(path, rounds)]
        return [*commands, *reading(paths, rounds), *redrawing(paths[1], 3 if quick else 10, rounds)]


def write(folder: Path, rows: int) -> list[Path]:
    rng = np.random.default_rng(0)
    arms = rng.integers(ARMS, size=rows)
    means, prices = rng.random(ARMS), 2 * rng.random(ARMS)
    names = pyarrow.array([f"model-{i}" for i in range(ARMS)])
    table = pyarrow.table(
        {
            "arm": names.take(pyarrow.array(arms)),
            "prompt": pyarrow.array(np.arange(rows)).cast(pyarrow.string()),
            "quality": means[arms] + 0.3 * rng.normal(size=rows),
            "dollars": prices[arms] * rng.lognormal(-0.5, 1.0, size=rows),
        }
    )
    paths = [folder / "log.csv", folder / "log.parquet"]
    arrow_csv.write_csv(table, paths[0])
    parquet.write_table(table, paths[1])
    return paths


def command(path: Path, rounds: int) -> list[Figure]:
    """``bestmix solve`` in a process of its own."""
    code, found = COMMAND.format(path=str(path)), []
    for _ in range(rounds):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        found.append([float(word) for word in done.stderr.splitlines()[-1].split()])
    seconds, megabytes = np.min(found, axis=0)
    return [
        Figure(
            f"bestmix solve {path.name}, CPU", seconds, "s", 2.0, at_most=True, note="depends on the machine's load"
        ),
        Figure(f"bestmix solve {path.name}, memory at most", megabytes, "MB", 300.0, at_most=True),
    ]


def reading(paths: list[Path], rounds: int) -> list[Figure]:
    """Tables by arm from a file in blocks, against all cells as Python objects."""
    twins = (cells_of_csv, cells_of_parquet)
    figures = []
    for path, cells, target in zip(paths, twins, (3.4, 2.4), strict=True):
        actions = [lambda path=path: read(path), lambda path=path, cells=cells: by_rows(cells(path))]
        fast, slow = in_turns(actions, rounds, time.process_time).min(axis=0)
        note = f"{fast:.2f} s against {slow:.2f} s"
        figures.append(Figure(f"{path.name}: row by row / in blocks", slow / fast, "x", target, note=note))
    return figures


def read(path: Path) -> dict[str, np.ndarray]:
    return read_trials(path, "arm", "quality", ["dollars"])


def cells_of_csv(path: Path) -> dict[str, list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    return {name: [row[k] for row in rows] for k, name in enumerate(header)}


def cells_of_parquet(path: Path) -> dict[str, list[object]]:
    return parquet.read_table(path).to_pydict()


def by_rows(columns: dict[str, list]) -> dict[str, np.ndarray]:
    """Tables by arm, a row at a time."""
    values = np.array([[number(v) for v in columns[name]] for name in ("quality", "dollars")]).T
    found: dict[str, list[int]] = {}
    for row, arm in enumerate(columns["arm"]):
        found.setdefault(str(arm), []).append(row)
    return {arm: values[rows] for arm, rows in found.items()}


def number(value: object) -> float:
    return math.nan if str(value) in ("", "nan", "None") else float(value)


def redrawing(path: Path, resamples: int, rounds: int) -> list[Figure]:
    """The bootstrap, against redrawing every row; and how far their shares are apart."""
    trials = read(path)
    problem, tables = Problem(list(trials), NAMES["bounds"]), list(trials.values())
    support = from_log(path, **NAMES).support

    def fast() -> float:
        return bootstrap(problem, tables, support, 100 * resamples, seed=0)

    def slow() -> float:
        return all_rows(problem, tables, support, resamples, seed=0)

    seconds = in_turns([fast, slow], rounds, time.process_time).min(axis=0)
    again = seconds[1] * 100 / seconds[0]
    note = f"{100 * resamples:,} logs in {seconds[0]:.2f} s; {resamples} with all rows redrawn in {seconds[1]:.2f} s"
    return [
        Figure("bootstrap: every row redrawn / far rows redrawn", again, "x", 11.0, note=note),
        agreement(resamples),
    ]


def all_rows(problem: Problem, tables: list[np.ndarray], support: tuple[str, ...], resamples: int, seed: int) -> float:
    before, module.FAR_ROWS = module.FAR_ROWS, max(map(len, tables))
    try:
        return bootstrap(problem, tables, support, resamples, seed)
    finally:
        module.FAR_ROWS = before


def agreement(resamples: int) -> Figure:
    """Two arms of heavy-tailed costs at their bound: the share of one support, both ways."""
    rng = np.random.default_rng(7)
    tables = [np.column_stack([rng.normal(m, 1.0, 5000), rng.lognormal(0.0, 1.5, 5000)]) for m in (1.0, 1.1)]
    problem, count = Problem(["a", "b"], {"x": float(tables[1][:, 1].mean())}), 200 * resamples
    shares = bootstrap(problem, tables, ("b",), count, 1), all_rows(problem, tables, ("b",), count, 2)
    share = np.mean(shares)
    errors = abs(shares[0] - shares[1]) / math.sqrt(2 * share * (1 - share) / count)
    note = f"{shares[0]:.3f} and {shares[1]:.3f} of {count:,} logs each, heavy-tailed costs at their bound"
    return Figure("bootstrap: difference in standard errors", errors, "", 3.0, at_most=True, note=note)
