"""Logs in CSV files: commas, semicolons or tabs, in UTF-8, with the standard library alone."""

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

from bestmix import checks
from bestmix.answers.logs.columns import Column, Values, places

SEPARATORS = (",", ";", "\t", "|")
ROWS = 2**14  # of a file that are held as Python objects at a time
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how text begins that a spreadsheet takes for a formula


class Layout(NamedTuple):
    """What the first line of a CSV file says."""

    separator: str
    header: list[str]  # all columns
    columns: dict[str, int]  # the place of each wanted one

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.header)


def layout(file: BinaryIO, name: str, wanted: Sequence[str]) -> Layout:
    r"""The separator with which all wanted columns are found, and where they are; the file stands at its begin then.

    >>> layout(io.BytesIO(b"arm; reward; x\n"), "log.csv", ["arm", "reward"])
    Layout(separator=';', header=['arm', 'reward', 'x'], columns={'arm': 0, 'reward': 1})
    """
    headers = {separator: _header(file, name, separator) for separator in SEPARATORS}
    if not any(headers.values()):
        raise checks.InvalidInput(
            "log", f"{name} is empty", "expected a header with the columns' names and a row for each trial"
        )
    whole = [s for s, header in headers.items() if set(map(str.strip, wanted)) <= set(header)]
    separator = whole[0] if whole and wanted else max(SEPARATORS, key=lambda s: len(headers[s]))
    header = headers[separator]
    found = [header.index(column) for column in places(header, wanted)]
    return Layout(separator, header, dict(zip(wanted, found, strict=True)))


def _header(file: BinaryIO, name: str, separator: str) -> list[str]:
    return next(([text_of(cell) for cell in row] for row in _lines(file, name, separator)), [])


def _lines(file: BinaryIO, name: str, separator: str) -> Iterator[list[str]]:
    """All rows, the header first; the file is back at its begin when they end."""
    file.seek(0)
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    try:
        yield from csv.reader(text, delimiter=separator)
    except (UnicodeDecodeError, csv.Error) as error:
        raise checks.InvalidInput("log", f"{name} is not a CSV file in UTF-8 ({error})", "convert it") from None
    finally:
        text.detach()
        file.seek(0)


def read_csv(file: BinaryIO, name: str, layout: Layout, skip: int = 0) -> Iterator[dict[str, Column]]:
    r"""The wanted columns after so many rows, some rows at a time; lines without anything are no rows.

    >>> file = io.BytesIO(b"arm,reward\na,1\nb,2\n")
    >>> [chunk["reward"].numbers() for chunk in read_csv(file, "log.csv", layout(file, "log.csv", ["arm", "reward"]))]
    [array([1., 2.])]
    """
    lines = _lines(file, name, layout.separator)
    next(lines, None)
    rows = islice(filter(None, lines), skip, None)
    while chunk := list(islice(rows, ROWS)):
        _check_widths(chunk, name, layout.width, skip)
        skip += len(chunk)
        yield {column: Values(_cells(chunk, place), text_of) for column, place in layout.columns.items()}


def csv_table(file: BinaryIO, name: str) -> dict[str, list[Any]]:
    r"""All columns of a table that fits into memory, as texts.

    >>> csv_table(io.BytesIO(b"arm;n\na; 1\nb;2\n"), "sums.csv")
    {'arm': ['a', 'b'], 'n': ['1', '2']}
    """
    found = layout(file, name, [])
    rows = list(filter(None, _lines(file, name, found.separator)))[1:]
    _check_widths(rows, name, found.width, 0)
    return {column: [text_of(cell) for cell in _cells(rows, i)] for i, column in enumerate(found.header)}


def line_of_row(file: BinaryIO, separator: str, row: int) -> tuple[int, int]:
    r"""The line on which a row begins, counted from 1, and how many rows there are up to it; line 0 where it has fewer.

    >>> line_of_row(io.BytesIO(b"arm,reward\n\na,1\nb,2\n"), ",", 2), line_of_row(io.BytesIO(b"arm\na\n"), ",", 2)
    ((4, 2), (0, 1))
    """
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    reader, rows, begin = csv.reader(text, delimiter=separator), -1, 1
    for cells in reader:
        rows += bool(cells)
        if rows == row:
            break
        begin = reader.line_num + 1
    text.detach()
    return (begin, rows) if rows == row else (0, rows)


def _check_widths(rows: list[list[str]], name: str, width: int, before: int) -> None:
    if max(map(len, rows), default=0) <= width:
        return
    place, row = next((place, row) for place, row in enumerate(rows, before + 1) if len(row) > width)
    raise checks.InvalidInput(
        "log",
        f"row {place} of {name} has {len(row)} values for {width} columns",
        "correct it, or quote a value that has the separator inside",
    )


def _cells(rows: list[list[str]], place: int) -> list[str]:
    """One column; a row that is too short misses its last values."""
    return [row[place] if place < len(row) else "" for row in rows]


def text_of(cell: str) -> str:
    """What a cell says: spaces around it, and the apostrophe for spreadsheets, do not count.

    >>> text_of(" small "), text_of("'+5%")
    ('small', '+5%')
    """
    return plain(cell.strip())


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
