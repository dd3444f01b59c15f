"""Starting from trials that were made before: they fill what the strategy owes, round by round."""

from dataclasses import dataclass
from typing import Any

from bestmix.answers.moments import Moments
from bestmix.answers.tables import read_groups
from bestmix.arrays import Floats
from bestmix.experiments.model import Row
from bestmix.problems.problem import Problem
from bestmix.strategies import rounds
from bestmix.strategies.protocol import Checking
from bestmix.strategies.rounds import Recipe

WORKER = "log"


@dataclass(frozen=True)
class Start:
    """Where an experiment begins: after which rounds, with which trials and sums."""

    step: rounds.Step
    rows: list[Row]
    moments: list[Moments]


def replay(recipe: Recipe, budget: int, log: Any, arm: str, reward: str, segment: str | None, now: float) -> Start:
    """Give the log's trials to the strategy as it asks for them; the rest is surplus."""
    tables = _tables(recipe.problem, log, arm, reward, segment)
    if isinstance(recipe.strategy, Checking):
        for table in tables:
            recipe.strategy.check_trials(recipe.problem, table)
    used, moments, rows = [0] * len(tables), rounds.no_trials(recipe.problem), list[Row]()
    step, closed = rounds.begin(recipe, budget), list[Any]()
    while step.quota is not None:
        closed += step.rounds
        left = list(step.quota)
        for place, table in enumerate(tables):
            part = table[used[place] : used[place] + left[place]]
            rows += _rows(part, place, len(closed) + 1, len(rows), "complete", now)
            used[place] += len(part)
            left[place] -= len(part)
            if len(part):
                moments[place] = moments[place].plus(recipe.problem.rows.measure(part))
        if any(left):
            step = rounds.Step(step.memory, left, [])
            break
        step = rounds.finish(recipe, budget, step.memory, moments, len(closed))
    else:
        closed += step.rounds
    for place, table in enumerate(tables):
        rows += _rows(table[used[place] :], place, len(closed) + 1, len(rows), "surplus", now)
    return Start(rounds.Step(step.memory, step.quota, closed), rows, moments)


def _tables(problem: Problem, log: Any, arm: str, reward: str, segment: str | None) -> list[Floats]:
    import numpy as np

    first, *rest = problem.metrics
    found = read_groups(log, arm, reward if first == "reward" else first, rest, segment=segment)
    for name, group in found:
        problem.index(name, group)
    none = np.empty((0, len(problem.metrics)))
    return [found.get((cell.arm, cell.segment), none) for cell in problem.cells]


def _rows(part: Floats, arm: int, number: int, made: int, state: str, now: float) -> list[Row]:
    return [
        Row(made + i, made + i, arm, number, WORKER, 0.0, now, now, state, False, now, tuple(values))
        for i, values in enumerate(part.tolist(), start=1)
    ]
