"""DuckDB's answer is that of the rows, and what it does not read as we do is left to the readers of rows."""

import gzip
import json
import re

import numpy as np
import pyarrow
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from bestmix import from_log
from bestmix.answers.logs import files as log_files
from bestmix.answers.logs.duckdb_files import duckdb_sums
from bestmix.answers.logs.sums import Adder, LogColumns
from bestmix.problems.goals import Goal
from bestmix.problems.limits import Limit
from bestmix.problems.rows import Rows

pytest.importorskip("duckdb")

ROWS = Rows(Goal.parse("maximise q"), (Limit.parse("p(d > 1) <= 50%"), Limit.parse("d <= 3"), Limit.parse("e <= 1")))


@pytest.fixture(autouse=True)
def no_file_is_small(monkeypatch):
    monkeypatch.setattr(log_files, "SMALL_FILE", 0)


def log(rows=400, seed=0):
    """Arms of which one appears late, a price that never varies within an arm, and events of 0 and 1."""
    rng = np.random.default_rng(seed)
    arm = np.where(np.arange(rows) < rows - 5, rng.choice(["b", 'a, "x"', "ü"], size=rows), "late")
    return {
        "arm": arm.tolist(),
        "tier": rng.choice(["free", "paid"], size=rows).tolist(),
        "q": (rng.random(rows) < 0.5).astype(float).tolist(),
        "d": rng.gamma(1.0, size=rows).tolist(),
        "e": np.where(arm == "b", 0.1, 0.3).tolist(),
        "who": [f"user {k}" for k in rng.integers(30, size=rows)],
        "id": rng.integers(30, size=rows).tolist(),
        "at": [f"2026-01-{1 + k % 20:02} 08:00:00" for k in range(rows)],
    }


@pytest.mark.parametrize("size", [1e89, 1e95, 5.6e102, 1e120])
def test_large_values_are_answered_as_those_of_the_rows(tmp_path, size):
    values = [5.6, -4.0, -4.0, 1.0, 9.0, 0.3]
    table = {"arm": ["a"] * 6 + ["b"] * 6, "q": [0.1, 0.2, 0.3, 0.2, 0.3, 0.5] * 2, "d": [size * v for v in values * 2]}
    path = write(tmp_path, "parquet", table)
    options = {"goal": "maximise q", "limits": [f"d <= {size}"]}
    assert from_log(path, **options).mixture == from_log(table, **options).mixture


def write(folder, kind, table=None):
    table = log() if table is None else table
    path = folder / f"log.{kind}"
    if kind == "parquet":
        parquet.write_table(pyarrow.table(table), path)
    elif kind.startswith("csv"):
        arrow_csv.write_csv(pyarrow.table(table), folder / "log.csv")
        if kind == "csv.gz":
            path.write_bytes(gzip.compress((folder / "log.csv").read_bytes()))
    else:
        rows = (dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True))
        text = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path.write_bytes(gzip.compress(text) if kind.endswith("gz") else text)
    return path


def compare(path, **options):
    """DuckDB's sums with exact ones; the number of blocks."""
    columns = LogColumns.of(ROWS, "arm", "reward", **options)
    found, number = duckdb_sums(path, ROWS, columns)
    exact, blocks = Adder(ROWS, columns).read(path, False)
    assert (list(found), number) == (list(exact), blocks)
    for group, sums in exact.items():
        mine, wanted = found[group].moments, sums.moments
        assert mine.count == wanted.count
        np.testing.assert_allclose(mine.mean(), wanted.mean(), rtol=1e-15)
        np.testing.assert_allclose(mine.scatter(), wanted.scatter(), rtol=1e-12, atol=1e-15)
        np.testing.assert_array_equal(np.diag(mine.scatter()) == 0, np.diag(wanted.scatter()) == 0)
        assert mine.binary().tolist() == wanted.binary().tolist()
        if number:
            assert sorted(found[group].counts) == sorted(sums.counts)
            np.testing.assert_allclose(np.sort(found[group].sums, axis=0), np.sort(sums.sums, axis=0))
    return number


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "jsonl.gz", "parquet"])
@pytest.mark.parametrize("options", [{}, {"segment": "tier"}], ids=["arms", "segments"])
def test_every_file_gives_what_its_rows_give(kind, options, tmp_path):
    compare(write(tmp_path, kind), **options)


@pytest.mark.parametrize(
    ("options", "blocks"),
    [
        ({"block": "who", "blocks": 7}, 7),
        ({"block": "id", "blocks": 7}, 7),
        ({"block": "who"}, 30),
        ({"block": "at", "blocks": "day"}, 20),
    ],
)
def test_blocks_of_parquet_are_those_of_the_rows(options, blocks, tmp_path):
    assert compare(write(tmp_path, "parquet"), **options) == blocks


def test_several_files_are_one_log(tmp_path):
    for k in range(3):
        write(tmp_path, "parquet", log(100, k)).rename(tmp_path / f"part-{k}.parquet")
    compare(tmp_path / "part-*.parquet")
    whole = {name: [v for k in range(3) for v in log(100, k)[name]] for name in log(1)}
    options = {"goal": "maximise q", "limits": ["d <= 3"]}
    assert from_log(tmp_path / "part-*.parquet", **options).mixture == from_log(whole, **options).mixture


def test_arms_that_appear_late_are_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr("bestmix.answers.logs.duckdb_files.HEAD", 1)
    compare(write(tmp_path, "parquet"), segment="tier")
    compare(write(tmp_path, "csv"))


def left_to_rows(path, **options):
    return duckdb_sums(path, ROWS, LogColumns.of(ROWS, "arm", "reward", **options)) is None


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("q", ""),
        ("q", "True"),
        ("d", "nan"),
        ("d", "inf"),
        ("d", "1e160"),
        ("d", "x"),
        ("arm", ""),
        ("arm", "None"),
        ("q", "1,5"),
    ],
)
def test_what_is_no_plain_value_is_left_to_the_rows(column, value, tmp_path):
    table = log()
    table[column] = [str(v) for v in table[column]]
    table[column][50] = value
    assert left_to_rows(write(tmp_path, "csv", table))
    assert left_to_rows(write(tmp_path, "parquet", table))


def test_what_would_be_lost_among_larger_values_is_left_to_exact_sums(tmp_path):
    table = log()
    table["d"] = [1e6 + d for d in table["d"]]
    assert left_to_rows(write(tmp_path, "parquet", table))
    assert left_to_rows(write(tmp_path, "parquet", log() | {"d": [1e-150 * d for d in log()["d"]]}))


@pytest.mark.parametrize(
    "lines", ["b,1\n", "b,free,1,2,3,u,1,x,y,z\n", "b,free,1,2,3,u\n"], ids=["short", "long", "cut"]
)
def test_rows_of_another_width_are_left_to_the_rows(lines, tmp_path):
    path = write(tmp_path, "csv")
    path.write_bytes(path.read_bytes() + lines.encode())
    assert left_to_rows(path)


def test_arms_that_are_no_texts_are_read_as_rows_read_them(tmp_path):
    compare(write(tmp_path, "parquet", log() | {"arm": log()["id"]}))
    assert left_to_rows(write(tmp_path, "parquet", log() | {"arm": [k / 2 for k in log()["id"]]}))
    assert left_to_rows(write(tmp_path, "jsonl", log() | {"arm": log()["id"]}))
    spaced = log()
    spaced["arm"] = [f" {arm} " if k % 2 else arm for k, arm in enumerate(spaced["arm"])]
    compare(write(tmp_path, "csv", spaced))


def test_small_files_standard_input_and_mixed_kinds_are_left_alone(tmp_path, monkeypatch):
    columns = LogColumns.of(ROWS, "arm", "reward")
    write(tmp_path, "csv")
    write(tmp_path, "parquet")
    assert duckdb_sums(tmp_path / "log.*", ROWS, columns) is None
    monkeypatch.setattr(log_files, "SMALL_FILE", 2**20)
    assert duckdb_sums(tmp_path / "log.csv", ROWS, columns) is None
    assert duckdb_sums(log_files.Path("-"), ROWS, columns) is None


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_answers_with_and_without_it_are_the_same(kind, tmp_path, monkeypatch):
    path = write(tmp_path, kind)
    options = {"goal": "maximise q", "limits": ["p(d > 1) <= 50%", "d <= 3"], "segment": "tier"}
    fast = from_log(path, **options)
    monkeypatch.setattr("bestmix.answers.logs.duckdb_files.find_spec", lambda name: None)
    slow = from_log(path, **options)
    assert fast.mixture == pytest.approx(slow.mixture, rel=1e-9)
    assert list(fast.estimates) == list(slow.estimates)
    assert fast.regret == pytest.approx(slow.regret, rel=1e-6)


def test_errors_are_those_of_the_rows(tmp_path):
    path = write(tmp_path, "csv")
    with pytest.raises(ValueError, match="there is no column 'nothing'"):
        from_log(path, goal="maximise nothing")
    path.write_text(path.read_text() + '"b","free",,1.0,0.1,"u",1,"x"\n')
    with pytest.raises(ValueError, match="1 of 401 rows miss a value, the first is row 401"):
        from_log(path, goal="maximise q")


PARTS = [
    "a,1",
    "b,2",
    "1",
    ",",
    "\n",
    "\n",
    "\r\n",
    "\r",
    '"',
    '""',
    '"a"',
    " ",
    "'",
    ";",
    "é",
    "\t",
    "\x00",
    "\\",
    "#",
]


@given(st.lists(st.sampled_from(PARTS), max_size=12), st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_text_has_the_sums_of_its_rows_or_is_left_to_them(tmp_path_factory, parts, more):
    path, text = tmp_path_factory.mktemp("logs") / "log.csv", "".join(parts)
    assume(not re.search(r",\s*$", text, re.M))  # DuckDB lets a separator at the end of a line pass
    path.write_bytes(("arm,reward\n" + "a,1\nb,2\n" * more + text).encode())
    rows = Rows(Goal(), ())
    columns = LogColumns("arm", ("reward",))
    try:
        found = duckdb_sums(path, rows, columns)
    except ValueError:  # of the header, which the readers of rows tell as well
        found = None
    if found is not None:
        exact, _ = Adder(rows, columns).read(path, False)
        assert [(group, part.moments.count) for group, part in found[0].items()] == [
            (group, part.moments.count) for group, part in exact.items()
        ]
        for group, part in exact.items():
            np.testing.assert_allclose(found[0][group].moments.mean(), part.moments.mean(), rtol=1e-15)
