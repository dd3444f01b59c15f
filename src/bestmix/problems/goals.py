"""The goal that a mix is best for, with one text form that is used everywhere."""

from collections.abc import Mapping
from dataclasses import dataclass

from bestmix import checks
from bestmix.arrays import Floats
from bestmix.problems.notation import Reader
from bestmix.problems.quantities import Column, Mean, Ratio, Share, Tail, read_quantity

REWARD = Mean("reward")


@dataclass(frozen=True)
class Goal:
    """The column whose mean is to be as large as possible, or as small.

    >>> goal = Goal.parse("minimize dollars")
    >>> str(goal), goal.sign, str(Goal())
    ('minimise dollars', -1.0, 'maximise reward')
    """

    quantity: Column = REWARD
    maximise: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.quantity, Mean | Tail):
            got = checks.shown(self.quantity)
            raise checks.InvalidInput("goal", expected="a Mean or a Tail", got=got, remedy="use Goal.parse")

    @classmethod
    def parse(cls, text: str) -> "Goal":
        """The goal that a text describes; the inverse of ``str``.

        >>> Goal.parse("cheapest")
        Traceback (most recent call last):
        bestmix.checks.InvalidInput: goal: expected 'maximise' or 'minimise' and a metric, got 'cheapest'
          cheapest
          ^
        """
        reader = Reader("goal", text)
        verb = reader.word("maximise", "minimise", "maximize", "minimize")
        if verb is None:
            raise reader.error("'maximise' or 'minimise' and a metric")
        place = reader.place
        quantity = read_quantity(reader)
        if isinstance(quantity, Ratio | Share):
            raise reader.error("a metric, or p(metric > number)", place)
        reader.finish("the end")
        return cls(quantity, verb.startswith("max"))

    def __str__(self) -> str:
        return f"{'maximise' if self.maximise else 'minimise'} {self.quantity}"

    @property
    def sign(self) -> float:
        """1 to maximise, -1 to minimise: what turns it into a maximum."""
        return 1.0 if self.maximise else -1.0

    def derive(self, rows: Mapping[str, Floats]) -> Floats:
        """The value in each trial whose mean is to be as large as possible, given each metric of the trials.

        >>> import numpy as np
        >>> Goal.parse("minimise dollars").derive({"dollars": np.array([2.0, 3.0])})
        array([-2., -3.])
        """
        if self.quantity.metric not in rows:
            came = ", ".join(map(repr, list(rows)[:10])) or "no metrics"
            fault = f"'{self}' reads the metric {checks.shown(self.quantity.metric)}, got {came}"
            raise checks.InvalidInput("goal", fault, "tell it with every trial")
        return self.sign * self.quantity.of(rows)
