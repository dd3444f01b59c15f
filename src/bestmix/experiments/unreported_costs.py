"""A hard budget of money under workers that die: what a trial may have cost that never told.

A trial that was handed out, is not on lease any more and was not told may have been paid for all the same. As long as
its result does not come, the most that a trial can cost is set aside for it, so that what all trials cost together
never exceeds the budget. A slot whose trial can no longer be paid for is dropped: the round ends without it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.experiments.model import State
from bestmix.experiments.planning_ahead import QUEUE
from bestmix.experiments.revision import Setup
from bestmix.experiments.store import Head, Transaction
from bestmix.strategies import rounds
from bestmix.strategies.budget_changes import retired
from bestmix.strategies.paid import Paid
from bestmix.strategies.protocol import Memory
from bestmix.strategies.purse import Purse


def silent(head: Head) -> int:
    """Trials that were handed out, are not on lease and never told."""
    return head.trials - head.complete - head.extra - head.surplus - head.leased


def silent_of(state: State) -> int:
    """The same, of the figures that users see."""
    return state.handed - state.complete - state.discounted - state.extra - state.surplus - state.leased


def settled(count: int, setup: Setup, memory: Memory, sums: Mapping[int, Moments]) -> Memory:
    """The memory of a run with a budget of money, with what retired arms and trials that never told take of it."""
    memory = with_retired(setup, memory, sums)
    paid, moments = setup.strategy, setup.revision.chosen(sums)
    if not isinstance(paid, Paid) or not paid.spend.hard:
        return memory
    most = float(paid.purse(Evidence(setup.problem, moments), memory).reserve.max(initial=0.0))
    earlier, earlier_most = memory.get("silent", (0, 0.0))
    earlier = min(count, earlier)  # those that told since may have been any
    return {**memory, "lost": earlier * max(earlier_most, most) + (count - earlier) * most}


def with_retired(setup: Setup, memory: Memory, sums: Mapping[int, Moments]) -> Memory:
    """The memory with what trials of retired arms have cost, late ones included."""
    revision = setup.revision
    gone = {revision.cells[number]: sums[number] for number in revision.retired}
    return retired(setup.strategy, memory, revision.problem, gone)


def silent_so_far(head: Head, setup: Setup, memory: Memory, sums: Mapping[int, Moments]) -> Memory:
    """What a memory keeps when arms change: trials that never told so far were of these arms, and cost no more."""
    paid = setup.strategy
    if not isinstance(paid, Paid) or not paid.spend.hard:
        return {}
    reserve = paid.purse(Evidence(setup.problem, setup.revision.chosen(sums)), memory).reserve
    return {"silent": [silent(head), max(float(reserve.max(initial=0.0)), memory.get("silent", (0, 0.0))[1])]}


def is_short(transaction: Transaction, setup: Setup) -> bool:
    """Whether what is planned may cost more than there is: trials that never told took of it."""
    paid = setup.strategy
    return isinstance(paid, Paid) and paid.spend.hard and silent(transaction.head) > 0


def payable(transaction: Transaction, setup: Setup, arms: Sequence[int]) -> int:
    """How many trials of these arms, in their order, can be handed out."""
    head, paid = transaction.head, setup.strategy
    if not isinstance(paid, Paid) or not is_short(transaction, setup):
        return len(arms)  # rounds are planned so that all of their trials can be paid for
    sums, places = transaction.moments(), setup.revision.places
    memory = settled(silent(head), setup, transaction.memory(), sums)
    purse = paid.purse(Evidence(setup.problem, setup.revision.chosen(sums)), memory)
    wanted = [places.index(arm) for arm in arms]
    return _fitting(purse, wanted, purse.left - head.leased * float(purse.reserve.max(initial=0.0)))


def _fitting(purse: Purse, arms: Sequence[int], left: float) -> int:
    """How many of these trials, in their order, fit into what is left."""
    for place, arm in enumerate(arms):
        left -= float(purse.reserve[arm])
        if left < 0:
            return place
    return len(arms)


def drop_slots(transaction: Transaction, setup: Setup) -> list[int]:
    """Let the open round owe no more, since it cannot be paid for; returns the trials of each arm that it has."""
    head, due = transaction.head, transaction.due()
    plan = rounds.planned(setup.recipe, head.budget, transaction.memory()) or []
    waiting = transaction.open_slots(head.freed) if head.freed else []
    for row in waiting:
        row.open = False
    transaction.update_trials(waiting)
    transaction.raise_due([-n for n in due])
    transaction.add_event("dropped", slots=[row.slot for row in waiting], count=head.due + len(waiting))
    head.owing -= head.due + len(waiting)
    head.due = head.freed = 0
    freed = Counter(row.arm for row in waiting)
    if head.queued or head.beyond:  # rounds were planned ahead: the decision to come is made from all that was told
        transaction.advance({name: v for name, v in transaction.memory().items() if name != QUEUE}, [])
        head.queued = head.beyond = head.cutoff = head.owing = 0
    return [n - due[arm] - freed[arm] for arm, n in zip(setup.revision.places, plan, strict=True)]
