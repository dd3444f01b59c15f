"""Which bases are right answers where some loss, or some excess over the bounds, does no harm.

A basis stands for one mix: its columns with the weights that balance. It is right within a tolerance when its arms have
weights that are not negative, no bound is exceeded by more than is tolerated, and the best mix that keeps the bounds
does not earn more by more than the tolerance. Where no mix keeps the bounds there is none to compare with.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np

from bestmix import checks
from bestmix.arrays import Flags, Floats, Integers
from bestmix.problems.solution import solve_means

MOST_BASES = 200_000  # all of them are looked at; more would take minutes
SINGULAR = 1e-12  # determinant of columns in units of their spread that counts as none


class Tolerance(NamedTuple):
    """What is as good: so much less reward, and so much more of each cost (L,)."""

    reward: float
    cost: Floats

    @property
    def none(self) -> bool:
        """Whether nothing but the best basis will do."""
        return not self.reward and not self.cost.any()


class Answers:
    """Some bases, and what each comes to at any means.

    Parameters
    ----------
    bound
        Bounds (L,).
    tolerance
        What is as good.
    bases
        Columns of each, ascending (n, 1 + L).
    """

    def __init__(self, bound: Floats, tolerance: Tolerance, bases: Integers) -> None:
        self.bound, self.tolerance, self.bases = bound, tolerance, bases

    def __len__(self) -> int:
        return len(self.bases)

    def right(self, means: Floats) -> Flags:
        """Which of them are right within the tolerance at these means (K, 1 + L)."""
        arms, costs = len(means), len(self.bound)
        u = np.vstack([means[:, 1:] - self.bound, np.eye(costs)])
        spread = np.maximum(np.abs(u[:arms]).max(axis=0, initial=0.0), np.finfo(float).tiny)
        columns = np.column_stack([u / spread, np.r_[np.ones(arms), np.zeros(costs)]])
        matrix = columns[self.bases].transpose(0, 2, 1)
        usable = np.abs(np.linalg.det(matrix)) > SINGULAR * np.abs(matrix).max(axis=(1, 2)) ** (1 + costs)
        weight = np.zeros(self.bases.shape)
        weight[usable] = np.linalg.inv(matrix[usable])[:, :, -1]
        least = np.r_[np.zeros(arms), -self.tolerance.cost][self.bases]
        fits = usable & (weight >= least).all(axis=1)
        best = solve_means(means, self.bound)
        reward = np.r_[means[:, 0], np.zeros(costs)][self.bases]
        value = (weight * reward).sum(axis=1)
        enough: Flags = fits & (value >= (best.value - self.tolerance.reward if best.feasible else -np.inf))
        return enough


def right_answers(means: Floats, bound: Floats, tolerance: Tolerance) -> Answers:
    """All bases that are right at these means.

    >>> means, bound = np.array([[1.0, 0.0], [0.9, 0.2], [0.0, 0.1]]), np.array([1.0])
    >>> right_answers(means, bound, Tolerance(0.2, np.zeros(1))).bases.tolist()
    [[0, 3], [1, 3]]
    """
    columns, size = len(means) + len(bound), 1 + len(bound)
    if (count := math.comb(columns, size)) > MOST_BASES:
        expected = f"at most {MOST_BASES:,} bases with a tolerance, which are all looked at"
        raise checks.InvalidInput(
            "instance", expected=expected, got=f"{count:,}", remedy="leave out arms that are clearly worse"
        )
    every = np.array(list(itertools.combinations(range(columns), size)), dtype=np.int64)
    answers = Answers(bound, tolerance, every[every[:, 0] < len(means)])
    wider = tolerance._replace(reward=tolerance.reward + _rounding(means[:, 0]), cost=tolerance.cost + _rounding(bound))
    return Answers(bound, tolerance, answers.bases[Answers(bound, wider, answers.bases).right(means)])


def _rounding(values: Floats) -> float:
    """What a sum of such values may be wrong by."""
    return 1e-12 * float(np.abs(values).max(initial=0.0))
