import numpy as np
import pytest

from bestmix.kernels import boundary


@pytest.mark.parametrize("rank", range(5))
def test_solutions_of_semidefinite_systems(rank):
    rng = np.random.default_rng(rank)
    half = rng.normal(size=(4, rank))
    matrix = half @ half.T
    vector = matrix @ rng.normal(size=4)
    z = vector.copy()
    assert boundary.solve(matrix, z)
    np.testing.assert_allclose(matrix @ z, vector, atol=1e-9)


def test_a_system_without_a_solution_says_so():
    assert not boundary.solve(np.diag([1.0, 0.0]), np.array([1.0, 1.0]))
    assert not boundary.solve(np.zeros((2, 2)), np.array([0.0, 1.0]))
