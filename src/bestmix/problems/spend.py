"""A budget in money, or in hours of trials, instead of a number of trials."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats

if TYPE_CHECKING:
    from bestmix.problems.problem import Problem

SECONDS = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0, "days": 86400.0}  # units of time, as we measure them
NAMES = {  # as they are written as well
    "seconds": ("s", "sec", "secs", "second"),
    "minutes": ("min", "mins", "minute"),
    "hours": ("h", "hr", "hrs", "hour"),
    "days": ("d", "day"),
}
THOUSANDS = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d*)?")  # a comma elsewhere may be meant as a point
FEWEST_LETTERS = 4  # of a unit that is taken for another one's misspelling
ENTRIES = ("amount", "unit", "prices", "most")


@dataclass(frozen=True)
class Spend:
    """What trials may cost together.

    Parameters
    ----------
    amount
        How much.
    unit
        Of what: a metric that every trial tells, such as ``"dollars"``, bounded or not. Seconds, minutes, hours and
        days (min, h and their like too) are the time that trials take; those who make the trials measure it, unless it
        is a metric of the problem.
    prices
        What a trial of each arm costs, by name, where that is known. Trials then need not tell it.
    most
        The most that a trial can cost: one number, or one for each arm. With it, or with prices, the budget is hard:
        it is never exceeded, and less than one ``most`` is left over. Without it is soft: prices are learnt as it goes,
        and the last trials may cost more than is left.

    Examples
    --------
    >>> Spend(200.0, "dollars").hard, Spend(200.0, "dollars", most=0.5).hard
    (False, True)
    >>> str(Spend.parse("3 hours"))
    '3 hours'
    """

    amount: float
    unit: str
    prices: Mapping[str, float] | None = None
    most: float | Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        amount = checks.number("budget", self.amount, "give how much may be spent")
        if not amount > 0:
            raise checks.InvalidInput("budget", expected="an amount above 0", got=self.amount, remedy="raise it")
        (unit,) = checks.names("unit", [self.unit], "unit")
        object.__setattr__(self, "amount", amount)
        object.__setattr__(self, "unit", " ".join(unit.split()))
        object.__setattr__(self, "prices", None if self.prices is None else _amounts("prices", self.prices))
        if self.prices is not None and self.most is not None:
            raise checks.InvalidInput("most", "known prices say what a trial costs at most", "leave one of them out")
        if isinstance(self.most, Mapping):
            object.__setattr__(self, "most", _amounts("most", self.most))
        elif self.most is not None:
            object.__setattr__(self, "most", _amounts("most", {"each": self.most})["each"])
            if self.most == 0:
                raise checks.InvalidInput("most", expected="more than 0", got=0, remedy="it is what a trial can cost")

    def __hash__(self) -> int:
        return hash((self.amount, self.unit))

    @classmethod
    def parse(cls, text: str, prices: Mapping[str, float] | None = None, most: Any = None) -> "Spend":
        """A budget as it is written: "200 dollars".

        >>> Spend.parse("0.5 dollars", prices={"small": 0.001, "large": 0.02}).amount
        0.5
        """
        amount, _, unit = text.strip().partition(" ")
        try:
            return cls(float(amount.replace(",", "") if THOUSANDS.fullmatch(amount) else amount), unit, prices, most)
        except ValueError as error:
            if isinstance(error, checks.InvalidInput) and unit.strip():
                raise
            raise checks.InvalidInput(
                "budget",
                expected="a number of trials, or an amount with its unit",
                got=checks.shown(text),
                remedy="write '200 dollars' or '3 hours'",
            ) from None

    def __str__(self) -> str:
        return self.say(self.amount)

    def say(self, amount: float) -> str:
        """An amount with the unit.

        >>> Spend(200.0, "dollars").say(1.23456)
        '1.235 dollars'
        """
        return f"{self.number(amount)} {self.unit}"

    @staticmethod
    def number(amount: float) -> str:
        """An amount without the unit.

        >>> Spend.number(0.4), Spend.number(123456.7)
        ('0.4', '123,457')
        """
        return f"{amount:,.4g}" if abs(amount) < 1e4 else f"{amount:,.0f}"

    @property
    def hard(self) -> bool:
        """Whether it is never exceeded: what a trial costs at most is known."""
        return self.prices is not None or self.most is not None

    def timed(self, problem: "Problem") -> bool:
        """Whether it is the time that trials take, measured by who makes them.

        >>> from bestmix import Problem
        >>> Spend(3.0, "hours").timed(Problem(["a", "b"])), Spend(3.0, "hours").timed(Problem(["a"], {"hours": 1.0}))
        (True, False)
        """
        return self.prices is None and self.unit in SECONDS and self.unit not in problem.rows.asked

    def named(self, problem: "Problem") -> "Spend":
        """The same with the name that a unit of time has here, unless the problem has a metric of the given one.

        >>> from bestmix import Problem
        >>> str(Spend(90.0, "min").named(Problem(["a"]))), str(Spend(90.0, "min").named(Problem(["a"], {"min": 1.0})))
        ('90 minutes', '90 min')
        """
        if self.prices is not None or self.unit in problem.metrics:
            return self
        unit = next((unit for unit, others in NAMES.items() if self.unit.lower() in (unit, *others)), self.unit)
        return self if unit == self.unit else Spend(self.amount, unit, self.prices, self.most)

    def missing(self, problem: "Problem") -> tuple[str, ...]:
        """The metric that a trial has to tell on top of the problem's; none where prices are known.

        >>> from bestmix import Problem
        >>> spend = Spend(9.0, "dollars")
        >>> spend.missing(Problem(["a", "b"])), spend.missing(Problem(["a"], {"dollars": 1.0}))
        (('dollars',), ())
        >>> Spend(9.0, "dolars").missing(Problem(["a"], {"dollars": 1.0}))
        Traceback (most recent call last):
        bestmix.checks.InvalidInput: budget: no trial tells 'dolars', but they tell 'dollars'; check the spelling
        """
        if self.prices is not None or self.unit in problem.measures:
            return ()
        meant = next((name for name in problem.metrics if _misspelt(self.unit, name)), None)
        if meant is not None and self.unit not in problem.metrics:
            fault = f"no trial tells {self.unit!r}, but they tell {meant!r}"
            raise checks.InvalidInput("budget", fault, "check the spelling")
        return (self.unit,)

    def of_cells(self, problem: "Problem", amounts: float | Mapping[str, float], name: str) -> Floats:
        """Prices, or the most that trials cost, of everything that can be tried (K0,)."""
        if not isinstance(amounts, Mapping):
            return np.full(len(problem.cells), amounts)
        checks.same_names(name, amounts, problem.arms, "arm")
        return np.array([amounts[cell.arm] for cell in problem.cells], dtype=np.float64)

    def check(self, problem: "Problem") -> None:
        """Refuse prices of arms that there are not, or of some only."""
        for name, amounts in (("prices", self.prices), ("most", self.most)):
            if amounts is not None:
                self.of_cells(problem, amounts, name)

    def raised(self, amount: float) -> "Spend":
        """The same with another amount.

        >>> Spend(200.0, "dollars").raised(300.0)
        Spend(amount=300.0, unit='dollars', prices=None, most=None)
        """
        return Spend(amount, self.unit, self.prices, self.most)

    def among(self, arms: Collection[str]) -> "Spend":
        """The same with the prices of these arms alone, and the most that their trials can cost.

        >>> Spend(9.0, "dollars", prices={"a": 0.5, "b": 2.0}).among(["b"]).prices
        {'b': 2.0}
        """
        prices, most = self.prices, self.most
        if prices is not None:
            prices = {arm: prices[arm] for arm in arms if arm in prices}
        if isinstance(most, Mapping):
            most = {arm: most[arm] for arm in arms if arm in most}
        return Spend(self.amount, self.unit, prices, most)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain = {"prices": self.prices, "most": self.most}
        used = {name: dict(v) if isinstance(v, Mapping) else v for name, v in plain.items() if v is not None}
        return {"amount": self.amount, "unit": self.unit} | used

    @classmethod
    def from_dict(cls, data: Any) -> "Spend":
        """Inverse of ``to_dict``.

        >>> Spend.from_dict({"amount": 200.0, "unit": "dollars"})
        Spend(amount=200.0, unit='dollars', prices=None, most=None)
        """
        entries = checks.mapping("budget", data, "with amount and unit")
        if not {"amount", "unit"} <= set(entries) <= set(ENTRIES):
            raise checks.InvalidInput(
                "budget",
                expected=f"the entries {', '.join(ENTRIES[:2])}, and perhaps {' or '.join(ENTRIES[2:])}",
                got=checks.shown(sorted(entries)),
                remedy="write {'amount': 200, 'unit': 'dollars'}",
            )
        return cls(**entries)


def as_budget(given: Any) -> Any:
    """A budget as data have it: a number of trials as it is, an amount as text or as an object.

    >>> as_budget(2000), as_budget("2000"), str(as_budget("3 hours")), str(as_budget({"amount": 9, "unit": "dollars"}))
    (2000, 2000, '3 hours', '9 dollars')
    """
    if isinstance(given, str):
        whole = given.strip().replace("_", "")
        return int(whole) if whole.isdecimal() else Spend.parse(given)
    return Spend.from_dict(given) if isinstance(given, Mapping) else given


def number_of_trials(budget: Any, remedy: str, most: int = 2**62, name: str = "budget") -> int:
    """A budget that is a number of trials; to whom gave a text the error tells how money is given.

    >>> number_of_trials("200 dollars", "give the number of trials")
    Traceback (most recent call last):
    bestmix.checks.InvalidInput: budget: ...; give the number of trials, or for money or time bm.Spend(200, 'dollars')
    """
    if isinstance(budget, str):
        try:
            spend = Spend.parse(budget)
        except checks.InvalidInput:
            spend = Spend(200.0, "dollars")
        remedy = f"{remedy}, or for money or time bm.Spend({spend.amount:g}, {spend.unit!r})"
    return checks.whole(name, budget, 0, remedy, most)


def _misspelt(given: str, name: str) -> bool:
    """Whether the two differ by capitals alone, or by one letter that is missing or too much; not by a number.

    >>> _misspelt("dolars", "dollars"), _misspelt("Dollars", "dollars"), _misspelt("cost1", "cost2")
    (True, True, False)
    """
    short, long = sorted((given.lower(), name.lower()), key=len)
    without = (long[:place] + long[place + 1 :] for place, letter in enumerate(long) if letter.isalpha())
    return short == long or (len(short) >= FEWEST_LETTERS and short in without)


def _amounts(name: str, given: Mapping[str, Any]) -> dict[str, float]:
    """Amounts by name, none of them below zero."""
    given = checks.mapping(name, given, "of arm names to amounts")
    amounts = {key: checks.number(f"{name}[{key!r}]", value) for key, value in given.items()}
    for key, value in amounts.items():
        if value < 0:
            raise checks.InvalidInput(f"{name}[{key!r}]", expected="an amount of at least 0", got=value)
    return amounts
