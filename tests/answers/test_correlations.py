import numpy as np
import pytest

from bestmix.answers.correlations import LEAST, floored, mean_covariances, of_row


def test_covariances_are_those_of_correlated_draws():
    rng, errors = np.random.default_rng(0), np.array([[2.0, 0.5], [1.0, 3.0]])
    between = np.zeros((2, 2, 2, 2))
    between[0, 1], between[1, 0] = [[0.6, 0.1], [-0.2, 0.3]], [[0.6, -0.2], [0.1, 0.3]]
    whole = np.eye(4)
    whole[:2, 2:], whole[2:, :2] = between[0, 1], between[1, 0]
    draws = rng.multivariate_normal(np.zeros(4), whole, size=200_000) * errors.ravel()
    np.testing.assert_allclose(np.cov(draws.T)[:2, 2:], mean_covariances(between, errors)[0, 1], atol=0.05)


def test_rows_have_ones_within_an_arm():
    between = np.zeros((3, 3, 2, 2))
    between[0, 1, 1, 1] = between[1, 0, 1, 1] = 0.4
    assert of_row(None, slice(0, 1)) is None
    assert of_row(between, slice(1, None)).tolist() == [[[1.0, 0.4, 0.0], [0.4, 1.0, 0.0], [0.0, 0.0, 1.0]]]


def test_estimated_correlations_are_believed_up_to_a_point_and_known_ones_but_for_rounding():
    variance, apart = np.array([0.5, 1e-6, 1e-15]), np.ones(3)
    assert floored(variance, apart) == pytest.approx([0.5, LEAST, LEAST])
    assert floored(variance, apart, known=True).tolist() == [0.5, 1e-6, 0.0]
