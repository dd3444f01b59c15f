import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tests import naive

from bestmix import Problem, Spend, Uniform
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.strategies.purse import Purse, first_round, purse_of, rejects_round, root_round, spent_on

PRICES = some.lists(some.floats(0.01, 100.0), min_size=1, max_size=8)


def purse(amount, prices, counts=None, reserve=None, learnt=False):
    price = np.array(prices, dtype=float)
    counts = np.zeros(len(price), dtype=np.int64) if counts is None else np.array(counts)
    reserve = price if reserve is None else np.array(reserve, dtype=float)
    return Purse(amount, float(counts @ price), counts, price, reserve, learnt)


@given(PRICES, some.floats(1.0, 40.0))
@settings(max_examples=60, deadline=None)
def test_the_root_rule_is_that_of_one_trial_after_another(prices, times):
    amount = times * sum(prices)
    assert root_round(purse(amount, prices), range(len(prices))).tolist() == naive.root_trials(amount, prices)


@given(PRICES, some.floats(3.0, 40.0), some.floats(1.0, 10.0))
@settings(max_examples=60, deadline=None)
def test_no_round_costs_more_than_is_left(prices, times, most):
    amount = times * most * sum(prices)
    now = purse(amount, prices, reserve=[most * p for p in prices])
    for planned in (root_round(now, range(len(prices))), first_round(now, 0.1)):
        assert planned.min() >= 1
        assert planned @ now.reserve <= amount * (1 + 1e-9)
    rest = amount - root_round(now, range(len(prices))) @ now.reserve
    assert rest < min(now.reserve) * (1 + 1e-9)


def test_learnt_prices_at_most_double_an_arms_trials():
    now = purse(1000.0, [1e-9, 1.0], counts=[3, 3], learnt=True)
    assert root_round(now, [0, 1]).tolist() == [3, 3]
    assert first_round(now, 0.5)[0] == 3


def test_before_prices_are_known_a_few_trials_tell_them():
    assert first_round(purse(1000.0, [1e-3] * 3, learnt=True), 0.1).tolist() == [3, 3, 3]
    hard = purse(10.0, [1e-5] * 3, reserve=[3.0] * 3, learnt=True)
    assert first_round(hard, 0.1).tolist() == [1, 1, 1]


def test_the_first_share_goes_to_cheap_arms():
    planned = first_round(purse(1000.0, [1.0, 4.0, 100.0]), 0.4)
    assert planned.tolist() == [30, 15, 3]
    assert planned @ [1.0, 4.0, 100.0] <= 400.0


def test_successive_rejects_follow_the_rule():
    prices, amount = [1.0, 3.0, 10.0, 40.0, 2.0], 5000.0
    wanted = naive.paid_rejects(amount, prices, 1, rejected=[2, 0, 4])
    counts = np.zeros(5, dtype=np.int64)
    for k, members in enumerate([[0, 1, 2, 3, 4], [0, 1, 3, 4], [1, 3, 4]]):
        counts = counts + rejects_round(purse(amount, prices, counts), members, 1, 5 - k)
        assert counts.tolist() == wanted[k]


def test_at_equal_prices_successive_rejects_have_nearly_the_papers_schedule():
    from bestmix.strategies.schedule import rejects

    ends = rejects(arms=6, unknown=6, costs=1, budget=6000)
    found = rejects_round(purse(6000.0, [1.0] * 6), range(6), 1, 6)
    assert abs(found[0] - ends[0]) <= 1


def evidence(values):
    problem = Problem(["a", "b"], tracked=["dollars"])
    rows = [Moments(2).plus(np.array([[0.0, v] for v in arm], dtype=float).reshape(-1, 2)) for arm in values]
    return Evidence(problem, rows)


def test_prices_are_the_means_of_what_trials_told():
    found = purse_of(evidence([[1.0, 3.0], [10.0]]), Spend(100.0, "dollars"), 100.0)
    assert found.price.tolist() == found.reserve.tolist() == [2.0, 10.0]
    assert found.spent == pytest.approx(14.0)
    assert found.learnt
    assert spent_on(Spend(100.0, "dollars"), evidence([[1.0, 3.0], [10.0]])) == 14.0


def test_the_most_of_a_trial_is_what_is_reserved():
    found = purse_of(evidence([[1.0, 3.0], [10.0]]), Spend(100.0, "dollars", most={"a": 5.0, "b": 20.0}), 100.0)
    assert found.price.tolist() == [2.0, 10.0]
    assert found.reserve.tolist() == [5.0, 20.0]


def test_trials_that_cost_next_to_nothing_count_as_what_they_cost():
    """A small model's prompt costs less than a millionth of what is to be spent."""
    spend = Spend(200.0, "dollars", prices={"tiny": 0.00003, "large": 0.015})
    search = Uniform().start(Problem(["tiny", "large"]), spend)
    while owed := search.ask():
        for arm, count in owed.items():
            search.tell(arm, np.ones(count))
    assert 200.0 - 0.015 < search.account.spent <= 200.0
    assert "nothing" not in search.account.sentence()


def test_free_trials_count_as_a_millionth_of_the_amount():
    found = purse_of(evidence([[0.0], [1.0]]), Spend(100.0, "dollars"), 100.0)
    assert found.price.tolist() == pytest.approx([1e-4, 1.0])
    assert math.isclose(found.spent, 1.0001)


def test_an_arm_without_trials_is_taken_to_cost_what_the_others_do():
    assert purse_of(evidence([[2.0, 4.0], []]), Spend(100.0, "dollars"), 100.0).price.tolist() == [3.0, 3.0]
