"""The store in this process's memory: the reference that every other store must equal."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bestmix import checks
from bestmix.answers.moments import Moments
from bestmix.answers.recommendation import Round
from bestmix.experiments.clock import Clock, SystemClock
from bestmix.experiments.model import Draft, Event, Picture, Query, Record, Row, State, moment
from bestmix.experiments.store import NOTHING, Ahead, Head, T, gone, opening, state_of
from bestmix.strategies.protocol import Memory


@dataclass
class Shelf:
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


class MemoryBooks:
    """One experiment inside a transaction."""

    def __init__(self, shelf: Shelf, clock: Clock) -> None:
        self.record = shelf.record
        self.head = replace(shelf.head)
        self._shelf = shelf
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

    def rows(self, numbers: Sequence[int]) -> dict[int, Row]:
        """The trials with these numbers that exist."""
        return {n: replace(self._shelf.rows[n]) for n in numbers if n in self._shelf.rows}

    def holder(self, slot: int) -> Row | None:
        """The trial that has filled the slot, has it on lease, or left it open."""
        for number in self._shelf.slots.get(slot, ()):
            row = self._shelf.rows[number]
            if row.open or row.state in ("complete", "leased"):
                return replace(row)
        return None

    def sweep(self, time: float) -> int:
        """Make leases expired."""
        late = [n for n, deadline in self._shelf.leased.items() if deadline <= time]
        self.update([replace(self._shelf.rows[n], state="expired", open=True) for n in late])
        return len(late)

    def earliest(self) -> float | None:
        """The first deadline."""
        return min(self._shelf.leased.values(), default=None)

    def returned(self, most: int) -> list[Row]:
        """Trials whose slots are open."""
        return [replace(self._shelf.rows[n]) for n in sorted(self._shelf.open)[:most]]

    def fresh(self, most: int) -> list[tuple[int, int]]:
        """The arms that are due the most."""
        due = [(arm, n) for arm, n in self._shelf.due.items() if n]
        return sorted(due, key=lambda pair: (-pair[1], pair[0]))[:most]

    def take(self, counts: dict[int, int]) -> None:
        """Lower what arms are due."""
        for arm, count in counts.items():
            self._put(self._shelf.due, arm, self._shelf.due[arm] - count)

    def due(self, quota: Sequence[int]) -> None:
        """Add to what each arm is due."""
        for arm, count in enumerate(quota):
            self._put(self._shelf.due, arm, self._shelf.due[arm] + count)

    def add(self, rows: Sequence[Row]) -> None:
        """Write new trials."""
        for row in rows:
            self._put(self._shelf.slots, row.slot, (*self._shelf.slots.get(row.slot, ()), row.number))
        self.update(rows)

    def update(self, rows: Sequence[Row]) -> None:
        """Write trials that changed."""
        for row in rows:
            self._put(self._shelf.rows, row.number, replace(row))
            self._put(self._shelf.leased, row.number, row.deadline if row.state == "leased" else None)
            self._put(self._shelf.open, row.number, row.slot if row.open else None)

    def withdraw(self) -> None:
        """Withdraw every lease, and close every open slot."""
        self.update([replace(self._shelf.rows[n], state="withdrawn") for n in list(self._shelf.leased)])
        self.update([replace(self._shelf.rows[n], open=False) for n in list(self._shelf.open)])

    def moments(self, arms: Sequence[int] | None = None) -> dict[int, Moments]:
        """Running sums."""
        wanted = self._shelf.moments if arms is None else arms
        return {arm: Moments.from_dict(self._shelf.moments[arm].to_dict()) for arm in wanted}

    def keep(self, moments: dict[int, Moments]) -> None:
        """Write running sums."""
        for arm, sums in moments.items():
            self._put(self._shelf.moments, arm, sums)

    def memory(self) -> Memory:
        """What the strategy remembers."""
        return self._shelf.memory["memory"]

    def advance(self, memory: Memory, rounds: Sequence[Round], mixture: Mapping[str, float] | None = None) -> None:
        """Write the strategy's memory and rounds."""
        self._put(self._shelf.memory, "memory", memory)
        for ended in rounds:
            self._put(self._shelf.rounds, ended.number, ended)
            self._put(self._shelf.mixtures, ended.number, mixture)

    def recall(self, key: str) -> list[Row]:
        """The trials of an idempotency key."""
        first, count = self._shelf.asks.get(key, (0, 0))
        return list(self.rows(range(first, first + count)).values())

    def remember(self, key: str, first: int, count: int) -> None:
        """Keep what was handed out for an idempotency key."""
        self._put(self._shelf.asks, key, (first, count))

    def note(self, kind: str, **data: Any) -> None:
        """Add an event."""
        self.head.events += 1
        event = Event(self.head.events, kind, data, moment(self._clock.now()))
        self._put(self._shelf.events, event.number, event)


class MemoryStore:
    """Experiments in this process's memory; they end with it."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or SystemClock()
        self._shelves: dict[str, Shelf] = {}
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
            shelf = Shelf(
                draft.record, now, head, {"memory": draft.memory}, rounds, {}, dict(enumerate(draft.moments)), due, {}
            )
            books = MemoryBooks(shelf, self.clock)
            books.add(draft.rows)
            books.note("created")
            shelf.head = books.head
            self._shelves[draft.record.key] = shelf
            return True

    def find(self, name: str) -> Record | None:
        """The experiment of that name."""
        with self._lock:
            found = [s for s in self._shelves.values() if s.head.name == name]
        return replace(found[0].record, name=name) if found else None

    def record(self, key: str) -> Record | None:
        """The experiment with that key."""
        with self._lock:
            shelf = self._shelves.get(key)
            return None if shelf is None else replace(shelf.record, name=shelf.head.name)

    def entries(self, after: str = "", limit: int | None = None) -> list[tuple[Record, State]]:
        """Experiments in the order of their names."""
        with self._lock:
            shelves = sorted(self._shelves.values(), key=lambda s: s.head.name)
            wanted = [s for s in shelves if s.head.name > after][:limit]
            return [(replace(s.record, name=s.head.name), state_of(s.head, s.created)) for s in wanted]

    def write(self, key: str, work: Callable[[MemoryBooks], T], ahead: Ahead = NOTHING) -> T:
        """Do work in one transaction."""
        with self._lock:
            shelf = self._shelf(key)
            books = MemoryBooks(shelf, self.clock)
            try:
                result = work(books)
                if any(s.head.name == books.head.name and s is not shelf for s in self._shelves.values()):
                    raise checks.AlreadyExists(
                        "name", f"there is an experiment {books.head.name!r} already", "choose another name"
                    )
            except BaseException:
                books.rollback()
                raise
            shelf.head = books.head
            return result

    def state(self, key: str) -> State:
        """The experiment's figures."""
        with self._lock:
            shelf = self._shelf(key)
            return state_of(shelf.head, shelf.created)

    def picture(self, key: str) -> Picture:
        """Figures, memory, sums and rounds of one moment."""
        with self._lock:
            shelf = self._shelf(key)
            rounds, moments = [shelf.rounds[n] for n in sorted(shelf.rounds)], list(shelf.moments.values())
            mixtures = [shelf.mixtures.get(r.number) for r in rounds]
            return Picture(self.state(key), shelf.memory["memory"], moments, rounds, mixtures)

    def trials(self, key: str, query: Query) -> list[Row]:
        """Trials in the order of their numbers, or the other way round."""
        with self._lock:
            rows = self._shelf(key).rows
            numbers = [n for n in sorted(rows, reverse=query.newest_first) if _follows(n, query)]
            found = [replace(rows[n]) for n in numbers if _fits(rows[n], query)]
        return found[: query.limit]

    def events(self, key: str, after: int, limit: int) -> list[Event]:
        """Events in order."""
        with self._lock:
            events = self._shelf(key).events
            return [events[n] for n in range(after + 1, min(after + limit, len(events)) + 1)]

    def delete(self, key: str) -> None:
        """Remove the experiment."""
        with self._lock:
            self._shelves.pop(key, None)

    def ping(self, patience: float) -> None:
        """It is always there."""

    def close(self) -> None:
        """Nothing to let go of."""

    def _shelf(self, key: str) -> Shelf:
        if key not in self._shelves:
            raise gone()
        return self._shelves[key]


def _follows(number: int, query: Query) -> bool:
    if query.newest_first:
        return not query.after or number < query.after
    return number > query.after


def _fits(row: Row, query: Query) -> bool:
    wanted = [(query.state, row.state), (query.arm, row.arm), (query.worker, row.worker)]
    return all(asked is None or asked == held for asked, held in wanted)
