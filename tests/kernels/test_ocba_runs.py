import numpy as np
import pytest

from bestmix.kernels import ocba_runs


def test_variances_are_never_zero():
    scatter = np.zeros((2, 2, 2))
    scatter[0] = 9 * np.eye(2)
    variance = ocba_runs.variances(np.array([10, 10]), scatter)
    assert variance[0] == pytest.approx([(9 + 5 * 0.5) / 14] * 2)
    assert (variance > 0).all()
    assert (ocba_runs.variances(np.array([1, 1]), np.zeros((2, 2, 2))) > 0).all()


def test_a_round_is_spent_whole():
    owed, scatter = np.empty(2, dtype=np.int64), np.tile(9 * np.eye(2), (2, 1, 1))
    ocba_runs.plan(np.array([[1.0, 0.5], [0.9, 0.5]]), np.array([1.0]), np.array([10, 10]), scatter, 33, owed)
    assert owed.sum() == 33
    assert owed.min() >= 0
