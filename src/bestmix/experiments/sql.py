"""The store in a database: SQLite in one file, or PostgreSQL."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import sqlalchemy as sa

from bestmix.experiments import reading, schema, tables
from bestmix.experiments.clock import Clock, SystemClock
from bestmix.experiments.database import Database
from bestmix.experiments.model import Draft, Event, Picture, Query, Record, Row, State
from bestmix.experiments.store import T, gone, opening, state_of, worth_writing
from bestmix.moments import Moments
from bestmix.recommendation import Round, finite
from bestmix.strategies.search import Memory

SELDOM = ("name", "status", "reason", "notes", "budget", "ended")  # fields of Head kept with the experiment

t, a, h, x = tables.trials.c, tables.arms.c, tables.heads.c, tables.experiments.c
ID: sa.BindParameter[Any] = sa.bindparam("e")
N: sa.BindParameter[Any] = sa.bindparam("n")
mine, mine_arm = t.experiment == ID, a.experiment == ID

LOAD = sa.select(tables.heads, tables.experiments).join(tables.experiments, x.id == h.experiment)
LOCK = LOAD.where(x.key == sa.bindparam("key")).with_for_update(of=tables.heads)
ROWS = sa.select(tables.trials).where(mine)
FEW = ROWS.where(t.number.in_(sa.bindparam("numbers", expanding=True)))
RANGE = ROWS.where(t.number.between(sa.bindparam("first"), sa.bindparam("last"))).order_by(t.number)
# The literal conditions are those of the partial indexes, which are used only when they are found here.
SLOT = ROWS.where(t.number == N).union_all(ROWS.where(sa.text("slot <> number"), t.slot == N))
LATE = (
    sa.update(tables.trials)
    .where(mine, sa.text("state = 'leased'"), t.deadline <= sa.bindparam("time"))
    .values(state="expired", open=True)
)
FIRST = sa.select(sa.func.min(t.deadline)).where(mine, sa.text("state = 'leased'"))
RETURNED = ROWS.where(sa.text("open")).order_by(t.number).limit(N)
FRESH = sa.select(a.arm, a.due).where(mine_arm, a.due > 0).order_by(a.due.desc(), a.arm).limit(N)
MORE_DUE = sa.update(tables.arms).where(mine_arm, a.arm == sa.bindparam("b")).values(due=a.due + sa.bindparam("more"))
ARMS = sa.select(a.arm, a.moments).where(mine_arm)
SOME_ARMS = ARMS.where(a.arm.in_(sa.bindparam("numbers", expanding=True)))
KEEP = (
    sa.update(tables.arms)
    .where(mine_arm, a.arm == sa.bindparam("b"))
    .values(moments=sa.bindparam("sums"), count=sa.bindparam("c"))
)
UPDATE = (
    sa.update(tables.trials)
    .where(mine, t.number == N)
    .values({name: sa.bindparam(f"new_{name}") for name in reading.CHANGING})
)
WITHDRAW = sa.update(tables.trials).where(mine, sa.text("state = 'leased'")).values(state="withdrawn")
SHUT = sa.update(tables.trials).where(mine, sa.text("open")).values(open=False)
ASKED = sa.select(tables.asks.c.first, tables.asks.c.count).where(
    tables.asks.c.experiment == ID, tables.asks.c.key == sa.bindparam("key")
)


class SqlBooks:
    """One experiment inside a transaction; the head is written back by ``save``."""

    def __init__(self, connection: sa.Connection, key: str, clock: Clock) -> None:
        found = connection.execute(LOCK, {"key": key}).mappings().one_or_none()
        if found is None:
            raise gone()
        self.record = reading.record(found)
        self.head = reading.head(found)
        self._before = replace(self.head)
        self._id: int = found["id"]
        self._connection = connection
        self._clock = clock
        self._events: list[dict[str, Any]] = []

    def _run(self, statement: sa.Executable, **values: Any) -> Any:
        return self._connection.execute(statement, {"e": self._id, **values})

    def _run_all(self, statement: sa.Executable, rows: Sequence[dict[str, Any]], key: str = "e") -> None:
        if rows:
            self._connection.execute(statement, [{key: self._id, **row} for row in rows])

    def save(self) -> None:
        """Write the head and the events, if anything has changed."""
        before, after = asdict(self._before), asdict(self.head)
        self._run_all(sa.insert(tables.events), self._events, "experiment")
        seldom = {name: after.pop(name) for name in SELDOM}
        if any(before[name] != value for name, value in seldom.items()):
            self._check_name()
            self._run(sa.update(tables.experiments).where(x.id == ID).values(seldom))
        if worth_writing(self._before, self.head):
            self._run(sa.update(tables.heads).where(h.experiment == ID).values(after))

    def _check_name(self) -> None:
        name = self.head.name
        other = self._run(sa.select(x.id).where(x.name == sa.bindparam("name"), x.id != ID), name=name).first()
        if other is not None:
            raise ValueError(f"name: there is an experiment {name!r} already; choose another name")

    def rows(self, numbers: Sequence[int]) -> dict[int, Row]:
        """The trials with these numbers that exist."""
        return {row.number: row for row in map(reading.row, self._run(FEW, numbers=list(numbers)))}

    def holder(self, slot: int) -> Row | None:
        """The trial that has filled the slot, has it on lease, or left it open."""
        for row in map(reading.row, self._run(SLOT, n=slot)):
            if row.open or row.state in ("complete", "leased"):
                return row
        return None

    def sweep(self, time: float) -> int:
        """Make leases expired."""
        count: int = self._run(LATE, time=time).rowcount
        return count

    def earliest(self) -> float | None:
        """The first deadline."""
        found: float | None = self._run(FIRST).scalar_one()
        return found

    def returned(self, most: int) -> list[Row]:
        """Trials whose slots are open."""
        return [reading.row(found) for found in self._run(RETURNED, n=most)]

    def fresh(self, most: int) -> list[tuple[int, int]]:
        """The arms that are due the most."""
        return [(arm, due) for arm, due in self._run(FRESH, n=most)]

    def take(self, counts: dict[int, int]) -> None:
        """Lower what arms are due."""
        self._run_all(MORE_DUE, [{"b": arm, "more": -count} for arm, count in counts.items()])

    def due(self, quota: Sequence[int]) -> None:
        """Add to what each arm is due."""
        self._run_all(MORE_DUE, [{"b": arm, "more": count} for arm, count in enumerate(quota) if count])

    def add(self, rows: Sequence[Row]) -> None:
        """Write new trials."""
        self._run_all(sa.insert(tables.trials), [reading.columns(row) for row in rows], "experiment")

    def update(self, rows: Sequence[Row]) -> None:
        """Write trials that changed."""
        changes = [{"n": row.number, **reading.changing(row)} for row in rows]
        self._run_all(UPDATE, changes)

    def withdraw(self) -> None:
        """Withdraw every lease, and close every open slot."""
        self._run(WITHDRAW)
        self._run(SHUT)

    def moments(self, arms: Sequence[int] | None = None) -> dict[int, Moments]:
        """Running sums."""
        found = self._run(ARMS) if arms is None else self._run(SOME_ARMS, numbers=list(arms))
        return {arm: Moments.from_dict(json.loads(text)) for arm, text in found}

    def keep(self, moments: dict[int, Moments]) -> None:
        """Write running sums."""
        self._run_all(KEEP, [{"b": arm, "c": m.count, "sums": json.dumps(m.to_dict())} for arm, m in moments.items()])

    def memory(self) -> Memory:
        """What the strategy remembers."""
        memory: Memory = json.loads(self._run(sa.select(x.memory).where(x.id == ID)).scalar_one())
        return memory

    def advance(self, memory: Memory, rounds: Sequence[Round]) -> None:
        """Write the strategy's memory and rounds."""
        self._run(sa.update(tables.experiments).where(x.id == ID).values(memory=json.dumps(memory)))
        self._run_all(sa.insert(tables.rounds), _rounds(rounds, self._clock.now()), "experiment")

    def recall(self, key: str) -> list[Row]:
        """The trials of an idempotency key."""
        found = self._run(ASKED, key=key).one_or_none()
        if found is None:
            return []
        return [reading.row(row) for row in self._run(RANGE, first=found[0], last=found[0] + found[1] - 1)]

    def remember(self, key: str, first: int, count: int) -> None:
        """Keep what was handed out for an idempotency key."""
        self._run_all(sa.insert(tables.asks), [{"key": key, "first": first, "count": count}], "experiment")

    def note(self, kind: str, **data: Any) -> None:
        """Add an event."""
        self.head.events += 1
        at = self._clock.now()
        self._events.append({"number": self.head.events, "kind": kind, "data": json.dumps(data), "at": at})


class SqlStore:
    """Experiments in a database; any number of processes and machines may use it at once."""

    def __init__(self, database: Database, clock: Clock | None = None) -> None:
        self.database = database
        self.clock: Clock = clock or SystemClock()
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
            "memory": json.dumps(draft.memory),
            "created": now,
        }
        made = connection.execute(sa.insert(tables.experiments).values(fixed | seldom).returning(x.id)).scalar_one()
        quota = draft.quota or [0] * len(draft.moments)
        sums = [{"count": m.count, "moments": json.dumps(m.to_dict())} for m in draft.moments]
        rows = {
            tables.heads: [head | {"events": 1}],
            tables.arms: [{"arm": i, "due": due, **s} for i, (due, s) in enumerate(zip(quota, sums, strict=True))],
            tables.rounds: _rounds(draft.rounds, now),
            tables.trials: [reading.columns(row) for row in draft.rows],
            tables.events: [{"number": 1, "kind": "created", "data": "{}", "at": now}],
        }
        for table, entries in rows.items():
            if entries:
                connection.execute(sa.insert(table), [{"experiment": made, **entry} for entry in entries])
        return True

    def find(self, name: str) -> Record | None:
        """The experiment of that name."""
        wanted = sa.select(tables.experiments).where(x.name == name)
        found = self.database.read(lambda connection: connection.execute(wanted).mappings().one_or_none())
        return None if found is None else reading.record(found)

    def entries(self, after: str = "", limit: int | None = None) -> list[tuple[Record, State]]:
        """Experiments in the order of their names."""
        order = x.name.collate("C") if not self.database.sqlite else x.name
        wanted = LOAD.where(order > after).order_by(order).limit(limit)
        found = self.database.read(lambda connection: connection.execute(wanted).mappings().all())
        return [(reading.record(f), state_of(reading.head(f), f["created"])) for f in found]

    def write(self, key: str, work: Callable[[SqlBooks], T]) -> T:
        """Do work in one transaction."""

        def attempt(connection: sa.Connection) -> T:
            books = SqlBooks(connection, key, self.clock)
            result = work(books)
            books.save()
            return result

        return self.database.write(attempt)

    def state(self, key: str) -> State:
        """The experiment's figures."""
        return self.database.read(lambda connection: reading.state(connection, key))

    def picture(self, key: str) -> Picture:
        """Figures, memory, sums and rounds of one moment."""
        return self.database.read(lambda connection: reading.picture(connection, key))

    def trials(self, key: str, query: Query) -> list[Row]:
        """Trials in the order of their numbers."""
        return self.database.read(lambda connection: reading.trials(connection, key, query))

    def events(self, key: str, after: int, limit: int) -> list[Event]:
        """Events in order."""
        return self.database.read(lambda connection: reading.events(connection, key, after, limit))

    def delete(self, key: str) -> None:
        """Remove the experiment."""
        self.database.write(lambda connection: connection.execute(sa.delete(tables.experiments).where(x.key == key)))

    def close(self) -> None:
        """Let go of files and connections."""
        self.database.close()


def _rounds(rounds: Sequence[Round], now: float) -> list[dict[str, Any]]:
    return [{"number": r.number, "data": json.dumps(finite(vars(r))), "at": now} for r in rounds]
