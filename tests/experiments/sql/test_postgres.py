"""What holds on PostgreSQL alone: what its statements read, and when its commits are on disk."""

import numpy as np
import pytest
import sqlalchemy as sa

from bestmix import Problem, Uniform
from bestmix.experiments.sql import changes as writing
from bestmix.experiments.sql import postgres

NOT_FLUSHED = sa.text("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn())")


@pytest.fixture
def storage(opener, clock):
    return opener("postgres", clock)


def test_a_tell_reads_no_other_trials(storage, name, monkeypatch):
    # A table that was never analysed: PostgreSQL believes that it is nearly empty.
    trials, seen = 3000, []
    log = {"arm": ["a", "b"] * (trials // 2), "reward": np.zeros(trials)}
    experiment = storage.create(name, Problem(["a", "b"]), 10 * trials, Uniform(), log=log)
    given = experiment.ask(16)
    plain = writing.one_statement

    def explained(experiment, changes):
        statement, values = plain(experiment, changes)
        return f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", values

    def look(connection, statement, values):
        (found,) = connection.exec_driver_sql(statement, values).scalar_one()
        seen.extend(rows(found["Plan"]))

    monkeypatch.setattr(writing, "one_statement", explained)
    monkeypatch.setattr(postgres, "end", look)
    experiment.tell_many([(trial, 1.0, []) for trial in given])
    assert 16 <= max(seen) < 100


def rows(plan):
    """The rows that each step of a plan gave."""
    return [plan["Actual Rows"], *(n for part in plan.get("Plans", []) for n in rows(part))]


def unflushed(storage, experiment, then=lambda experiment: None):
    """Bytes of the log that are not on disk, after each of 30 calls and another one."""
    found = []
    for _ in range(30):
        experiment.tell_many([(trial, 1.0, []) for trial in experiment.ask(4)])
        then(experiment)
        found.append(storage.store.database.read(lambda connection: connection.execute(NOT_FLUSHED).scalar_one()))
    return found


def test_a_call_returns_when_its_commit_is_on_disk(storage, name, monkeypatch):
    experiment = storage.create(name, Problem(["a", "b"]), 1000, Uniform())
    # The server's own housekeeping writes to the log every few seconds.
    assert sum(n > 0 for n in unflushed(storage, experiment)) <= 2
    monkeypatch.setattr(postgres, "FLUSH", "SELECT 1")
    assert sum(n > 0 for n in unflushed(storage, experiment)) > 10
    # Nor does anybody see what is not: the one who looks waits for it.
    assert sum(n > 0 for n in unflushed(storage, experiment, then=lambda experiment: experiment.state)) <= 2
