"""Distances to where conditions fail, against brute force and whatever the units are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from bestmix import Instance, limit
from bestmix.problems.solution import solve_means
from bestmix.strategies.proven.columns import columns_of, units
from bestmix.strategies.proven.distances import flatness, nearest_condition


def nearest(means, bound, counts, scale):
    """The answer, and the squared distance to where its first condition fails."""
    solution = solve_means(means, bound)
    trials = np.append(counts, np.full(len(bound), np.inf))
    return solution, nearest_condition(columns_of(means, bound), list(solution.basis), trials, scale)


@pytest.mark.parametrize("seed", range(4))
def test_flatness_is_the_smallest_of_its_quotients(seed):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(size=(4, 3)), np.ones(4)])
    counts, scale = rng.uniform(5, 50, 4), np.array([1.0, 0.5, 2.0, 0.0])
    if seed % 2:
        counts[1] = np.inf  # an exact point: w is orthogonal to it

    def quotient(w):
        if seed % 2:
            w = w - rows[1] * (w @ rows[1]) / (rows[1] @ rows[1])
        noisy = np.isfinite(counts)
        return counts[noisy] @ (rows[noisy] @ w) ** 2 / (scale**2 @ w**2)

    found = min(minimize(quotient, rng.normal(size=4)).fun for _ in range(8))
    assert flatness(rows, counts, scale) == pytest.approx(found, rel=1e-5)


def test_exact_points_that_leave_no_hyperplane_are_infinitely_far():
    assert flatness(np.eye(2), np.full(2, np.inf), np.ones(2)) == np.inf
    assert flatness(np.array([[1.0, 2.0]]), np.array([9.0]), np.ones(2)) == 0.0


def test_at_the_best_shares_the_distance_is_what_the_limit_asks_for():
    instance, delta = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=1.0, sigma_cost=0.5), 1e-3
    best = limit(instance, delta=delta)
    counts = best.trials * np.array([best.shares[arm] for arm in instance.arms])
    _, found = nearest(instance.means, instance.bound, counts, np.array([1.0, 0.5]))
    kl = (1 - 2 * delta) * np.log((1 - delta) / delta)
    assert found / 2 == pytest.approx(kl, rel=2e-3)


@given(st.integers(0, 2**32 - 1), st.integers(1, 2))
@settings(max_examples=100)
def test_a_truth_with_another_answer_is_no_nearer_than_the_distance(seed, costs):
    rng = np.random.default_rng(seed)
    scale, bound = rng.uniform(0.2, 2.0, 1 + costs), np.zeros(costs)
    truth, counts = rng.normal(size=(5, 1 + costs)), rng.uniform(1, 30, 5)
    means = truth + rng.normal(size=truth.shape) * scale / np.sqrt(counts)[:, None]
    solution, found = nearest(means, bound, counts, scale)
    right = solve_means(truth, bound)
    if solution.feasible and (not right.feasible or right.basis != solution.basis):
        away = counts @ ((means - truth) ** 2 / scale**2).sum(axis=1)
        assert found <= away * (1 + 1e-9)


@pytest.mark.parametrize("far", [0.0, 2e6, 1e9])
def test_a_known_arm_far_from_zero_is_as_near_as_one_at_zero(far):
    """In units of the noise it is the same distance; its direction passed for one without noise."""
    points, trials = np.array([[far - 0.1, 1.0], [far, 1.0]]), np.array([400.0, np.inf])
    found = flatness(points, trials, np.array([1.0, 0.0]))
    assert found == pytest.approx(4.0, rel=1e-5)


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(0, 2))
@settings(max_examples=100)
def test_distances_do_not_depend_on_units(seed, costs, known):
    """Known arms and slacks are exact whatever the scale is; with scales of one the quotients above are the check."""
    rng = np.random.default_rng(seed)
    means, bound, scale = rng.normal(size=(5, 1 + costs)), rng.normal(size=costs), rng.uniform(0.2, 2.0, 1 + costs)
    counts, unit = np.full(5 + costs, np.inf), 2.0 ** rng.integers(-99, 99, 1 + costs)
    counts[: 5 - known] = rng.uniform(5, 50, 5 - known)
    some = rng.choice(5 + costs, 2 + costs, replace=False)

    def found(means, bound, scale):
        columns = columns_of(means, bound, units(means, bound, scale))
        return flatness(columns[some], counts[some], np.append(np.sign(scale), 0.0))

    assert found(means * unit, bound * unit[1:], scale * unit) == found(means, bound, scale)
    plain = flatness(columns_of(means, bound)[some], counts[some], np.append(scale, 0.0))
    assert found(means, bound, scale) == pytest.approx(plain, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("far", [1.0, 1e6, 1e12, 1e15])
def test_a_slack_is_exact_beside_a_known_arm_that_is_far_away(far):
    # w has no part on the cost, so that only the rewards differ: 100 (0.3 / 2)^2.
    points = np.array([[1.3, 0.2, 1.0], [1.0, far, 1.0], [0.0, 1.0, 0.0]])
    assert flatness(points, np.array([100.0, np.inf, np.inf]), np.array([2.0, 1.0, 0.0])) == pytest.approx(2.25)


def test_large_known_arms_do_not_make_others_pass_for_zero_and_rounding_errors_do():
    noisy, ones = np.array([[1.0, 2.0]]), np.ones(2)
    counts = np.array([9.0, np.inf, np.inf])
    assert flatness(np.vstack([noisy, [[1e15, 3.0], [1.0, 5.0]]]), counts, ones) == np.inf
    assert flatness(np.vstack([noisy, [[1e15, 0.0], [1e-17, 2e-17]]]), counts, ones) == pytest.approx(36.0)
