"""Starting from trials that were made before.

Where the strategy decides from counts they all count, whatever a round had planned. Where it has a schedule they fill
what it owes, round by round, and what it has no place for is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.item_sums import ItemSum
from bestmix.answers.logs.from_log import read_metrics, read_on_items
from bestmix.answers.moments import Moments
from bestmix.arrays import Floats
from bestmix.experiments.item_slots import with_results
from bestmix.experiments.model import Row
from bestmix.problems.items import Items
from bestmix.problems.problem import Problem
from bestmix.strategies import rounds
from bestmix.strategies.earlier import check_tables
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
    on: Mapping[str, Any] = field(default_factory=dict)  # what a record says of their items
    by_item: Mapping[tuple[int, int], ItemSum] = field(default_factory=dict)  # their sums by item and arm


@dataclass(frozen=True)
class Log:
    """Trials from before: where they are, how their columns are called, and what each of them counts."""

    frame: Any
    arm: str = "arm"
    reward: str = "reward"
    segment: str | None = None
    weight: float = 1.0
    item: str | None = None


def replay(recipe: Recipe, budget: int, log: Log, now: float, items: Items | None = None) -> Start:
    """Where an experiment begins that has a log."""
    problem, columns = recipe.problem, (log.frame, log.arm, log.reward, log.segment)
    if log.item is None:
        return _start(recipe, budget, log, read_metrics(problem, *columns), now)
    if items is None:
        raise checks.InvalidInput("item", "this experiment has no items", "leave it out, or give items=")
    tables, on = read_on_items(problem, *columns, log.item, items)
    return _on_items(problem, _start(recipe, budget, log, tables, now), on, items, log.weight)


def _on_items(problem: Problem, start: Start, on: list[list[int | None]], items: Items, weight: float) -> Start:
    """The same with the items of the log's trials, which no arm is given again; with less weight that is all."""
    named = [(str(cell), own) for cell, own in zip(problem.cells, on, strict=True)]
    used = {arm: sorted(n for n in items.places_of(own, arm) if n is not None) for arm, own in named}
    if weight != 1.0:
        return replace(start, on={"used": used})
    left, measure = [iter(own) for own in on], problem.rows.measure
    rows = [replace(row, item=next(left[row.arm])) for row in start.rows]
    counted = [row for row in rows if row.state == "complete" and row.values is not None]
    keys = [(row.item, row.arm) for row in counted if row.item is not None]
    paired = np.array([row.values for row in counted if row.item is not None]).reshape(len(keys), len(problem.metrics))
    apart = rounds.no_trials(problem)
    for row in counted:
        if row.item is None:
            apart[row.arm] = apart[row.arm].plus(measure(np.array([row.values])))
    told = {"used": used, "apart": [sums.to_dict() if sums.count else None for sums in apart]}
    return replace(start, rows=rows, on=told, by_item=with_results({}, keys, measure(paired)))


def _start(recipe: Recipe, budget: int, log: Log, tables: list[Floats], now: float) -> Start:
    if isinstance(recipe.strategy, Checking):
        for table in tables:
            recipe.strategy.check_trials(recipe.problem, table)
    check_tables(recipe.problem, recipe.strategy, tables)
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
