"""The bootstrap: how often logs that are redrawn, arm by arm, lead to the same support.

A mean of n redrawn rows costs n steps. Where an arm has many rows, only those far from its mean are redrawn one by one:
how often each of a few outliers comes decides the mean, and no normal distribution says that. The others are many and
near, so that the sum of those drawn is normal, with their own mean and covariance; how many are drawn is binomial, as
it is when rows are redrawn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from bestmix import checks, progress
from bestmix.arrays import Floats
from bestmix.problems.problem import Problem
from bestmix.problems.solution import solve_means

FAR_ROWS = 1000  # of an arm that are redrawn one by one

Redraw: TypeAlias = Callable[[np.random.Generator], Floats]


def bootstrap(
    problem: Problem, tables: list[Floats], support: tuple[str, ...], resamples: int, seed: int, shown: bool = False
) -> float:
    """Share of redrawn logs whose best mix has the same support; ``shown`` with a progress bar."""
    arms = [Redrawn.of(table) for table in tables]
    return same_support(problem, lambda rng: np.array([arm.mean(rng) for arm in arms]), support, resamples, seed, shown)


def check_redrawable(problem: Problem) -> None:
    """Refuse a bootstrap of what it is not made for."""
    if not problem.plain:
        raise checks.InvalidInput("uncertainty", "the bootstrap is for one segment and limits on means", "use 'delta'")


def same_support(
    problem: Problem, redrawn: Redraw, support: tuple[str, ...], resamples: int, seed: int, shown: bool = False
) -> float:
    """Share of redrawn means (K0, M) whose best mix has the same support."""
    checks.whole("resamples", resamples, 1, "1000 is a good number")
    rng = np.random.default_rng(seed)
    wanted = tuple(name in support for name in problem.names)
    same = 0
    with progress.bar("bootstrap", resamples, "logs", shown) as bar:
        for _ in range(resamples):
            means = np.vstack([redrawn(rng), problem.known_measures])
            solution = solve_means(problem.rows.means(means), problem.bound)
            same += solution.feasible and tuple(bool(p > 0) for p in solution.mixture) == wanted
            bar.advance()
    return same / resamples


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
        """The mean of as many rows as there are, redrawn."""
        count = len(self.far) + self.near
        if not self.near:
            return np.asarray(self.far[rng.integers(count, size=count)].mean(axis=0))
        near = rng.binomial(count, self.near / count)
        noise = self.near_root @ rng.standard_normal(len(self.near_mean))
        drawn = self.far[rng.integers(len(self.far), size=count - near)].sum(axis=0)
        return np.asarray((drawn + near * self.near_mean + np.sqrt(near) * noise) / count)
