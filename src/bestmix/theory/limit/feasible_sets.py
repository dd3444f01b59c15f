"""Where no mix keeps several bounds: how far, weighted by shares of trials, sets of columns are from doing so.

Some arms with weights x, and fixed columns (slacks, known arms), must balance: sum x u + fixed = 0. The cheapest moves
that do it have the squared length m'(sum x^2 S / w)^-1 m, with m what is missing. In coordinates in which S is the
identity, and with y = x / sqrt(w), that is a Rayleigh quotient: its smallest value with positive weights on some set of
columns is the smallest eigenvalue of that set, so that all sets are looked at, and those with positive weights count.
"""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.theory.limit.allocation import Cuts
from bestmix.theory.limit.conditions import Points
from bestmix.theory.limit.gaussian import multiples
from bestmix.theory.limit.strata import noisy_arms

MOST_SUPPORTS = 5_000  # more would take minutes
SIGN = 1e-9  # a weight above minus this, as a share of the largest, counts as not negative


class Support(NamedTuple):
    """Arms that move, and columns that do not: slacks, known arms and arms without noise."""

    moving: Integers
    fixed: Integers


class FeasibleSets:
    """Of an infeasible instance with several costs and Gaussian noise: of an arm in all of them, or in none.

    Parameters
    ----------
    points
        The columns.
    covariance
        Of one trial of each arm, in their units (K, 1 + L, 1 + L).
    """

    def __init__(self, points: Points, covariance: Floats) -> None:
        self.points = points
        self.costs = points.columns[:, 1:]
        self.covariance = covariance[: points.movable, 1:, 1:]
        noisy = noisy_arms(self.covariance)
        self.start = noisy / max(noisy.sum(), 1.0)
        self.moves = np.r_[noisy > 0, np.zeros(len(self.costs) - len(noisy), dtype=np.bool_)]
        self.size, _ = multiples(self.covariance)
        shapes = (self.covariance / self.size[:, None, None])[noisy > 0]
        self.exact = multiples(shapes)[1]
        values, vectors = np.linalg.eigh(shapes.mean(axis=0) if len(shapes) else np.eye(self.costs.shape[1]))
        self.white = self.costs @ (vectors / np.sqrt(values))
        self.sets = list(self._supports())

    @property
    def supports(self) -> list[tuple[int, ...]]:
        """Columns of each set."""
        return [(*map(int, s.moving), *map(int, s.fixed)) for s in self.sets]

    def cuts(self, share: Floats) -> Cuts:
        """The weighted divergence of each set that can balance, and that of each arm."""
        found = ((k, self._moves(support, share)) for k, support in enumerate(self.sets))
        return [(k, float(share @ moved), moved) for k, moved in found if moved is not None]

    def _supports(self) -> Any:
        costs, columns = self.costs.shape[1], len(self.costs)
        for size in range(1, costs + 1):
            for chosen in itertools.combinations(range(columns), size):
                numbers = np.array(chosen, dtype=np.int64)
                moving, fixed = numbers[self.moves[numbers]], numbers[~self.moves[numbers]]
                if len(moving) and (not len(fixed) or np.linalg.matrix_rank(self.costs[fixed]) == len(fixed)):
                    yield Support(moving, fixed)

    def _moves(self, support: Support, share: Floats) -> Floats | None:
        """Divergence of each movable arm (K0,) when the set comes to balance; None when its weights have two signs."""
        weight = self._weights(support, share)
        if weight is None:
            return None
        x, missing = weight[: len(support.moving)], weight @ self.costs[np.r_[support.moving, support.fixed]]
        spread = self.covariance[support.moving]
        total = np.einsum("a,aij->ij", x**2 / share[support.moving], spread)
        push = np.linalg.lstsq(total, missing, rcond=None)[0]
        if np.abs(total @ push - missing).max() > 1e-7 * np.abs(missing).max(initial=0.0):
            return None
        result = np.zeros(self.points.movable)
        result[support.moving] = 0.5 * (x / share[support.moving]) ** 2 * (spread @ push @ push)
        return result

    def _weights(self, support: Support, share: Floats) -> Floats | None:
        """Weights with which the set balances after the cheapest moves."""
        root = np.sqrt(share[support.moving] / self.size[support.moving])
        moving, fixed = (root[:, None] * self.white[support.moving]).T, self.white[support.fixed].T
        back = -np.linalg.pinv(fixed) @ moving if len(support.fixed) else np.zeros((0, len(root)))
        left = moving + fixed @ back
        y = np.linalg.eigh(left.T @ left)[1][:, 0]
        y = y if y[np.argmax(np.abs(y))] > 0 else -y
        weight: Floats = np.r_[y * root, back @ y]
        positive = bool(weight.min() >= -SIGN * weight.max())
        if self.exact:
            return np.maximum(weight, 0.0) if positive else None
        return self._search(support, share, weight if positive else np.ones(len(weight)))

    def _search(self, support: Support, share: Floats, start: Floats) -> Floats:
        """Better weights where the arms' covariances differ; a local search."""
        from scipy.optimize import minimize

        columns, n = self.costs[np.r_[support.moving, support.fixed]], len(support.moving)
        ridge = 1e-12 * np.eye(columns.shape[1])

        def length(free: Floats) -> float:
            x = free**2 / np.sum(free[:n] ** 2)
            total = np.einsum("a,aij->ij", x[:n] ** 2 / share[support.moving], self.covariance[support.moving])
            missing = x @ columns
            return float(missing @ np.linalg.solve(total + ridge, missing))

        found: Any = minimize(length, np.sqrt(np.maximum(start, 0.0) + 1e-3), method="L-BFGS-B")
        weight: Floats = found.x**2 / np.sum(found.x[:n] ** 2)
        return weight


def full_or_none(covariance: Floats) -> bool:
    """Whether each of these covariances of costs has noise in every direction or in none.

    >>> full_or_none(np.array([np.eye(2), np.zeros((2, 2))])), full_or_none(np.array([np.diag([1.0, 0.0])]))
    (True, False)
    """
    noisy = covariance[noisy_arms(covariance) > 0]
    return not len(noisy) or bool((np.linalg.matrix_rank(noisy, hermitian=True) == noisy.shape[1]).all())


def count_supports(arms: int, costs: int) -> int:
    """Sets of columns that might come to balance.

    >>> count_supports(arms=3, costs=2)
    15
    """
    return sum(math.comb(arms + costs, size) for size in range(1, costs + 1))
