"""A hard budget of money is never exceeded, whatever workers do."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tests.experiments.kits import FakeClock

from bestmix import SFSR, Challenger, Problem, Spend, Uniform, open_experiment
from bestmix.experiments.audit import audit
from bestmix.experiments.errors import Closed

PROBLEM = Problem(["small", "medium", "large"], {"dollars": 3.0})
PRICES = {"small": 0.5, "medium": 2.0, "large": 5.0}
FATES = ("told", "told", "told", "dead", "late", "failed", "given back")


def run(strategy, spend, seed, url="memory://"):
    """Eight workers, of which many die; what they have paid in all, and the experiment."""
    clock, rng, paid, late = FakeClock(), np.random.default_rng(seed), 0.0, []
    exp = open_experiment(url, "router", PROBLEM, spend, strategy, lease=10.0, failures=10_000, clock=clock)
    for _ in range(400):
        if exp.done:
            break
        given = exp.ask(int(rng.integers(1, 9)))
        if not given:
            clock.ticks += 11.0
        for trial in given:
            fate = FATES[rng.integers(len(FATES))]
            price = PRICES[trial.arm] * rng.uniform(0.1, 1.0)
            paid += price if spend.prices is None else PRICES[trial.arm]
            result = {"reward": rng.normal() + PRICES[trial.arm], "dollars": price}
            if fate == "told":
                exp.tell(trial, result)
            elif fate == "failed":
                exp.tell_failed(trial, "no luck")
            elif fate == "given back":
                exp.give_back(trial)
            elif fate == "late":
                late.append((trial, result))
        clock.ticks += 3.0
        if late and rng.random() < 0.3:
            told_late(exp, *late.pop(int(rng.integers(len(late)))))
    return paid, exp


def told_late(exp, trial, result):
    with contextlib.suppress(Closed):
        exp.tell(trial, result)


@pytest.mark.parametrize("strategy", [Challenger(), Uniform(), SFSR()], ids=["Challenger", "USLP", "SFSR"])
@pytest.mark.parametrize("spend", [Spend(60.0, "dollars", most=5.0), Spend(60.0, "tokens", prices=PRICES)])
@given(seed=some.integers(0, 10**6))
@settings(max_examples=6, deadline=None)
def test_a_hard_budget_is_never_exceeded_under_workers_that_die(strategy, spend, seed):
    paid, exp = run(strategy, spend, seed)
    assert exp.done
    assert paid <= 60.0 * (1 + 1e-9)
    assert exp.account.spent <= paid * (1 + 1e-9)
    assert audit(exp) == []


def test_most_of_the_money_is_used_when_nobody_dies():
    clock, rng = FakeClock(), np.random.default_rng(1)
    exp = open_experiment("memory://", "x", PROBLEM, Spend(60.0, "dollars", most=5.0), Uniform(), clock=clock)
    while trials := exp.ask(3):
        for trial in trials:
            exp.tell(trial, {"reward": rng.normal(), "dollars": PRICES[trial.arm]})
    assert 55.0 < exp.account.spent <= 60.0
    assert exp.account.lost == 0.0
    assert exp.recommend().account == exp.account


def test_what_never_told_is_set_aside():
    clock = FakeClock()
    exp = open_experiment("memory://", "x", PROBLEM, Spend(15.0, "dollars", most=5.0), Uniform(), lease=10, clock=clock)
    dead = exp.ask(3)
    assert len(dead) == 3
    clock.ticks += 11.0
    assert not exp.ask(1)
    assert exp.done
    assert exp.account.lost == 15.0
    assert "15 of it set aside for trials that never told" in str(exp.account)
    assert exp.state.handed == 3
    assert exp.tell(dead[0], {"reward": 1.0, "dollars": 2.0}).value == "counted"  # late, and paid for
    assert exp.account.spent == 2.0
    assert audit(exp) == []


def test_a_database_keeps_the_money(tmp_path):
    spend = Spend(40.0, "dollars", most=5.0)
    paid, exp = run(Challenger(), spend, 3, f"sqlite:///{tmp_path}/e.db")
    assert paid <= 40.0
    again = open_experiment(f"sqlite:///{tmp_path}/e.db", "router", PROBLEM, spend)
    assert again.account == exp.account
    with pytest.raises(ValueError, match="budget: the experiment 'router' has 40 dollars, got 41 dollars"):
        open_experiment(f"sqlite:///{tmp_path}/e.db", "router", PROBLEM, Spend(41.0, "dollars", most=5.0))
    with pytest.raises(ValueError, match="budget: the experiment 'router' has 40 dollars, got 100"):
        open_experiment(f"sqlite:///{tmp_path}/e.db", "router", budget=100)
    again.extend(Spend(60.0, "dollars", most=5.0))
    assert again.state.status == "running"
    assert again.account.spend.amount == 60.0
    assert audit(again) == []


def test_a_soft_budget_hands_slots_out_again():
    clock = FakeClock()
    exp = open_experiment("memory://", "x", PROBLEM, Spend(15.0, "dollars"), Uniform(), lease=10, clock=clock)
    dead = exp.ask(9)
    clock.ticks += 11.0
    assert len(exp.ask(9)) == len(dead) == 9
    assert exp.account.lost == 0.0


def test_only_bounds_change_under_a_budget_of_money():
    exp = open_experiment("memory://", "x", PROBLEM, Spend(30.0, "dollars", most=5.0), Challenger())
    exp.change(bounds={"dollars": 2.0})
    assert exp.problem.bounds == {"dollars": 2.0}
    with pytest.raises(ValueError, match="budget: with a budget of money only bounds can change"):
        exp.change(arms=["small", "large"])
    with pytest.raises(ValueError, match="budget: with a budget of money only bounds can change"):
        exp.change(budget=100)
    assert audit(exp) == []


def test_a_log_was_paid_for_already():
    log = {"arm": ["small"] * 4, "reward": [1.0, 2.0] * 2, "dollars": [0.4] * 4}
    exp = open_experiment("memory://", "x", PROBLEM, Spend(30.0, "dollars", most=5.0), Challenger(), log=log)
    assert exp.account.spent == pytest.approx(0.0)
    assert exp.state.unlimited
    assert audit(exp) == []
