"""Opening and creating, logs to start from, exports."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from tests.experiments.kits import PROBLEM

from bestmix import SFSR, Problem, Uniform, from_log, open_experiment, open_storage
from bestmix.experiments import StorageError
from bestmix.experiments.audit import audit
from bestmix.experiments.sql import sqlite
from bestmix.experiments.sql.database import Database, parse_url


def test_an_experiment_is_created_once_and_opened_ever_after(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with open_experiment(url, "router", PROBLEM, 60, SFSR(), lease=5.0) as exp:
        trial = exp.ask()[0]
    with open_experiment(url, name="router") as again:
        assert again.tell(trial.id, 1.0, {"dollars": 0.5}) == "counted"
        assert again.problem == PROBLEM
        assert again.strategy == SFSR()
        assert again.record.lease == 5.0
    open_experiment(tmp_path / "a.db", "router", PROBLEM, 60, SFSR(), lease=5.0).close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"problem": Problem(["x", "y"])}, "problem: the experiment 'a' has another one"),
        ({"budget": 61}, "budget: the experiment 'a' has 60, got 61"),
        ({"strategy": Uniform()}, "strategy: the experiment has {'kind': 'SFSR'"),
        ({"lease": 7.0}, "lease: the experiment 'a' has 60 s, got 7"),
    ],
)
def test_another_experiment_of_the_same_name_is_refused(options, message):
    storage = open_storage("memory://")
    storage.create("a", PROBLEM, 60, SFSR())
    with pytest.raises(ValueError, match=message):
        open_experiment(storage, "a", **({"problem": PROBLEM, "budget": 60} | options))


def test_what_does_not_exist_is_not_created_by_opening():
    storage = open_storage("memory://")
    storage.create("router", PROBLEM, 60)
    with pytest.raises(ValueError, match="there is no experiment 'ruter' \\(there is 'router'\\)"):
        open_experiment(storage, "ruter")
    with pytest.raises(ValueError, match="budget: a new experiment needs one"):
        open_experiment(storage, "ruter", PROBLEM)
    with pytest.raises(ValueError, match="there is an experiment 'router' already"):
        storage.create("router", PROBLEM, 60)


def test_the_first_budget_opens_an_extended_experiment():
    storage = open_storage("memory://")
    open_experiment(storage, "a", PROBLEM, 6, Uniform()).extend(12)
    for budget in (6, 12):
        assert open_experiment(storage, "a", PROBLEM, budget).state.budget == 12


def mine(mu, u, e):
    return mu


def test_a_function_of_ones_own_cannot_be_read_back_from_a_database(tmp_path):
    with open_experiment(tmp_path / "a.db", "a", PROBLEM, 30, SFSR(mine)) as exp:
        trials = exp.ask(9)
    with pytest.raises(ValueError, match="pass the strategy when loading"):
        open_experiment(tmp_path / "a.db", "a")
    with open_experiment(tmp_path / "a.db", "a", strategy=SFSR(mine)) as exp:
        exp.tell_many([(t, 1.0, [0.5]) for t in trials])


def log(rows, seed=0):
    rng = np.random.default_rng(seed)
    arms = rng.choice(["a", "b", "c"], rows)
    return {"arm": list(arms), "reward": rng.normal(size=rows), "dollars": rng.random(rows)}


@pytest.mark.parametrize("rows", [1, 10, 40, 200])
def test_an_experiment_starts_from_a_log_as_if_it_had_made_the_trials(storage, name, rows):
    data = log(rows)
    exp = storage.create(name, PROBLEM, 60, SFSR("lagrangian"), log=data)
    search = SFSR("lagrangian").start(PROBLEM, 60)
    left = {arm: [i for i, a in enumerate(data["arm"]) if a == arm] for arm in PROBLEM.arms}
    while any((owed := search.ask()) and left[arm] for arm in search.ask()):
        for arm, n in owed.items():
            for i in left[arm][:n]:
                search.tell(arm, data["reward"][i], [data["dollars"][i]])
            left[arm] = left[arm][n:]
    assert exp.state.complete == search.trials
    assert exp.state.complete + exp.state.surplus == rows
    assert exp.recommend().to_json() == search.recommend().to_json()
    assert audit(exp) == []
    while trials := exp.ask(5):
        exp.tell_many([(t, 1.0, [0.5]) for t in trials])
    assert exp.state.status == "done"
    assert audit(exp) == []


def test_a_log_of_unknown_arms_is_refused():
    with pytest.raises(ValueError, match="arm: expected one of"):
        open_experiment("memory://", "a", PROBLEM, 60, log={"arm": ["z"], "reward": [1.0], "dollars": [1.0]})


@pytest.fixture
def filled(storage, name, clock):
    exp = storage.create(name, PROBLEM, 6, Uniform(), lease=10.0)
    exp.tell_many([(t, 0.1 * t.token, [1 / 3]) for t in exp.ask(5, worker="w,1;")])
    exp.ask(1)
    clock.pass_time(11.0)
    exp.ask(1)
    return exp


def test_a_csv_of_results_is_a_log_for_others(filled, tmp_path):
    path = filled.export(tmp_path / "a.csv", state="complete")
    answer = from_log(path, bounds={"dollars": 1.0})
    assert answer.mixture == filled.recommend().mixture
    assert answer.value == filled.recommend().value
    again = open_experiment("memory://", "b", PROBLEM, 6, Uniform(), log=path)
    assert again.state.complete == 5
    assert len(filled.export(tmp_path / "b.csv").read_text().splitlines()) == 8  # a header, and the expired one too


def test_parquet_and_json_hold_every_trial_exactly(filled, tmp_path):
    from pyarrow import parquet

    table = parquet.read_table(filled.export(tmp_path / "a.parquet")).to_pydict()
    data = json.loads(filled.export(tmp_path / "a.json").read_text())
    trials = filled.trials()
    assert table["id"] == [t.id for t in trials] == [t["id"] for t in data["trials"]]
    assert table["reward"] == [t.reward for t in trials] == [t["reward"] for t in data["trials"]]
    assert table["dollars"][:5] == [1 / 3] * 5
    assert data["recommendation"]["mixture"] == filled.recommend().mixture
    assert data["state"]["expired"] == 1


def test_a_bad_export_leaves_what_was_there(filled, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(ValueError, match="state: expected one of"):
        filled.export(path, state="lost")
    for bad in ("a.txt", "no/such/a.csv"):
        with pytest.raises(ValueError, match="expected"):
            filled.export(tmp_path / bad)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("version", "sound"),
    [
        ((3, 6, 23), True),
        ((3, 7, 0), False),
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 45, 0), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 52, 0), True),
        ((4, 0, 0), True),
    ],
)
def test_versions_with_the_error_in_wal_mode(version, sound):
    assert sqlite.wal_is_sound(version) is sound


@pytest.mark.parametrize(("version", "journal"), [((3, 40, 1), "persist"), ((3, 51, 3), "wal")])
def test_the_journal_follows_the_linked_version_and_a_wal_file_stays_one(tmp_path, monkeypatch, version, journal):
    def mode(path):
        database = Database(parse_url(path))
        found = database.read(
            lambda c: [c.exec_driver_sql(f"PRAGMA {p}").scalar() for p in ("journal_mode", "synchronous")]
        )
        database.close()
        return found

    monkeypatch.setattr(sqlite, "linked", lambda: version)
    open_storage(tmp_path / "a.db").close()
    assert mode(tmp_path / "a.db") == [journal, 2]
    Database(parse_url(tmp_path / "b.db"), journal="wal").write(lambda c: c.exec_driver_sql("CREATE TABLE t (x)"))
    assert mode(tmp_path / "b.db") == ["wal", 2]


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


def test_values_survive_to_the_last_bit(storage, name):
    exp = storage.create(name, PROBLEM, 6, Uniform())
    values = [0.1, 1 / 3, -1e150, 5e-324, math.pi * 1e-200, 2.0**53 + 2]
    trials = exp.ask(6)
    exp.tell_many([(t, value, [-value]) for t, value in zip(trials, values, strict=True)])
    assert [(t.reward, t.costs["dollars"]) for t in exp.trials()] == [(v, -v) for v in values]
    assert exp.tell_many([(t, value, [-value]) for t, value in zip(trials, values, strict=True)]) == ["repeated"] * 6
    assert audit(exp) == []


def test_costs_with_the_names_of_columns_have_columns_of_their_own(storage, name, tmp_path):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    exp = storage.create(name, Problem(["a", "b"], {"round": 1.0, "cost round": 1.0}), 4, Uniform())
    exp.tell(exp.ask()[0], 1.0, {"round": 0.1, "cost round": 0.7})
    table = pyarrow.read_table(exp.export(tmp_path / "t.parquet"))
    assert len(set(table.column_names)) == len(table.column_names)
    row = table.to_pylist()[0]
    assert sorted(value for key, value in row.items() if "cost" in key) == [0.1, 0.7]
