"""A budget that changes while a run goes on, together with its arms: trials or money, larger or smaller.

What trials of retired arms have cost stays spent. An arm that comes new brings its price where prices are known; where
they are learnt, it is tried as arms are at the start.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.arrays import Integers
from bestmix.problems.changes import Wish
from bestmix.problems.problem import Cell, Problem
from bestmix.problems.spend import Spend, number_of_trials
from bestmix.strategies import rounds
from bestmix.strategies.paid import OWN, Paid
from bestmix.strategies.protocol import MOST_TRIALS, Memory, Strategy, carried, decides_from_counts
from bestmix.strategies.purse import ROUNDING, Purse, at_least_one
from bestmix.strategies.rounds import Recipe

KEPT = ("began",)  # entries of the memory of rounds that are bought which a change leaves as they are


@dataclass(frozen=True)
class Totals:
    """What may be spent before and after a change, and the memory that has it."""

    before: int | Spend
    after: int | Spend
    memory: Memory

    @property
    def same(self) -> bool:
        """Whether that stays as it is."""
        return self.before == self.after

    @property
    def grows(self) -> bool:
        """Whether it becomes more."""
        return _size(self.after) > _size(self.before)

    @property
    def shrinks(self) -> bool:
        """Whether it becomes less."""
        return _size(self.after) < _size(self.before)

    @property
    def trials(self) -> int:
        """The most trials after the change: beyond reach where money is limited."""
        return MOST_TRIALS if isinstance(self.after, Spend) else self.after


def _size(budget: int | Spend) -> float:
    return budget.amount if isinstance(budget, Spend) else budget


def totals(strategy: Strategy, memory: Memory, budget: int, problem: Problem, wish: Wish) -> Totals:
    """What a wish makes of a budget, for a problem that may have other arms."""
    if isinstance(strategy, Paid):
        now = strategy.now(memory)
        after = now if wish.budget is None else _in_unit(strategy, wish.budget)
        new = {**memory, "amount": after.amount} | _prices(now, problem, wish) | _most(now, problem, wish)
        return Totals(Spend(now.amount, now.unit), Spend(after.amount, now.unit), new)
    for name in ("prices", "most"):
        if getattr(wish, name) is not None:
            raise checks.InvalidInput(name, "the budget is a number of trials", "leave it out")
    if isinstance(wish.budget, Spend):
        raise _another_unit("trials", wish.budget)
    total = budget if wish.budget is None else number_of_trials(wish.budget, "give the new total", MOST_TRIALS)
    return Totals(budget, total, memory)


def larger_amount(strategy: Strategy, memory: Memory, budget: Any) -> float:
    """The amount of a budget that takes the place of a run's, in the same unit and no smaller."""
    if not isinstance(strategy, Paid):
        raise _another_unit("trials", budget)
    amount = _in_unit(strategy, budget).amount
    if amount < memory["amount"]:
        least = strategy.spend.say(memory["amount"])
        raise checks.InvalidInput(
            "budget", expected=f"at least the present {least}", got=budget, remedy="change() takes a smaller one"
        )
    return amount


def _in_unit(strategy: Paid, budget: Any) -> Spend:
    if not isinstance(budget, Spend) or budget.unit != strategy.spend.unit:
        raise _another_unit(strategy.spend.unit, budget)
    return budget


def _another_unit(unit: str, budget: Any) -> checks.InvalidInput:
    return checks.InvalidInput("budget", expected=f"one in {unit}, as the run has", got=checks.shown(budget))


def _prices(now: Spend, problem: Problem, wish: Wish) -> Memory:
    """The entry of the memory with the prices of all arms; none where trials tell what they cost."""
    in_budget = wish.budget.prices if isinstance(wish.budget, Spend) else None
    if now.prices is not None:
        return _with_new("prices", now.prices, [in_budget, wish.prices], problem)
    if in_budget or wish.prices:
        raise checks.InvalidInput("prices", f"in this run trials tell their {now.unit}", "leave them out")
    return {}


def _most(now: Spend, problem: Problem, wish: Wish) -> Memory:
    """The entry of the memory with the most that a trial of each arm can cost, where that is given by arm."""
    given = [wish.budget.most if isinstance(wish.budget, Spend) else None, wish.most]
    if isinstance(now.most, Mapping):
        return _with_new("most", now.most, given, problem)
    if any(one is not None and one != now.most for one in given):
        said = "in this run the budget is soft" if now.most is None else f"in this run it is {now.most:g} for all arms"
        said = said if now.prices is None else "known prices say what a trial costs at most"
        raise checks.InvalidInput("most", said, "leave it out")
    return {}


def _with_new(name: str, held: Mapping[str, float], given: Sequence[Any], problem: Problem) -> Memory:
    """Amounts by arm, with those of arms that come new."""
    amounts = dict(held)
    for part in given:
        for arm, value in checks.mapping(name, {} if part is None else part, "of arm names to amounts").items():
            amount = checks.number(f"{name}[{arm!r}]", value)
            if arm not in problem.arms and arm not in held:
                raise checks.InvalidInput(
                    name, expected="arms that are tried", got=checks.shown(arm), remedy="add it, or leave it out"
                )
            if amount < 0 or amount != amounts.get(arm, amount):
                raise checks.InvalidInput(
                    f"{name}[{arm!r}]",
                    expected="an amount of at least 0" if amount < 0 else f"{amounts[arm]:g}, as it was so far",
                    got=f"{amount:g}",
                    remedy="an arm under another name can have another one",
                )
            amounts[arm] = amount
    if missing := [arm for arm in problem.arms if arm not in amounts]:
        what = "what a trial of it costs" if name == "prices" else "the most that a trial of it can cost"
        option = "--price" if name == "prices" else "--most"
        raise checks.InvalidInput(
            name,
            f"{missing[0]} is new, and {what} is not known",
            f"give it: {name}={{{missing[0]!r}: ...}}, or {option} {missing[0]}=...",
        )
    return {} if amounts == held else {name: amounts}


def check_changeable(strategy: Strategy, anew: str) -> None:
    """Refuse another budget, other arms or limits of another kind where rounds are laid out.

    ``anew`` is what to do instead.

    >>> from bestmix import SFSR
    >>> check_changeable(SFSR(), "start another run")
    Traceback (most recent call last):
    bestmix.checks.InvalidInput: strategy: SFSR lays out its rounds beforehand, so that only bounds can change; ...
    """
    if not decides_from_counts(strategy):
        raise checks.InvalidInput(
            "strategy",
            f"{strategy.name} lays out its rounds beforehand, so that only bounds can change",
            f"{anew}, with Challenger() or Uniform()",
        )


def retired(strategy: Strategy, memory: Memory, problem: Problem, sums: Mapping[Cell, Moments]) -> Memory:
    """The memory with what trials of retired arms have cost, where money is limited; ``sums`` are of their trials."""
    if not isinstance(strategy, Paid):
        return memory
    spend, kept = strategy.now(memory), {name: value for name, value in memory.items() if name != "retired"}
    if spend.prices is not None:
        spent = sum(m.count * spend.prices[cell.arm] for cell, m in sums.items())
    else:
        column = problem.measures.index(spend.unit)
        spent = sum(m.count * float(m.mean()[column]) for m in sums.values() if m.count)
    return kept | ({"retired": spent} if spent else {})


def begin_again(
    recipe: Recipe, before: Problem, budget: int, moments: list[Moments], under_way: Integers, memory: Memory
) -> tuple[Memory, Integers]:
    """The memory of a run that plans anew from its trials and those under way, and what a first round lacks of each.

    ``before`` is the problem until then.

    >>> from bestmix import Uniform
    >>> log, problem = [Moments(1).plus(np.array([[1.0], [2.0], [3.0]])), Moments(1)], Problem(["a", "b"])
    >>> begin_again(Recipe(problem, Uniform()), problem, 8, log, np.array([0, 1]), {})
    ({'over': False}, array([1, 3]))
    """
    begun, owed = _planned_anew(recipe, budget, moments, under_way, memory)
    return begun | carried(recipe.strategy, before, memory), owed


def _planned_anew(
    recipe: Recipe, budget: int, moments: list[Moments], under_way: Integers, memory: Memory
) -> tuple[Memory, Integers]:
    counts = np.array([m.count for m in moments], dtype=np.int64) + under_way
    if isinstance(recipe.strategy, Paid):
        return _bought_again(recipe.strategy, Evidence(recipe.problem, moments), under_way, memory)
    enough = max(budget, len(counts))
    begun = recipe.strategy.begin(recipe.problem, enough)
    quota = recipe.strategy.quota(recipe.problem, enough, begun)
    plan = np.zeros_like(counts) if quota is None else quota
    return begun, rounds.level(plan, counts, max(budget - int(counts.sum()), 0))


def _bought_again(paid: Paid, evidence: Evidence, under_way: Integers, memory: Memory) -> tuple[Memory, Integers]:
    purse = _reserving(paid, evidence, under_way, memory)
    fresh = purse._replace(amount=memory["amount"], spent=0.0, counts=np.zeros_like(purse.counts))
    begun = paid.buying.begin_paid(evidence.problem, fresh)
    wanted = np.array(begun["quota"] or np.zeros_like(purse.counts), dtype=np.int64)
    owed = at_least_one(purse, np.maximum(wanted - purse.counts, 0))
    kept = {name: memory[name] for name in (*OWN, *KEPT) if name in memory}
    return begun | kept | ({} if begun["quota"] is None else {"quota": owed.tolist()}), owed


def _reserving(paid: Paid, evidence: Evidence, under_way: Integers, memory: Memory) -> Purse:
    """Where the money stands, with trials under way counted as made, for what they reserve."""
    purse = paid.purse(evidence, memory)
    return purse._replace(counts=purse.counts + under_way, spent=purse.spent + float(under_way @ purse.reserve))


def check_payable(recipe: Recipe, moments: list[Moments], under_way: Integers, memory: Memory) -> None:
    """Refuse an amount below what is spent, what trials under way reserve, and a first trial of arms without any."""
    paid, before = recipe.strategy, memory.get("before", 0.0)
    if not isinstance(paid, Paid):
        return
    purse, say = _reserving(paid, Evidence(recipe.problem, moments), under_way, memory), paid.spend.number
    first = float(purse.reserve[purse.counts == 0].sum())
    if purse.spent + first <= purse.amount * (1.0 + ROUNDING):
        return
    reserved = float(under_way @ purse.reserve) + memory.get("lost", 0.0)
    names = [name for name, n in zip(recipe.problem.trial_names, purse.counts, strict=True) if not n]
    parts = [f"{say(purse.spent - reserved - before)} are spent"]
    parts += [f"{say(reserved)} reserved for trials that are under way or never told"] if reserved else []
    some = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    parts += [f"{say(first)} needed for a first trial of {some}"] if first else []
    raise checks.InvalidInput(
        "budget",
        expected=f"at least {paid.spend.say(_up(purse.spent - before + first))} ({', '.join(parts)})",
        got=Spend(memory["amount"], paid.spend.unit),
        remedy="raise it",
    )


def _up(amount: float) -> float:
    """An amount that is shown with four digits, rounded up so that it is enough.

    >>> _up(1.23412)
    1.235
    """
    if amount <= 0:
        return 0.0
    unit = 10.0 ** (np.floor(np.log10(amount)) - 3)
    return float(np.ceil(amount / unit - 1e-9) * unit)
