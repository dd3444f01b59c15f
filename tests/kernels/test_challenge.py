"""Conditions and allocation, against plain NumPy."""

import numpy as np
import pytest
from states import decided, random_instance, told

from bestmix import Instance, Solution, solve
from bestmix.certainty import z_scores
from bestmix.kernels import challenge

SIZES = [(1, 1, 0), (6, 6, 0), (6, 6, 1), (7, 4, 1), (6, 5, 2), (8, 8, 3)]


@pytest.mark.parametrize("size", SIZES)
def test_z_scores_are_those_of_the_recommendation(size):
    arms, unknown, costs = size
    compared = 0
    for seed in range(6):
        instance = random_instance(*size, seed)
        rng = np.random.default_rng(seed)
        evidence = told(instance, rng.integers(5, 60, unknown), seed)
        state = decided(evidence)
        solution = solve(Instance(evidence.means[:, 0], evidence.means[:, 1:].T, instance.bound))
        elastic = arms + costs in state.basis
        assert elastic == (not solution.feasible)
        if not elastic:
            np.testing.assert_allclose(
                challenge.z_scores(state)[:-1], z_scores(evidence, solution), rtol=1e-7, atol=1e-9
            )
            compared += 1
    assert compared >= 2


def test_pooled_covariance_without_two_trials_is_the_spread_of_the_arms():
    state = decided(told(random_instance(4, 4, 1, 0), [1] * 4, 0))
    np.testing.assert_allclose(np.diag(state.pooled), state.scale[1:] ** 2)
    assert np.isfinite(challenge.z_scores(state)[:-1]).any()


@pytest.mark.parametrize("size", SIZES)
def test_chunks_go_where_the_gradient_is_largest(size):
    _, unknown, _ = size
    state = decided(told(random_instance(*size, 2), [20] * unknown, 5))
    arm, reason = np.empty(challenge.CHUNKS, dtype=np.int64), np.empty(challenge.CHUNKS, dtype=np.int64)
    owed = np.empty(unknown, dtype=np.int64)
    trials = state.counts.astype(float)
    chunks = challenge.allocate(state, 95, arm, reason, owed)
    assert chunks == 10
    assert owed.sum() == 95
    coefficients = np.zeros((len(state.gap), unknown))  # of each condition, by arm
    for i, a in enumerate(state.basis):
        if a < unknown:
            coefficients[:, a] += state.coefficient[:, i]
    coefficients[np.arange(unknown), np.arange(unknown)] += state.own[:unknown]
    for k in range(chunks):
        spread = (coefficients / trials).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(spread > 0, state.gap / np.sqrt(spread), np.inf)
            worth = np.where(spread > 0, np.exp(-(z**2 - z.min() ** 2) / 2) / ((1 + z) * spread), 0.0)
        if k >= 8:
            worth[np.argmin(z)] = 0.0
        gain = worth @ coefficients / trials**2
        assert gain[arm[k]] >= gain.max() * (1 - 1e-6)
        if gain.max() > 0:
            assert worth[reason[k]] * coefficients[reason[k], arm[k]] > 0
        trials[arm[k]] += 5 if k == 9 else 10
    np.testing.assert_array_equal(trials - state.counts, owed)


def test_an_infeasible_problem_doubts_its_infeasibility():
    instance = Instance([1.0, 2.0], [[1.3, 1.5]], [1.0], sigma_cost=0.5)
    state = decided(told(instance, [50, 50], 0))
    assert 3 in state.basis
    assert 1.0 < challenge.z_scores(state)[3] < 10.0
    assert isinstance(solve(instance), Solution)


def test_first_rounds_and_sizes_never_pass_the_budget():
    for settings in ((0.1, 30, 0.0, 0.0), (0.5, 3, 0.0, 0.0), (0.1, 30, 0.05, 0.0), (0.1, 30, 0.0, 0.05)):
        for unknown in (1, 3, 24):
            for budget in (unknown, unknown + 1, 4 * unknown, 1000, 10_001):
                spent = unknown * challenge.first_pulls(budget, unknown, settings)
                assert unknown <= spent <= budget
                while size := challenge.round_size(budget, unknown, spent, settings):
                    spent += size
                assert spent == budget
    assert challenge.first_pulls(100, 0, (0.1, 30, 0.0, 0.0)) == 0
    assert challenge.round_size(100, 0, 0, (0.1, 30, 0.0, 0.0)) == 0
