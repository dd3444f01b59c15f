"""Where the money of a run stands at a decision, and what can still be bought with it.

A round is planned so that what was spent and what its trials may cost stay within the amount. Where prices are learnt,
a round at most doubles an arm's trials: a mean of three trials near zero says little of the price.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bestmix import checks
from bestmix.answers.account import counted
from bestmix.answers.evidence import Evidence
from bestmix.arrays import Flags, Floats, Integers
from bestmix.problems.problem import Problem
from bestmix.problems.spend import Spend

LEAST = 3  # trials of each arm before its price is trusted
ROUNDING = 1e-12  # of the amount: sums of prices are exact but for this
HALVINGS = 60  # of an interval for a level: beyond it floats do not change


class Purse(NamedTuple):
    """Money, and the prices of what can be tried.

    Attributes
    ----------
    amount, spent
        What may be spent in all, and what was.
    counts, price, reserve
        Trials of each arm so far, what one costs, and what one that is under way may cost at most: each (K0,).
    learnt
        Whether prices are estimates.
    under_way
        Those of the trials (K0,) that a decision does not wait for: they take what they reserve; None where it does.
    """

    amount: float
    spent: float
    counts: Integers
    price: Floats
    reserve: Floats
    learnt: bool
    under_way: Integers | None = None

    @property
    def soft(self) -> bool:
        """Whether a trial may cost more than is reserved for it."""
        return self.learnt and bool((self.reserve <= self.price).all())

    @property
    def left(self) -> float:
        """What is neither spent nor reserved."""
        reserved = 0.0 if self.under_way is None else float(self.under_way @ self.reserve)
        return max(self.amount - self.spent - reserved, 0.0) + ROUNDING * self.amount

    @property
    def committed(self) -> float:
        """What is spent, and what trials under way are taken to cost."""
        return self.spent if self.under_way is None else self.spent + float(self.under_way @ self.price)

    def affordable(self, planned: Integers | None = None) -> Flags:
        """Arms (K0,) of which one more trial fits beside those that are planned."""
        left = self.left - (0.0 if planned is None else float(planned @ self.reserve))
        return np.asarray((self.reserve <= left) & (self.room(planned) > 0))

    def room(self, planned: Integers | None = None) -> Integers:
        """How many further trials of each arm (K0,) a round may have: those under way are part of what it doubles."""
        out = 0 if self.under_way is None else self.under_way
        most = np.full_like(self.counts, np.iinfo(np.int64).max)
        most = np.maximum(self.counts - out, LEAST) - out if self.learnt else most
        return np.asarray(most - (0 if planned is None else planned))

    def fit(self, wanted: Integers, planned: Integers | None = None) -> Integers:
        """As much of what is wanted as fits, every arm in the same proportion."""
        wanted = np.minimum(wanted, np.maximum(self.room(planned), 0))
        left = self.left - (0.0 if planned is None else float(planned @ self.reserve))
        if float(wanted @ self.reserve) <= left:
            return np.asarray(wanted)
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            fits = float(np.floor(wanted * middle) @ self.reserve) <= left
            low, high = (middle, high) if fits else (low, middle)
        return np.asarray(np.floor(wanted * low), dtype=np.int64)


def purse_of(evidence: Evidence, spend: Spend, amount: float) -> Purse:
    """Where the money stands after these trials."""
    problem, counts = evidence.problem, evidence.counts
    if spend.prices is not None:
        price = _counted(spend.of_cells(problem, spend.prices, "prices"), amount)
        return Purse(amount, float(counts @ price), counts, price, price, learnt=False)
    column = problem.measures.index(spend.unit)
    told = np.array([moments.mean()[column] if moments.count else 0.0 for moments in evidence.moments])
    price = _counted(told, amount)
    others = float(told[counts > 0].mean()) if counts.any() else 0.0  # what an arm without trials is taken to cost
    mean = np.where(counts > 0, price, counted(others, amount))
    reserve = mean if spend.most is None else _counted(spend.of_cells(problem, spend.most, "most"), amount)
    return Purse(amount, float(counts @ price), counts, mean, reserve, learnt=True)


def _counted(prices: Floats, amount: float) -> Floats:
    """What trials of each arm count as."""
    return np.array([counted(price, amount) for price in prices.tolist()])


def spent_on(spend: Spend, evidence: Evidence) -> float:
    """What the trials cost together, as they told it or by their prices."""
    if spend.prices is not None:
        return float(evidence.counts @ spend.of_cells(evidence.problem, spend.prices, "prices"))
    column = evidence.problem.measures.index(spend.unit)
    return float(sum(m.mean()[column] * m.count for m in evidence.moments if m.count))


def check_first(purse: Purse, spend: Spend, problem: Problem) -> None:
    """Refuse an amount that leaves an arm without a trial.

    >>> dear = Spend(1.0, "dollars", prices={"a": 0.7, "b": 0.7})
    >>> price = np.array([0.7, 0.7])
    >>> check_first(Purse(1.0, 0.0, np.zeros(2), price, price, False), dear, Problem(["a", "b"]))
    Traceback (most recent call last):
    bestmix.checks.InvalidInput: budget: expected at least 1.4 dollars for a trial of each of 2 arms, got 1 dollars; ...
    """
    least = float(purse.reserve.sum())
    if spend.hard and least > purse.amount * (1.0 + ROUNDING):
        raise checks.InvalidInput(
            "budget",
            expected=f"at least {spend.say(least)} for a trial of each of {len(problem.cells)} arms",
            got=spend,
            remedy="raise it",
        )


def first_round(purse: Purse, share: float) -> Integers:
    """Trials of each arm that a first round of that share of the money lacks: n_a ~ 1 / sqrt(price), at least three."""
    if purse.learnt and not purse.counts.any():
        return at_least_one(purse, np.full_like(purse.counts, LEAST))
    level = _level(purse.price, np.full(len(purse.price), float(LEAST)), share * purse.amount)
    target = np.maximum(np.floor(level / np.sqrt(purse.price)), LEAST).astype(np.int64)
    return at_least_one(purse, np.maximum(target - purse.counts, 0))


def at_least_one(purse: Purse, wanted: Integers) -> Integers:
    """As much as fits, but a trial of every arm that has none, as far as these fit: the cheapest first.

    >>> price = np.array([1.0, 10.0, 30.0])
    >>> at_least_one(Purse(136.0, 100.0, np.array([9, 0, 0]), price, price, False), np.array([100, 3, 3]))
    array([26,  1,  0])
    """
    first = np.where((purse.counts == 0) & (wanted > 0), 1, 0)
    planned = np.maximum(purse.fit(wanted), first)
    if float(planned @ purse.reserve) <= purse.left:
        return planned
    cheapest = np.argsort(np.where(first > 0, purse.reserve, np.inf), kind="stable")
    first[cheapest] *= np.cumsum((first * purse.reserve)[cheapest]) <= purse.left
    return np.asarray(first + purse.fit(np.where(purse.counts == 0, 0, wanted), first))


def root_round(purse: Purse, members: Sequence[int]) -> Integers:
    """Trials of some arms that use up the money: n_a ~ 1 / sqrt(price), as evenly as whole trials allow."""
    inside = np.isin(np.arange(len(purse.counts)), members)
    if purse.soft and 0.5 * purse.left > float(purse.price[inside].sum()):  # prices are known better after one half
        purse = purse._replace(amount=purse.amount - 0.5 * purse.left)
    price, before = purse.price[inside], purse.counts[inside].astype(np.float64)
    level = _level(price, before, float(before @ price) + purse.left)
    wanted = np.zeros_like(purse.counts)
    wanted[inside] = np.maximum(np.floor(level / np.sqrt(price)) - before, 0.0)
    planned = at_least_one(purse, wanted)
    if planned.any() and (wanted > purse.room()).any():  # the arms that may not have more yet get theirs later
        return planned
    while (open_ := purse.affordable(planned) & inside).any():
        behind = np.where(open_, (purse.counts + planned + 1) * np.sqrt(purse.price), np.inf)
        planned[int(np.argmin(behind))] += 1
    return planned


def rejects_round(purse: Purse, members: Sequence[int], costs: int, divisor: int) -> Integers:
    """Trials that the survivors lack in a round of successive rejects: up to c / (divisor sqrt(price)) each.

    ``c`` is what is left and was paid for the survivors, over sum_j b_j / max(2, j - costs) with b the roots of their
    prices from the largest on: enough for the rounds to come, whoever is rejected in them.
    """
    inside = np.asarray(members, dtype=np.int64)
    root = np.sqrt(purse.price[inside])
    ahead = np.maximum(2.0, np.arange(1, len(inside) + 1) - costs)
    money = purse.left + float(purse.counts[inside] @ purse.price[inside])
    level = money / float((np.sort(root)[::-1] / ahead).sum())
    wanted = np.zeros_like(purse.counts)
    wanted[inside] = np.maximum(np.floor(level / (divisor * root)) - purse.counts[inside], 0.0)
    return np.asarray(np.maximum(wanted, purse.counts == 0))


def _level(price: Floats, least: Floats, money: float) -> float:
    """The level c at which trials max(least, c / sqrt(price)) cost so much together; 0 where the least do already.

    >>> _level(np.array([1.0, 4.0]), np.array([3.0, 3.0]), 30.0)
    10.0
    """
    root = np.sqrt(price)
    low, high = 0.0, money / float(root.sum())
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if float(np.maximum(least, middle / root) @ price) <= money else (low, middle)
    return high if float(np.maximum(least, high / root) @ price) <= money else low
