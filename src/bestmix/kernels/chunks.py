"""Which arm each chunk of a round goes to: the one that most reduces the chance that a condition fails.

Of the conditions of ``conditions.py`` those that count stand side by side in ``State.space``, a place for each. In the
course of a round variances only fall: what is negligible at its start stays so.

Of one run, or of several with a lane for each (``lanes.py``): a row, a place, an arm and the number of the first chunk
may then differ from lane to lane.
"""

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels.columns import fixed_rows
from bestmix.kernels.conditions import BY_ROW, WIDTH, Reserve, State
from bestmix.kernels.jit import borrowing, inlined
from bestmix.kernels.lanes import any_lane, at, either, larger, put, reach
from bestmix.kernels.weights import NEGLIGIBLE, dot, first_of, highest, weigh_one

CHUNKS = 10  # decisions in a round, at least
EACH = 8  # arms for each of them, where there are many
# Rows of a decision's space. By arm: its trials. By row of the basis: what a trial of its arm is worth. By place: which
# condition stands there, its gap, the term of its own arm, its variance, its squared z-score, its weight, and what a
# trial of its own arm is worth. By place, and after the places by row of the basis: one over the arm's trials, and the
# same after one more chunk. The other rows are terms by row of the basis.
TRIALS, TOTAL, WHICH, GAP, OWN, SPREAD, SQUARE, WEIGHT, VALUE, SHARE, NEXT = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10


@inlined
def narrow(
    state: State, size: int, reserve: Reserve, start: float, arm: Integers | None, reason: Integers | None
) -> int:
    """Give the trials after the first chunks to the conditions in doubt; returns the number of chunks.

    The trials are added to those in ``State.space``. Where there were first chunks it is in doubt whether there is an
    answer, and its arms have no floor.

    A chunk changes either one condition, by the arm's own trials, or all, by those of an arm of the basis: only what
    changed is reckoned again.
    """
    space, unknown = state.space, state.counts.shape[0]
    step, reserved = chunk_size(size, unknown), unreserved(unknown, reserve.share)
    last, floor = (size + step - 1) // step, either(start == 0, reserve.floor, 0.0)
    least = set_variances(state)
    used = gather(state, least, step)
    width = padded(used)
    weigh_all(space, used, least)
    for chunk in range(reach(start, last)[0], last):
        ignored: float = -1
        weight, value = 0.0, 0.0
        if chunk >= reserved:
            ignored = closest(space, used, reserve.doubt)
            weight, value = at(space[WEIGHT], larger(ignored, 0)), at(space[VALUE], larger(ignored, 0))
            put_back(space, used, ignored, 0.0, 0.0)
        row, place = choose(state, used)
        if chunk >= reserved and any_lane(floor > 0.0):
            behind = neglected(state, floor)
            row, place = either(behind >= 0, behind, row), either(behind >= 0, -1, place)
        chosen, place = arm_of(state, used, row, place)
        if arm is not None:
            arm[chunk] = int(chosen)
        if reason is not None:
            reason[chunk] = int(chosen) if row < 0 else heaviest(space, used, int(row))
        if chunk >= reserved:
            put_back(space, used, ignored, weight, value)
        begun = chunk >= start
        trials = at(space[TRIALS], chosen) + either(begun, min(step, size - chunk * step), 0)
        put(space[TRIALS], chosen, trials)
        if chunk == last - 1:
            break
        row, place, then = either(begun, row, -1), either(begun, place, -1), 1.0 / (trials + step)
        first, end = reach(place, used)
        for k in range(first, end):
            space[SPREAD, k] = space[SPREAD, k] - space[OWN, k] * one_more_chunk(space, k, place == k, then)
        for i in range(fixed_rows(state.basis.column.shape[0])):
            if any_lane(row == i):
                less = one_more_chunk(space, width + i, row == i, then)
                for k in range(used):
                    space[SPREAD, k] = space[SPREAD, k] - space[BY_ROW + i, k] * less
        if any_lane(row >= 0):
            weigh_all(space, used, least)
        else:
            for k in range(first, end):
                weigh(space, k, least)
    return last


@inlined
def put_back(space: Floats, used: int, place: float, weight: float, value: float) -> None:
    """Write the weight of a condition into its place, if it is one."""
    first, end = reach(place, used)
    for k in range(first, end):
        space[WEIGHT, k] = either(place == k, weight, space[WEIGHT, k])
        space[VALUE, k] = either(place == k, value, space[VALUE, k])


@inlined
def one_more_chunk(space: Floats, k: int, given: bool, then: float) -> float:
    """Count one more chunk of an arm, if it was given one; returns by how much its share falls.

    ``then`` is the share after yet another chunk: divisions are made a chunk ahead, so that nothing waits for them.
    """
    less = either(given, space[SHARE, k] - space[NEXT, k], 0.0)
    space[SHARE, k] = either(given, space[NEXT, k], space[SHARE, k])
    space[NEXT, k] = either(given, then, space[NEXT, k])
    return less


@inlined
def set_variances(state: State) -> float:
    """Write each condition's variance and squared z-score; returns the least of these."""
    gap, own, coefficient, basis, space = state.gap, state.own, state.coefficient, state.basis.column, state.space
    n, unknown, least = gap.shape[0], state.counts.shape[0], np.inf
    for j in range(n):
        space[SPREAD, j] = 0.0
    for j in range(unknown):
        space[SPREAD, j] = either(own[j] > 0.0, own[j] / space[TRIALS, j], 0.0)
    for i in range(fixed_rows(basis.shape[0])):
        share = share_of(state, i, 0)
        for j in range(n):
            space[SPREAD, j] = space[SPREAD, j] + either(coefficient[i, j] > 0.0, coefficient[i, j] * share, 0.0)
    for j in range(n):
        spread = space[SPREAD, j]
        space[SQUARE, j] = either(spread > 0.0, gap[j] * gap[j] / spread, np.inf)
        least = either(space[SQUARE, j] < least, space[SQUARE, j], least)
    return least


@inlined
def share_of(state: State, i: int, more: int) -> float:
    """One over the trials, with some more, of an arm of the basis; zero where it is none, or not tried."""
    column, unknown = state.basis.column[i], state.counts.shape[0]
    tried = column < unknown
    return either(tried, 1.0 / (at(state.space[TRIALS], either(tried, column, 0)) + more), 0.0)


@inlined
def gather(state: State, least: float, step: int) -> int:
    """Put the conditions that count side by side; returns how many. The places after them count for nothing."""
    gap, own, coefficient, space, unknown = state.gap, state.own, state.coefficient, state.space, state.counts.shape[0]
    m, used = fixed_rows(coefficient.shape[0]), 0
    for j in range(gap.shape[0]):
        if any_lane(space[SQUARE, j] - least < NEGLIGIBLE):
            space[WHICH, used], space[GAP, used] = j, gap[j]
            space[SPREAD, used], space[OWN, used] = space[SPREAD, j], own[j]
            for i in range(m):
                space[BY_ROW + i, used] = coefficient[i, j]
            space[SHARE, used], space[NEXT, used] = 0.0, 0.0
            if j < unknown:
                space[SHARE, used] = 1.0 / space[TRIALS, j]
                space[NEXT, used] = 1.0 / (space[TRIALS, j] + step)
            used += 1
    width = padded(used)
    for k in range(used, width):
        space[WEIGHT, k], space[VALUE, k] = 0.0, 0.0
        for i in range(m):
            space[BY_ROW + i, k] = 0.0
    for i in range(m):
        space[SHARE, width + i], space[NEXT, width + i] = share_of(state, i, 0), share_of(state, i, step)
    return used


@inlined
def padded(used: int) -> int:
    """Places to work on, if so many are used."""
    return (used + WIDTH - 1) // WIDTH * WIDTH


@inlined
def weigh_all(space: Floats, used: int, least: float) -> None:
    """Weigh all conditions. A loop from zero on works on several at once."""
    for k in range(used):
        weigh(space, k, least)


@inlined
def weigh(space: Floats, k: int, least: float) -> None:
    """Weigh a condition by its variance."""
    spread, share = space[SPREAD, k], space[SHARE, k]
    square = space[GAP, k] * space[GAP, k] / spread
    weight = weigh_one(square, spread, least)
    space[SQUARE, k], space[WEIGHT, k] = square, weight
    space[VALUE, k] = weight * (space[OWN, k] * share * share)


@inlined
def choose(state: State, used: int) -> tuple[float, float]:
    """Row of the basis or, that being -1, place of the condition whose arm's trials are worth most; -1 if none are."""
    space, width, m = state.space, padded(used), fixed_rows(state.basis.column.shape[0])
    most = highest(space[VALUE], width)
    for i in range(m):
        share = space[SHARE, width + i]
        space[TOTAL, i] = dot(space[WEIGHT], space[BY_ROW + i], width) * (share * share)
        most = larger(space[TOTAL, i], most)
    row, place = first_of(space[TOTAL], most, m), first_of(space[VALUE], most, used)
    return row, either(row >= 0, -1, place)


@inlined
def arm_of(state: State, used: int, row: float, place: float) -> tuple[float, float]:
    """The arm that a chunk goes to, and the place that it changes, if it is one.

    Where nothing is in doubt the numbers of trials are kept even.
    """
    space, basis, nothing = state.space, state.basis.column, (row < 0) & (place < 0)
    chosen = at(space[WHICH], larger(place, 0))
    for i in range(fixed_rows(basis.shape[0])):
        chosen = either(row == i, basis[i], chosen)
    if any_lane(nothing):
        chosen = either(nothing, fewest(space[TRIALS], state.counts.shape[0]), chosen)
        for k in range(used):
            place = either(nothing & (space[WHICH, k] == chosen), k, place)
    return chosen, place


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
def closest(space: Floats, used: int, doubt: float) -> float:
    """The place of the condition with the smallest z-score of those that trials can change; -1 if there is none.

    Also -1 if no other one has a z-score below ``doubt``, where that is finite.
    """
    found: float = -1
    least, second = np.inf, np.inf
    for k in range(used):
        square = either(space[SPREAD, k] > 0.0, space[SQUARE, k], np.inf)
        first = square < least
        second = either(first, least, either(square < second, square, second))
        found, least = either(first, k, found), either(first, square, least)
    return found if doubt == np.inf else either(second < doubt * doubt, found, -1)


@inlined
def neglected(state: State, floor: float) -> float:
    """Row of the basis whose arm has the fewest trials, if these are below a share of all; else -1."""
    trials, basis, unknown = state.space[TRIALS], state.basis.column, state.counts.shape[0]
    found: float = -1
    made, least = 0.0, np.inf
    for a in range(unknown):
        made = made + trials[a]
    for i in range(fixed_rows(basis.shape[0])):
        tried = basis[i] < unknown
        some = at(trials, either(tried, basis[i], 0))
        fewer = tried & (some < floor * made) & (some < least)
        found, least = either(fewer, i, found), either(fewer, some, least)
    return found


@inlined
def fewest(trials: Floats, unknown: int) -> float:
    """The first arm with the fewest trials."""
    chosen: float = 0
    least = trials[0]
    for a in range(1, unknown):
        fewer = trials[a] < least
        chosen, least = either(fewer, a, chosen), either(fewer, trials[a], least)
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
