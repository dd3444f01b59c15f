"""``change``: another bound or limit, a new arm, an arm retired, another budget, while an experiment runs.

Another bound changes what the next decision is made from, and the open round goes on: changed back before it ends, it
is as if nothing had happened. New or retired arms, and a smaller budget, cut that round short: what is out on lease is
waited for, what was not handed out is dropped, and each new arm gets its share of a first round. On live traffic every
change ends the round (``traffic.py``).
"""

import numpy as np

from bestmix import checks
from bestmix.experiments import calls, control, traffic, unreported_costs
from bestmix.experiments.clock import LeaseClock
from bestmix.experiments.errors import Closed
from bestmix.experiments.revision import Revision, Setup
from bestmix.experiments.store import Transaction
from bestmix.problems.changes import Wish, amended, changes, same_shape
from bestmix.problems.problem import Problem
from bestmix.problems.spend import Spend
from bestmix.strategies import rounds
from bestmix.strategies.budget_changes import (
    Totals,
    begin_again,
    check_changeable,
    check_payable,
    larger_amount,
    totals,
)
from bestmix.strategies.paid import Paid, once_more
from bestmix.strategies.protocol import Extendable, Memory, arriving, check_problem, decides_from_counts
from bestmix.strategies.traffic import Traffic

MOST_OPEN_SLOTS = 2**31  # all of them
ANEW = "create another experiment from this one's trials"


def change(transaction: Transaction, lease_clock: LeaseClock, setup: Setup, wish: Wish) -> Setup:
    """Change what is asked; what it is then."""
    head, old = transaction.head, setup.problem
    if head.status == "stopped":
        raise Closed("change: the experiment was stopped, for good; create a new one, from this one's log if you like")
    new = amended(old, wish)
    if isinstance(setup.strategy, Traffic):
        return _change_traffic(transaction, lease_clock, setup, new, wish)
    found = totals(setup.strategy, transaction.memory(), head.budget, new, wish)
    text = changes(old, new, found.before, found.after, {cell.arm for cell in setup.revision.cells})
    if not text:
        return setup
    if new.to_dict() == old.to_dict() and found.grows and _extendable(transaction, setup):
        extend(transaction, lease_clock, setup, found.after)
        return setup
    only_bounds = same_shape(old, new) and found.same
    check_problem(setup.strategy, new)
    _check(transaction, setup, only_bounds, new.arms != old.arms)
    revised = _revised(transaction, lease_clock, setup, new, text)
    if only_bounds:
        _write(transaction, revised, head.budget, text, None, [])
        if head.status == "done":
            _decide_once_more(transaction, revised)
    else:
        _replan(transaction, lease_clock, setup, revised, found, text)
    return revised


def _revised(transaction: Transaction, lease_clock: LeaseClock, setup: Setup, new: Problem, text: str) -> Setup:
    """What it runs by from now on, with room for arms that are new."""
    note = {"round": transaction.head.round + 1, "text": text, "at": lease_clock.clock.now()}
    revised = Setup(setup.revision.becoming(new, note), setup.strategy)
    if more := len(revised.revision.cells) - len(setup.revision.cells):
        transaction.add_arms(more, len(new.measures))
    return revised


def _change_traffic(transaction: Transaction, lease_clock: LeaseClock, setup: Setup, new: Problem, wish: Wish) -> Setup:
    for name in ("budget", "prices", "most"):
        if getattr(wish, name) is not None:
            raise checks.InvalidInput(name, "live traffic has none", "leave it out")
    if not (text := changes(setup.problem, new, 0, 0, {cell.arm for cell in setup.revision.cells})):
        return setup
    revised = _revised(transaction, lease_clock, setup, new, text)
    _write(transaction, revised, transaction.head.budget, text, None, [])
    traffic.change(transaction, lease_clock, revised)
    return revised


def extend(transaction: Transaction, lease_clock: LeaseClock, setup: Setup, budget: int | Spend) -> None:
    """Raise the budget: from what was planned where that is what was made, else from the counts."""
    if isinstance(budget, Spend) or isinstance(setup.strategy, Paid):
        _raise_amount(transaction, lease_clock, setup, budget)
    elif budget > transaction.head.budget and not _extendable(transaction, setup):
        change(transaction, lease_clock, setup, Wish(budget=budget))
    else:
        control.extend(transaction, budget, setup)


def _raise_amount(transaction: Transaction, lease_clock: LeaseClock, setup: Setup, budget: int | Spend) -> None:
    """Raise the amount of money, and note when."""
    memory, problem = transaction.memory(), setup.problem
    amount = larger_amount(setup.strategy, memory, budget)
    before, after = (Spend(n, str(getattr(budget, "unit", ""))) for n in (memory["amount"], amount))
    if text := changes(problem, problem, before, after):
        revised = _revised(transaction, lease_clock, setup, problem, text)
        control.extend(transaction, after, setup, text)
        transaction.head.changed = revised.revision.to_text()


def _extendable(transaction: Transaction, setup: Setup) -> bool:
    """Whether a larger budget goes on from what was planned: not where other trials were made, and their numbers count.

    Rounds that are bought are planned from what is left in any case.
    """
    head, strategy = transaction.head, setup.strategy
    differ = decides_from_counts(strategy) and (head.extra > 0 or head.changed is not None)
    return isinstance(strategy, Paid) or not differ


def _check(transaction: Transaction, setup: Setup, only_bounds: bool, other_arms: bool) -> None:
    """Refuse what the strategy cannot go on with."""
    if not only_bounds:
        check_changeable(setup.strategy, ANEW)
    if other_arms and arriving(setup.problem, transaction.memory()):
        raise checks.InvalidInput("arms", "they stay the same where users arrive", ANEW)


def _write(
    transaction: Transaction, revised: Setup, budget: int, text: str, memory: Memory | None, closed: list[int]
) -> None:
    """Write the change, and the event that tells of it: the memory and the slots that were closed, if any."""
    transaction.head.changed, transaction.head.budget = revised.revision.to_text(), budget
    more = {} if memory is None else {"memory": memory, "closed": closed}
    transaction.add_event("changed", problem=revised.problem.to_dict(), budget=budget, text=text, **more)


def _decide_once_more(transaction: Transaction, setup: Setup) -> None:
    """Let a run that was over by its own rule go on, if by the new bounds it is not."""
    head, memory, strategy = transaction.head, transaction.memory(), setup.strategy
    if not isinstance(strategy, Extendable):
        return
    sums = transaction.moments()
    budget = calls.left_budget(head.budget, setup.revision, sums)
    again = once_more(strategy, setup.problem, budget, memory)
    moments = setup.revision.chosen([sums[arm] for arm in sorted(sums)])
    step = rounds.settle(setup.recipe, budget, again, moments, head.round)
    if step.quota is not None:
        _go_on(transaction, setup, step)


def _go_on(transaction: Transaction, setup: Setup, step: rounds.Step) -> None:
    """Write rounds that were closed without a trial, and open the next."""
    head = transaction.head
    transaction.advance(step.memory, step.rounds)
    head.round += len(step.rounds)
    for ended in step.rounds:
        transaction.add_event("round", number=ended.number, rejected=ended.rejected)
    _reopen(transaction)
    calls.enter(transaction, None if step.quota is None else setup.revision.spread(step.quota), 0.0)


def _reopen(transaction: Transaction) -> None:
    head = transaction.head
    head.status, head.ended, head.strikes = "running", None, 0
    transaction.add_event("resumed")


def _replan(
    transaction: Transaction, lease_clock: LeaseClock, setup: Setup, revised: Setup, found: Totals, text: str
) -> None:
    """Cut the open round short, and plan anew from the trials that there are and those under way."""
    calls.expire(transaction, calls.advance_clock(transaction, lease_clock))
    closed, revision, sums = _cut(transaction, revised.revision), revised.revision, transaction.moments()
    leased = np.bincount([row.arm for row in transaction.leases()], minlength=len(sums))
    moments, under_way = revision.chosen(sums), np.array(revision.chosen(leased.tolist()), dtype=np.int64)
    unheard = unreported_costs.silent_so_far(transaction.head, setup, transaction.memory(), sums)
    memory = unreported_costs.settled(unreported_costs.silent(transaction.head), revised, found.memory | unheard, sums)
    if found.shrinks or not set(revised.problem.cells) <= set(setup.problem.cells):
        check_payable(revised.recipe, moments, under_way, memory)
    here = calls.left_budget(found.trials, revision, sums)
    begun, owed = begin_again(revised.recipe, setup.problem, here, moments, under_way, memory)
    made = transaction.complete_in(transaction.head.round + 1)
    handed = [int(n) + made.get(arm, 0) for arm, n in enumerate(leased)]
    plan = owed + np.array(revision.chosen(handed), dtype=np.int64)
    begun |= {rounds.PLAN: plan.tolist()} | ({"arriving": True} if transaction.memory().get("arriving") else {})
    _write(transaction, revised, found.trials, text, begun, closed)
    transaction.advance(begun, [])
    _await(transaction, lease_clock, revised, owed.tolist())


def _cut(transaction: Transaction, revision: Revision) -> list[int]:
    """Drop what was not handed out, close slots that wait, and withdraw trials of what is retired; slots closed."""
    head, gone = transaction.head, set(revision.retired)
    waiting = transaction.open_slots(MOST_OPEN_SLOTS) if head.freed else []
    unwanted = [row for row in transaction.leases() if row.arm in gone]
    for row in waiting:
        row.open = False
    for row in unwanted:
        row.state = "withdrawn"
    transaction.raise_due([-n for n in transaction.due()])
    transaction.update_trials([*waiting, *unwanted])
    head.due = head.freed = head.queued = head.beyond = head.cutoff = 0
    head.leased -= len(unwanted)
    head.owing = head.leased
    return [row.slot for row in (*waiting, *unwanted)]


def _await(transaction: Transaction, lease_clock: LeaseClock, revised: Setup, owed: list[int]) -> None:
    """Open the round with what is owed, or decide at once where nothing is waited for."""
    head = transaction.head
    if head.status == "done":
        _reopen(transaction)
    calls.enter(transaction, revised.revision.spread(owed), 0.0)
    if not head.owing and head.status != "failed":
        calls.advance(transaction, revised, lease_clock.clock.now())
