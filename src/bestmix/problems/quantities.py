"""What a limit is about: the mean of a metric, the share of an arm, a tail, or a ratio of two means.

A metric is what a trial returns under a name. ``Mean``, ``Tail`` and ``Visit`` are columns: each trial has one value
of them, so their means have a covariance. A ratio is a linear function of two columns, and the share of an
arm is no matter of trials at all. No limit is on visits: with states they make up the flow between these.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats
from bestmix.problems.notation import Reader, written_name, written_number

COMPARISONS: dict[str, Callable[..., np.ndarray]] = {
    ">": np.greater,
    ">=": np.greater_equal,
    "<": np.less,
    "<=": np.less_equal,
}


@dataclass(frozen=True)
class Mean:
    """The mean of a metric.

    >>> str(Mean("dollars"))
    'dollars'
    """

    metric: str

    def __post_init__(self) -> None:
        _check_name(self.metric, "metric")

    def __str__(self) -> str:
        return written_name(self.metric)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics that it reads."""
        return (self.metric,)

    def of(self, rows: Mapping[str, Floats]) -> Floats:
        """Its value in each trial."""
        return np.asarray(rows[self.metric], dtype=np.float64)


@dataclass(frozen=True)
class Tail:
    """The probability that a metric is beyond a threshold: the mean of 1 where it is, and 0 elsewhere.

    >>> tail = Tail("seconds", ">", 2.0)
    >>> str(tail), tail.of({"seconds": np.array([1.5, 2.5])})
    ('p(seconds > 2)', array([0., 1.]))
    """

    metric: str
    comparison: str
    threshold: float

    def __post_init__(self) -> None:
        _check_name(self.metric, "metric")
        checks.choice("comparison", self.comparison, tuple(COMPARISONS))
        object.__setattr__(self, "threshold", checks.number("threshold", self.threshold) + 0.0)

    def __str__(self) -> str:
        return f"p({written_name(self.metric)} {self.comparison} {written_number(self.threshold)})"

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics that it reads."""
        return (self.metric,)

    def of(self, rows: Mapping[str, Floats]) -> Floats:
        """Its value in each trial, 0 or 1."""
        values = np.asarray(rows[self.metric], dtype=np.float64)
        return COMPARISONS[self.comparison](values, self.threshold).astype(np.float64)


@dataclass(frozen=True)
class Ratio:
    """The mean of one metric over the mean of another, which must be positive.

    >>> str(Ratio("complaints", "visits"))
    'complaints / visits'
    """

    numerator: str
    denominator: str

    def __post_init__(self) -> None:
        _check_name(self.numerator, "metric")
        _check_name(self.denominator, "metric")
        if self.numerator == self.denominator:
            fault = f"{checks.shown(self.numerator)} over itself is always 1"
            raise checks.InvalidInput("limit", fault, "divide by another metric")

    def __str__(self) -> str:
        return f"{written_name(self.numerator)} / {written_name(self.denominator)}"

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics that it reads."""
        return (self.numerator, self.denominator)


@dataclass(frozen=True)
class Share:
    """The share of an arm in the mix.

    >>> str(Share("large"))
    'share(large)'
    """

    arm: str

    def __post_init__(self) -> None:
        _check_name(self.arm, "arm")

    def __str__(self) -> str:
        return f"share({written_name(self.arm)})"

    @property
    def metrics(self) -> tuple[str, ...]:
        """None: it reads no trials."""
        return ()


@dataclass(frozen=True)
class Visit:
    """Whether a step leads to a state: 1 where the state that comes next has this number, and 0 elsewhere.

    >>> visit = Visit(1, "busy")
    >>> str(visit), visit.of({"next": np.array([0.0, 1.0])})
    ('p(next = busy)', array([0., 1.]))
    """

    number: int
    state: str
    metric = "next"

    def __str__(self) -> str:
        return f"p({self.metric} = {written_name(self.state)})"

    @property
    def metrics(self) -> tuple[str, ...]:
        """The one that says which state comes next."""
        return (self.metric,)

    def of(self, rows: Mapping[str, Floats]) -> Floats:
        """Its value in each trial, 0 or 1."""
        return np.equal(rows[self.metric], self.number).astype(np.float64)


Column: TypeAlias = Mean | Tail | Visit
Quantity: TypeAlias = Mean | Tail | Ratio | Share


def read_quantity(reader: Reader) -> Quantity:
    """The quantity that comes next in a text.

    >>> read_quantity(Reader("limit", "p(seconds > 2)"))
    Tail(metric='seconds', comparison='>', threshold=2.0)
    """
    function = reader.call("share", "p")
    if function == "share":
        arm = reader.name("an arm")
        reader.operator(")")
        return Share(arm)
    if function == "p":
        metric = reader.name("a metric")
        comparison = reader.operator(*COMPARISONS)
        threshold = reader.number()
        reader.operator(")")
        return Tail(metric, comparison, threshold)
    metric = reader.name("a metric, share(arm) or p(metric > number)")
    if reader.optional_operator("/") is None:
        return Mean(metric)
    place = reader.place
    denominator = reader.name("a metric to divide by")
    if denominator == metric:
        raise reader.error("another metric to divide by", place)
    return Ratio(metric, denominator)


def _check_name(name: str, what: str) -> None:
    checks.names("limit", (name,), what)
