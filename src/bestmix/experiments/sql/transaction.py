"""One experiment of a database inside a transaction."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from bestmix import checks
from bestmix.answers.item_sums import ItemSum
from bestmix.answers.moments import Moments
from bestmix.answers.recommendation import Round
from bestmix.experiments.clock import Clock
from bestmix.experiments.model import Record, Row
from bestmix.experiments.sql import changes, postgres, queries, tables
from bestmix.experiments.sql.changes import ID, Changes
from bestmix.experiments.sql.driver import driver
from bestmix.experiments.store import NO_PREFETCH, Head, Prefetch, gone, worth_writing
from bestmix.experiments.traffic_model import EdgeRow, Version
from bestmix.strategies.protocol import Memory

SELDOM = ("name", "status", "reason", "notes", "budget", "ended", "changed")  # fields of Head kept with the experiment

FEW_NUMBERS = 500  # trials that are read with the head; SQLite takes so many values and more in a statement
MOST_OPEN_SLOTS = 10_000  # looked through for those of one segment

t, a, h, x = tables.trials.c, tables.arms.c, tables.heads.c, tables.experiments.c
N: sa.BindParameter[Any] = sa.bindparam("n")
mine, mine_arm = t.experiment == ID, a.experiment == ID

HEADS = sa.select(tables.heads, x.key, *(x[name] for name in SELDOM)).join(tables.experiments, x.id == h.experiment)
LOAD = HEADS.where(h.experiment == ID)
ROWS = sa.select(tables.trials).where(mine)
# Whoever tells a trial needs its arm's sums next.
FEW = (
    sa.select(tables.trials, a.moments)
    .join(tables.arms, sa.and_(a.experiment == t.experiment, a.arm == t.arm))
    .where(mine, t.number.in_(sa.bindparam("numbers", expanding=True)))
)
RANGE = ROWS.where(t.number.between(sa.bindparam("first"), sa.bindparam("last"))).order_by(t.number)
DIALECTS = ("sqlite", "postgresql")
SLOT = {
    d: ROWS.where(t.number == N).union_all(queries.by_index("trials_again", "slot <> number AND slot = :n", d))
    for d in DIALECTS
}
NUMBER: sa.ColumnElement[int] = sa.literal_column("number", sa.BigInteger())
LEASED = {d: queries.by_index("trials_leased", "state = 'leased'", d).with_only_columns(NUMBER) for d in DIALECTS}
OPEN = {d: queries.by_index("trials_open", "open", d).with_only_columns(NUMBER) for d in DIALECTS}
RETURNED = {d: queries.by_index("trials_open", "open", d).order_by(sa.text("number")).limit(N) for d in DIALECTS}
ON_LEASE = {d: queries.by_index("trials_leased", "state = 'leased'", d).order_by(sa.text("number")) for d in DIALECTS}
# The literal conditions are those of a partial index, which is used only when they are found here.
LATE = (
    sa.update(tables.trials)
    .where(mine, sa.text("state = 'leased'"), t.deadline <= sa.bindparam("time"))
    .values(state="expired", open=True)
)
FIRST = sa.select(sa.func.min(t.deadline)).where(mine, sa.text("state = 'leased'"))
FRESH = sa.select(a.arm, a.due).where(mine_arm, a.due > 0).order_by(a.due.desc(), a.arm).limit(N)
DUE = sa.select(a.arm, a.due).where(mine_arm).order_by(a.arm)
LOAD_TEXT = queries.sqlite_text(LOAD)
FEW_TEXT = queries.sqlite_text(FEW).replace(":e", "?").replace("(__[POSTCOMPILE_numbers])", "({})")
LOAD_QUERY, FEW_QUERY, FRESH_QUERY = (postgres.Query(statement) for statement in (LOAD, FEW, FRESH))
ARMS = sa.select(a.arm, a.moments).where(mine_arm)
SOME_ARMS = ARMS.where(a.arm.in_(sa.bindparam("numbers", expanding=True)))
WITHDRAWN = sa.update(tables.trials).values(state="withdrawn")
WITHDRAW = {d: WITHDRAWN.where(mine, t.number.in_(LEASED[d])) for d in DIALECTS}
SHUT = {d: sa.update(tables.trials).where(mine, t.number.in_(OPEN[d])).values(open=False) for d in DIALECTS}
MEMORY = sa.select(x.memory).where(x.id == ID)
COMPLETE_IN = sa.select(t.arm, sa.func.count()).where(mine, t.round == N, t.state == "complete").group_by(t.arm)
ASKED = sa.select(tables.asks.c.first, tables.asks.c.count).where(
    tables.asks.c.experiment == ID, tables.asks.c.key == sa.bindparam("key")
)
VERSION = sa.select(tables.versions.c.data).where(tables.versions.c.experiment == ID, tables.versions.c.number == N)
VERSION_SUMS = (
    sa.select(tables.sums.c.arm, tables.sums.c.moments)
    .where(tables.sums.c.experiment == ID, tables.sums.c.version == N)
    .order_by(tables.sums.c.arm)
)
EDGES = sa.select(*(c for c in tables.edges.c if c.name != "experiment")).where(
    tables.edges.c.experiment == ID, tables.edges.c.name.in_(sa.bindparam("names", expanding=True))
)
HANDED = sa.select(a.arm, a.handed).where(mine_arm, a.arm.in_(sa.bindparam("numbers", expanding=True)))
HAND = sa.update(tables.arms).where(mine_arm, a.arm == N).values(handed=a.handed + sa.bindparam("more"))
s = tables.item_sums.c
ITEM_SUMS = sa.select(s.item, s.arm, s.count, s.totals).where(
    s.experiment == ID, s.item.in_(sa.bindparam("numbers", expanding=True))
)

VERSION_SUMS_TEXT = queries.sqlite_text(VERSION_SUMS)


class Savepoint(NamedTuple):
    """Where a call began: what ``SqlTransaction.undo_call`` goes back to."""

    head: Head
    changes: Changes
    sums: dict[int, str]
    rows: dict[int, Row | None]
    due_arms: list[tuple[int, int]] | None
    edges: dict[str, EdgeRow | None]
    traffic: dict[int, dict[int, Moments]]
    by_item: dict[int, dict[int, ItemSum]]


class SqlTransaction:
    """Reads what a call needs; changes are gathered and written by ``save``, or before the next reading.

    Several calls may share it, one after another. A call that is refused is undone without asking the
    database, as long as nothing of its own was written there; what calls before it had gathered may be.
    """

    def __init__(
        self, connection: sa.Connection, experiment: int, record: Record, clock: Clock, prefetch: Prefetch = NO_PREFETCH
    ) -> None:
        self._connection = connection
        self._dialect = connection.dialect.name
        self._id = experiment
        self._clock = clock
        self._changes = Changes()
        self._sums: dict[int, str] = {}  # running sums that were read, as they are now
        self._rows: dict[int, Row | None] = {}  # trials that were read prefetch, as long as they stay as they are
        self._due_arms: list[tuple[int, int]] | None = None  # the same of arms
        self._edges: dict[str, EdgeRow | None] = {}  # who reports, those that nobody knows as well
        self._traffic: dict[int, dict[int, Moments]] = {}  # sums of versions that were read, as they are now
        self._by_item: dict[int, dict[int, ItemSum]] = {}  # sums of items that were read, as they are now, by arm
        found = self._load(prefetch)
        if found is None or found["key"] != record.key:  # a deleted experiment's number may be used again
            raise gone()
        self.record = record
        self.head = queries.head(found)
        self._before = self.head.copied()
        self._savepoint: Savepoint | None = None  # None once the call has changed the database
        self._changed = False  # whether the call has gathered changes

    def begin_call(self) -> None:
        """Remember how things are before a call."""
        self._changed = False
        read = dict(self._sums), dict(self._rows), self._due_arms
        more = dict(self._edges), dict(self._traffic), dict(self._by_item)
        self._savepoint = Savepoint(self.head.copied(), self._changes.copied(), *read, *more)

    def undo_call(self) -> bool:
        """Go back to where the last call began; False where that is no longer possible."""
        if self._savepoint is None:
            return False
        was = self._savepoint
        self.head, self._changes, self._sums, self._rows, self._due_arms = was[:5]
        self._edges, self._traffic, self._by_item = was[5:]
        return True

    def _load(self, prefetch: Prefetch) -> Mapping[Any, Any] | None:
        """The head, and what is wanted next; PostgreSQL is asked once for all of it, with the lock."""
        if self._dialect == "sqlite":
            with driver(self._connection) as own:
                found = own.execute(LOAD_TEXT, {"e": self._id}).fetchone()
                if 0 < (count := len(prefetch.trials)) <= FEW_NUMBERS:
                    text = FEW_TEXT.format(", ".join("?" * count))
                    self._take_in(own.execute(text, (self._id, *prefetch.trials)).fetchall(), prefetch.trials)
            return None if found is None else LOAD_QUERY.named(found)
        wanted: list[tuple[postgres.Query, Any]] = [(LOAD_QUERY, {"e": self._id})]
        if prefetch.trials:
            wanted.append((FEW_QUERY, {"e": self._id, "numbers": prefetch.trials}))
        if prefetch.due_arms:
            wanted.append((FRESH_QUERY, {"e": self._id, "n": prefetch.due_arms}))
        heads, *others = postgres.begin(self._connection, self._id, wanted)
        if prefetch.trials:
            self._take_in(others.pop(0), prefetch.trials)
        if prefetch.due_arms:
            self._due_arms = [(arm, due) for arm, due in others.pop(0)]
        return LOAD_QUERY.named(heads[0]) if heads else None

    def _take_in(self, found: Sequence[Sequence[Any]], asked: Sequence[int]) -> None:
        """Remember trials, those that there are not as well, and the sums of their arms, which follow the columns."""
        rows = [queries.row(columns) for columns in found]
        self._sums |= {row.arm: columns[-1] for row, columns in zip(rows, found, strict=True)}
        self._rows |= dict.fromkeys(asked) | {row.number: row for row in rows}

    def _run(self, statement: sa.Executable, **values: Any) -> Any:
        if self._changes.added or self._changes.changed or self._changes.sums or self._changes.due:
            self._flush()
        return self._connection.execute(statement, {"e": self._id, **values})

    def _write(self, statement: sa.Executable, **values: Any) -> Any:
        """Run a statement that changes the database at once."""
        result = self._run(statement, **values)
        self._savepoint = None
        return result

    def _flush(self) -> None:
        changes.write(self._connection, self._id, self._changes)
        self._changes = Changes()
        if self._changed:
            self._savepoint = None
        elif self._savepoint is not None:  # what was written is the work of the calls before
            self._savepoint = self._savepoint._replace(changes=Changes())

    def _gather(self) -> Changes:
        """The changes, to be added to."""
        self._changed = True
        return self._changes

    def save(self) -> None:
        """Write all that has changed."""
        before, after = vars(self._before), dict(vars(self.head))
        seldom = {name: after.pop(name) for name in SELDOM}
        if any(before[name] != value for name, value in seldom.items()):
            self._run(sa.update(tables.experiments).where(x.id == ID).values(seldom))
        if worth_writing(self._before, self.head) or self._changes.changed:  # a lease ends by the clock that is kept
            self._changes.head = after
        if self._dialect == "sqlite":
            self._flush()
        else:
            postgres.end(self._connection, *changes.one_statement(self._id, self._changes))

    def check_name(self) -> None:
        """Refuse a new name that another experiment has."""
        name = self.head.name
        if name == self._before.name:
            return
        other = self._run(sa.select(x.id).where(x.name == sa.bindparam("name"), x.id != ID), name=name).first()
        if other is not None:
            raise checks.AlreadyExists("name", f"there is an experiment {name!r} already", "choose another name")

    def trials(self, numbers: Sequence[int]) -> dict[int, Row]:
        """The trials with these numbers that exist."""
        if missing := [number for number in numbers if number not in self._rows]:
            self._take_in(self._run(FEW, numbers=missing).all(), missing)
        found = {number: self._rows[number] for number in numbers}
        return {number: row.copied() for number, row in found.items() if row is not None}

    def holder(self, slot: int) -> Row | None:
        """The trial that has filled the slot, has it on lease, or left it open."""
        for row in map(queries.row, self._run(SLOT[self._dialect], n=slot)):
            if row.open or row.state in ("complete", "leased"):
                return row
        return None

    def after(self, number: int) -> list[Row]:
        """The trials with larger numbers, in order."""
        return list(map(queries.row, self._run(RANGE, first=number + 1, last=self.head.trials)))

    def complete_in(self, number: int) -> dict[int, int]:
        """Complete trials of a round, by arm."""
        return dict(self._run(COMPLETE_IN, n=number).all())

    def expire_leases(self, time: float) -> int:
        """Make leases expired."""
        self._rows = {}
        count: int = self._write(LATE, time=time).rowcount
        return count

    def earliest(self) -> float | None:
        """The first deadline."""
        found: float | None = self._run(FIRST).scalar_one()
        return found

    def leases(self) -> list[Row]:
        """The trials that are out on lease."""
        return list(map(queries.row, self._run(ON_LEASE[self._dialect])))

    def open_slots(self, most: int, arms: Sequence[int] | None = None) -> list[Row]:
        """Trials whose slots are open."""
        found = map(queries.row, self._run(RETURNED[self._dialect], n=most if arms is None else MOST_OPEN_SLOTS))
        return [row for row in found if arms is None or row.arm in arms][:most]

    def due(self) -> list[int]:
        """What each arm is due."""
        return [due for _, due in self._run(DUE)]

    def due_arms(self, most: int) -> list[tuple[int, int]]:
        """The arms that are due the most."""
        if self._due_arms is not None:
            return self._due_arms[:most]
        return [(arm, due) for arm, due in self._run(FRESH, n=most)]

    def lower_due(self, counts: dict[int, int]) -> None:
        """Lower what arms are due."""
        self._due_arms = None
        gathered = self._gather().due
        for arm, count in counts.items():
            gathered[arm] = gathered.get(arm, 0) - count

    def raise_due(self, quota: Sequence[int]) -> None:
        """Add to what each arm is due."""
        self._due_arms = None
        gathered = self._gather().due
        for arm, count in enumerate(quota):
            gathered[arm] = gathered.get(arm, 0) + count

    def add_trials(self, rows: Sequence[Row]) -> None:
        """Write new trials."""
        self._forget(rows)
        self._gather().added += rows

    def update_trials(self, rows: Sequence[Row]) -> None:
        """Write trials that changed."""
        self._forget(rows)
        self._gather().changed |= {row.number: row for row in rows}

    def _forget(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self._rows.pop(row.number, None)

    def withdraw_all(self) -> None:
        """Withdraw every lease, and close every open slot."""
        self._rows = {}
        self._write(WITHDRAW[self._dialect])
        self._write(SHUT[self._dialect])

    def moments(self, arms: Sequence[int] | None = None) -> dict[int, Moments]:
        """Running sums."""
        if arms is None:
            self._sums = dict(self._run(ARMS).all())
        elif missing := [arm for arm in arms if arm not in self._sums]:
            self._sums |= dict(self._run(SOME_ARMS, numbers=missing).all())
        wanted = self._sums if arms is None else arms
        return {arm: Moments.from_dict(json.loads(self._sums[arm])) for arm in wanted}

    def write_moments(self, moments: dict[int, Moments]) -> None:
        """Write running sums."""
        texts = {arm: json.dumps(m.to_dict()) for arm, m in moments.items()}
        self._sums |= texts
        self._gather().sums |= {arm: (moments[arm].count, text) for arm, text in texts.items()}

    def memory(self) -> Memory:
        """What the strategy remembers."""
        memory: Memory = json.loads(self._run(MEMORY).scalar_one())
        return memory

    def advance(self, memory: Memory, rounds: Sequence[Round], mixture: Mapping[str, float] | None = None) -> None:
        """Write the strategy's memory and rounds."""
        self._write(sa.update(tables.experiments).where(x.id == ID).values(memory=json.dumps(memory)))
        if rounds:
            made = round_entries(rounds, self._clock.now(), mixture)
            entries = [{"experiment": self._id, **entry} for entry in made]
            self._connection.execute(sa.insert(tables.rounds), entries)

    def hand_out(self, counts: Mapping[int, int]) -> dict[int, int]:
        """Count slots that are handed out on items."""
        before = dict(self._run(HANDED, numbers=list(counts)).all())
        self._savepoint = None
        self._connection.execute(HAND, [{"e": self._id, "n": arm, "more": more} for arm, more in counts.items()])
        return before

    def item_sums(self, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], ItemSum]:
        """Sums by item and arm, read once."""
        if missing := sorted({item for item, _ in keys} - self._by_item.keys()):
            read: dict[int, dict[int, ItemSum]] = {item: {} for item in missing}
            for start in range(0, len(missing), FEW_NUMBERS):
                given = {"e": self._id, "numbers": missing[start : start + FEW_NUMBERS]}
                for item, arm, count, totals in self._connection.execute(ITEM_SUMS, given):
                    read[item][arm] = queries.item_sum(count, totals)
            self._by_item |= read
        return {(item, arm): self._by_item[item][arm] for item, arm in keys if arm in self._by_item[item]}

    def write_item_sums(self, sums: Mapping[tuple[int, int], ItemSum]) -> None:
        """Write sums by item and arm."""
        for (item, arm), found in sums.items():
            self._by_item[item] = self._by_item.get(item, {}) | {arm: found}
        self._gather().by_item |= sums

    def add_arms(self, count: int, size: int) -> None:
        """Make room for more that can be tried."""
        known, none = len(self.due()), json.dumps(Moments(size).to_dict())
        new = [{"arm": known + i, "due": 0, "count": 0, "moments": none} for i in range(count)]
        self._savepoint = None
        self._connection.execute(sa.insert(tables.arms), [{"experiment": self._id, **entry} for entry in new])

    def asked_with(self, key: str) -> list[Row]:
        """The trials of an idempotency key."""
        found = self._run(ASKED, key=key).one_or_none()
        if found is None:
            return []
        return [queries.row(row) for row in self._run(RANGE, first=found[0], last=found[0] + found[1] - 1)]

    def write_key(self, key: str, first: int, count: int) -> None:
        """Keep what was handed out for an idempotency key."""
        entry = {"experiment": self._id, "key": key, "first": first, "count": count}
        self._savepoint = None
        self._connection.execute(sa.insert(tables.asks), entry)

    def add_event(self, kind: str, **data: Any) -> None:
        """Add an event."""
        self.head.events += 1
        at = self._clock.now()
        self._gather().events.append({"number": self.head.events, "kind": kind, "data": json.dumps(data), "at": at})

    def version(self, number: int) -> Version | None:
        """Weights that were published."""
        found = self._run(VERSION, n=number).one_or_none()
        return None if found is None else queries.version(found)

    def add_version(self, version: Version) -> None:
        """Write new weights."""
        self._write(sa.insert(tables.versions).values(experiment=self._id, **version_entry(version)))

    def version_sums(self, version: int, arms: Sequence[int] | None = None) -> dict[int, Moments]:
        """Sums of the requests of a version."""
        held = self._of_version(version)
        return {arm: held[arm] for arm in (held if arms is None else arms) if arm in held}

    def _of_version(self, version: int) -> dict[int, Moments]:
        """The same, read once."""
        if version not in self._traffic:
            found = self._look(VERSION_SUMS, VERSION_SUMS_TEXT, n=version).all()
            self._traffic[version] = {arm: Moments.from_dict(json.loads(text)) for arm, text in found}
        return self._traffic[version]

    def write_version_sums(self, version: int, moments: dict[int, Moments]) -> None:
        """Write sums of the requests of a version."""
        self._traffic[version] = dict(sorted((self._of_version(version) | moments).items()))
        self._gather().traffic |= {(version, arm): sums for arm, sums in moments.items()}

    def edges(self, names: Collection[str]) -> dict[str, EdgeRow]:
        """Who reports sums under these names."""
        missing = [name for name in names if name not in self._edges]
        for start in range(0, len(missing), FEW_NUMBERS):
            some = missing[start : start + FEW_NUMBERS]
            found = self._connection.execute(EDGES, {"e": self._id, "names": some})
            self._edges |= dict.fromkeys(some) | {row.name: EdgeRow(*row) for row in found}
        known = {name: self._edges[name] for name in names}
        return {name: edge for name, edge in known.items() if edge is not None}

    def write_edge(self, edge: EdgeRow) -> None:
        """Write who reports sums."""
        self._edges[edge.name] = self._gather().edges[edge.name] = edge

    def _look(self, statement: sa.Executable, text: str, **values: Any) -> Any:
        """Read from a table of which all that was gathered is at hand."""
        if self._dialect == "sqlite":
            return self._connection.exec_driver_sql(text, {"e": self._id, **values})
        return self._connection.execute(statement, {"e": self._id, **values})


def version_entry(version: Version) -> dict[str, Any]:
    """Weights as their table holds them."""
    evidence = json.dumps([sums.to_dict() for sums in version.evidence])
    return {"number": version.number, "data": json.dumps(version.to_dict()), "evidence": evidence}


def round_entries(
    rounds: Sequence[Round], now: float, mixture: Mapping[str, float] | None = None
) -> list[dict[str, Any]]:
    """Rounds as their table holds them."""
    answer = None if mixture is None else json.dumps(dict(mixture))
    return [{"number": r.number, "data": json.dumps(r.to_dict()), "at": now, "mixture": answer} for r in rounds]
