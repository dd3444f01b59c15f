"""Rows of the wrong kind, without an owner, and tables that are not as they should be."""

import sqlite3
from contextlib import closing

import pytest
from tests.experiments.kits import PROBLEM

from bestmix import Uniform, open_storage
from bestmix.experiments.sql import inspection
from bestmix.experiments.sql.database import Database, parse_url


@pytest.fixture
def path(tmp_path):
    with open_storage(tmp_path / "a.db") as storage:
        exp = storage.create("a", PROBLEM, 6, Uniform())
        exp.tell(exp.ask(2, key="k")[0], 1.0, [0.5])
    return tmp_path / "a.db"


def found(path, look, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    database = Database(parse_url(path))
    try:
        return database.read(look)
    finally:
        database.close()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE heads SET owing = 'x'", "heads 1: owing is no whole number: 'x'"),
        ("UPDATE heads SET clock = 9e999", "heads 1: clock is no finite number: inf"),
        ("UPDATE trials SET open = 7 WHERE number = 2", "trials 1 2: open is no truth value: 7"),
        ("UPDATE trials SET costs = '[0.5' WHERE number = 1", "trials 1 1: costs cannot be decoded"),
        ("UPDATE trials SET costs = '[NaN]' WHERE number = 1", "NaN is no number of JSON"),
        ("UPDATE trials SET costs = '{}' WHERE number = 1", "holds no list"),
        ("UPDATE trials SET asked = 1e300 WHERE number = 1", "asked is no time: 1e+300"),
        ("UPDATE experiments SET problem = 'x'", "experiments 1: problem cannot be decoded"),
        ("UPDATE events SET data = x'00' WHERE number = 1", "events 1 1: data is no text"),
        ("UPDATE arms SET arm = 7 WHERE arm = 2", "arms: they are not numbered from 0 to 2"),
        ("DELETE FROM arms WHERE arm = 1", "arms: they are not numbered from 0 to 1"),
        ("INSERT INTO rounds VALUES (1, 2, '{}', 5.0, NULL)", "rounds: they are not numbered from 1 to 1"),
        ("DELETE FROM heads", "heads: its row of figures is missing"),
    ],
)
def test_a_wrong_row_is_named(path, statement, words):
    assert found(path, inspection.inspect) == []
    (problem,) = found(path, inspection.inspect, statement)
    assert problem.experiment == 1
    assert words in problem.text


def test_rows_of_no_experiment_are_named(path):
    problems = found(path, inspection.inspect, "PRAGMA foreign_keys = OFF", "DELETE FROM experiments")
    assert [p.experiment for p in problems] == [None] * len(problems)
    assert "trials: rows of an experiment 1 that there is not" in [p.text for p in problems]


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("DROP INDEX trials_open", "trials_open"),
        ("ALTER TABLE heads DROP COLUMN strikes", "heads"),
        ("ALTER TABLE heads ADD COLUMN more INTEGER", "heads"),
    ],
)
def test_tables_that_are_not_as_they_should_be_are_named(path, statement, what):
    assert found(path, inspection.differs) == []
    assert found(path, inspection.differs, statement) == [f"{what}: it is not as bestmix makes it"]


def test_a_head_that_is_missing_is_made_anew(path):
    found(path, inspection.headless, "DELETE FROM heads")
    database = Database(parse_url(path))
    assert database.write(inspection.add_heads) == 1
    assert database.write(inspection.add_heads) == 0
    assert database.read(inspection.inspect) == []
    database.close()
