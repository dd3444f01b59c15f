"""Planning ahead: the next round is planned when all but the last slots of the plan are told, from exactly those.

Slots are numbered as planned, since rounds are handed out one after another. A decision is made from the results of the
first slots, whatever came of later ones meanwhile, and these count as under way: so it is a pure function of what was
told, in any order of arrival, and slow trials bias nothing. Where money is limited, they count as what they reserve.
"""

from collections.abc import Sequence

import numpy as np

from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.experiments.model import Row
from bestmix.experiments.revision import Setup
from bestmix.experiments.store import Head, Transaction
from bestmix.strategies import rounds
from bestmix.strategies.paid import Paid
from bestmix.strategies.protocol import UNDER_WAY, Memory

QUEUE = "queue"  # entry of a memory: rounds that are planned and not yet begun, in the store's order


def awaited(head: Head, slot: int) -> bool:
    """Whether the next decision waits for a slot that was handed out."""
    return not head.beyond or not head.cutoff or slot <= head.cutoff


def fresh_slots(transaction: Transaction, setup: Setup, most: int) -> list[tuple[int, int]]:
    """Up to ``most`` arms to hand out for the first time with their rounds, one round after another."""
    head = transaction.head
    bought = isinstance(setup.strategy, Paid)  # there may be rounds without a slot: nothing could be paid for yet
    queue = list(transaction.memory().get(QUEUE, ())) if head.queued or bought else []
    number, found, waiting = head.round + 1 - len(queue), list[tuple[int, int]](), len(queue)
    while len(found) < most and (head.due or queue):
        if not head.due:
            number += 1
            _begin(transaction, queue.pop(0))
        left = most - len(found)
        arms = rounds.share_out(sorted(transaction.due_arms(left)), left)
        transaction.lower_due({arm: arms.count(arm) for arm in arms})
        head.due -= len(arms)
        found += [(arm, number) for arm in arms]
    if len(queue) < waiting:
        transaction.advance(transaction.memory() | {QUEUE: queue}, [])
    return found


def _begin(transaction: Transaction, quota: Sequence[int]) -> None:
    head = transaction.head
    transaction.raise_due(quota)
    head.due += sum(quota)
    head.queued -= sum(quota)


def begin_next(transaction: Transaction) -> None:
    """Begin the next of the rounds that are planned, once all slots of the one before are handed out."""
    memory = transaction.memory()
    queue = list(memory[QUEUE])
    _begin(transaction, queue.pop(0))
    transaction.advance(memory | {QUEUE: queue}, [])


def note_cutoff(head: Head, slots: Sequence[int]) -> None:
    """Remember the last slot that the next decision waits for, when it is among those just handed out."""
    place = len(slots) + head.due + head.queued - head.beyond - 1
    if head.beyond and not head.cutoff and 0 <= place < len(slots):
        head.cutoff = slots[place]


class Plan:
    """What a decision is made from: results of slots that it waited for, and slots beyond these."""

    def __init__(self, transaction: Transaction, setup: Setup) -> None:
        head = transaction.head
        self.revision = setup.revision
        self.memory = dict(transaction.memory())
        self.queue: list[list[int]] = list(self.memory.pop(QUEUE, ()))
        self.last = head.cutoff if head.beyond else head.trials  # the last slot that was waited for
        rows = [row for row in transaction.after(self.last) if row.slot > self.last] if head.beyond else []
        self.told = [row for row in rows if row.state == "complete"]
        self.slots = [row.slot for row in rows if row.number == row.slot]
        sums = transaction.moments()
        self.sums = _without(setup, [sums[arm] for arm in sorted(sums)], self.told)
        out = np.array(transaction.due()) + np.sum([[0] * len(sums), *self.queue], axis=0)
        np.add.at(out, [row.arm for row in rows if row.number == row.slot], 1)
        self.under_way: list[int] = setup.revision.chosen(out.tolist())

    def add(self, head: Head, quota: Sequence[int], transaction: Transaction) -> Memory:
        """Plan a further round; the entries of a memory that tell of those not yet begun."""
        spread = self.revision.spread(quota)
        if head.due or self.queue:
            self.queue.append(spread)
            head.queued += sum(spread)
        else:
            transaction.raise_due(spread)
            head.due += sum(spread)
        return {QUEUE: self.queue} if self.queue else {}

    def look(self, head: Head, beyond: int) -> None:
        """Set what the next decision waits for: all slots but so many at the end of the plan."""
        unhanded = head.due + head.queued
        wanted = max(len(self.slots) + unhanded - beyond, 0)
        filled = {row.slot for row in self.told}
        head.beyond, head.owing = beyond, sum(slot not in filled for slot in self.slots[:wanted])
        head.owing += max(wanted - len(self.slots), 0)
        head.cutoff = 0
        if beyond and wanted <= len(self.slots):
            head.cutoff = self.slots[wanted - 1] if wanted else self.last


def _without(setup: Setup, sums: list[Moments], rows: Sequence[Row]) -> list[Moments]:
    """Sums in the store's order less some results."""
    for arm in {row.arm for row in rows}:
        table = np.array([row.values for row in rows if row.arm == arm])
        sums[arm] = sums[arm].without(Moments(sums[arm].size).plus(setup.problem.rows.measure(table)))
    return sums


def goes_on(
    setup: Setup, budget: int, memory: Memory, sums: Sequence[Moments], under_way: Sequence[int], quota: Sequence[int]
) -> bool:
    """Whether anything is left of the budget beside what is made, under way or planned; if not, all is waited for.

    So it is while prices are to be learnt.
    """
    moments = setup.revision.chosen(sums)
    if not isinstance(setup.strategy, Paid):
        return bool(sum(m.count for m in moments) + sum(under_way) + sum(quota) < budget)
    planned = [n + more for n, more in zip(under_way, quota, strict=True)]
    purse = setup.strategy.purse(Evidence(setup.problem, moments), {**memory, UNDER_WAY: planned})
    return bool(purse.affordable().any()) and not memory.get("filling")
