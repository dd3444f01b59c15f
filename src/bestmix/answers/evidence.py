"""What the trials have told so far: counts, means and covariances of every arm."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bestmix.answers.moments import Moments
from bestmix.arrays import Floats, Integers
from bestmix.problems.problem import Problem

PRIOR = 5.0  # trials' worth of the pooled covariance that each arm's own is blended with


@dataclass(frozen=True, eq=False)
class Evidence:
    """The problem and the running sums of its unknown arms, in order."""

    problem: Problem
    moments: list[Moments]

    @cached_property
    def counts(self) -> Integers:
        """Trials of each unknown arm (K0,)."""
        return np.array([m.count for m in self.moments], dtype=np.int64)

    @cached_property
    def means(self) -> Floats:
        """Mean reward and costs of every arm (K, 1 + L); NaN for an arm without trials."""
        size = 1 + len(self.problem.bounds)
        rows = [m.mean() for m in self.moments]
        return np.vstack([np.array(rows).reshape(len(rows), size), self.problem.known_means])

    @cached_property
    def tried(self) -> Integers:
        """Columns that can be used: known arms, arms with trials, and all slacks."""
        unknown, columns = len(self.moments), len(self.problem.columns)
        return np.array([*np.flatnonzero(self.counts), *range(unknown, columns)], dtype=np.int64)

    @cached_property
    def covariances(self) -> Floats | None:
        """Covariance of one trial of each arm (K, 1 + L, 1 + L), zero for known arms.

        Each arm's own estimate is blended with the pooled one, as if the pool were PRIOR further
        trials: two or three trials alone say next to nothing, and 0/1 data can show no spread at
        all. None when no arm has two trials.
        """
        scatters = np.array([m.scatter() for m in self.moments])
        freedom = np.maximum(self.counts - 1, 0)
        if not freedom.sum():
            return None
        pool = scatters.sum(axis=0) / freedom.sum()
        result = np.zeros((len(self.means), *pool.shape))
        result[: len(scatters)] = (scatters + PRIOR * pool) / (freedom + PRIOR)[:, None, None]
        return result
