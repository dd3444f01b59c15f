import numpy as np
import pytest
from tests.strategies.searches import drive, plain

from bestmix import Challenger, Spend
from bestmix.kernels import conditions, jit
from bestmix.strategies.challenger import _state
from bestmix.strategies.challenger_rounds import MoneyLot, TrialLot, doubts
from bestmix.strategies.purse import Purse


@pytest.fixture
def evidence():
    instance = plain()
    return drive(Challenger().start(instance.problem, 90), instance, 1).evidence


def purse(evidence, price=1.0, amount=1000.0):
    prices = np.full(len(evidence.counts), price)
    return Purse(amount, float(evidence.counts @ prices), evidence.counts, prices, prices, learnt=False)


def test_the_terms_by_arm_are_those_of_the_variances(evidence):
    speed = jit.speed_for(1)
    state = _state(speed, evidence, {"basis": []})
    found = doubts(speed, state)
    with np.errstate(all="ignore"):
        z = found.gap / np.sqrt((found.terms / state.counts).sum(axis=1))
    wanted = speed(conditions.z_scores)(state)
    some = np.isfinite(wanted)
    np.testing.assert_allclose(z[some], wanted[some], rtol=1e-12)


def test_a_round_of_trials_and_one_of_money_at_the_price_of_one_are_the_same(evidence):
    speed, problem = jit.speed_for(1), evidence.problem
    state = _state(speed, evidence, {"basis": []})
    trials = TrialLot(50, 90, 1000).settle(speed, problem, state, conditions.RESERVE)
    money = MoneyLot(purse(evidence), 50.0).settle(speed, problem, state, conditions.RESERVE)
    assert trials["quota"] == money["quota"]
    assert trials["reasons"].keys() == money["reasons"].keys()


def test_the_last_share_begins_when_the_rest_is_spent(evidence):
    assert TrialLot(5, 70, 100).late(0.3)
    assert not TrialLot(5, 69, 100).late(0.3)
    assert MoneyLot(purse(evidence, amount=120.0), 5.0).late(0.3)
    assert not MoneyLot(purse(evidence, amount=200.0), 5.0).late(0.3)


def test_a_part_of_a_round_is_a_trial_at_least_but_where_nothing_is_left(evidence):
    assert [TrialLot(size, 70, 100).part(0.3).size for size in (10, 2, 0)] == [3, 1, 0]
    assert TrialLot(10, 70, 100).part(1.0) == TrialLot(10, 70, 100)
    assert [MoneyLot(purse(evidence, price=2.0), amount).part(0.3).amount for amount in (10.0, 5.0)] == [3.0, 2.0]


def test_there_is_no_round_where_nothing_is_left(evidence):
    assert TrialLot(0, 100, 100).empty
    assert MoneyLot(purse(evidence, amount=90.5), 5.0).empty
    assert not MoneyLot(purse(evidence, amount=91.5), 5.0).empty


def test_rounds_are_shares_of_the_money():
    instance = plain()
    prices = {"arm0": 1.0, "arm1": 2.0, "arm2": 0.5}
    search = drive(Challenger().start(instance.problem, Spend(1000.0, "dollars", prices=prices)), instance, 4)
    spent = [sum(prices[arm] * n for arm, n in done.pulls.items()) for done in search.history]
    assert 90.0 <= spent[0] <= 100.0
    assert len(spent) <= 33
    assert all(cost <= 30.0 + 2.0 for cost in spent[1:])
