import numpy as np
import pytest

from bestmix import Instance
from bestmix.theory.limit.spending import spent_shares


def test_runs_are_seeded_and_known_arms_get_nothing():
    instance = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], known=1)
    spent = spent_shares(instance, 0.1, runs=2, seed=3)
    assert spent.shape == (2, 3)
    assert spent[:, 2].tolist() == [0.0, 0.0]
    assert spent.sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(spent, spent_shares(instance, 0.1, runs=2, seed=3))
