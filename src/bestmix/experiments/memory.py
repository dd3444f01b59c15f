"""The store in this process's memory: the reference that every other store must equal."""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bestmix import checks
from bestmix.answers.item_sums import ItemSum
from bestmix.answers.moments import Moments
from bestmix.answers.recommendation import Round
from bestmix.experiments.clock import Clock, SystemClock
from bestmix.experiments.model import Draft, Event, Record, Row, RunState, State, TrialQuery, moment
from bestmix.experiments.store import (
    NO_PREFETCH,
    Contents,
    Head,
    Prefetch,
    T,
    TrafficContents,
    birth,
    discounted,
    gone,
    opening,
    state_of,
)
from bestmix.experiments.traffic_model import EdgeRow, Version
from bestmix.strategies.protocol import Memory


@dataclass
class StoredExperiment:
    """One experiment; everything is in dictionaries, so that one rule undoes any change."""

    record: Record
    created: float
    head: Head
    memory: dict[str, Memory]
    rounds: dict[int, Round]
    mixtures: dict[int, Mapping[str, float]]
    moments: dict[int, Moments]
    due: dict[int, int]
    rows: dict[int, Row]
    leased: dict[int, float] = field(default_factory=dict)  # deadlines
    open: dict[int, int] = field(default_factory=dict)  # slots
    slots: dict[int, tuple[int, ...]] = field(default_factory=dict)  # the trials of each slot
    asks: dict[str, tuple[int, int]] = field(default_factory=dict)
    events: dict[int, Event] = field(default_factory=dict)
    earlier: Sequence[Moments | None] = ()  # sums of the log's trials
    weight: float = 1.0
    versions: dict[int, Version] = field(default_factory=dict)
    sums: dict[tuple[int, int], Moments] = field(default_factory=dict)  # by version and arm
    edges: dict[str, EdgeRow] = field(default_factory=dict)
    items: Sequence[str] = ()
    handed: dict[int, int] = field(default_factory=dict)  # slots that were handed out on items, by arm
    by_item: dict[tuple[int, int], ItemSum] = field(default_factory=dict)

    @property
    def state(self) -> State:
        """The figures that users see."""
        return state_of(self.head, self.created, discounted(self.earlier, self.weight))


class MemoryTransaction:
    """One experiment inside a transaction."""

    def __init__(self, stored: StoredExperiment, clock: Clock) -> None:
        self.record = stored.record
        self.head = replace(stored.head)
        self._stored = stored
        self._clock = clock
        self._undo: list[tuple[dict[Any, Any], Any, Any]] = []

    def rollback(self) -> None:
        """Undo everything, the last change first."""
        for mapping, key, old in reversed(self._undo):
            if old is None:
                mapping.pop(key, None)
            else:
                mapping[key] = old

    def _put(self, mapping: dict[Any, Any], key: Any, value: Any) -> None:
        self._undo.append((mapping, key, mapping.get(key)))
        if value is None:
            mapping.pop(key, None)
        else:
            mapping[key] = value

    def trials(self, numbers: Sequence[int]) -> dict[int, Row]:
        """The trials with these numbers that exist."""
        return {n: replace(self._stored.rows[n]) for n in numbers if n in self._stored.rows}

    def holder(self, slot: int) -> Row | None:
        """The trial that has filled the slot, has it on lease, or left it open."""
        for number in self._stored.slots.get(slot, ()):
            row = self._stored.rows[number]
            if row.open or row.state in ("complete", "leased"):
                return replace(row)
        return None

    def after(self, number: int) -> list[Row]:
        """The trials with larger numbers, in order."""
        return [replace(self._stored.rows[n]) for n in range(number + 1, self.head.trials + 1)]

    def complete_in(self, number: int) -> dict[int, int]:
        """Complete trials of a round, by arm."""
        rows = self._stored.rows.values()
        return dict(Counter(row.arm for row in rows if row.round == number and row.state == "complete"))

    def expire_leases(self, time: float) -> int:
        """Make leases expired."""
        late = [n for n, deadline in self._stored.leased.items() if deadline <= time]
        self.update_trials([replace(self._stored.rows[n], state="expired", open=True) for n in late])
        return len(late)

    def earliest(self) -> float | None:
        """The first deadline."""
        return min(self._stored.leased.values(), default=None)

    def leases(self) -> list[Row]:
        """The trials that are out on lease."""
        return [replace(self._stored.rows[n]) for n in sorted(self._stored.leased)]

    def open_slots(self, most: int, arms: Sequence[int] | None = None) -> list[Row]:
        """Trials whose slots are open."""
        rows = [self._stored.rows[n] for n in sorted(self._stored.open)]
        return [replace(row) for row in rows if arms is None or row.arm in arms][:most]

    def due(self) -> list[int]:
        """What each arm is due."""
        return [self._stored.due[arm] for arm in sorted(self._stored.due)]

    def due_arms(self, most: int) -> list[tuple[int, int]]:
        """The arms that are due the most."""
        due = [(arm, n) for arm, n in self._stored.due.items() if n > 0]
        return sorted(due, key=lambda pair: (-pair[1], pair[0]))[:most]

    def lower_due(self, counts: dict[int, int]) -> None:
        """Lower what arms are due."""
        for arm, count in counts.items():
            self._put(self._stored.due, arm, self._stored.due[arm] - count)

    def raise_due(self, quota: Sequence[int]) -> None:
        """Add to what each arm is due."""
        for arm, count in enumerate(quota):
            self._put(self._stored.due, arm, self._stored.due[arm] + count)

    def add_trials(self, rows: Sequence[Row]) -> None:
        """Write new trials."""
        for row in rows:
            self._put(self._stored.slots, row.slot, (*self._stored.slots.get(row.slot, ()), row.number))
        self.update_trials(rows)

    def update_trials(self, rows: Sequence[Row]) -> None:
        """Write trials that changed."""
        for row in rows:
            self._put(self._stored.rows, row.number, replace(row))
            self._put(self._stored.leased, row.number, row.deadline if row.state == "leased" else None)
            self._put(self._stored.open, row.number, row.slot if row.open else None)

    def withdraw_all(self) -> None:
        """Withdraw every lease, and close every open slot."""
        self.update_trials([replace(self._stored.rows[n], state="withdrawn") for n in list(self._stored.leased)])
        self.update_trials([replace(self._stored.rows[n], open=False) for n in list(self._stored.open)])

    def moments(self, arms: Sequence[int] | None = None) -> dict[int, Moments]:
        """Running sums."""
        wanted = self._stored.moments if arms is None else arms
        return {arm: Moments.from_dict(self._stored.moments[arm].to_dict()) for arm in wanted}

    def write_moments(self, moments: dict[int, Moments]) -> None:
        """Write running sums."""
        for arm, sums in moments.items():
            self._put(self._stored.moments, arm, sums)

    def memory(self) -> Memory:
        """What the strategy remembers."""
        return self._stored.memory["memory"]

    def advance(self, memory: Memory, rounds: Sequence[Round], mixture: Mapping[str, float] | None = None) -> None:
        """Write the strategy's memory and rounds."""
        self._put(self._stored.memory, "memory", memory)
        for ended in rounds:
            self._put(self._stored.rounds, ended.number, ended)
            self._put(self._stored.mixtures, ended.number, mixture)

    def hand_out(self, counts: Mapping[int, int]) -> dict[int, int]:
        """Count slots that are handed out on items."""
        before = {arm: self._stored.handed.get(arm, 0) for arm in counts}
        for arm, count in counts.items():
            self._put(self._stored.handed, arm, before[arm] + count)
        return before

    def item_sums(self, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], ItemSum]:
        """Sums by item and arm."""
        return {key: self._stored.by_item[key] for key in keys if key in self._stored.by_item}

    def write_item_sums(self, sums: Mapping[tuple[int, int], ItemSum]) -> None:
        """Write sums by item and arm."""
        for key, found in sums.items():
            self._put(self._stored.by_item, key, found)

    def add_arms(self, count: int, size: int) -> None:
        """Make room for more that can be tried."""
        for number in range(len(self._stored.due), len(self._stored.due) + count):
            self._put(self._stored.due, number, 0)
            self._put(self._stored.moments, number, Moments(size))

    def asked_with(self, key: str) -> list[Row]:
        """The trials of an idempotency key."""
        first, count = self._stored.asks.get(key, (0, 0))
        return list(self.trials(range(first, first + count)).values())

    def write_key(self, key: str, first: int, count: int) -> None:
        """Keep what was handed out for an idempotency key."""
        self._put(self._stored.asks, key, (first, count))

    def add_event(self, kind: str, **data: Any) -> None:
        """Add an event."""
        self.head.events += 1
        event = Event(self.head.events, kind, data, moment(self._clock.now()))
        self._put(self._stored.events, event.number, event)

    def version(self, number: int) -> Version | None:
        """Weights that were published."""
        return self._stored.versions.get(number)

    def add_version(self, version: Version) -> None:
        """Write new weights."""
        self._put(self._stored.versions, version.number, version)

    def version_sums(self, version: int, arms: Sequence[int] | None = None) -> dict[int, Moments]:
        """Sums of the requests of a version."""
        found = {arm: sums for (number, arm), sums in sorted(self._stored.sums.items()) if number == version}
        return {arm: sums for arm, sums in found.items() if arms is None or arm in arms}

    def write_version_sums(self, version: int, moments: dict[int, Moments]) -> None:
        """Write sums of the requests of a version."""
        for arm, sums in moments.items():
            self._put(self._stored.sums, (version, arm), sums)

    def edges(self, names: Collection[str]) -> dict[str, EdgeRow]:
        """Who reports sums under these names."""
        return {name: self._stored.edges[name] for name in names if name in self._stored.edges}

    def write_edge(self, edge: EdgeRow) -> None:
        """Write who reports sums."""
        self._put(self._stored.edges, edge.name, edge)


class MemoryStore:
    """Experiments in this process's memory; they end with it."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or SystemClock()
        self._experiments: dict[str, StoredExperiment] = {}
        self._lock = threading.RLock()

    def create(self, draft: Draft) -> bool:
        """Write a new experiment."""
        with self._lock:
            if self.find(draft.record.name) is not None:
                return False
            now = self.clock.now()
            head = opening(draft, self.clock, now)
            rounds = {r.number: r for r in draft.rounds}
            due = dict(enumerate(draft.quota or [0] * len(draft.moments)))
            stored = StoredExperiment(
                draft.record, now, head, {"memory": draft.memory}, rounds, {}, dict(enumerate(draft.moments)), due, {}
            )
            stored.earlier, stored.weight, stored.items = draft.earlier, draft.weight, draft.items
            stored.by_item = dict(draft.by_item)
            transaction = MemoryTransaction(stored, self.clock)
            transaction.add_trials(draft.rows)
            if draft.version is not None:
                transaction.add_version(draft.version)
                transaction.write_version_sums(0, {arm: m for arm, m in enumerate(draft.moments) if m.count})
            transaction.add_event("created", **birth(draft))
            stored.head = transaction.head
            self._experiments[draft.record.key] = stored
            return True

    def find(self, name: str) -> Record | None:
        """The experiment of that name."""
        with self._lock:
            found = [s for s in self._experiments.values() if s.head.name == name]
        return replace(found[0].record, name=name) if found else None

    def record(self, key: str) -> Record | None:
        """The experiment with that key."""
        with self._lock:
            stored = self._experiments.get(key)
            return None if stored is None else replace(stored.record, name=stored.head.name)

    def entries(self, after: str = "", limit: int | None = None) -> list[tuple[Record, State]]:
        """Experiments in the order of their names."""
        with self._lock:
            found = sorted(self._experiments.values(), key=lambda s: s.head.name)
            wanted = [s for s in found if s.head.name > after][:limit]
            return [(replace(s.record, name=s.head.name), s.state) for s in wanted]

    def write(self, key: str, work: Callable[[MemoryTransaction], T], prefetch: Prefetch = NO_PREFETCH) -> T:
        """Do work in one transaction."""
        with self._lock:
            stored = self._stored(key)
            transaction = MemoryTransaction(stored, self.clock)
            try:
                result = work(transaction)
                if any(s.head.name == transaction.head.name and s is not stored for s in self._experiments.values()):
                    raise checks.AlreadyExists(
                        "name", f"there is an experiment {transaction.head.name!r} already", "choose another name"
                    )
            except BaseException:
                transaction.rollback()
                raise
            stored.head = transaction.head
            return result

    def state(self, key: str) -> State:
        """The experiment's figures."""
        with self._lock:
            return self._stored(key).state

    def run_state(self, key: str) -> RunState:
        """Figures, memory, sums and rounds of one moment."""
        with self._lock:
            stored = self._stored(key)
            rounds = [stored.rounds[n] for n in sorted(stored.rounds)]
            moments = [stored.moments[arm] for arm in sorted(stored.moments)]
            mixtures = [stored.mixtures.get(r.number) for r in rounds]
            memory, log = stored.memory["memory"], (stored.earlier, stored.weight)
            by_item = dict(sorted(stored.by_item.items()))
            return RunState(self.state(key), memory, moments, rounds, mixtures, *log, stored.head.changed, by_item)

    def changed(self, key: str) -> str | None:
        """The problem as it is now, where it was changed."""
        with self._lock:
            return self._stored(key).head.changed

    def items(self, key: str) -> list[str]:
        """The texts of its items."""
        with self._lock:
            return list(self._stored(key).items)

    def contents(self, key: str, state: str | None = None, events: bool = False) -> Contents:
        """Everything at one moment."""
        with self._lock:
            stored = self._stored(key)
            moments = [stored.moments[arm] for arm in sorted(stored.moments)]
            return Contents(
                replace(stored.record, name=stored.head.name),
                replace(stored.head),
                self.run_state(key),
                [stored.due[arm] for arm in sorted(stored.due)],
                [sums.count for sums in moments],
                [(name, first, count) for name, (first, count) in stored.asks.items()],
                iter(self.trials(key, TrialQuery(state))),
                iter(list(stored.events.values()) if events else []),
                self.traffic(key),
                [stored.handed.get(arm, 0) for arm in sorted(stored.due)],
                list(stored.items),
            )

    def trials(self, key: str, query: TrialQuery) -> list[Row]:
        """Trials in the order of their numbers, or the other way round."""
        with self._lock:
            rows = self._stored(key).rows
            numbers = [n for n in sorted(rows, reverse=query.newest_first) if _follows(n, query)]
            found = [replace(rows[n]) for n in numbers if _fits(rows[n], query)]
        return found[: query.limit]

    def events(self, key: str, after: int, limit: int) -> list[Event]:
        """Events in order."""
        with self._lock:
            events = self._stored(key).events
            return [events[n] for n in range(after + 1, min(after + limit, len(events)) + 1)]

    def version(self, key: str) -> tuple[State, Version | None, int]:
        """Figures, the newest weights, and the requests that their round still waits for."""
        with self._lock:
            stored = self._stored(key)
            return self.state(key), stored.versions.get(len(stored.versions)), stored.head.owing

    def traffic(self, key: str, last: int | None = None) -> TrafficContents:
        """All that is kept of live traffic, or its last versions."""
        with self._lock:
            stored = self._stored(key)
            first = 0 if last is None else len(stored.versions) - last + 1
            edges = [stored.edges[name] for name in sorted(stored.edges)]
            sums = {place: found for place, found in sorted(stored.sums.items()) if place[0] >= first or not place[0]}
            return TrafficContents([v for n, v in stored.versions.items() if n >= first], sums, edges)

    def delete(self, key: str) -> None:
        """Remove the experiment."""
        with self._lock:
            self._experiments.pop(key, None)

    def ping(self, patience: float) -> None:
        """It is always there."""

    def close(self) -> None:
        """Nothing to let go of."""

    def _stored(self, key: str) -> StoredExperiment:
        if key not in self._experiments:
            raise gone()
        return self._experiments[key]


def _follows(number: int, query: TrialQuery) -> bool:
    if query.newest_first:
        return not query.after or number < query.after
    return number > query.after


def _fits(row: Row, query: TrialQuery) -> bool:
    wanted = [(query.state, row.state), (query.arm, row.arm), (query.worker, row.worker)]
    return all(asked is None or asked == held for asked, held in wanted)
