import inspect
import json

import pytest
from tests.service.servers import PROBLEM

from bestmix import SFSR, Challenger, Items, Problem, Spend, Uniform, connect
from bestmix.client import RemoteExperiment
from bestmix.experiments import Closed, Conflict, Experiment, StorageError, UnknownTrial


def names(kind):
    return {name for name in vars(kind) if not name.startswith("_")}


def test_it_has_the_methods_of_a_local_experiment():
    # An attribute, and what the service itself answers from.
    assert names(Experiment) - names(RemoteExperiment) <= {
        "problem",
        "picture",
        "run_state",
        "contents",
        "answer",
        "revision",
    }
    for name in names(Experiment) & names(RemoteExperiment):
        local, remote = getattr(Experiment, name), getattr(RemoteExperiment, name)
        if inspect.isfunction(local):
            assert list(inspect.signature(local).parameters) == list(inspect.signature(remote).parameters), name


def test_answers_are_those_of_the_local_experiment(running):
    exp = running.create(budget=40, strategy=SFSR(), notes="n")
    local = running.storage.open("router")
    assert (exp.problem, exp.strategy, exp.record) == (PROBLEM, SFSR(), local.record)
    assert exp.recommend().to_dict() == local.recommend().to_dict()
    while given := exp.ask(7, worker="w"):
        assert given == local.trials("leased")
        exp.tell_many([(t, 0.1 * t.token, [0.3 * (t.arm == "large")]) for t in given])
    assert exp.done
    assert (exp.state, exp.name, exp.notes) == (local.state, "router", "n")
    assert (exp.history, exp.mixtures) == (local.history, local.mixtures)
    assert exp.recommend().to_json() == local.recommend().to_json()
    for safety in (None, 0.8):
        assert exp.recommend(safety).to_json() == local.recommend(safety).to_json()
    assert str(exp.recommend()) == str(local.recommend())
    now, here = exp.snapshot(), local.snapshot()
    assert (now.state, now.mixtures) == (here.state, here.mixtures)
    assert now.recommendation.to_json() == here.recommendation.to_json()
    assert exp.snapshot(0.8).recommendation.to_json() == local.snapshot(0.8).recommendation.to_json()
    assert list(exp.iter_trials()) == list(local.iter_trials()) == exp.trials()
    assert exp.trials("complete", "small", "w", limit=3, newest_first=True) == local.trials(
        "complete", "small", "w", limit=3, newest_first=True
    )
    assert exp.events(3, 5) == local.events(3, 5)
    assert exp.trial(exp.trials(limit=1)[0]) == exp.trials(limit=1)[0]


def test_errors_are_those_of_the_local_experiment(running):
    exp = running.create()
    trial = exp.ask()[0]
    exp.tell(trial, 1.0, [0.5])
    with pytest.raises(Conflict, match="the first result stands"):
        exp.tell(trial, 2.0, [0.5])
    with pytest.raises(UnknownTrial, match="there is no trial 99"):
        exp.tell(f"{exp.record.key}-99", 1.0, [0.5])
    with pytest.raises(Closed, match="was told already"):
        exp.renew(trial)
    with pytest.raises(ValueError, match="reward: expected a finite number"):
        exp.tell(trial, float("nan"), [0.5])
    with pytest.raises(ValueError, match="there is no experiment 'none'"):
        running.connect().open("none")
    with pytest.raises(ValueError, match="of that name already"):
        running.create(budget=9)
    with pytest.raises(ValueError, match=r"token: http://.* wants one; set the variable BESTMIX_TOKEN"):
        connect(running.url, "").experiments()
    with pytest.raises(ValueError, match="token: the token is not known here"):
        running.connect("bm_00000000_x").open("router")
    with pytest.raises(ValueError, match="expected http://HOST:PORT"):
        connect("ftp://x")
    with pytest.raises(StorageError, match="the server cannot be reached"):
        connect("http://127.0.0.1:1", patience=0.1).open("x")


def test_more_events_than_a_page_are_read(running, monkeypatch):
    from bestmix.client import experiment as module

    exp = running.create()
    exp.tell_many([(trial, 1.0, [0.5]) for trial in exp.ask(4)])
    monkeypatch.setattr(module, "PAGE", 2)
    assert [event.number for event in exp.events(limit=5000)] == [event.number for event in exp.events(limit=2)] + [3]
    assert len(exp.events(limit=1)) == 1


def test_a_proven_stop_over_http(running):
    ranges = {"reward": (0.0, 1.0), "dollars": (0.0, 1.0)}
    strategy = Challenger(confidence=0.95, tolerance=0.9, proven=True, ranges=ranges)
    exp = running.create(budget=2000, strategy=strategy)
    assert exp.strategy.name == "Challenger[0.95, within 0.9, proven]"
    given = exp.ask(1)
    with pytest.raises(ValueError, match="reward: expected values from 0 to 1, as its range says, got 2"):
        exp.tell(given[0], 2.0, [0.1])
    while given:
        exp.tell_many([(t, 0.5, [0.3 * (t.arm == "large")]) for t in given])
        given = exp.ask(200)
    assert exp.done
    assert exp.state.complete < 2000
    kept = running.storage.open("router").run_state().memory["certificate"]
    assert exp.recommend().mixture == {arm: p for arm, p in zip(PROBLEM.names, kept["mixture"], strict=True) if p > 0}


def test_metrics_and_segments_over_http(running):
    problem = Problem(
        ["small", "large"], goal="minimise dollars", limits=["quality >= 0.5"], segments={"free": 0.5, "paid": 0.5}
    )
    exp, local = running.create("m", problem), running.storage.open("m")
    assert (exp.problem, local.problem) == (problem, problem)
    trials = exp.ask(8)
    exp.tell(trials[0], {"quality": 1.0, "dollars": 0.2})
    exp.tell_many([(t, {"quality": 1.0, "dollars": 0.3}) for t in trials[1:4]] + [(t, 0.4, [0.0]) for t in trials[4:]])
    assert exp.trials() == local.trials()
    assert exp.recommend().to_json() == local.recommend().to_json()
    with pytest.raises(ValueError, match="metrics: expected those of one trial"):
        exp.tell(trials[0], {"quality": [1.0, 1.0], "dollars": 0.2})
    with pytest.raises(ValueError, match="metrics"):
        exp.tell(trials[0], {"quality": 1.0})


@pytest.mark.parametrize("segments", [None, {"free": 0.7, "paid": 0.3}])
def test_a_log_is_read_here_and_counts_there(running, segments):
    problem = Problem(["a", "b"], {"dollars": 1.0}, segments=segments)
    log = {"model": ["a", "b"] * 6, "score": [0.5] * 12, "dollars": [0.25, 0.75] * 6, "tier": ["free", "paid"] * 6}
    columns = {"arm": "model", "reward": "score", "segment": "tier" if segments else None}
    asked = {"log": log, "log_weight": 0.5, **columns}
    exp = running.connect().create("from a log", problem, 20, Challenger(), **asked)
    counted = exp.state.complete, exp.state.discounted, exp.recommend().trials, exp.state.budget
    assert counted == (6, 6, 6, 26)
    assert exp.recommend(everything=True).trials == 6
    again = running.connect().create("from a log", problem, 20, Challenger(), **asked)
    assert again.record.key == exp.record.key


def test_items_of_a_log_are_sent_and_not_handed_out_again(running):
    problem = Problem(["a", "b"], {"dollars": 1.0})
    log = {"arm": ["a", "a", "b"], "reward": [0.5, 0.6, 0.7], "dollars": [0.25] * 3, "prompt": ["sum", "sort", None]}
    exp = running.connect().create(
        "a log on items", problem, 7, Uniform(), log=log, item="prompt", items=["sum", "sort", "swap", "sift", "seek"]
    )
    given = [(t.arm, t.item) for t in exp.ask(7)]
    assert len(given) == 7
    assert {item for arm, item in given if arm == "a"} == {"swap", "sift", "seek"}


def test_the_problem_is_changed_there(running):
    exp = running.create("changing", budget=40)
    exp.tell(exp.ask()[0], 1.0, [0.5])
    exp.change(bounds={"dollars": 0.5}, arms=["small", "tiny"], budget=30)
    assert (exp.problem.arms, exp.problem.bounds["dollars"], exp.state.budget) == (("small", "tiny"), 0.5, 30)
    assert {t.arm for t in exp.ask(30)} == {"small", "tiny"}
    assert exp.state.changes == running.storage.open("changing").state.changes
    with pytest.raises(ValueError, match="bounds: expected some of"):
        exp.change(bounds={"odd": 1.0})


def test_money_is_changed_there(running):
    spend = Spend(20.0, "dollars", most={"a": 1.0, "b": 2.0})
    exp = running.create("paying", Problem(["a", "b"], {"dollars": 1.0}), spend, Uniform())
    exp.tell_many([(t, {"reward": 1.0, "dollars": 0.5}) for t in exp.ask(6)])
    exp.change(arms=["a", "c"], most={"c": 3.0}, budget=Spend(15.0, "dollars"))
    assert exp.account.spend == Spend(15.0, "dollars", most={"a": 1.0, "c": 3.0})
    assert exp.account.spent == 3.0
    assert exp.account == running.storage.open("paying").account
    with pytest.raises(ValueError, match="most: d is new, and the most that a trial of it can cost is not known"):
        exp.change(arms=["a", "d"])
    with pytest.raises(ValueError, match=r"budget: expected at least 6 dollars \(3 are spent, 3 needed"):
        exp.change(budget=Spend(2.0, "dollars"))


@pytest.mark.parametrize("items", [["Sum.", "Sort a list.", "Swap."], 3])
def test_items_over_http(running, items):
    problem, given = Problem(["a", "b"], {"dollars": 1.0}), Items(items, seed=4)
    exp = running.connect().create("on items", problem, 8, Uniform(), items=given)
    local = running.storage.open("on items")
    assert (exp.items, local.items, exp.record.items) == (given, given, local.record.items)
    assert running.create().items is None
    trials = exp.ask(8)
    assert trials == local.trials("leased")
    assert [t.item for t in trials if t.arm == "b"] == [given.name(given.at(i, "b")) for i in range(4)]
    exp.tell_many([(t, 0.1 * t.token, [0.5]) for t in trials])
    assert exp.recommend().to_json() == local.recommend().to_json()
    assert exp.recommend().items == 3
    again = running.connect().create("on items", problem, 8, Uniform(), items=given)
    assert again.record == exp.record
    with pytest.raises(ValueError, match="items"):
        running.connect().create("on items", problem, 8, Uniform(), items=given, shared=False)
    with pytest.raises(ValueError, match="items"):
        running.connect().transport.call(
            "POST", "/v1/experiments", {"name": "x", "problem": problem.to_dict(), "budget": 8, "items": ["a", "a"]}
        )


@pytest.mark.parametrize("word", ["later", 3, None, ["counted"]])
def test_an_outcome_of_another_version_is_said_to_be_one(running, monkeypatch, word):
    exp = running.create()
    (trial,) = exp.ask()
    monkeypatch.setattr(exp._transport, "post", lambda *_: json.dumps({"outcome": word}).encode())
    monkeypatch.setattr(exp, "_post", lambda *_: {"outcome": word, "outcomes": [word]})
    calls = [
        lambda: exp.tell(trial, 1.0, [0.5]),
        lambda: exp.tell_many([(trial, 1.0, [0.5])]),
        lambda: exp.tell_sums([], "a:1"),
    ]
    for call in calls:
        with pytest.raises(StorageError, match=r"expected one of counted, .* as an outcome, got .*of this version"):
            call()
