"""The course of an experiment is derived from its trials and events alone."""

import contextlib

import numpy as np
import pytest
from tests.experiments.kits import PROBLEM, FakeClock

from bestmix import SFSR, Challenger, Items, Spend, Uniform, open_experiment
from bestmix.experiments.audit import audit
from bestmix.experiments.course import Course
from bestmix.experiments.errors import Closed
from bestmix.experiments.tally import read_log, read_trials

MONEY = Spend(40.0, "dollars", most=1.0)
KINDS = {
    "ahead": (Challenger(ahead=6, rounds=12), 60, None),
    "barrier": (Challenger(ahead=0, rounds=8), 60, None),
    "Uniform": (Uniform(), 60, None),
    "SFSR": (SFSR(), 60, None),
    "items, ahead": (Challenger(ahead=6, rounds=12), 60, Items(90, seed=4)),
    "money": (Challenger(rounds=8), MONEY, None),
    "money, ahead, items": (Challenger(ahead=6, rounds=8), MONEY, Items(90, seed=4)),
    "soft money": (Uniform(), Spend(30.0, "dollars"), None),
    "prices": (SFSR(), Spend(60.0, "tokens", prices={"a": 0.5, "b": 1.0, "c": 2.0}), None),
    "known prices": (Challenger(rounds=8), Spend(50.0, "tokens", prices={"a": 0.5, "b": 1.0, "c": 2.0}), None),
    "prices, ahead": (
        Challenger(ahead=6, rounds=8),
        Spend(50.0, "tokens", prices={"a": 0.5, "b": 1.0, "c": 2.0}),
        None,
    ),
    "the most by arm": (Uniform(), Spend(40.0, "dollars", most={"a": 1.0, "b": 1.0, "c": 1.0}), None),
}


def course(exp):
    contents = exp.storage.store.contents(exp.record.key, events=True)
    log = read_log(contents.events)
    return Course(contents, log, read_trials(contents, log, 3, 1), exp.revision(None))


@pytest.mark.parametrize("strategy", [Challenger(rounds=5), Uniform(), SFSR("lagrangian")], ids=lambda s: s.name)
@pytest.mark.parametrize("logged", [0, 25])
def test_sums_rounds_and_memory_are_those_of_the_experiment(strategy, logged, clock):
    rng = np.random.default_rng(logged)
    log = {
        "arm": list(rng.choice([*PROBLEM.arms], logged)),
        "reward": rng.random(logged),
        "dollars": rng.random(logged),
    }
    exp = open_experiment("memory://", "a", PROBLEM, 60, strategy, log=log if logged else None, lease=5.0, clock=clock)
    late = []
    while not exp.done:
        trials = exp.ask(7)
        late += trials[:1]
        clock.pass_time(3.0)
        exp.tell_many([(t, rng.random(), [rng.random()]) for t in trials[1:]])
        if len(late) > 3:
            exp.tell(late.pop(0), 0.5, [0.5])
        found, now = course(exp), exp.run_state()
        assert [m.to_dict() for m in found.sums()] == [m.to_dict() for m in now.moments]
        step = found.replay(strategy)
        assert step.memory == now.memory
        assert [r.to_dict() for r in step.rounds] == [r.to_dict() for r in now.rounds]
    assert exp.done
    assert exp.state.extra + exp.state.surplus > 0


def log(rng, rows):
    return {"arm": list(rng.choice(PROBLEM.arms, rows)), "reward": rng.random(rows), "dollars": rng.random(rows)}


def live(exp, rng, clock, steps=30):
    """Workers that tell, die or come late, and somebody who changes his mind; the audit after every few calls."""
    late = []
    for step in range(steps):
        with contextlib.suppress(ValueError, Closed):  # what a kind refuses, and what comes after the end
            turn(exp, rng)
        for trial in exp.ask(int(rng.integers(1, 8))):
            fate = rng.choice(["told", "told", "told", "told", "dies", "late", "failed"])
            if fate == "told":
                exp.tell(trial, rng.normal(), [rng.random()])
            elif fate == "failed":
                exp.tell_failed(trial, "no luck")
            elif fate == "late":
                late.append(trial)
        clock.pass_time(4.0)
        if late and rng.random() < 0.4:
            exp.tell(late.pop(0), rng.normal(), [rng.random()])
        if step % 6 == 0:
            assert audit(exp) == []
    assert audit(exp) == []


def turn(exp, rng):
    """Now and then another bound, other arms, or another budget."""
    dice, now = rng.random(), exp.account
    if dice < 0.05:
        exp.change(bounds={"dollars": float(rng.uniform(0.4, 1.4))})
    elif dice < 0.1:
        new, spend = {"d": 1.5, "e": 0.7}, None if now is None else now.spend
        prices = new if spend is not None and spend.prices is not None else None
        most = dict.fromkeys(new, 1.0) if spend is not None and isinstance(spend.most, dict) else None
        arms = [*rng.permutation([*PROBLEM.arms, "d", "e"])[: rng.integers(2, 5)].tolist()]
        exp.change(arms=arms, prices=prices and _of(prices, arms), most=most and _of(most, arms))
    elif dice < 0.15 and now is None:
        exp.change(budget=int(exp.state.budget + rng.integers(-15, 30)))
    elif dice < 0.15:
        exp.change(budget=Spend(now.spend.amount + float(rng.uniform(-12.0, 9.0)), now.spend.unit))
    elif dice < 0.2 and now is None:
        exp.extend(exp.state.budget + 12)
    elif dice < 0.2:
        exp.extend(now.spend.raised(now.spend.amount + 5.0))


def _of(amounts, arms):
    return {arm: amount for arm, amount in amounts.items() if arm in arms}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("logged", [0, 10])
def test_the_audit_replays_every_kind(kind, logged):
    strategy, budget, items = KINDS[kind]
    clock, rng = FakeClock(), np.random.default_rng([logged, *map(ord, kind)])
    pilot = log(rng, logged) if logged else None
    exp = open_experiment(
        "memory://", "x", PROBLEM, budget, strategy, lease=10.0, failures=999, clock=clock, log=pilot, items=items
    )
    live(exp, rng, clock)
    assert exp.state.round >= 1


@pytest.mark.parametrize("kind", ["ahead", "money", "money, ahead, items"])
def test_a_memory_that_no_trials_lead_to_is_found(kind):
    strategy, budget, items = KINDS[kind]
    rng = np.random.default_rng(5)
    exp = open_experiment("memory://", "x", PROBLEM, budget, strategy, items=items)
    while exp.state.round < 3:
        exp.tell_many([(t, rng.normal(), [rng.random()]) for t in exp.ask(4)])
        if exp.state.round == 2:
            exp.change(bounds={"dollars": 0.8}, **({"arms": ["a", "b", "d"]} if kind == "ahead" else {}))
    assert audit(exp) == []
    exp.storage.store._stored(exp.record.key).rounds[1].scores["a"] = 9.0
    assert audit(exp) == ["replay: the strategy gets to another point with the same trials"]
