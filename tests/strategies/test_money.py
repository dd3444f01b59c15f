import numpy as np
import pytest
from tests import naive
from tests.kernels.states import decided, random_instance, told

from bestmix.kernels import allocation, chunks, jit
from bestmix.kernels.conditions import RESERVE, Reserve
from bestmix.strategies import money
from bestmix.strategies.challenger_rounds import doubts
from bestmix.strategies.purse import Purse


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):  # as in ``jit.speed_for``
        yield


def state_of(seed, arms=5, costs=1):
    return decided(told(random_instance(arms, arms, costs, seed), [20] * arms, seed))


def purse_of(state, prices, amount=1e9):
    price = np.array(prices, dtype=float)
    return Purse(amount, float(state.counts @ price), np.array(state.counts), price, price, learnt=False)


plain = jit.speed_for(1)


@pytest.mark.parametrize("reserve", [RESERVE, Reserve(doubt=2.5)], ids=["always", "in doubt"])
@pytest.mark.parametrize("seed", range(8))
def test_at_the_price_of_one_it_is_the_allocation_of_trials(seed, reserve):
    state = state_of(seed)
    arm, reason = np.empty((2, chunks.CHUNKS), dtype=np.int64)
    owed = np.empty_like(state.counts)
    allocation.allocate(state, 100, reserve, arm, reason, owed)
    plan = money.plan_round(money.condition_gains(doubts(plain, state), reserve), purse_of(state, [1.0] * 5), 100.0)
    assert plan.trials.tolist() == owed.tolist()


@pytest.mark.parametrize("seed", range(8))
def test_parts_go_where_a_unit_of_money_helps_most(seed):
    state, prices = state_of(seed), np.exp(np.random.default_rng(seed).uniform(0, 4, 5))
    found = doubts(plain, state)._replace(feasible=None)
    plan = money.plan_round(money.condition_gains(found, RESERVE), purse_of(state, prices), 300.0)
    assert plan.trials.tolist() == naive.paid_chunks(found.gap, found.terms, state.counts, prices, 300.0)
    assert {arm: sum(why.values()) for arm, why in plan.reasons.items()} == {
        arm: n for arm, n in enumerate(plan.trials.tolist()) if n
    }


def test_only_what_is_affordable_is_bought():
    state = state_of(1)
    purse = purse_of(state, [1.0, 2.0, 50.0, 1.0, 1.0], amount=20.0 * 55 + 30.0)
    plan = money.plan_round(money.condition_gains(doubts(plain, state), RESERVE), purse, 100.0)
    assert plan.trials[2] == 0
    assert plan.trials @ purse.price <= 30.0 + 1e-6


def test_where_nothing_is_in_doubt_the_root_rule_decides():
    price = np.array([1.0, 4.0])
    purse = Purse(1000.0, 50.0, np.array([10, 10]), price, price, learnt=False)
    plan = money.plan_round(lambda trials, share: np.zeros((2, 3)), purse, 200.0)
    counts = plan.trials + 10
    assert counts[0] / counts[1] == pytest.approx(2.0, rel=0.2)
