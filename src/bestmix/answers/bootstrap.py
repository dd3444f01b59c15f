"""The bootstrap: how often logs that are redrawn, arm by arm, lead to the same support.

A mean of n redrawn rows costs n steps. Where an arm has many rows, only those far from its mean are redrawn one by one:
how often each of a few outliers comes decides the mean, and no normal distribution says that. The others are many and
near, so that the sum of those drawn is normal, with their own mean and covariance; how many are drawn is binomial, as
it is when rows are redrawn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from bestmix import checks, progress
from bestmix.answers.programs import arms_in_use, shares_of
from bestmix.arrays import Flags, Floats, Integers
from bestmix.problems.problem import Problem
from bestmix.problems.solution import solve_means

FAR_ROWS = 1000  # of an arm that are redrawn one by one


class RedrawnLog(NamedTuple):
    """Mean of each measure of the arms that can be tried (K0, M), NaN without rows, and the rows of each segment."""

    means: Floats
    users: Integers


Redraw: TypeAlias = Callable[[np.random.Generator], RedrawnLog]


def bootstrap(
    problem: Problem, tables: list[Floats], support: tuple[str, ...], resamples: int, seed: int, shown: bool = False
) -> float:
    """Share of redrawn logs whose best mix has the same support; ``shown`` with a progress bar.

    Where the shares of segments are those of the log, so are those of a redrawn one.
    """
    arms = [Redrawn.of(table) for table in tables]
    users = np.array([len(table) for table in tables]).reshape(max(len(problem.segments), 1), -1).sum(axis=1)
    learnt = None in problem.segments.values()

    def redrawn(rng: np.random.Generator) -> RedrawnLog:
        means = np.array([arm.mean(rng) for arm in arms])
        return RedrawnLog(means, rng.multinomial(users.sum(), users / users.sum()) if learnt else users)

    return same_support(problem, redrawn, support, resamples, seed, shown)


def same_support(
    problem: Problem, redrawn: Redraw, support: tuple[str, ...], resamples: int, seed: int, shown: bool = False
) -> float:
    """Share of redrawn logs whose best mix has the same support."""
    checks.whole("resamples", resamples, 1, "1000 is a good number")
    rng = np.random.default_rng(seed)
    wanted = np.array([name in support for name in problem.names])
    same = 0
    with progress.bar("bootstrap", resamples, "logs", shown) as bar:
        for _ in range(resamples):
            same += bool((_in_use(problem, redrawn(rng)) == wanted).all())
            bar.advance()
    return same / resamples


def _in_use(problem: Problem, log: RedrawnLog) -> Flags:
    """Arms with a share in the best mix of a redrawn log (K,); none where no mix keeps the limits."""
    means = np.vstack([log.means, problem.known_measures])
    if not problem.plain:
        return arms_in_use(problem, means, shares_of(problem, log.users))
    solution = solve_means(problem.rows.means(means), problem.bound)
    return np.asarray((solution.mixture > 0) & solution.feasible)


@dataclass(frozen=True)
class Redrawn:
    """An arm's rows: those far from the mean (m, 1 + L), and how many others with which mean and square root of the
    covariance.
    """

    far: Floats
    near: int
    near_mean: Floats
    near_root: Floats

    @classmethod
    def of(cls, table: Floats) -> "Redrawn":
        """The rows of a table (n, 1 + L).

        >>> rows = np.random.default_rng(0).normal(size=(5000, 2))
        >>> arm = Redrawn.of(rows)
        >>> len(arm.far), arm.near
        (1000, 4000)
        """
        size = table.shape[1]
        if len(table) <= FAR_ROWS:
            return cls(table, 0, np.zeros(size), np.zeros((size, size)))
        spread = table.std(axis=0)
        distance = (np.abs(table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0)).max(axis=1)
        order = np.argpartition(distance, len(table) - FAR_ROWS)
        near = table[order[:-FAR_ROWS]]
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(near, rowvar=False, ddof=0)))
        return cls(table[order[-FAR_ROWS:]], len(near), near.mean(axis=0), vectors * np.sqrt(np.maximum(values, 0.0)))

    def mean(self, rng: np.random.Generator) -> Floats:
        """The mean of as many rows as there are, redrawn; NaN where there is none."""
        count = len(self.far) + self.near
        if not count:
            return np.full(len(self.near_mean), np.nan)
        if not self.near:
            return np.asarray(self.far[rng.integers(count, size=count)].mean(axis=0))
        near = rng.binomial(count, self.near / count)
        noise = self.near_root @ rng.standard_normal(len(self.near_mean))
        drawn = self.far[rng.integers(len(self.far), size=count - near)].sum(axis=0)
        return np.asarray((drawn + near * self.near_mean + np.sqrt(near) * noise) / count)
