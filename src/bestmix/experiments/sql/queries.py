"""From the tables' rows to values and back, and the calls that only read."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import sqlalchemy as sa
import sqlalchemy.dialects.sqlite

from bestmix.answers.item_sums import ItemSum
from bestmix.answers.moments import Moments
from bestmix.answers.recommendation import Round
from bestmix.experiments.model import Event, Record, Row, RunState, State, TrialQuery, moment
from bestmix.experiments.sql import tables
from bestmix.experiments.sql.spool import Spool
from bestmix.experiments.store import Contents, Head, TrafficContents, discounted, gone, state_of
from bestmix.experiments.traffic_model import EdgeRow, Version

t, x = tables.trials.c, tables.experiments.c
DIALECT = sa.dialects.sqlite.dialect(paramstyle="named")
CHANGING = ("state", "open", "deadline", "expires", "told", "reward", "costs", "note")  # columns of a trial
HEAD = [f.name for f in fields(Head)]
ODD = "state NOT IN ('leased', 'complete')"


def by_index(index: str, condition: str, dialect: str) -> sa.Select[Any]:
    """Trials of an experiment that a partial index holds.

    The condition is that of the index, literally. SQLite would take the primary key even so, and read
    every trial; it is told. PostgreSQL finds out from its statistics.
    """
    source = f"trials INDEXED BY {index}" if dialect == "sqlite" else "trials"
    columns = [sa.literal_column(column.name, column.type).label(column.name) for column in tables.trials.c]
    return sa.select(*columns).select_from(sa.text(source)).where(sa.text(f"experiment = :e AND {condition}"))


def sqlite_text(statement: sa.Executable) -> str:
    """A statement as SQLite takes it, so that it is made once and not looked up for every call.

    >>> sqlite_text(sa.select(x.id).where(x.key == sa.bindparam("key"))).split()[-1]
    ':key'
    """
    return str(statement.compile(dialect=DIALECT))  # type: ignore[attr-defined]


def record(found: Mapping[Any, Any]) -> Record:
    """What is fixed of an experiment."""
    return Record(
        found["key"],
        found["name"],
        json.loads(found["problem"]),
        json.loads(found["strategy"]),
        found["first_budget"],
        found["lease"],
        found["failures"],
        None if found["items"] is None else json.loads(found["items"]),
    )


def head(found: Mapping[Any, Any]) -> Head:
    """What calls change."""
    return Head(**{name: found[name] for name in HEAD})


def row(found: Sequence[Any]) -> Row:
    """A trial, from the columns of its table; others may follow."""
    number, slot, arm, round_, worker, deadline, expires, asked, state, open_, told, reward, costs, note, item = found[
        1:16
    ]
    values = None if reward is None else (reward, *json.loads(costs))
    times = deadline, expires, asked
    return Row(number, slot, arm, round_, worker, *times, state, bool(open_), told, values, note, item)


def columns(row: Row) -> dict[str, Any]:
    """A trial as the table holds it."""
    data = dict(vars(row))
    values = data.pop("values")
    data["reward"], data["costs"] = (None, None) if values is None else (values[0], json.dumps(values[1:]))
    return data


def changing(row: Row) -> dict[str, Any]:
    """The columns that calls change, with the trial's number."""
    data = columns(row)
    return {name: data[name] for name in ("number", *CHANGING)}


def state(connection: sa.Connection, key: str) -> State:
    """The experiment's figures."""
    wanted = sa.select(tables.heads, tables.experiments).join(tables.experiments).where(x.key == key)
    found = connection.execute(wanted).mappings().one_or_none()
    if found is None:
        raise gone()
    return shown(connection, found)


def shown(connection: sa.Connection, found: Any) -> State:
    """The figures of an experiment with what its log counts less, where it has a weight."""
    less = 0
    if found["log_weight"] != 1.0:
        logs = sa.select(tables.arms.c.earlier).where(tables.arms.c.experiment == found["id"])
        sums = [Moments.from_dict(json.loads(log)) for (log,) in connection.execute(logs) if log is not None]
        less = discounted(sums, found["log_weight"])
    return state_of(head(found), found["created"], less)


def run_state(connection: sa.Connection, key: str) -> RunState:
    """Figures, memory, sums and rounds of one moment."""
    number, memory, weight, text, items = find(connection, key)
    a, r = tables.arms.c, tables.rounds.c
    arms = connection.execute(sa.select(a.moments, a.earlier).where(a.experiment == number).order_by(a.arm)).all()
    rounds = connection.execute(sa.select(r.data, r.mixture).where(r.experiment == number).order_by(r.number)).all()
    return RunState(
        state(connection, key),
        json.loads(memory),
        [Moments.from_dict(json.loads(text)) for text, _ in arms],
        [Round.from_dict(json.loads(text)) for text, _ in rounds],
        [None if mixture is None else json.loads(mixture) for _, mixture in rounds],
        [None if log is None else Moments.from_dict(json.loads(log)) for _, log in arms],
        weight,
        text,
        {} if items is None else item_sums(connection, number),
    )


def item_sums(connection: sa.Connection, experiment: int) -> dict[tuple[int, int], ItemSum]:
    """Sums of results by item and arm."""
    s = tables.item_sums.c
    wanted = sa.select(s.item, s.arm, s.count, s.totals).where(s.experiment == experiment).order_by(s.item, s.arm)
    return {(item, arm): item_sum(count, totals) for item, arm, count, totals in connection.execute(wanted)}


def item_sum(count: int, totals: str) -> ItemSum:
    """Sums of one item and arm."""
    return ItemSum.from_list([count, json.loads(totals)])


def items(connection: sa.Connection, key: str) -> list[str]:
    """The texts of an experiment's items."""
    number, i = find(connection, key)[0], tables.items.c
    return list(connection.execute(sa.select(i.name).where(i.experiment == number).order_by(i.item)).scalars())


def contents(connection: sa.Connection, key: str, state: str | None, with_events: bool) -> Contents:
    """Everything at one moment."""
    number, *_ = find(connection, key)
    a, k = tables.arms.c, tables.asks.c
    whole = sa.select(tables.heads, tables.experiments).join(tables.experiments).where(x.key == key)
    found = connection.execute(whole).mappings().one_or_none()
    if found is None:
        raise gone()
    arms = connection.execute(sa.select(a.due, a.count, a.handed).where(a.experiment == number).order_by(a.arm)).all()
    asks = connection.execute(sa.select(k.key, k.first, k.count).where(k.experiment == number)).all()
    happened = select_events(connection, number, 0, None) if with_events else []
    return Contents(
        record(found),
        head(found),
        run_state(connection, key),
        [due for due, _, _ in arms],
        [count for _, count, _ in arms],
        [(name, first, count) for name, first, count in asks],
        Spool(select_trials(connection, number, TrialQuery(state))),
        Spool(happened),
        traffic(connection, key),
        [handed for _, _, handed in arms],
        items(connection, key),
    )


def trials(connection: sa.Connection, key: str, query: TrialQuery) -> list[Row]:
    """Trials in the order of their numbers, or the other way round."""
    return list(select_trials(connection, find(connection, key)[0], query))


def select_trials(connection: sa.Connection, experiment: int, query: TrialQuery) -> Iterator[Row]:
    """The trials of an experiment, read as they are asked for."""
    dialect = connection.dialect.name
    wanted = by_index("trials_odd", ODD, dialect)
    if query.state == "leased":
        wanted = by_index("trials_leased", "state = 'leased'", dialect)
    elif query.state in (None, "complete"):
        wanted = sa.select(tables.trials).where(t.experiment == sa.bindparam("e"))
    if not query.newest_first:
        wanted = wanted.where(sa.text("number > :after"))
    elif query.after:
        wanted = wanted.where(sa.text("number < :after"))
    for name in ("state", "arm", "worker"):
        if getattr(query, name) is not None:
            wanted = wanted.where(sa.text(f"{name} = :{name}"))
    wanted = wanted.order_by(sa.text("number DESC" if query.newest_first else "number")).limit(query.limit)
    return map(row, connection.execute(wanted, {"e": experiment, **vars(query)}))


def events(connection: sa.Connection, key: str, after: int, limit: int) -> list[Event]:
    """Events in order."""
    return list(select_events(connection, find(connection, key)[0], after, limit))


def select_events(connection: sa.Connection, experiment: int, after: int, limit: int | None) -> Iterator[Event]:
    """The events of an experiment, read as they are asked for."""
    e = tables.events.c
    wanted = sa.select(e.number, e.kind, e.data, e.at).where(e.experiment == experiment, e.number > after)
    found = connection.execute(wanted.order_by(e.number).limit(limit))
    return (Event(n, kind, json.loads(data), moment(at)) for n, kind, data, at in found)


def version(found: Any, evidence: bool = False) -> Version:
    """Weights that were published."""
    sums = [Moments.from_dict(data) for data in json.loads(found.evidence)] if evidence else []
    return Version.from_dict(json.loads(found.data), sums)


def newest_version(connection: sa.Connection, key: str) -> tuple[State, Version | None, int]:
    """Figures, the newest weights, and the requests that their round still waits for."""
    v, h = tables.versions.c, tables.heads.c
    number, *_ = find(connection, key)
    wanted = sa.select(v.data).where(v.experiment == number).order_by(v.number.desc()).limit(1)
    found = connection.execute(wanted).one_or_none()
    owing = connection.execute(sa.select(h.owing).where(h.experiment == number)).scalar_one()
    return state(connection, key), None if found is None else version(found), owing


def traffic(connection: sa.Connection, key: str, last: int | None = None) -> TrafficContents:
    """All that is kept of live traffic, as it is at one moment; or the last versions with their sums alone."""
    number, *_ = find(connection, key)
    v, s, e = tables.versions.c, tables.sums.c, tables.edges.c
    newest = connection.execute(sa.select(sa.func.max(v.number)).where(v.experiment == number)).scalar_one() or 0
    first = 0 if last is None else newest - last + 1
    of_versions = sa.select(tables.versions).where(v.experiment == number, v.number >= first)
    of_sums = sa.select(tables.sums).where(s.experiment == number, sa.or_(s.version >= first, s.version == 0))
    versions = connection.execute(of_versions.order_by(v.number))
    sums = connection.execute(of_sums.order_by(s.version, s.arm))
    edges = connection.execute(sa.select(tables.edges).where(e.experiment == number).order_by(e.name))
    return TrafficContents(
        [version(found, evidence=last is None) for found in versions],
        {(found.version, found.arm): Moments.from_dict(json.loads(found.moments)) for found in sums},
        [EdgeRow(f.name, f.sequence, f.requests, f.version, f.at) for f in edges],
    )


def find(connection: sa.Connection, key: str) -> tuple[int, str, float, str | None, str | None]:
    """Number in the tables, the strategy's memory, what a result of the log counts, the problem as it is now, items."""
    wanted = sa.select(x.id, x.memory, x.log_weight, x.changed, x["items"]).where(x.key == key)
    found = connection.execute(wanted).one_or_none()
    if found is None:
        raise gone()
    return found[0], found[1], found[2], found[3], found[4]


def key(connection: sa.Connection, number: int) -> str:
    """The key of the experiment with this number in the tables."""
    found: str | None = connection.execute(sa.select(x.key).where(x.id == number)).scalar_one_or_none()
    if found is None:
        raise gone()
    return found
