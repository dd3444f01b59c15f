"""Exact distances against a numerical search."""

import numpy as np
import pytest
from scipy import optimize
from tests.kernels.states import decided, random_instance, told

from bestmix import Instance
from bestmix.kernels import conditions, simplex, stopping
from bestmix.kernels.conditions import PRIOR

pytestmark = pytest.mark.parametrize("speed", ["plain", "machine"], indirect=True)


def nearest(state, j, row):
    """Smallest weighted squared move of the means at which the condition of column j fails, by search."""
    mu, u, e = state.program
    basis, m = state.basis.column, len(state.basis.column)
    noisy = len(state.counts)
    members = [basis[i] for i in range(m) if i != row] + ([j] if row < 0 else [])
    freedom = np.maximum(state.counts - 1, 0)
    covariance = (state.scatter + PRIOR * state.pooled) / (freedom + PRIOR)[:, None, None]
    scale = np.r_[state.scale[1], state.scale[2:]]

    def total(price):
        direction = np.r_[1.0 if row < 0 else 0.0, -price[: m - 1]] / scale
        result = 0.0
        for a in members:
            miss = (mu[a] if row < 0 else 0.0) - price[: m - 1] @ u[a]
            miss -= price[m - 1] * e[a] if row < 0 else 0.0
            variance = direction @ covariance[a] @ direction / state.counts[a] if a < noisy else 0.0
            result += miss**2 / (variance + 1e-9 * direction @ (PRIOR * state.pooled) @ direction * (a >= noisy))
        return result

    start = (simplex.prices(state.basis) if row < 0 else simplex.inverse(state.basis)[row]).copy()
    rng = np.random.default_rng(0)
    starts = [start + s * rng.normal(size=m) * (0.1 + np.abs(start)) for s in (0.0, 0.01, 0.1, 0.3)]
    options = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 8000, "maxfev": 8000}
    return min(optimize.minimize(total, x, method="Nelder-Mead", options=options).fun for x in starts)


@pytest.mark.parametrize("size", [(5, 5, 1), (6, 6, 2)])
def test_distances_are_those_of_the_nearest_means(size):
    instance = random_instance(*size, 1)
    state = decided(told(instance, [400] * size[0], 3))
    checked = 0
    for j in range(size[0] + size[2]):
        row = int(np.flatnonzero(state.basis.column == j)[0]) if j in state.basis.column else -1
        found = stopping.distance(j, row, state)
        if row >= 0 and np.isinf(found):
            continue
        expected = nearest(state, j, row)
        assert found == pytest.approx(expected, rel=0.02)
        checked += 1
    assert checked >= 4


def test_distances_agree_with_z_scores_when_there_are_many_trials():
    """Linearising is exact in the limit: with a million trials the two differ by little near the boundary."""
    instance = Instance([1.7, 2.6, 2.098], [[0.0, 1.8, 0.8]], [1.0])
    state = decided(told(instance, [1_000_000, 1_000_000, 1_000_000], 0))
    assert stopping.distance(2, -1, state) == pytest.approx(conditions.z_scores(state)[2] ** 2, rel=0.02)


def test_less_error_is_allowed_at_first():
    settings = conditions.Settings(0.1, 30, 0.05, 0.0, early=1.0)
    assert stopping.allowed(settings, 40, 4) == pytest.approx(0.025)  # ten trials of each arm: the first round
    assert stopping.allowed(settings, 360, 4) == pytest.approx(0.045)
    assert stopping.allowed(settings._replace(early=0.0), 40, 4) == 0.05


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_what_is_zero_whatever_the_trials_say_does_not_keep_a_run_from_stopping(noise):
    """Arm 1 costs exactly its bound at a known price: what stands beside it, and what that blocks, are no matter."""
    spread = np.array([[noise, 0.0, noise, noise]])
    instance = Instance([1.0, 2.0, 3.0, 2.5], [[0.2, 0.5, 0.9, 0.8]], [0.5], sigma_reward=0.3, sigma_cost=spread)
    state = decided(told(instance, [400] * 4, 1))
    beside = next(int(j) for j in state.basis.column if j != 1)
    assert state.gap[beside] == 0.0
    dear = {2, 3}
    others = {0} if beside in dear else dear  # those on the other side of the bound: with them a mix may be better
    settings = conditions.Settings(0.1, 30, 0.05, 0.0)
    assert not stopping.stops(settings, state, instance.bound)
    state.counts[1] = 100  # in which another price may just not have come yet
    assert not stopping.stops(settings._replace(weak=True), state, instance.bound)
    state.counts[1] = 400
    assert stopping.stops(settings._replace(weak=True), state, instance.bound)
    assert {j for j in range(4) if np.isfinite(state.gap[j])} == others | {1}


@pytest.mark.parametrize(("bound", "noise", "trials"), [(0.5, 0.1, 400), (0.0, 0.0, 400), (0.5, 0.0, 50)])
def test_a_weight_of_zero_that_trials_may_move_stays_in_doubt(bound, noise, trials):
    """A cost with noise; one of zero, which may be an event that has not happened yet; and few trials."""
    cost = [[bound - 0.3, bound]]
    instance = Instance([1.0, 2.0], cost, [bound], sigma_reward=0.3, sigma_cost=noise)
    state = decided(told(instance, [trials] * 2, 1))
    beside = next(int(j) for j in state.basis.column if j != 1)
    state.gap[beside] = 0.0
    before = state.gap.copy()
    stopping.settle_zeros(state, instance.bound, 100.0)
    assert np.array_equal(state.gap, before)
