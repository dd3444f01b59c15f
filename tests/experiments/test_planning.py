"""Planning ahead: a pure function of what was told, in any order of arrival."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.experiments.kits import PROBLEM, FakeClock

from bestmix import Challenger, Uniform, open_experiment
from bestmix.experiments.audit import audit


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
