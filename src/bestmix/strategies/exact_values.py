"""Metrics without noise: where a proof is given the scale 0, all trials of an arm have to tell the same value.

Values are held against each other to the bit: a metric whose last digits vary has a scale, if a small one.
"""

from typing import Protocol, runtime_checkable

from bestmix import checks
from bestmix.answers.moments import Moments
from bestmix.arrays import Floats
from bestmix.problems.problem import Problem
from bestmix.strategies.protocol import Strategy

REMEDY = "what is proven rests on its scale: start anew with a sigma above 0 for it"


@runtime_checkable
class Exacting(Protocol):
    """A strategy that takes some metrics for exact."""

    def exact_measures(self, problem: Problem) -> list[int]:
        """Places of the measures that are the same in all trials of an arm."""


def exact_measures(strategy: Strategy, problem: Problem) -> list[int]:
    """Places of the measures that a strategy takes for exact.

    >>> from bestmix import Challenger, Uniform
    >>> problem = Problem(["a"], {"dollars": 1.0})
    >>> exact_measures(Challenger(0.95, proven=True, sigma={"reward": 0.3, "dollars": 0}), problem)
    [1]
    >>> exact_measures(Uniform(), problem)
    []
    """
    return strategy.exact_measures(problem) if isinstance(strategy, Exacting) else []


def check_exact(strategy: Strategy, problem: Problem, arm: str, earlier: Moments, rows: Floats) -> None:
    """Refuse trials (m, M) of an arm whose exact measures are not what they were before, or differ from each other."""
    for place in exact_measures(strategy, problem):
        if len(rows):
            first = float(earlier.mean()[place] if earlier.count else rows[0, place])
            _refuse(problem.measures[place], arm, first, rows[rows[:, place] != first, place])


def check_exact_sums(strategy: Strategy, problem: Problem, arm: str, sums: Moments) -> None:
    """Refuse sums of trials of an arm that were not all alike in the exact measures."""
    for place in exact_measures(strategy, problem):
        if sums.count and sums.scatter()[place, place] > 0:
            fault = f"the trials of {arm!r} before tell several values, and its scale is 0"
            raise checks.InvalidInput(problem.measures[place], fault, REMEDY)


def _refuse(name: str, arm: str, first: float, others: Floats) -> None:
    if len(others):
        expected = f"{first!r} as in the other trials of {arm!r}, since its scale is 0"
        raise checks.InvalidInput(name, expected=expected, got=repr(float(others[0])), remedy=REMEDY)
