"""One column enters the basis: the arms of both lie on one hyperplane (total least squares).

In coordinates in which the noise is the identity, the cheapest moves that put points on one hyperplane
are along its normal, and their squared length is a smallest eigenvalue. The hyperplane holds the
direction of every slack among the columns and passes through every known arm, which cannot move.
"""

from dataclasses import dataclass

import numpy as np

from bestmix.arrays import Flags, Floats, Integers
from bestmix.theory.gaps.geometry import Geometry

TOUCH = 1e-9  # a weight above minus this counts as not negative


@dataclass(frozen=True, eq=False)
class Plane:
    """The moves that let column ``entering`` tie with the basis, and whom it can then replace.

    ``value`` is their squared length: a lower bound of the gap, and exact for the bases that are feasible
    there. ``leaving`` are columns of the basis whose replacement is. ``moves`` (m + 1, 1 + L) are those of
    the basis and of the entering column, in the units of the geometry.
    """

    entering: int
    value: float
    moves: Floats
    leaving: tuple[int, ...]


def entering_plane(shape: Geometry, entering: int) -> Plane:
    """The nearest instance in which a column ties with the optimal basis, feasible or not."""
    assert shape.white is not None
    support = np.r_[shape.basis, entering]
    value, moves = _flatten(shape.columns[support], support < shape.movable, shape.total[support], shape.white)
    return Plane(entering, value, moves, _leaving(shape, support, moves))


def collapse(shape: Geometry) -> float:
    """Squared distance to an instance in which the columns of the basis are dependent."""
    support = shape.basis
    if not shape.costs:
        return np.inf
    values, vectors = np.linalg.eigh(shape.covariance[0][1:, 1:])
    white = vectors.T / np.sqrt(values)[:, None]
    moving = support < shape.movable
    return _flatten(shape.columns[support, 1:], moving, shape.total[support], white)[0]


def _flatten(columns: Floats, moving: Flags, total: Floats, white: Floats) -> tuple[float, Floats]:
    """Squared length of the cheapest moves that put the columns on one hyperplane, and the moves."""
    spots = columns @ white.T
    known = ~moving & (total > 0)
    directions = [*spots[total == 0], *(spots[known][1:] - spots[known][:1])]
    free = _complement(np.array(directions).reshape(-1, spots.shape[1]))
    moves = np.zeros_like(spots)
    if not free.shape[1]:
        return np.inf, moves
    if not moving.any():
        return (np.inf if known.sum() == 0 else 0.0), moves
    origin = spots[known][0] if known.any() else spots[moving].mean(axis=0)
    points = (spots[moving] - origin) @ free
    values, vectors = np.linalg.eigh(points.T @ points)
    normal = free @ vectors[:, 0]
    moves[moving] = -np.outer((spots[moving] - origin) @ normal, normal)
    return max(float(values[0]), 0.0), moves @ np.linalg.inv(white).T


def _complement(rows: Floats) -> Floats:
    """An orthonormal basis, one a column, of what is orthogonal to the rows."""
    if not len(rows):
        return np.eye(rows.shape[1])
    _, sizes, right = np.linalg.svd(rows, full_matrices=True)
    rank = int((sizes > 1e-12 * sizes.max(initial=0.0)).sum())
    return np.ascontiguousarray(right[rank:].T)


def _leaving(shape: Geometry, support: Integers, moves: Floats) -> tuple[int, ...]:
    """Columns of the basis that can leave: the basis and its successor are both feasible after the moves."""
    columns, total = shape.columns[support] + moves, shape.total[support]
    size = len(shape.basis)
    if not feasible(columns[:size], total[:size]):
        return ()
    swapped = [[*(k for k in range(size) if k != i), size] for i in range(size)]
    return tuple(int(shape.basis[i]) for i, rows in enumerate(swapped) if feasible(columns[rows], total[rows]))


def feasible(columns: Floats, total: Floats) -> bool:
    """Whether a basis of columns (m, 1 + L) has non-negative weights."""
    weight = basis_weights(columns, total)
    return weight is not None and bool(weight.min() >= -TOUCH * max(1.0, np.abs(weight).max()))


def basis_weights(columns: Floats, total: Floats) -> Floats | None:
    """Weights with which a basis balances its costs; None when its columns are dependent."""
    matrix = np.vstack([columns[:, 1:].T, total])
    right = np.r_[np.zeros(len(matrix) - 1), 1.0]
    try:
        weight: Floats = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        return None
    return weight if np.abs(matrix @ weight - right).max() < 1e-6 else None
