"""Where the next trials help most, and how many there are in a round.

Trials go, a chunk at a time, to the arm that most reduces the sum over the conditions of ``conditions.py`` of the
chance that the answer is wrong because of it; first of all to whether there is an answer, where that is in doubt.
"""

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels.columns import fixed_rows
from bestmix.kernels.conditions import Settings, State, spread_of
from bestmix.kernels.feasibility import can_be_in_doubt, in_doubt
from bestmix.kernels.jit import borrowing, compiled, inlined

CHUNKS = 10  # decisions in a round, at least
EACH = 8  # arms for each of them, where there are many
REST = 0.2  # share of a round that is left for the conditions while it is in doubt whether any mix is feasible
LEAST = 3  # trials of each arm in the first round, at least
FIRST = 10  # and as many where the budget does not say, because the run ends when it is sure
NEGLIGIBLE = 80.0  # a squared z-score that is so much larger than the least one has no weight
TIE = 1e-9  # scores of arms that differ by less than this share count as equal


@inlined
def allocate(
    state: State, size: int, reserve: float, arm: Integers, reason: Integers | None, owed: Integers, floor: float = 0.0
) -> int:
    """Give the ``size`` trials of a round to arms, a chunk at a time; returns the number of chunks.

    ``arm`` and ``reason`` (decisions(unknown),) receive each chunk's arm and the condition that it was mostly spent on,
    where somebody asks for it; ``owed`` (unknown,) the trials of each arm. ``reserve`` is the share of the chunks that
    go to an arm of the answer with less than the share ``floor`` of all trials, unless it is in doubt whether there is
    an answer, or else look past the condition most in doubt.
    """
    for a in range(owed.shape[0]):
        owed[a] = 0
    chunk = settle_feasibility(state, size, arm, reason, owed) if can_be_in_doubt(state) else 0
    return narrow(state, size, reserve, floor if chunk == 0 else 0.0, chunk, arm, reason, owed)


@compiled
def settle_feasibility(state: State, size: int, arm: Integers, reason: Integers | None, owed: Integers) -> int:
    """Give most trials to whether there is an answer, where that is in doubt; returns the number of chunks."""
    unknown, m = owed.shape[0], state.coefficient.shape[0]
    step, given, chunk = chunk_size(size, unknown), 0, 0
    safest, term = np.empty(m, dtype=np.int64), np.empty(m)
    if not in_doubt(state, safest, term):
        return 0
    while given < size - int(REST * size) and chunk < unreserved(unknown, REST):
        some, best, chosen = min(step, size - given), 0.0, -1
        for i in range(m):
            if term[i] > 0.0:
                value = term[i] / float(state.counts[safest[i]] + owed[safest[i]]) ** 2
                if value > best * (1.0 + TIE):
                    best, chosen = value, safest[i]
        if chosen < 0:  # the terms are too small to be told apart
            break
        arm[chunk] = chosen
        if reason is not None:
            reason[chunk] = state.gap.shape[0] - 1
        owed[chosen] += some
        given, chunk = given + some, chunk + 1
    return chunk


@inlined
def narrow(
    state: State,
    size: int,
    reserve: float,
    floor: float,
    chunk: int,
    arm: Integers,
    reason: Integers | None,
    owed: Integers,
) -> int:
    """Give the trials after the first chunks to the conditions in doubt; returns the number of chunks.

    A chunk changes either one condition, by the arm's own trials, or all, by those of an arm of the basis: only what
    changed is reckoned again.
    """
    gap, own, coefficient, basis, counts = state.gap, state.own, state.coefficient, state.basis.column, state.counts
    n, m, unknown = gap.shape[0], fixed_rows(coefficient.shape[0]), counts.shape[0]
    step, reserved = chunk_size(size, unknown), unreserved(unknown, reserve)
    trials, spread, weight = state.space[0], state.space[1], state.space[2]
    rate, value, total = state.space[3], state.space[4], state.space[5]
    given, least = min(chunk * step, size), np.inf
    for j in range(unknown):
        trials[j] = counts[j] + owed[j]
        rate[j] = own[j] / trials[j] ** 2
    for j in range(n):
        spread[j] = spread_of(j, state, trials)
        if spread[j] > 0.0:
            least = min(least, gap[j] * gap[j] / spread[j])
    weigh(0, n, gap, spread, least, weight)
    while given < size:
        some, ignored = min(step, size - given), -1
        if chunk >= reserved:
            ignored = closest(gap, spread)
            weight[ignored] = 0.0
        add_up(weight, coefficient, total)
        for j in range(unknown):
            value[j] = weight[j] * rate[j]
        for i in range(m):
            total[i] = total[i] / trials[basis[i]] ** 2 if basis[i] < unknown else 0.0
        found = largest(m, unknown, total, value)
        if chunk >= reserved and floor > 0.0:
            found = neglected(state, trials, floor, found)
        row = found if found < m else -1
        chosen = basis[row] if row >= 0 else found - m
        if found < 0:  # nothing is in doubt: keep the numbers of trials even
            chosen = fewest(trials, unknown)
        arm[chunk] = chosen
        if reason is not None:
            reason[chunk] = chosen if row < 0 else heaviest(weight, coefficient[row])
        less = 1.0 / trials[chosen] - 1.0 / (trials[chosen] + some)
        trials[chosen] += some
        owed[chosen] += some
        rate[chosen] = own[chosen] / trials[chosen] ** 2
        if row >= 0:
            for j in range(n):
                spread[j] -= coefficient[row, j] * less
            weigh(0, n, gap, spread, least, weight)
        else:
            spread[chosen] -= own[chosen] * less
            weigh(chosen, chosen + 1, gap, spread, least, weight)
            if ignored >= 0:
                weigh(ignored, ignored + 1, gap, spread, least, weight)
        given, chunk = given + some, chunk + 1
    return chunk


@inlined
def largest(m: int, unknown: int, total: Floats, value: Floats) -> int:
    """Position of the largest number, those of ``total`` (m,) coming before those of ``value``; -1 if all are zero.

    A later number has to be larger by more than a tie.
    """
    most = 0.0
    for i in range(m):
        most = total[i] if total[i] > most else most
    for j in range(unknown):
        most = value[j] if value[j] > most else most
    found, ties = -1, 0
    for i in range(m):
        found, ties = i if total[i] == most else found, ties + (total[i] * (1.0 + TIE) >= most)
    for j in range(unknown):
        found, ties = m + j if value[j] == most else found, ties + (value[j] * (1.0 + TIE) >= most)
    if ties == 1:  # in which order they come does not matter
        return found
    found, most = -1, 0.0
    for i in range(m):
        if total[i] > most:
            found, most = i, total[i] * (1.0 + TIE)
    for j in range(unknown):
        if value[j] > most:
            found, most = m + j, value[j] * (1.0 + TIE)
    return found


@inlined
def add_up(weight: Floats, coefficient: Floats, total: Floats) -> None:
    """What all conditions together make of each arm of the basis; two sums at a time, for one would wait for itself."""
    m, n = fixed_rows(coefficient.shape[0]), coefficient.shape[1]
    for i in range(0, m - 1, 2):
        first, second = 0.0, 0.0
        for j in range(n):
            first += weight[j] * coefficient[i, j]
            second += weight[j] * coefficient[i + 1, j]
        total[i], total[i + 1] = first, second
    if m % 2 == 1:
        last = 0.0
        for j in range(n):
            last += weight[j] * coefficient[m - 1, j]
        total[m - 1] = last


@inlined
def heaviest(weight: Floats, coefficient: Floats) -> int:
    """The condition that a trial of an arm of the basis does most for, by its row of coefficients."""
    found, most = 0, 0.0
    for j in range(weight.shape[0]):
        if weight[j] * coefficient[j] > most:
            found, most = j, weight[j] * coefficient[j]
    return found


@inlined
def neglected(state: State, trials: Floats, floor: float, otherwise: int) -> int:
    """Row of the basis whose arm has the fewest trials, if these are below a share of all; else ``otherwise``."""
    basis, unknown, found, made = state.basis.column, state.counts.shape[0], -1, 0.0
    for a in range(unknown):
        made += trials[a]
    for i in range(fixed_rows(basis.shape[0])):
        if basis[i] < unknown and trials[basis[i]] < floor * made:
            if found < 0 or trials[basis[i]] < trials[basis[found]]:
                found = i
    return found if found >= 0 else otherwise


@inlined
def fewest(trials: Floats, unknown: int) -> int:
    """The first arm with the fewest trials."""
    chosen = 0
    for a in range(unknown):
        if trials[a] < trials[chosen]:
            chosen = a
    return chosen


@inlined
def closest(gap: Floats, spread: Floats) -> int:
    """The condition with the smallest z-score of those that trials can change; 0 if there is none."""
    chosen, least = 0, np.inf
    for j in range(gap.shape[0]):
        if spread[j] > 0.0 and gap[j] * gap[j] / spread[j] < least:
            chosen, least = j, gap[j] * gap[j] / spread[j]
    return chosen


@inlined
def weigh(first: int, last: int, gap: Floats, spread: Floats, least: float, weight: Floats) -> None:
    """What a unit of variance less is worth to conditions: exp(-z^2/2) / ((1 + z) V), up to a common factor."""
    for j in range(first, last):
        square = gap[j] * gap[j] / spread[j]
        value = decay(0.5 * (least - square)) / ((1.0 + np.sqrt(square)) * spread[j])
        weight[j] = value if spread[j] > 0.0 and square - least < NEGLIGIBLE else 0.0


@inlined
def decay(x: float) -> float:
    """exp(x) for 0 >= x >= -NEGLIGIBLE / 2, to twelve digits: the 128th power of a series.

    There is no call in it, so that a loop works on several numbers at once.
    """
    y = x / 128.0
    square = y * y
    fourth = square * square
    low = (1.0 + y) + square * (1.0 / 2.0 + y * (1.0 / 6.0))
    middle = (1.0 / 24.0 + y * (1.0 / 120.0)) + square * (1.0 / 720.0 + y * (1.0 / 5040.0))
    high = (1.0 / 40320.0 + y * (1.0 / 362880.0)) + square * (1.0 / 3628800.0 + y * (1.0 / 39916800.0))
    result = low + fourth * (middle + fourth * high)
    for _ in range(7):
        result *= result
    return result


@borrowing
def unreserved(unknown: int, reserve: float) -> int:
    """Chunks of a round but for a share that is kept for something else."""
    return decisions(unknown) - int(reserve * decisions(unknown))


@borrowing
def decisions(unknown: int) -> int:
    """Chunks in a round, at most."""
    return max(CHUNKS, unknown // EACH)


@borrowing
def chunk_size(size: int, unknown: int) -> int:
    """Trials in a chunk of a round of ``size``; the last one may be smaller."""
    return (size + decisions(unknown) - 1) // decisions(unknown)


@borrowing
def stops_itself(settings: Settings) -> bool:
    """Whether the run may end before its budget is spent."""
    return settings.delta > 0.0 or settings.tail > 0.0


@borrowing
def first_pulls(budget: int, unknown: int, settings: Settings) -> int:
    """Trials of each arm in the first round."""
    if unknown == 0:
        return 0
    some = FIRST if stops_itself(settings) else max(LEAST, int(settings.share * budget / unknown))
    return min(some, budget // unknown)


@borrowing
def round_size(budget: int, unknown: int, spent: int, settings: Settings) -> int:
    """Trials of the next round; none when the budget is spent."""
    if unknown == 0:
        return 0
    if stops_itself(settings):
        size = max(unknown, int(settings.growth * spent))
    else:
        later = budget - unknown * first_pulls(budget, unknown, settings)
        size = (later + settings.rounds - 1) // settings.rounds
    return min(size, budget - spent)
