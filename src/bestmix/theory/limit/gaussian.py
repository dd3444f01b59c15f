"""Distances with Gaussian noise: the cheapest moves, weighted by shares of trials, that let a condition fail.

To the hyperplane (n, v) an arm at z moves by (n.z - v)^2 / n'Sn, its squared distance with its covariance S. Where the
covariances are multiples of one the cheapest hyperplane is that of a smallest eigenvalue; else it is searched for.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bestmix.arrays import Floats
from bestmix.theory.limit.conditions import Condition, Points

SAME = 1e-9  # covariances that differ by less, as a share, count as multiples of one
LENT = 1e-9  # variance that a search lends to directions without noise, so that it can find its way
NOISE = 1e-12  # variance of a direction, as a share of the largest, that counts as none


class Nearest(NamedTuple):
    """The nearest instance at which a condition fails: its weighted divergence, that of each movable arm, the plane."""

    value: float
    divergence: Floats
    plane: Floats


class GaussianDistances:
    """Of the conditions of one instance, at any shares.

    Parameters
    ----------
    points
        The columns.
    covariance
        Of one trial of each arm, in their units (K, 1 + L, 1 + L).
    """

    def __init__(self, points: Points, covariance: Floats) -> None:
        self.points = points
        self.covariance = covariance[: points.movable]
        self.size, self.common = multiples(self.covariance)
        self._shapes: dict[int, _Shape] = {}
        self._planes: dict[int, Floats] = {}

    @property
    def exact(self) -> bool:
        """Whether every distance is a smallest eigenvalue, and so as small as can be."""
        return self.common

    def nearest(self, condition: Condition, share: Floats) -> Nearest | None:
        """The nearest instance at which the condition fails; None where none does."""
        shape = self._shape(condition)
        if not shape.noisy.shape[1]:
            return None
        plane = shape.smallest(share[condition.arms] / self.size[condition.arms])
        if not self.common:
            plane = self._search(condition, share, plane)
        moved = self.divergence(condition, plane)
        return Nearest(float(share @ moved), moved, plane) if np.isfinite(moved).all() else None

    def divergence(self, condition: Condition, plane: Floats) -> Floats:
        """Of each movable arm, when it moves to the plane (n, v): half the squared distance."""
        result = np.zeros(self.points.movable)
        arms, normal = condition.arms, plane[:-1]
        miss = self.points.columns[arms] @ normal - plane[-1]
        spread = self.covariance[arms] @ normal @ normal
        flat = spread <= NOISE * (normal @ normal)
        with np.errstate(divide="ignore", invalid="ignore"):
            result[arms] = np.where(flat, np.where(miss**2 > NOISE, np.inf, 0.0), 0.5 * miss**2 / spread)
        return result

    def means(self, condition: Condition, plane: Floats) -> Floats:
        """Points of the movable arms there (K0, 1 + L)."""
        result = self.points.columns[: self.points.movable].copy()
        arms, normal = condition.arms, plane[:-1]
        along = self.covariance[arms] @ normal
        spread, miss = along @ normal, self.points.columns[arms] @ normal - plane[-1]
        result[arms] -= along * (miss / np.where(spread > 0, spread, 1.0))[:, None]
        return result

    def _shape(self, condition: Condition) -> "_Shape":
        if id(condition) not in self._shapes:
            spread = self.covariance[condition.arms[0]] / self.size[condition.arms[0]]
            if not self.common:
                spread = (self.covariance / self.size[:, None, None]).mean(axis=0)
            self._shapes[id(condition)] = _Shape.of(condition, self.points, spread)
        return self._shapes[id(condition)]

    def _search(self, condition: Condition, share: Floats, start: Floats) -> Floats:
        """A better plane where the arms' covariances differ: a local search."""
        from scipy.optimize import minimize

        free = condition.free

        def length(plane: Floats) -> float:
            return float(share @ self.divergence(condition, plane))

        found = []
        for plane in self._starts(condition, start, length):
            result: Any = minimize(self._slope, free.T @ plane, (condition, share), "BFGS", jac=True)
            found.append(free @ (result.x / np.linalg.norm(result.x)))
        best: Floats = min((start, *found), key=length)
        self._planes[id(condition)] = best
        return best

    def _starts(self, condition: Condition, start: Floats, length: Callable[[Floats], float]) -> list[Floats]:
        """All directions at first; afterwards the plane found for other shares, or one that is better now."""
        known = self._planes.get(id(condition))
        if known is None:
            return [start, *self._shape(condition).others]
        return [min(start, known, key=length)]

    def _slope(self, inner: Floats, condition: Condition, share: Floats) -> tuple[float, Floats]:
        """Weighted divergence and its gradient in the free directions."""
        plane, arms = condition.free @ inner, condition.arms
        normal, points = plane[:-1], np.column_stack([self.points.columns[arms], -np.ones(len(arms))])
        along = self.covariance[arms] @ normal
        spread = np.maximum(along @ normal, LENT * (normal @ normal))
        step = (points @ plane) / spread
        slope = (share[arms] * step) @ points
        slope[:-1] -= (share[arms] * step**2) @ along
        return float(0.5 * share[arms] @ (step**2 * spread)), condition.free.T @ slope


class _Shape(NamedTuple):
    """Free directions of a condition: those with noise, in which its covariance is the identity, and those without."""

    points: Floats  # (n, 1 + L + 1)
    noisy: Floats  # (1 + L + 1, r)
    quiet: Floats  # (1 + L + 1, s)

    @classmethod
    def of(cls, condition: Condition, points: Points, covariance: Floats) -> "_Shape":
        rows = np.column_stack([points.columns, -points.total])[condition.arms]
        free = condition.free
        values, vectors = np.linalg.eigh(free[:-1].T @ covariance @ free[:-1])
        noisy = values > NOISE * max(float(values[-1]), 0.0)
        if values[-1] <= 0:
            noisy[:] = False
        return cls(rows, free @ (vectors[:, noisy] / np.sqrt(values[noisy])), free @ vectors[:, ~noisy])

    @property
    def others(self) -> list[Floats]:
        """Noisy directions, to start from."""
        return list(self.noisy.T)

    def smallest(self, weight: Floats) -> Floats:
        """The plane (n, v) with the smallest weighted distance, when arm a has the covariance times 1 / weight."""
        root = np.sqrt(weight)[:, None]
        noisy, quiet = root * (self.points @ self.noisy), root * (self.points @ self.quiet)
        along = np.linalg.pinv(quiet) @ noisy if quiet.shape[1] else np.zeros((0, noisy.shape[1]))
        left = noisy - quiet @ along
        best = np.linalg.eigh(left.T @ left)[1][:, 0]
        plane: Floats = self.noisy @ best - self.quiet @ (along @ best)
        return plane


def multiples(covariance: Floats) -> tuple[Floats, bool]:
    """Size of each covariance, and whether all are multiples of one."""
    size = np.einsum("aii->a", covariance) / max(covariance.shape[1], 1)
    size = np.where(size > 0, size, 1.0)
    shape = covariance / size[:, None, None]
    same = not len(shape) or bool(np.abs(shape - shape[0]).max() <= SAME * covariance.shape[1])
    return size, same
