"""Logs and other tables in files: CSV, JSON and Parquet, compressed or not, and standard input."""

import csv
import glob
import gzip
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from bestmix import checks
from bestmix.answers.logs.arrow_files import parquet_table, read_arrow_csv, read_parquet
from bestmix.answers.logs.columns import Column, Values, places
from bestmix.answers.logs.csv_files import ROWS, csv_table, layout, line_of_row, read_csv
from bestmix.files import Repeated, loads

STANDARD_INPUT = "-"
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".csv.gz": "csv",
    ".tsv.gz": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".jsonl.gz": "jsonl",
    ".ndjson.gz": "jsonl",
    ".parquet": "parquet",
}
TABLES = SUFFIXES | {".json": "json"}  # of sums; a log has one trial a line
SMALL_FILE = 2**20  # bytes that plain Python reads sooner than pyarrow or DuckDB are loaded
MOST_COUNTED = 2**20  # rows that are read once more to tell a line
GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
SPACE = b"\xef\xbb\xbf \t\r\n"  # what may stand before the first object, a byte order mark too

Reader = Callable[[BinaryIO, str, Sequence[str]], Iterator[dict[str, Column]]]


def is_log(text: str) -> bool:
    """Whether a text is the name of a log: a file by how its name ends, or standard input.

    >>> is_log("trials.csv.gz"), is_log("-"), is_log("guess.toml")
    (True, True, False)
    """
    return text == STANDARD_INPUT or kind_of(Path(text)) is not None


def log_name(path: Path) -> str:
    """What a log is called in titles.

    >>> log_name(Path("a/trials.csv")), log_name(Path("-"))
    ('trials.csv', 'standard input')
    """
    return "standard input" if str(path) == STANDARD_INPUT else path.name


def kind_of(path: Path, suffixes: Mapping[str, str] = SUFFIXES) -> str | None:
    """How a file is read, by how its name ends; None for one that is not."""
    return next((kind for end, kind in suffixes.items() if path.name.lower().endswith(end)), None)


def matching(path: Path) -> list[Path]:
    """The files that a name with * or ? stands for, in order; else the path itself."""
    text = str(path)
    if text == STANDARD_INPUT or path.exists() or not glob.has_magic(text):
        return [path]
    found = [Path(name) for name in sorted(glob.glob(text, recursive=True)) if Path(name).is_file()]
    if not found:
        raise checks.InvalidInput("log", f"there is no file that matches {path}", "check the path")
    return found


def line_of(path: Path, row: int) -> str:
    """Where a row of a log, counted from 1, stands in a CSV file; no text where that is not known."""
    if str(path) == STANDARD_INPUT or row > MOST_COUNTED:
        return ""
    for one in matching(path):
        if kind_of(one) != "csv":
            return ""
        try:
            with opened(one) as file:
                line, rows = line_of_row(file, layout(file, str(one), []).separator, row)
        except (csv.Error, UnicodeError):  # other readers take longer cells, and other bytes where nobody looks
            return ""
        if line:
            return f"line {line} of {one}"
        row -= rows
    return ""


def size_of(path: Path) -> int:
    """Bytes of a file; 0 where there is none."""
    return path.stat().st_size if path.is_file() else 0


def read_file(path: Path, wanted: Sequence[str]) -> Iterator[dict[str, Column]]:
    """The wanted columns of a log, or of all that a name with * stands for, some rows at a time."""
    for one in matching(path):
        name = "standard input" if str(one) == STANDARD_INPUT else str(one)
        with opened(one) as file, _whole_gzip(name):
            yield from _reader(kind_of(one) or _content(file))(file, name, wanted)


@contextmanager
def _whole_gzip(name: str) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise checks.InvalidInput("log", f"{name} is no whole gzip file ({error})", "compress it again") from None


def read_table(path: Path) -> dict[str, list[Any]]:
    """All columns of a table that fits into memory, such as one of sums; JSON may also be one list of objects.

    Examples
    --------
    >>> path = Path(tempfile.mkdtemp(), "sums.json")
    >>> path.write_text('[{"arm": "a", "n": 2}, {"arm": "b", "n": 3}]') > 0
    True
    >>> read_table(path)
    {'arm': ['a', 'b'], 'n': [2, 3]}
    """
    name = "standard input" if str(path) == STANDARD_INPUT else str(path)
    with opened(path, TABLES) as file, _whole_gzip(name):
        kind = kind_of(path, TABLES) or _content(file)
        if kind == "parquet":
            return parquet_table(file, name)
        return csv_table(file, name) if kind == "csv" else _json_table(file, name)


def _json_table(file: BinaryIO, name: str) -> dict[str, list[Any]]:
    """Objects in a list, one a line, or columns by name."""
    try:
        rows = loads(file.read())
    except Repeated as error:
        raise checks.InvalidInput("table", f"{name}: {error}") from None
    except (ValueError, RecursionError):
        file.seek(0)
        rows = [_object(line, name, number) for number, line in enumerate(file, 1) if line.strip(SPACE)]
    if isinstance(rows, dict) and all(isinstance(column, list) for column in rows.values()):
        return rows
    rows = [rows] if isinstance(rows, dict) else rows
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        expected = f"a list of JSON objects in {name}"
        raise checks.InvalidInput("table", expected=expected, got=checks.shown(rows), remedy="convert it")
    columns = dict.fromkeys(key for row in rows for key in row)
    return {key: [row.get(key) for row in rows] for key in columns}


@contextmanager
def opened(path: Path, suffixes: Mapping[str, str] = SUFFIXES) -> Iterator[BinaryIO]:
    """The bytes of a log, unpacked, which can be read twice."""
    if str(path) == STANDARD_INPUT:
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            packed = _begin(copy, len(GZIP)) == GZIP
            yield cast(BinaryIO, gzip.GzipFile(fileobj=copy) if packed else copy)
        return
    if path.is_dir():
        remedy = f"name a file in it, or all of one kind as in '{path / '*.csv'}'"
        raise checks.InvalidInput("log", f"{path} is a folder, a file was expected", remedy)
    if not path.is_file():
        if path.exists():
            raise checks.InvalidInput("log", f"{path} is no file that can be read twice", "use - and standard input")
        raise checks.InvalidInput("log", f"there is no file {path}", "check the path")
    if kind_of(path, suffixes) is None:
        expected = f"a file whose name ends in {', '.join(suffixes)}"
        raise checks.InvalidInput("log", expected=expected, got=path.name, remedy="convert it")
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        yield cast(BinaryIO, file)


def _begin(file: BinaryIO | IO[bytes], size: int) -> bytes:
    file.seek(0)
    first = file.read(size)
    file.seek(0)
    return first


def _content(file: BinaryIO) -> str:
    """What standard input is, by how it begins."""
    first = _begin(file, 64)
    if first.startswith(PARQUET):
        return "parquet"
    return "jsonl" if first.lstrip(SPACE).startswith((b"{", b"[")) else "csv"


def _reader(kind: str) -> Reader:
    return {"parquet": read_parquet, "jsonl": read_json_lines, "csv": _read_csv}[kind]


def _read_csv(file: BinaryIO, name: str, wanted: Sequence[str]) -> Iterator[dict[str, Column]]:
    read = read_arrow_csv if _is_large(file) and find_spec("pyarrow") else read_csv
    return read(file, name, layout(file, name, wanted))


def _is_large(file: BinaryIO) -> bool:
    """Whether there is more to read than loading pyarrow takes."""
    file.seek(SMALL_FILE)
    more = bool(file.read(1))
    file.seek(0)
    return more


def read_json_lines(file: BinaryIO, name: str, wanted: Sequence[str]) -> Iterator[dict[str, Column]]:
    r"""The wanted columns of a file with one JSON object a line, some rows at a time.

    >>> import io
    >>> file = io.BytesIO(b'{"arm": "a", "reward": 1}\n{"arm": "b", "reward": true}\n')
    >>> [chunk["reward"].numbers() for chunk in read_json_lines(file, "log.jsonl", ["arm", "reward"])]
    [array([1., 1.])]
    """
    rows = (_object(line, name, number) for number, line in enumerate(file, 1) if line.strip(SPACE))
    seen: dict[str, None] = {}
    while chunk := list(islice(rows, ROWS)):
        for row in chunk:
            seen.update(dict.fromkeys(row))
        names = {wish: _spelling(list(seen), wish) for wish in wanted}
        yield {wish: Values([row.get(column) for row in chunk]) for wish, column in names.items()}
    if seen:
        places(list(seen), wanted)


def _spelling(seen: list[str], wish: str) -> str:
    """The key of a column that is there, or may come later."""
    return next((key for key in seen if key.strip() == wish.strip()), wish) if wish not in seen else wish


def _object(line: bytes, name: str, number: int) -> dict[str, Any]:
    try:
        row = loads(line.decode("utf-8-sig"))
    except Repeated as error:
        raise checks.InvalidInput("log", f"line {number} of {name}: {error}") from None
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        got = checks.shown(line.decode("utf-8", "replace").strip())
        raise checks.InvalidInput(
            "log", expected=f"a JSON object in line {number} of {name}", got=got, remedy="write one trial a line"
        )
    return row
