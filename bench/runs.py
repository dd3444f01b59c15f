"""Simulated runs of Challenger on trials that a bench draws: its own decisions, as machine code, and bare sums."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestmix import Challenger, Problem
from bestmix.kernels import jit

Draw = Callable[[int, int, int], np.ndarray]  # of an arm: trials (count, 1 + L) after the first so many


@dataclass(frozen=True)
class Sums:
    """As much of an ``Evidence`` as a decision on a plain problem looks at."""

    problem: Problem
    counts: np.ndarray
    means: np.ndarray
    scatters: np.ndarray
    least: np.ndarray | None = None  # none, since no ranges of values are given

    @classmethod
    def none(cls, problem: Problem) -> "Sums":
        """No trials."""
        arms, size = len(problem.arms), 1 + len(problem.bounds)
        return cls(problem, np.zeros(arms, dtype=np.int64), np.zeros((arms, size)), np.zeros((arms, size, size)))

    def add(self, arm: int, rows: np.ndarray) -> None:
        """Further trials of an arm."""
        n, m, mean = self.counts[arm], len(rows), rows.mean(axis=0)
        apart, around = mean - self.means[arm], rows - mean
        self.scatters[arm] += around.T @ around + np.outer(apart, apart) * n * m / (n + m)
        self.means[arm] += apart * m / (n + m)
        self.counts[arm] += m


def use_machine_code() -> None:
    """Make every decision with compiled kernels, however small: there are many."""
    jit.ENOUGH_WORK = 0


def run(problem: Problem, memory: Any, close: Callable[[Any, Any], tuple[Any, Any]], draw: Draw) -> set[str]:
    """The arms that a run answers with; ``close`` is what the strategy decides from sums and memory."""
    sums = Sums.none(problem)
    while memory["quota"] is not None:
        for arm, count in enumerate(memory["quota"]):
            if count:
                sums.add(arm, draw(arm, int(sums.counts[arm]), count))
        memory, _ = close(sums, memory)
    return {problem.arms[column] for column in memory["basis"] if column < len(problem.arms)}


def challenger(problem: Problem, budget: int, draw: Draw) -> set[str]:
    """The arms that a run of Challenger answers with, after so many trials."""
    rule = Challenger()
    return run(problem, rule.begin(problem, budget), lambda sums, memory: rule.close(sums, budget, memory), draw)
