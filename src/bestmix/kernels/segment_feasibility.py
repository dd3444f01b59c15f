"""Whether it is in doubt that any mix of segments keeps all limits, and which trials would tell.

As ``feasibility.py`` does it for one segment: the mix that keeps all noisy limits by the widest margin is found, and
where that margin is within its own standard errors of zero its columns are to be tried first.
"""

import numpy as np

from bestmix.arrays import Flags, Floats
from bestmix.kernels import bounding, segment_conditions, segments, simplex
from bestmix.kernels.feasibility import DOUBT, RAISED
from bestmix.kernels.jit import compiled
from bestmix.kernels.segment_conditions import Noise
from bestmix.kernels.segment_state import SegmentState


@compiled
def in_doubt(state: SegmentState, term: Floats) -> bool:
    """Whether the estimates say that some mix is feasible, but are not sure of it.

    ``term`` (n,) receives each column's part of the variance of the widest margin, times the number of its trials.
    """
    program, noise, counts = state.program, state.noise, state.counts
    term[:] = 0.0
    noisy = ~noise.known & ~program.equality
    if not np.any(noisy) or elastic(state) or safe_alone(state):
        return False
    mix, g = np.zeros(counts.shape[0]), np.zeros(noisy.shape[0])
    known = counts == np.inf
    if covers(state, known) and widest_margin(state, known, noisy, mix, g) >= 0.0:
        return False
    margin = widest_margin(state, np.ones(known.shape[0], dtype=np.bool_), noisy, mix, g)
    if margin == -np.inf:
        return False
    alone = Noise(noise.transform, state.unblended, noise.known, noise.reference, noise.factor, noise.arrivals)
    for r in range(g.shape[0]):
        g[r] /= program.scale[2 + r]
    segment_conditions.set_terms(program, alone, g, mix, term)
    spread = 0.0
    for j in range(term.shape[0]):
        if term[j] > 0.0:
            spread += term[j] / counts[j]
    return bool(margin * margin < DOUBT * DOUBT * spread)


@compiled
def elastic(state: SegmentState) -> bool:
    """Whether the answer is that no mix keeps all limits."""
    for j in state.program.basis:
        if segments.is_elastic(state.program, j):
            return True
    return False


@compiled
def covers(state: SegmentState, some: Flags) -> bool:
    """Whether every segment has one of these columns."""
    start = state.program.start
    for s in range(start.shape[0] - 1):
        if not np.any(some[start[s] : start[s + 1]]):
            return False
    return True


@compiled
def widest_margin(state: SegmentState, some: Flags, noisy: Flags, mix: Floats, price: Floats) -> float:
    """The widest margin that a mix of some columns keeps from the noisy limits, in units of their largest entries.

    Minus infinity if there is none. ``mix`` (n,) receives the mix and ``price`` (R,) the limits' part in the margin.
    A segment more has the margin as a column, between -RAISED and RAISED.
    """
    program = state.program
    chosen, start = np.flatnonzero(some), program.start
    n, limits = chosen.shape[0], noisy.shape[0]
    sizes, weight = np.empty(start.shape[0], dtype=np.int64), np.empty(start.shape[0])
    for s in range(start.shape[0] - 1):
        sizes[s], weight[s] = np.sum(some[start[s] : start[s + 1]]), program.weight[s]
    sizes[-1], weight[-1] = 2, 2.0 * RAISED
    mu, rows, right = np.zeros(n + 2), np.zeros((n + 2, limits)), program.right.copy()
    mu[n], rows[:n] = 1.0, program.rows[chosen]
    for r in range(limits):
        if noisy[r]:
            rows[n, r], right[r] = 1.0, right[r] + RAISED
    wider = segments.new_program(sizes, limits)
    wider.equality[:] = program.equality
    segments.load(wider, mu, rows, right, weight)
    if bounding.maximise(wider) != simplex.OPTIMAL:
        return -np.inf
    every = np.empty(n + 2)
    segments.weights(wider, every)
    segments.prices(wider, price)
    mix[:] = 0.0
    mix[chosen] = every[:n]
    return float(every[n] - RAISED)


@compiled
def safe_alone(state: SegmentState) -> bool:
    """Whether every segment has a column that alone surely keeps all limits, which leaves no doubt."""
    start = state.program.start
    for s in range(start.shape[0] - 1):
        found = False
        for j in range(start[s], start[s + 1]):
            found = found or is_safe(state, s, j)
        if not found:
            return False
    return True


@compiled
def is_safe(state: SegmentState, s: int, j: int) -> bool:
    """Whether column j of segment s alone surely keeps all limits."""
    program, noise, counts = state.program, state.noise, state.counts
    for r in range(program.right.shape[0]):
        below = (program.right[r] - program.rows[j, r]) * program.scale[2 + r]
        if below < 0.0 or program.equality[r]:
            return False
        direction, k, spread = noise.transform[s, 1 + r], noise.reference[s, r], 0.0
        share = 1.0 - noise.factor[r] if k == j else 1.0
        spread += share * share * segment_conditions.quadratic(direction, state.unblended, j) / counts[j]
        if k >= 0 and k != j:
            more = segment_conditions.quadratic(direction, state.unblended, k)
            spread += noise.factor[r] * noise.factor[r] * more / counts[k]
        if below * below < DOUBT * DOUBT * spread:
            return False
    return True
