"""A hard budget of money under workers that die: what a trial may have cost that never told.

A trial that was handed out, is not on lease any more and was not told may have been paid for all the same. As long as
its result does not come, the most that a trial can cost is set aside for it, so that what all trials cost together
never exceeds the budget. A slot whose trial can no longer be paid for is dropped: the round ends without it.
"""

from collections import Counter
from collections.abc import Sequence

from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.experiments.revision import Setup
from bestmix.experiments.store import Head, Transaction
from bestmix.strategies.paid import Paid
from bestmix.strategies.protocol import Memory
from bestmix.strategies.purse import Purse
from bestmix.strategies.rounds import Recipe


def silent(head: Head) -> int:
    """Trials that were handed out, are not on lease and never told."""
    return head.trials - head.complete - head.extra - head.surplus - head.leased


def with_lost(head: Head, recipe: Recipe, memory: Memory, moments: Sequence[Moments]) -> Memory:
    """The memory of a run with a hard budget, with what is set aside for trials that never told."""
    paid = recipe.strategy
    if not isinstance(paid, Paid) or not paid.spend.hard:
        return memory
    reserve = paid.purse(Evidence(recipe.problem, list(moments)), memory).reserve
    return {**memory, "lost": silent(head) * float(reserve.max(initial=0.0))}


def payable(transaction: Transaction, setup: Setup, arms: Sequence[int]) -> int:
    """How many trials of these arms, in their order, can be handed out; where money is limited, arms do not change."""
    head, paid, recipe = transaction.head, setup.strategy, setup.recipe
    if not isinstance(paid, Paid) or not paid.spend.hard or not silent(head):
        return len(arms)  # rounds are planned so that all of their trials can be paid for
    sums = transaction.moments()
    moments = [sums[arm] for arm in sorted(sums)]
    memory = with_lost(head, recipe, transaction.memory(), moments)
    purse = paid.purse(Evidence(recipe.problem, moments), memory)
    return _fitting(purse, arms, purse.left - head.leased * float(purse.reserve.max(initial=0.0)))


def _fitting(purse: Purse, arms: Sequence[int], left: float) -> int:
    """How many of these trials, in their order, fit into what is left."""
    for place, arm in enumerate(arms):
        left -= float(purse.reserve[arm])
        if left < 0:
            return place
    return len(arms)


def drop_slots(transaction: Transaction, plan: Sequence[int]) -> list[int]:
    """Let the open round owe no more, since it cannot be paid for; returns the trials of each arm that it has."""
    head, due = transaction.head, transaction.due()
    waiting = transaction.open_slots(head.freed) if head.freed else []
    for row in waiting:
        row.open = False
    transaction.update_trials(waiting)
    transaction.raise_due([-n for n in due])
    transaction.add_event("dropped", slots=[row.slot for row in waiting], count=head.due + len(waiting))
    head.owing -= head.due + len(waiting)
    head.due = head.freed = 0
    freed = Counter(row.arm for row in waiting)
    return [n - due[arm] - freed[arm] for arm, n in enumerate(plan)]
