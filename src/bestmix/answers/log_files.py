"""Logs in files: CSV, JSON Lines and Parquet, compressed or not, and standard input."""

import gzip
import json
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from bestmix import checks
from bestmix.answers.log_arrow import read_arrow_csv, read_parquet
from bestmix.answers.log_columns import Column, Values, places
from bestmix.answers.log_csv import ROWS, layout, read_csv

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
GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
SPACE = b"\xef\xbb\xbf \t\r\n"  # what may stand before the first object, a byte order mark too

Reader = Callable[[BinaryIO, str, Sequence[str]], Iterator[dict[str, Column]]]


def is_log(text: str) -> bool:
    """Whether a text is the name of a log: a file by how its name ends, or standard input.

    >>> is_log("trials.csv.gz"), is_log("-"), is_log("guess.toml")
    (True, True, False)
    """
    return text == STANDARD_INPUT or _kind(Path(text)) is not None


def log_name(path: Path) -> str:
    """What a log is called in titles.

    >>> log_name(Path("a/trials.csv")), log_name(Path("-"))
    ('trials.csv', 'standard input')
    """
    return "standard input" if str(path) == STANDARD_INPUT else path.name


def _kind(path: Path) -> str | None:
    return next((kind for end, kind in SUFFIXES.items() if path.name.lower().endswith(end)), None)


def read_file(path: Path, wanted: Sequence[str]) -> Iterator[dict[str, Column]]:
    """The wanted columns of a log, some rows at a time."""
    name = "standard input" if str(path) == STANDARD_INPUT else str(path)
    with _opened(path) as file:
        try:
            yield from _reader(_kind(path) or _content(file))(file, name, wanted)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise checks.InvalidInput("log", f"{name} is no whole gzip file ({error})", "compress it again") from None


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a log, unpacked, which can be read twice."""
    if str(path) == STANDARD_INPUT:
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            packed = _begin(copy, len(GZIP)) == GZIP
            yield cast(BinaryIO, gzip.GzipFile(fileobj=copy) if packed else copy)
        return
    if not path.is_file():
        raise checks.InvalidInput("log", f"there is no file {path}", "check the path")
    if _kind(path) is None:
        expected = f"a file whose name ends in {', '.join(SUFFIXES)}"
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
    return "parquet" if first.startswith(PARQUET) else "jsonl" if first.lstrip(SPACE).startswith(b"{") else "csv"


def _reader(kind: str) -> Reader:
    return {"parquet": read_parquet, "jsonl": read_json_lines, "csv": _read_csv}[kind]


def _read_csv(file: BinaryIO, name: str, wanted: Sequence[str]) -> Iterator[dict[str, Column]]:
    read = read_arrow_csv if find_spec("pyarrow") else read_csv
    return read(file, name, layout(file, name, wanted))


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
        row = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        got = checks.shown(line.decode("utf-8", "replace").strip())
        raise checks.InvalidInput(
            "log", expected=f"a JSON object in line {number} of {name}", got=got, remedy="write one trial a line"
        )
    return row
