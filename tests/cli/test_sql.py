import json
import sqlite3

import pytest
from tests.answers.warehouses import on_sqlite, rows
from tests.cli.commands import good, invoke

from bestmix.answers.logs.sums_query import DIALECTS
from bestmix.cli.sql import Dialect

OPTIONS = ["--arm", "model", "--reward", "quality", "--bound", "dollars=3", "--segment", "source"]


def test_every_dialect_can_be_named():
    assert [str(dialect) for dialect in Dialect] == list(DIALECTS)


@pytest.mark.parametrize("item", [[], ["--item", "who"]], ids=["trials", "items"])
def test_query_and_answer_with_the_same_options(place, item):
    pytest.importorskip("sqlglot")
    log, options = rows(), [*OPTIONS, *item]
    table = on_sqlite(log, good("sql", "--table", "events", *options, "--dialect", "sqlite"))
    lines = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    (place / "log.json").write_text(json.dumps(lines))
    (place / "log.jsonl").write_text(
        "".join(json.dumps(dict(zip(log, row, strict=True))) + "\n" for row in zip(*log.values(), strict=True))
    )
    of_sums = json.loads(good("solve", "--sums", "log.json", *options, "--json"))
    of_rows = json.loads(good("solve", "log.jsonl", *options, "--json"))
    assert of_sums["mixture"] == pytest.approx(of_rows["mixture"], abs=1e-6)
    assert of_sums["by_segment"].keys() == of_rows["by_segment"].keys()
    assert of_sums["items"] == of_rows["items"] == (40 if item else None)


def test_the_query_runs_as_printed(place):
    pytest.importorskip("sqlglot")
    words = ("--metric", "x", "--since", "2026-01-02", "--block", "u", "--blocks", "5", "--dialect", "sqlite")
    text = good("sql", "--table", "e", *words)
    with sqlite3.connect(place / "e.db") as connection:
        connection.execute("CREATE TABLE e (arm TEXT, x REAL, time TEXT, u INTEGER)")
        connection.execute("INSERT INTO e VALUES ('a', 2.0, '2026-01-02T08:00', 12), ('a', 9.0, '2026-01-01', 12)")
        connection.executescript(text)
        assert connection.execute(text.rstrip().rstrip(";")).fetchall() == [
            ("a", (49 * 131 + 50) % 5, 1, 0, 2.0, 4.0, 8.0)
        ]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--table", "events", "--dialect", "oracle"], "'duckdb', 'postgres', 'sqlite', 'bigquery', 'snowflake'"),
        (["--metric", "quality"], "--table"),
        (["--table", "events", "--block", "who", "--blocks", "many"], "--blocks: expected a number or day, got 'many'"),
        (["--table", "events", "--blocks", "5"], "there is no column of the unit"),
        (["--table", "events", "--item", "prompt", "--blocks", "5"], "an item is a block of its own"),
        (["--table", "events", "--limit", "quality > 1"], "expected <=, >= or ="),
        (["--table", "events", "--since", "soon"], "since: expected a date or a time"),
    ],
)
def test_mistakes(words, part):
    result = invoke("sql", *words)
    assert result.exit_code == 2
    assert part in result.stderr
