"""What a call changes: gathered by table, each row once, and written alike in both dialects."""

import json

import pytest
import sqlalchemy as sa
from tests.experiments.kits import PROBLEM

from bestmix import Uniform
from bestmix.experiments.sql import changes, tables
from bestmix.experiments.sql.changes import BOTH, DUE, EVENTS, SUMS, Changes


def test_an_arm_whose_sums_and_dues_change_is_written_once():
    made = Changes(due={0: -1, 1: 2, 2: 0}, sums={0: (3, "{}"), 2: (1, "{}"), 4: (5, "{}")})
    found = dict(made.parts())
    assert [row["arm"] for row in found[BOTH]] == [0, 2]
    assert [row["arm"] for row in found[SUMS]] == [4]
    assert [row["arm"] for row in found[DUE]] == [1]
    assert EVENTS not in found


def test_no_change_is_no_statement():
    assert Changes().parts() == []
    assert changes.one_statement(7, Changes())[0] is None


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_due_is_added_to_and_sums_are_replaced(opener, clock, name, kind):
    storage = opener(kind, clock)
    key = storage.create(name, PROBLEM, 6, Uniform()).record.key
    x, a = tables.experiments.c, tables.arms.c

    def work(connection):
        number = connection.execute(sa.select(x.id).where(x.key == key)).scalar_one()
        event = {"number": 2, "kind": "test", "data": json.dumps({"it's": "%(e)s"}), "at": 0.5}
        changes.write(connection, number, Changes(due={0: -1, 1: 3}, sums={1: (4, "text")}, events=[event]))
        return connection.execute(sa.select(a.due, a.count, a.moments).where(a.experiment == number)).all()

    found = sorted((due, count) for due, count, _ in storage.store.database.write(work))
    assert found == [(1, 0), (2, 0), (5, 4)]
    assert storage.store.events(key, 1, 9)[0].data == {"it's": "%(e)s"}
