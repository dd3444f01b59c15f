"""The calls on a running experiment, as ``store.py`` describes them, in any store's transaction."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bestmix import checks
from bestmix.answers.moments import Moments
from bestmix.experiments import item_slots, planning_ahead, unreported_costs
from bestmix.experiments.clock import LeaseClock, Reading
from bestmix.experiments.errors import Closed, Conflict, UnknownTrial
from bestmix.experiments.exact_results import ExactResults
from bestmix.experiments.model import Outcome, Row
from bestmix.experiments.revision import Revision, Setup
from bestmix.experiments.store import Transaction, fingerprint
from bestmix.problems.problem import Problem
from bestmix.strategies import rounds
from bestmix.strategies.protocol import Memory, arriving, decides_from_counts, look_ahead
from bestmix.strategies.rounds import Recipe

PAUSE = 1.0  # seconds after which to ask a paused experiment again
Result = tuple[int, tuple[float, ...]]  # a trial's number, its reward and costs
AskResult = tuple[list[Row], float | None, str]  # trials, or when to ask again and why


def ask(
    transaction: Transaction, lease_clock: LeaseClock, setup: Setup, n: int, worker: str, key: str | None
) -> AskResult:
    """Hand out up to ``n`` trials."""
    if key is not None and (known := transaction.asked_with(key)):
        return known, None, ""
    head, time = transaction.head, advance_clock(transaction, lease_clock)
    if head.status != "running":
        return [], PAUSE if head.status == "paused" else None, _not_running(transaction)
    expire(transaction, time)
    again = transaction.open_slots(n) if head.freed else []
    arms = rounds.share_out(sorted(transaction.due_arms(n - len(again))), n - len(again)) if head.due else []
    if not again and not arms and not head.queued:
        wait = max((transaction.earliest() or time) - time, 0.0)
        return [], wait, f"all that round {head.round + 1} owes is out on lease"
    wanted = [*(row.arm for row in again), *arms]
    if not wanted and unreported_costs.is_short(transaction, setup):
        planning_ahead.begin_next(transaction)
        return ask(transaction, lease_clock, setup, n, worker, key)
    most = unreported_costs.payable(transaction, setup, wanted)
    if most == len(wanted):
        fresh = planning_ahead.fresh_slots(
            transaction, setup, len(arms) if unreported_costs.is_short(transaction, setup) else n - len(again)
        )
        return lease(transaction, lease_clock, setup, worker, key, again, fresh), None, ""
    if most:
        fresh = planning_ahead.fresh_slots(transaction, setup, max(most - len(again), 0))
        return lease(transaction, lease_clock, setup, worker, key, again[:most], fresh), None, ""
    if head.leased:
        wait = max((transaction.earliest() or time) - time, 0.0)
        return [], wait, "the rest of the money is reserved for trials that are under way or never told"
    advance(transaction, setup, lease_clock.clock.now(), unreported_costs.drop_slots(transaction, setup))
    return ask(transaction, lease_clock, setup, n, worker, key)


def ask_for(
    transaction: Transaction, lease_clock: LeaseClock, setup: Setup, segment: str, worker: str, key: str | None
) -> AskResult:
    """Hand out the trial for a user of a segment who arrives: only its arm is chosen."""
    if key is not None and (known := transaction.asked_with(key)):
        return known, None, ""
    head, time = transaction.head, advance_clock(transaction, lease_clock)
    if head.status != "running":
        return [], PAUSE if head.status == "paused" else None, _not_running(transaction)
    memory = _arriving(transaction, setup.problem)
    expire(transaction, time)
    first = setup.problem.index(setup.problem.arms[0], segment)
    inside = slice(first, first + len(setup.problem.arms))
    arms = setup.revision.places[inside]
    again = transaction.open_slots(1, arms) if head.freed else []
    if again:
        return lease(transaction, lease_clock, setup, worker, key, again, []), None, ""
    if not head.due:
        wait = max((transaction.earliest() or time) - time, 0.0)
        return [], wait, f"all that round {head.round + 1} owes is handed out, or waits for users of other segments"
    plan, due = (rounds.planned(setup.recipe, head.budget, memory) or [])[inside], transaction.due()
    given = [planned - due[arm] for planned, arm in zip(plan, arms, strict=True)]
    sums = {} if any(plan) else transaction.moments(list(arms))
    before = [sums[arm].count if arm in sums else 0 for arm in arms]
    chosen = arms[rounds.furthest_behind(plan, given, before)]
    transaction.lower_due({chosen: 1})
    head.due -= 1
    return lease(transaction, lease_clock, setup, worker, key, [], [(chosen, head.round + 1)]), None, ""


def _arriving(transaction: Transaction, problem: Problem) -> Memory:
    """The strategy's memory, which says from the first trial on that users arrive."""
    memory = transaction.memory()
    if not arriving(problem, memory):
        if transaction.head.trials:
            raise Conflict(
                "ask: the trials of this experiment are chosen in all segments together, so it cannot wait for users "
                "to arrive; create another one, or ask without a segment"
            )
        memory = {**memory, "arriving": True}
        transaction.advance(memory, [])
    return memory


def lease(
    transaction: Transaction,
    lease_clock: LeaseClock,
    setup: Setup,
    worker: str,
    key: str | None,
    again: list[Row],
    fresh: list[tuple[int, int]],
) -> list[Row]:
    """New trials for slots that came back and for fresh ones, given by their arms and rounds."""
    head, now = transaction.head, lease_clock.clock.now()
    deadline, number = head.clock + transaction.record.lease, head.trials + 1
    items = [*(row.item for row in again), *item_slots.hand_out(transaction, setup, [arm for arm, _ in fresh])]
    places = [(row.slot, row.arm, row.round) for row in again]
    places += [(number + len(again) + i, *place) for i, place in enumerate(fresh)]
    made = [
        Row(number + i, slot, arm, planned, worker, deadline, now + transaction.record.lease, now, item=item)
        for i, ((slot, arm, planned), item) in enumerate(zip(places, items, strict=True))
    ]
    for row in again:
        row.open = False
    transaction.update_trials(again)
    transaction.add_trials(made)
    head.earliest = min(head.earliest, deadline) if head.leased else deadline
    head.trials += len(made)
    head.leased += len(made)
    head.freed -= len(again)
    planning_ahead.note_cutoff(head, [row.number for row in made[len(again) :]])
    keyed = {} if key is None else {"key": fingerprint(key)}
    if key is not None:
        transaction.write_key(key, number, len(made))
    transaction.add_event("asked", worker=worker, first=number, count=len(made), **keyed)
    return made


def advance_clock(transaction: Transaction, lease_clock: LeaseClock) -> float:
    """Move lease time forward and say what it is."""
    head = transaction.head
    now = lease_clock.read(transaction.record.key, Reading(head.clock, head.boot, head.tick))
    head.clock, head.boot, head.tick = now.time, now.boot, now.tick
    return now.time


def expire(transaction: Transaction, time: float) -> None:
    """Take back what has run out."""
    head = transaction.head
    if not head.leased or time < head.earliest:
        return
    count = transaction.expire_leases(time)
    head.leased -= count
    head.freed += count
    head.expired += count
    first = transaction.earliest()
    head.earliest = time if first is None else first
    if count:
        transaction.add_event("expired", count=count)


def renew(transaction: Transaction, lease_clock: LeaseClock, numbers: Sequence[int]) -> list[Row]:
    """Start leases anew; all of them or, when one is gone, none."""
    head, time, now = transaction.head, advance_clock(transaction, lease_clock), lease_clock.clock.now()
    found = find(transaction, numbers)
    for row in found:
        if head.status == "stopped":
            raise Closed(f"renew: the experiment was stopped, so trial {row.number} is no longer wanted; drop it")
        if row.state in ("complete", "surplus", "extra"):
            raise Closed(f"renew: trial {row.number} was told already, so it has no lease; ask for new trials")
        if row.state != "leased" and not row.open:
            raise Closed(f"renew: the lease of trial {row.number} is lost and its slot was taken since; drop it")
    for row in found:
        if row.state != "leased":
            head.freed -= 1
            head.leased += 1
        row.state, row.open, row.note = "leased", False, ""
        row.deadline, row.expires = time + transaction.record.lease, now + transaction.record.lease
    head.earliest = min(head.earliest, time + transaction.record.lease)
    transaction.update_trials(found)
    return found


def tell(transaction: Transaction, lease_clock: LeaseClock, results: Sequence[Result], setup: Setup) -> list[Outcome]:
    """Take results; all of them or, when one is refused, none."""
    advance_clock(transaction, lease_clock)
    rows = {row.number: row for row in find(transaction, [number for number, _ in results])}
    changed: dict[int, Row] = {}
    counted: list[Row] = []
    taking = Taking(transaction, lease_clock, rows, ExactResults(transaction, setup))
    outcomes = [_take(taking, number, values, changed, counted) for number, values in results]
    if changed:
        late = [row for row in changed.values() if row.state == "surplus"]
        extra = _note(transaction, setup, counted, late)
        _write(transaction, setup, [*counted, *extra], changed)
        outcomes = [Outcome.counted if outcome == "surplus" and extra else outcome for outcome in outcomes]
        if counted and not transaction.head.owing:
            advance(transaction, setup, lease_clock.clock.now())
    return outcomes


def tell_each(
    transaction: Transaction, lease_clock: LeaseClock, results: Sequence[Result], setup: Setup
) -> list[Outcome | Exception]:
    """Take single results of several callers, as if one after another; errors of those refused are in their places.

    What they have in common is read and written once.
    """
    advance_clock(transaction, lease_clock)
    rows = transaction.trials([number for number, _ in results])
    changed: dict[int, Row] = {}
    counting: list[Row] = []  # whose results are not in the sums yet
    outcomes: list[Outcome | Exception] = []
    taking = Taking(transaction, lease_clock, rows, ExactResults(transaction, setup))
    for number, values in results:
        counted: list[Row] = []
        try:
            outcome = _take(taking, number, values, changed, counted)
        except (checks.InvalidInput, Conflict, Closed) as error:  # before anything of it was changed
            outcomes.append(error)
            continue
        if outcome is not Outcome.repeated:
            late = [rows[number]] if outcome is Outcome.surplus else []
            extra = _note(transaction, setup, counted, late)
            counting += [*counted, *extra]
            outcome = Outcome.counted if extra else outcome
        outcomes.append(outcome)
        if counted and not transaction.head.owing:
            _write(transaction, setup, counting, changed)
            changed, counting = {}, []
            advance(transaction, setup, lease_clock.clock.now())
    if changed:
        _write(transaction, setup, counting, changed)
    return outcomes


def _note(transaction: Transaction, setup: Setup, counted: Sequence[Row], late: Sequence[Row]) -> Sequence[Row]:
    """Say in an event what was told; those of the late results that count beside what was planned."""
    extra = late if decides_from_counts(setup.strategy) else []
    for row in extra:
        row.state = "extra"
    transaction.head.surplus -= len(extra)
    transaction.head.extra += len(extra)
    beside = {"extra": [row.number for row in extra]} if extra else {}
    surplus = len(late) - len(extra)
    transaction.add_event("told", trials=[row.number for row in counted], surplus=surplus, **beside)
    return extra


def _write(transaction: Transaction, setup: Setup, counting: Sequence[Row], changed: Mapping[int, Row]) -> None:
    """Add results to the sums, and write the trials that changed."""
    _count(transaction, counting, setup.problem)
    transaction.update_trials(list(changed.values()))


def find(transaction: Transaction, numbers: Sequence[int]) -> list[Row]:
    """These trials, which must exist."""
    found = transaction.trials(numbers)
    return list({number: _found(transaction, found, number) for number in numbers}.values())


def _found(transaction: Transaction, rows: Mapping[int, Row], number: int) -> Row:
    if number not in rows:
        raise UnknownTrial(
            "trial", f"there is no trial {number}", f"{transaction.head.trials} were handed out, give one of them"
        )
    return rows[number]


class Taking(NamedTuple):
    """What results are taken with: ``rows`` are the trials seen so far, as they have become."""

    transaction: Transaction
    lease_clock: LeaseClock
    rows: dict[int, Row]
    exact: ExactResults


def _take(
    taking: Taking, number: int, values: tuple[float, ...], changed: dict[int, Row], counted: list[Row]
) -> Outcome:
    """Decide what one result is."""
    transaction, lease_clock, rows, exact = taking
    head, row = transaction.head, _found(transaction, rows, number)
    if row.values is not None:
        if row.values == values:
            return Outcome.repeated
        raise Conflict(
            f"tell: trial {row.number} was told {list(row.values)} before, got {list(values)}; the first result stands"
        )
    if head.status == "stopped":
        raise Closed(f"tell: the experiment was stopped and takes no more results (trial {row.number}); drop it")
    exact.check(row.arm, values)
    rival = None if _holds(row) else _rival(transaction, rows, row.slot)
    dropped = rival is None and not _holds(row)
    row.values, row.told, changed[row.number] = values, lease_clock.clock.now(), row
    if dropped or (rival is not None and rival.state == "complete"):
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
    head.owing -= planning_ahead.awaited(head, row.slot)
    counted.append(row)
    return Outcome.counted


def _holds(row: Row) -> bool:
    """Whether the trial has filled its slot, has it on lease, or left it open."""
    return row.open or row.state in ("leased", "complete")


def _rival(transaction: Transaction, rows: dict[int, Row], slot: int) -> Row | None:
    """Who has the slot now; results told together see each other's effects."""
    for row in rows.values():
        if row.slot == slot and _holds(row):
            return row
    holder = transaction.holder(slot)
    if holder is not None:
        rows[holder.number] = holder
    return holder


def _count(transaction: Transaction, counted: Sequence[Row], problem: Problem) -> None:
    """Add results to the running sums."""
    tables: dict[int, list[tuple[float, ...]]] = {}
    for row in counted:
        if row.values is not None:
            tables.setdefault(row.arm, []).append(row.values)
    if tables:
        sums = transaction.moments(list(tables))
        for arm, table in tables.items():
            sums[arm].add(problem.rows.measure(np.array(table)))
        transaction.write_moments(sums)
    if transaction.record.items is not None:
        item_slots.add_results(transaction, counted, problem)


def advance(transaction: Transaction, setup: Setup, now: float, pulls: list[int] | None = None) -> None:
    """Close the round; an error of the strategy fails the experiment and loses nothing.

    ``pulls`` are the trials of each arm, where the round ends without some that it had planned.
    """
    head, memory, revision = transaction.head, transaction.memory(), setup.revision
    if head.beyond or look_ahead(setup.strategy, setup.problem, memory):
        _advance_ahead(transaction, setup, now)
        return
    sums: dict[int, Moments] = transaction.moments()
    left = revision.chosen(transaction.due()) if arriving(setup.problem, memory) else None
    budget = left_budget(head.budget, revision, sums)
    try:
        moments = revision.chosen([sums[arm] for arm in sorted(sums)])
        memory = unreported_costs.settled(unreported_costs.silent(head), setup, memory, sums)
        pulls = pulls if left is None else _arrived(setup.recipe, budget, memory, left)
        step = rounds.finish(setup.recipe, budget, memory, moments, head.round, pulls)
        answer = rounds.mixture(setup.recipe, step.memory, moments)
    except Exception as error:  # a user's strategy or score may raise anything
        _give_up(transaction, setup, error)
        return
    transaction.advance(step.memory, step.rounds, answer)
    head.round += len(step.rounds)
    for ended in step.rounds:
        lost = {"lost": memory["lost"]} if "lost" in memory else {}
        transaction.add_event("round", number=ended.number, rejected=ended.rejected, **lost)
    if left is not None:  # what segments got beyond the plan, and less than it, does not pass on to the next round
        transaction.raise_due(revision.spread([-n for n in left]))
    enter(transaction, None if step.quota is None else revision.spread(step.quota), now)


def _give_up(transaction: Transaction, setup: Setup, error: Exception) -> None:
    head = transaction.head
    head.status, head.reason = "failed", f"{setup.strategy.name}: {type(error).__name__}: {error}"[:1000]
    transaction.add_event("failed", reason=head.reason)


def _advance_ahead(transaction: Transaction, setup: Setup, now: float) -> None:
    """Plan rounds as long as all slots are told that a decision waits for."""
    head, ahead = transaction.head, look_ahead(setup.strategy, setup.problem, transaction.memory())
    while True:
        plan = planning_ahead.Plan(transaction, setup)
        budget = left_budget(head.budget, setup.revision, dict(enumerate(plan.sums)))
        moments = setup.revision.chosen(plan.sums)
        try:
            memory = unreported_costs.settled(
                unreported_costs.silent(head), setup, plan.memory, dict(enumerate(plan.sums))
            )
            step = rounds.plan_ahead(setup.recipe, budget, memory, moments, plan.under_way, head.round + 1)
            answer = rounds.mixture(setup.recipe, step.memory, moments)
        except Exception as error:
            _give_up(transaction, setup, error)
            return
        head.round += 1
        more = {} if step.quota is None else plan.add(head, step.quota, transaction)
        transaction.advance(step.memory | more, step.rounds, answer)
        lost = {"lost": memory["lost"]} if "lost" in memory else {}
        transaction.add_event("round", number=head.round, rejected=None, **lost)
        if step.quota is None:
            head.beyond = head.cutoff = 0
            enter(transaction, None, now)
            return
        more_to_come = planning_ahead.goes_on(setup, budget, step.memory, plan.sums, plan.under_way, step.quota)
        plan.look(head, ahead if more_to_come else 0)
        if head.owing:
            return


def left_budget(budget: int, revision: Revision, sums: Mapping[int, Moments]) -> int:
    """The budget of what can be tried: trials of what is retired have been paid for."""
    return budget - sum(sums[number].count for number in revision.retired)


def _arrived(recipe: Recipe, budget: int, memory: Memory, left: Sequence[int]) -> list[int]:
    """Trials of each arm in the round, where users arrived: what was planned, less what is left of it."""
    plan = rounds.planned(recipe, budget, memory) or [0] * len(left)
    return [n - rest for n, rest in zip(plan, left, strict=True)]


def enter(transaction: Transaction, quota: list[int] | None, now: float) -> None:
    """Open a round that owes something, in the store's order, or end the experiment."""
    head = transaction.head
    if quota is None:
        head.status, head.reason, head.ended = "done", "", now
        transaction.add_event("done")
        return
    transaction.raise_due(quota)
    head.due += sum(quota)
    head.owing += sum(quota)


def fail(transaction: Transaction, lease_clock: LeaseClock, number: int, reason: str) -> None:
    """Put a slot back."""
    head = transaction.head
    advance_clock(transaction, lease_clock)
    (row,) = find(transaction, [number])
    if row.state == "failed":
        return
    if row.values is not None:
        raise Conflict(f"tell_failed: trial {number} was told {list(row.values)} before; the result stands")
    if row.state == "leased":
        row.open = True
        head.leased -= 1
        head.freed += 1
    row.state, row.note, row.told = "failed", reason, lease_clock.clock.now()
    head.failed += 1
    head.strikes += 1
    transaction.update_trials([row])
    transaction.add_event("trial failed", trial=number, reason=reason)
    if head.status in ("running", "paused") and head.strikes >= transaction.record.failures:
        head.status = "failed"
        head.reason = f"{head.strikes} trials failed, the last one because: {reason or 'no reason was given'}"
        transaction.add_event("failed", reason=head.reason)


def give_back(transaction: Transaction, lease_clock: LeaseClock, numbers: Sequence[int]) -> None:
    """End leases at once, without counting a failure."""
    advance_clock(transaction, lease_clock)
    given = [row for row in find(transaction, numbers) if row.state == "leased"]
    for row in given:
        row.state, row.open = "expired", True
    transaction.head.leased -= len(given)
    transaction.head.freed += len(given)
    transaction.head.expired += len(given)
    transaction.update_trials(given)
    if given:
        transaction.add_event("given back", trials=[row.number for row in given])


def _not_running(transaction: Transaction) -> str:
    reason = f": {transaction.head.reason}" if transaction.head.reason else ""
    return f"the experiment is {transaction.head.status}{reason}"
