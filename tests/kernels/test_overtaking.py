import numpy as np
import pytest

from bestmix.kernels import balance, overtaking


@pytest.mark.parametrize("costs", [0, 1, 2, 3])
def test_the_gradient_against_differences(costs):
    rng = np.random.default_rng(costs)
    m, arms = costs + 1, 5
    columns = np.vstack([rng.normal(size=(arms, m)), np.eye(m)[1:]])
    total = np.r_[np.ones(arms), np.zeros(costs)]
    factor = rng.normal(size=(arms - 1, m, m))
    covariance = factor @ np.swapaxes(factor, 1, 2) + 0.3 * np.eye(m)
    best, rival = np.arange(m), np.array([*range(1, m), 3 if costs < 2 else arms + costs - 1])
    work, moved, held = overtaking.workspace(costs), np.zeros_like(columns), np.zeros(2, dtype=bool)
    free, gradient, other = rng.uniform(0.5, 1.5, 2 * m + 1), np.empty(2 * m + 1), np.empty(2 * m + 1)
    shape = columns, total, covariance, arms - 1, best, rival, held, work, moved
    value = overtaking.distance(free, *shape, gradient)
    assert value > 0
    for i in range(2 * m + 1):
        step = np.zeros(2 * m + 1)
        step[i] = 1e-6
        ends = [overtaking.distance(free + s * step, *shape, other) for s in (1, -1)]
        assert gradient[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-4, abs=1e-6)


def test_moves_meet_the_conditions():
    rng = np.random.default_rng(4)
    columns = np.vstack([rng.normal(size=(6, 3)), np.eye(3)[1:]])
    total = np.r_[np.ones(6), np.zeros(2)]
    covariance = np.repeat(np.eye(3)[None], 6, axis=0)
    best, rival = np.array([0, 1, 2]), np.array([2, 3, 4])
    work, moved, gradient = overtaking.workspace(2), np.zeros_like(columns), np.empty(7)
    free = rng.uniform(0.5, 1.5, 7)
    value = overtaking.distance(
        free, columns, total, covariance, 6, best, rival, np.zeros(2, dtype=bool), work, moved, gradient
    )
    x, y = (free[k : k + 3] ** 2 / (free[k : k + 3] ** 2).sum() for k in (0, 3))
    there = columns + moved
    assert x @ there[best, 1:] == pytest.approx([0, 0], abs=1e-9)
    assert y @ there[rival, 1:] == pytest.approx([0, 0], abs=1e-9)
    assert y @ there[rival, 0] - x @ there[best, 0] == pytest.approx(free[6] ** 2)
    assert (moved**2).sum() == pytest.approx(value)


@pytest.mark.parametrize(("movable", "fixed", "size"), [(2, 0, 2), (3, 1, 3), (1, 2, 2), (2, 2, 3)])
def test_balance_against_a_grid_of_weights(movable, fixed, size):
    rng = np.random.default_rng([movable, fixed, size])
    for _ in range(10):
        moving, other = rng.normal(size=(movable, size)), rng.normal(size=(fixed, size))
        weight = np.empty(movable + fixed)
        value = balance.nearest(moving, other, weight)
        x = rng.exponential(size=(20_000, movable + fixed)) * (rng.random((20_000, movable + fixed)) < 0.8)
        x = x[(x[:, :movable] > 0).any(axis=1)]
        squares = ((x @ np.vstack([moving, other])) ** 2).sum(axis=1) / (x[:, :movable] ** 2).sum(axis=1)
        assert value <= squares.min() * (1 + 1e-9)
        assert value >= 0.0
        mine = ((weight @ np.vstack([moving, other])) ** 2).sum() / max((weight[:movable] ** 2).sum(), 1e-300)
        assert weight.min() >= 0
        assert value == pytest.approx(mine, abs=1e-9)


def test_fixed_columns_that_balance_alone_cost_nothing():
    assert balance.nearest(np.ones((1, 2)), np.array([[1.0, 2.0], [-2.0, -4.0]]), np.empty(3)) == 0.0


def test_eigenvalues_by_rotations():
    rng = np.random.default_rng(0)
    for n in range(1, 6):
        factor = rng.normal(size=(n, n))
        matrix = factor @ factor.T
        wanted, vectors = np.linalg.eigvalsh(matrix), np.empty((n, n))
        rotated = matrix.copy()
        balance.diagonalise(rotated, vectors)
        assert np.sort(np.diag(rotated)) == pytest.approx(wanted, rel=1e-9, abs=1e-12)
        assert vectors @ np.diag(np.diag(rotated)) @ vectors.T == pytest.approx(matrix, abs=1e-10)
