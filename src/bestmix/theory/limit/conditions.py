"""What keeps an answer right, as conditions on the means; an instance with another answer breaks one of them.

A condition fails where some columns lie on one hyperplane: n.z = v for every arm with the point z, and n.e = 0 for
every slack with the direction e. The direction (n, v) may be any in a linear space. On the straight way to an instance
with another answer some condition is the first to fail, so that the nearest such instance is the nearest at which one
of them fails; and wherever one fails the answer is no longer the only right one.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.problems.instance import Instance
from bestmix.problems.solution import Solution

RANK = 1e-10  # of the largest singular value: a smaller one is none


@dataclass(frozen=True, eq=False)
class Points:
    """Columns of an instance as points: reward minus the best value, costs minus bounds, in units of the noise.

    Attributes
    ----------
    columns
        Arms, then slacks, one a row (K + L, 1 + L).
    total
        One for an arm and zero for a slack (K + L,).
    movable
        Arms that an alternative can move: the first ones.
    scale, origin
        Units (1 + L,), and what was subtracted from the means.
    """

    columns: Floats
    total: Floats
    movable: int
    scale: Floats
    origin: Floats


@dataclass(frozen=True, eq=False)
class Condition:
    """Columns that must not lie on one hyperplane.

    Attributes
    ----------
    column
        Whose condition it is.
    support
        Columns that would lie on the hyperplane.
    arms
        Those of them that can be moved.
    free
        Orthonormal directions (n, v) that the hyperplane may have (1 + L + 1, r).
    """

    column: int
    support: tuple[int, ...]
    arms: Integers
    free: Floats


def points_of(instance: Instance, solution: Solution, covariance: Floats) -> Points:
    """The points of an instance, in units of the covariances of its movable arms."""
    arms, costs = instance.means.shape[0], len(instance.bound)
    movable = arms - instance.known
    origin = np.r_[solution.value, instance.bound]
    columns = np.zeros((arms + costs, 1 + costs))
    columns[:arms] = instance.means - origin
    noise = np.sqrt(np.einsum("aii->i", covariance[:movable]) / max(movable, 1))
    spread = np.abs(columns[:arms]).max(axis=0)
    scale = np.where(noise > 0, noise, np.where(spread > 0, spread, 1.0))
    columns[:arms] /= scale
    columns[arms:, 1:] = np.eye(costs)
    return Points(columns, np.r_[np.ones(arms), np.zeros(costs)], movable, scale, origin)


def conditions_of(points: Points, solution: Solution) -> list[Condition]:
    """All that can fail, given what can move; of an infeasible instance with one cost."""
    every = _optimal(points, solution.basis) if solution.feasible else _feasible_arms(points)
    return [c for c in every if c.free.shape[1] and len(c.arms)]


def _optimal(points: Points, basis: tuple[int, ...]) -> Iterator[Condition]:
    for j in range(len(points.columns)):
        yield optimal_condition(points, basis, j)


def optimal_condition(points: Points, basis: tuple[int, ...], column: int) -> Condition:
    """A column of the basis loses its weight when the others balance without it; another one enters by a tie."""
    if column in basis:
        return _condition(points, column, tuple(k for k in basis if k != column), balance=True)
    return _condition(points, column, (*basis, column), balance=False)


def _feasible_arms(points: Points) -> Iterator[Condition]:
    """With one cost no mix keeps the bound until some arm does."""
    for a in range(points.movable):
        yield _condition(points, a, (a,), balance=True)


def _condition(points: Points, column: int, support: tuple[int, ...], balance: bool) -> Condition:
    rows = np.column_stack([points.columns, -points.total])[list(support)]
    moving = np.array(support) < points.movable
    size = points.columns.shape[1]
    fixed = [*rows[~moving]]
    if balance:  # costs alone, and the hyperplane goes through the bounds
        fixed += [np.eye(size + 1)[0], np.eye(size + 1)[size]]
    arms = np.array(support, dtype=np.int64)[moving]
    return Condition(column, support, arms, _complement(np.array(fixed).reshape(-1, size + 1)))


def _complement(rows: Floats) -> Floats:
    """Orthonormal directions, one a column, that are orthogonal to all rows."""
    if not len(rows):
        return np.eye(rows.shape[1])
    _, sizes, right = np.linalg.svd(rows / np.linalg.norm(rows, axis=1, keepdims=True), full_matrices=True)
    rank = int((sizes > RANK * sizes.max(initial=0.0)).sum())
    return np.ascontiguousarray(right[rank:].T)
