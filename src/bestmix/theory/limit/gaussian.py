"""Distances with Gaussian noise: the cheapest moves, weighted by shares of trials, that let a condition fail.

To the hyperplane (n, v) an arm at z moves by (n.z - v)^2 / n'Sn, its squared distance with its covariance S. Where the
covariances are multiples of one the cheapest hyperplane is that of a smallest eigenvalue; else it is searched for.
Arms without noise along some normals are put apart first (``strata``).
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from bestmix.arrays import Floats
from bestmix.theory.limit.conditions import RANK, Condition, Points
from bestmix.theory.limit.strata import NOISE, inner_covariance, noisy_arms, strata

SAME = 1e-9  # covariances that differ by less, as a share, count as multiples of one
LENT = 1e-9  # variance that a search lends to directions without noise, so that it can find its way


class Nearest(NamedTuple):
    """The nearest instance at which a condition fails.

    Its weighted divergence, that of each movable arm (K0,), the hyperplane, and the part of the condition it is in.
    """

    value: float
    divergence: Floats
    plane: Floats
    part: Condition


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
        self._parts: dict[Condition, list[Part]] = {}

    @property
    def start(self) -> Floats:
        """Even shares of the arms that have any noise (K0,)."""
        noisy = noisy_arms(self._reach())
        result: Floats = noisy / max(noisy.sum(), 1.0)
        return result

    def exact(self, conditions: Iterable[Condition]) -> bool:
        """Whether the distances of all these are as small as can be: then one that has none cannot fail."""
        return all(part.exact for condition in conditions for part in self._split(condition))

    def nearest(self, condition: Condition, share: Floats) -> Nearest | None:
        """The nearest instance at which the condition fails; None where none was found."""
        every = (self._nearest(part, share) for part in self._split(condition))
        found = [nearest for nearest in every if np.isfinite(nearest.value)]
        return min(found, key=lambda nearest: nearest.value, default=None)

    def divergence(self, condition: Condition, plane: Floats) -> Floats:
        """Of each movable arm, when the arms of the condition move to the plane (n, v): half the squared distance."""
        result = np.zeros(self.points.movable)
        arms, normal = condition.arms, plane[:-1]
        miss = self.points.columns[arms] @ normal - plane[-1]
        spread = self.covariance[arms] @ normal @ normal
        flat = spread <= NOISE * np.einsum("aii->a", self.covariance[arms]) * (normal @ normal)
        with np.errstate(divide="ignore", invalid="ignore"):
            result[arms] = np.where(flat, np.inf, 0.5 * miss**2 / spread)
        return result

    def means(self, nearest: Nearest) -> Floats:
        """Points of the movable arms there (K0, 1 + L)."""
        result = self.points.columns[: self.points.movable].copy()
        arms, normal = nearest.part.arms, nearest.plane[:-1]
        along = self.covariance[arms] @ normal
        miss = self.points.columns[arms] @ normal - nearest.plane[-1]
        result[arms] -= along * (miss / (along @ normal))[:, None]
        return result

    def _split(self, condition: Condition) -> "list[Part]":
        if condition not in self._parts:
            every = strata(condition, self.points, self._reach())
            self._parts[condition] = [self._part(part) for part in every]
        return self._parts[condition]

    def _reach(self) -> Floats:
        """Covariances that are zero along the normals of those hyperplanes that an arm cannot move to."""
        return self.covariance

    def _part(self, condition: Condition) -> "Part":
        return Part(condition, self.points, self._reach())

    def _nearest(self, part: "Part", share: Floats) -> Nearest:
        plane = part.smallest(share)
        if not part.common:
            plane = self._search(part, share, plane)
        moved = self.divergence(part.condition, plane)
        return Nearest(float(share @ moved), moved, plane, part.condition)

    def _search(self, part: "Part", share: Floats, start: Floats) -> Floats:
        """A better plane where the arms' covariances differ: a local search."""
        from scipy.optimize import minimize

        condition, free = part.condition, part.condition.free

        def length(plane: Floats) -> float:
            return float(share @ self.divergence(condition, plane))

        found = []
        for plane in part.starts(start, length):
            result: Any = minimize(self._slope, free.T @ plane, (condition, share), "BFGS", jac=True)
            found.append(free @ (result.x / np.linalg.norm(result.x)))
        part.found = min((start, *found), key=length)
        return part.found

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


class Part:
    """A part of a condition: its arms and directions in coordinates in which their mean covariance is the identity.

    Attributes
    ----------
    condition
        The part itself.
    common, exact
        Whether the covariances along its normals are multiples of one; and its distances as small as can be.
    normals
        How many directions the normal n has.
    noisy, quiet
        Directions with noise (1 + L + 1, r), and those without (1 + L + 1, s).
    found
        The plane found last, to start from.
    """

    def __init__(self, condition: Condition, points: Points, covariance: Floats) -> None:
        self.condition = condition
        self.points = np.column_stack([points.columns, -points.total])[condition.arms]
        inner = inner_covariance(condition, covariance)
        self.size, self.common = multiples(inner)
        self.exact = self.common
        self.normals = int(np.linalg.matrix_rank(condition.free[:-1], tol=RANK))
        mean = (inner / self.size[:, None, None]).sum(axis=0) / max(len(inner), 1)
        values, vectors = np.linalg.eigh(mean)
        noisy = values > NOISE * max(float(values[-1]), np.finfo(float).tiny)
        self.noisy = condition.free @ (vectors[:, noisy] / np.sqrt(values[noisy]))
        self.quiet = condition.free @ vectors[:, ~noisy]
        self.found: Floats | None = None

    def starts(self, start: Floats, length: Callable[[Floats], float]) -> list[Floats]:
        """All noisy directions at first; afterwards the plane found for other shares, or one that is better now."""
        if self.found is None:
            return [start, *self.noisy.T]
        return [min(start, self.found, key=length)]

    def smallest(self, share: Floats) -> Floats:
        """The plane (n, v) with the smallest weighted distance, when the covariances are multiples of their mean."""
        if not len(self.points):  # all arms lie on every plane of the part
            first: Floats = self.condition.free[:, 0]
            return first
        root = np.sqrt(share[self.condition.arms] / self.size)[:, None]
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
