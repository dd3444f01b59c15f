"""TOML and JSON files of plain data: read with clear errors, written whole or not at all."""

import csv
import io
import json
import os
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tomli_w

from bestmix import checks


class Repeated(ValueError):
    """A name that stands twice in an object of JSON."""


def loads(text: str | bytes) -> Any:
    """What JSON says, in whose objects no name may stand twice: as in TOML, where one of the values would be lost."""
    return json.loads(text, object_pairs_hook=_table)


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise Repeated(f"{name!r} stands there twice; remove one")
            seen.add(name)
    return table


def read(path: str | os.PathLike[str], what: str = "a table") -> dict[str, Any]:
    """The table in a ``.toml`` or ``.json`` file; ``what`` is wanted there."""
    path = Path(path)
    if path.is_dir():
        raise checks.InvalidInput(path, "it is a folder, a file was expected", "name a file in it")
    suffix = _suffix(path, f"{what} in a file", "give one")
    if not path.is_file():
        raise checks.InvalidInput(path, "there is no such file", "check the path")
    try:
        text = path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError) as error:
        raise checks.InvalidInput(path, f"not a text file in UTF-8 ({error})", "write it again") from None
    try:
        data = tomllib.loads(text) if suffix == ".toml" else loads(text)
    except ValueError as error:
        raise checks.InvalidInput(path, f"not valid {suffix[1:].upper()}: {error}") from None
    if not isinstance(data, dict):
        raise checks.InvalidInput(
            path, expected="a table of named values", got=f"a {type(data).__name__}", remedy="see the file formats"
        )
    return data


def write(path: str | os.PathLike[str], data: dict[str, Any]) -> None:
    """Write a table; a crash leaves the old file or the new one, never a part of it."""
    path = Path(path)
    text = tomli_w.dumps(data) if _suffix(path) == ".toml" else json.dumps(data, indent=1) + "\n"
    write_text(path, text)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace the file's text in one step, after the new text is safely on disk."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    r"""Rows of the same keys as CSV; None is an empty cell.

    >>> csv_text([{"arm": "a", "pulls": 3}, {"arm": "b", "pulls": None}])
    'arm,pulls\na,3\nb,\n'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to be filled, which takes the place of ``path`` when all went well and it is safely on disk."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise checks.InvalidInput(path, "expected the name of a file in a folder that exists", "check the path")
    try:
        handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=".bestmix-")
    except OSError as error:
        raise checks.InvalidInput(
            path, f"it cannot be written there ({error.strerror})", "choose another place"
        ) from None
    os.close(handle)
    try:
        yield Path(name)
        with open(name, "rb") as written:
            os.fsync(written.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _suffix(path: Path, what: str = "a file", remedy: str = "rename it") -> str:
    suffix = path.suffix.lower()
    if suffix not in (".toml", ".json"):
        expected = f"{what} whose name ends in .toml or .json"
        raise checks.InvalidInput(path, expected=expected, got=path.suffix or "none", remedy=remedy)
    return suffix
