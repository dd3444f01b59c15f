"""Exports: whole or not at all, exact, one moment, and readable again."""

import json

import pytest
from tests.experiments.kits import PROBLEM

from bestmix import Problem, Uniform, from_log, open_experiment


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


def test_costs_with_the_names_of_columns_have_columns_of_their_own(storage, name, tmp_path):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    exp = storage.create(name, Problem(["a", "b"], {"round": 1.0, "cost round": 1.0}), 4, Uniform())
    exp.tell(exp.ask()[0], 1.0, {"round": 0.1, "cost round": 0.7})
    table = pyarrow.read_table(exp.export(tmp_path / "t.parquet"))
    assert len(set(table.column_names)) == len(table.column_names)
    row = table.to_pylist()[0]
    assert sorted(value for key, value in row.items() if "cost" in key) == [0.1, 0.7]
