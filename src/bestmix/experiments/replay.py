"""Starting from trials that were made before.

Where the strategy decides from counts they all count, whatever a round had planned. Where it has a schedule they fill
what it owes, round by round, and what it has no place for is left out.
"""

from dataclasses import dataclass
from typing import Any

from bestmix import checks
from bestmix.answers.logs import read_metrics
from bestmix.answers.moments import Moments
from bestmix.arrays import Floats
from bestmix.experiments.model import Row
from bestmix.problems.problem import Problem
from bestmix.strategies import rounds
from bestmix.strategies.protocol import MOST_TRIALS, Checking, decides_from_counts
from bestmix.strategies.rounds import Recipe

WORKER = "log"


@dataclass(frozen=True)
class Start:
    """Where an experiment begins: after which rounds, with which trials and sums."""

    step: rounds.Step
    rows: list[Row]
    moments: list[Moments]
    earlier: list[Moments | None]  # sums of the log's trials of each arm


@dataclass(frozen=True)
class Log:
    """Trials from before: where they are, how their columns are called, and what each of them counts."""

    frame: Any
    arm: str = "arm"
    reward: str = "reward"
    segment: str | None = None
    weight: float = 1.0


def replay(recipe: Recipe, budget: int, log: Log, now: float) -> Start:
    """Where an experiment begins that has a log."""
    tables = read_metrics(recipe.problem, log.frame, log.arm, log.reward, log.segment)
    if isinstance(recipe.strategy, Checking):
        for table in tables:
            recipe.strategy.check_trials(recipe.problem, table)
    if decides_from_counts(recipe.strategy):
        return _in_full(recipe, budget, tables, log.weight, now)
    if log.weight != 1.0:
        raise checks.InvalidInput(
            "log_weight",
            f"{recipe.strategy.name} fills the places of its schedule with whole results",
            "leave it out, or use Challenger() or Uniform()",
        )
    return _in_places(recipe, budget, tables, now)


def log_sums(problem: Problem, log: Log) -> list[Moments]:
    """Sums of the log's trials of each arm, at what each of them counts."""
    tables = read_metrics(problem, log.frame, log.arm, log.reward, log.segment)
    none = rounds.no_trials(problem)
    return [m.plus(problem.rows.measure(t)).weighted(log.weight) for m, t in zip(none, tables, strict=True)]


def _in_full(recipe: Recipe, budget: int, tables: list[Floats], weight: float, now: float) -> Start:
    """Count all of them; the first round owes what they lack."""
    measure, none = recipe.problem.rows.measure, rounds.no_trials(recipe.problem)
    sums = [empty.plus(measure(table)) for empty, table in zip(none, tables, strict=True)]
    moments = [m.weighted(weight) for m in sums]
    rows = list[Row]()
    for place, table in enumerate(tables):
        rows += _rows(table, place, 1, len(rows), "complete", now)
    whole = budget if budget == MOST_TRIALS else budget + sum(m.count for m in moments)
    whole = checks.whole("budget", whole, 0, "give fewer", MOST_TRIALS)
    step = rounds.begin_with(recipe, whole, moments, [m.count for m in sums])
    return Start(step, rows, moments, [m if m.count else None for m in sums])


def _in_places(recipe: Recipe, budget: int, tables: list[Floats], now: float) -> Start:
    """Give the trials to the strategy as it asks for them; the rest is left out."""
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
    return Start(rounds.Step(step.memory, step.quota, closed), rows, moments, [])


def _rows(part: Floats, arm: int, number: int, made: int, state: str, now: float) -> list[Row]:
    return [
        Row(made + i, made + i, arm, number, WORKER, 0.0, now, now, state, False, now, tuple(values))
        for i, values in enumerate(part.tolist(), start=1)
    ]
