"""How a run advances from round to round: pure functions of the evidence, for a live search and for every store."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.recommend import recommend
from bestmix.answers.recommendation import Round
from bestmix.arrays import Integers
from bestmix.kernels.segment_allocation import next_column
from bestmix.problems.problem import Problem
from bestmix.strategies.protocol import UNDER_WAY, Memory, Strategy, after_log

Arm = TypeVar("Arm", str, int)

PLAN = "plan"  # entry of a memory: trials of the open round, where they are not those of the strategy's quota


@dataclass(frozen=True)
class Recipe:
    """What decides: the problem, and the strategy for it."""

    problem: Problem
    strategy: Strategy


@dataclass(frozen=True)
class Step:
    """Where a run stands: its memory, what the open round owes each arm (None: over), rounds closed on the way."""

    memory: Memory
    quota: list[int] | None
    rounds: list[Round]


def begin(recipe: Recipe, budget: int) -> Step:
    """The first round that owes anything.

    >>> from bestmix import Uniform
    >>> begin(Recipe(Problem(["a", "b"]), Uniform()), budget=5).quota
    [2, 2]
    """
    memory = recipe.strategy.begin(recipe.problem, budget)
    return settle(recipe, budget, memory, no_trials(recipe.problem), 0)


def begin_with(recipe: Recipe, budget: int, moments: list[Moments], rows: Sequence[int]) -> Step:
    """The first round that owes anything, after trials that were made before: it owes what they lack.

    ``rows`` are how many they were of each arm, which is more than they count where they have less weight.

    >>> from bestmix import Uniform
    >>> log = [Moments(1).plus(np.array([[1.0], [2.0], [3.0]])), Moments(1)]
    >>> begin_with(Recipe(Problem(["a", "b"]), Uniform()), 5, log, [3, 0]).quota
    [0, 2]
    """
    counts = np.array([m.count for m in moments], dtype=np.int64)
    memory = recipe.strategy.begin(recipe.problem, budget)
    memory = after_log(recipe.strategy, Evidence(recipe.problem, moments), memory)
    quota = recipe.strategy.quota(recipe.problem, budget, memory)
    if quota is None:
        return Step(memory, None, [])
    owed = level(quota, counts, max(budget - int(counts.sum()), 0))
    plan = [n + int(more) for n, more in zip(rows, owed, strict=True)]
    step = Step(memory | {PLAN: plan}, owed.tolist(), [])
    return step if owed.any() else finish(recipe, budget, step.memory, moments, 0)


def no_trials(problem: Problem) -> list[Moments]:
    """Sums of no trials, for each arm."""
    return [Moments(len(problem.measures)) for _ in problem.cells]


def settle(recipe: Recipe, budget: int, memory: Memory, moments: list[Moments], closed: int) -> Step:
    """Pass over rounds that owe nothing, after ``closed`` rounds that are over."""
    rounds: list[Round] = []
    while (quota := coming(recipe, budget, memory, moments)) is not None and not any(quota):
        memory, ended = close(recipe, budget, memory, moments, quota, closed + len(rounds) + 1)
        rounds.append(ended)
    return Step(memory, quota, rounds)


def finish(
    recipe: Recipe, budget: int, memory: Memory, moments: list[Moments], closed: int, pulls: Sequence[int] | None = None
) -> Step:
    """Close the round whose trials are all there, and go on to the next that owes anything.

    ``pulls`` are the trials of each arm, where users arrived and they are not as planned.
    """
    quota = planned(recipe, budget, memory)
    if quota is None:
        return Step(memory, None, [])
    memory, ended = close(recipe, budget, memory, moments, quota if pulls is None else list(pulls), closed + 1)
    step = settle(recipe, budget, memory, moments, closed + 1)
    return Step(step.memory, step.quota, [ended, *step.rounds])


def plan_ahead(
    recipe: Recipe, budget: int, memory: Memory, moments: list[Moments], under_way: Sequence[int], number: int
) -> Step:
    """Decide on the next round while trials of the plan are under way, which count in the numbers alone."""
    quota = planned(recipe, budget, memory) or []
    memory, ended = close(recipe, budget, {**memory, UNDER_WAY: list(under_way)}, moments, quota, number)
    return Step(memory, planned(recipe, budget, memory), [ended])


def close(
    recipe: Recipe, budget: int, memory: Memory, moments: list[Moments], quota: list[int], number: int
) -> tuple[Memory, Round]:
    """Memory after the round, and the round as the history tells it."""
    known = {key: value for key, value in memory.items() if key != PLAN}
    memory, fields = recipe.strategy.close(Evidence(recipe.problem, moments), budget, known)
    pulls = {arm: n for arm, n in zip(recipe.problem.trial_names, quota, strict=True) if n}
    return memory, Round(number, pulls, **fields)


def mixture(recipe: Recipe, memory: Memory, moments: list[Moments]) -> dict[str, float]:
    """The optimum at the estimates as things stand: the share of each arm that has any."""
    columns = recipe.strategy.columns(recipe.problem, memory)
    return dict(recommend(Evidence(recipe.problem, moments), columns, strategy="", safety=None).best_guess)


def planned(recipe: Recipe, budget: int, memory: Memory) -> list[int] | None:
    """Pulls of each arm in the round that is open; None when the run is over."""
    if PLAN in memory:
        return list(memory[PLAN])
    quota = recipe.strategy.quota(recipe.problem, budget, memory)
    return None if quota is None else [int(n) for n in quota]


def coming(recipe: Recipe, budget: int, memory: Memory, moments: list[Moments]) -> list[int] | None:
    """``planned`` for a round that is about to begin, if the budget has room for it."""
    quota = planned(recipe, budget, memory)
    if quota is None:
        return None
    spent = sum(m.count for m in moments)
    left = max(budget - spent, 0)  # a budget may have been made smaller than what was made
    if len(quota) != len(recipe.problem.cells) or min(quota, default=0) < 0 or sum(quota) > left:
        raise RuntimeError(
            f"{recipe.strategy.name} wants {sum(quota)} further trials after {spent}, beyond the budget of {budget}; "
            "correct its quota"
        )
    return quota


def level(plan: Integers, counts: Integers, most: int) -> Integers:
    """What is owed to each arm where some has trials already: at most ``most`` in all, those with the fewest first.

    >>> level(np.array([5, 5, 5]), np.array([9, 0, 3]), most=4)
    array([0, 3, 0])
    """
    owed: Integers = np.maximum(plan - counts, 0)
    low, high = 0, int(plan.max(initial=0))
    while low < high and owed.sum() > most:
        middle = (low + high + 1) // 2
        fits = np.maximum(np.minimum(plan, middle) - counts, 0).sum() <= most
        low, high = (middle, high) if fits else (low, middle - 1)
    return owed if owed.sum() <= most else np.maximum(np.minimum(plan, low) - counts, 0)


def furthest_behind(plan: Any, given: Any, before: Any) -> int:
    """The arm, of those that a user who arrives can get, that is furthest behind the round's plan.

    Where nothing is planned it is the one with the fewest trials, ``before`` the round and ``given`` in it.

    >>> furthest_behind([6, 2], [0, 0], [9, 9]), furthest_behind([6, 2], [3, 0], [9, 9])
    (0, 1)
    >>> furthest_behind([0, 0], [1, 0], [5, 9])
    0
    """
    return int(next_column(0, len(plan), np.asarray(plan), np.asarray(given), np.asarray(before, dtype=np.float64)))


def share_out(due: Iterable[tuple[Arm, int]], most: int) -> list[Arm]:
    """Up to ``most`` arms from pairs (arm, due), always the one that is due the most, the first among equals.

    >>> share_out([(0, 2), (1, 3)], most=4)
    [1, 0, 1, 0]
    """
    left = dict(due)
    result: list[Arm] = []
    while left and len(result) < most:
        arm = max(left, key=left.__getitem__)
        if left[arm] <= 0:
            break
        left[arm] -= 1
        result.append(arm)
    return result
