import numpy as np
import pytest
from scipy.optimize import minimize

from bestmix import Instance, noise, solve
from bestmix.theory.limit.conditions import points_of
from bestmix.theory.limit.feasible_sets import FeasibleSets, count_supports

COST = [[2.0, 0.2, 1.3], [0.3, 2.0, 1.2]]


def sets_of(instance):
    points = points_of(instance, solve(instance), instance.covariance)
    return points, FeasibleSets(points, instance.covariance / np.outer(points.scale, points.scale))


def brute(instance, share, rng):
    """The smallest weighted divergence to means with which some mix keeps the bounds, over moves and mixes."""
    arms, costs = len(instance.arms), len(instance.bound)
    inverse = np.linalg.inv(instance.covariance[:, 1:, 1:])

    def far(x):
        move = x[:-arms].reshape(arms, costs)
        return 0.5 * float(np.einsum("a,ai,aij,aj->", share, move, inverse, move))

    def room(x):
        mix = x[-arms:] ** 2 / (x[-arms:] ** 2).sum()
        return instance.bound - mix @ (instance.means[:, 1:] + x[:-arms].reshape(arms, costs))

    found = [
        minimize(
            far, np.r_[rng.normal(size=arms * costs), rng.normal(size=arms)], constraints={"type": "ineq", "fun": room}
        )
        for _ in range(8)
    ]
    return min(f.fun for f in found if f.success and room(f.x).min() > -1e-6)


@pytest.mark.parametrize("alike", [True, False])
def test_no_feasible_means_are_nearer(alike):
    rng = np.random.default_rng(2)
    factor = rng.normal(size=(3, 3, 3))
    covariance = np.diag([1.0, 0.25, 0.36]) if alike else factor @ factor.transpose(0, 2, 1) + 0.2 * np.eye(3)
    instance = Instance([1.0, 0.5, 0.2], COST, [1.0, 1.0], noise=noise.Gaussian(covariance=covariance))
    _, sets = sets_of(instance)
    assert sets.exact == alike
    for share in rng.dirichlet(np.ones(3), 2):
        least = min(value for _, value, _ in sets.cuts(share))
        assert least == pytest.approx(brute(instance, share, rng), rel=1e-3)


def test_one_arm_may_have_to_move_in_both_costs():
    _, sets = sets_of(Instance([1.0], [[1.5], [2.0]], [1.0, 1.0], sigma_cost=0.5))
    assert min(value for _, value, _ in sets.cuts(np.ones(1))) == pytest.approx((0.25 + 1.0) / (2 * 0.25))


def test_known_arms_stay():
    _, sets = sets_of(Instance([1.0, 0.5, 0.2], COST, [1.0, 1.0], known=1))
    assert all(len(moved) == 2 for _, _, moved in sets.cuts(np.array([0.5, 0.5])))
    assert any(2 in support for support in sets.supports)


def test_all_small_sets_with_an_arm_are_looked_at():
    _, sets = sets_of(Instance([1.0, 0.5, 0.2], COST, [1.0, 1.0]))
    assert len(sets.supports) == count_supports(3, 2) - 3  # not those of slacks alone
