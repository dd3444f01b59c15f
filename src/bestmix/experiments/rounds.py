"""How a strategy advances: pure functions of the evidence, the same for every store."""

from collections.abc import Sequence
from dataclasses import dataclass

from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.recommendation import Round, recommend
from bestmix.arrays import Integers
from bestmix.experiments.model import Recipe
from bestmix.problems.problem import Problem
from bestmix.strategies.search import Memory


@dataclass(frozen=True)
class Step:
    """Where a run stands: its memory, what the open round owes each arm (None: over), rounds closed on the way."""

    memory: Memory
    quota: list[int] | None
    rounds: list[Round]


def begin(recipe: Recipe, budget: int) -> Step:
    """The first round that owes anything."""
    memory = recipe.strategy.begin(recipe.problem, budget)
    return settle(recipe, budget, memory, no_trials(recipe.problem), 0)


def no_trials(problem: Problem) -> list[Moments]:
    """Sums of no trials, for each arm."""
    return [Moments(1 + len(problem.bounds)) for _ in problem.arms]


def settle(recipe: Recipe, budget: int, memory: Memory, moments: list[Moments], closed: int) -> Step:
    """Pass over rounds that owe nothing, after ``closed`` rounds that are over."""
    rounds: list[Round] = []
    while (quota := owed(recipe, budget, memory, moments)) is not None and not any(quota):
        memory, ended = close(recipe, budget, memory, moments, quota, closed + len(rounds) + 1)
        rounds.append(ended)
    return Step(memory, quota, rounds)


def finish(recipe: Recipe, budget: int, memory: Memory, moments: list[Moments], closed: int) -> Step:
    """Close the round whose trials are all there, and go on to the next that owes anything."""
    quota = recipe.strategy.quota(recipe.problem, budget, memory)
    if quota is None:
        return Step(memory, None, [])
    memory, ended = close(recipe, budget, memory, moments, _whole(quota), closed + 1)
    step = settle(recipe, budget, memory, moments, closed + 1)
    return Step(step.memory, step.quota, [ended, *step.rounds])


def close(
    recipe: Recipe, budget: int, memory: Memory, moments: list[Moments], quota: list[int], number: int
) -> tuple[Memory, Round]:
    """Memory after the round, and the round as the history tells it."""
    memory, told = recipe.strategy.close(Evidence(recipe.problem, moments), budget, memory)
    pulls = {arm: n for arm, n in zip(recipe.problem.arms, quota, strict=True) if n}
    return memory, Round(number, pulls, **told)


def mixture(recipe: Recipe, memory: Memory, moments: list[Moments]) -> dict[str, float]:
    """The answer as things stand: the share of each arm that has any."""
    found = recommend(Evidence(recipe.problem, moments), recipe.strategy.columns(recipe.problem, memory), strategy="")
    return dict(found.mixture)


def owed(recipe: Recipe, budget: int, memory: Memory, moments: list[Moments]) -> list[int] | None:
    """What the coming round owes each arm, if the budget has room for it."""
    quota = recipe.strategy.quota(recipe.problem, budget, memory)
    if quota is None:
        return None
    whole, spent = _whole(quota), sum(m.count for m in moments)
    if len(whole) != len(recipe.problem.arms) or min(whole, default=0) < 0 or spent + sum(whole) > budget:
        raise RuntimeError(
            f"{recipe.strategy.name} wants {sum(whole)} further trials after {spent}, beyond the budget of {budget}; "
            "mend its quota"
        )
    return whole


def share_out(due: Sequence[tuple[int, int]], most: int) -> list[int]:
    """Up to ``most`` arms from pairs (arm, due), always the one that is due the most, the first among equals.

    >>> share_out([(1, 3), (0, 2)], most=4)
    [1, 0, 1, 0]
    """
    left = dict(sorted(due))
    result: list[int] = []
    while left and len(result) < most:
        arm = max(left, key=left.__getitem__)
        if not left[arm]:
            break
        left[arm] -= 1
        result.append(arm)
    return result


def _whole(quota: Integers) -> list[int]:
    return [int(n) for n in quota]
