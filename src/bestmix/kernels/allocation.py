"""Where the next trials help most, and how many there are in a round.

Trials go, a chunk at a time, to the arm that most reduces the sum over the conditions of ``conditions.py`` of the
chance that the answer is wrong because of it; first of all to whether there is an answer, where that is in doubt.
"""

import numpy as np

from bestmix.arrays import Integers
from bestmix.kernels.chunks import TRIALS, chunk_size, narrow, unreserved
from bestmix.kernels.conditions import Reserve, Settings, State
from bestmix.kernels.feasibility import beyond_doubt, in_doubt
from bestmix.kernels.jit import borrowing, compiled, inlined
from bestmix.kernels.weights import TIE

REST = 0.2  # share of a round that is left for the conditions while it is in doubt whether any mix is feasible
LEAST = 3  # trials of each arm in the first round, at least
FIRST = 10  # and as many where the budget does not say, because the run ends when it is sure


@inlined
def allocate(state: State, size: int, reserve: Reserve, arm: Integers, reason: Integers | None, owed: Integers) -> int:
    """Give the ``size`` trials of a round to arms, a chunk at a time; returns the number of chunks.

    ``arm`` and ``reason`` (decisions(unknown),) receive each chunk's arm and the condition that it was mostly spent on,
    where somebody asks for it; ``owed`` (unknown,) the trials of each arm.
    """
    for a in range(owed.shape[0]):
        owed[a] = 0
    start = 0 if beyond_doubt(state) else settle_feasibility(state, size, arm, reason, owed)
    for a in range(owed.shape[0]):
        state.space[TRIALS, a] = state.counts[a] + owed[a]
    chunks = narrow(state, size, reserve, start, arm, reason)
    for a in range(owed.shape[0]):
        owed[a] = int(state.space[TRIALS, a]) - state.counts[a]
    return chunks


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
    """Trials of the next round; none when the budget is spent, or was made smaller than that."""
    if unknown == 0:
        return 0
    if stops_itself(settings):
        size = max(unknown, int(settings.growth * spent))
    else:
        later = budget - unknown * first_pulls(budget, unknown, settings)
        size = (later + settings.rounds - 1) // settings.rounds
    return max(min(size, budget - spent), 0)
