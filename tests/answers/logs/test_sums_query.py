"""The query gives, in each database, the sums of which the answer is that of the rows."""

import pytest
from tests.answers.warehouses import on_duckdb, on_postgres, on_sqlite, rows

from bestmix import from_log, from_sums, sums_query
from bestmix.answers.logs.sums import block_name
from bestmix.answers.logs.sums_query import DIALECTS

sqlglot = pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")

ASKED = [
    {"reward": "quality", "bounds": {"dollars": 3.0}},
    {"goal": "minimise dollars", "limits": ["quality >= 0.7", "p(seconds > 3) <= 30%"], "segment": "source"},
    {
        "reward": "quality",
        "limits": ["complaints / visits <= 8%", "dollars <= 2.5 * dollars(small)", "share(large) <= 80%"],
    },
]


def alike(first, second):
    assert first.mixture == pytest.approx(second.mixture, abs=1e-6)
    assert first.best_guess == pytest.approx(second.best_guess, abs=1e-9)
    assert first.value == pytest.approx(second.value)
    assert first.regret == pytest.approx(second.regret, rel=1e-4)
    assert first.support_probability == pytest.approx(second.support_probability, abs=1e-6)


def found_by(dialect, log, query, request):
    if dialect == "postgres":
        return on_postgres(log, query, request.getfixturevalue("postgres_url"))
    return {"duckdb": on_duckdb, "sqlite": on_sqlite}[dialect](log, query)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
@pytest.mark.parametrize("asked", ASKED, ids=["bound", "segments and a tail", "ratio, relative, share"])
def test_the_answer_of_a_database_is_that_of_the_rows(dialect, asked, request):
    log = rows()
    table = found_by(dialect, log, sums_query("events", "model", **asked, dialect=dialect), request)
    alike(from_sums(table, "model", **asked), from_log(log, "model", **asked))


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
@pytest.mark.parametrize("asked", ASKED, ids=["bound", "segments and a tail", "ratio, relative, share"])
def test_arms_are_compared_on_the_items_that_they_share(dialect, asked, request):
    log = rows() | {"who": [f"prompt {k % 100}" for k in range(300)]}  # most arms meet an item once, some twice
    query = sums_query("events", "model", **asked, item="who", dialect=dialect)
    table = found_by(dialect, log, query, request)
    found, plain = from_sums(table, "model", **asked, item="who"), from_sums(table, "model", **asked)
    alike(found, from_log(log, "model", **asked, item="who"))
    assert found.items == 100
    assert plain.items is None
    limit = next(name for name in found.limits if name != "share(large)")
    assert found.limits[limit].error != plain.limits[limit].error


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
def test_only_rows_of_a_time_count(dialect, request):
    log, asked = rows(), {"reward": "quality", "bounds": {"dollars": 3.0}}
    query = sums_query(
        "events", "model", **asked, time="at", since="2026-01-08", until="2026-01-15T00:00", dialect=dialect
    )
    some = [k for k, at in enumerate(log["at"]) if "2026-01-08" <= at < "2026-01-15"]
    part = {name: [values[k] for k in some] for name, values in log.items()}
    alike(from_sums(found_by(dialect, log, query, request), "model", **asked), from_log(part, "model", **asked))


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
def test_blocks_keep_the_rows_of_a_unit_together(dialect, request):
    log = rows()
    options = {"metrics": ["quality"], "segment": "who", "block": "who", "blocks": 7, "dialect": dialect}
    table = found_by(dialect, log, sums_query("events", "model", **options), request)
    block = {}
    for who, number in zip(table["who"], table["block"], strict=True):
        assert block.setdefault(who, number) == number
    assert 3 < len(set(block.values())) <= 7
    if dialect == "duckdb":
        assert block == {who: block_name(who, 7) for who in block}, "the same units together as in a log's rows"
    days = found_by(
        dialect,
        log,
        sums_query("events", "model", metrics=["quality"], block="at", blocks="day", dialect=dialect),
        request,
    )
    assert {str(day) for day in days["block"]} == {at[:10] for at in log["at"]}


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
def test_missing_values_are_told_and_may_be_left_out(dialect, request):
    log, asked = rows(), {"reward": "quality", "bounds": {"dollars": 3.0}}
    log["dollars"][7] = log["quality"][9] = log["model"][11] = None
    refused = found_by(dialect, log, sums_query("events", "model", **asked, dialect=dialect), request)
    with pytest.raises(ValueError, match="2 rows miss a value"):
        from_sums(refused, "model", **asked)
    table = found_by(dialect, log, sums_query("events", "model", **asked, dialect=dialect, drop_missing=True), request)
    alike(from_sums(table, "model", **asked), from_log(log, "model", **asked, drop_missing=True))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("asked", ASKED, ids=["bound", "segments and a tail", "ratio, relative, share"])
def test_every_dialect_reads_its_query(dialect, asked):
    query = sums_query("shop.events", "model", **asked, since="2026-01-08", block="who", blocks=9, dialect=dialect)
    tree = sqlglot.parse_one(query, read=dialect)
    assert len(list(tree.find_all(sqlglot.exp.Group))) == 1
    assert {table.name.lower() for table in tree.find_all(sqlglot.exp.Table)} == {"events"}
    functions = {node.name.lower() for node in tree.find_all(sqlglot.exp.Anonymous)}
    own = {"md5_number_lower", "fsum"} if dialect == "duckdb" else {"hashtext", "hash", "xxhash64"}
    assert functions <= own, functions
    paired = sqlglot.parse_one(
        sums_query("shop.events", "model", **asked, item="prompt", dialect=dialect), read=dialect
    )
    assert len(paired.find(sqlglot.exp.Group).expressions) == (3 if "segment" in asked else 2)


NASTY = ['x"; DROP TABLE events; --', "it's", "back`tick", "back\\slash", "a*b", "日本", "select"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", NASTY, ids=range(len(NASTY)))
def test_any_name_is_only_a_name(dialect, name):
    query = sums_query('"' + name.replace('"', '""') + '"', name, metrics=["m " + name], dialect=dialect)
    (tree,) = sqlglot.parse(query, read=dialect)
    wanted = name.upper() if dialect == "snowflake" and name == "select" else name
    assert [table.name for table in tree.find_all(sqlglot.exp.Table)] == [wanted]
    assert not list(tree.find_all(sqlglot.exp.Drop))


def test_odd_names_work_in_real_databases():
    import sqlite3

    import duckdb

    for dialect, connect in (("duckdb", duckdb.connect), ("sqlite", sqlite3.connect)):
        for name in NASTY:
            quoted = '"' + name.replace('"', '""') + '"'
            connection = connect(":memory:")
            connection.execute(f"CREATE TABLE {quoted} ({quoted} TEXT, x DOUBLE)")
            connection.execute(f"INSERT INTO {quoted} VALUES ('a', 1.0), ('a', 2.0)")
            query = sums_query(quoted, name, metrics=["x"], dialect=dialect)
            assert connection.execute(query).fetchall() == [("a", 2, 0, 3.0, 5.0, 9.0)]
            connection.close()


def test_columns_may_be_called_as_the_inner_ones():
    log = rows() | {"arm": rows()["source"], "segment": rows()["model"]}
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE events (segment TEXT, arm TEXT, quality DOUBLE)")
        values = list(zip(log["segment"], log["arm"], log["quality"], strict=True))
        connection.executemany("INSERT INTO events VALUES (?, ?, ?)", values)
        cursor = connection.execute(sums_query("events", "segment", metrics=["quality"], segment="arm"))
        names = [column[0] for column in cursor.description]
        table = dict(zip(names, zip(*cursor.fetchall(), strict=True), strict=True))
    found = from_sums(table, "segment", goal="maximise quality", segment="arm")
    assert found.value == pytest.approx(from_log(log, "segment", goal="maximise quality", segment="arm").value)


def test_numbers_stand_for_names_that_a_database_does_not_take():
    log, asked = rows(), {"goal": "maximise quality", "limits": ["p(seconds > 3) <= 30%"]}
    assert '"p(seconds > 3)"' in sums_query("events", "model", **asked)
    text = sums_query("events", "model", **asked, dialect="bigquery")
    assert all(column.alias.isidentifier() for column in sqlglot.parse_one(text, read="bigquery").selects)
    table = on_duckdb(log, sqlglot.transpile(text, read="bigquery", write="duckdb")[0])
    alike(from_sums(table, "model", **asked), from_log(log, "model", **asked))
    long = ["p('a metric with quite a long name' > 2) <= 5%", "p('another one of this kind' > 2) <= 5%"]
    assert '"sum_1_2"' in sums_query("events", "model", limits=long, dialect="postgres")
    assert '"sum_1_2"' not in sums_query("events", "model", limits=long, dialect="snowflake")


def test_snowflake_means_by_a_plain_name_what_it_means_without_quotes():
    query = sums_query("shop.events", "model", metrics=["Quality"], dialect="snowflake")
    assert 'FROM "SHOP"."EVENTS"' in query
    assert '"MODEL" AS "arm"' in query
    assert 'CAST("Quality" AS DOUBLE)' in query


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "oracle"}, "dialect: expected one of 'duckdb'"),
        ({"table": ""}, "table: expected a name such as events"),
        ({"table": "a..b"}, "table: expected a name such as events"),
        ({"table": 'a"b'}, "table: expected a name such as events"),
        ({"arm": "n"}, "two columns of the sums would be called 'n'"),
        ({"arm": ""}, "expected non-empty strings"),
        ({"arm": 5}, "column: expected non-empty strings, got 5"),
        ({"item": ""}, "item: expected non-empty strings, got ''"),
        ({"item": 5}, "item: expected non-empty strings, got 5"),
        ({"table": 5}, "table: expected a name such as events or analytics.events, got 5"),
        ({"metrics": "quality"}, "put it in a list"),
        ({"since": "yesterday"}, "since: expected a date or a time in ISO 8601"),
        ({"blocks": 10}, "there is no column of the unit"),
        ({"block": "who", "blocks": 1}, "a whole number of at least 2"),
        ({"limits": ["quality > 1"]}, "expected <=, >= or ="),
        ({"item": "prompt", "block": "who"}, "an item is a block of its own"),
        ({"item": "n"}, "two columns of the sums would be called 'n'"),
    ],
)
def test_mistakes(options, message):
    with pytest.raises(ValueError, match=message):
        sums_query(**({"table": "events"} | options))


def test_only_what_is_named_is_added_up():
    assert '"reward"' in sums_query("events")
    assert '"reward"' not in sums_query("events", metrics=["quality"])
    assert sums_query("events", reward="quality") == sums_query("events", metrics=["quality"])
    assert sums_query("events", reward="quality", metrics=["quality"]) == sums_query("events", reward="quality")


def test_without_sqlglot_there_is_a_sentence(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(ValueError, match=r"dialect: sqlite needs sqlglot; install bestmix\[sql\]"):
        sums_query("events", dialect="sqlite")
    assert sums_query("events", dialect="duckdb")
