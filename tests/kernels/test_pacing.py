import numpy as np
import pytest

from bestmix import Instance
from bestmix.kernels import pacing
from bestmix.strategies.rivals import PacedThompson


def run(instance, budget, runs=2):
    arms, costs, found = len(instance.arms), len(instance.bound), PacedThompson().ended(instance, budget)
    answer, weight, pulls = np.zeros((runs, 1 + costs), np.int64), np.zeros((runs, 1 + costs)), np.zeros(runs, np.int64)
    late, spend = np.empty((runs, arms)), np.empty((runs, 1 + costs))
    found.kernel(np.random.default_rng(0), *found.arguments, answer, weight, pulls, late, spend)
    return answer, weight, pulls, late, spend


def paced_by_hand(instance, budget):
    """Without noise a run is a matter of the prices alone: the arm of every trial."""
    reward, cost, bound = instance.reward, instance.cost[0], instance.bound[0]
    smooth, price, arms = bound, 0.0, []
    for trial in range(budget):
        first = trial < 2 * len(reward)
        arms.append(trial % len(reward) if first else int(np.argmax(reward - price * cost / bound)))
        smooth += 0.05 * (cost[arms[-1]] - smooth)
        price = min(max(price + 0.05 * (smooth / bound - 1), 0.0), 5.0)
    return np.array(arms)


def test_runs_without_noise_are_those_of_the_prices():
    instance, budget = Instance([1.0, 2.0, 0.9], [[0.2, 1.8, 1.9]], [1.0], sigma_reward=0.0, sigma_cost=0.0), 301
    answer, weight, pulls, late, spend = run(instance, budget)
    arms = paced_by_hand(instance, budget)
    assert set(arms[151:]) == {0, 1}  # the price goes up and down
    np.testing.assert_allclose(late, [np.bincount(arms[151:], minlength=3) / 150] * 2)
    np.testing.assert_allclose(spend, [instance.means[arms].mean(axis=0)] * 2)
    assert answer.tolist() == [[0, 1]] * 2
    np.testing.assert_allclose(weight, [[0.5, 0.5]] * 2)
    assert pulls.tolist() == [budget] * 2


def test_runs_say_that_no_mix_keeps_the_bounds():
    answer = run(Instance([1.0, 2.0], [[3.0, 2.5]], [1.0], sigma_cost=0.1), 40)[0]
    assert answer[:, 0].tolist() == [pacing.INFEASIBLE] * 2


def test_twice_the_bound_raises_the_price_by_the_rate():
    """As the package's documentation says of its learning rate, without smoothing."""
    pacer = pacing.new_pacer(np.array([0.01]))
    pacing.observe((0.05, 1.0, 5.0), np.array([0.01]), np.array([0.02]), pacer)
    assert pacer.price == pytest.approx([0.05])


def test_prices_are_those_of_the_package_where_every_request_costs_twice_the_bound():
    """What its version 0.1.1 gives: smoothed spending over the bound, and price, after so many requests."""
    pacer, bound = pacing.new_pacer(np.array([0.01])), np.array([0.01])
    expected = {1: (1.05, 0.0025), 10: (1.40126306, 0.11880009), 100: (1.99407947, 4.05562450)}
    for request in range(1, 101):
        pacing.observe((0.05, 0.05, 5.0), bound, 2 * bound, pacer)
        if request in expected:
            assert (pacer.smooth[0] / 0.01, pacer.price[0]) == pytest.approx(expected[request], rel=1e-7)


def test_prices_follow_smoothed_spending_between_zero_and_the_largest():
    settings, bound, rng = (0.05, 0.05, 0.4), np.array([1.0, 2.0]), np.random.default_rng(0)
    pacer, smooth, price = pacing.new_pacer(bound), bound.copy(), np.zeros(2)
    for _ in range(300):
        cost = rng.exponential([1.3, 1.5])
        pacing.observe(settings, bound, cost, pacer)
        smooth = 0.95 * smooth + 0.05 * cost
        price = np.clip(price + 0.05 * (smooth / bound - 1), 0, 0.4)
        np.testing.assert_allclose(pacer.smooth, smooth)
        np.testing.assert_allclose(pacer.price, price, atol=1e-12)


def test_a_price_moves_the_choice_to_the_cheaper_arm():
    means, bound, counts = np.array([[1.0, 0.1], [1.5, 2.0]]), np.array([1.0]), np.array([10**6, 10**6])
    free, dear = pacing.Pacer(bound, np.zeros(1)), pacing.Pacer(bound, np.ones(1))
    rng = np.random.default_rng(0)
    assert pacing.choose(rng, means, bound, counts, 1.0, free) == 1
    assert pacing.choose(rng, means, bound, counts, 1.0, dear) == 0


def test_the_variance_is_pooled():
    scatter = np.zeros((2, 1, 1))
    scatter[:, 0, 0] = 9.0, 27.0
    assert pacing.reward_variance(np.array([10, 10]), scatter) == pytest.approx(2.0)
    assert pacing.reward_variance(np.array([1, 1]), np.zeros((2, 1, 1))) == 0.0
