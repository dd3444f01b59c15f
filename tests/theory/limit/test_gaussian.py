import numpy as np
import pytest
from scipy.optimize import minimize
from tests.theory.gaps.brute import random_instance

from bestmix import Instance, noise, solve
from bestmix.theory.limit.conditions import conditions_of, points_of
from bestmix.theory.limit.gaussian import GaussianDistances, multiples


def parts(instance):
    solution = solve(instance)
    points = points_of(instance, solution, instance.covariance)
    covariance = instance.covariance / np.outer(points.scale, points.scale)
    return points, conditions_of(points, solution), GaussianDistances(points, covariance)


def sampled(points, condition, distances, share, rng):
    """The smallest weighted divergence over many random planes, the best ones improved without gradients."""

    def far(inner):
        return float(share @ distances.divergence(condition, condition.free @ inner))

    starts = sorted(rng.normal(size=(400, condition.free.shape[1])), key=far)[:3]
    return min(
        minimize(far, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}).fun for start in starts
    )


def spreads(rng, arms, size):
    factor = rng.normal(size=(arms, size, size))
    return factor @ factor.transpose(0, 2, 1) + 0.1 * np.eye(size)


@pytest.mark.parametrize("kind", ["alike", "multiples", "different"])
def test_no_plane_is_nearer(kind):
    rng = np.random.default_rng(5)
    one = spreads(rng, 4, 3)
    model = {"alike": one[0], "multiples": one[0] * np.array([1.0, 2.0, 0.3, 4.0])[:, None, None], "different": one}
    instance = random_instance(rng, 4, 2, noise=noise.Gaussian(covariance=model[kind]))
    points, conditions, distances = parts(instance)
    assert distances.exact(conditions) == (kind != "different")
    share = rng.dirichlet(np.ones(4))
    for condition in conditions:
        found = distances.nearest(condition, share)
        assert found.value == pytest.approx(sampled(points, condition, distances, share, rng), rel=1e-5)
        assert found.value == pytest.approx(share @ found.divergence)


def test_moved_arms_lie_on_the_plane_and_have_moved_as_far_as_it_says():
    instance = random_instance(np.random.default_rng(3), 4, 2)
    points, conditions, distances = parts(instance)
    for condition in conditions:
        found = distances.nearest(condition, np.full(4, 0.25))
        moved = distances.means(found)
        assert moved[condition.arms] @ found.plane[:-1] == pytest.approx(found.plane[-1], abs=1e-9)
        move = moved - points.columns[:4]
        inverse = np.linalg.inv(distances.covariance)
        assert 0.5 * np.einsum("ai,aij,aj->a", move, inverse, move) == pytest.approx(found.divergence, abs=1e-12)


def test_two_arms_without_costs():
    _, (condition, *_), distances = parts(Instance([1.0, 0.4], sigma_reward=[0.5, 2.0]))
    share = np.array([0.3, 0.7])
    variance = 0.25 / 0.3 + 4.0 / 0.7
    assert distances.nearest(condition, share).value == pytest.approx(0.36 / (2 * variance))


def test_means_without_noise_stay():
    instance = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_cost=0.0)
    points, conditions, distances = parts(instance)
    share = np.full(3, 1 / 3)
    found = {c.column: distances.nearest(c, share) for c in conditions}
    assert found[0] is None  # weights are made of costs alone
    assert found[1] is None
    assert distances.exact(conditions)
    moved = distances.means(found[2])
    assert moved[:, 1] == pytest.approx(points.columns[:3, 1])


def test_multiples():
    size, same = multiples(np.array([np.eye(2), 3 * np.eye(2)]))
    assert same
    assert size.tolist() == [1.0, 3.0]
    assert not multiples(np.array([np.eye(2), np.diag([1.0, 2.0])]))[1]
