"""Conditions, against plain NumPy."""

import numpy as np
import pytest
from tests import naive
from tests.kernels.states import SIZES, decided, random_instance, told

from bestmix.kernels import conditions
from bestmix.problems.solution import solve_means

pytestmark = pytest.mark.parametrize("speed", ["plain", "machine"], indirect=True)


@pytest.mark.parametrize("size", SIZES)
def test_z_scores_of_a_decision_are_those_of_plain_numpy(size):
    arms, unknown, costs = size
    compared = 0
    for seed in range(6):
        instance = random_instance(*size, seed)
        rng = np.random.default_rng(seed)
        evidence = told(instance, rng.integers(5, 60, unknown), seed)
        state = decided(evidence)
        solution = solve_means(evidence.means, instance.bound)
        elastic = arms + costs in state.basis.column
        assert elastic == (not solution.feasible)
        if not elastic:
            expected = naive.z_scores(evidence, solution)
            np.testing.assert_allclose(conditions.z_scores(state)[:-1], expected, rtol=1e-7, atol=1e-9)
            compared += 1
    assert compared >= 2


def test_pooled_covariance_without_two_trials_is_the_spread_of_the_arms():
    state = decided(told(random_instance(4, 4, 1, 0), [1] * 4, 0))
    np.testing.assert_allclose(np.diag(state.pooled), state.scale[1:] ** 2)


def test_a_variance_that_overflows_is_vast_and_no_number_is_missing():
    scatter = np.array([[1e300, -1e300], [-1e300, 1e300]])
    for direction in ([1e200, 1e200], [np.inf, 0.0]):
        assert conditions.variance(np.array(direction), 0.0, 5, scatter) == conditions.VAST
    assert conditions.variance(np.array([1.0, 0.0]), 0.0, 5, scatter) == pytest.approx(1e300 / 9)


def test_a_basis_that_is_none_has_no_conditions():
    state = decided(told(random_instance(6, 6, 2, 0), [9] * 6, 0))
    means, bound = np.ones((6, 3)), np.ones(2)  # all arms at their bounds: three of them span no basis
    state.basis.column[:] = [0, 1, 2]
    assert not conditions.load_basis(means, bound, np.arange(8), state)
