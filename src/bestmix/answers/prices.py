"""What a limit costs, per 1% of it: a shadow price in words that mean the same in every unit of measurement."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bestmix.answers.recommendation import Recommendation

STEP = 0.01  # of a limit


def price_words(cost: str, bound: float, price: float, size: float = 1.0) -> str:
    """What 1% more of a limit would add to the reward.

    Parameters
    ----------
    cost, bound, price
        The limit and its shadow price.
    size
        How large the cost is, for a limit of zero.

    Examples
    --------
    >>> price_words("dollars", 5.0, 0.2)
    '1% more of the limit on dollars (5 -> 5.05) would add 0.01 to the reward'
    >>> price_words("loss", 0.0, 0.2, size=3.0)
    'a limit on loss of 0.03 instead of 0 would add 0.006 to the reward'
    """
    step = STEP * (abs(bound) or size or 1.0)
    added = f"would add {price * step:.2g} to the reward"
    if bound > 0:
        return f"1% more of the limit on {cost} ({bound:.4g} -> {bound + step:.4g}) {added}"
    return f"a limit on {cost} of {bound + step:.4g} instead of {bound:.4g} {added}"


def price_sentences(rec: "Recommendation") -> list[str]:
    """A sentence for each limit that costs something."""
    words = [
        price_words(cost, rec.problem.bounds[cost], price, _size(rec, cost))
        for cost, price in _positive(rec.shadow_prices).items()
    ]
    return [f"{text[0].upper()}{text[1:]}." for text in words]


def _positive(prices: Mapping[str, float]) -> dict[str, float]:
    return {cost: price for cost, price in prices.items() if price > 0}


def _size(rec: "Recommendation", cost: str) -> float:
    return max((abs(e.costs[cost]) for e in rec.estimates.values() if e.costs[cost] == e.costs[cost]), default=1.0)
