"""The limit where answers within a tolerance are as good: a bound from below and one from above.

From below: an instance on which none of the answers that are right here is right must be told from this one by every
algorithm. Such instances are looked for beyond the boundary of each condition of the best basis, and each is checked
against all answers that are right here: every one that is found proves a bound.

From above: an algorithm that aims at one right answer needs to exclude the instances on which it is wrong. These are
among those at which a weight of the basis is negative (or a bound exceeded by more than is tolerated), an arm has a
reduced cost above the tolerance, or a bound a negative price: conditions of the basis with some columns shifted.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bestmix.arrays import Floats
from bestmix.problems.instance import Instance
from bestmix.problems.solution import Solution
from bestmix.theory.limit.allocation import FAR, Allocation, Cuts, maximise
from bestmix.theory.limit.answers import Tolerance, right_answers
from bestmix.theory.limit.bound import TolerantBound
from bestmix.theory.limit.conditions import Condition, Points, optimal_condition
from bestmix.theory.limit.gaussian import GaussianDistances, Nearest

MOST_SEARCHES = 25  # shares for which alternatives are looked for: every one makes the bound from below better
MOST_AIMS = 4  # right answers that are tried for the bound from above
BEYOND = 1e-6  # share by which an alternative lies beyond a boundary, so that it is one
WIDEN = 1.25  # factor by which a shift grows until all right answers are wrong
MOST_WIDENINGS = 24
NARROWINGS = 8  # halvings of what is left to save


class Shifted(NamedTuple):
    """A condition of a basis with its columns shifted, and the distances to it."""

    condition: Condition
    distances: GaussianDistances
    shift: Floats  # of the columns (K + L, 1 + L)

    @classmethod
    def of(cls, points: Points, covariance: Floats, basis: tuple[int, ...], column: int, shift: Floats) -> "Shifted":
        """The condition of a column with regard to a basis; ``shift`` is added to the points."""
        moved = Points(points.columns + shift, points.total, points.movable, points.scale, points.origin)
        return cls(optimal_condition(moved, basis, column), GaussianDistances(moved, covariance), shift)

    @property
    def empty(self) -> bool:
        """Whether nothing that can move takes part in it."""
        return not self.condition.free.shape[1] or not len(self.condition.arms)

    @property
    def exact(self) -> bool:
        """Whether its distances are as small as can be."""
        return self.empty or self.distances.exact([self.condition])

    def nearest(self, share: Floats) -> Nearest | None:
        """The nearest points at which it fails; None where none were found."""
        return None if self.empty else self.distances.nearest(self.condition, share)

    def means(self, found: Nearest) -> Floats:
        """The points of the movable arms there, without the shift (K0, 1 + L)."""
        moved = self.distances.means(found)
        result: Floats = moved - self.shift[: len(moved)]
        return result


class Tolerated:
    """Both bounds of one instance, some mix of which keeps the limits.

    Parameters
    ----------
    instance, solution
        With Gaussian noise, and its best mix.
    points, covariance
        In units of the noise.
    tolerance
        What is as good.
    """

    def __init__(
        self, instance: Instance, solution: Solution, points: Points, covariance: Floats, tolerance: Tolerance
    ) -> None:
        self.instance, self.basis, self.points, self.covariance = instance, solution.basis, points, covariance
        self.tolerance = tolerance
        self.answers = right_answers(instance.means, instance.bound, tolerance)
        self._beyond: dict[int, float] = {}

    def lower(self) -> Allocation:
        """Shares, and alternatives on which all answers that are right here are wrong."""
        start = GaussianDistances(self.points, self.covariance).start
        return maximise(self._alternatives, self.points.movable, MOST_SEARCHES, start)

    def upper(self) -> tuple[Allocation, bool]:
        """Shares of the best algorithm that aims at one right answer, and whether its distances are exact."""
        found = [self._aim(basis) for basis in self._aims()]
        return max(found, key=lambda one: one[0].lower)

    # from above

    def _aims(self) -> Iterator[tuple[int, ...]]:
        """The best basis, and those right ones that are furthest from being wrong with even shares."""
        share = np.full(self.points.movable, 1.0 / self.points.movable)
        others = [tuple(map(int, row)) for row in self.answers.bases if tuple(row) != self.basis]
        yield self.basis
        if len(others) >= MOST_AIMS:
            others.sort(key=lambda basis: -min((far for _, far, _ in self._cuts(self._wrong(basis), share)), default=0))
        yield from others[: MOST_AIMS - 1]

    def _aim(self, basis: tuple[int, ...]) -> tuple[Allocation, bool]:
        ways = self._wrong(basis)
        found = maximise(lambda share: self._cuts(ways, share), self.points.movable, start=ways[0].distances.start)
        return found, all(way.exact for way in ways)

    def _cuts(self, ways: list[Shifted], share: Floats) -> Cuts:
        found = ((k, way.nearest(share)) for k, way in enumerate(ways))
        return [(k, nearest.value, nearest.divergence) for k, nearest in found if nearest is not None]

    def _wrong(self, basis: tuple[int, ...]) -> list[Shifted]:
        """Every way for a basis to be wrong, and some in which it is not: see the module."""
        columns = range(len(self.points.columns))
        return [Shifted.of(self.points, self.covariance, basis, j, self._excused(basis, j)) for j in columns]

    def _excused(self, basis: tuple[int, ...], column: int) -> Floats:
        """Shift of the points that excuses what is tolerated: an arm's reward, or the bound of a slack of the basis."""
        arms = len(self.instance.arms)
        if column >= arms:
            cost = column - arms
            return self._eased(cost) if column in basis else np.zeros_like(self.points.columns)
        shift = np.zeros_like(self.points.columns)
        if column not in basis:
            shift[column, 0] = -self.tolerance.reward / self.points.scale[0]
        return shift

    def _eased(self, cost: int) -> Floats:
        shift = np.zeros_like(self.points.columns)
        shift[: len(self.instance.arms), 1 + cost] = -self.tolerance.cost[cost] / self.points.scale[1 + cost]
        return shift

    # from below

    def _alternatives(self, share: Floats) -> Cuts:
        """Those beyond the boundaries of the best basis, the nearest boundaries first."""
        exact = self._cuts([self._way(j, 0.0) for j in range(len(self.points.columns))], share)
        found: Cuts = []
        for column, far, _ in sorted(exact, key=lambda cut: cut[1]):
            if found and far > FAR * min(cut[1] for cut in found):
                break
            if (moved := self._beyond_boundary(column, share)) is not None:
                found.append((column, float(share @ moved), moved))
        return found

    def _way(self, column: int, amount: float) -> Shifted:
        """The condition of a column of the best basis; another one must earn so much more to count."""
        shift = self._excused(self.basis, column) if column in self.basis else np.zeros_like(self.points.columns)
        if column not in self.basis:
            shift[column, 0] = -amount / self.points.scale[0]
        return Shifted.of(self.points, self.covariance, self.basis, column, shift)

    def _beyond_boundary(self, column: int, share: Floats) -> Floats | None:
        """Divergence of each arm to the nearest alternative that is found on a way; None where none is.

        The way of a column of the basis goes straight on from the boundary; that of another one by a reduced cost that
        grows. How far was enough for other shares is where the search begins.
        """
        known = column in self._beyond
        high = self._beyond.get(column, 0.0 if column in self.basis else self.tolerance.reward)
        low, best = 0.0, self._moved(column, high, share)
        for _ in range(MOST_WIDENINGS):
            if best is not None:
                break
            low, high = high, WIDEN * high + (0.0 if high else self._step(column))
            best = self._moved(column, high, share)
        if best is None:
            return None
        for _ in range(1 if known else NARROWINGS):
            middle = 0.97 * high if known else 0.5 * (low + high)
            if high - low <= BEYOND * high or (closer := self._moved(column, middle, share)) is None:
                low = middle
            else:
                high, best = middle, closer
        self._beyond[column] = high
        return best

    def _step(self, column: int) -> float:
        return 0.05 if column in self.basis else 0.05 * float(self.points.scale[0])

    def _moved(self, column: int, amount: float, share: Floats) -> Floats | None:
        """Divergences where all answers that are right here are wrong there; else None."""
        way = self._way(column, amount)
        if (nearest := way.nearest(share)) is None:
            return None
        movable, start = self.points.movable, self.points.columns[: self.points.movable]
        stretch = (1.0 + BEYOND) * (1.0 + (amount if column in self.basis else 0.0))
        move = stretch * (way.means(nearest) - start)
        means = self.instance.means.copy()
        means[:movable] += move * self.points.scale
        if self.answers.right(means).any():
            return None
        return self._divergence(move)

    def _divergence(self, move: Floats) -> Floats | None:
        """Half the squared length of each arm's move; None where it goes where there is no noise."""
        spread = self.covariance[: self.points.movable]
        inverse = np.linalg.pinv(spread, hermitian=True)
        back = np.einsum("aij,ajk,ak->ai", spread, inverse, move)
        if np.abs(back - move).max(initial=0.0) > 1e-9 * max(1.0, float(np.abs(move).max(initial=0.0))):
            return None
        result: Floats = 0.5 * np.einsum("ai,aij,aj->a", move, inverse, move)
        return result


def tolerant_limit(
    instance: Instance, delta: float, solution: Solution, points: Points, covariance: Floats, tolerance: Tolerance
) -> TolerantBound:
    """Both bounds of an instance some mix of which keeps the limits."""
    names = instance.problem.columns
    tolerated = Tolerated(instance, solution, points, covariance, tolerance)
    low, (high, exact) = tolerated.lower(), tolerated.upper()
    weight = {names[k]: low.weight[k] for k in sorted(low.weight, key=lambda k: -low.weight[k])}
    share = np.r_[high.share if high.lower else np.zeros_like(high.share), np.zeros(instance.known)]
    least, most = (1 / value if value else math.inf for value in (low.upper, high.lower))
    if most == 0.0 and not exact:  # that no alternative was found proves nothing
        most = math.inf
    answers = len(tolerated.answers)
    told = float(tolerance.reward), tolerance.cost, answers
    return TolerantBound(instance, delta, least, max(most, least), share, exact, weight, "", *told)
