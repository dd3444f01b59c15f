import numpy as np
import pytest
from tests.theory.gaps.brute import random_instance

from bestmix import solve
from bestmix.theory.gaps.geometry import geometry_of
from bestmix.theory.gaps.hyperplanes import basis_weights, collapse, entering_plane


@pytest.mark.parametrize("costs", [1, 2, 3])
def test_after_the_moves_the_column_ties_with_the_basis(costs):
    rng = np.random.default_rng(costs)
    for _ in range(5):
        instance = random_instance(rng, 6, costs)
        shape = geometry_of(instance, solve(instance))
        for entering in set(range(6)) - set(shape.basis.tolist()):
            plane = entering_plane(shape, entering)
            support = np.r_[shape.basis, entering]
            moved = shape.columns[support] + plane.moves
            matrix = np.column_stack([moved, shape.total[support]])
            # On one hyperplane: the columns, with their totals, no longer span all dimensions.
            assert np.linalg.svd(matrix, compute_uv=False)[-1] < 1e-7
            length = sum(
                move @ np.linalg.solve(shape.covariance[j], move)
                for j, move in zip(support, plane.moves, strict=True)
                if j < shape.movable
            )
            assert length == pytest.approx(plane.value, rel=1e-6, abs=1e-12)


def test_without_costs_no_basis_collapses():
    instance = random_instance(np.random.default_rng(1), 4, 0)
    assert collapse(geometry_of(instance, solve(instance))) == np.inf


def test_weights_balance_the_costs():
    instance = random_instance(np.random.default_rng(2), 5, 2)
    shape = geometry_of(instance, solve(instance))
    weight = basis_weights(shape.columns[shape.basis], shape.total[shape.basis])
    assert weight == pytest.approx(shape.share, abs=1e-9)
    assert basis_weights(np.zeros((3, 3)), np.ones(3)) is None
