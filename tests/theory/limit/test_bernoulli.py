import numpy as np
import pytest
from scipy.optimize import minimize

from bestmix import Instance, limit, noise, solve
from bestmix.theory.limit.bernoulli import BernoulliDistances
from bestmix.theory.limit.conditions import conditions_of, points_of


def parts(instance, binary):
    solution = solve(instance)
    points = points_of(instance, solution, instance.covariance)
    covariance = instance.covariance / np.outer(points.scale, points.scale)
    return points, conditions_of(points, solution), BernoulliDistances(points, covariance, instance.means, binary)


def coins(p, q):
    return p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))


def moved(mu, normal, target):
    """The cheapest move of one arm of 0/1 metrics to a plane, by SLSQP."""
    on_plane = {"type": "eq", "fun": lambda z: z @ normal - target}
    ends = [(1e-9, 1 - 1e-9)] * len(mu)
    found = minimize(lambda z: coins(mu, z).sum(), mu, constraints=on_plane, bounds=ends, options={"ftol": 1e-14})
    return found.fun if abs(found.x @ normal - target) < 1e-7 else np.inf


def test_an_arm_moves_to_a_plane_as_cheaply_as_can_be():
    instance = Instance([0.9, 0.6, 0.2], [[0.7, 0.3, 0.2]], [0.5], noise=noise.Bernoulli())
    points, conditions, distances = parts(instance, np.array([True, True]))
    rng = np.random.default_rng(0)
    for condition in conditions:
        for plane in (condition.free @ rng.normal(size=condition.free.shape[1]) for _ in range(4)):
            normal = plane[:-1] / points.scale
            target = plane[-1] + normal @ points.origin
            wanted = [moved(instance.means[a], normal, target) for a in condition.arms]
            assert distances.divergence(condition, plane)[condition.arms] == pytest.approx(wanted, rel=1e-4, abs=1e-9)


def test_the_gradient_is_that_of_the_divergence():
    instance = Instance([0.9, 0.6, 0.2], [[0.7, 0.3, 0.2]], [0.5], noise=noise.Bernoulli(sigma_cost=0.3))
    _, conditions, distances = parts(instance, np.array([True, False]))
    share, condition = np.array([0.5, 0.3, 0.2]), conditions[2]
    inner = condition.free.T @ distances.nearest(condition, share).plane * 1.3 + 0.02
    slope = distances._slope(inner, condition, share)[1]
    for i, step in enumerate(1e-6 * np.eye(len(inner))):
        ends = [distances._slope(inner + sign * step, condition, share)[0] for sign in (1, -1)]
        assert slope[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-4, abs=1e-8)


@pytest.mark.parametrize(
    ("means", "shares"),
    [
        ([0.5, 0.45, 0.43, 0.4], [0.417, 0.390, 0.136, 0.057]),
        ([0.3, 0.21, 0.2, 0.19, 0.18], [0.336, 0.251, 0.177, 0.132, 0.104]),
    ],
)
def test_shares_of_the_two_examples_of_garivier_and_kaufmann(means, shares):
    found = limit(Instance(means, noise=noise.Bernoulli()))
    assert found.proven
    assert found.share == pytest.approx(shares, abs=2e-3)


def test_coins_that_always_fall_on_one_side_may_be_others():
    """A coin that fell on its side n times is one of mean z with the chance z^n: T* = 1 / log 2, at z = 1 / 2."""
    found = limit(Instance([1.0, 0.0], noise=noise.Bernoulli()))
    assert found.proven
    assert found.time == pytest.approx(1 / np.log(2), rel=1e-4)
    assert found.share == pytest.approx([0.5, 0.5], abs=0.01)


def test_certain_coins_are_the_limit_of_nearly_certain_ones():
    cost = np.array([0.8, 0.2, 0.6])
    sure = Instance([1.0, 0.4, 0.0], [cost], [0.5], noise=noise.Bernoulli())
    near = Instance([1.0 - 1e-7, 0.4, 1e-7], [cost], [0.5], noise=noise.Bernoulli())
    assert limit(sure).time == pytest.approx(limit(near).time, rel=1e-3)


def test_no_coin_is_better_than_one_that_always_wins():
    found = limit(Instance([0.1, 0.2, 1.0], [[0.0, 0.9, 0.0]], [0.5], known=1, noise=noise.Bernoulli()))
    assert (found.time, found.proven) == (0.0, True)
    assert "No trial is needed" in found.note
