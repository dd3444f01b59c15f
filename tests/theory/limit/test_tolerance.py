import math

import numpy as np
import pytest
from tests.theory.gaps.brute import all_bases, random_instance, weights_and_value

from bestmix import Instance, limit, noise, solve
from bestmix.theory.limit.answers import Tolerance
from bestmix.theory.limit.conditions import points_of
from bestmix.theory.limit.tolerance import Tolerated

TWO = Instance([1.0, 0.0], sigma_reward=0.7)
FOUR = Instance([1.7, 2.6, 0.5, 2.1], [[0.0, 1.8, 0.8, 1.3], [1.0, 0.2, 2.0, 0.5]], [1.0, 1.0])
FIVE = Instance([1.7, 2.6, 0.5, 2.1, 1.2], [[0.0, 1.8, 0.8, 1.3, 2.0]], [1.0])


def tolerated(instance, reward, cost=0.0):
    solution = solve(instance)
    points = points_of(instance, solution, instance.covariance)
    covariance = instance.covariance / np.outer(points.scale, points.scale)
    return Tolerated(instance, solution, points, covariance, Tolerance(reward, np.full(len(instance.bound), cost)))


def test_two_arms_have_a_closed_form():
    """Where one arm is right, the other must earn more by the tolerance; where both are, nothing must be told."""
    near = limit(TWO, tolerance=0.3)
    assert near.time == pytest.approx(8 * 0.49 / 1.3**2, rel=2e-4)
    assert near.time_upper == pytest.approx(8 * 0.49 / 1.3**2, rel=2e-4)
    both = limit(TWO, tolerance=1.5)
    assert (both.time, both.answers) == (0.0, 2)
    assert both.time_upper == pytest.approx(8 * 0.49 / 2.5**2, rel=2e-4)


def test_a_bound_that_may_be_exceeded_has_a_closed_form():
    """One arm, which must be told from one that exceeds the bound by more than is tolerated, and a hopeless one."""
    instance = Instance([1.0, -50.0], [[0.8, 0.0]], [1.0], sigma_reward=1.0, sigma_cost=0.5)
    found = limit(instance, limit_tolerance=0.3)
    assert found.time_upper == pytest.approx(2 * 0.25 / 0.5**2, rel=0.02)
    assert found.time <= found.time_upper


@pytest.mark.parametrize("instance", [FIVE, FOUR])
def test_a_tolerance_near_zero_meets_the_exact_limit(instance):
    exact, near = limit(instance), limit(instance, tolerance=1e-7, limit_tolerance=1e-7)
    assert near.answers == 1
    assert near.time == pytest.approx(exact.time, rel=5e-4)
    assert near.time_upper == pytest.approx(exact.time_upper, rel=5e-4)
    assert limit(instance, tolerance=0.0).time == exact.time


def test_more_tolerance_never_takes_more_trials():
    found = [limit(FIVE, tolerance=eps) for eps in (1e-6, 0.1, 1.0)]
    for one, other in zip(found, found[1:], strict=False):
        assert other.time <= one.time * (1 + 1e-3)
        assert other.time_upper <= one.time_upper * (1 + 1e-4)
        assert other.answers >= one.answers
    assert found[-1].time_upper < 0.8 * found[0].time_upper
    assert all(one.time <= one.time_upper for one in found)


def test_units_and_noise_scale_as_they_should():
    base = limit(FIVE, tolerance=0.1, limit_tolerance=0.05)
    noisy = FIVE.with_noise(noise.Gaussian(covariance=4 * FIVE.covariance))
    other = Instance(7 + 10 * FIVE.reward, 100 * FIVE.cost, 100 * FIVE.bound, sigma_reward=10, sigma_cost=50)
    twice, same = limit(noisy, tolerance=0.1, limit_tolerance=0.05), limit(other, tolerance=1.0, limit_tolerance=5.0)
    for name in ("time", "time_upper"):
        assert getattr(twice, name) == pytest.approx(4 * getattr(base, name), rel=2e-3)
        assert getattr(same, name) == pytest.approx(getattr(base, name), rel=2e-3)
    assert twice.answers == same.answers == base.answers


def nearest_wrong(instance, basis, share, eps, rng):
    """The smallest weighted divergence to means at which the basis is wrong: L = 1, over all rivals and weights."""
    from scipy.optimize import minimize

    sigma = np.sqrt(np.einsum("aii->ai", instance.covariance))
    arms, least = len(instance.arms), np.inf
    for a in (a for a in basis if a < arms):  # the other column has no weight: this arm's cost is at the bound
        least = min(least, 0.5 * share[a] * ((instance.means[a, 1] - 1) / sigma[a, 1]) ** 2)

    def means(x):
        return instance.means + (x / np.sqrt(np.repeat(share, 2))).reshape(arms, 2) * sigma

    for rival in (other for other in all_bases(instance) if other != basis):

        def slack(x, rival=rival):
            ours, theirs = (weights_and_value(instance, means(x), one) for one in (basis, rival))
            if ours is None or theirs is None:
                return np.full(5, -1e3)
            return np.r_[ours[0], theirs[0], theirs[1] - ours[1] - eps]

        for _ in range(3):
            begin, constraint = rng.normal(0, 0.5, 2 * arms), {"type": "ineq", "fun": slack}
            found = minimize(lambda x: 0.5 * x @ x, begin, jac=lambda x: x, constraints=constraint, method="SLSQP")
            if found.success and slack(found.x).min() > -1e-7:
                least = min(least, found.fun)
    return least


@pytest.mark.parametrize("seed", [1, 3])
def test_three_arms_and_a_cost_against_brute_force(seed):
    """At any shares the nearest instance on which the basis is wrong is between the two distances."""
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, 3, 1)
    both, basis = tolerated(instance, 0.1), solve(instance).basis
    assert len(both.answers) == 1
    for share in rng.dirichlet(np.full(3, 3.0), 2):
        brute = nearest_wrong(instance, basis, share, 0.1, rng)
        inside = min(far for _, far, _ in both._cuts(both._wrong(basis), share))
        outside = min(far for _, far, _ in both._alternatives(share))
        assert inside <= brute * (1 + 1e-6)
        assert outside >= brute * (1 - 1e-4)
        assert outside <= brute * 1.1  # and not far from the best


def test_where_no_mix_keeps_the_bounds():
    instance = Instance([1.0, 0.5], [[2.0, 1.3]], [1.0], sigma_cost=0.5)
    exact, far, near = limit(instance), limit(instance, limit_tolerance=0.1), limit(instance, limit_tolerance=0.5)
    assert (far.time, far.time_upper, far.answers) == (exact.time, exact.time_upper, 1)
    assert (near.time, near.time_upper) == (0.0, exact.time_upper)
    assert near.answers > 1


def test_a_tie_is_no_obstacle_with_a_tolerance():
    tied = Instance([1.0, 1.0, 0.0], [[0.0, 0.5, 0.2]], [1.0])
    found = limit(tied, tolerance=0.2)
    assert limit(tied).trials == np.inf
    assert found.answers == 2
    assert 0 < found.trials <= found.trials_upper < 1000


def test_an_arm_at_its_bound_needs_a_tolerance_of_the_limit():
    """Without one, the arm alone and a mix with it are both wrong at no distance, and no shares help."""
    instance = Instance([1.7, 2.6, 0.5], [[0.0, 1.0, 0.5]], [1.0])
    found = limit(instance, tolerance=0.1)
    assert found.time > 0
    assert math.isinf(found.time_upper)
    assert found.shares == {}
    assert "no number may be enough." in str(found)
    assert limit(instance, tolerance=0.1, limit_tolerance=0.3).time_upper < 20


def test_known_arms_get_no_trials():
    found = limit(Instance(FIVE.reward, FIVE.cost, FIVE.bound, known=2), tolerance=0.05)
    assert found.share[3:].tolist() == [0.0, 0.0]
    assert found.time <= found.time_upper < limit(FIVE, tolerance=0.05).time_upper


def test_an_arm_without_noise_is_as_good_as_known():
    exact = Instance([1.0, 1.2, 2.0], sigma_reward=[1.0, 1.0, 0.0])
    found, known = limit(exact, tolerance=0.1), limit(Instance([1.0, 1.2, 2.0], known=1), tolerance=0.1)
    assert 0 < found.time <= found.time_upper
    assert (found.time, found.time_upper) == pytest.approx((known.time, known.time_upper), rel=1e-3)
    assert found.proven
