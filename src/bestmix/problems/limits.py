"""Limits on a mix, each with one text form that is used everywhere.

A limit asks something of a mix as a whole, or of one segment: ``quality >= 0.9``, ``share(large) <= 40%``,
``p(seconds > 2) <= 5%``, ``complaints / visits <= 1%``, ``seconds <= 1.1 * seconds(small)``, and any of them
with ``in free`` behind it.

All limits that read trials have one form, "at most": the mean of ``derive(rows)`` over the mix is at most
``right_side``, plus ``factor`` times its mean for the arm of reference. "At least" is a change of sign, a
ratio X / Y of at most b is the mean of X - b Y of at most 0, a tail is the mean of 0 or 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats
from bestmix.problems.notation import Reader, written_name, written_number
from bestmix.problems.quantities import Column, Mean, Quantity, Ratio, Share, Tail, read_quantity

RELATIONS = ("<=", ">=", "=")
SMALL_RATIO = 0.1  # a ratio below it is written in percent


@dataclass(frozen=True)
class Limit:
    """What a mix must keep.

    Attributes
    ----------
    quantity
        ``Mean``, ``Share``, ``Tail`` or ``Ratio``.
    relation
        ``"<="``, ``">="`` or ``"="``.
    bound
        The number on the right; with ``arm`` it multiplies that arm's mean.
    arm
        The arm of reference of a relative limit.
    segment
        The segment that the limit is for; None for all of them together.

    Examples
    --------
    >>> limit = Limit.parse("seconds <= 1.1 * seconds(small) in free")
    >>> limit.bound, limit.arm, limit.segment
    (1.1, 'small', 'free')
    >>> str(limit)
    'seconds <= 1.1 * seconds(small) in free'
    """

    quantity: Quantity
    relation: str
    bound: float
    arm: str | None = None
    segment: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.quantity, Mean | Tail | Ratio | Share):
            expected, got = "a Mean, Share, Tail or Ratio", checks.shown(self.quantity)
            raise checks.InvalidInput("limit", expected=expected, got=got, remedy="use Limit.parse")
        checks.choice("relation", self.relation, RELATIONS)
        object.__setattr__(self, "bound", checks.number("bound", self.bound) + 0.0)
        for name, what in ((self.arm, "arm"), (self.segment, "segment")):
            if name is not None:
                checks.names("limit", (name,), what)
        if self.arm is not None and not isinstance(self.quantity, Mean):
            expected = f"the mean of a metric relative to {checks.shown(self.arm)}"
            raise checks.InvalidInput("limit", expected=expected, got=self.quantity, remedy="give a number instead")
        if within := _beyond(self.quantity, self.bound):
            raise checks.InvalidInput("limit", expected=within, got=self.bound, remedy="change the bound")

    @classmethod
    def parse(cls, text: str) -> "Limit":
        """The limit that a text describes; the inverse of ``str``.

        >>> Limit.parse("share(large) ≤ 0.4") == Limit.parse("share(large) <= 40%")
        True
        >>> Limit.parse("dollars < 5")
        Traceback (most recent call last):
        bestmix.checks.InvalidInput: limit: expected <=, >= or =, got '<'
          dollars < 5
                  ^
        """
        reader = Reader("limit", text)
        quantity = read_quantity(reader)
        relation = reader.operator(*RELATIONS)
        place = reader.place
        bound, arm = _read_right_side(reader, quantity)
        if expected := _beyond(quantity, bound):
            raise reader.error(expected, place)
        segment = reader.name("a segment") if reader.word("in") else None
        reader.finish("the end, or 'in' and a segment" if segment is None else "the end")
        return cls(quantity, relation, bound, arm, segment)

    def __str__(self) -> str:
        text = f"{self.quantity} {self.relation} {self._right_text()}"
        return text if self.segment is None else f"{text} in {written_name(self.segment)}"

    def _right_text(self) -> str:
        if self.arm is not None:
            times = "" if self.bound == 1.0 else f"{written_number(self.bound)} * "
            return f"{times}{self.quantity}({written_name(self.arm)})"
        small = isinstance(self.quantity, Ratio) and 0.0 < abs(self.bound) < SMALL_RATIO
        return written_number(self.bound, percent=small or isinstance(self.quantity, Share | Tail))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that it reads; none for a limit on a share."""
        return self.quantity.metrics

    @property
    def metric(self) -> str:
        """The metric that it reads, for a limit that reads one."""
        return self.metrics[0]

    @property
    def about(self) -> str:
        """What it is about, as sentences and axes call it.

        >>> Limit.parse("dollars <= 2 in free").about, Limit.parse("quality >= 0.9").about
        ('dollars in free', 'quality')
        """
        return str(self.quantity) if self.segment is None else f"{self.quantity} in {self.segment}"

    @property
    def on_share(self) -> bool:
        """Whether it concerns the share of an arm and no trials."""
        return isinstance(self.quantity, Share)

    @property
    def equality(self) -> bool:
        """Whether the relation is ``=``."""
        return self.relation == "="

    @property
    def sign(self) -> float:
        """-1 for "at least", else 1: what turns it into "at most"."""
        return -1.0 if self.relation == ">=" else 1.0

    @property
    def right_side(self) -> float:
        """What the mean of ``derive`` must not exceed, besides ``factor`` times that of the arm of reference.

        >>> Limit.parse("quality >= 0.9").right_side, Limit.parse("complaints / visits <= 1%").right_side
        (-0.9, 0.0)
        """
        return 0.0 if isinstance(self.quantity, Ratio) or self.arm is not None else self.sign * self.bound

    @property
    def factor(self) -> float:
        """What multiplies the mean of the arm of reference; 0 for a limit that is not relative."""
        return 0.0 if self.arm is None else self.bound

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of trials that it is a linear function of: metrics, or a tail's 0 or 1.

        >>> [str(column) for column in Limit.parse("complaints / visits <= 1%").columns]
        ['complaints', 'visits']
        """
        if isinstance(self.quantity, Ratio):
            return (Mean(self.quantity.numerator), Mean(self.quantity.denominator))
        return () if isinstance(self.quantity, Share) else (self.quantity,)

    def coefficients(self, columns: Sequence[Column]) -> Floats:
        """The coefficients of these columns in ``derive``, which is a linear function of them.

        >>> limit = Limit.parse("complaints / visits <= 1%")
        >>> limit.coefficients([Mean("visits"), Mean("dollars"), Mean("complaints")])
        array([-0.01,  0.  ,  1.  ])
        """
        wanted = dict(zip(self.columns, self._weights(), strict=True))
        if missing := [column for column in wanted if column not in columns]:
            raise self._missing(str(missing[0]), [str(column) for column in columns])
        return np.array([wanted.get(column, 0.0) for column in columns])

    def derive(self, rows: Mapping[str, Floats]) -> Floats:
        """The value in each trial whose mean the limit bounds from above, given each metric of the trials.

        >>> Limit.parse("p(seconds > 2) >= 5%").derive({"seconds": np.array([1.0, 3.0])})
        array([-0., -1.])
        """
        if not self.columns:
            raise checks.InvalidInput("limit", f"'{self}' concerns shares, not trials", "leave it out")
        for metric in self.metrics:
            if metric not in rows:
                raise self._missing(metric, list(rows))
        parts = [weight * column.of(rows) for weight, column in zip(self._weights(), self.columns, strict=True)]
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    def units(self, measured: Mapping[Column, float], reference: float = 0.0) -> tuple[float, float]:
        """Factor and summand that turn the mean of ``derive`` into the limited quantity as users know it.

        Parameters
        ----------
        measured
            Means of the columns in the mix, of which a ratio needs its denominator.
        reference
            The mean of the limited column for the arm of reference of a relative limit.

        Examples
        --------
        >>> Limit.parse("quality >= 0.9").units({})
        (-1.0, 0.0)
        >>> Limit.parse("complaints / visits <= 1%").units({Mean("visits"): 2.0})
        (0.5, 0.01)
        """
        if isinstance(self.quantity, Ratio):
            below = measured[Mean(self.quantity.denominator)]
            return (self.sign / below if below > 0.0 else np.nan), self.bound
        return self.sign, self.factor * reference

    def check(self, arms: Sequence[str], segments: Sequence[str]) -> None:
        """Fail when the limit names an arm or a segment that the problem does not have.

        >>> Limit.parse("share(huge) <= 40%").check(["small", "large"], [])
        Traceback (most recent call last):
        bestmix.checks.InvalidInput: limit: 'share(huge) <= 40%' names the arm 'huge', expected one of ...
        """
        arm = self.quantity.arm if isinstance(self.quantity, Share) else self.arm
        for name, known, what in ((arm, arms, "arm"), (self.segment, segments, "segment")):
            if name is not None and name not in known:
                these = "one of " + ", ".join(map(repr, known[:10])) if known else f"no {what}: the problem has none"
                fault = f"'{self}' names the {what} {checks.shown(name)}, expected {these}"
                raise checks.InvalidInput("limit", fault, "check the spelling")

    def _weights(self) -> tuple[float, ...]:
        if isinstance(self.quantity, Ratio):
            return (self.sign, -self.sign * self.bound)
        return () if isinstance(self.quantity, Share) else (self.sign,)

    def _missing(self, metric: str, given: Sequence[str]) -> checks.InvalidInput:
        divides = isinstance(self.quantity, Ratio) and metric in (self.quantity.denominator, str(self.columns[1]))
        what = "divides by" if divides else "reads"
        came = ", ".join(map(repr, given[:10])) or "no metrics"
        fault = f"'{self}' {what} the metric {checks.shown(metric)}, got {came}"
        return checks.InvalidInput("limit", fault, "tell it with every trial")


def _read_right_side(reader: Reader, quantity: Quantity) -> tuple[float, str | None]:
    """The bound and, for a relative limit, the arm: a number, metric(arm), or number * metric(arm)."""
    bound = reader.optional_number()
    if bound is not None and reader.optional_operator("*") is None:
        return bound, None
    place = reader.place
    if not isinstance(quantity, Mean):
        raise reader.error("a number", place)
    if bound is None and reader.peek_word() is None and reader.text[place : place + 1] not in ("'", '"'):
        raise reader.error("a number, or the mean of an arm as in 1.1 * seconds(small)")
    if reader.name("the limited metric") != quantity.metric:
        expected = f"{quantity}(arm), the limited metric of an arm"
        raise reader.error(expected if bound is not None else f"a number or {expected}", place)
    reader.operator("(")
    arm = reader.name("an arm")
    reader.operator(")")
    return 1.0 if bound is None else bound, arm


def _beyond(quantity: Quantity, bound: float) -> str | None:
    """What was expected, where a share or a probability is outside of 0 to 1."""
    if not isinstance(quantity, Share | Tail) or 0.0 <= bound <= 1.0:
        return None
    return "a number from 0% to 100%, such as 40% or 0.4"
