"""A column of a log, some rows at a time: names of arms and segments as whole numbers, and metrics as floats."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats, Integers

MISSING = frozenset(("", "nan", "NaN", "<NA>", "NaT", "None"))
EVENTS = {"true": 1.0, "false": 0.0}
ROLES = ("arm", "reward", "segment")  # columns that have these names where nothing else is said


class NotANumber(Exception):
    """A value that is no number, and its place in the column."""

    def __init__(self, place: int, value: Any) -> None:
        super().__init__(place, value)
        self.place, self.value = place, value


class Labels(NamedTuple):
    """The name of each row: ``names[codes[i]]``, and missing where the code is -1."""

    codes: Integers
    names: tuple[str, ...]


class Column(Protocol):
    """Some rows of one column."""

    def __len__(self) -> int: ...

    def labels(self) -> Labels:
        """The rows as names."""
        ...

    def numbers(self) -> Floats:
        """The rows as numbers, NaN where one is missing; NotANumber for anything else."""
        ...


@dataclass(frozen=True)
class Values:
    """A column of Python objects; ``text`` makes a text of one.

    >>> Values(["s", "l", "s", None]).labels()
    Labels(codes=array([ 0,  1,  0, -1]), names=('s', 'l'))
    >>> Values(["1.5", " 2", True, "False", ""]).numbers()
    array([1.5, 2. , 1. , 0. , nan])
    """

    values: Sequence[Any]
    text: Callable[[Any], str] = str

    def __len__(self) -> int:
        return len(self.values)

    def labels(self) -> Labels:
        """The rows as names."""
        places = _Places()
        codes = np.fromiter(map(places.__getitem__, map(str, self.values)), np.int64, len(self.values))
        if any(text[:1] in tuple("[{(") for text in places):
            _refuse_nested(self.values)
        return merged(codes, map(self.text, places))

    def numbers(self) -> Floats:
        """The rows as numbers."""
        try:
            return np.array(list(map(float, self.values)), dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            return np.array([self._number(place, value) for place, value in enumerate(self.values)], dtype=np.float64)

    def _number(self, place: int, value: Any) -> float:
        text = self.text(value).strip()
        if text in MISSING:
            return math.nan
        try:
            return float(text if isinstance(value, str) else value)
        except (TypeError, ValueError, OverflowError):
            if text.lower() in EVENTS:
                return EVENTS[text.lower()]
            raise NotANumber(place, text if isinstance(value, str) else value) from None


@dataclass(frozen=True)
class Slice:
    """Some rows of an array or of a frame's column, which are not made Python objects where they are machine numbers.

    >>> Slice(np.array([1, 2])).numbers(), Slice(np.array([1, 2])).labels().names
    (array([1., 2.]), ('1', '2'))
    """

    values: Any

    def __len__(self) -> int:
        return len(self.values)

    def labels(self) -> Labels:
        """The rows as names."""
        return Values(list(self.values)).labels()

    def numbers(self) -> Floats:
        """The rows as numbers."""
        array = np.asarray(self.values)
        return array.astype(np.float64) if array.dtype.kind in "fiub" else Values(list(self.values)).numbers()


def _refuse_nested(values: Iterable[Any]) -> None:
    """A list or an object of a JSON file is no name."""
    for value in values:
        if isinstance(value, (list, tuple, dict)):
            got = checks.shown(value)
            raise checks.InvalidInput("log", expected="a text or a number for a name", got=got, remedy="write one")


class _Places(dict[str, int]):
    """Texts in order of first appearance."""

    def __missing__(self, key: str) -> int:
        self[key] = place = len(self)
        return place


def merged(codes: Integers, texts: Iterable[str]) -> Labels:
    """Labels from codes of texts, of which some may be missing or equal.

    >>> merged(np.array([0, 1, 2]), ["a", "a", ""])
    Labels(codes=array([ 0,  0, -1]), names=('a',))
    """
    names: dict[str, int] = {}
    lookup = [-1 if text in MISSING else names.setdefault(text, len(names)) for text in texts]
    return Labels(np.array([*lookup, -1], dtype=np.int64)[codes], tuple(names))


def places(available: Sequence[Any], wanted: Sequence[str]) -> list[Any]:
    """The available columns that are wanted; spaces around their names do not count.

    >>> places(["arm", " reward", "x"], ["reward", "arm"])
    [' reward', 'arm']
    """
    for name in wanted:
        if not isinstance(name, str) and name not in available:
            got, remedy = checks.shown(name), "bounds and limits are passed by name, as in bounds={...}"
            raise checks.InvalidInput("log", expected="the name of a column", got=got, remedy=remedy)
    duplicate = [name for name in wanted if wanted.count(name) > 1]
    if duplicate:
        raise checks.InvalidInput(
            "log", f"the column {duplicate[0]!r} is named twice", "arm, reward and costs are different columns"
        )
    return [_place(available, name) for name in wanted]


def _place(available: Sequence[Any], name: str) -> Any:
    found = [c for c in available if c == name] or [c for c in available if str(c).strip() == name.strip()]
    if not found:
        remedy = f"name it: {name}=... (--{name} ...)" if name in ROLES else "check its name"
        fault = f"there is no column {name!r}; the columns are {checks.shown(list(available))}"
        raise checks.InvalidInput("log", fault, remedy)
    if len(found) > 1:
        raise checks.InvalidInput("log", f"there are two columns named {name!r}", "rename one")
    return found[0]
