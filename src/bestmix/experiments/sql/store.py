"""The store in a database: SQLite in one file, or PostgreSQL."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import exc

from bestmix.experiments.clock import Clock, SystemClock
from bestmix.experiments.errors import StorageError
from bestmix.experiments.model import Draft, Event, Record, Row, RunState, State, TrialQuery
from bestmix.experiments.sql import changes, postgres, queries, schema, tables
from bestmix.experiments.sql.database import Database
from bestmix.experiments.sql.group_commit import Call, GroupCommit, NotUndoneError, Refusal
from bestmix.experiments.sql.transaction import SELDOM, SqlTransaction, round_entries, version_entry
from bestmix.experiments.store import (
    NO_PREFETCH,
    Contents,
    Joint,
    Prefetch,
    T,
    TrafficContents,
    birth,
    gone,
    opening,
)
from bestmix.experiments.traffic_model import Version

if TYPE_CHECKING:
    import asyncio

PAGE = 10_000  # trials of a log that are written at a time

h, x = tables.heads.c, tables.experiments.c
LOAD = sa.select(tables.heads, tables.experiments).join(tables.experiments, x.id == h.experiment)
FIND = sa.select(tables.experiments).where(x.key == sa.bindparam("key"))


class SqlStore:
    """Experiments in a database; any number of processes and machines may use it at once."""

    def __init__(self, database: Database, clock: Clock | None = None) -> None:
        self.database = database
        self.clock: Clock = clock or SystemClock()
        self._known: dict[str, tuple[int, Record]] = {}  # what is fixed of experiments, by key
        self._group_commit = GroupCommit(self._write)
        schema.ready(database)

    def create(self, draft: Draft) -> bool:
        """Write a new experiment."""
        return self.database.write(lambda connection: self._create(connection, draft))

    def _create(self, connection: sa.Connection, draft: Draft) -> bool:
        held = connection.execute(sa.select(x.key).where(x.name == draft.record.name)).scalar_one_or_none()
        if held is not None:  # its own key: the answer to the first attempt was lost
            return bool(held == draft.record.key)
        now = self.clock.now()
        head = asdict(opening(draft, self.clock, now))
        seldom = {name: head.pop(name) for name in SELDOM}
        fixed = asdict(draft.record) | {
            "problem": json.dumps(draft.record.problem),
            "strategy": json.dumps(draft.record.strategy),
            "items": None if draft.record.items is None else json.dumps(dict(draft.record.items)),
            "memory": json.dumps(draft.memory),
            "created": now,
            "log_weight": draft.weight,
        }
        made = connection.execute(sa.insert(tables.experiments).values(fixed | seldom).returning(x.id)).scalar_one()
        quota = draft.quota or [0] * len(draft.moments)
        sums = [{"count": m.count, "moments": json.dumps(m.to_dict())} for m in draft.moments]
        earlier = [*draft.earlier] or [None] * len(sums)
        logs = [None if m is None else json.dumps(m.to_dict()) for m in earlier]
        data = json.dumps(birth(draft))
        rows = {
            tables.heads: [head | {"events": 1}],
            tables.arms: [
                {"arm": i, "due": due, "earlier": log, **s}
                for i, (due, log, s) in enumerate(zip(quota, logs, sums, strict=True))
            ],
            tables.rounds: round_entries(draft.rounds, now),
            tables.events: [{"number": 1, "kind": "created", "data": data, "at": now}],
            tables.items: [{"item": place, "name": name} for place, name in enumerate(draft.items)],
        }
        if draft.version is not None:
            before = {arm: m for arm, m in enumerate(draft.moments) if m.count}
            entries = [changes.sums_entry(0, arm, sums) for arm, sums in before.items()]
            rows |= {tables.versions: [version_entry(draft.version)], tables.sums: entries}
        for table, entries in rows.items():
            if entries:
                connection.execute(sa.insert(table), [{"experiment": made, **entry} for entry in entries])
        for start in range(0, len(draft.rows), PAGE):
            changes.write(connection, made, changes.Changes(added=draft.rows[start : start + PAGE]))
        if draft.by_item:
            changes.write(connection, made, changes.Changes(by_item=dict(draft.by_item)))
        return True

    def find(self, name: str) -> Record | None:
        """The experiment of that name."""
        wanted = sa.select(tables.experiments).where(x.name == name)
        found = self.database.read(lambda connection: connection.execute(wanted).mappings().one_or_none())
        return None if found is None else queries.record(found)

    def record(self, key: str) -> Record | None:
        """The experiment with that key."""
        wanted = sa.select(tables.experiments).where(x.key == key)
        found = self.database.read(lambda connection: connection.execute(wanted).mappings().one_or_none())
        return None if found is None else queries.record(found)

    def entries(self, after: str = "", limit: int | None = None) -> list[tuple[Record, State]]:
        """Experiments in the order of their names."""
        order = x.name.collate("C") if not self.database.sqlite else x.name
        wanted = LOAD.where(order > after).order_by(order).limit(limit)

        def read(connection: sa.Connection) -> list[tuple[Record, State]]:
            found = connection.execute(wanted).mappings().all()
            return [(queries.record(f), queries.shown(connection, f)) for f in found]

        return self.database.read(read)

    def write(self, key: str, work: Callable[[SqlTransaction], T], prefetch: Prefetch = NO_PREFETCH) -> T:
        """Do work in one transaction, which other threads' work may be part of."""
        return self._group_commit.run(key, work, prefetch)

    def submit(
        self, key: str, work: Callable[[SqlTransaction], T], prefetch: Prefetch = NO_PREFETCH
    ) -> "asyncio.Future[T]":
        """As ``write``, for a caller in an event loop."""
        return self._group_commit.submit(key, work, prefetch)

    def _write(self, key: str, calls: Sequence[Call]) -> list[Any]:
        return self.database.write(partial(self._attempt, key, calls))

    def _attempt(self, key: str, calls: Sequence[Call], connection: sa.Connection) -> list[Any]:
        if key not in self._known:
            found = connection.execute(FIND, {"key": key}).mappings().one_or_none()
            if found is None:
                raise gone()
            self._known[key] = found["id"], queries.record(found)
        prefetch = Prefetch(
            [n for call in calls for n in call.prefetch.trials], max(call.prefetch.due_arms for call in calls)
        )
        transaction = SqlTransaction(connection, *self._known[key], self.clock, prefetch)
        results: list[Any] = []
        for _, group in groupby(calls, _kind):
            results += self._calls(transaction, list(group), alone=len(calls) == 1)
        transaction.save()
        return results

    def _calls(self, transaction: SqlTransaction, calls: list[Call], alone: bool) -> list[Any]:
        """The results of calls of one kind, in one pass where they can be."""
        joint = [call.work for call in calls if isinstance(call.work, Joint)]
        if len(joint) > 1:
            transaction.begin_call()
            try:
                answers = joint[0].many(transaction, [work.brings for work in joint])
                return [Refusal(answer) if isinstance(answer, Exception) else answer for answer in answers]
            except (exc.SQLAlchemyError, StorageError):
                raise
            except Exception:
                if not transaction.undo_call():
                    raise  # each has a transaction of its own then
        return [self._call(transaction, call, alone) for call in calls]

    def _call(self, transaction: SqlTransaction, call: Call, alone: bool) -> Any:
        """The call's result, or its refusal when it was undone and others share the transaction."""
        transaction.begin_call()
        try:
            result = call.work(transaction)
            transaction.check_name()
        except (exc.SQLAlchemyError, StorageError):
            raise  # the database's trouble is everybody's
        except Exception as error:
            if alone:
                raise
            if not transaction.undo_call():
                raise NotUndoneError(call) from error
            return Refusal(error)
        return result

    def state(self, key: str) -> State:
        """The experiment's figures."""
        return self.database.read(lambda connection: queries.state(connection, key))

    def run_state(self, key: str) -> RunState:
        """Figures, memory, sums and rounds of one moment."""
        return self.database.read(lambda connection: queries.run_state(connection, key))

    def changed(self, key: str) -> str | None:
        """The problem as it is now, where it was changed."""
        return self.database.read(lambda connection: queries.find(connection, key))[3]

    def items(self, key: str) -> list[str]:
        """The texts of its items."""
        return self.database.read(lambda connection: queries.items(connection, key))

    def contents(self, key: str, state: str | None = None, events: bool = False) -> Contents:
        """Everything at one moment."""
        return self.database.read(lambda connection: queries.contents(connection, key, state, events))

    def trials(self, key: str, query: TrialQuery) -> list[Row]:
        """Trials in the order of their numbers."""
        return self.database.read(lambda connection: queries.trials(connection, key, query))

    def events(self, key: str, after: int, limit: int) -> list[Event]:
        """Events in order."""
        return self.database.read(lambda connection: queries.events(connection, key, after, limit))

    def version(self, key: str) -> tuple[State, Version | None, int]:
        """Figures, the newest weights, and the requests that their round still waits for."""
        return self.database.read(lambda connection: queries.newest_version(connection, key))

    def traffic(self, key: str, last: int | None = None) -> TrafficContents:
        """All that is kept of live traffic, or its last versions."""
        return self.database.read(lambda connection: queries.traffic(connection, key, last))

    def delete(self, key: str) -> None:
        """Remove the experiment."""
        self.database.write(partial(self._delete, key))

    def _delete(self, key: str, connection: sa.Connection) -> None:
        number = connection.execute(sa.select(x.id).where(x.key == key)).scalar_one_or_none()
        if number is not None:
            if not self.database.sqlite:
                connection.exec_driver_sql(postgres.lock(number))
            connection.execute(sa.delete(tables.experiments).where(x.id == number))

    def ping(self, patience: float) -> None:
        """Raise an error unless the database answers."""
        self.database.read(lambda connection: connection.execute(sa.select(1)), patience)

    def close(self) -> None:
        """Let go of files and connections."""
        self._group_commit.close()
        self.database.close()


def _kind(call: Call) -> Any:
    """What calls have in common that can be done in one pass."""
    return call.work.many if isinstance(call.work, Joint) else call
