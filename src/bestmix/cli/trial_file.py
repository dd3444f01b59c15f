"""The CSV file in which ``bestmix run`` writes every trial, and from which a run that was killed gets back its last."""

import csv
import io
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bestmix.cli import common

if TYPE_CHECKING:
    from bestmix.strategies import Search


class TrialFile:
    """Writes every trial to a CSV file as it is told; the file can be a log of another run.

    Parameters
    ----------
    search
        Whose trials.
    path
        The file.
    rows
        How many of the file's rows the search has counted; None where that is not known, and then all of them. A run
        that begins has none, and what the file has already is kept under another name.
    new
        Whether the run begins.
    """

    def __init__(self, search: "Search", path: Path, rows: int | None = 0, new: bool = True) -> None:
        problem = search.problem
        self.problem, self.metrics, self.path, self.rows, self.new = problem, problem.metrics, path, rows or 0, new
        self._segments, self._items = bool(problem.segments), search.item_list is not None
        places = ["arm", *(["segment"] if self._segments else []), *(["item"] if self._items else [])]
        self.head = [*places, *self.metrics]
        self.before_first: Callable[[], None] = lambda: None  # called before the first trial of a new run is written
        if not new:
            self._catch_up(search, rows)

    def __call__(self, cell: tuple[str | int, ...], result: Any) -> None:
        """Add a line."""
        from bestmix.answers.logs.csv_files import escaped

        first, *others = self.metrics
        if not isinstance(result, Mapping):
            reward, costs = result if isinstance(result, (tuple, list)) else (result, {})
            ordered = {} if costs is None else costs
            named = ordered if isinstance(ordered, Mapping) else dict(zip(others, ordered, strict=True))
            result = {first: reward, **named}
        self.rows += 1
        if self.new:
            if self.path.exists():
                set_aside(self.path, "has trials that are not of this run")
            self.new = False
            self.before_first()
        head = not self.path.exists()
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            if head:
                writer.writerow(map(escaped, self.head))
            told = [escaped(self.problem.shown_value(metric, result[metric])) for metric in self.metrics]
            writer.writerow([*map(escaped, cell), *told])

    def _catch_up(self, search: "Search", counted: int | None) -> None:
        """Tell the search what was written after its state was saved for the last time."""
        if not self.path.exists():
            self.rows = 0
            return
        head, *rows = self._lines(counted)
        if head != self.head:
            set_aside(self.path, f"has other columns than {', '.join(self.head)}")
            self.rows = 0
            return
        fresh = [] if counted is None else rows[counted:]
        refused = [
            fault
            for row, line in enumerate(fresh, len(rows) - len(fresh) + 1)
            if (fault := self._tell(search, row, line))
        ]
        self.rows = len(rows)
        if told := len(fresh) - len(refused):
            _say(f"Counting {common.trials(told)} of {self.path} that were made after the state was saved last.")
        if refused:
            _say(f"{self.path}: {common.trials(len(refused))} could not be counted; {refused[0]}.")

    def _lines(self, counted: int | None) -> list[list[str]]:
        """The header and all rows; a last line that was cut off in writing is removed."""
        from bestmix.answers.logs.csv_files import plain

        data = self.path.read_bytes()
        whole = _whole_rows(data)
        lines = self._parse(whole)
        if whole != data:
            if counted is None or len(lines) <= counted:  # it was counted, and an editor has taken its end
                with self.path.open("ab") as file:
                    file.write(b"\n")
                lines = self._parse(data + b"\n")
            else:
                os.truncate(self.path, len(whole))
                cut = data[len(whole) :].decode("utf-8", "replace")
                _say(f"{self.path}: its last line was cut off in writing ({cut!r}); it is left out.")
        return [[plain(cell) for cell in line] for line in lines] or [[]]

    def _parse(self, data: bytes) -> list[list[str]]:
        try:
            return list(filter(None, csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""))))
        except (UnicodeDecodeError, csv.Error):
            return [[]]

    def _tell(self, search: "Search", row: int, line: list[str]) -> str | None:
        """Tell a row; why not, if it cannot be."""
        if len(line) != len(self.head):
            return f"row {row} has {len(line)} of {len(self.head)} columns"
        try:
            named = dict(zip(self.head, line, strict=True))
            metrics = {metric: self.problem.read_value(metric, named[metric]) for metric in self.metrics}
            item: str | int | None = named["item"] if self._items else None
            if search.item_list is not None and search.item_list.names is None:
                item = int(named["item"])
            search.tell(named["arm"], metrics, segment=named["segment"] if self._segments else None, item=item)
        except (ValueError, RuntimeError) as error:
            return f"row {row}: {error}"
        return None


def _whole_rows(data: bytes) -> bytes:
    """All rows that have an end; a newline within quotes is part of an item."""
    lines = [line for line in io.BytesIO(data) if line.endswith(b"\n")]
    rows = csv.reader([*(line.decode("utf-8", "replace") for line in lines), "the next row"])
    end = 0
    try:
        for _ in rows:
            end = rows.line_num if rows.line_num <= len(lines) else end  # a torn item has taken in the next row
    except csv.Error:
        end = len(lines)
    return b"".join(lines[:end])


def set_aside(path: Path, why: str) -> None:
    """Keep a file under another name, and say so."""
    names = (path.with_suffix(f".{number}{path.suffix}") for number in range(1, 10**6))
    kept = next(name for name in names if not name.exists())
    os.rename(path, kept)
    _say(f"{path} {why}; it is kept as {kept}.")


def _say(sentence: str) -> None:
    common.messages().print(sentence, markup=False, soft_wrap=True)
