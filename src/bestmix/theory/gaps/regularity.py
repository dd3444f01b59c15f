"""Whether columns can be a basis at all, wherever the arms that can move are moved to.

Known arms and slacks stay where they are. Two known arms with the same costs are dependent whatever happens to the
others; and a known arm exactly at its bounds leaves no basis in which another arm carries all the weight. Rank is
generic: if it is full anywhere it is so nearly everywhere, and a random place shows it.
"""

from collections.abc import Sequence

import numpy as np

from bestmix.arrays import Floats
from bestmix.theory.gaps.geometry import Geometry

SINGULAR = 1e-9  # smallest singular value of a random place, as a share of the largest, that counts as none


def can_be_basis(shape: Geometry, basis: Sequence[int]) -> bool:
    """Whether the columns are independent after some moves."""
    return _independent(*_moved(shape, basis))


def can_rest_on(shape: Geometry, basis: Sequence[int], common: Sequence[int]) -> bool:
    """Whether the columns are independent after some moves that let ``common``, a part of them, balance alone."""
    columns, total = _moved(shape, basis)
    place = [i for i, j in enumerate(basis) if j in common]
    carrying = [i for i in place if basis[i] < shape.movable]
    if carrying:
        last = carrying[-1]  # takes what the others leave, with random weights
        weight = np.where(np.isin(np.arange(len(basis)), place), 0.5 + _random(len(basis), 1)[:, 0] ** 2, 0.0)
        weight[last], columns[last] = 1.0, 0.0
        columns[last] = -weight @ columns
    return _independent(columns, total)


def _moved(shape: Geometry, basis: Sequence[int]) -> tuple[Floats, Floats]:
    """Costs of the columns, those that can move anywhere (m, L), and their totals."""
    chosen = np.array(basis)
    columns, random = shape.columns[chosen, 1:].copy(), _random(len(basis), shape.costs)
    columns[chosen < shape.movable] = random[chosen < shape.movable]
    return columns, shape.total[chosen]


def _random(rows: int, columns: int) -> Floats:
    return np.random.default_rng(rows).standard_normal((rows, columns))


def _independent(columns: Floats, total: Floats) -> bool:
    size = np.abs(columns).max(axis=0, initial=0.0)
    sizes = np.linalg.svd(np.column_stack([columns / np.where(size > 0, size, 1.0), total]), compute_uv=False)
    return bool(sizes[-1] > SINGULAR * sizes[0])
