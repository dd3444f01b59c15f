"""Top-two Thompson sampling on the program's answer: a leader and a challenger, each the answer to drawn means."""

import math

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import allocation, columns, conditions, sampling, simplex, stopping
from bestmix.kernels.conditions import State
from bestmix.kernels.jit import compiled
from bestmix.kernels.rejects import INFEASIBLE, finish

DRAWS = 10  # pairs in a round
MOST_DRAWS = 50  # of means, until their answer is another one than the leader's


@compiled
def root(matrix: Floats, result: Floats) -> None:
    """Lower triangular root of a covariance matrix; rows without variance stay zero."""
    result[:] = 0.0
    for i in range(matrix.shape[0]):
        for k in range(i + 1):
            total = matrix[i, k]
            for j in range(k):
                total -= result[i, j] * result[k, j]
            if k == i:
                result[i, i] = math.sqrt(max(total, 0.0))
            elif result[k, k] > 0.0:
                result[i, k] = total / result[k, k]


@compiled
def draw_answer(
    rng: np.random.Generator,
    estimate: Floats,
    roots: Floats,
    bound: Floats,
    everything: Integers,
    drawn: Floats,
    spare: State,
) -> bool:
    """Solve the program of means from the posterior; its basis, in ascending order, is that of ``spare``."""
    d = estimate.shape[1]
    normal = np.empty(d)
    drawn[:] = estimate
    for a in range(roots.shape[0]):
        for i in range(d):
            normal[i] = rng.standard_normal()
        for i in range(d):
            for k in range(i + 1):
                drawn[a, i] += roots[a, i, k] * normal[k]
    solved = conditions.solve(drawn, bound, everything, spare) == simplex.OPTIMAL
    spare.basis.column.sort()
    return solved


@compiled
def choose(rng: np.random.Generator, leader: Integers, other: Integers, counts: Integers, beta: float) -> int:
    """The arm to try: with probability beta one of the leader's, else one that only the challenger has."""
    unknown = counts.shape[0]
    first, second = leader[leader < unknown], other[other < unknown]
    fresh = second[~np.isin(second, first)]
    if rng.random() < beta or fresh.shape[0] == 0:
        if first.shape[0] > 0:
            return int(first[rng.integers(0, first.shape[0])])
    if fresh.shape[0] > 0:
        return int(fresh[rng.integers(0, fresh.shape[0])])
    return int(np.argmin(counts))


@compiled
def allocate(
    rng: np.random.Generator,
    beta: float,
    size: int,
    estimate: Floats,
    bound: Floats,
    everything: Integers,
    state: State,
    spare: State,
    owed: Integers,
) -> None:
    """Give the trials of a round to arms of drawn leaders and challengers.

    Where no draw has another answer than the leader, the challenger is the column whose condition is most in doubt.
    """
    counts, d = state.counts, estimate.shape[1]
    covariance, roots = conditions.blend(counts, state.scatter, state.pooled), np.empty((counts.shape[0], d, d))
    for a in range(counts.shape[0]):
        root(covariance[a] / counts[a], roots[a])
    nearest = int(np.argmin(conditions.z_scores(state)))
    drawn, leader = np.empty_like(estimate), np.empty_like(state.basis.column)
    step, given = max(1, (size + DRAWS - 1) // DRAWS), 0
    owed[:] = 0
    while given < size:
        spare.basis.column[:] = state.basis.column
        draw_answer(rng, estimate, roots, bound, everything, drawn, spare)
        leader[:] = spare.basis.column
        for _ in range(MOST_DRAWS):
            if (spare.basis.column != leader).any():
                break
            draw_answer(rng, estimate, roots, bound, everything, drawn, spare)
        other = spare.basis.column
        if not (other != leader).any():
            other = np.array([nearest])
        some = min(step, size - given)
        owed[choose(rng, leader, other, counts + owed, beta)] += some
        given += some


@compiled
def runs(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    bound: Floats,
    unknown: int,
    budget: int,
    settings: conditions.Settings,
    beta: float,
    answer: Integers,
    weight: Floats,
    pulls: Integers,
) -> None:
    """Rounds of leaders and challengers until the budget is spent, or the answer is sure; then the program."""
    arms, costs = means.shape[0], bound.shape[0]
    d, n = 1 + costs, arms + costs + 1
    start, estimate = sampling.origin(model, means, unknown), means.copy()
    sums, squares, owed = np.empty((unknown, d)), np.empty((unknown, d, d)), np.empty(unknown, dtype=np.int64)
    space, everything = np.empty((4, d, d)), np.arange(arms + costs)
    state, spare = conditions.new_state(unknown, arms, costs), conditions.new_state(unknown, arms, costs)
    some, counts = columns.part(state.program, 0, n - 1), state.counts
    for run in range(answer.shape[0]):
        sums[:], squares[:], counts[:] = 0.0, 0.0, 0
        simplex.forget(state.basis)
        owed[:] = allocation.first_pulls(budget, unknown, settings)
        spent = 0
        while True:
            spent += sampling.add_owed(rng, model, means, owed, sums, squares, space)
            counts += owed
            sampling.summarise(start, owed, counts, sums, squares, estimate, state.scatter)
            if settings.events:
                sampling.raise_events(counts, estimate, bound, state.scatter)
            if conditions.solve(estimate, bound, everything, state) != simplex.OPTIMAL:
                break
            conditions.pool(state)
            conditions.conditions(state)
            size = allocation.round_size(budget, unknown, spent, settings)
            if size == 0 or stopping.stops(settings, state, bound):
                break
            allocate(rng, beta, size, estimate, bound, everything, state, spare, owed)
        pulls[run] = spent
        columns.load(estimate, bound, everything, some)
        if finish(everything, some, state.scale, state.basis, answer[run], weight[run]) != simplex.OPTIMAL:
            answer[run, 0] = INFEASIBLE
