"""Where the next trials help most in a program of segments, and when there is no need for more.

As ``allocation.py`` does it for one segment: trials go, a chunk at a time, to the column that most reduces the sum over
the conditions of the chance that the answer is wrong because of it; first of all to whether there is an answer, where
that is in doubt. Where users arrive a segment has only so many trials, and the plan stays within them.
"""

import math
from typing import NamedTuple

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import segment_conditions
from bestmix.kernels.allocation import LEAST, REST, stops_itself
from bestmix.kernels.chunks import chunk_size, decisions, unreserved
from bestmix.kernels.conditions import Settings
from bestmix.kernels.jit import compiled
from bestmix.kernels.layout import Layout
from bestmix.kernels.segment_conditions import Conditions
from bestmix.kernels.segment_feasibility import in_doubt
from bestmix.kernels.segment_state import SegmentState, TriedState
from bestmix.kernels.segments import SegmentProgram
from bestmix.kernels.stopping import allowed
from bestmix.kernels.weights import TIE, weigh


class Plan(NamedTuple):
    """The trials of a round.

    Attributes
    ----------
    trials
        Of each column (n,).
    column, reason, amount
        Each chunk's column, the condition that it was mostly spent on and its trials. Conditions have the numbers of
        their columns, slacks and elastic columns included; n + 3 R is whether any mix is feasible.
    used
        Number of chunks, in an array (1,).
    """

    trials: Integers
    column: Integers
    reason: Integers
    amount: Integers
    used: Integers


@compiled
def new_plan(columns: int, segments: int) -> Plan:
    """A plan without trials, with room for a round's chunks."""
    most = decisions(columns) + columns + segments + 1
    chunks = np.zeros((3, most), dtype=np.int64)
    return Plan(np.zeros(columns, dtype=np.int64), chunks[0], chunks[1], chunks[2], np.zeros(1, dtype=np.int64))


@compiled
def give(plan: Plan, column: int, reason: int, amount: int) -> None:
    """Add a chunk to the plan."""
    k = plan.used[0]
    plan.column[k], plan.reason[k], plan.amount[k] = column, reason, amount
    plan.trials[column] += amount
    plan.used[0] = k + 1


@compiled
def plan_round(
    rows: Layout, counts: Floats, tried: TriedState, size: int, reserve: float, capacity: Integers, fill: bool
) -> Plan:
    """Give ``size`` trials to columns, in each segment at most its ``capacity`` (S,).

    Columns without trials come first; they play no part in the program at the estimates. With ``fill`` trials that
    would help nothing keep the numbers of trials even, otherwise there are fewer. ``reserve`` is the share of the
    chunks that look past the condition most in doubt.
    """
    plan, left, columns = new_plan(counts.shape[0], capacity.shape[0]), capacity.copy(), tried.columns
    rest = size - begin(rows, counts, size, left, plan)
    if rest <= 0 or columns.shape[0] == 0:
        return plan
    inner = new_plan(columns.shape[0], tried.segments.shape[0])
    allocate(tried.state, rest, reserve, left[tried.segments], fill, inner)
    for k in range(inner.used[0]):
        reason = inner.reason[k]
        if reason < columns.shape[0]:
            reason = columns[reason]
        else:
            reason += counts.shape[0] - columns.shape[0]
        give(plan, columns[inner.column[k]], reason, inner.amount[k])
    return plan


@compiled
def begin(rows: Layout, counts: Floats, size: int, left: Integers, plan: Plan) -> int:
    """Plan the first trials of columns that have none; returns how many."""
    given, first = 0, 0
    for s in range(left.shape[0]):
        for j in range(first, first + rows.sizes[s]):
            some = min(LEAST, size - given, left[s])
            if counts[j] == 0.0 and some > 0:
                give(plan, j, j, some)
                given += some
                left[s] -= some
        first += rows.sizes[s]
    return int(given)


@compiled
def allocate(state: SegmentState, size: int, reserve: float, left: Integers, fill: bool, plan: Plan) -> None:
    """Give ``size`` trials to the columns of a solved program, in each segment at most ``left`` (S,), which shrinks."""
    program, conditions, counts = state.program, state.conditions, state.counts
    n, everything = counts.shape[0], conditions.gap.shape[0]
    tried = 0
    for j in range(n):
        tried += 1 if counts[j] < np.inf else 0
    step, given, trials = chunk_size(size, tried), 0, counts.copy()
    reserved = unreserved(tried, reserve) * step
    gain, spread, weight = np.zeros(n), np.empty(everything), np.empty(everything)
    if in_doubt(state, gain):
        while given < min(size - int(REST * size), unreserved(tried, REST) * step):
            chosen = best_column(program, gain, trials, left)
            if chosen < 0:
                break
            given += spend(state, chosen, everything, min(step, size - given), trials, left, plan)
    least = np.inf
    while given < size:
        segment_conditions.variances(program, conditions, trials, spread)
        drop_harmless(conditions, spread)
        if least == np.inf:
            least = least_square(conditions.gap, spread)
        weigh(0, everything, conditions.gap, spread, least, weight)
        if given >= reserved:
            ignore_closest(conditions.gap, spread, weight)
        set_gains(program, conditions, weight, gain)
        chosen = best_column(program, gain, trials, left)
        reason = chosen
        if chosen >= 0:
            reason = main_reason(program, conditions, weight, chosen)
        elif fill:  # nothing is in doubt: keep the numbers of trials even
            reason = chosen = fewest(program, trials, left)
        if chosen < 0:
            break
        given += spend(state, chosen, reason, min(step, size - given), trials, left, plan)


@compiled
def spend(state: SegmentState, j: int, reason: int, amount: int, trials: Floats, left: Integers, plan: Plan) -> int:
    """Give trials to column j as far as its segment has them; returns how many."""
    s = state.program.segment[j]
    some = min(amount, left[s])
    give(plan, j, reason, some)
    trials[j] += some
    left[s] -= some
    return int(some)


@compiled
def best_column(program: SegmentProgram, gain: Floats, trials: Floats, left: Integers) -> int:
    """The column whose next trial reduces the most, in a segment that has trials left; -1 if none does."""
    best, chosen = 0.0, -1
    for j in range(gain.shape[0]):
        if gain[j] > 0.0 and left[program.segment[j]] > 0:
            score = gain[j] / (trials[j] * trials[j])
            if score > best * (1.0 + TIE):
                best, chosen = score, j
    return chosen


@compiled
def fewest(program: SegmentProgram, trials: Floats, left: Integers) -> int:
    """The column with the fewest trials, in a segment that has trials left; -1 if all are known."""
    least, chosen = np.inf, -1
    for j in range(trials.shape[0]):
        if trials[j] < least and left[program.segment[j]] > 0:
            least, chosen = trials[j], j
    return chosen


@compiled
def drop_harmless(conditions: Conditions, spread: Floats) -> None:
    """Make conditions whose failure would not change the answer such as cannot fail."""
    for j in range(spread.shape[0]):
        if conditions.harmless[j]:
            spread[j] = 0.0


@compiled
def least_square(gap: Floats, spread: Floats) -> float:
    """The smallest squared z-score of those that trials can change."""
    least = np.inf
    for j in range(gap.shape[0]):
        if spread[j] > 0.0:
            least = min(least, gap[j] * gap[j] / spread[j])
    return least


@compiled
def ignore_closest(gap: Floats, spread: Floats, weight: Floats) -> None:
    """Let the condition with the smallest z-score count for nothing: perhaps no trials resolve it."""
    chosen, least = -1, np.inf
    for j in range(gap.shape[0]):
        if spread[j] > 0.0 and gap[j] * gap[j] / spread[j] < least:
            chosen, least = j, gap[j] * gap[j] / spread[j]
    if chosen >= 0:
        weight[chosen] = 0.0


@compiled
def set_gains(program: SegmentProgram, conditions: Conditions, weight: Floats, gain: Floats) -> None:
    """Write what each column's variance counts for in all conditions into ``gain`` (n,): sum_j weight_j k_ja."""
    own, coefficient, slot = conditions.own, conditions.coefficient, conditions.slot
    row, term, n = conditions.row, conditions.term, gain.shape[0]
    last = slot.shape[0]
    gain[:] = 0.0
    for j in range(weight.shape[0]):
        if weight[j] > 0.0:
            if j < n:
                gain[j] += weight[j] * own[j]
                gain[program.key[program.segment[j]]] += weight[j] * coefficient[j, last]
            for c in range(last):
                if coefficient[j, c] > 0.0:
                    gain[slot[c]] += weight[j] * coefficient[j, c]
            if row[j] >= 0:
                for k in range(n):
                    gain[k] += weight[j] * term[row[j], k]


@compiled
def main_reason(program: SegmentProgram, conditions: Conditions, weight: Floats, a: int) -> int:
    """The condition that trials of column a help most."""
    coefficient, slot, row = conditions.coefficient, conditions.slot, conditions.row
    most, reason, last = 0.0, a, slot.shape[0]
    for j in range(weight.shape[0]):
        part = 0.0
        if weight[j] > 0.0:
            part = conditions.own[j] if j == a else 0.0
            if j < program.segment.shape[0] and program.key[program.segment[j]] == a:
                part += coefficient[j, last]
            for c in range(last):
                if slot[c] == a:
                    part += coefficient[j, c]
            if row[j] >= 0:
                part += conditions.term[row[j], a]
        if weight[j] * part > most:
            most, reason = weight[j] * part, j
    return reason


@compiled
def capacities(share: Floats, size: int) -> Integers:
    """Trials of each segment in a round of ``size`` users (S,): its part of them, the largest remainders rounded up."""
    result, rest, given = np.zeros(share.shape[0], dtype=np.int64), share * size, 0
    for s in range(share.shape[0]):
        result[s] = int(np.floor(rest[s]))
        rest[s] -= result[s]
        given += result[s]
    for _ in range(min(size - given, share.shape[0])):
        s = int(np.argmax(rest))
        result[s] += 1
        rest[s] = -1.0
    return result


@compiled
def next_column(first: int, last: int, plan: Integers, given: Integers, counts: Floats) -> int:
    """The column, of those of a segment, for a user who arrives: the one that is furthest behind the plan.

    ``given`` are the trials handed out in this round, ``counts`` those before it. Without a plan for the segment the
    column with the fewest; -1 where all are known.
    """
    best, chosen = 0.0, -1
    for j in range(first, last):
        if plan[j] / (given[j] + 1.0) > best:
            best, chosen = plan[j] / (given[j] + 1.0), j
    least = np.inf
    if chosen < 0:
        for j in range(first, last):
            if counts[j] + given[j] < least:
                least, chosen = counts[j] + given[j], j
    return chosen


@compiled
def stops(settings: Settings, state: SegmentState) -> bool:
    """Whether the answer is sure enough, by the tails of the conditions whose failure would change it."""
    if not stops_itself(settings):
        return False
    total, largest = tails(state)
    if settings.tail > 0.0 and total <= settings.tail:
        return True
    spent, unknown = 0.0, 0
    for j in range(state.counts.shape[0]):
        if state.counts[j] < np.inf:
            spent, unknown = spent + state.counts[j], unknown + 1
    delta = allowed(settings, spent, unknown)
    return bool(total <= settings.margin * delta and largest <= settings.single * delta)


@compiled
def tails(state: SegmentState) -> tuple[float, float]:
    """Chances that conditions fail, by their z-scores: the sum, and the largest of them."""
    gap, harmless = state.conditions.gap, state.conditions.harmless
    spread = np.empty(gap.shape[0])
    segment_conditions.variances(state.program, state.conditions, state.counts, spread)
    total, largest = 0.0, 0.0
    for j in range(gap.shape[0]):
        chance = 0.0
        if spread[j] > 0.0 and gap[j] < np.inf and not harmless[j]:
            chance = 0.5 * math.erfc(gap[j] / math.sqrt(2.0 * spread[j]))
        total, largest = total + chance, max(largest, chance)
    return total, largest
