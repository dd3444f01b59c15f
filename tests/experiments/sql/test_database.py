"""Connections: out of reach, after a fork, to the last bit."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
import sqlalchemy as sa

from bestmix import open_storage
from bestmix.experiments import StorageError
from bestmix.experiments.sql import sqlite
from bestmix.experiments.sql.database import Database, parse_url
from bestmix.experiments.sql.driver import driver


def test_a_database_out_of_reach_is_a_clear_error():
    with pytest.raises(StorageError, match="cannot be reached; check that it runs"):
        open_storage("postgresql://nobody@127.0.0.1:1/none", patience=0.1)


def test_a_forked_child_uses_connections_of_its_own(tmp_path):
    code = f"""
import os
from bestmix import Problem, Uniform, open_experiment
exp = open_experiment({str(tmp_path / "a.db")!r}, "a", Problem(["a", "b"]), 40, Uniform())
exp.ask(2)
child = os.fork()
for _ in range(9):
    exp.tell_many([(t, 1.0, None) for t in exp.ask(1)])
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(exp.state.complete)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "18\n"


@pytest.fixture
def database(tmp_path):
    """One with an empty table."""
    made = Database(parse_url(tmp_path / "a.db"))
    made.write(lambda connection: connection.execute(sa.text("CREATE TABLE numbers (n INTEGER UNIQUE)")))
    yield made
    made.close()


def insert(connection, number, by_driver):
    if by_driver:
        with driver(connection) as own:
            own.execute("INSERT INTO numbers VALUES (?)", (number,))
    else:
        connection.execute(sa.text("INSERT INTO numbers VALUES (:n)"), {"n": number})


def numbers(database):
    return database.read(lambda connection: list(connection.execute(sa.text("SELECT n FROM numbers")).scalars()))


@pytest.mark.parametrize("ways", [(True, True), (True, False), (False, True), (False, False)])
def test_a_transaction_is_one_whoever_runs_its_statements(database, ways):
    def work(connection, first, fails):
        for number, by_driver in enumerate(ways, first):
            insert(connection, number, by_driver)
        if fails:
            raise KeyError

    database.write(lambda connection: work(connection, 1, fails=False))
    with pytest.raises(KeyError):
        database.write(lambda connection: work(connection, 3, fails=True))
    assert numbers(database) == [1, 2]
    with pytest.raises(StorageError, match="UNIQUE"):
        database.write(lambda connection: work(connection, 2, fails=False))
    database.write(lambda connection: work(connection, 5, fails=False))
    assert numbers(database) == [1, 2, 5, 6]


def test_a_writer_locks_before_it_reads(database, tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.db", timeout=0.0)) as other:

        def work(connection):
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")

        database.write(work)
        other.execute("BEGIN IMMEDIATE")


@pytest.mark.parametrize("by_driver", [True, False])
def test_a_commit_that_is_refused_is_undone(tmp_path, monkeypatch, by_driver):
    """With a rollback journal it is, while somebody reads for longer than it waits; no later read may end it."""
    monkeypatch.setattr(sqlite, "BUSY", 0.1)
    made = Database(parse_url(tmp_path / "a.db"), patience=0.0, journal="PERSIST")
    made.write(lambda connection: connection.execute(sa.text("CREATE TABLE numbers (n INTEGER UNIQUE)")))
    with closing(sqlite3.connect(tmp_path / "a.db", timeout=0.1, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM numbers").fetchone()
        with pytest.raises(StorageError, match="locked"):
            made.write(lambda connection: insert(connection, 1, by_driver))
        other.execute("COMMIT")
        assert [numbers(made), numbers(made)] == [[], []]
        other.execute("BEGIN IMMEDIATE")
        other.execute("COMMIT")
    made.write(lambda connection: insert(connection, 2, by_driver))
    assert numbers(made) == [2]
    made.close()
