"""What an experiment and its trials are: plain values."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from bestmix import checks
from bestmix.answers.moments import Moments
from bestmix.answers.recommendation import Recommendation, Round
from bestmix.problems.problem import Problem

if TYPE_CHECKING:  # the client needs the values alone, without the arithmetic that strategies load
    from bestmix.answers.item_sums import ItemSum
    from bestmix.experiments.traffic_model import Version
    from bestmix.strategies.protocol import Memory

LEASE = 60.0  # seconds
FAILURES = 100  # failed trials that end an experiment
KEY = re.compile(r"[0-9a-f]{12}")  # an experiment's id
LONGEST_NAME = 200  # characters of a name, a worker or a key
LONGEST_ARM = 1000  # characters of the name of an arm or a cost
UNLIMITED = 2**53  # trials: a budget that nothing reaches
LONGEST_NOTE = 100_000  # characters of notes


class Status(StrEnum):
    """Where an experiment is."""

    running = "running"
    paused = "paused"  # hands out nothing until it is resumed; results are still taken
    done = "done"  # the strategy wants no more trials
    stopped = "stopped"  # ended early, for good
    failed = "failed"  # too many failures, or the strategy raised an error; resume goes on


class TrialState(StrEnum):
    """Where a trial is."""

    leased = "leased"
    complete = "complete"
    expired = "expired"  # its lease ran out, and its slot is or was handed out again
    failed = "failed"  # its worker said so, and its slot is or was handed out again
    surplus = "surplus"  # told when its slot was filled already, and left out: the strategy's schedule has no place
    extra = "extra"  # told when its slot was filled already, and counted beside what was planned
    withdrawn = "withdrawn"  # its slot was filled by a late result, or the experiment was stopped


class Outcome(StrEnum):
    """What became of a result that was told."""

    counted = "counted"
    repeated = "repeated"  # told before with the same values: nothing changed
    surplus = "surplus"  # its slot was filled already, and the strategy's schedule has no place for more: left out


class Copied:
    """What calls change, and what it was before: copies are made at every call."""

    def copied(self) -> Self:
        """One with the same fields; ``dataclasses.replace`` takes many times as long.

        >>> row = Row(1, 1, 0, 1, "w", 0.0, 0.0, 0.0)
        >>> row.copied() == row, row.copied() is row
        (True, False)
        """
        result = object.__new__(type(self))
        result.__dict__.update(self.__dict__)
        return result


@dataclass
class Row(Copied):
    """A trial as a store keeps it; ``deadline`` is in lease time, the other times are seconds since 1970."""

    number: int
    slot: int  # number of the first trial that was handed out for the same place in the round
    arm: int
    round: int
    worker: str
    deadline: float
    expires: float
    asked: float
    state: str = "leased"
    open: bool = False  # its slot waits to be handed out again
    told: float | None = None
    values: tuple[float, ...] | None = None  # reward, then costs in the problem's order
    note: str = ""
    item: int | None = None  # the number of the one that its slot is made on, where there are any


@dataclass(frozen=True)
class Trial:
    """One trial that was handed out.

    Attributes
    ----------
    id
        What to call it in ``tell``, ``renew`` and ``tell_failed``; no other trial of the storage has it.
    arm, round, worker
        What to try, in which round, and who asked for it.
    token
        The fencing token. It grows with every trial that is handed out, so that something outside
        (a file, a device) that remembers the largest token it has met can turn away a worker whose
        slot has been handed to another one since.
    deadline
        When the lease runs out, by this machine's clock; for people. Leases are counted in elapsed time.
    slot
        Token of the first trial that was handed out for the same place in the round.
    state, reward, costs, asked, told, note
        What became of it; ``note`` says why it failed.
    segment
        Whom to try it on, where there are segments.
    item
        What to make it on, where there are items: a text, or a number from 0 on. Whoever gets the slot next has it too.
    """

    id: str
    arm: str
    round: int
    token: int
    slot: int
    state: TrialState
    worker: str
    deadline: datetime
    asked: datetime
    told: datetime | None = None
    reward: float | None = None
    costs: Mapping[str, float] | None = None
    note: str = ""
    segment: str | None = None
    item: str | int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data; times in ISO 8601."""
        return _plain(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Trial":
        """Inverse of ``to_dict``; version 0.1 had no segments."""
        times = {name: _time(data[name]) for name in ("deadline", "asked", "told")}
        known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        return cls(**known | times | {"state": TrialState(data["state"])})


class Handout(list[Trial]):
    """The trials that ``ask`` hands out; when there are none, why, and when to ask again.

    ``retry_after`` is in seconds: by then the first lease will have run out, or asking is worthwhile
    for another reason. It is None when trials were handed out, and when there will never be any more.
    """

    def __init__(self, trials: Iterable[Trial] = (), retry_after: float | None = None, why: str = "") -> None:
        super().__init__(trials)
        self.retry_after = retry_after
        self.why = why

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"trials": [trial.to_dict() for trial in self], "retry_after": self.retry_after, "why": self.why}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Handout":
        """Inverse of ``to_dict``."""
        return cls(map(Trial.from_dict, data["trials"]), data["retry_after"], data["why"])


@dataclass(frozen=True)
class State:
    """An experiment's figures at one moment; all of it is read without looking at the trials."""

    name: str
    status: Status
    reason: str  # why it failed or was stopped
    notes: str
    budget: int
    round: int  # rounds that are over, plus one unless the experiment is done
    complete: int  # trials that count, those of a log at its weight
    leased: int
    waiting: int  # slots of the round that nobody works on
    expired: int  # leases that ran out so far
    failed: int  # trials that were reported as failed so far
    surplus: int
    created: datetime
    ended: datetime | None
    handed: int  # trials handed out so far; the last one's number
    extra: int = 0  # results beside what was planned, which count
    changes: list[Mapping[str, Any]] = field(
        default_factory=list
    )  # of the problem: the round in which each came, and what it is
    discounted: int = 0  # results of the log that do not count, by its weight

    @property
    def open(self) -> bool:
        """Whether there may be further trials."""
        return self.status in (Status.running, Status.paused, Status.failed)

    @property
    def unlimited(self) -> bool:
        """Whether there is no budget to speak of, as on live traffic."""
        return self.budget >= UNLIMITED

    def to_dict(self) -> dict[str, Any]:
        """Plain data; times in ISO 8601."""
        return _plain(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "State":
        """Inverse of ``to_dict``; other entries are left alone."""
        times = {name: _time(data[name]) for name in ("created", "ended")}
        known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        return cls(**known | times | {"status": Status(data["status"])})


@dataclass(frozen=True)
class Event:
    """Something that happened; ``number`` is the cursor to read on from."""

    number: int
    kind: str
    data: Mapping[str, Any]
    at: datetime

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"number": self.number, "kind": self.kind, "data": dict(self.data), "at": self.at.isoformat()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Event":
        """Inverse of ``to_dict``."""
        return cls(data["number"], data["kind"], data["data"], datetime.fromisoformat(data["at"]))


@dataclass(frozen=True)
class Record:
    """What is fixed of an experiment from its beginning, as plain data."""

    key: str
    name: str
    problem: Mapping[str, Any]
    strategy: Mapping[str, Any]
    first_budget: int
    lease: float
    failures: int
    items: Mapping[str, Any] | None = None  # how many there are, the seed of their order, whether arms share it

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the key is its ``id``."""
        return {"id": self.key, **{name: value for name, value in vars(self).items() if name != "key"}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Record":
        """Inverse of ``to_dict``; other entries are left alone, and version 0.1 had no items."""
        names = [name for name in cls.__dataclass_fields__ if name not in ("key", "items")]
        return cls(data["id"], **{name: data[name] for name in names}, items=data.get("items"))


@dataclass(frozen=True)
class Draft:
    """A new experiment, before it is written: the record and everything that can change."""

    record: Record
    notes: str
    memory: "Memory"
    quota: list[int] | None
    rounds: list[Round]
    moments: list[Moments]
    rows: list[Row]
    earlier: Sequence[Moments | None] = ()  # sums of the log's trials of each arm
    weight: float = 1.0  # what each of them counts
    version: "Version | None" = None  # the first weights of an experiment on live traffic
    items: Sequence[str] = ()  # their texts, where they have any
    by_item: "Mapping[tuple[int, int], ItemSum]" = field(default_factory=dict)  # of the log's trials, by item and arm

    @property
    def budget(self) -> int:
        """Trials in all: those that may be made, and those of a log that counts in full."""
        beside = sum(m.count for m in self.moments) if any(self.earlier) else 0
        return min(self.record.first_budget + beside, max(self.record.first_budget, UNLIMITED))


@dataclass(frozen=True)
class RunState:
    """Everything that the answer is made of, as it was at one moment."""

    state: State
    memory: "Memory"
    moments: list[Moments]
    rounds: list[Round]
    mixtures: list[Mapping[str, float] | None]  # the answer after each round, where it is known
    earlier: Sequence[Moments | None] = ()  # sums of the log's trials of each arm, where it started from one
    weight: float = 1.0  # what each of them counts
    changed: str | None = None  # the problem as it is now, where it was changed
    by_item: "Mapping[tuple[int, int], ItemSum]" = field(default_factory=dict)  # sums of results by item and arm


@dataclass(frozen=True)
class Snapshot:
    """What a page shows of an experiment, all of one moment: its figures, its answer, and the answers before."""

    state: State
    recommendation: Recommendation
    mixtures: Sequence[Mapping[str, float] | None]  # the answer after each round, where it is known

    def to_dict(self) -> dict[str, Any]:
        """Plain data; each round stands with the answer after it, and not in the recommendation."""
        answer = self.recommendation.to_dict()
        pairs = zip(answer.pop("history"), self.mixtures, strict=True)
        rounds = [finished | {"mixture": mixture} for finished, mixture in pairs]
        return {"state": self.state.to_dict(), "recommendation": answer, "rounds": rounds}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Snapshot":
        """Inverse of ``to_dict``."""
        answer = Recommendation.from_dict({**data["recommendation"], "history": data["rounds"]})
        return cls(State.from_dict(data["state"]), answer, [finished["mixture"] for finished in data["rounds"]])


@dataclass(frozen=True)
class TrialQuery:
    """Which trials to read: those numbered above ``after``, in order; or, newest first, those below it."""

    state: str | None = None
    arm: int | None = None
    worker: str | None = None
    after: int = 0  # newest first, 0 begins with the newest
    limit: int | None = None
    newest_first: bool = False


def _plain(value: Trial | State) -> dict[str, Any]:
    return {name: field.isoformat() if isinstance(field, datetime) else field for name, field in vars(value).items()}


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def moment(seconds: float) -> datetime:
    """Seconds since 1970 as a time in UTC.

    >>> moment(0.0).isoformat()
    '1970-01-01T00:00:00+00:00'
    """
    return datetime.fromtimestamp(seconds, UTC)


def one_row(problem: Problem, metrics: Any, costs: Any = None) -> tuple[float, ...]:
    """The metrics of one trial in the problem's order, the goal's first.

    >>> one_row(Problem(["a"], goal="minimise dollars", limits=["quality >= 0.9"]), {"quality": 1, "dollars": 0.2})
    (0.2, 1.0)
    """
    rows = problem.trial_rows(metrics, costs)
    if len(rows) != 1:
        raise checks.InvalidInput("metrics", expected="those of one trial", got=f"{len(rows)} trials")
    return tuple(rows[0].tolist())


def check_text(name: str, value: Any, most: int = LONGEST_NAME, empty: bool = False) -> str:
    """Text that every database can hold.

    >>> check_text("name", "router")
    'router'
    """
    if not isinstance(value, str):
        raise checks.InvalidInput(name, expected="text", got=checks.shown(value), remedy="give a string")
    if not empty and not value.strip():
        raise checks.InvalidInput(name, expected="some text", got=checks.shown(value), remedy="give it a name")
    if len(value) > most:
        raise checks.InvalidInput(
            name, expected=f"at most {most:,} characters", got=f"{len(value):,}", remedy="shorten it"
        )
    allowed = "\n\r\t" if most == LONGEST_NOTE else ""
    if "\x00" in value or (not empty and checks.unprintable(value, allowed)) or checks.unencodable(value):
        raise checks.InvalidInput(
            name, f"{checks.shown(value)} has a character that cannot be stored or shown", "remove it"
        )
    return value


def check_label(name: str, value: Any, most: int = LONGEST_NAME, empty: bool = False) -> str:
    """A new text of one line that people tell from others by its looks.

    >>> check_label("worker", "w1")
    'w1'
    """
    text = check_text(name, value, most, empty)
    if checks.hidden(text):
        fault = f"{checks.shown(text)} has a character that nobody sees, or that turns others round"
        raise checks.InvalidInput(name, fault, "remove it")
    return text


def check_name(value: Any) -> str:
    """The name of a new experiment: part of addresses, and not like the id of one.

    >>> check_name("router")
    'router'
    """
    name = check_label("name", value)
    if KEY.fullmatch(name):
        raise checks.InvalidInput("name", f"{name!r} looks like an experiment's id", "choose another name")
    if "/" in name or name in (".", ".."):
        fault = f"{checks.shown(name)} cannot stand in an address, where a slash divides parts"
        raise checks.InvalidInput("name", fault, "choose a name without one, such as 'a-b'")
    return name
