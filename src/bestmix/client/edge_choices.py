"""Choices of an edge, the requests that were recorded for them, and their sums; with the standard library alone.

All requests of a version, a segment and an arm share one choice, which is also where they are added up. Its id is a
signed text that says which one it is, so that any process with the same token can record for it.
"""

import base64
import hashlib
import hmac
import math
import operator
import random
from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

LARGEST = 1e150  # of a sum; servers take no more
BEYOND = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
SIGNED = 12  # bytes of a signature


class EdgeError(Exception):
    """An edge cannot do what it was asked for."""


class Place(NamedTuple):
    """Which requests are added up together."""

    version: int
    segment: str | None
    arm: str


class Choice:
    """The arm for a request; ``id`` says so to any process that has the edge's token."""

    __slots__ = ("arm", "id", "rows", "segment", "sums", "version")

    def __init__(self, place: Place, identifier: str, measures: int) -> None:
        self.version, self.segment, self.arm = place
        self.id = identifier
        self.rows: Any = []  # metrics that were recorded and are not added up yet; None once it is put away
        self.sums = Sums(measures)

    def __repr__(self) -> str:
        return f"Choice({self.arm!r}, version={self.version}, segment={self.segment!r})"

    @property
    def place(self) -> Place:
        """Which requests it is for."""
        return Place(self.version, self.segment, self.arm)


class Measure(NamedTuple):
    """What is added up of every request: a metric's value, or 1 where it is beyond a threshold."""

    name: str
    metric: str
    comparison: str | None = None
    threshold: float = 0.0

    def of(self, rows: Sequence[Mapping[str, Any]]) -> list[float]:
        """Its values.

        >>> Measure("p(s > 2)", "s", ">", 2.0).of([{"s": 1}, {"s": 3}])
        [0.0, 1.0]
        """
        metric = self.metric
        values = [row[metric] for row in rows]
        if self.comparison is None:
            return values
        beyond, threshold = BEYOND[self.comparison], self.threshold
        return [1.0 if beyond(value, threshold) else 0.0 for value in values]


class Sums:
    """Number, sums and products of some requests; sums of a batch are rounded once."""

    __slots__ = ("count", "products", "sums")

    def __init__(self, measures: int) -> None:
        self.count = 0
        self.sums = [0.0] * measures
        self.products = [0.0] * (measures * (measures + 1) // 2)

    def add(self, other: "Sums") -> None:
        """Add further requests."""
        self.count += other.count
        self.sums = [a + b for a, b in zip(self.sums, other.sums, strict=True)]
        self.products = [a + b for a, b in zip(self.products, other.products, strict=True)]


def add_up(measures: Sequence[Measure], rows: Sequence[Mapping[str, Any]]) -> Sums:
    """Sums of requests; an error when a metric is missing, is no number or is not finite.

    >>> found = add_up([Measure("q", "q"), Measure("d", "d")], [{"q": 1.0, "d": 2.0}, {"q": 3.0, "d": 0.5}])
    >>> found.count, found.sums, found.products
    (2, [4.0, 2.5], [10.0, 3.5, 4.25])
    """
    result = Sums(0)
    columns = [measure.of(rows) for measure in measures]
    result.count = len(rows)
    result.sums = list(map(math.fsum, columns))
    result.products = [
        math.fsum(map(operator.mul, first, second)) for i, first in enumerate(columns) for second in columns[i:]
    ]
    for total in (*result.sums, *result.products):
        if not abs(total) <= LARGEST:
            raise ValueError("a metric is not finite, or too large to be squared")
    return result


def add_up_some(measures: Sequence[Measure], rows: Sequence[Mapping[str, Any]]) -> tuple[Sums, str]:
    """Sums of the requests that can be added up, and what is wrong with the others: of each metric the first fault.

    >>> measures = [Measure("q", "q"), Measure("d", "d")]
    >>> found, wrong = add_up_some(measures, [{"q": 1.0, "d": 2.0}, {"q": 1.0}, {"q": "x"}])
    >>> found.count, found.sums, wrong
    (1, [1.0, 2.0], "'d' is missing, 'q' is 'x'")
    """
    result, faults = Sums(len(measures)), dict[str, str]()
    for row in rows:
        try:
            result.add(add_up(measures, [row]))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            metric, fault = _fault(measures, row)
            faults.setdefault(metric, fault)
    return result, ", ".join(faults.values())


def _fault(measures: Sequence[Measure], row: Any) -> tuple[str, str]:
    """A metric of a request that cannot be added up, and what is wrong with it."""
    for measure in measures:
        try:
            value = row[measure.metric]
        except LookupError:
            return measure.metric, f"{measure.metric!r} is missing"
        except (AttributeError, TypeError):
            return "", f"{_shown(row)} has no metrics by name"
        try:
            add_up([measure], [row])
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return measure.metric, f"{measure.metric!r} is {_shown(value)}"
    return "", "products of the metrics are too large"


def _shown(value: Any) -> str:
    """What was recorded; nothing that it does when it is shown loses what was recorded beside it."""
    try:
        return f"{value!r:.80}"
    except Exception:
        return type(value).__name__


def sign(secret: bytes, place: Place) -> str:
    """The id of a choice.

    >>> verify(b"secret", sign(b"secret", Place(3, None, "small")))
    Place(version=3, segment=None, arm='small')
    """
    words = [str(place.version), "-" if place.segment is None else f"s{_text(place.segment)}", _text(place.arm)]
    return ".".join([*words, _signature(secret, words)])


def verify(secret: bytes, identifier: Any) -> Place:
    """What a choice's id says; an error when it was not made with this secret."""
    words = identifier.split(".") if isinstance(identifier, str) and len(identifier) < 10_000 else []
    if len(words) != 4 or not hmac.compare_digest(words[3].encode(), _signature(secret, words[:3]).encode()):
        raise EdgeError(f"choice: expected the id of a choice of an edge with this token, got {identifier!r:.80}")
    segment = None if words[1] == "-" else _read(words[1][1:])
    return Place(int(words[0]), segment, _read(words[2]))


def _signature(secret: bytes, words: Sequence[str]) -> str:
    digest = hmac.new(secret, ".".join(words).encode(), hashlib.sha256).digest()[:SIGNED]
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _text(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read(text: str) -> str:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()


class Table:
    """The choices of a segment, and where their shares end."""

    __slots__ = ("choices", "ends", "salt")

    def __init__(self, choices: list[Choice], shares: list[float], salt: str) -> None:
        self.choices, self.salt = choices, salt
        self.ends = list(accumulate(shares))
        self.ends[-1] = 1.0  # whatever rounding has left of it

    def draw(self, source: random.Random, count: int) -> list[Choice]:
        """Some choices by chance."""
        return source.choices(self.choices, cum_weights=self.ends, k=count)

    def at(self, unit: Hashable) -> Choice:
        """The choice of a unit: always the same."""
        key = f"{self.salt}{type(unit).__name__}\x1f{unit}".encode()
        share = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big") / 2**64
        return self.choices[min(bisect_right(self.ends, share), len(self.choices) - 1)]
