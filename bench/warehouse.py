"""Logs that nobody moves: sums of a billion rows, and Parquet files added up by DuckDB against DuckDB alone."""

import shutil
import tempfile
import time
from fractions import Fraction
from functools import partial
from pathlib import Path

import duckdb
import numpy as np

from bench.timing import Figure, fastest, in_turns
from bestmix import from_log, from_sums
from bestmix.answers.logs.duckdb_files import duckdb_sums
from bestmix.answers.logs.sums import LogColumns
from bestmix.problems.goals import Goal
from bestmix.problems.limits import Limit
from bestmix.problems.rows import Rows

TITLE = "Warehouse: sums of a billion rows, and Parquet in DuckDB"
ROWS = 100_000_000
BYTES_A_ROW = 20  # on disk
NAMES = {"reward": "quality", "bounds": {"dollars": 1.0}}
PLAIN = "SELECT arm, COUNT(*), SUM(quality), SUM(dollars) FROM read_parquet('{path}') GROUP BY arm"
MAKE = """
COPY (
    SELECT 'model-' || (hash(i) % 10) AS arm, i % 100003 AS who, hash(i) % 10 / 20 + random() AS quality,
           (hash(i) % 10 + 1) / 5 * -ln(1 - random()) AS dollars
    FROM range({rows}) AS rows(i)
) TO '{path}' (FORMAT parquet)
"""


def measure(quick: bool) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        rows = 1_000_000 if quick else min(ROWS, shutil.disk_usage(folder).free // (4 * BYTES_A_ROW))
        path = Path(folder) / "log.parquet"
        with duckdb.connect() as connection:
            connection.execute(MAKE.format(rows=rows, path=path))
        figures = [*billion(Path(folder)), *parquet(path, rows, 2 if quick else 3)]
    return [*figures, *rounding(quick), *clusters(20 if quick else 500)]


def billion(folder: Path) -> list[Figure]:
    """A table of sums as a warehouse gives it, read from CSV and answered."""
    figures = []
    for blocks in (1, 100):
        path = folder / f"sums-{blocks}.csv"
        rows = write_sums(path, blocks)
        answer = partial(from_sums, path, **NAMES, segment="source")
        (seconds,) = fastest([answer], 3, 0.0, time.process_time)
        note = (
            f"{rows:,} rows of sums, 20 arms in 5 segments, {blocks} blocks" if blocks > 1 else f"{rows} rows of sums"
        )
        figures.append(Figure("a billion rows as sums, answered, CPU", seconds, "s", 1.0, at_most=True, note=note))
    return figures


def write_sums(path: Path, blocks: int) -> int:
    rng = np.random.default_rng(0)
    lines = ["arm,source,block,n,quality,dollars,quality*quality,quality*dollars,dollars*dollars"]
    n = 10**9 // (20 * 5 * blocks)
    for arm in range(20):
        for source in range(5):
            for block in range(blocks):
                q, d = rng.normal([0.5 + arm / 50, 0.1 * (1 + arm)], 1.0 / np.sqrt(n) + 0.01)
                sums = (n * q, n * d, n * (q * q + 0.1), n * (q * d + 0.01), n * (d * d + 0.2))
                lines.append(f"model-{arm},source-{source},{block},{n}," + ",".join(map(repr, map(float, sums))))
    text = "\n".join(lines)
    path.write_text(text if blocks > 1 else text.replace(",block,", ",part,"))
    return len(lines) - 1


def parquet(path: Path, rows: int, rounds: int) -> list[Figure]:
    """``from_log``, against a plain GROUP BY with two sums in DuckDB."""

    def plain() -> None:
        with duckdb.connect() as connection:
            connection.execute(PLAIN.format(path=path)).fetchall()

    asked = Rows(Goal(), (Limit.parse("dollars <= 1"),))

    def sums(**options: object) -> None:
        assert duckdb_sums(path, asked, LogColumns.of(asked, "arm", "quality", **options)) is not None

    def in_blocks() -> None:
        sums(block="who", blocks=100)

    actions = [plain, sums, in_blocks, lambda: from_log(path, **NAMES)]
    alone, added, blocks, whole = in_turns(actions, rounds, time.process_time).min(axis=0)
    size = f"{rows:,} rows, {path.stat().st_size / 1e9:.1f} GB"
    return [
        Figure(
            "speed of the sums, of DuckDB's own plain GROUP BY, CPU",
            alone / added,
            "x",
            0.5,
            note=f"{size}: {alone:.2f} s alone, {added:.2f} s",
        ),
        Figure("the same in 100 blocks by a hash", alone / blocks, "x", note=f"{blocks:.2f} s"),
        Figure("from_log, rows a second of CPU", rows / whole / 1e6, "million", note=f"{whole:.2f} s"),
    ]


def rounding(quick: bool) -> list[Figure]:
    """What is left of a variance where the mean is so many times the standard deviation."""
    figures = []
    for times in (1e3, 1e4, 1e5, 1e6):
        values = np.random.default_rng(1).normal(times, 1.0, 100_000 if quick else 1_000_000)
        with duckdb.connect() as connection:
            connection.register("t", {"x": values})
            query = "SELECT SUM(x), SUM(x * x), FSUM(x), FSUM(x * x) FROM t"
            found = connection.execute(query).fetchall()[0]
        exact = ((values - times) ** 2).sum() - ((values - times).sum()) ** 2 / values.size
        plain, compensated = (
            abs(float(Fraction(square) - Fraction(total) ** 2 / values.size) / exact - 1)
            for total, square in (found[:2], found[2:])
        )
        note = f"with SUM {plain:.0e}, with FSUM {compensated:.0e}"
        figures.append(Figure(f"error of a variance, mean {times:,.0f} deviations", compensated, note=note, unit=""))
    return figures


def clusters(runs: int) -> list[Figure]:
    """How often certified mixes break their limit where users make ten requests each, of all arms or of one."""
    figures = []
    for kind in ("all arms", "one arm"):
        rng, broken = np.random.default_rng(0), np.zeros(2)
        for _ in range(runs):
            table = requests(rng, kind)
            answers = [from_sums(table, reward="q", bounds={"d": 3.0}, block=block) for block in (None, "block")]
            broken += [rec.certified and rec.mixture.get("l", 0.0) > 0.5 for rec in answers]
        plain, blocks = 100 * broken / runs
        note = f"{plain:.1f}% without blocks; {runs} tables of 200 users with 10 requests, 50 blocks"
        figures.append(Figure(f"limit broken, users of {kind}", blocks, "%", 5.0, at_most=True, note=note))
    return figures


def requests(rng: np.random.Generator, kind: str) -> dict[str, object]:
    """Sums by block; half of each arm costs 3, and users are dear or cheap whatever the arm."""
    users, blocks = 200, 50
    user = np.repeat(np.arange(users), 10)
    arm = rng.integers(2, size=user.size) if kind == "all arms" else rng.integers(2, size=users)[user]
    d = 1.0 + 4.0 * arm + rng.normal(size=users)[user] + 0.5 * rng.normal(size=user.size)
    q = 0.5 + 0.3 * arm + 0.2 * rng.normal(size=users)[user] + 0.1 * rng.normal(size=user.size)
    columns = {"n": np.ones(user.size), "q": q, "d": d, "q*q": q * q, "q*d": q * d, "d*d": d * d}
    key = arm * blocks + user % blocks
    table: dict[str, object] = {name: np.bincount(key, values, 2 * blocks) for name, values in columns.items()}
    return table | {"arm": ["s"] * blocks + ["l"] * blocks, "block": [*range(blocks)] * 2}
