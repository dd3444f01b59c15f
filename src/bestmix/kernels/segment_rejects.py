"""Which column of a program of segments to reject: the one with the lowest reduced cost (the Lagrangian score).

A column is an arm in a segment, or the slack of a limit; a limit whose slack was rejected has to be met exactly. What
is rejected has no weight in the optimum of those that are left, so its loss never makes the rest infeasible. Where the
estimates say that no mix keeps all limits, prices are those of the least violation.
"""

import numpy as np

from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels import bounding, layout, segments, simplex
from bestmix.kernels.jit import compiled
from bestmix.kernels.layout import Layout
from bestmix.kernels.scores import last_lowest
from bestmix.kernels.segments import SegmentProgram

TIE = 1e-11  # scores closer than this, in units of the spread of the objective, count as equal


@compiled
def solve_left(rows: Layout, weight: Floats, means: Floats, left: Flags) -> tuple[SegmentProgram, Integers, int]:
    """The solved program of the columns and slacks that are left (n + R,), the numbers of these columns, its status."""
    n, limits = rows.constant.shape
    estimate, mu, entries = means.copy(), np.empty(n), np.empty((n, limits))
    layout.fill_given(rows, estimate)
    layout.set_entries(rows, estimate, mu, entries)
    chosen = np.flatnonzero(left[:n])
    sizes, first = np.zeros(weight.shape[0], dtype=np.int64), 0
    for s in range(weight.shape[0]):
        sizes[s] = np.sum(left[first : first + rows.sizes[s]])
        first += rows.sizes[s]
    served = np.flatnonzero(sizes > 0)
    program = segments.new_program(sizes[served], limits)
    for r in range(limits):
        program.equality[r] = rows.equality[r] or not left[n + r]
    segments.load(program, mu[chosen], entries[chosen], rows.right, weight[served])
    return program, chosen, bounding.maximise(program)


@compiled
def set_scores(program: SegmentProgram, chosen: Integers, score: Floats) -> None:
    """Write reduced costs of the columns and slacks that are left into ``score`` (n + R,), others stay as they are.

    In units of the spread of the objective, a slack's for each unit of its limit; infinite for basic columns.
    """
    mu, rows, price, key, segment = program.mu, program.rows, program.price, program.key, program.segment
    n, limits = score.shape[0] - program.right.shape[0], program.right.shape[0]
    for j in range(mu.shape[0]):
        reduced = mu[j] - mu[key[segment[j]]]
        for r in range(limits):
            reduced -= price[r] * (rows[j, r] - rows[key[segment[j]], r])
        score[chosen[j]] = min(reduced, 0.0)
    for r in range(limits):
        if not program.equality[r]:
            score[n + r] = min(-price[r], 0.0) / program.scale[2 + r]
    for s in range(key.shape[0]):
        score[chosen[key[s]]] = np.inf
    for i in range(limits):
        j = program.basis[i]
        if j < mu.shape[0]:
            score[chosen[j]] = np.inf
        elif j < mu.shape[0] + limits:
            score[n + j - mu.shape[0]] = np.inf


@compiled
def loser(rows: Layout, weight: Floats, counts: Floats, means: Floats, left: Flags, score: Floats) -> int:
    """Number of the column or slack to reject, of those left (n + R,); -1 when what is left is a basis.

    ``score`` (n + R,) receives the reduced costs, infinite for what is basic, was rejected or has no trials (``counts``
    (n,) are zero).
    """
    score[:] = np.inf
    tried, use = layout.usable(rows, counts > 0.0), left.copy()
    for j in range(tried.shape[0]):
        use[j] = left[j] and tried[j]
    if not np.any(use[: tried.shape[0]]):
        return -1
    program, chosen, status = solve_left(rows, weight, means, use)
    if status == simplex.STALLED:
        return -1
    set_scores(program, chosen, score)
    if np.min(score) == np.inf:
        return -1
    return last_lowest(score, TIE)
