"""Where the money of a run stands."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bestmix.problems.spend import Spend

FREE = 1e-6  # of the amount: what a trial that costs nothing counts as, so that free arms end too
LEAST = 1e-9  # of the amount: what any other counts as at least
ROUNDING = 1e-9  # of the amount: less than this beyond it is no overspending


def counted(price: float, amount: float) -> float:
    """What a trial counts as, of a budget of this amount.

    >>> counted(0.0, 1000.0), counted(0.00003, 1000.0)
    (0.001, 3e-05)
    """
    return max(price, LEAST * amount) if price > 0 else FREE * amount


@dataclass(frozen=True)
class Account:
    """What may be spent and what was.

    Attributes
    ----------
    spend
        The budget.
    spent
        What the trials cost together.
    prices
        Of a trial of each arm: as known, or the mean of what its trials cost.
    lost
        What is set aside for trials that were handed out, and failed or never told: they may have been paid for.

    Examples
    --------
    >>> account = Account(Spend(200.0, "dollars", most=0.5), 50.0, {"small": 0.01})
    >>> account.left, str(account)
    (150.0, '50 of 200 dollars spent, 150 left')
    """

    spend: Spend
    spent: float
    prices: Mapping[str, float]
    lost: float = 0.0

    @property
    def left(self) -> float:
        """What is not spent; below zero where a soft budget was exceeded."""
        return self.spend.amount - self.spent

    @property
    def overspent(self) -> bool:
        """Whether more was spent than was to be."""
        return self.left < -ROUNDING * self.spend.amount

    def __str__(self) -> str:
        rest = f"{-self.left:.3g} over" if self.overspent else f"{self.spend.number(max(self.left, 0.0))} left"
        lost = self.spend.number(self.lost)
        aside = f", {lost} of it set aside for trials that failed or never told" if self.lost else ""
        return f"{self.spend.number(self.spent)} of {self.spend} spent, {rest}{aside}"

    def sentence(self) -> str:
        """What was spent, and how firm the budget is.

        >>> Account(Spend(200.0, "dollars"), 203.0, {}).sentence()
        '203 of 200 dollars spent, 3 over: without the most that a trial can cost the budget is soft, and its ...'
        """
        firm = ": a trial cost more than the most that was given" if self.overspent else ""
        soft = ": without the most that a trial can cost the budget is soft, and its last or first round may exceed it"
        return f"{self}{firm if self.spend.hard else soft}.{self._cheap()}"

    def _cheap(self) -> str:
        """Why money is left over where trials cost next to nothing."""
        amount = self.spend.amount
        free = [name for name, price in self.prices.items() if counted(price, amount) > price]
        if not free or self.left <= ROUNDING * amount:
            return ""
        least, names = self.spend.say(FREE * amount), ", ".join(free[:3]) + (", ..." if len(free) > 3 else "")
        return f" A trial that costs nothing counts as a millionth of the budget, {least}: one of {names}."

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        figures = {"spent": self.spent, "left": self.left, "hard": self.spend.hard, "mean_prices": dict(self.prices)}
        return {"budget": self.spend.to_dict(), **figures, "lost": self.lost, "sentence": self.sentence()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Account":
        """Inverse of ``to_dict``."""
        return cls(Spend.from_dict(data["budget"]), data["spent"], data["mean_prices"], data["lost"])
