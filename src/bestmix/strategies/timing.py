"""The time that a trial takes, measured by who makes it, where the budget is one of time."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bestmix.problems.problem import Problem
from bestmix.problems.spend import SECONDS
from bestmix.strategies.paid import Paid
from bestmix.strategies.protocol import Strategy

Pull = Callable[..., Any]


@dataclass(frozen=True)
class Timed:
    """Makes trials, and adds the time that each takes to what it returns."""

    pull: Pull
    unit: str

    def __call__(self, *arguments: Any) -> Any:
        """One trial, with its time."""
        start = time.perf_counter()
        result = self.pull(*arguments)
        return with_metric(result, self.unit, (time.perf_counter() - start) / SECONDS[self.unit])


def with_metric(result: Any, name: str, value: float) -> Any:
    """What a trial returned, in any of its forms, with one more metric.

    >>> [with_metric(result, "hours", 0.1) for result in ({"quality": 1.0}, (1.0, [2.0]), 1.0)]
    [{'quality': 1.0, 'hours': 0.1}, (1.0, [2.0, 0.1]), (1.0, {'hours': 0.1})]
    """
    if isinstance(result, Mapping):
        return {**result, name: value}
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        return (result, {name: value})
    reward, costs = result
    if costs is None or isinstance(costs, Mapping):
        return reward, {**(costs or {}), name: value}
    try:
        return reward, [*costs, value]
    except TypeError:  # one number
        return reward, [costs, value]


def timed(pull: Pull, problem: Problem, strategy: Strategy) -> Pull:
    """The function for a trial, which measures its time where the budget is one of time."""
    if isinstance(strategy, Paid) and strategy.spend.timed(problem):
        return Timed(pull, strategy.spend.unit)
    return pull


def without_time(problem: Problem, strategy: Strategy) -> Problem:
    """The problem whose trials need not tell the time that they take, since that is measured."""
    if not isinstance(strategy, Paid) or not strategy.spend.timed(problem):
        return problem
    data = problem.to_dict()
    return Problem.from_dict(data | {"tracked": [name for name in problem.tracked if name != strategy.spend.unit]})
