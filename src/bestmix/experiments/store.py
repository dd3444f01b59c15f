"""What a storage must do, in prose and as protocols; every store passes the same tests.

**Slots.** A round owes each arm a number of trials. Each of these places is a *slot*. A slot is waiting, out on
lease, or filled; it is filled once and for good. Hence what is complete and what is leased together never exceeds
the round's quota or the budget, whatever the number of workers.

**ask(n, worker, key)** hands out up to n slots of the open round under a lease, each as a new trial with its own
number, which is also the fencing token. Slots that came back are handed out first, in the order of their trials;
then fresh ones, always of the arm that is due the most, the first among equals. So the sequence of arms is a
function of the calls alone. When all that the round owes is out on lease, or the experiment is not running, it
hands out none, and says why and when to ask again. An ask with a key that was answered with trials before gets
the same trials, as they are now, and hands out nothing more.

**Leases** are counted in lease time (``clock.py``), which never runs ahead of true time. A lease that has run out
is noticed by the next ask: the trial becomes *expired*, a state of its own, and its slot waits again. **renew**
starts a trial's lease anew; it also revives an expired or failed trial whose slot nobody has taken since. If
somebody has, or the slot is filled, or the experiment was stopped, the trial is gone and its worker can stop.

**give_back** ends leases at once, as if they had run out: for a worker that is asked to stop.

**tell(trial, values)** is idempotent. A trial that is told for the first time fills its slot and is *complete*. The
same values again change nothing; other values are a conflict, and change nothing. A late result (of a trial that
expired, was reported as failed or was withdrawn) fills its slot if nobody else has: whoever works on the slot now
has the lease *withdrawn*. If the slot is filled, the result counts all the same where the strategy decides from counts
(*extra*): from the next decision on, and in the answer at once. Where a schedule has a number of places for each arm,
it is left out (*surplus*). Several results told together are written together or, when one of them is refused, not at
all.

**tell_failed(trial, reason)** puts the slot back. It is idempotent. When the number of failures reaches the
experiment's cap, the experiment is *failed*: it hands out nothing until it is resumed, which counts from zero.

**Rounds.** With the result that fills a round's last slot the strategy advances, in the same transaction. Its state
is a pure function of what was told: sums are exact, so that replaying the complete trials in any order gives the
identical history. Extra results are part of the decisions after them, as the events say. If the strategy raises an
error, the result is kept all the same and the experiment is *failed* with the error as its reason; resuming tries
again.

**Planning ahead.** A strategy may plan the next round when all but the last slots of the plan are told
(``planning_ahead.py``): what is *planned* are slots, numbered as they are handed out, one round after another; what is
*decided* is decided from exactly the first of them, and the others count as under way, whatever came of them meanwhile.

**Changes.** Bounds, limits, arms and the budget may change while it runs (``revision.py``, ``replan.py``). Another
bound changes what the next decision is made from. Other arms cut the open round short: what is out on lease is waited
for.

**A log** of trials from before counts in full where the strategy decides from counts: its trials are complete ones of
the first round, whatever that had planned, and the budget is for further ones. A schedule takes what it has places for.

**Money.** Where the budget is one of money and hard, a round is planned so that all of its slots can be paid for. A
trial that was handed out, is on no lease and was not told may have been paid for: the most that a trial can cost is set
aside for it. A slot that can no longer be paid for is dropped, and the round ends without it (``unreported_costs.py``).

**Acknowledgement.** A call that returns has its effect safely on disk; a call that raises has none, unless it says
that the outcome is unknown. Every call can be repeated, so that stores repeat them when a connection is lost. An ask
without a key is then a new ask: what the lost one handed out goes to others when its leases end.

**pause** stops handing out, and results are still taken; **resume** goes on. **stop** ends the experiment for good:
leases are withdrawn, later results are refused, repeated ones are still no-ops. **extend** raises the budget where
the strategy knows how. **delete** removes everything.

**Events** tell everything that changes an experiment, in order, and are never changed; with the trials and the rounds
they are the evidence that every figure follows from (``audit.py``). The first one keeps a digest of what is fixed.

**Items.** Where trials are made on items, a slot has one from its first handing out on (``item_slots.py``): the next of
its arm's order. A trial that takes the slot later has the same. So no item is handed to an arm twice while its slot is
filled, unless the arm has had them all. What is told is added to the sums of its item and arm, from which the answer
has what arms have in common.

**Traffic.** Of an experiment on live traffic, whose requests are the trials, only sums are kept (``traffic.py``): it
hands out no slots, ``owing`` counts the requests that the round waits for, and ``earliest`` is when its time is over.

**Running sums.** No call but those that list trials reads more than the trials it is about, however many there are.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from bestmix.answers.item_sums import ItemSum
from bestmix.answers.moments import Moments
from bestmix.answers.recommendation import Round
from bestmix.experiments.clock import Clock
from bestmix.experiments.errors import Closed
from bestmix.experiments.model import Copied, Draft, Event, Record, Row, RunState, State, Status, TrialQuery, moment
from bestmix.experiments.traffic_model import EdgeRow, Version
from bestmix.strategies.protocol import Memory

T = TypeVar("T")


@dataclass
class Head(Copied):
    """The figures of an experiment that calls change; stores write it back when a call ends well."""

    # Changed seldom.
    name: str
    status: str
    reason: str
    notes: str
    budget: int
    ended: float | None
    changed: str | None  # the problem as it is now (``revision.py``); None where it is as at the beginning
    # Changed by nearly every call.
    clock: float  # lease time, and what showed which tick then
    boot: str
    tick: float
    earliest: float  # no lease runs out before it
    trials: int = 0  # handed out so far; the last one's number
    events: int = 0
    round: int = 0  # rounds that are over
    owing: int = 0  # slots of the round that are not filled
    due: int = 0  # slots of the round that were never handed out
    freed: int = 0  # slots of the round that came back
    complete: int = 0
    leased: int = 0
    surplus: int = 0
    expired: int = 0
    failed: int = 0
    strikes: int = 0  # failures since the start or the last resume
    extra: int = 0  # results that count beside those of slots
    queued: int = 0  # slots of rounds that are planned and not yet begun
    beyond: int = 0  # slots at the end of the plan that the next decision does not wait for
    cutoff: int = 0  # the last slot that it waits for, once that was handed out


def worth_writing(before: Head, after: Head) -> bool:
    """Whether a call changed anything but the reading of the same clock, which the next one can do as well.

    >>> from dataclasses import replace
    >>> head = Head("a", "running", "", "", 9, None, None, clock=1.0, boot="b", tick=5.0, earliest=0.0)
    >>> worth_writing(head, replace(head, clock=2.0, tick=6.0)), worth_writing(head, replace(head, trials=1))
    (False, True)
    """
    return {**vars(before), "clock": after.clock, "tick": after.tick} != vars(after)


class Transaction(Protocol):
    """One experiment inside a transaction: small steps that ``calls.py`` and ``control.py`` are made of."""

    record: Record
    head: Head

    def trials(self, numbers: Sequence[int]) -> dict[int, Row]:
        """The trials with these numbers that exist."""

    def holder(self, slot: int) -> Row | None:
        """The trial that has filled the slot, has it on lease, or left it open."""

    def after(self, number: int) -> list[Row]:
        """The trials with larger numbers, in order."""

    def complete_in(self, number: int) -> dict[int, int]:
        """Complete trials of a round, by arm."""

    def expire_leases(self, time: float) -> int:
        """Make every lease expired whose deadline is not after ``time``, its slot open; how many they were."""

    def earliest(self) -> float | None:
        """The first deadline of a lease."""

    def leases(self) -> list[Row]:
        """The trials that are out on lease."""

    def open_slots(self, most: int, arms: Sequence[int] | None = None) -> list[Row]:
        """The first trials whose slots are open, of all arms or of some."""

    def due(self) -> list[int]:
        """What each arm is due; below zero where users arrived for whom more was handed out than planned."""

    def due_arms(self, most: int) -> list[tuple[int, int]]:
        """The arms that are due the most, with how much."""

    def lower_due(self, counts: dict[int, int]) -> None:
        """Lower what arms are due."""

    def raise_due(self, quota: Sequence[int]) -> None:
        """Add to what each arm is due."""

    def add_trials(self, rows: Sequence[Row]) -> None:
        """Write new trials."""

    def update_trials(self, rows: Sequence[Row]) -> None:
        """Write trials that changed."""

    def withdraw_all(self) -> None:
        """Withdraw every lease, and close every open slot."""

    def moments(self, arms: Sequence[int] | None = None) -> dict[int, Moments]:
        """Running sums of these arms, or of all, which the caller may add to."""

    def write_moments(self, moments: dict[int, Moments]) -> None:
        """Write running sums."""

    def memory(self) -> Memory:
        """What the strategy remembers."""

    def advance(self, memory: Memory, rounds: Sequence[Round], mixture: Mapping[str, float] | None = None) -> None:
        """Write the strategy's memory and rounds that were closed, with the answer after them."""

    def hand_out(self, counts: Mapping[int, int]) -> dict[int, int]:
        """Count slots of arms that are handed out for the first time on items; how many each had before."""

    def item_sums(self, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], ItemSum]:
        """Sums of results by item and arm, those of these that there are."""

    def write_item_sums(self, sums: Mapping[tuple[int, int], ItemSum]) -> None:
        """Write sums by item and arm, anew or for the first time."""

    def add_arms(self, count: int, size: int) -> None:
        """Make room for more that can be tried, of which ``size`` numbers are measured."""

    def asked_with(self, key: str) -> list[Row]:
        """The trials that were handed out for an idempotency key."""

    def write_key(self, key: str, first: int, count: int) -> None:
        """Keep what was handed out for an idempotency key."""

    def add_event(self, kind: str, **data: Any) -> None:
        """Add an event."""

    def version(self, number: int) -> Version | None:
        """Weights that were published, without what they were planned from."""

    def add_version(self, version: Version) -> None:
        """Write new weights."""

    def version_sums(self, version: int, arms: Sequence[int] | None = None) -> dict[int, Moments]:
        """Sums of the requests of a version, of these arms or of all that have any."""

    def write_version_sums(self, version: int, moments: dict[int, Moments]) -> None:
        """Write sums of the requests of a version."""

    def edges(self, names: Collection[str]) -> dict[str, EdgeRow]:
        """Who reports sums under these names, as far as they have."""

    def write_edge(self, edge: EdgeRow) -> None:
        """Write who reports sums, anew or for the first time."""


@dataclass(frozen=True)
class Prefetch:
    """What a call is going to read first; a store may fetch it along with the head."""

    trials: Sequence[int] = ()
    due_arms: int = 0


NO_PREFETCH = Prefetch()


@dataclass(frozen=True)
class Joint(Generic[T]):
    """Work that a store may do together with other work of the same kind, in one pass.

    ``many`` takes what each caller brings, and has an answer for each: a result, or the error of one that is refused.
    """

    many: "Callable[[Transaction, Sequence[Any]], Sequence[T | Exception]]"
    brings: Any

    def __call__(self, transaction: "Transaction") -> T:
        """Do it alone."""
        (answer,) = self.many(transaction, [self.brings])
        if isinstance(answer, Exception):
            raise answer
        return answer


@dataclass(frozen=True)
class TrafficContents:
    """All that a store keeps of live traffic, as it was at one moment."""

    versions: list[Version]  # with what they were planned from
    sums: dict[tuple[int, int], Moments]  # by version and arm; version 0 is what was known before
    edges: list[EdgeRow]


@dataclass(frozen=True)
class Contents:
    """All that a store keeps of one experiment, as it was at one moment; trials and events can be read once."""

    record: Record
    head: Head
    run: RunState
    due: list[int]  # of each arm
    counts: list[int]  # results of each arm
    asks: list[tuple[str, int, int]]  # idempotency keys, with the first trial and how many
    trials: Iterator[Row]
    events: Iterator[Event]
    traffic: TrafficContents
    handed: list[int] = field(default_factory=list)  # slots of each arm that were handed out on items
    items: list[str] = field(default_factory=list)  # their texts, where they have any


class ExperimentStore(Protocol):
    """Where experiments are kept."""

    def create(self, draft: Draft) -> bool:
        """Write a new experiment; False, and nothing written, when its name is taken by another."""

    def find(self, name: str) -> Record | None:
        """The experiment of that name."""

    def record(self, key: str) -> Record | None:
        """The experiment with that key."""

    def entries(self, after: str = "", limit: int | None = None) -> list[tuple[Record, State]]:
        """Experiments in the order of their names, those after a name."""

    def write(self, key: str, work: Callable[[Transaction], T], prefetch: Prefetch = NO_PREFETCH) -> T:
        """Do ``work`` in one transaction that excludes other writers of the experiment.

        What it did is on disk when this returns, and undone when it raises. It may be called again
        when the transaction was lost, so it must have no effect but through the transaction.
        """

    def state(self, key: str) -> State:
        """The experiment's figures."""

    def run_state(self, key: str) -> RunState:
        """Figures, memory, sums and rounds of one moment."""

    def changed(self, key: str) -> str | None:
        """The problem as it is now, as ``revision.py`` reads it; None where it is as at the beginning."""

    def items(self, key: str) -> list[str]:
        """The texts of its items, in the order in which they were given; none where they are numbered."""

    def contents(self, key: str, state: str | None = None, events: bool = False) -> Contents:
        """Everything at one moment, with the trials in a state or all of them; the events only on request.

        Writers are not kept waiting while the caller reads on.
        """

    def trials(self, key: str, query: TrialQuery) -> list[Row]:
        """Trials in the order of their numbers, or the other way round."""

    def events(self, key: str, after: int, limit: int) -> list[Event]:
        """Events numbered above ``after``, in order."""

    def version(self, key: str) -> tuple[State, Version | None, int]:
        """Figures, the newest weights, and the requests that their round still waits for."""

    def traffic(self, key: str, last: int | None = None) -> TrafficContents:
        """All that is kept of live traffic, as it is at one moment; or the last versions and 0 with their sums."""

    def delete(self, key: str) -> None:
        """Remove the experiment and all that belongs to it."""

    def ping(self, patience: float) -> None:
        """Raise an error unless the storage answers within so many seconds."""

    def close(self) -> None:
        """Let go of files and connections."""


def digest(record: Record) -> str:
    """A fingerprint of what is fixed of an experiment; the event ``created`` keeps it, so that damage is found.

    >>> from dataclasses import replace
    >>> record = Record("0123456789ab", "a", {"arms": ["x"]}, {"kind": "Uniform"}, 9, 60.0, 100)
    >>> digest(record) == digest(replace(record)), digest(record) == digest(replace(record, first_budget=8))
    (True, False)
    """
    fixed = [value for name, value in vars(record).items() if name != "items" or value is not None]
    return fingerprint(json.dumps(fixed, default=dict))


def birth(draft: Draft) -> dict[str, Any]:
    """What the event ``created`` tells: the digest, and with a log what a result of it counts and the budget in all."""
    log = {"log_weight": draft.weight, "budget": draft.budget} if any(draft.earlier) else {}
    return {"digest": digest(draft.record), **log}


def fingerprint(text: str) -> str:
    """A short text that another text has by chance only.

    >>> fingerprint("a")
    'ca978112ca1bbdca'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def opening(draft: Draft, clock: Clock, now: float) -> Head:
    """The head of a new experiment."""
    owing, rows, version = sum(draft.quota or []), draft.rows, draft.version
    complete = sum(row.state == "complete" for row in rows)
    return Head(
        draft.record.name,
        "done" if draft.quota is None else "running",
        "",
        draft.notes,
        draft.budget,
        now if draft.quota is None else None,
        None,
        0.0,
        clock.boot,
        clock.tick(),
        0.0 if version is None else version.seconds,
        trials=len(rows),
        round=len(draft.rounds),
        owing=owing if version is None else version.requests,
        due=owing,
        complete=complete if version is None else sum(m.count for m in draft.moments),
        surplus=len(rows) - complete,
    )


def discounted(earlier: Sequence[Moments | None], weight: float) -> int:
    """By how many trials a log counts less than it has, at its weight.

    >>> import numpy as np
    >>> discounted([Moments(1).plus(np.ones((5, 1))), None], 0.5)
    3
    """
    return sum(m.count - m.weighted(weight).count for m in earlier if m is not None)


def state_of(head: Head, created: float, less: int = 0) -> State:
    """The figures that users see; of a log's trials ``less`` do not count, by its weight."""
    return State(
        head.name,
        Status(head.status),
        head.reason,
        head.notes,
        head.budget,
        head.round + (head.status != "done"),
        head.complete - less,
        head.leased,
        head.due + head.queued + head.freed,
        head.expired,
        head.failed,
        head.surplus,
        moment(created),
        None if head.ended is None else moment(head.ended),
        head.trials,
        head.extra,
        [] if head.changed is None else json.loads(head.changed)["history"],
        less,
    )


def gone() -> Closed:
    """What a call on a deleted experiment ends with."""
    return Closed("the experiment was deleted; create a new one")
