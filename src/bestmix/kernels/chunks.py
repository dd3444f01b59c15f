"""Which arm each chunk of a round goes to: the one that most reduces the chance that a condition fails.

Of the conditions of ``conditions.py`` those that count stand side by side in ``State.space``, a place for each, so that
a loop works on several at once. In the course of a round variances only fall: what is negligible at its start stays so.
"""

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels.columns import fixed_rows
from bestmix.kernels.conditions import BY_ROW, WIDTH, State
from bestmix.kernels.jit import borrowing, inlined

CHUNKS = 10  # decisions in a round, at least
EACH = 8  # arms for each of them, where there are many
NEGLIGIBLE = 80.0  # a squared z-score that is so much larger than the least one has no weight
TIE = 1e-9  # scores of arms that differ by less than this share count as equal
# Rows of the space: of all arms their trials; by place which condition it is, its gap and the terms of its variance,
# the variance, the squared z-score, the weight, and what a trial of its own arm is worth.
TRIALS, TOTAL, WHICH, GAP, OWN, RATE, SPREAD, SQUARE, WEIGHT, VALUE, SHARE, NEXT = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11


@inlined
def narrow(
    state: State, size: int, reserve: float, chunk: int, arm: Integers, reason: Integers | None, owed: Integers
) -> int:
    """Give the trials after the first chunks to the conditions in doubt; returns the number of chunks.

    A chunk changes either one condition, by the arm's own trials, or all, by those of an arm of the basis: only what
    changed is reckoned again.
    """
    basis, space, counts = state.basis.column, state.space, state.counts
    m, unknown = fixed_rows(basis.shape[0]), counts.shape[0]
    step, reserved = chunk_size(size, unknown), unreserved(unknown, reserve)
    given = min(chunk * step, size)
    for a in range(unknown):
        space[TRIALS, a] = counts[a] + owed[a]
    least = set_variances(state)
    used = gather(state, least, step)
    width = (used + WIDTH - 1) // WIDTH * WIDTH
    shrink(space, width, BY_ROW, 0.0, least)
    last, weight, value = -1, 0.0, 0.0  # the place whose arm was given the last chunk: its weight is not in its place
    while given < size:
        ignored, aside = -1, 0.0
        if chunk >= reserved:
            if last >= 0:
                space[WEIGHT, last], space[VALUE, last] = weight, value
            last, weight, value = -1, 0.0, 0.0
            ignored = closest(space, used)
            if ignored >= 0:
                aside = space[WEIGHT, ignored]
                space[WEIGHT, ignored], space[VALUE, ignored] = 0.0, 0.0
        found = best(state, width, used, last, weight, value)
        row, place = found if found < m else -1, found - m
        if found < 0:  # nothing is in doubt: keep the numbers of trials even
            chosen = fewest(space[TRIALS], unknown)
            place = place_of(space, used, chosen)
        else:
            chosen = basis[row] if row >= 0 else int(space[WHICH, place])
        arm[chunk] = chosen
        if reason is not None:
            if last >= 0:
                space[WEIGHT, last] = weight
            reason[chunk] = chosen if row < 0 else heaviest(space, used, row)
            if last >= 0:
                space[WEIGHT, last] = 0.0
        if ignored >= 0:
            space[WEIGHT, ignored], space[VALUE, ignored] = aside, aside * space[RATE, ignored]
        owed[chosen] += min(step, size - given)
        given, chunk = given + step, chunk + 1
        if given >= size:
            break
        space[TRIALS, chosen] += step
        if row >= 0:
            less = space[SHARE, width + row] - space[NEXT, width + row]
            space[SHARE, width + row] = space[NEXT, width + row]
            space[NEXT, width + row] = 1.0 / (space[TRIALS, chosen] + step)
            shrink(space, width, BY_ROW + row, less, least)
            last, weight, value = -1, 0.0, 0.0
        elif place >= 0:
            if last >= 0:
                space[WEIGHT, last], space[VALUE, last] = weight, value
            last = place
            space[WEIGHT, last], space[VALUE, last] = 0.0, 0.0
            weight = shrink_one(space, last, least)
            value = weight * space[RATE, last]
            space[NEXT, last] = 1.0 / (space[TRIALS, chosen] + step)
    return chunk


@inlined
def set_variances(state: State) -> float:
    """Write each condition's variance and squared z-score; returns the least of these."""
    gap, own, coefficient, basis, space = state.gap, state.own, state.coefficient, state.basis.column, state.space
    n, unknown, least = gap.shape[0], state.counts.shape[0], np.inf
    for j in range(unknown):
        space[SPREAD, j] = own[j] / space[TRIALS, j] if own[j] > 0.0 else 0.0
    for j in range(unknown, n):
        space[SPREAD, j] = 0.0
    for i in range(fixed_rows(basis.shape[0])):
        if basis[i] < unknown:
            share = 1.0 / space[TRIALS, basis[i]]
            for j in range(n):
                space[SPREAD, j] += coefficient[i, j] * share if coefficient[i, j] > 0.0 else 0.0
    for j in range(n):
        spread = space[SPREAD, j]
        space[SQUARE, j] = gap[j] * gap[j] / spread if spread > 0.0 else np.inf
    for j in range(n):
        least = space[SQUARE, j] if space[SQUARE, j] < least else least
    return least


@inlined
def gather(state: State, least: float, step: int) -> int:
    """Put the conditions that count side by side; returns how many they are. The places after them count for nothing."""
    gap, own, coefficient, space, unknown = state.gap, state.own, state.coefficient, state.space, state.counts.shape[0]
    m, used, basis = fixed_rows(coefficient.shape[0]), 0, state.basis.column
    for j in range(gap.shape[0]):
        space[WHICH, used] = j
        space[GAP, used] = gap[j]
        space[SPREAD, used] = space[SPREAD, j]
        space[OWN, used] = own[j]
        space[SHARE, used] = space[TRIALS, j] if j < unknown else 1.0
        for i in range(m):
            space[BY_ROW + i, used] = coefficient[i, j]
        used += 1 if space[SQUARE, j] - least < NEGLIGIBLE else 0
    width = (used + WIDTH - 1) // WIDTH * WIDTH
    for k in range(used, width):
        space[GAP, k], space[SPREAD, k], space[OWN, k], space[SHARE, k] = 0.0, 0.0, 0.0, 1.0
        for i in range(m):
            space[BY_ROW + i, k] = 0.0
    for i in range(m):
        space[SHARE, width + i] = space[TRIALS, basis[i]] if basis[i] < unknown else 1.0
    for k in range(width + m):
        trials = space[SHARE, k]
        space[SHARE, k] = 1.0 / trials
        space[NEXT, k] = 1.0 / (trials + step)
    for k in range(width):
        space[RATE, k] = space[OWN, k] * space[SHARE, k] * space[SHARE, k]
    return used


@inlined
def shrink(space: Floats, width: int, row: int, less: float, least: float) -> None:
    """Reduce the variances by so much of an arm of the basis, and weigh all conditions."""
    for k in range(width):
        spread = space[SPREAD, k] - space[row, k] * less
        space[SPREAD, k] = spread
        square = space[GAP, k] * space[GAP, k] / spread
        share = 1.0 / ((1.0 + np.sqrt(square)) * spread)
        weight = decay(0.5 * (least - square)) * share
        weight = weight if spread > 0.0 and square - least < NEGLIGIBLE else 0.0
        space[SQUARE, k] = square
        space[WEIGHT, k] = weight
        space[VALUE, k] = weight * space[RATE, k]


@inlined
def shrink_one(space: Floats, k: int, least: float) -> float:
    """Reduce the variance of one condition by a chunk of its own arm; returns its weight."""
    next = space[NEXT, k]
    spread = space[SPREAD, k] - space[OWN, k] * (space[SHARE, k] - next)
    space[SPREAD, k], space[SHARE, k], space[RATE, k] = spread, next, space[OWN, k] * next * next
    square = space[GAP, k] * space[GAP, k] / spread
    space[SQUARE, k] = square
    share = 1.0 / ((1.0 + np.sqrt(square)) * spread)
    weight = decay(0.5 * (least - square)) * share
    return weight if spread > 0.0 and square - least < NEGLIGIBLE else 0.0


@inlined
def best(state: State, width: int, used: int, last: int, weight: float, value: float) -> int:
    """Row of the basis, or m and the place of the arm, whose trials are worth most; -1 if none are worth anything."""
    space, unknown, basis = state.space, state.counts.shape[0], state.basis.column
    m = fixed_rows(basis.shape[0])
    top = highest(space[VALUE], width)
    most, found, ties, again = 0.0, -1, 0, max(last, 0)
    for i in range(m):
        share = space[SHARE, width + i] if basis[i] < unknown else 0.0
        space[TOTAL, i] = (dot(space, WEIGHT, BY_ROW + i, width) + weight * space[BY_ROW + i, again]) * (share * share)
        if space[TOTAL, i] > most:
            found, most = i, space[TOTAL, i]
    if value > most:
        found, most = m + last, value
    if top > most:
        found, most = m + position(space[VALUE], top, width), top
    for i in range(m):
        ties += space[TOTAL, i] * (1.0 + TIE) >= most
    ties += value * (1.0 + TIE) >= most
    if top * (1.0 + TIE) >= most:
        ties += count(space[VALUE], most, width)
    if ties == 1:
        return found
    if last >= 0:
        space[VALUE, last] = value
    found = largest(m, used, space[TOTAL], space[VALUE])
    if last >= 0:
        space[VALUE, last] = 0.0
    return found


@inlined
def highest(values: Floats, width: int) -> float:
    """The largest of some positive numbers, or zero; four at a time."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for q in range(width // 4):
        k = 4 * q
        a = values[k] if values[k] > a else a
        b = values[k + 1] if values[k + 1] > b else b
        c = values[k + 2] if values[k + 2] > c else c
        d = values[k + 3] if values[k + 3] > d else d
    a, c = a if a > b else b, c if c > d else d
    return a if a > c else c


@inlined
def position(values: Floats, value: float, width: int) -> int:
    """Where a number stands that is there once."""
    result = 0
    for k in range(width):
        result += k if values[k] == value else 0
    return result


@inlined
def count(values: Floats, most: float, width: int) -> int:
    """How many numbers count as the largest."""
    result = 0
    for k in range(width):
        result += 1 if values[k] * (1.0 + TIE) >= most else 0
    return result


@inlined
def dot(space: Floats, i: int, r: int, width: int) -> float:
    """Sum of products of two rows, four at a time: one sum would wait for itself."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for q in range(width // 4):
        k = 4 * q
        a += space[i, k] * space[r, k]
        b += space[i, k + 1] * space[r, k + 1]
        c += space[i, k + 2] * space[r, k + 2]
        d += space[i, k + 3] * space[r, k + 3]
    return (a + b) + (c + d)


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
def heaviest(space: Floats, used: int, row: int) -> int:
    """The condition that a trial of an arm of the basis does most for."""
    found, most = 0, 0.0
    for k in range(used):
        worth = space[WEIGHT, k] * space[BY_ROW + row, k]
        if worth > most:
            found, most = int(space[WHICH, k]), worth
    return found


@inlined
def closest(space: Floats, used: int) -> int:
    """The place of the condition with the smallest z-score of those that trials can change; -1 if there is none."""
    found, least = -1, np.inf
    for k in range(used):
        if space[SPREAD, k] > 0.0 and space[SQUARE, k] < least:
            found, least = k, space[SQUARE, k]
    return found


@inlined
def place_of(space: Floats, used: int, j: int) -> int:
    """The place of a condition; -1 if it does not count."""
    for k in range(used):
        if space[WHICH, k] == j:
            return k
    return -1


@inlined
def fewest(trials: Floats, unknown: int) -> int:
    """The first arm with the fewest trials."""
    chosen = 0
    for a in range(unknown):
        if trials[a] < trials[chosen]:
            chosen = a
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
