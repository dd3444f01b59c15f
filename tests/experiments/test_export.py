"""Exports: whole or not at all, exact, one moment, and readable again."""

import csv
import json
import threading
from collections import Counter

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


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_an_export_is_of_one_moment(opener, clock, name, tmp_path, kind):
    exp = opener(kind, clock).create(name, PROBLEM, 100_000, Uniform(), lease=3600.0)
    over = threading.Event()

    def work():
        while not over.wait(0.002):  # not as fast as it can: an export would never be done with them
            exp.tell_many([(t, 1.0, [0.5]) for t in exp.ask(5)[:4]])

    writer = threading.Thread(target=work)
    writer.start()
    try:
        for _ in range(12):
            data = json.loads(exp.export(tmp_path / "a.json").read_text())
            counts = Counter(trial["state"] for trial in data["trials"])
            assert [data["state"][s] for s in ("complete", "leased")] == [counts["complete"], counts["leased"]]
            assert data["state"]["handed"] == len(data["trials"])
    finally:
        over.set()
        writer.join(60)


AWKWARD = ["+5%", "'+5%", "''=x", "-1", "@a", "'quoted'", "plain", "=1+1", 'a,b"c']


@pytest.mark.parametrize("spreadsheet", [False, True])
def test_a_csv_comes_back_whatever_arms_and_costs_are_called(tmp_path, spreadsheet):
    problem = Problem(AWKWARD, {"=cost": 1.0, "'-cost": 1.0})
    exp = open_experiment("memory://", "a", problem, 2 * len(AWKWARD), Uniform())
    exp.tell_many([(t, 0.1 * t.token, [0.5, 0.25]) for t in exp.ask(99)])
    path = exp.export(tmp_path / "a.csv", spreadsheet=spreadsheet)
    with path.open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert any(cell.startswith(("=", "+", "-", "@")) for cell in cells) is not spreadsheet
    again = open_experiment("memory://", "a", problem, len(AWKWARD), Uniform(), log=path)
    assert again.state.complete == 2 * len(AWKWARD)
    found, wanted = again.recommend().to_dict(), exp.recommend().to_dict()
    assert {name: found[name] for name in ("estimates", "mixture")} == {n: wanted[n] for n in ("estimates", "mixture")}


def test_a_csv_of_an_older_version_comes_back(tmp_path):
    path = tmp_path / "old.csv"
    path.write_text("id,arm,reward,'=cost\n1,'+5%,1.5,-0.5\n2,plain,0.5,-0.25\n")
    problem = Problem(["+5%", "plain"], {"=cost": 1.0})
    assert open_experiment("memory://", "a", problem, 2, Uniform(), log=path).recommend().support == ("+5%",)


def test_only_a_csv_is_for_spreadsheets(tmp_path):
    exp = open_experiment("memory://", "a", PROBLEM, 6, Uniform())
    with pytest.raises(ValueError, match=r"an export for spreadsheets is a \.csv file"):
        exp.export(tmp_path / "a.json", spreadsheet=True)
