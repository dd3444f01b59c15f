"""Planning ahead: a pure function of what was told, in any order of arrival."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.experiments.kits import PROBLEM, FakeClock

from bestmix import Challenger, Spend, Uniform, open_experiment
from bestmix.experiments.audit import audit
from bestmix.strategies.paid import Paid
from bestmix.strategies.protocol import AHEAD


def value(arm, place):
    """The result of an arm's slot, by its place among the arm's slots."""
    rng = np.random.default_rng([ord(arm), place])
    return rng.normal(1.0 + 0.1 * ord(arm) % 3, 0.5), [rng.normal(0.8, 0.5)]


def work(exp, seed, workers=8, clock=None, lost=0.0):
    """Keep workers busy; results come in a random order. How long workers waited, summed up."""
    rng, out, places, counts, idle = random.Random(seed), [], {}, {}, 0
    while not exp.done:
        for trial in exp.ask(max(workers - len(out), 1)):
            if trial.slot not in places:
                counts[trial.arm] = counts.get(trial.arm, 0) + 1
                places[trial.slot] = counts[trial.arm]
            out.append(trial)
        idle += workers - len(out) if exp.state.complete + len(out) < exp.state.budget else 0
        rng.shuffle(out)
        trial = out.pop()
        if clock is not None and rng.random() < lost:
            clock.pass_time(6.0)
            out.clear()
            continue
        exp.tell(trial, *value(trial.arm, places[trial.slot]))
    return idle


def story(exp):
    return [r.to_dict() for r in exp.history], [t.arm for t in exp.trials() if t.token == t.slot]


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 5, 12, 40]))
def test_the_course_does_not_depend_on_the_order_of_arrival(seed, ahead):
    strategy = Challenger(ahead=ahead, rounds=12)
    clock = FakeClock()
    first, second, third = (
        open_experiment("memory://", "a", PROBLEM, 150, strategy, lease=5.0, clock=clock) for _ in range(3)
    )
    work(first, 0, workers=1)
    work(second, seed, workers=8)
    assert story(second) == story(first)
    assert second.recommend().to_json() == first.recommend().to_json()
    work(third, seed, workers=8, clock=clock, lost=0.02)
    slots = [m.to_dict() for m in third.run_state().moments]
    assert third.state.complete == 150
    assert slots == [m.to_dict() for m in first.run_state().moments] or third.state.extra
    for exp in (first, second, third):
        assert audit(exp) == []


@pytest.mark.parametrize(
    "spend",
    [Spend(120.0, "tokens", prices={"a": 0.5, "b": 1.0, "c": 2.0}), Spend(150.0, "dollars", most=3.0)],
    ids=["prices", "most"],
)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6), ahead=st.sampled_from([1, 5, 12]))
def test_rounds_that_are_bought_do_not_depend_on_the_order_of_arrival_either(spend, seed, ahead):
    first, second = (
        open_experiment("memory://", "a", PROBLEM, spend, Challenger(ahead=ahead, rounds=8)) for _ in range(2)
    )
    spend_all(first, 0, workers=1)
    spend_all(second, seed, workers=8)
    assert story(second) == story(first)
    assert second.account == first.account
    assert first.account.spent <= spend.amount * (1 + 1e-9)
    assert first.account.left < 3.0
    assert audit(first) == audit(second) == []


def spend_all(exp, seed, workers):
    """Keep workers busy until the money is spent; results come in a random order. How often a worker had to wait."""
    rng, out, places, counts, waits = random.Random(seed), [], {}, {}, 0
    while not exp.done:
        for trial in exp.ask(max(workers - len(out), 1)):
            counts[trial.arm] = counts.get(trial.arm, 0) + 1
            places[trial.slot] = counts[trial.arm]
            out.append(trial)
        waits += workers - len(out)
        rng.shuffle(out)
        trial = out.pop()
        reward, (cost,) = value(trial.arm, places[trial.slot])
        exp.tell(trial, reward, [min(abs(cost), 3.0)])
    return waits


def test_workers_wait_less_for_rounds_that_are_bought_ahead():
    spend = Spend(200.0, "tokens", prices={"a": 0.5, "b": 1.0, "c": 2.0})
    ahead, waits = (open_experiment("memory://", "a", PROBLEM, spend, Challenger(ahead=n, rounds=15)) for n in (16, 0))
    assert 0 < 2 * spend_all(ahead, 1, workers=8) < spend_all(waits, 1, workers=8)
    soft = open_experiment("memory://", "a", PROBLEM, Spend(60.0, "dollars"), Challenger(ahead=16))
    spend_all(soft, 1, workers=8)
    assert soft.state.complete == sum(sum(r.pulls.values()) for r in soft.history)


def test_rounds_that_were_bought_one_after_another_go_on_so(monkeypatch):
    """Of experiments that began before rounds were bought ahead the memory does not tell how far."""
    plain = Paid.begin
    spend, strategy = Spend(80.0, "tokens", prices={"a": 0.5, "b": 1.0, "c": 2.0}), Challenger(ahead=8, rounds=8)
    with monkeypatch.context() as patch:
        patch.setattr(Paid, "begin", lambda *of: {n: v for n, v in plain(*of).items() if n != AHEAD})
        exp = open_experiment("memory://", "a", PROBLEM, spend, strategy)
        exp.tell_many([(t, *value(t.arm, t.token)) for t in exp.ask(20)])
    assert audit(exp) == []
    exp.change(arms=["a", "b"])
    spend_all(exp, 1, workers=4)
    assert exp.run_state().memory.get(AHEAD) is None
    assert audit(exp) == []


def test_workers_wait_far_less_at_the_end_of_a_round(storage, name):
    ahead = storage.create(name, PROBLEM, 200, Challenger(ahead=16, rounds=20))
    waits = storage.create(f"{name} 2", PROBLEM, 200, Challenger(ahead=0, rounds=20))
    first = sum(ahead.run_state().memory["quota"])
    for exp in (ahead, waits):
        while exp.state.complete < first:
            exp.tell(exp.ask()[0], 1.0 + 0.01 * exp.state.complete, [0.5])
    assert 0 < 4 * work(ahead, 1) < work(waits, 1)
    assert ahead.state.complete == waits.state.complete == 200
    assert audit(ahead) == audit(waits) == []


def test_new_experiments_plan_ahead_and_old_ones_go_on_as_they_were(storage, name):
    exp = storage.create(name, PROBLEM, 400)
    assert exp.strategy == Challenger(ahead=32) == storage.open(name, Challenger()).strategy
    assert storage.create(f"{name} 2", PROBLEM, 200).strategy.ahead == 20
    assert storage.create(f"{name} 3", PROBLEM, 60).strategy == Challenger()
    assert storage.create(f"{name} 4", PROBLEM, 400, Challenger(ahead=0)).strategy.ahead == 0
    assert storage.create(f"{name} 5", PROBLEM, 400, Uniform()).strategy == Uniform()


@pytest.mark.parametrize("made", [0, 100])
def test_an_arm_comes_while_rounds_are_planned_ahead(storage, name, made):
    exp = storage.create(name, PROBLEM, 200, Challenger(ahead=16, rounds=20))
    while exp.state.complete < made:
        exp.tell(exp.ask()[0], 1.0 + 0.01 * (exp.state.complete % 7), [0.5 + 0.01 * (exp.state.complete % 5)])
    out = exp.ask(5)
    exp.change(arms=["a", "b", "d"])
    assert audit(exp) == []
    for trial in out:
        exp.tell(trial, 1.0, [0.5])
    work(exp, 3)
    assert exp.recommend().estimates["d"].trials > 0
    assert exp.state.complete + exp.state.extra <= 205
    assert audit(exp) == []
