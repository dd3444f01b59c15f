"""Damage to items is found, whatever was written: texts, items of trials, sums by item, and what arms had."""

import sqlite3

import pytest
from tests.experiments.kits import PROBLEM

from bestmix import Uniform, open_storage
from bestmix.cli.storage import look_at
from bestmix.experiments.sql import checkup
from bestmix.experiments.sql.database import Database, parse_url


@pytest.fixture
def path(tmp_path):
    with open_storage(tmp_path / "a.db") as storage:
        exp = storage.create("r", PROBLEM, 30, Uniform(), items=["sum", "sort", "swap"])
        exp.tell_many([(t, 0.1 * t.token, [0.5]) for t in exp.ask(16)])
        storage.create("plain", PROBLEM, 30, Uniform()).ask(3)
    return tmp_path / "a.db"


def write(path, statement):
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


def findings(path):
    return [text for _, text, good in look_at(str(path), audit=True) if not good]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE items SET name = 'swop' WHERE item = 2", "their texts are not as they were"),
        ("UPDATE items SET name = 'sum' WHERE item = 2", "their texts are not as they were"),
        ("DELETE FROM items WHERE item = 2", "their texts are not as they were"),
        ("UPDATE trials SET item = (item + 1) % 3 WHERE number = 7", "its item is"),
        ("UPDATE trials SET item = NULL WHERE number = 7", "its item is None"),
        ("UPDATE item_sums SET count = 9 WHERE item = 1 AND arm = 0", "the sums by item are not those"),
        ('UPDATE item_sums SET totals = \'["1/0", "1/1"]\' WHERE item = 1', "the sums by item are not those"),
        ("DELETE FROM item_sums WHERE item = 0 AND arm = 2", "the sums by item are not those"),
        ("UPDATE item_sums SET totals = 'x' WHERE item = 1", "totals cannot be decoded"),
        ("UPDATE experiments SET items = replace(items, '\"seed\": 0', '\"seed\": 1')", "not as they were when"),
        ("UPDATE trials SET item = 1 WHERE experiment = 2", "the experiment has none"),
    ],
)
def test_damage_is_found(path, statement, said):
    assert findings(path) == []
    write(path, statement)
    assert any(said in text for text in findings(path)), findings(path)


def test_what_an_arm_had_is_written_anew(path):
    write(path, "UPDATE arms SET handed = 2 WHERE experiment = 1 AND arm = 1")
    assert any("handed of arm 1: the figure is 2, the trials say 5" in text for text in findings(path))
    database = Database(parse_url(path))
    try:
        checkup.repair(database)
    finally:
        database.close()
    assert findings(path) == []
    with open_storage(path) as storage:
        exp = storage.open("r")
        assert [t.item for t in exp.ask(12) if t.arm == "b"] == [
            exp.items.name(exp.items.at(i, "b")) for i in (5, 6, 7, 8)
        ]
