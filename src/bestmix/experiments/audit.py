"""An experiment checked against its own trials: every figure derived again, every round replayed.

The trials, the rounds and the events are the evidence; the figures, of which calls live, follow from them. A figure
that differs can be written anew (``repair``). Where the evidence contradicts itself something was lost: that is
damage, and only a copy helps.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bestmix.answers.moments import Moments
from bestmix.experiments import item_audit, traffic_audit
from bestmix.experiments.course import Course, problem_at
from bestmix.experiments.errors import StorageError
from bestmix.experiments.experiment import Experiment
from bestmix.experiments.planning_ahead import QUEUE
from bestmix.experiments.revision import Revision, revision
from bestmix.experiments.store import Contents, ExperimentStore, Transaction, digest, fingerprint
from bestmix.experiments.tally import MOST_SHOWN, SLACK, Log, Tally, read_log, read_trials
from bestmix.problems.problem import Problem
from bestmix.strategies import Strategy, rounds
from bestmix.strategies.protocol import arriving, look_ahead
from bestmix.strategies.rounds import Recipe
from bestmix.strategies.traffic import Traffic

MOST_SECONDS = 1e10  # that a clock can show: three hundred years
CLOSE = 1e-6  # how much the numbers of a history may differ from those that this version works out


@dataclass(frozen=True)
class Difference:
    """A figure that is not what the trials, rounds and events say; ``arm`` is given for those of an arm."""

    name: str
    stored: float
    derived: float
    arm: int | None = None

    def __str__(self) -> str:
        of = "" if self.arm is None else f" of arm {self.arm}"
        return f"{self.name}{of}: the figure is {self.stored:g}, the trials say {self.derived:g}"


@dataclass(frozen=True)
class Examination:
    """What is wrong with an experiment."""

    damage: list[str]
    differences: list[Difference]

    @property
    def findings(self) -> list[str]:
        """All of it in words; an empty list is good news."""
        return [*self.damage, *map(str, self.differences)]


def audit(experiment: Experiment) -> list[str]:
    """What is wrong with an experiment; an empty list is good news.

    Examples
    --------
    >>> from bestmix import Problem, Uniform, open_experiment
    >>> exp = open_experiment("memory://", "a", Problem(["a", "b"]), 4, Uniform())
    >>> exp.tell(exp.ask()[0], 1.0).value, audit(exp)
    ('counted', [])
    """
    contents = experiment.storage.store.contents(experiment.record.key, events=True)
    return examine(contents, revision(contents.record, contents.head.changed), experiment.strategy).findings


def examine(contents: Contents, now: Revision, strategy: Strategy | None) -> Examination:
    """What is wrong with an experiment; without its strategy rounds are not replayed."""
    log = read_log(contents.events, len(contents.run.rounds))
    if contents.traffic.versions:
        return _examine_traffic(contents, log, now, strategy)
    tally = read_trials(contents, log, len(now.cells), len(now.problem.metrics) - 1)
    evidence = [*log.problems[:MOST_SHOWN], *tally.problems[:MOST_SHOWN]]
    evidence += [*_fixed(contents, log, now), *_events(contents, log, tally), *_slots(contents, log, tally)]
    ahead = 0 if strategy is None else look_ahead(strategy, now.problem, contents.run.memory)
    evidence += [*_rounds(contents, log, tally, now, ahead > 0), *item_audit.damage(contents, tally, now)]
    if not evidence:
        course = Course(contents, log, tally, now)
        evidence += _sums(contents, course)
        evidence += [] if strategy is None else _replay(contents, course, strategy)
    if evidence:  # figures cannot be derived from evidence that contradicts itself
        return Examination(evidence, [])
    quota = None if strategy is None else _quota(contents, now.problem, strategy)
    if strategy is not None and (problems := list(_status(contents, log, quota is None))):
        return Examination(problems, [])
    due, owing = _owed(contents, log, tally, now, quota) if strategy is not None else _owed_alone(contents, tally)
    if ahead:  # what is planned ahead is known to the store alone
        due, owing = contents.due, contents.head.owing
    flow = arriving(now.problem, contents.run.memory)
    if (sum(due) if flow else min(due, default=0)) < 0 or owing < 0:
        return Examination([f"round {len(contents.run.rounds) + 1}: it has more trials than it owes"], [])
    planned = _queued(contents) if ahead else _not_ahead(contents)
    arms = [*_arms(contents, tally, due), *_handed(contents, tally)]
    return Examination([], [*_head(contents, log, tally, due, owing), *planned, *arms])


def _queued(contents: Contents) -> list[Difference]:
    """Trials of rounds that are planned and not yet begun."""
    derived = sum(map(sum, contents.run.memory.get(QUEUE, ())))
    return [Difference("queued", contents.head.queued, derived)] if contents.head.queued != derived else []


def _not_ahead(contents: Contents) -> list[Difference]:
    """Figures of planning ahead, where there is none."""
    found = {name: getattr(contents.head, name) for name in ("queued", "beyond", "cutoff")}
    return [Difference(name, value, 0) for name, value in found.items() if value]


def _examine_traffic(contents: Contents, log: Log, now: Revision, strategy: Strategy | None) -> Examination:
    """The same of live traffic, whose evidence are sums: every version is planned again from its own."""
    evidence = [
        *log.problems[:MOST_SHOWN],
        *_fixed(contents, log, now),
        *traffic_audit.damage(contents, now, log.changes),
    ]
    if isinstance(strategy, Traffic) and not evidence:
        for version, plan in traffic_audit.planned_again(contents, strategy, log.changes):
            if not alike(plan, {name: version.to_dict()[name] for name in plan}):
                evidence.append(f"version {version.number}: planned again from the same sums it is another")
    if evidence:
        return Examination(evidence[:MOST_SHOWN], [])
    derived = {"events": log.count, "strikes": log.strikes, **traffic_audit.figures(contents)}
    found = [Difference(n, getattr(contents.head, n), v) for n, v in derived.items() if getattr(contents.head, n) != v]
    return Examination([], [*found, *_arms(contents, Tally(), contents.due)])


def repair(store: ExperimentStore, key: str, examination: Examination) -> list[str]:
    """Write the figures anew that differ from what the trials say; what was done, a line for each."""
    if examination.damage:
        raise StorageError(
            f"the trials, rounds or events are damaged ({examination.damage[0]}), so that figures cannot be derived "
            "from them; restore the database from a copy"
        )

    def write(transaction: Transaction) -> None:
        due = [0] * len(transaction.moments())
        for difference in examination.differences:
            if difference.arm is None:
                if getattr(transaction.head, difference.name) != difference.stored:
                    raise StorageError(f"{difference.name} was written meanwhile; stop all workers, and repair again")
                kind = type(getattr(transaction.head, difference.name))
                setattr(transaction.head, difference.name, kind(difference.derived))
            elif difference.name == "due":
                due[difference.arm] = int(difference.derived - difference.stored)
            elif difference.name == "handed":
                transaction.hand_out({difference.arm: int(difference.derived - difference.stored)})
            else:
                transaction.write_moments(transaction.moments([difference.arm]))
        transaction.raise_due(due)

    store.write(key, write)
    return [f"{d}; written anew" for d in examination.differences]


def _fixed(contents: Contents, log: Log, now: Revision) -> Iterator[str]:
    """What is fixed from the beginning, or told by an event when it changes."""
    record, head = contents.record, contents.head
    named = record if log.first_name is None else replace(record, name=log.first_name)
    if log.digest is not None and log.digest != digest(named):
        yield "problem, strategy, budget, lease, failures or name: not as they were when it was created"
    if log.name is not None and log.name != head.name:
        yield f"name: it is {head.name!r}, the events say {log.name!r}"
    first = record.first_budget if log.first_budget is None else log.first_budget
    budget = first if log.budget is None else log.budget
    if head.budget != budget:
        yield f"budget: it is {head.budget}, the events say {budget}"
    if (head.changed is None) is bool(log.notes):
        yield "changed: the events tell of changes that are not there, or the other way round"
    elif not _same_revision(contents, log, now):
        yield "changed: the problem is not as the events say"
    if contents.run.weight != log.log_weight:
        yield f"log_weight: it is {contents.run.weight}, the events say {log.log_weight}"
    if head.status != log.status and not (head.status == "done" and log.may_be_done):
        yield f"status: it is {head.status!r}, the events say {log.status!r}"
    elif head.reason != log.reason:
        yield f"reason: it is {head.reason!r}, the events say {log.reason!r}"
    if (head.ended is not None) is not (head.status in ("done", "stopped")):
        yield f"ended: it is {head.ended} although the experiment is {head.status}"
    if not (0.0 <= head.clock <= MOST_SECONDS and abs(head.tick) <= MOST_SECONDS):
        yield f"clock: no clock shows {head.clock:g} or {head.tick:g} seconds"


def _same_revision(contents: Contents, log: Log, now: Revision) -> bool:
    """Whether problem, numbers and notes are those that the events lead to."""
    found = revision(contents.record, None)
    for came, data in log.notes:
        problem = Problem.from_dict(data["problem"]) if "problem" in data else found.problem
        found = found.becoming(problem, {"round": came, "text": data["text"]})
    notes = [{name: note.get(name) for name in ("round", "text")} for note in now.history]
    return (found.problem, found.cells, list(found.history)) == (now.problem, now.cells, notes)


def _events(contents: Contents, log: Log, tally: Tally) -> Iterator[str]:
    """Whether trials and events tell the same."""
    before = min((first for first, _, _ in log.asks), default=tally.count + 1)
    unknown = sorted(number for number in tally.complete - log.complete if number >= before)
    if unknown:
        yield f"trial {unknown[0]}: it is complete, of which the events know nothing"
    if missing := sorted(log.complete - tally.complete):
        yield f"trial {missing[0]}: the events say that it is complete"
    if log.extra.keys() != tally.extra.keys():
        yield f"extra: the events say trials {sorted(log.extra)}, the trials are {sorted(tally.extra)}"
    if log.surplus != tally.surplus:
        yield f"surplus: the events say {log.surplus}, the trials are {tally.surplus}"
    if log.rounds > len(contents.run.rounds):
        yield f"round {log.rounds}: it is over, as the events say, and is not there"
    known = {(first, count) for first, count, _ in log.asks}
    if any((first, count) not in known for _, first, count in contents.asks):
        yield "asks: a key stands for trials that were not handed out together"
    elif log.keys - {(fingerprint(key), first, count) for key, first, count in contents.asks}:
        yield "asks: a key of which the events tell is missing"


def _slots(contents: Contents, log: Log, tally: Tally) -> Iterator[str]:
    stopped, closed = contents.head.status == "stopped", log.closed | log.dropped
    for number, slot in tally.slots.items():
        wanted = slot.complete if stopped else slot.counts and number not in closed
        if slot.holders != wanted:
            yield f"slot {number}: it is held by {slot.holders} trials, expected {int(wanted)}"
            return


def _rounds(contents: Contents, log: Log, tally: Tally, now: Revision, ahead: bool) -> Iterator[str]:
    run, known = contents.run, set(map(str, (*now.cells, *now.problem.known_cells)))
    for place, (ended, mixture) in enumerate(zip(run.rounds, run.mixtures, strict=True), start=1):
        if ended.number != place:
            yield f"round {ended.number}: it stands where round {place} should"
        there = set(map(str, problem_at(contents.record, log, place).cells))
        told = {str(now.cells[arm]): len(rows) for arm, rows in tally.results[place].items()}
        told = {name: count for name, count in told.items() if name in there}
        short = ahead and all(count <= ended.pulls.get(name, 0) for name, count in told.items())
        if told != {arm: n for arm, n in ended.pulls.items() if n} and not short:
            yield f"round {ended.number}: it is said to have {dict(ended.pulls)}, the trials are {told}"
        if mixture is not None and not _is_mixture(mixture, known):
            yield f"round {ended.number}: {dict(mixture)} is no mixture of the arms"


def _is_mixture(mixture: Mapping[str, Any], known: set[str]) -> bool:
    shares = list(mixture.values())
    if not set(mixture) <= known or not all(isinstance(share, (int, float)) for share in shares):
        return False
    return not shares or (min(shares) >= 0 and math.isclose(sum(shares), 1.0, abs_tol=CLOSE))


def _sums(contents: Contents, course: Course) -> Iterator[str]:
    moments, cells = contents.run.moments, course.now.cells
    if not len(moments) == len(contents.due) == len(cells):
        yield f"arms: there are sums of {len(moments)}, the problem has {len(cells)}"
        return
    logged, earlier = course.logged(), contents.run.earlier if course.from_log else ()
    if not (len(logged) == len(earlier) and all(map(_same, logged, earlier))):
        yield "earlier: they are not the sums of the log's trials"
    for place, (stored, derived) in enumerate(zip(moments, course.sums(), strict=True)):
        if not derived.matches(stored):
            yield f"arm {str(cells[place])!r}: its running sums are not those of its trials"


def _same(derived: Moments | None, stored: Moments | None) -> bool:
    return derived is stored if derived is None or stored is None else derived.matches(stored)


def _quota(contents: Contents, problem: Problem, strategy: Strategy) -> list[int] | None:
    return rounds.planned(Recipe(problem, strategy), contents.head.budget, contents.run.memory)


def _replay(contents: Contents, course: Course, strategy: Strategy) -> Iterator[str]:
    """Give the strategy the same trials, and compare where it gets to."""
    now = contents.run
    try:
        step = course.replay(strategy)
    except (ValueError, RuntimeError) as error:
        yield f"replay: the strategy does not take the trials ({error})"
        return
    memory = {name: value for name, value in now.memory.items() if name != QUEUE}  # of the store, not the strategy's
    if not alike(_as_kept(step.memory, memory), memory) or not alike(
        [*map(vars, step.rounds)], [*map(vars, now.rounds)]
    ):
        yield "replay: the strategy gets to another point with the same trials"


def _as_kept(memory: Mapping[str, Any], kept: Mapping[str, Any]) -> Mapping[str, Any]:
    """A memory without what namings were not kept with at first.

    >>> _as_kept({"naming": {"number": 1, "question": {}}}, {"naming": {"number": 1}})
    {'naming': {'number': 1}}
    """
    named, now = kept.get("naming"), memory.get("naming")
    if named is None or now is None:
        return memory
    return {**memory, "naming": {name: value for name, value in now.items() if name in named or name != "question"}}


def alike(first: Any, second: Any) -> bool:
    """Whether plain data are the same, but for the last digits of numbers.

    >>> alike({"a": [1.0, None]}, {"a": [1.0 + 1e-12, None]}), alike([1], [2])
    (True, False)
    """
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(alike(first[key], second[key]) for key in first)
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return len(first) == len(second) and all(map(alike, first, second))
    if isinstance(first, float) and isinstance(second, (int, float)):
        return first == second or math.isclose(first, second, rel_tol=CLOSE, abs_tol=CLOSE)
    return bool(first == second)


def _status(contents: Contents, log: Log, over: bool) -> Iterator[str]:
    if contents.head.status in ("running", "done") and over is not (contents.head.status == "done"):
        yield f"status: it is {contents.head.status!r}, and the strategy {'wants no' if over else 'wants'} more trials"


def _owed_alone(contents: Contents, tally: Tally) -> tuple[list[int], int]:
    """The same without the strategy: figures that fit each other."""
    head = contents.head
    owing = head.owing if head.status == "stopped" else sum(contents.due) + tally.states["leased"] + tally.open
    return contents.due, owing


def _owed(
    contents: Contents, log: Log, tally: Tally, now: Revision, quota: Sequence[int] | None
) -> tuple[list[int], int]:
    """What the open round has not handed out of each arm, and what it owes in all."""
    if quota is None:
        return [0] * len(contents.due), 0
    number = len(contents.run.rounds) + 1
    handed = now.chosen(tally.handed(number, len(now.cells), log.closed))
    complete = sum(len(tally.results[number].get(arm, ())) for arm in now.places)
    return now.spread([n - out for n, out in zip(quota, handed, strict=True)]), sum(quota) - complete


def _head(contents: Contents, log: Log, tally: Tally, due: Sequence[int], owing: int) -> Iterator[Difference]:
    head = contents.head
    derived = {
        "trials": tally.count,
        "events": log.count,
        "round": len(contents.run.rounds),
        "owing": owing,
        "due": sum(due),
        "freed": tally.open,
        **{state: tally.states[state] for state in ("complete", "leased", "surplus", "extra")},
        "expired": log.expired,
        "failed": log.failed,
        "strikes": log.strikes,
    }
    for name, value in derived.items():
        if getattr(head, name) != value:
            yield Difference(name, getattr(head, name), value)
    if head.earliest > tally.earliest + SLACK:
        yield Difference("earliest", head.earliest, tally.earliest)


def _arms(contents: Contents, tally: Tally, due: Sequence[int]) -> Iterator[Difference]:
    for arm, (stored, derived) in enumerate(zip(contents.due, due, strict=True)):
        if stored != derived:
            yield Difference("due", stored, derived, arm)
    for arm, (count, sums) in enumerate(zip(contents.counts, contents.run.moments, strict=True)):
        if count != sums.count:
            yield Difference("count", count, sums.count, arm)


def _handed(contents: Contents, tally: Tally) -> list[Difference]:
    """Which item an arm gets next follows from the slots that it had."""
    pairs = enumerate(zip(contents.handed, item_audit.handed(contents, tally), strict=True))
    return [Difference("handed", stored, derived, arm) for arm, (stored, derived) in pairs if stored != derived]
