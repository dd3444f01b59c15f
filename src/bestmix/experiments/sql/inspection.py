"""The rows of every table, one by one: right types, texts that can be decoded, owners that exist.

SQLite keeps whatever is written into a column, and a damaged file holds anything. What is found here would
otherwise break a call half-way; what is sound here can be decoded, and ``audit.py`` goes on from there.
"""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from bestmix.experiments.sql import tables

JSON = {
    "problem": dict,
    "strategy": dict,
    "memory": dict,
    "moments": dict,
    "data": dict,
    "mixture": dict,
    "costs": list,
    "earlier": dict,
    "changed": dict,
    "evidence": list,
    "items": dict,
    "totals": list,
}  # columns of JSON text, with what stands in them
CHOICES = {"role": ("read", "work", "admin")}  # columns of a few words
TIMES = ("created", "ended", "expires", "asked", "told", "at", "revoked")  # seconds since 1970
LAST_TIME = 253_402_300_799.0  # the end of the year 9999
OWNED = [table for table in tables.metadata.sorted_tables if "experiment" in table.primary_key.columns]


class RowProblem(NamedTuple):
    """What is wrong with a row; ``experiment`` is its number in the tables, None for rows of none."""

    experiment: int | None
    text: str


def inspect(connection: sa.Connection) -> list[RowProblem]:
    """What is wrong with the rows of a database."""
    found = [problem for table in tables.metadata.sorted_tables for problem in _rows(connection, table)]
    return [*found, *_owners(connection)]


def names(connection: sa.Connection) -> dict[int, str]:
    """The experiments by their number in the tables, those as well that are too damaged to be listed."""
    return {number: str(name) for number, name in connection.exec_driver_sql("SELECT id, name FROM experiments")}


def _rows(connection: sa.Connection, table: sa.Table) -> Iterator[RowProblem]:
    columns = list(table.columns)
    listed = ", ".join(f'"{column.name}"' for column in columns)
    owner = table.primary_key.columns.keys()[0] if table in OWNED else "id" if table is tables.experiments else None
    for row in connection.exec_driver_sql(f"SELECT {listed} FROM {table.name}"):
        values = dict(zip(table.columns.keys(), row, strict=True))
        for column in columns:
            wrong = fault(column, values[column.name])
            if wrong is not None:
                place = " ".join(str(values[key]) for key in table.primary_key.columns.keys())  # noqa: SIM118
                number = values[owner] if owner is not None and isinstance(values[owner], int) else None
                yield RowProblem(number, f"{table.name} {place}: {column.name} {wrong}")


def fault(column: sa.Column[Any], value: Any) -> str | None:
    """What is wrong with a value of a column."""
    if value is None:
        return None if column.nullable else "is missing"
    if isinstance(column.type, sa.Boolean):
        return None if value in (0, 1) and isinstance(value, int) else f"is no truth value: {value!r:.50}"
    if isinstance(column.type, sa.Integer):
        return None if isinstance(value, int) else f"is no whole number: {value!r:.50}"
    if isinstance(column.type, sa.Double):
        return _wrong_number(column.name, value)
    if not isinstance(value, str):
        return f"is no text: {value!r:.50}"
    if column.name in CHOICES and value not in CHOICES[column.name]:
        return f"is none of {', '.join(CHOICES[column.name])}: {value!r:.50}"
    return _wrong_json(value, JSON[column.name]) if column.name in JSON else None


def _wrong_number(name: str, value: Any) -> str | None:
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return f"is no finite number: {value!r:.50}"
    return f"is no time: {value!r:.50}" if name in TIMES and not 0.0 <= value <= LAST_TIME else None


def _wrong_json(text: str, kind: type) -> str | None:
    try:
        data = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        return f"cannot be decoded ({error})"
    return None if isinstance(data, kind) else f"holds no {kind.__name__}: {text:.50}"


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _owners(connection: sa.Connection) -> Iterator[RowProblem]:
    """Rows of experiments that there are not, and experiments without their figures."""
    for table in OWNED:
        text = f"SELECT DISTINCT experiment FROM {table.name} WHERE experiment NOT IN (SELECT id FROM experiments)"
        for (number,) in connection.exec_driver_sql(text):
            yield RowProblem(None, f"{table.name}: rows of an experiment {number} that there is not")
    for number in headless(connection):
        yield RowProblem(number, "heads: its row of figures is missing")
    for name, column, first in (("arms", "arm", 0), ("rounds", "number", 1), ("versions", "number", 1)):
        text = f"SELECT experiment, count(*), min({column}), max({column}) FROM {name} GROUP BY experiment"
        for number, count, low, high in connection.exec_driver_sql(text):
            if (low, high) != (first, first + count - 1):
                yield RowProblem(number, f"{name}: they are not numbered from {first} to {first + count - 1}")


def headless(connection: sa.Connection) -> Sequence[int]:
    """Experiments without a row of figures."""
    text = "SELECT id FROM experiments WHERE id NOT IN (SELECT experiment FROM heads)"
    return [number for (number,) in connection.exec_driver_sql(text)]


def add_heads(connection: sa.Connection) -> int:
    """Give experiments that lack it a row of figures, to be derived from their trials; how many there were.

    Lease time goes on from the earliest moment that it can have been.
    """
    t, h = tables.trials.c, tables.heads.c
    figures = [c.name for c in h if c.name not in ("experiment", "clock", "boot", "tick", "earliest")]
    missing = headless(connection)
    for number in missing:
        lease = sa.select(tables.experiments.c.lease).where(tables.experiments.c.id == number)
        length = connection.execute(lease).scalar_one()
        last = connection.execute(sa.select(sa.func.max(t.deadline)).where(t.experiment == number)).scalar_one()
        clock = {"clock": max((last or 0.0) - length, 0.0), "boot": "", "tick": 0.0, "earliest": 0.0}
        values = {"experiment": number, **clock, **dict.fromkeys(figures, 0)}
        connection.execute(sa.insert(tables.heads).values(values))
    return len(missing)


def differs(connection: sa.Connection) -> list[str]:
    """Tables and indexes of an SQLite file that are not as this version makes them."""
    fresh = sa.create_engine("sqlite://")
    try:
        with fresh.begin() as made:
            tables.metadata.create_all(made)
            wanted = _described(made)
    finally:
        fresh.dispose()
    found = _described(connection)
    return [f"{name}: it is not as bestmix makes it" for name in wanted if found.get(name) != wanted[name]]


def _described(connection: sa.Connection) -> dict[str, Any]:
    """Columns, keys and indexes by table."""

    def rows(pragma: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in connection.exec_driver_sql(f"PRAGMA {pragma}")]

    found: dict[str, Any] = {}
    for table in tables.metadata.sorted_tables:
        columns = [row[1:4] + row[5:] for row in rows(f"table_info({table.name})")]
        keys = sorted(row[2:] for row in rows(f"foreign_key_list({table.name})"))
        unique = sorted(row[2:] for row in rows(f"index_list({table.name})") if row[3] != "c")
        found[table.name] = columns, keys, unique
        for index in table.indexes:
            found[str(index.name)] = rows(f"index_xinfo({index.name})"), _condition(connection, str(index.name))
    return found


def _condition(connection: sa.Connection, index: str) -> str:
    """Which rows an index holds."""
    text = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE name = ?", (index,)).scalar()
    return " ".join(str(text).partition(" WHERE ")[2].split())
