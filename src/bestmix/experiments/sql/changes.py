"""What a call changes, gathered while it runs and written at its end in as few statements as can be.

SQLite takes many rows with one statement fastest one after another. PostgreSQL is asked once: all
changes are parts of a single statement, the rows of each given as one JSON text.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from bestmix.answers.item_sums import ItemSum
from bestmix.answers.moments import Moments
from bestmix.experiments.model import Row
from bestmix.experiments.sql import queries, tables
from bestmix.experiments.sql.driver import driver
from bestmix.experiments.traffic_model import EdgeRow

ID: sa.BindParameter[Any] = sa.bindparam("e")
KINDS: dict[type, str] = {sa.BigInteger: "bigint", sa.Double: "float8", sa.Text: "text", sa.Boolean: "boolean"}


@dataclass
class Changes:
    """Rows to be written; each row of a table is in here once at most."""

    added: list[Row] = field(default_factory=list)
    changed: dict[int, Row] = field(default_factory=dict)
    due: dict[int, int] = field(default_factory=dict)  # what is added to what an arm is due
    sums: dict[int, tuple[int, str]] = field(default_factory=dict)  # count and moments
    events: list[dict[str, Any]] = field(default_factory=list)
    head: dict[str, Any] | None = None
    edges: dict[str, EdgeRow] = field(default_factory=dict)
    traffic: dict[tuple[int, int], Moments] = field(default_factory=dict)  # sums by version and arm
    by_item: dict[tuple[int, int], ItemSum] = field(default_factory=dict)  # sums by item and arm

    def copied(self) -> "Changes":
        """The same, which further changes of this one leave alone."""
        own = [*self.added], {**self.changed}, {**self.due}, {**self.sums}, [*self.events], self.head
        return Changes(*own, {**self.edges}, {**self.traffic}, {**self.by_item})

    def parts(self) -> "list[tuple[Part, list[dict[str, Any]]]]":
        """The parts of the tables that change, with their rows."""
        rows = [
            (ADD, [queries.columns(row) for row in self.added]),
            (CHANGE, [queries.changing(row) for row in self.changed.values()]),
            (SUMS, [{"arm": a, "count": n, "moments": m} for a, (n, m) in self.sums.items() if a not in self.due]),
            (DUE, [{"arm": a, "due": n} for a, n in self.due.items() if n and a not in self.sums]),
            (BOTH, [self._both(arm) for arm in self.due if arm in self.sums]),
            (EVENTS, self.events),
            (EDGES, [dict(vars(edge)) for edge in self.edges.values()]),
            (TRAFFIC, [sums_entry(version, arm, m) for (version, arm), m in self.traffic.items()]),
            (ITEMS, [item_entry(item, arm, found) for (item, arm), found in self.by_item.items()]),
            (HEAD, [] if self.head is None else [self.head]),
        ]
        return [(part, found) for part, found in rows if found]

    def _both(self, arm: int) -> dict[str, Any]:
        count, moments = self.sums[arm]
        return {"arm": arm, "count": count, "moments": moments, "due": self.due[arm]}


class Part:
    """One kind of change: an insert into a table or an update of it, in both dialects.

    SQLite is given the values that ``pick`` chooses, then the experiment: by name each of them would be looked up.
    """

    one: str  # for SQLite
    many: str  # for PostgreSQL
    pick: Callable[[Mapping[str, Any]], tuple[Any, ...]]

    def __init__(self, table: sa.Table, keys: Sequence[str], columns: Sequence[str], added: str = "") -> None:
        names = [*keys, *columns]
        listed = ", ".join(names)
        kinds = ", ".join(f"{name} {_kind(table.c[name])}" for name in names)
        source = f"json_to_recordset(%(r{{0}})s::json) AS r({kinds})"
        if not keys:
            chosen = ", ".join(f"r.{name}" for name in names)
            self.one, self.pick = _insertion(table, names), itemgetter(*names)
            self.many = f"INSERT INTO {table.name} (experiment, {listed}) SELECT %(e)s, {chosen} FROM {source}"
            return
        others = [key for key in keys if key != "experiment"]
        new = ", ".join(f"{c} = {f'{c} + ' if c == added else ''}?" for c in columns)
        same = [f"{key} = ?" for key in [*others, "experiment"]]
        self.one = f"UPDATE {table.name} SET {new} WHERE {' AND '.join(same)}"
        self.pick = itemgetter(*columns, *others)
        new = ", ".join(f"{c} = {'t.' + c + ' + ' if c == added else ''}r.{c}" for c in columns)
        same = ["t.experiment = %(e)s", *(f"t.{key} = r.{key}" for key in others)]
        if "number" in keys:  # else a young table's statistics make it read all trials of the experiment
            same.append("t.number = ANY(%(numbers)s::bigint[])")
        self.many = f"UPDATE {table.name} AS t SET {new} FROM {source} WHERE {' AND '.join(same)}"


class Put(Part):
    """A row of a table that is there or not: written anew, or for the first time."""

    def __init__(self, table: sa.Table) -> None:
        names = [name for name in table.c.keys() if name != "experiment"]  # noqa: SIM118
        keys, listed = table.primary_key.columns.keys(), ", ".join(names)
        new = ", ".join(f"{name} = excluded.{name}" for name in names if name not in keys)
        whole = f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {new}"
        self.one, self.pick = f"{_insertion(table, names)} {whole}", itemgetter(*names)
        kinds = ", ".join(f"{name} {_kind(table.c[name])}" for name in names)
        source = f"json_to_recordset(%(r{{0}})s::json) AS r({kinds})"
        chosen = ", ".join(f"r.{name}" for name in names)
        self.many = f"INSERT INTO {table.name} (experiment, {listed}) SELECT %(e)s, {chosen} FROM {source} {whole}"


def _insertion(table: sa.Table, names: Sequence[str]) -> str:
    return f"INSERT INTO {table.name} ({', '.join(names)}, experiment) VALUES ({'?, ' * len(names)}?)"


def sums_entry(version: int, arm: int, sums: Moments) -> dict[str, Any]:
    """Sums of a version as their table holds them."""
    return {"version": version, "arm": arm, "count": sums.count, "moments": json.dumps(sums.to_dict())}


def item_entry(item: int, arm: int, found: ItemSum) -> dict[str, Any]:
    """Sums of an item and an arm as their table holds them."""
    count, totals = found.to_list()
    return {"item": item, "arm": arm, "count": count, "totals": json.dumps(totals)}


def _kind(column: sa.Column[Any]) -> str:
    return next(name for kind, name in KINDS.items() if isinstance(column.type, kind))


HEADS = [name for name in tables.heads.c.keys() if name != "experiment"]  # noqa: SIM118
ADD = Part(tables.trials, [], [name for name in tables.trials.c.keys() if name != "experiment"])  # noqa: SIM118
CHANGE = Part(tables.trials, ["number"], queries.CHANGING)
SUMS = Part(tables.arms, ["arm"], ["count", "moments"])
DUE = Part(tables.arms, ["arm"], ["due"], added="due")
BOTH = Part(tables.arms, ["arm"], ["count", "moments", "due"], added="due")
EVENTS = Part(tables.events, [], ["number", "kind", "data", "at"])
EDGES, TRAFFIC, ITEMS = Put(tables.edges), Put(tables.sums), Put(tables.item_sums)
HEAD = Part(tables.heads, ["experiment"], HEADS)


def write(connection: sa.Connection, experiment: int, changes: Changes) -> None:
    """Write all of it."""
    if connection.dialect.name == "sqlite":
        with driver(connection) as own:
            for part, rows in changes.parts():
                own.executemany(part.one, [(*part.pick(row), experiment) for row in rows])
        return
    statement, values = one_statement(experiment, changes)
    if statement is not None:
        connection.exec_driver_sql(statement, values)


def one_statement(experiment: int, changes: Changes) -> tuple[str | None, dict[str, Any]]:
    """All changes as one statement of PostgreSQL, with its values; None when there are none."""
    parts = changes.parts()
    texts = {f"r{i}": json.dumps(rows) for i, (_, rows) in enumerate(parts)}
    given = {"e": experiment, "numbers": list(changes.changed), **texts}
    return _statement(tuple(part for part, _ in parts)) if parts else None, given


@cache
def _statement(parts: tuple[Part, ...]) -> str:
    return f"WITH {', '.join(f'p{i} AS ({part.many.format(i)})' for i, part in enumerate(parts))} SELECT 1"
