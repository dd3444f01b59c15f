"""Which arm each chunk of a round goes to: the one that most reduces the chance that a condition fails.

Of the conditions of ``conditions.py`` those that count stand side by side in ``State.space``, a place for each, so that
a loop works on several at once. In the course of a round variances only fall: what is negligible at its start stays so.
"""

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels.columns import fixed_rows
from bestmix.kernels.conditions import BY_ROW, WIDTH, Reserve, State
from bestmix.kernels.jit import borrowing, inlined
from bestmix.kernels.weights import NEGLIGIBLE, TIE, count, dot, highest, largest, position, weigh_one

CHUNKS = 10  # decisions in a round, at least
EACH = 8  # arms for each of them, where there are many
# Rows of a decision's space. By arm: its trials. By row of the basis: what a trial of its arm is worth. By place: which
# condition stands there, its gap, the term of its own arm, that term over the square of the arm's trials, its variance,
# its squared z-score, its weight, and what a trial of its own arm is worth. By place, and after the places by row of
# the basis: one over the arm's trials, and the same after one more chunk. The other rows are terms by row of the basis.
TRIALS, TOTAL, WHICH, GAP, OWN, RATE, SPREAD, SQUARE, WEIGHT, VALUE, SHARE, NEXT = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11


@inlined
def narrow(
    state: State,
    size: int,
    reserve: Reserve,
    chunk: int,
    arm: Integers,
    reason: Integers | None,
    owed: Integers,
) -> int:
    """Give the trials after the first chunks to the conditions in doubt; returns the number of chunks.

    Where there were first chunks it is in doubt whether there is an answer, and its arms have no floor.

    A chunk changes either one condition, by the arm's own trials, or all, by those of an arm of the basis: only what
    changed is reckoned again. The weight of one that changed alone is kept out of its place: sums of the others need
    not wait for it.
    """
    basis, space, counts = state.basis.column, state.space, state.counts
    unknown = counts.shape[0]
    step, reserved = chunk_size(size, unknown), unreserved(unknown, reserve.share)
    floor = reserve.floor if chunk == 0 else 0.0
    given, last, weight, value = min(chunk * step, size), -1, 0.0, 0.0
    for a in range(unknown):
        space[TRIALS, a] = counts[a] + owed[a]
    least = set_variances(state)
    used = gather(state, least, step)
    width = padded(used)
    shrink(space, width, BY_ROW, 0.0, least)
    while given < size:
        ignored, aside = -1, 0.0
        if chunk >= reserved:
            put_back(space, last, weight, value)
            last, weight, value = -1, 0.0, 0.0
            ignored = closest(space, used, reserve.doubt)
            if ignored >= 0:
                aside = space[WEIGHT, ignored]
                put_back(space, ignored, 0.0, 0.0)
        row, place = choose(state, used, last, weight, value)
        behind = neglected(state, floor) if chunk >= reserved and floor > 0.0 else -1
        if behind >= 0:
            row = behind
        if row >= 0:
            chosen = basis[row]
        elif place >= 0:
            chosen = int(space[WHICH, place])
        else:  # nothing is in doubt: keep the numbers of trials even
            chosen = fewest(space[TRIALS], unknown)
            place = place_of(space, used, chosen)
        arm[chunk] = chosen
        if reason is not None:
            reason[chunk] = chosen if row < 0 else heaviest(space, used, row, last, weight)
        put_back(space, ignored, aside, aside * space[RATE, max(ignored, 0)])
        owed[chosen] += min(step, size - given)
        given, chunk = given + step, chunk + 1
        if given >= size:
            break
        space[TRIALS, chosen] += step
        if row >= 0:
            less = one_more_chunk(space, width + row, space[TRIALS, chosen] + step)
            shrink(space, width, BY_ROW + row, less, least)
            last, weight, value = -1, 0.0, 0.0
        elif place >= 0:
            put_back(space, last, weight, value)
            put_back(space, place, 0.0, 0.0)
            less = one_more_chunk(space, place, space[TRIALS, chosen] + step)
            last, weight = place, shrink_one(space, place, less, least)
            value = weight * space[RATE, place]
    return chunk


@inlined
def put_back(space: Floats, place: int, weight: float, value: float) -> None:
    """Write the weight of a condition into its place, if it is one."""
    if place >= 0:
        space[WEIGHT, place], space[VALUE, place] = weight, value


@inlined
def one_more_chunk(space: Floats, k: int, then: float) -> float:
    """Count one more chunk of an arm, which has ``then`` trials after yet another; returns by how much its share falls.

    Divisions are made a chunk ahead, so that nothing waits for them.
    """
    less: float = space[SHARE, k] - space[NEXT, k]
    space[SHARE, k], space[NEXT, k] = space[NEXT, k], 1.0 / then
    return less


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
    """Put the conditions that count side by side; returns how many. The places after them count for nothing."""
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
    width = padded(used)
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
def padded(used: int) -> int:
    """Places to work on, if so many are used."""
    return (used + WIDTH - 1) // WIDTH * WIDTH


@inlined
def shrink(space: Floats, width: int, row: int, less: float, least: float) -> None:
    """Reduce the variances by so much of an arm of the basis, and weigh all conditions."""
    for k in range(width):
        spread = space[SPREAD, k] - space[row, k] * less
        square = space[GAP, k] * space[GAP, k] / spread
        weight = weigh_one(square, spread, least)
        space[SPREAD, k], space[SQUARE, k] = spread, square
        space[WEIGHT, k], space[VALUE, k] = weight, weight * space[RATE, k]


@inlined
def shrink_one(space: Floats, k: int, less: float, least: float) -> float:
    """Reduce the variance of one condition by so much of its own arm; returns its weight."""
    spread = space[SPREAD, k] - space[OWN, k] * less
    square = space[GAP, k] * space[GAP, k] / spread
    space[SPREAD, k], space[SQUARE, k] = spread, square
    space[RATE, k] = space[OWN, k] * space[SHARE, k] * space[SHARE, k]
    return weigh_one(square, spread, least)


@inlined
def choose(state: State, used: int, last: int, weight: float, value: float) -> tuple[int, int]:
    """Row of the basis or, that being -1, place of the condition whose arm's trials are worth most; -1 if none are.

    ``last`` is the place whose weight, and what a trial of its arm is worth, are not there but given.
    """
    space, width, m = state.space, padded(used), fixed_rows(state.basis.column.shape[0])
    row, worth = best_row(state, width, last, weight)
    top = highest(space[VALUE], width)
    most = max(worth, value, top)
    ties = 1 if value * (1.0 + TIE) >= most else 0
    for i in range(m):
        ties += 1 if space[TOTAL, i] * (1.0 + TIE) >= most else 0
    if top * (1.0 + TIE) >= most:
        ties += count(space[VALUE], most, width)
    if ties != 1:
        put_back(space, last, 0.0, value)
        found = largest(m, used, space[TOTAL], space[VALUE])
        put_back(space, last, 0.0, 0.0)
        return found if found < m else -1, max(found - m, -1)
    if top > worth and top > value:
        return -1, position(space[VALUE], top, width)
    if value > worth:
        return -1, last
    return row, -1


@inlined
def best_row(state: State, width: int, last: int, weight: float) -> tuple[int, float]:
    """Row of the basis whose arm's trials are worth most, and how much; -1 and zero if none are worth anything."""
    space, unknown, basis = state.space, state.counts.shape[0], state.basis.column
    found, most, place = -1, 0.0, max(last, 0)
    for i in range(fixed_rows(basis.shape[0])):
        share = space[SHARE, width + i] if basis[i] < unknown else 0.0
        total = dot(space[WEIGHT], space[BY_ROW + i], width) + weight * space[BY_ROW + i, place]
        space[TOTAL, i] = total * (share * share)
        if space[TOTAL, i] > most:
            found, most = i, space[TOTAL, i]
    return found, most


@inlined
def heaviest(space: Floats, used: int, row: int, last: int, weight: float) -> int:
    """The condition that a trial of an arm of the basis does most for; the weight of the last one is given."""
    found, most = 0, 0.0
    for k in range(used):
        worth = (weight if k == last else space[WEIGHT, k]) * space[BY_ROW + row, k]
        if worth > most:
            found, most = int(space[WHICH, k]), worth
    return found


@inlined
def closest(space: Floats, used: int, doubt: float) -> int:
    """The place of the condition with the smallest z-score of those that trials can change; -1 if there is none.

    Also -1 if no other one has a z-score below ``doubt``, where that is finite.
    """
    found, least, second = -1, np.inf, np.inf
    for k in range(used):
        if space[SPREAD, k] > 0.0 and space[SQUARE, k] < least:
            found, least, second = k, space[SQUARE, k], least
        elif space[SPREAD, k] > 0.0 and space[SQUARE, k] < second:
            second = space[SQUARE, k]
    return found if doubt == np.inf or second < doubt * doubt else -1


@inlined
def place_of(space: Floats, used: int, j: int) -> int:
    """The place of a condition; -1 if it does not count."""
    for k in range(used):
        if space[WHICH, k] == j:
            return k
    return -1


@inlined
def neglected(state: State, floor: float) -> int:
    """Row of the basis whose arm has the fewest trials, if these are below a share of all; else -1."""
    trials, basis, unknown = state.space[TRIALS], state.basis.column, state.counts.shape[0]
    found, made = -1, 0.0
    for a in range(unknown):
        made += trials[a]
    for i in range(fixed_rows(basis.shape[0])):
        if basis[i] < unknown and trials[basis[i]] < floor * made:
            if found < 0 or trials[basis[i]] < trials[basis[found]]:
                found = i
    return found


@inlined
def fewest(trials: Floats, unknown: int) -> int:
    """The first arm with the fewest trials."""
    chosen = 0
    for a in range(unknown):
        if trials[a] < trials[chosen]:
            chosen = a
    return chosen


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
