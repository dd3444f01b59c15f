"""The calls that steer an experiment: pause, resume, stop, extend, rename, annotate; ``replan.py`` has change."""

from typing import Any

from bestmix import checks
from bestmix.experiments import calls, traffic
from bestmix.experiments.clock import LeaseClock
from bestmix.experiments.errors import Closed
from bestmix.experiments.revision import Setup
from bestmix.experiments.store import Transaction
from bestmix.problems.spend import Spend
from bestmix.strategies import rounds
from bestmix.strategies.budget_changes import larger_amount
from bestmix.strategies.paid import Paid
from bestmix.strategies.protocol import Memory, extended
from bestmix.strategies.rounds import Recipe
from bestmix.strategies.traffic import Traffic

AFTER = {  # what goes on where resume does not
    "done": "extend goes on, with a larger budget",
    "stopped": "that is for good, create a new one, from this one's log if you like",
}


def pause(transaction: Transaction) -> None:
    """Hand out nothing until it is resumed."""
    status = transaction.head.status
    if status not in ("running", "paused"):
        raise Closed(f"pause: the experiment is {status}; only a running one can be paused")
    if status == "running":
        transaction.head.status = "paused"
        transaction.add_event("paused")


def resume(transaction: Transaction, lease_clock: LeaseClock, setup: Setup) -> None:
    """Go on after a pause or a failure."""
    head = transaction.head
    if head.status == "running":
        return
    if head.status not in ("paused", "failed"):
        raise Closed(f"resume: the experiment is {head.status}; {AFTER[head.status]}")
    head.status, head.reason, head.strikes = "running", "", 0
    transaction.add_event("resumed")
    if isinstance(setup.strategy, Traffic):
        traffic.resume(transaction, lease_clock, setup)
    elif not head.owing:  # the strategy could not advance
        calls.advance(transaction, setup, lease_clock.clock.now())


def stop(transaction: Transaction, lease_clock: LeaseClock, reason: str) -> None:
    """End it early, for good."""
    head = transaction.head
    if head.status == "done":
        raise Closed("stop: the experiment is done already; its answer stands")
    if head.status == "stopped":
        return
    transaction.withdraw_all()
    head.leased = head.freed = 0
    head.status, head.reason, head.ended = "stopped", reason, lease_clock.clock.now()
    transaction.add_event("stopped", reason=reason)


def extend(transaction: Transaction, budget: int | Spend, setup: Setup, text: str = "") -> None:
    """Raise the budget, where the strategy knows how to go on; ``text`` is what the history says of it."""
    head, memory, revision = transaction.head, transaction.memory(), setup.revision
    if head.status == "stopped" and budget != head.budget:
        raise Closed("extend: the experiment was stopped, for good; create a new one, from this one's log if you like")
    if isinstance(setup.strategy, Paid) or isinstance(budget, Spend):
        amount = larger_amount(setup.strategy, memory, budget)
        if amount > memory["amount"]:
            longer = extended(setup.strategy, setup.problem, memory["amount"], amount, memory)
            _go_on(transaction, setup, head.budget, longer, {"amount": amount} | ({"text": text} if text else {}))
    elif budget < head.budget:
        raise checks.InvalidInput(
            "budget",
            expected=f"more than the present {head.budget} trials",
            got=budget,
            remedy="stop it instead",
        )
    elif budget > head.budget:
        old, new = (calls.left_budget(n, revision, transaction.moments()) for n in (head.budget, budget))
        _go_on(transaction, setup, budget, extended(setup.strategy, setup.problem, old, new, memory), {})


def _go_on(transaction: Transaction, setup: Setup, budget: int, longer: Memory, told: dict[str, Any]) -> None:
    """Go on with the memory of a larger budget."""
    head, memory, revision, sums = transaction.head, transaction.memory(), setup.revision, transaction.moments()
    old, new = (calls.left_budget(n, revision, sums) for n in (head.budget, budget))
    if head.status == "done":
        moments = revision.chosen([sums[arm] for arm in sorted(sums)])
        step = rounds.settle(setup.recipe, new, longer, moments, head.round)
        head.status, head.ended = ("done", head.ended) if step.quota is None else ("running", None)
    else:
        made = sum(m.count for m in revision.chosen([sums[arm] for arm in sorted(sums)])) + head.owing
        step = grown(setup.recipe, made, (old, new), longer, memory)
    head.budget = budget
    transaction.advance(step.memory, step.rounds)
    head.round += len(step.rounds)
    transaction.add_event("extended", budget=budget, **told)
    for ended in step.rounds:
        transaction.add_event("round", number=ended.number, rejected=ended.rejected)
    if step.quota is not None:
        calls.enter(transaction, revision.spread(step.quota), 0.0)


def grown(recipe: Recipe, made: int, budgets: tuple[int, int], longer: Memory, memory: Memory) -> rounds.Step:
    """What the open round owes each arm on top, under the larger budget; ``made`` are the trials that count or will."""
    old, new = (recipe.strategy.quota(recipe.problem, n, m) for n, m in zip(budgets, (memory, longer), strict=True))
    if old is None or new is None or (new < old).any() or made + (new - old).sum() > budgets[1]:
        raise RuntimeError(
            f"{recipe.strategy.name}: its open round does not fit a budget of {budgets[1]}; correct extended()"
        )
    added = [int(n) for n in new - old]
    if rounds.PLAN in longer:  # the open round has trials of a log, or was cut short by a change
        longer = {**longer, rounds.PLAN: [n + more for n, more in zip(longer[rounds.PLAN], added, strict=True)]}
    return rounds.Step(longer, added, [])


def rename(transaction: Transaction, name: str) -> None:
    """Give it another name."""
    if name != transaction.head.name:
        transaction.add_event("renamed", old=transaction.head.name, new=name)
        transaction.head.name = name


def annotate(transaction: Transaction, notes: str) -> None:
    """Replace the notes."""
    if notes != transaction.head.notes:
        transaction.head.notes = notes
        transaction.add_event("notes")
