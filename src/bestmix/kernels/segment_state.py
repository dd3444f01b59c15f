"""What a decision about a program of segments works on: the program at the estimates, solved, with its conditions."""

from typing import NamedTuple

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import bounding, layout, segment_conditions, segments
from bestmix.kernels.conditions import PRIOR
from bestmix.kernels.jit import compiled
from bestmix.kernels.layout import Layout
from bestmix.kernels.segment_conditions import Conditions, Noise
from bestmix.kernels.segments import SegmentProgram

SOME = 5  # trials of a column that say by themselves how noisy it is


class SegmentState(NamedTuple):
    """A solved program of n columns, all of which were tried or are known.

    Attributes
    ----------
    program, noise, conditions
        The program at the estimates, where its noise comes from, and what keeps its answer.
    counts
        Trials of each column (n,); infinite for known ones.
    unblended
        Covariance of a trial of each column (n, M, M) by its own trials alone, where there are some: values may be
        exact. That of ``noise`` is blended with the pooled one.
    status
        Of the simplex.
    """

    program: SegmentProgram
    noise: Noise
    conditions: Conditions
    counts: Floats
    unblended: Floats
    status: int


class TriedState(NamedTuple):
    """The state of the columns that can be used: their numbers among all columns, and those of their segments."""

    state: SegmentState
    columns: Integers
    segments: Integers


@compiled
def tried_state(
    rows: Layout, weight: Floats, arrivals: float, counts: Floats, means: Floats, scatter: Floats
) -> TriedState:
    """``new_state`` of the columns that were tried or are known; there must be one."""
    some = layout.part(rows, layout.usable(rows, counts > 0.0))
    at, share = some.columns, weight[some.segments]
    state = new_state(some.layout, share, arrivals, counts[at], means[at], scatter[at])
    return TriedState(state, at, some.segments)


@compiled
def new_state(
    rows: Layout, weight: Floats, arrivals: float, counts: Floats, means: Floats, scatter: Floats
) -> SegmentState:
    """Solve the program at these means (n, M), from nothing, and work out its conditions.

    ``scatter`` (n, M, M) is that of the trials; ``arrivals`` is the number of users from whom the weights of segments
    were estimated, 0 when they are known. The same numbers always lead to the same basis.
    """
    estimate = means.copy()
    layout.fill_given(rows, estimate)
    pooled = pool(counts, rows.given, estimate, scatter)
    noise = layout.new_noise(rows, blend(counts, scatter, pooled, np.inf), arrivals)
    alone = layout.new_noise(rows, blend(counts, scatter, pooled, float(SOME)), arrivals)
    program, status = solve(rows, weight, estimate)
    result = segment_conditions.new_conditions(counts.shape[0], rows.right.shape[0])
    segment_conditions.set_conditions(program, noise, result)
    return SegmentState(program, noise, result, counts, alone.covariance, status)


@compiled
def solve(rows: Layout, weight: Floats, means: Floats) -> tuple[SegmentProgram, int]:
    """The program at these means, solved from nothing, and the status of the simplex."""
    n, limits = rows.constant.shape
    program, mu, entries = segments.new_program(rows.sizes, limits), np.empty(n), np.empty((n, limits))
    program.equality[:] = rows.equality
    layout.set_entries(rows, means, mu, entries)
    segments.load(program, mu, entries, rows.right, weight)
    return program, bounding.maximise(program)


@compiled
def pool(counts: Floats, given: Floats, means: Floats, scatter: Floats) -> Floats:
    """Pooled covariance of a trial (M, M), without columns whose mean is given (n, M): their trials need not tell it.

    As wide as the columns are apart when none has two trials.
    """
    metrics = means.shape[1]
    result = np.zeros((metrics, metrics))
    for i in range(metrics):
        for m in range(metrics):
            freedom, total = 0.0, 0.0
            for j in range(counts.shape[0]):
                if 1.0 < counts[j] < np.inf and np.isnan(given[j, i]) and np.isnan(given[j, m]):
                    freedom, total = freedom + counts[j] - 1.0, total + scatter[j, i, m]
            if freedom > 0.0:
                result[i, m] = total / freedom
            elif i == m:
                half = 0.5 * np.max(means[:, m]) - 0.5 * np.min(means[:, m])
                result[m, m] = half * half
    return result


@compiled
def blend(counts: Floats, scatter: Floats, pooled: Floats, enough: float) -> Floats:
    """Covariance of a trial of each column, blended with the pooled one where it has fewer trials than ``enough``."""
    result, metrics = np.zeros(scatter.shape), pooled.shape[0]
    for j in range(counts.shape[0]):
        if counts[j] < np.inf:
            prior = PRIOR if counts[j] < enough else 0.0
            freedom = max(counts[j] - 1.0, 0.0) + prior
            for i in range(metrics):
                for m in range(metrics):
                    result[j, i, m] = (scatter[j, i, m] + prior * pooled[i, m]) / freedom
    return result
