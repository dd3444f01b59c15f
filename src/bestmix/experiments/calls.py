"""The calls on a running experiment, as ``store.py`` describes them, on any store's books."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from bestmix.answers.moments import Moments
from bestmix.experiments.clock import Reading, Watch
from bestmix.experiments.errors import Closed, Conflict, UnknownTrial
from bestmix.experiments.model import Outcome, Row
from bestmix.experiments.store import Books
from bestmix.strategies import rounds
from bestmix.strategies.rounds import Recipe

PAUSE = 1.0  # seconds after which to ask a paused experiment again
Told = tuple[int, tuple[float, ...]]  # a trial's number, its reward and costs
Given = tuple[list[Row], float | None, str]  # trials, or when to ask again and why


def ask(books: Books, watch: Watch, n: int, worker: str, key: str | None) -> Given:
    """Hand out up to ``n`` trials."""
    if key is not None and (known := books.recall(key)):
        return known, None, ""
    head, time = books.head, look(books, watch)
    if head.status != "running":
        return [], PAUSE if head.status == "paused" else None, _not_running(books)
    expire(books, time)
    again = books.returned(n) if head.freed else []
    arms = rounds.share_out(sorted(books.fresh(n - len(again))), n - len(again)) if head.due else []
    if not again and not arms:
        wait = max((books.earliest() or time) - time, 0.0)
        return [], wait, f"all that round {head.round + 1} owes is out on lease"
    return lease(books, watch, worker, key, again, arms), None, ""


def lease(books: Books, watch: Watch, worker: str, key: str | None, again: list[Row], arms: list[int]) -> list[Row]:
    """New trials for slots that came back and for fresh slots."""
    head, now = books.head, watch.clock.now()
    deadline, number = head.clock + books.record.lease, head.trials + 1
    places = [(row.slot, row.arm) for row in again]
    places += [(number + len(again) + i, arm) for i, arm in enumerate(arms)]
    made = [
        Row(number + i, slot, arm, head.round + 1, worker, deadline, now + books.record.lease, now)
        for i, (slot, arm) in enumerate(places)
    ]
    for row in again:
        row.open = False
    books.update(again)
    books.take(Counter(arms))
    books.add(made)
    head.earliest = min(head.earliest, deadline) if head.leased else deadline
    head.trials += len(made)
    head.leased += len(made)
    head.freed -= len(again)
    head.due -= len(arms)
    if key is not None:
        books.remember(key, number, len(made))
    books.note("asked", worker=worker, first=number, count=len(made))
    return made


def look(books: Books, watch: Watch) -> float:
    """Move lease time forward and say what it is."""
    head = books.head
    now = watch.read(books.record.key, Reading(head.clock, head.boot, head.tick))
    head.clock, head.boot, head.tick = now.time, now.boot, now.tick
    return now.time


def expire(books: Books, time: float) -> None:
    """Take back what has run out."""
    head = books.head
    if not head.leased or time < head.earliest:
        return
    count = books.sweep(time)
    head.leased -= count
    head.freed += count
    head.expired += count
    first = books.earliest()
    head.earliest = time if first is None else first
    if count:
        books.note("expired", count=count)


def renew(books: Books, watch: Watch, numbers: Sequence[int]) -> list[Row]:
    """Start leases anew; all of them or, when one is gone, none."""
    head, time, now = books.head, look(books, watch), watch.clock.now()
    found = find(books, numbers)
    for row in found:
        if head.status == "stopped":
            raise Closed(f"renew: the experiment was stopped, so trial {row.number} is no longer wanted; drop it")
        if row.state in ("complete", "surplus"):
            raise Closed(f"renew: trial {row.number} was told already, so it has no lease; ask for new trials")
        if row.state != "leased" and not row.open:
            raise Closed(f"renew: the lease of trial {row.number} is lost and its slot was taken since; drop it")
    for row in found:
        if row.state != "leased":
            head.freed -= 1
            head.leased += 1
        row.state, row.open, row.note = "leased", False, ""
        row.deadline, row.expires = time + books.record.lease, now + books.record.lease
    head.earliest = min(head.earliest, time + books.record.lease)
    books.update(found)
    return found


def tell(books: Books, watch: Watch, told: Sequence[Told], recipe: Recipe) -> list[Outcome]:
    """Take results; all of them or, when one is refused, none."""
    look(books, watch)
    rows = {row.number: row for row in find(books, [number for number, _ in told])}
    changed: dict[int, Row] = {}
    counted: list[Row] = []
    outcomes = [_take(books, watch, rows, rows[number], values, changed, counted) for number, values in told]
    if changed:
        _count(books, counted)
        books.update(list(changed.values()))
        surplus = outcomes.count(Outcome.surplus)
        books.note("told", trials=[row.number for row in counted], surplus=surplus)
        if counted and not books.head.owing:
            advance(books, recipe, watch.clock.now())
    return outcomes


def find(books: Books, numbers: Sequence[int]) -> list[Row]:
    """These trials, which must exist."""
    found = books.rows(numbers)
    for number in numbers:
        if number not in found:
            raise UnknownTrial(
                "trial", f"there is no trial {number}", f"{books.head.trials} were handed out, give one of them"
            )
    return list({number: found[number] for number in numbers}.values())


def _take(
    books: Books,
    watch: Watch,
    rows: dict[int, Row],
    row: Row,
    values: tuple[float, ...],
    changed: dict[int, Row],
    counted: list[Row],
) -> Outcome:
    """Decide what one result is; ``rows`` are the trials seen so far, as they have become."""
    head = books.head
    if row.values is not None:
        if row.values == values:
            return Outcome.repeated
        raise Conflict(
            f"tell: trial {row.number} was told {list(row.values)} before, got {list(values)}; the first result stands"
        )
    if head.status == "stopped":
        raise Closed(f"tell: the experiment was stopped and takes no more results (trial {row.number}); drop it")
    rival = None if _holds(row) else _rival(books, rows, row.slot)
    row.values, row.told, changed[row.number] = values, watch.clock.now(), row
    if rival is not None and rival.state == "complete":
        row.state = "surplus"
        head.surplus += 1
        return Outcome.surplus
    freed = rival or row
    if freed.state == "leased":
        head.leased -= 1
    elif freed.open:
        head.freed -= 1
    if rival is not None:
        rival.state = "withdrawn" if rival.state == "leased" else rival.state
        rival.open, changed[rival.number] = False, rival
    row.state, row.open = "complete", False
    head.complete += 1
    head.owing -= 1
    counted.append(row)
    return Outcome.counted


def _holds(row: Row) -> bool:
    """Whether the trial has filled its slot, has it on lease, or left it open."""
    return row.open or row.state in ("leased", "complete")


def _rival(books: Books, rows: dict[int, Row], slot: int) -> Row | None:
    """Who has the slot now; results told together see each other's effects."""
    for row in rows.values():
        if row.slot == slot and _holds(row):
            return row
    held = books.holder(slot)
    if held is not None:
        rows[held.number] = held
    return held


def _count(books: Books, counted: list[Row]) -> None:
    """Add results to the running sums."""
    tables: dict[int, list[tuple[float, ...]]] = {}
    for row in counted:
        if row.values is not None:
            tables.setdefault(row.arm, []).append(row.values)
    if tables:
        sums = books.moments(list(tables))
        for arm, table in tables.items():
            sums[arm].add(np.array(table))
        books.keep(sums)


def advance(books: Books, recipe: Recipe, now: float) -> None:
    """Close the round; an error of the strategy fails the experiment and loses nothing."""
    head = books.head
    sums: dict[int, Moments] = books.moments()
    try:
        moments = [sums[arm] for arm in sorted(sums)]
        step = rounds.finish(recipe, head.budget, books.memory(), moments, head.round)
        answer = rounds.mixture(recipe, step.memory, moments)
    except Exception as error:  # a user's strategy or score may raise anything
        head.status, head.reason = "failed", f"{recipe.strategy.name}: {type(error).__name__}: {error}"[:1000]
        books.note("failed", reason=head.reason)
        return
    books.advance(step.memory, step.rounds, answer)
    head.round += len(step.rounds)
    for ended in step.rounds:
        books.note("round", number=ended.number, rejected=ended.rejected)
    enter(books, step.quota, now)


def enter(books: Books, quota: list[int] | None, now: float) -> None:
    """Open a round that owes something, or end the experiment."""
    head = books.head
    if quota is None:
        head.status, head.reason, head.ended = "done", "", now
        books.note("done")
        return
    books.due(quota)
    head.due += sum(quota)
    head.owing += sum(quota)


def fail(books: Books, watch: Watch, number: int, reason: str) -> None:
    """Put a slot back."""
    head = books.head
    look(books, watch)
    (row,) = find(books, [number])
    if row.state == "failed":
        return
    if row.values is not None:
        raise Conflict(f"tell_failed: trial {number} was told {list(row.values)} before; the result stands")
    if row.state == "leased":
        row.open = True
        head.leased -= 1
        head.freed += 1
    row.state, row.note, row.told = "failed", reason, watch.clock.now()
    head.failed += 1
    head.strikes += 1
    books.update([row])
    books.note("trial failed", trial=number, reason=reason)
    if head.status in ("running", "paused") and head.strikes >= books.record.failures:
        head.status = "failed"
        head.reason = f"{head.strikes} trials failed, the last one because: {reason or 'no reason was given'}"
        books.note("failed", reason=head.reason)


def give_back(books: Books, watch: Watch, numbers: Sequence[int]) -> None:
    """End leases at once, without counting a failure."""
    look(books, watch)
    given = [row for row in find(books, numbers) if row.state == "leased"]
    for row in given:
        row.state, row.open = "expired", True
    books.head.leased -= len(given)
    books.head.freed += len(given)
    books.head.expired += len(given)
    books.update(given)
    if given:
        books.note("given back", trials=[row.number for row in given])


def _not_running(books: Books) -> str:
    reason = f": {books.head.reason}" if books.head.reason else ""
    return f"the experiment is {books.head.status}{reason}"
