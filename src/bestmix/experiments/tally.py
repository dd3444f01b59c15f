"""What the trials and the events of an experiment say, each read once from first to last, without its figures."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bestmix.experiments.model import Event, Row, Status, TrialState
from bestmix.experiments.start_from_log import WORKER
from bestmix.experiments.store import Contents

MOST_SHOWN = 5  # findings of one kind that are listed
SLACK = 1e-6  # seconds that rounding may add to a deadline
DECISIVE = {"paused": "paused", "resumed": "running", "stopped": "stopped", "failed": "failed", "done": "done"}
FIELDS: dict[str, dict[str, type]] = {  # what the data of each kind of event must hold
    "created": {},
    "asked": {"worker": str, "first": int, "count": int},
    "told": {"trials": list, "surplus": int},
    "round": {"number": int},
    "trial failed": {"trial": int, "reason": str},
    "failed": {"reason": str},
    "alarm": {"version": int, "reason": str},
    "expired": {"count": int},
    "dropped": {"slots": list, "count": int},
    "given back": {"trials": list},
    "stopped": {"reason": str},
    "extended": {"budget": int},
    "renamed": {"old": str, "new": str},
    "changed": {"problem": dict, "budget": int, "text": str},
    **{kind: {} for kind in ("done", "paused", "resumed", "notes")},
}


class Turn(NamedTuple):
    """A change or a larger budget: the round in which it came, results beside the plan until then, and what it was."""

    round: int
    extra: int
    data: Mapping[str, Any]


@dataclass
class Log:
    """What the events say."""

    count: int = 0
    digest: str | None = None  # of what is fixed of the experiment
    first_name: str | None = None
    name: str | None = None
    budget: int | None = None
    turns: list[Turn] = field(default_factory=list)
    status: str = "running"
    reason: str = ""
    may_be_done: bool = True  # no event tells whether an experiment was over as soon as it was created or extended
    expired: int = 0
    failed: int = 0
    strikes: int = 0
    surplus: int = 0
    first_budget: int | None = None  # in all, where a log counts beside the one that was given
    log_weight: float = 1.0  # what a result of the log counts
    complete: set[int] = field(default_factory=set)
    extra: dict[int, int] = field(default_factory=dict)  # results beside the plan, and the round in which they came
    failures: set[int] = field(default_factory=set)
    dropped: set[int] = field(default_factory=set)  # slots that could not be paid for
    short: set[int] = field(default_factory=set)  # rounds that ended without some of their slots
    lost: dict[int, float] = field(default_factory=dict)  # set aside for trials that never told, by round
    asks: list[tuple[int, int, str]] = field(default_factory=list)  # first trial, how many, who
    keys: set[tuple[str, int, int]] = field(default_factory=set)  # fingerprint of a key, first trial, how many
    rounds: int = 0  # the last one of which an event tells that it is over
    handed: dict[int, int] = field(default_factory=dict)  # trials that were handed out when a round was over
    seen: tuple[int, int] = (0, 0)  # turns, and results beside the plan, when rounds may have ended without an event
    problems: list[str] = field(default_factory=list)

    def add(self, event: Event) -> None:
        """Take in one more event."""
        self.count += 1
        wanted = FIELDS.get(event.kind)
        if event.number != self.count:
            self.problems.append(f"events: number {event.number} stands where {self.count} should")
        if wanted is None or any(not _is_a(event.data.get(name), kind) for name, kind in wanted.items()):
            self.problems.append(f"event {event.number}: {event.kind!r} with {dict(event.data)} is none that there is")
            return
        if event.kind in DECISIVE:
            self.status, self.reason = DECISIVE[event.kind], event.data.get("reason", "")
            self.may_be_done = False
        step = getattr(self, f"_{event.kind.replace(' ', '_')}", None)
        if step is not None:
            step(event.data)

    def _created(self, data: Mapping[str, Any]) -> None:
        self.digest = data.get("digest")
        self.log_weight = float(data.get("log_weight", 1.0))
        self.first_budget = data.get("budget")

    def _asked(self, data: Mapping[str, Any]) -> None:
        self.asks.append((data["first"], data["count"], data["worker"]))
        if "key" in data:
            self.keys.add((data["key"], data["first"], data["count"]))

    def _told(self, data: Mapping[str, Any]) -> None:
        self.complete.update(data["trials"])
        self.surplus += data["surplus"]
        self.extra |= dict.fromkeys(data.get("extra", ()), self.rounds + 1)

    def _round(self, data: Mapping[str, Any]) -> None:
        self.catch_up(data["number"] - 1)
        self.rounds = data["number"]
        self.handed[self.rounds] = sum(self.asks[-1][:2]) - 1 if self.asks else 0
        if "lost" in data:
            self.lost[self.rounds] = float(data["lost"])

    def catch_up(self, rounds: int) -> None:
        """Let so many rounds be over: those that owed nothing ended with the creation or a larger budget, untold."""
        here, more, (turns, extra) = self.rounds + 1, rounds - self.rounds, self.seen
        if more > 0:
            self.turns[turns:] = [turn._replace(round=turn.round + more) for turn in self.turns[turns:]]
            self.extra |= {trial: came + more for trial, came in list(self.extra.items())[extra:]}
            self.short = {came + more if came == here else came for came in self.short}
            self.rounds = rounds

    def _dropped(self, data: Mapping[str, Any]) -> None:
        self.dropped.update(data["slots"])
        self.short.add(self.rounds + 1)

    def _trial_failed(self, data: Mapping[str, Any]) -> None:
        self.failed += 1
        self.strikes += 1
        self.failures.add(data["trial"])

    def _expired(self, data: Mapping[str, Any]) -> None:
        self.expired += data["count"]

    def _given_back(self, data: Mapping[str, Any]) -> None:
        self.expired += len(data["trials"])

    def _resumed(self, data: Mapping[str, Any]) -> None:
        self.strikes = 0

    def _extended(self, data: Mapping[str, Any]) -> None:
        self.budget = data["budget"]
        self.turns.append(Turn(self.rounds + 1, len(self.extra), data))
        if self.status == "done":
            self.status, self.may_be_done = "running", True
            self.seen = len(self.turns), len(self.extra)

    def _changed(self, data: Mapping[str, Any]) -> None:
        self.budget = data["budget"]
        self.turns.append(Turn(self.rounds + 1, len(self.extra), data))

    @property
    def changes(self) -> list[tuple[int, Mapping[str, Any]]]:
        """Changes of the problem, with the round in which each came."""
        return [(turn.round, turn.data) for turn in self.turns if "problem" in turn.data]

    @property
    def notes(self) -> list[tuple[int, Mapping[str, Any]]]:
        """What the history says of changes and of larger amounts, with the round in which each came."""
        return [(turn.round, turn.data) for turn in self.turns if "text" in turn.data]

    @property
    def closed(self) -> set[int]:
        """Slots that were closed when the problem was changed."""
        return {slot for _, data in self.changes for slot in data.get("closed", ())}

    def _renamed(self, data: Mapping[str, Any]) -> None:
        self.first_name = data["old"] if self.first_name is None else self.first_name
        self.name = data["new"]


def _is_a(value: Any, kind: type) -> bool:
    if kind is list:
        return isinstance(value, list) and all(_is_a(number, int) for number in value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return isinstance(value, kind)


def read_log(events: Iterable[Event], rounds: int = 0) -> Log:
    """What the events say of an experiment that has so many rounds behind it."""
    log = Log()
    for event in events:
        log.add(event)
    told = log.rounds
    log.catch_up(rounds)
    log.rounds = told
    return log


@dataclass
class Slot:
    """What became of one place in a round."""

    arm: int
    round: int
    holders: int = 0  # trials that have filled it, have it on lease, or left it open
    complete: bool = False
    counts: bool = False  # whether it is a place of the round, not one of a log's surplus
    item: int | None = None  # that it is made on
    logged: bool = False  # whether it is of a log, and was never handed out


@dataclass
class Tally:
    """What the trials say."""

    count: int = 0
    states: Counter[str] = field(default_factory=Counter)
    open: int = 0
    surplus: int = 0  # that was told, not left over from a log
    earliest: float = math.inf  # the first deadline of a lease
    complete: set[int] = field(default_factory=set)
    slots: dict[int, Slot] = field(default_factory=dict)
    results: dict[int, dict[int, list[tuple[float, ...]]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )  # by round and arm
    filled: dict[int, tuple[int, tuple[float, ...]]] = field(default_factory=dict)  # arm and result, by slot
    extra: dict[int, tuple[int, tuple[float, ...]]] = field(default_factory=dict)  # arm and result, by trial
    log: dict[int, list[tuple[float, ...]]] = field(default_factory=lambda: defaultdict(list))  # results by arm
    on_items: list[tuple[tuple[int, int], tuple[float, ...]]] = field(default_factory=list)  # item, arm and result
    problems: list[str] = field(default_factory=list)

    def add(self, row: Row, problem: str | None) -> None:
        """Count one more trial; ``problem`` is what is wrong with it by itself."""
        self.count += 1
        if problem is not None:
            self.problems.append(f"trial {row.number}: {problem}")
            return
        slot = self.slots.setdefault(row.slot, Slot(row.arm, row.round, item=row.item))
        like_first = (slot.arm, slot.round, slot.item) == (row.arm, row.round, row.item)
        if not like_first or (row.slot != row.number and row.number - 1 < row.slot):
            self.problems.append(f"trial {row.number}: it is not like the first trial of its slot {row.slot}")
        self.states[row.state] += 1
        self.open += row.open
        slot.counts |= row.state not in ("surplus", "extra")
        slot.holders += row.open or row.state in ("leased", "complete")
        slot.complete |= row.state == "complete"
        if row.state == "leased":
            self.earliest = min(self.earliest, row.deadline)
        if row.state == "complete" and row.values is not None:
            self.complete.add(row.number)
            self.results[row.round][row.arm].append(row.values)
            self.filled[row.slot] = row.arm, row.values
        if row.state == "extra" and row.values is not None:
            self.extra[row.number] = row.arm, row.values
        if row.state in ("complete", "extra") and row.values is not None and row.item is not None:
            self.on_items.append(((row.item, row.arm), row.values))

    def handed(self, number: int, arms: int, closed: set[int]) -> list[int]:
        """Slots of a round that were ever handed out, by arm, but for those that were closed."""
        slots = (slot for place, slot in self.slots.items() if place not in closed)
        found = Counter(slot.arm for slot in slots if slot.round == number and slot.counts)
        return [found[arm] for arm in range(arms)]


def read_trials(contents: Contents, log: Log, arms: int, costs: int) -> Tally:
    """What the trials say, each checked by itself and against the events."""
    tally, before = Tally(), min((first for first, _, _ in log.asks), default=contents.head.trials + 1)
    workers = _workers(log.asks)
    for row in contents.trials:
        asked = next(workers, None) if row.number >= before else (row.number, WORKER)
        problem = _wrong(row, contents, log, arms, costs) or _unlike(row, tally.count + 1, asked)
        tally.add(row, problem)
        tally.surplus += row.number >= before and row.state == "surplus"
        if problem is None and row.number < before:
            tally.slots[row.slot].logged = True
        if problem is None and row.number < before and row.state == "complete" and row.values is not None:
            tally.log[row.arm].append(row.values)
    if next(workers, None) is not None:
        tally.problems.append(f"trials: the events tell of more than the {tally.count} that are there")
    return tally


def _workers(asks: list[tuple[int, int, str]]) -> Iterator[tuple[int, str]]:
    for first, count, worker in sorted(asks):
        yield from ((number, worker) for number in range(first, first + count))


def _unlike(row: Row, number: int, asked: tuple[int, str] | None) -> str | None:
    """What differs from what the events say of a trial, those before the first ask being from a log."""
    if row.number != number:
        return f"it stands where trial {number} should"
    if asked != (row.number, row.worker):
        return f"its worker is {row.worker!r}, the events say {asked}"
    return None


def _wrong(row: Row, contents: Contents, log: Log, arms: int, costs: int) -> str | None:
    """What is wrong with a trial by itself."""
    head, closed = contents.head, len(contents.run.rounds)
    if row.state not in TrialState.__members__ or not 0 <= row.arm < arms or not 1 <= row.round <= closed + 1:
        return f"there is no state {row.state!r}, no arm {row.arm} or no round {row.round}"
    if not 1 <= row.slot <= row.number:
        return f"there is no slot {row.slot}"
    if (row.values is not None) is not (row.state in ("complete", "surplus", "extra")):
        return f"it is {row.state}, with the result {row.values}"
    if row.values is not None and (len(row.values) != 1 + costs or row.told is None):
        return f"its result {row.values} is not whole"
    if row.values is not None and not all(isinstance(v, (int, float)) and math.isfinite(v) for v in row.values):
        return f"its result {row.values} is not of finite numbers"
    if row.open and (row.state not in ("expired", "failed") or head.status == Status.stopped):
        return f"it is {row.state}, and its slot waits"
    if row.state == "failed" and row.number not in log.failures:
        return "it has failed, of which the events know nothing"
    if row.state == "leased" and row.deadline > head.clock + contents.record.lease + SLACK:
        return "its lease ends later than a lease can"
    return None
