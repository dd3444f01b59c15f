"""The audit: every figure is derived again, whatever contradicts the trials is found, and figures are repaired."""

import re
import time

import numpy as np
import pytest
from tests.experiments.kits import PROBLEM

from bestmix import SFSR, Challenger, Problem, Uniform, open_experiment
from bestmix.experiments import StorageError
from bestmix.experiments.audit import Examination, alike, audit, examine, repair

FIGURES = [
    "trials",
    "events",
    "round",
    "owing",
    "due",
    "freed",
    "complete",
    "leased",
    "surplus",
    "extra",
    "expired",
    "failed",
]


@pytest.fixture
def exp(clock):
    exp = open_experiment("memory://", "a", PROBLEM, 30, SFSR("lagrangian"), lease=10.0, clock=clock)
    first = exp.ask(9, worker="w1", key="k")
    exp.tell_many([(t, 0.1 * t.token, [0.3]) for t in first[:4]])
    clock.pass_time(11.0)
    again = exp.ask(3)
    exp.tell_failed(again[0], "no reason")
    exp.tell(first[5], 0.5, [0.5])
    exp.tell(again[1], 0.7, [0.5])
    while exp.state.round < 2:
        given = [*exp.ask(5), *exp.trials("leased", limit=1)]
        exp.tell_many([(t, 0.2 * t.token, [0.3]) for t in given])
    exp.ask(2)
    assert audit(exp) == []
    return exp


def stored(exp):
    return exp.storage.store._stored(exp.record.key)


def look(exp, strategy):
    return examine(exp.storage.store.contents(exp.record.key, events=True), exp.revision(None), strategy)


@pytest.mark.parametrize("name", [*FIGURES, "strikes", "earliest"])
@pytest.mark.parametrize("by", [3, -1])
def test_every_figure_is_derived_and_repaired(exp, name, by):
    head = stored(exp).head
    right = getattr(head, name)
    setattr(head, name, right + by)
    if name != "earliest" or by > 0:  # to look for leases that ran out too early does no harm
        assert [d.name for d in look(exp, exp.strategy).differences] == [name]
        repair(exp.storage.store, exp.record.key, look(exp, exp.strategy))
        assert getattr(stored(exp).head, name) == right
    setattr(stored(exp).head, name, right)
    assert audit(exp) == []


@pytest.mark.parametrize("name", ["owing", "due", "freed", "leased"])
def test_figures_of_a_strategy_that_is_not_there_must_fit_each_other(exp, name):
    head = stored(exp).head
    assert look(exp, None).findings == []
    setattr(head, name, getattr(head, name) + 3)
    assert name in [d.name for d in look(exp, None).differences]


def test_what_arms_are_due_is_derived(exp):
    stored(exp).due[1] += 2
    (difference,) = look(exp, exp.strategy).differences
    assert str(difference).startswith("due of arm 1: the figure is")
    repair(exp.storage.store, exp.record.key, look(exp, exp.strategy))
    assert audit(exp) == []


@pytest.mark.parametrize(("state", "strategy"), [("complete", Uniform()), ("surplus", SFSR())])
def test_the_worker_of_a_trial_from_a_log_is_checked(state, strategy):
    log = {"arm": ["a"] * 9, "reward": [0.5] * 9, **{cost: [0.5] * 9 for cost in PROBLEM.costs}}
    exp = open_experiment("memory://", "a", PROBLEM, 9, strategy, log=log)
    exp.ask(1)
    assert audit(exp) == []
    row = next(row for row in stored(exp).rows.values() if row.state == state)
    row.worker = "mog"
    assert f"trial {row.number}: its worker is 'mog'" in audit(exp)[0]


def edit(name, value):
    def change(experiment):
        setattr(experiment.head, name, value)

    return change


def trial(number, **values):
    def change(experiment):
        for name, value in values.items():
            setattr(experiment.rows[number], name, value)

    return change


def drop(name, key):
    return lambda experiment: getattr(experiment, name).pop(key)


def event(number, kind, **data):
    def change(experiment):
        old = experiment.events[number]
        experiment.events[number] = type(old)(number, kind, data, old.at)

    return change


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (edit("budget", 31), "budget: it is 31, the events say 30"),
        (edit("name", "b"), "not as they were when it was created"),
        (edit("status", "paused"), "status: it is 'paused', the events say 'running'"),
        (edit("status", "done"), "ended: it is None although the experiment is done"),
        (edit("reason", "x"), "reason: it is 'x', the events say ''"),
        (edit("ended", 5.0), "ended: it is 5.0 although"),
        (edit("clock", 1e300), "clock: no clock shows"),
        (edit("clock", 0.0), "its lease ends later than a lease can"),
        (trial(1, values=(9.0, 0.3)), "arm 'a': its running sums"),
        (trial(1, arm=1), "trial 1|arm|round"),
        (trial(1, state="surplus"), "trial 1: the events say that it is complete|slot 1"),
        (trial(1, state="leased"), "trial 1: it is leased, with the result"),
        (trial(1, worker="w9"), "trial 1: its worker is 'w9', the events say"),
        (trial(1, slot=3), "trial 1: there is no slot 3"),
        (trial(2, slot=1), "slot"),
        (trial(2, round=2), "round"),
        (trial(2, state="lost"), "there is no state 'lost'"),
        (trial(9, open=True, state="leased"), "trial 9"),
        (drop("rows", 2), "trial 3: it stands where trial 2 should"),
        (drop("events", 2), "events: number 3 stands where 2 should"),
        (drop("rounds", 1), "round 1: it is over, as the events say, and is not there"),
        (event(2, "asked", worker="w1", first=1, count=8), "trial"),
        (event(2, "asks"), "event 2: 'asks' with {} is none that there is"),
        (event(3, "told", trials=[1, 2], surplus=0), "of which the events know nothing"),
        (event(3, "told", trials=[1, 2, 3, 4, 8], surplus=0), "the events say that it is complete"),
        (event(3, "told", trials=[1, 2, 3, 4], surplus=2), "surplus: the events say"),
        (lambda experiment: experiment.asks.update(k=(2, 3)), "asks: a key stands for trials"),
        (drop("asks", "k"), "asks: a key of which the events tell is missing"),
        (lambda experiment: experiment.memory.update(memory={"alive": []}), "replay"),
        (lambda experiment: experiment.mixtures.update({1: {"a": 0.7}}), "is no mixture of the arms"),
    ],
)
def test_whatever_contradicts_the_trials_is_damage(exp, damage, words):
    damage(stored(exp))
    found = look(exp, exp.strategy)
    assert re.search(words, "; ".join(found.damage)), found
    with pytest.raises(StorageError, match="restore the database from a copy"):
        repair(exp.storage.store, exp.record.key, found)


def test_figures_that_moved_meanwhile_are_not_overwritten(exp):
    stored(exp).head.owing += 3
    found = look(exp, exp.strategy)
    exp.tell_many([(t, 0.5, [0.5]) for t in exp.trials("leased")])
    with pytest.raises(StorageError, match="owing was written meanwhile"):
        repair(exp.storage.store, exp.record.key, found)


def test_nothing_is_wrong_with_sound_experiments(storage, name, clock):
    exp = storage.create(name, PROBLEM, 24, Challenger())
    exp.tell_many([(t, 0.1 * t.token, [0.3]) for t in exp.ask(24)])
    assert audit(exp) == []
    exp.extend(30)
    exp.pause()
    exp.resume()
    exp.rename(f"{name} again")
    assert audit(exp) == []
    exp.stop("enough")
    assert audit(exp) == []


def test_numbers_may_differ_in_their_last_digits():
    assert alike([{"a": 0.1 + 0.2}, (1, "x")], [{"a": 0.3}, [1, "x"]])
    assert alike(-float("inf"), -float("inf"))
    for other in ([{"a": 0.31}, [1, "x"]], [{"b": 0.3}, [1, "x"]], [{"a": 0.3}, [1]], [{"a": None}, [1, "x"]]):
        assert not alike([{"a": 0.3}, [1, "x"]], other)
    assert Examination([], []).findings == []


@pytest.mark.parametrize(("trials", "ahead"), [(60, 6), (60, 16), (200, 6)])
def test_planning_ahead_is_replayed_after_every_result(trials, ahead):
    """With short rounds several of them are planned and not yet begun: the store's queue is not the strategy's."""
    exp = open_experiment("memory://", "a", Problem(["a", "b"], {"cost": 1.0}), trials, Challenger(ahead=ahead))
    rng, queued = np.random.default_rng(ahead), 0
    while given := exp.ask(2):
        exp.tell_many([(t, rng.random(), [2.0 * rng.random()]) for t in given])
        assert audit(exp) == []
        queued += bool(exp.storage.store.contents(exp.record.key).run.memory.get("queue"))
    assert queued


@pytest.mark.parametrize("url", ["memory://", "sqlite"])
def test_leases_that_were_renewed_are_sound(url, tmp_path):
    exp = open_experiment(url if url == "memory://" else tmp_path / "x.db", "e", Problem(["a", "b"]), 40)
    given = exp.ask(2)
    time.sleep(0.05)  # more than rounding adds to a deadline
    exp.renew(given[0])
    assert audit(exp) == []


def test_arms_may_change_before_the_first_user_arrives():
    exp = open_experiment("memory://", "e", Problem(["a", "b"], segments={"x": 0.6, "y": 0.4}), 40)
    exp.change(arms=["a", "b", "c"])
    for k in range(60):
        for trial in exp.ask(1, segment="xy"[k % 2]):
            exp.tell(trial, k % 7 / 7)
    assert exp.state.status == "done"
    assert audit(exp) == []
