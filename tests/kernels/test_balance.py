import numpy as np
import pytest

from bestmix.kernels import balance


def test_one_movable_point_goes_to_the_origin():
    weight = np.empty(1)
    value = balance.nearest(np.array([[3.0, 4.0]]), np.empty((0, 2)), weight)
    assert value == pytest.approx(25.0)
    assert weight == pytest.approx([1.0])


@pytest.mark.parametrize("seed", range(5))
def test_no_weights_do_better(seed):
    # Points p_i that move by d_i so that sum w_i (p_i + d_i) = 0 need |sum w_i p_i|^2 / sum w_i^2 in all.
    rng = np.random.default_rng(seed)
    points, weight = rng.normal(1.0, 1.0, (3, 2)), np.empty(3)
    value = balance.nearest(points, np.empty((0, 2)), weight)
    tried = rng.dirichlet(np.ones(3), 20_000)
    lengths = ((tried @ points) ** 2).sum(axis=1) / (tried**2).sum(axis=1)
    assert value <= lengths.min() + 1e-9
    assert ((weight @ points) ** 2).sum() / (weight**2).sum() == pytest.approx(value, rel=1e-9, abs=1e-12)


def test_diagonalise_finds_eigenvalues():
    rng = np.random.default_rng(1)
    factor = rng.normal(size=(4, 4))
    matrix, vectors = factor @ factor.T, np.empty((4, 4))
    expected = np.linalg.eigvalsh(matrix)
    balance.diagonalise(matrix, vectors)
    assert np.sort(np.diag(matrix)) == pytest.approx(expected)
