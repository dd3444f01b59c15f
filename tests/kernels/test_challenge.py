"""Conditions, against plain NumPy."""

import numpy as np
import pytest
from tests.kernels.states import SIZES, decided, random_instance, told

from bestmix import Instance, Solution, solve
from bestmix.answers.certainty import z_scores
from bestmix.kernels import challenge


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


def test_an_infeasible_problem_doubts_its_infeasibility():
    instance = Instance([1.0, 2.0], [[1.3, 1.5]], [1.0], sigma_cost=0.5)
    state = decided(told(instance, [50, 50], 0))
    assert 3 in state.basis
    assert 1.0 < challenge.z_scores(state)[3] < 10.0
    assert isinstance(solve(instance), Solution)
