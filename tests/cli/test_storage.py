"""``bestmix storage`` and ``bestmix doctor``: upgrades, what is wrong with a database, and its repair."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.commands import good, invoke

from bestmix import SFSR, Problem, Uniform, open_storage
from bestmix.experiments.sql.tables import VERSION

OLD = Path(__file__).parents[1] / "experiments/old/0001.db"
PROBLEM = Problem(["a", "b"], {"dollars": 1.0})


def sick(*words):
    result = invoke(*words)
    assert result.exit_code == 1, result.output
    return {f["what"]: f["found"] for f in json.loads(result.stdout) if not f["good"]}


def change(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def made(tmp_path):
    with open_storage(tmp_path / "x.db") as storage:
        exp = storage.create("r", PROBLEM, 6, Uniform())
        exp.tell(exp.ask(2)[0], 1.0, [0.5])
    return tmp_path / "x.db"


def test_an_old_file_is_upgraded_and_looked_at(tmp_path):
    path = shutil.copy(OLD, tmp_path / "old.db")
    refused = invoke("experiment", "list", path)
    assert refused.exit_code == 2
    assert "bestmix storage upgrade" in refused.stderr
    assert sick("doctor", path, "--json")["tables"] == f"version 0001, not {VERSION}"
    assert "Upgraded the tables from version 0001" in good("storage", "upgrade", path)
    assert "Nothing to do" in good("storage", "upgrade", path)
    assert "8 results, counted again and replayed" in good("doctor", path, "--audit")


def test_the_doctor_finds_what_is_wrong(made, tmp_path):
    findings = {f["what"]: f for f in json.loads(good("doctor", made, "--json"))}
    assert sqlite3.sqlite_version in findings["SQLite"]["found"]
    assert findings["pages"]["found"] == "ok"
    change(made, "UPDATE heads SET complete = 3")
    assert sick("doctor", made, "--audit", "--json")["r"] == "complete: the figure is 3, the trials say 1"
    (tmp_path / "text.db").write_text("no database " * 100)
    assert "not an SQLite database" in sick("doctor", tmp_path / "text.db", "--json")["database"]


def test_the_doctor_reads_on_when_trials_are_there_twice(made):
    names = "experiment, slot, arm, round, worker, deadline, expires, asked, state, open, told, reward, costs, note"
    change(made, f"INSERT INTO trials (number, {names}) SELECT number + 100, {names} FROM trials WHERE number = 1")
    assert "trial 101: it stands where trial 3 should" in sick("doctor", made, "--audit", "--json")["r"]


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE heads SET owing = owing + 3", "owing: the figure is 8, the trials say 5; written anew"),
        ("UPDATE heads SET due = due + 5", "due: the figure is 9, the trials say 4; written anew"),
        ("UPDATE heads SET freed = 2, trials = 9, round = 1", "trials: the figure is 9, the trials say 2"),
        ("UPDATE arms SET due = 7 WHERE arm = 1", "due of arm 1: the figure is 7, the trials say 2; written anew"),
        ("UPDATE arms SET count = 7 WHERE arm = 0", "count of arm 0: the figure is 7, the trials say 1; written anew"),
        ("DELETE FROM heads", "owing: the figure is 0, the trials say 5; written anew"),
    ],
)
def test_figures_are_repaired_after_a_backup_and_the_experiment_goes_on(made, statement, words):
    change(made, statement)
    before = made.read_bytes()
    assert sick("doctor", made, "--audit", "--json")
    found = {f["what"]: f["found"] for f in json.loads(good("doctor", made, "--repair", "--json")) if f["good"]}
    (copy,) = made.parent.glob("x.db.*.copy")
    assert str(copy) in found["backup"]
    shown = json.loads(good("doctor", made, "--audit", "--json"))
    assert {"what": "r", "found": "1 results, counted again and replayed", "good": True} in shown
    assert sick("doctor", copy, "--audit", "--json")
    assert before
    with open_storage(made) as storage:
        exp = storage.open("r")
        while not exp.done:
            exp.tell_many([(t, 1.0, [0.5]) for t in (*exp.ask(9), *exp.trials("leased"))])
        assert exp.state.complete == 6


def test_the_repair_says_what_it_did(made):
    change(made, "UPDATE heads SET owing = owing + 3, due = due + 5")
    text = " ".join(good("doctor", made, "--repair", "--json").split())
    assert "owing: the figure is 8, the trials say 5; written anew; due: the figure is 9, the trials say 4" in text
    assert "nothing to do" in good("doctor", made, "--repair")


def test_what_is_damaged_is_left_as_it_is(made):
    change(made, "UPDATE trials SET reward = 2.0 WHERE number = 1", "UPDATE heads SET owing = 9")
    before = made.read_bytes()
    found = sick("doctor", made, "--repair", "--json")
    assert "arm 'a': its running sums are not those of its trials" in found["r"]
    assert made.read_bytes() == before
    assert list(made.parent.glob("*.copy")) == []


def test_damage_to_one_experiment_does_not_keep_another_from_its_repair(made):
    with open_storage(made) as storage:
        storage.create("s", PROBLEM, 6, SFSR())
    change(made, "UPDATE experiments SET problem = '{' WHERE name = 'r'", "UPDATE heads SET owing = 7")
    found = sick("doctor", made, "--repair", "--json")
    assert list(found) == ["r"]
    assert "problem cannot be decoded" in found["r"]


def test_only_a_database_can_be_repaired():
    refused = invoke("doctor", "--repair")
    assert refused.exit_code == 2
    assert "--repair: expected the URL" in refused.stderr
