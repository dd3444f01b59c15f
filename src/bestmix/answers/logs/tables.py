"""Tables of trials from files and frames, sorted by arm, with clear answers to what is missing."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.logs.columns import Column, Labels, NotANumber, Slice, Values, places
from bestmix.answers.logs.files import STANDARD_INPUT, line_of, read_file
from bestmix.arrays import Floats, Integers

MADE = "\0"  # begins the name of a column that is made of one of the log's: no column of a user is called so
ROWS = 2**16  # of a frame that are looked at together


class MissingValues(checks.InvalidInput):
    """Rows of a log miss values; ``drop_missing=True`` leaves them out."""


Group = tuple[str, str | None]  # an arm, and the segment of its trials where there are any


def read_trials(frame: Any, arm: str, reward: str, costs: list[str], drop_missing: bool = False) -> dict[str, Floats]:
    """Trials by arm, in order of first appearance: tables (trials, 1 + L)."""
    return read_segment(frame, arm, reward, costs, drop_missing, None)


def read_segment(
    frame: Any, arm: str, reward: str, costs: list[str], drop_missing: bool, segment: tuple[str, str] | None
) -> dict[str, Floats]:
    """Trials by arm, of all rows or of those in which a column says something.

    >>> log = {"arm": ["a", "b", "a"], "reward": [1.0, 2.0, 3.0], "tier": ["free", "free", "paid"]}
    >>> read_segment(log, "arm", "reward", [], False, ("tier", "free"))
    {'a': array([[1.]]), 'b': array([[2.]])}
    """
    column, wanted = segment or (None, None)
    groups = read_groups(frame, arm, reward, costs, drop_missing, column)
    found = {name: table for (name, group), table in groups.items() if group == wanted}
    if not found:
        names = checks.shown(list(dict.fromkeys(group for _, group in groups)))
        raise checks.InvalidInput("segment", expected=f"one of {names}", got=repr(wanted), remedy="choose one")
    return found


def read_groups(
    frame: Any, arm: str, reward: str, costs: list[str], drop_missing: bool = False, segment: str | None = None
) -> dict[Group, Floats]:
    """Trials by arm and segment, in order of first appearance: tables (trials, 1 + L)."""
    sorter = Sorter(arm, [reward, *costs], segment)
    for chunk in log_chunks(frame, [arm, reward, *costs, *([] if segment is None else [segment])]):
        sorter.add(chunk)
    sorter.check(drop_missing, frame)
    return {group: checks.array(f"log[{group[0]!r}]", table, (None, None), "") for group, table in sorter.tables()}


def read_groups_on_items(
    frame: Any, arm: str, metrics: list[str], segment: str | None, item: str, drop_missing: bool = False
) -> dict[Group, tuple[Floats, list[str | None]]]:
    """The same with the text of each trial's item, None where a row has none.

    >>> log = {"arm": ["a", "a"], "reward": [1.0, 2.0], "prompt": ["sum", None]}
    >>> read_groups_on_items(log, "arm", ["reward"], None, "prompt")["a", None][1]
    ['sum', None]
    """
    sorter = Sorter(arm, metrics, segment, item)
    for chunk in log_chunks(frame, [arm, *metrics, *([] if segment is None else [segment]), item]):
        sorter.add(chunk)
    sorter.check(drop_missing, frame)
    names = [*sorter.items, None]
    return {group: (table[:, :-1], [names[int(place)] for place in table[:, -1]]) for group, table in sorter.tables()}


@dataclass
class Sorter:
    """Sorts a log by arm and segment as it comes, and counts what is missing.

    >>> sorter = Sorter("arm", ["reward"])
    >>> sorter.add({"arm": Values(["b", "a", "b"]), "reward": Values([1.0, 2.0, 3.0])})
    >>> {group: table.ravel().tolist() for group, table in sorter.tables()}
    {('b', None): [1.0, 3.0], ('a', None): [2.0]}
    """

    arm: str
    metrics: Sequence[str]
    segment: str | None = None
    item: str | None = None  # a column whose place in ``items`` is one more number of each trial, -1 for none
    items: dict[str, int] = field(default_factory=dict)
    rows: int = 0
    missing: int = 0  # how many rows miss a value
    nameless: int = 0  # how many of these miss a name
    first: tuple[int, str] = (0, "")  # of them, counted from 1, and the column without a value
    infinite: tuple[int, str] = (0, "")  # the first row with an infinity, and its column
    _parts: dict[Group, list[Floats]] = field(default_factory=dict)

    def add(self, chunk: Mapping[str, Column]) -> None:
        """Some more rows."""
        values = np.column_stack([self._numbers(name, chunk[name]) for name in self.metrics])
        arms = chunk[self.arm].labels()
        segments = None if self.segment is None else chunk[self.segment].labels()
        if self.item is not None:
            found = chunk[self.item].labels()
            known = np.array([*(self.items.setdefault(name, len(self.items)) for name in found.names), -1])
            values = np.column_stack([values, known[found.codes]])
        whole = np.isfinite(values).all(axis=1) & (arms.codes >= 0)
        if segments is not None:
            whole &= segments.codes >= 0
        if not whole.all():
            self.nameless += int((np.isfinite(values).all(axis=1) & ~whole).sum())
            self.missing += int((~whole).sum())
            self._note_infinite(values)
            self._note_first(values, arms, int(np.argmin(whole)))
            values, arms = values[whole], Labels(arms.codes[whole], arms.names)
            segments = None if segments is None else Labels(segments.codes[whole], segments.names)
        self.rows += len(whole)
        for group, index in _split(arms, segments):
            self._parts.setdefault(group, []).append(values[index])

    def _numbers(self, name: str, column: Column) -> Floats:
        try:
            return column.numbers()
        except NotANumber as error:
            raise checks.InvalidInput(
                "log",
                expected=f"numbers in column {name!r}",
                got=f"{checks.shown(error.value)} in row {self.rows + error.place + 1}",
                remedy="write numbers as 1234.5, True or False, and nothing where one is missing",
            ) from None

    def _note_infinite(self, values: Floats) -> None:
        infinite = np.isinf(values)
        if infinite.any() and not self.infinite[0]:
            place = int(np.argmax(infinite.any(axis=1)))
            self.infinite = self.rows + place + 1, self._title(int(np.argmax(infinite[place])))

    def _note_first(self, values: Floats, arms: Labels, place: int) -> None:
        if self.first[0]:
            return
        lacking = np.flatnonzero(~np.isfinite(values[place]))
        name = self.arm if arms.codes[place] < 0 else self._title(int(lacking[0])) if len(lacking) else self.segment
        self.first = self.rows + place + 1, str(name)

    def _title(self, place: int) -> str:
        return self.metrics[place].removeprefix(MADE)

    def check(self, drop_missing: bool, frame: Any) -> None:
        """Refuse a log without trials, with infinities, and with missing values unless they may be left out."""
        if not self.rows:
            raise checks.InvalidInput("log", expected="at least one trial", got="none", remedy="check the file")
        if self.infinite[0]:
            row, column = self.infinite
            got = f"an infinity in {_row_text(frame, row)}"
            raise checks.InvalidInput(
                "log", expected=f"finite numbers in column {column!r}", got=got, remedy="correct it, or remove the row"
            )
        count, (first, column) = self.missing, self.first
        if count and not drop_missing:
            whose = ""
            if has_column(frame, "token") and has_column(frame, "state"):
                told = ["trials that were not told: export --state complete has the others"]
                names = ["names that say that they are missing, such as nan or None: write others"]
                reasons = (told if count > self.nameless else []) + (names if self.nameless else [])
                whose = f" (of an experiment's export, {'; '.join(reasons)})"
            raise MissingValues(
                "log",
                f"{count} of {self.rows} rows miss a value, the first is {_row_text(frame, first)}: "
                f"column {column!r} is empty there, or says nan or None{whose}",
                "fill them in, or pass drop_missing=True to leave them out",
            )
        if count == self.rows:
            raise checks.InvalidInput("log", "every row misses a value", "check the names of the columns")

    def tables(self) -> Iterator[tuple[Group, Floats]]:
        """The trials of each group, in order of first appearance; what was given is no longer held."""
        for group in list(self._parts):
            yield group, np.concatenate(self._parts.pop(group))


def _row_text(frame: Any, row: int) -> str:
    """Which row, and where it stands in a file that has lines."""
    line = line_of(Path(frame), row) if isinstance(frame, (str, os.PathLike)) else ""
    return f"row {row} ({line})" if line else f"row {row}"


def _split(arms: Labels, segments: Labels | None) -> Iterator[tuple[Group, Integers]]:
    """Each group and its rows, in order of first appearance."""
    count = 1 if segments is None else len(segments.names)
    codes = arms.codes if segments is None else arms.codes * count + segments.codes
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else []
    for index in sorted(parts, key=lambda part: int(part[0])):
        place, group = divmod(int(codes[index[0]]), count)
        yield (arms.names[place], None if segments is None else segments.names[group]), index


def log_chunks(frame: Any, wanted: list[str]) -> Iterator[Mapping[str, Column]]:
    """The wanted columns of whatever was passed, some rows at a time."""
    if isinstance(frame, (str, os.PathLike)):
        return read_file(Path(frame), wanted)
    frame = _as_mapping(frame)
    available = list(frame.keys() if isinstance(frame, Mapping) else getattr(frame, "columns", []))
    if not available:
        raise checks.InvalidInput(
            "log",
            expected="a path of a log or -, a pandas or polars frame, an Arrow table or a mapping of columns",
            got=type(frame).__name__,
            remedy="pass one of them",
        )
    found = dict(zip(wanted, places(available, wanted), strict=True))
    return _slices({name: _sized(frame[column]) for name, column in found.items()})


def _as_mapping(frame: Any) -> Any:
    """A table of Arrow, or a relation of DuckDB, as columns by name; anything else as it is."""
    if hasattr(frame, "to_pydict") and hasattr(frame, "column_names"):
        return frame.to_pydict()
    if hasattr(frame, "fetchall") and isinstance(getattr(frame, "columns", None), list):
        rows = frame.fetchall()
        return dict(zip(frame.columns, zip(*rows, strict=True) if rows else [()] * len(frame.columns), strict=True))
    return frame


def has_column(frame: Any, name: str) -> bool:
    """Whether a log has a column that says anything; of standard input, which can be read but once, it is not known.

    >>> has_column({"arm": ["a"], "item": [3]}, "item"), has_column({"arm": ["a"]}, "item")
    (True, False)
    """
    if isinstance(frame, (str, os.PathLike)) and str(frame) == STANDARD_INPUT:
        return False
    try:
        return any(chunk[name].labels().names for chunk in log_chunks(frame, [name]))
    except checks.InvalidInput:
        return False


def _sized(values: Any) -> Any:
    """A column that has a length and can be sliced."""
    return values if hasattr(values, "dtype") and len(values.shape) == 1 else list(values)


def _slices(columns: Mapping[str, Any]) -> Iterator[Mapping[str, Column]]:
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise checks.InvalidInput(
            "log", f"the columns differ in length: {lengths}", "give every trial all of its values"
        )
    for start in range(0, max(lengths.values()), ROWS):
        yield {name: _part(values, slice(start, start + ROWS)) for name, values in columns.items()}


def _part(values: Any, rows: slice) -> Column:
    return Values(values[rows]) if isinstance(values, list) else Slice(getattr(values, "iloc", values)[rows])
