"""What a limit costs, per 1% of it: a shadow price in words that mean the same in every unit of measurement."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from bestmix.problems.goals import Goal
from bestmix.problems.limits import Limit
from bestmix.problems.rows import is_bound

if TYPE_CHECKING:
    from bestmix.answers.recommendation import Recommendation

STEP = 0.01  # of a limit


def price_words(cost: str, bound: float, price: float, size: float = 1.0, reward: str = "the reward") -> str:
    """What 1% more of a limit would add to the reward.

    Parameters
    ----------
    cost, bound, price
        The limit and its shadow price.
    size
        How large the cost is, for a limit of zero.
    reward
        What it would be added to.

    Examples
    --------
    >>> price_words("dollars", 5.0, 0.2)
    '1% more of the limit on dollars (5 -> 5.05) would add 0.01 to the reward'
    >>> price_words("loss", 0.0, 0.2, size=3.0)
    'a limit on loss of 0.03 instead of 0 would add 0.006 to the reward'
    """
    step = STEP * (abs(bound) or size or 1.0)
    added = f"would add {price * step:.2g} to {reward}"
    if bound > 0:
        return f"1% more of the limit on {cost} ({bound:.4g} -> {bound + step:.4g}) {added}"
    return f"a limit on {cost} of {bound + step:.4g} instead of {bound:.4g} {added}"


def limit_words(limit: Limit, goal: Goal, price: float) -> str:
    """What a limit that is looser by 1% would change.

    >>> limit_words(Limit.parse("quality >= 0.9"), Goal.parse("minimise dollars"), 0.5)
    "'quality >= 0.9' looser by 1% (0.9 -> 0.891) would take 0.0045 off dollars"
    """
    step = STEP * (abs(limit.bound) or 1.0)
    looser = replace(limit, bound=limit.bound + limit.sign * step)
    change = f"add {price * step:.2g} to" if goal.maximise else f"take {price * step:.2g} off"
    numbers = f"{limit.bound:.4g} -> {looser.bound:.4g}"
    return f"'{limit}' looser by 1% ({numbers}) would {change} {goal.quantity}"


def limit_price(rec: "Recommendation", cost: str) -> str | None:
    """What 1% more of a limit would do; None where it costs nothing, or is an equality."""
    price, limit = rec.shadow_prices.get(cost, 0.0), rec.problem.limits[rec.problem.costs.index(cost)]
    if not 0 < price < math.inf or limit.equality:
        return None
    if is_bound(limit) and rec.problem.goal == Goal():
        return price_words(cost, limit.bound, price, _size(rec, cost))
    return limit_words(limit, rec.problem.goal, price)


def price_sentences(rec: "Recommendation") -> list[str]:
    """A sentence for each limit that costs something."""
    words = [limit_price(rec, cost) for cost in rec.shadow_prices]
    return [at_estimates(rec, f"{text}.") for text in words if text]


def at_estimates(rec: "Recommendation", words: str) -> str:
    """Words about the optimum at the estimates as a sentence, which says so where another mix is to be deployed."""
    return f"At the estimates, {words}" if is_other(rec) else f"{words[0].upper()}{words[1:]}"


def is_other(rec: "Recommendation") -> bool:
    """Whether the mix to deploy is another than the optimum at the estimates."""
    return bool(rec.best_guess) and rec.best_guess != rec.mixture


def _size(rec: "Recommendation", cost: str) -> float:
    return max((abs(e.costs[cost]) for e in rec.estimates.values() if e.costs[cost] == e.costs[cost]), default=1.0)
