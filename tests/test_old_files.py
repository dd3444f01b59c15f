"""Every kind of file that version 0.1 wrote opens, means the same, and is gone on with.

The folder ``old/0.1`` was written by that version; ``expected.json`` is what it said of them itself.
"""

import json
import shutil
from pathlib import Path

import pytest

import bestmix as bm
from bestmix.experiments.audit import audit

OLD = Path(__file__).parent / "old/0.1"
EXPECTED = json.loads((OLD / "expected.json").read_text())
SEARCHES = sorted(path.stem for path in OLD.glob("search-*.json"))


@pytest.fixture
def database(tmp_path):
    """The database as it was left."""
    return shutil.copy(OLD / "experiments.db", tmp_path / "old.db")


@pytest.mark.parametrize("kind", ["toml", "json"])
def test_problems(kind):
    problem = bm.Problem.load(OLD / f"problem.{kind}")
    assert problem.arms == ("small", "medium", "large")
    assert dict(problem.bounds) == {"dollars": 1.0, "seconds": 2.0}
    assert problem.known["baseline"] == bm.Known(0.4, {"dollars": 0.1, "seconds": 0.2})


@pytest.mark.parametrize("path", sorted(OLD.glob("instance-*")), ids=lambda path: path.name)
def test_instances(path):
    instance = bm.Instance.load(path)
    assert len(instance.arms) == 3
    assert bm.solve(instance).feasible


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_stand_where_they_stood_and_go_on_to_the_end(name):
    search, expected = bm.Search.load(OLD / f"{name}.json"), EXPECTED[name]
    assert (search.trials, search.ask()) == (expected["trials"], expected["ask"])
    rec = search.recommend()
    assert dict(search.recommend(safety=None).mixture) == dict(rec.best_guess)
    assert dict(rec.best_guess) == pytest.approx(expected["mixture"], rel=1e-9)
    assert dict(rec.z_scores) == pytest.approx(expected["z_scores"], rel=1e-6, nan_ok=True)
    while owed := search.ask():
        for arm in owed:
            search.tell(arm, 0.5, [0.3, 0.4])
    assert search.done


def test_policies():
    policy, expected = bm.Policy.load(OLD / "policy.json"), EXPECTED["policy"]
    assert dict(policy.weights) == expected["weights"]
    assert (policy.certainty, policy.safety, policy.known) == (None, None, {})
    assert {unit: policy.assign(unit) for unit in expected["assign"]} == expected["assign"]


def test_logs():
    rec, expected = bm.from_log(OLD / "trials.csv", bounds={"dollars": 1.0, "seconds": 2.0}), EXPECTED["log"]
    assert dict(rec.best_guess) == pytest.approx(expected["mixture"], rel=1e-9)


def test_recommendations():
    data = json.loads((OLD / "recommendation.json").read_text())
    rec = bm.Recommendation.from_dict(data)
    assert rec.mixture == rec.best_guess == data["mixture"]
    assert (rec.safety, rec.certainty, rec.certified, rec.limits) == (None, None, False, {})
    assert "kept with" not in rec.sentence()
    assert bm.Recommendation.from_dict(rec.to_dict()).to_dict() == rec.to_dict()


def test_kept_simulations_are_not_computed_again(tmp_path):
    folder = Path(shutil.copytree(OLD / "sweep", tmp_path / "sweep"))
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    instance = bm.Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0])
    grid = ({"two": instance}, [bm.SFSR(), bm.Challenger(edition=1), bm.Uniform()], [60, 120])
    kept = bm.sweep(*grid, runs=500, seed=4, output=folder)
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    assert [cell.errors for cell in kept] == [cell.errors for cell in bm.sweep(*grid, runs=500, seed=4)]


def test_a_finished_experiment(database):
    with bm.open_storage(database) as storage:
        done, expected = storage.open("done"), EXPECTED["done"]
        assert done.done
        assert done.notes == "made by version 0.1"
        assert len(done.history) == expected["rounds"]
        assert audit(done) == []


def test_a_running_experiment_goes_on(database):
    with bm.open_storage(database) as storage:
        running, expected = storage.open("running"), EXPECTED["running"]
        state = running.state
        assert (state.complete, state.leased, state.failed) == tuple(
            expected[k] for k in ("complete", "leased", "failed")
        )
        assert [event.kind for event in running.events()][: len(expected["events"])] == expected["events"]
        running.give_back(*running.trials("leased"))
        while trials := running.ask(20):
            running.tell_many([(trial, 0.5, [0.3, 0.4]) for trial in trials])
        assert running.done
        assert audit(running) == []
