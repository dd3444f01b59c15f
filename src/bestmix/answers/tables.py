"""Tables of trials from files and frames, sorted by arm, with clear answers to what is missing."""

import csv
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats


class MissingValues(checks.InvalidInput):
    """Rows of a log miss values; ``drop_missing=True`` leaves them out."""


Group = tuple[str, str | None]  # an arm, and the segment of its trials where there are any


def read_trials(frame: Any, arm: str, reward: str, costs: list[str], drop_missing: bool = False) -> dict[str, Floats]:
    """Trials by arm, in order of first appearance: tables (trials, 1 + L)."""
    return {name: table for (name, _), table in read_groups(frame, arm, reward, costs, drop_missing).items()}


def read_groups(
    frame: Any, arm: str, reward: str, costs: list[str], drop_missing: bool = False, segment: str | None = None
) -> dict[Group, Floats]:
    """Trials by arm and segment, in order of first appearance: tables (trials, 1 + L)."""
    table = _columns(frame, [arm, reward, *costs, *([] if segment is None else [segment])])
    labels = [_label(value) for value in table[arm]]
    groups = [None] * len(labels) if segment is None else [_label(value) for value in table[segment]]
    if segment is not None:
        labels = [None if group is None else label for label, group in zip(labels, groups, strict=True)]
    values = np.column_stack([_numbers(name, table[name]) for name in (reward, *costs)])
    whole = np.isfinite(values).all(axis=1) & np.array([label is not None for label in labels], dtype=bool)
    if not len(values):
        raise checks.InvalidInput("log", expected="at least one trial", got="none", remedy="check the file")
    if not whole.all():
        if np.isinf(values).any():
            row = int(np.argwhere(np.isinf(values).any(axis=1))[0, 0])
            raise checks.InvalidInput(
                "log", expected="finite numbers", got=f"an infinity in row {row + 1}", remedy="remove the row"
            )
        if not drop_missing:
            row = int(np.flatnonzero(~whole)[0])
            raise MissingValues(
                "log",
                f"{int((~whole).sum())} of {len(whole)} rows miss a value, the first is row {row + 1}",
                "fill them in, or pass drop_missing=True to leave them out",
            )
        if not whole.any():
            raise checks.InvalidInput("log", "every row misses a value", "check the names of the columns")
    found: dict[Group, list[int]] = {}
    for i in np.flatnonzero(whole):
        found.setdefault((str(labels[i]), groups[i]), []).append(int(i))
    return {
        group: checks.array(f"log[{group[0]!r}]", values[index], (None, None), "") for group, index in found.items()
    }


def _columns(frame: Any, wanted: list[str]) -> Mapping[str, Any]:
    """The wanted columns of whatever was passed."""
    if isinstance(frame, (str, os.PathLike)):
        frame = _read(Path(frame))
    available = list(frame.keys() if isinstance(frame, Mapping) else getattr(frame, "columns", []))
    if not available:
        raise checks.InvalidInput(
            "log",
            expected="a CSV or Parquet path, a pandas or polars frame or a mapping of columns",
            got=type(frame).__name__,
            remedy="pass one of them",
        )
    missing = [name for name in wanted if name not in available]
    if missing:
        raise checks.InvalidInput(
            "log", f"there is no column {missing[0]!r}; the columns are {checks.shown(available)}", "check its name"
        )
    duplicate = [name for name in set(wanted) if wanted.count(name) > 1]
    if duplicate:
        raise checks.InvalidInput(
            "log", f"the column {duplicate[0]!r} is named twice", "arm, reward and costs are different columns"
        )
    twice = [name for name in wanted if available.count(name) > 1]
    if twice:
        raise checks.InvalidInput("log", f"there are two columns named {twice[0]!r}", "rename one")
    columns = {name: list(frame[name]) for name in wanted}
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise checks.InvalidInput(
            "log", f"the columns differ in length: {lengths}", "give every trial all of its values"
        )
    return columns


def _read(path: Path) -> Any:
    suffix = path.suffix.lower()
    if not path.is_file():
        raise checks.InvalidInput("log", f"there is no file {path}", "check the path")
    if suffix == ".csv":
        return _read_csv(path)
    if suffix == ".parquet":
        try:
            from pyarrow import parquet
        except ImportError:
            raise checks.InvalidInput("log", "reading Parquet needs pyarrow", "install bestmix[frames]") from None
        try:
            return parquet.read_table(path).to_pydict()
        except (OSError, ValueError) as error:
            raise checks.InvalidInput(
                "log", f"{path} is not a readable Parquet file ({error})", "write it again"
            ) from None
    raise checks.InvalidInput("log", expected="a .csv or .parquet file", got=path.name, remedy="convert it")


def _read_csv(path: Path) -> dict[str, list[Any]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = [plain(name) for name in next(reader, [])]
            rows = [[plain(cell) for cell in row] for row in reader if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise checks.InvalidInput("log", f"{path} is not a CSV file in UTF-8 ({error})", "convert it") from None
    if not header:
        raise checks.InvalidInput(
            "log", f"{path} is empty", "expected a header with the columns' names and a row for each trial"
        )
    twice = [name for name in header if header.count(name) > 1]
    if twice:
        raise checks.InvalidInput("log", f"{path} has two columns named {twice[0]!r}", "rename one")
    for i, row in enumerate(rows):
        if len(row) > len(header):
            raise checks.InvalidInput(
                "log", f"row {i + 1} of {path} has {len(row)} values for {len(header)} columns", "correct it"
            )
    return {name: [row[k] if k < len(row) else "" for row in rows] for k, name in enumerate(header)}


FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how text begins that a spreadsheet takes for a formula


def for_spreadsheets(value: Any) -> Any:
    """A cell of a CSV file that no spreadsheet takes for a formula; ``plain`` undoes it.

    >>> for_spreadsheets("=1+1"), for_spreadsheets("plain"), for_spreadsheets(-1.5)
    ("'=1+1", 'plain', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.lstrip("'").startswith(FORMULA) else value


def escaped(value: Any) -> Any:
    """A cell of a CSV file as it is, unless ``plain`` would take it for one that was made for spreadsheets.

    >>> escaped("+5%"), escaped("'+5%"), plain(escaped("'+5%"))
    ('+5%', "''+5%", "'+5%")
    """
    return for_spreadsheets(value) if isinstance(value, str) and value.startswith("'") else value


def plain(cell: str) -> str:
    """A cell without the apostrophe that keeps spreadsheets from taking it for a formula.

    >>> plain("'+5%"), plain("+5%"), plain("'quoted'")
    ('+5%', '+5%', "'quoted'")
    """
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(FORMULA) else cell


def _label(value: Any) -> str | None:
    text = "" if value is None else str(value)
    return None if text in ("", "nan", "NaN", "<NA>", "NaT", "None") else text


def _numbers(name: str, values: list[Any]) -> Floats:
    result = np.empty(len(values))
    for i, value in enumerate(values):
        try:
            result[i] = math.nan if _label(value) is None else float(value)
        except (TypeError, ValueError, OverflowError):
            raise checks.InvalidInput(
                "log", expected=f"numbers in column {name!r}", got=f"{checks.shown(value)} in row {i + 1}"
            ) from None
    return result
