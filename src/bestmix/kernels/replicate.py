"""Whole simulated runs, one after another, with the same decisions as the live search.

Each function fills, for every run, ``answer`` (runs, L + 1): the columns of the answer in ascending
order, or -1 first for the verdict infeasible; ``weight`` (runs, L + 1): their weights, those of
slacks in units of the cost's spread; and ``pulls`` (runs,). ``means`` are the true ones; those of
the first ``unknown`` arms are only ever seen through trials.
"""

from collections.abc import Callable

import numba
import numpy as np
from numba.core.registry import CPUDispatcher

from bestmix.kernels import bases, columns, sampling, scores, simplex
from bestmix.kernels.jit import Floats, Integers, compiled, plain

INTERSECTION, LAGRANGIAN = 0, 1


@compiled
def successive(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    bound: Floats,
    unknown: int,
    ends: Integers,
    score_kind: int,
    answer: Integers,
    weight: Floats,
    pulls: Integers,
) -> None:
    """Successive rejects with one of the paper's scores (Algorithm 1)."""
    arms, costs = means.shape[0], bound.shape[0]
    total = arms + costs
    normals = sampling.supply(unknown, 1 + costs)
    estimate, sums, left = means.copy(), np.empty((unknown, 1 + costs)), np.empty(total, dtype=np.int64)
    mu, u, e, scale = np.empty(total), np.empty((total, costs)), np.empty(total), np.empty(costs + 2)
    basis, work = np.empty(costs + 1, dtype=np.int64), simplex.workspace(costs)
    tableau = bases.workspace(costs, total)
    score, state = np.empty(total), np.empty(total, dtype=np.int64)
    one = plain(1)
    for run in range(answer.shape[0]):
        sums[:] = 0.0
        for j in range(total):
            left[j] = j
        size, spent, status = total, 0, simplex.OPTIMAL
        basis[0] = -1
        for k in range(arms - 1):
            count = ends[k] - (ends[k - 1] if k > 0 else 0)
            if count > 0:
                some = left[:size]
                spent += sampling.add_trials(rng, model, means, some, unknown, count, sums, normals)
                average(some, unknown, ends[k], sums, estimate)
            n = size
            columns.load(estimate, bound, left[:n], mu[:n], u[:n], e[:n])
            columns.rescale(mu[:n], u[:n], e[:n], scale)
            if score_kind == INTERSECTION:
                status = scores.intersection_values(
                    mu[:n], u[:n], e[:n], basis, work, tableau, one, score[:n], state[:n]
                )
            else:
                status = scores.lagrangian(mu[:n], u[:n], e[:n], scale, basis, work, score[:n])
            if status != simplex.OPTIMAL:
                break
            loser = scores.last_lowest(score[:n], scores.TIE)
            drop(loser, size, left, basis)
            size -= 1
        pulls[run] = spent
        if status == simplex.OPTIMAL:
            status = finish(estimate, bound, left[:size], mu, u, e, scale, basis, work, answer[run], weight[run])
        if status != simplex.OPTIMAL:
            answer[run, 0] = -1


def successive_by(score: Callable[[Floats, Floats, Floats], Floats]) -> Callable[..., None]:
    """Successive rejects with a score function of (mu, u, e), unscaled, for each column.

    Compiled when the function is; otherwise Python calls it between the compiled steps.
    """

    def run_all(
        rng: np.random.Generator,
        model: sampling.Model,
        means: Floats,
        bound: Floats,
        unknown: int,
        ends: Integers,
        answer: Integers,
        weight: Floats,
        pulls: Integers,
    ) -> None:
        arms, costs = means.shape[0], bound.shape[0]
        total = arms + costs
        normals = sampling.supply(unknown, 1 + costs)
        estimate, sums, left = means.copy(), np.empty((unknown, 1 + costs)), np.empty(total, dtype=np.int64)
        mu, u, e, scale = np.empty(total), np.empty((total, costs)), np.empty(total), np.empty(costs + 2)
        basis, work = np.empty(costs + 1, dtype=np.int64), simplex.workspace(costs)
        for run in range(answer.shape[0]):
            sums[:] = 0.0
            left[:] = np.arange(total)
            size, spent, feasible = total, 0, True
            for k in range(arms - 1):
                some, count = left[:size], ends[k] - (ends[k - 1] if k > 0 else 0)
                if count > 0:
                    spent += sampling.add_trials(rng, model, means, some, unknown, count, sums, normals)
                    average(some, unknown, ends[k], sums, estimate)
                columns.load(estimate, bound, some, mu[:size], u[:size], e[:size])
                values = score(mu[:size], u[:size], e[:size])
                feasible = values.max() > -np.inf
                if not feasible:
                    break
                drop(scores.last_lowest(values, 0.0), size, left, basis)
                size -= 1
            pulls[run] = spent
            status = simplex.INFEASIBLE
            if feasible:
                status = finish(estimate, bound, left[:size], mu, u, e, scale, basis, work, answer[run], weight[run])
            if status != simplex.OPTIMAL:
                answer[run, 0] = -1

    if not isinstance(score, CPUDispatcher):
        return run_all
    made: Callable[..., None] = numba.njit(nogil=True, error_model="numpy")(run_all)
    return made


@compiled
def average(columns: Integers, unknown: int, count: int, sums: Floats, estimate: Floats) -> None:
    """Means of the unknown arms among ``columns`` after ``count`` trials of each."""
    for j in range(columns.shape[0]):
        a = columns[j]
        if a < unknown:
            for i in range(sums.shape[1]):
                estimate[a, i] = sums[a, i] / count


@compiled
def drop(loser: int, size: int, left: Integers, basis: Integers) -> None:
    """Take a column out of ``left``; the basis keeps the other columns to start from, or asks for a cold start."""
    for j in range(loser, size - 1):
        left[j] = left[j + 1]
    for i in range(basis.shape[0]):
        if basis[i] == loser:
            basis[i] = -1
        elif basis[i] > loser:
            basis[i] -= 1


@compiled
def finish(
    estimate: Floats,
    bound: Floats,
    left: Integers,
    mu: Floats,
    u: Floats,
    e: Floats,
    scale: Floats,
    basis: Integers,
    work: Floats,
    answer: Integers,
    weight: Floats,
) -> int:
    """Best mix of the columns that are left, from the estimates; a simplex status."""
    n, m = left.shape[0], basis.shape[0]
    columns.load(estimate, bound, left, mu[:n], u[:n], e[:n])
    columns.rescale(mu[:n], u[:n], e[:n], scale)
    basis[0] = -1
    status = simplex.maximise(mu[:n], u[:n], e[:n], basis, work)
    if status == simplex.DEFICIENT and n == m:
        # The columns that are left are no basis, yet they have a feasible mix.
        for i in range(m):
            answer[i], weight[i] = left[i], 0.0
        for i in range(m):
            if basis[i] >= 0:
                weight[basis[i]] = work[i, m - 1]
        return simplex.OPTIMAL
    if status == simplex.OPTIMAL:
        for i in range(m):
            rank = 0
            for k in range(m):
                if basis[k] < basis[i]:
                    rank += 1
            answer[rank], weight[rank] = left[basis[i]], work[i, m - 1]
    return status


@compiled
def uniform(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    bound: Floats,
    unknown: int,
    count: int,
    answer: Integers,
    weight: Floats,
    pulls: Integers,
) -> None:
    """The same number of trials of every unknown arm, then the linear program (USLP)."""
    arms, costs = means.shape[0], bound.shape[0]
    total = arms + costs
    normals = sampling.supply(unknown, 1 + costs)
    estimate, sums, left = means.copy(), np.empty((unknown, 1 + costs)), np.arange(total)
    mu, u, e, scale = np.empty(total), np.empty((total, costs)), np.empty(total), np.empty(costs + 2)
    basis, work = np.empty(costs + 1, dtype=np.int64), simplex.workspace(costs)
    for run in range(answer.shape[0]):
        sums[:] = 0.0
        pulls[run] = sampling.add_trials(rng, model, means, left, unknown, count, sums, normals)
        average(left, unknown, count, sums, estimate)
        if finish(estimate, bound, left, mu, u, e, scale, basis, work, answer[run], weight[run]) != simplex.OPTIMAL:
            answer[run, 0] = -1


@compiled
def single(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    bound: Floats,
    unknown: int,
    ends: Integers,
    answer: Integers,
    weight: Floats,
    pulls: Integers,
) -> None:
    """Successive rejects for the best arm that is feasible on its own."""
    arms, costs = means.shape[0], bound.shape[0]
    normals = sampling.supply(unknown, 1 + costs)
    estimate, sums, left = means.copy(), np.empty((unknown, 1 + costs)), np.empty(arms, dtype=np.int64)
    score = np.empty(arms)
    nothing = np.empty(0, dtype=np.int64)
    for run in range(answer.shape[0]):
        sums[:] = 0.0
        for a in range(arms):
            left[a] = a
        spent = 0
        for k in range(arms - 1):
            count = ends[k] - (ends[k - 1] if k > 0 else 0)
            size = arms - k
            if count > 0:
                some = left[:size]
                spent += sampling.add_trials(rng, model, means, some, unknown, count, sums, normals)
                average(some, unknown, ends[k], sums, estimate)
            drop(scores.worst_alone(estimate, bound, left[:size], score[:size]), size, left, nothing)
        pulls[run] = spent
        scores.worst_alone(estimate, bound, left[:1], score[:1])
        answer[run, 0], weight[run, 0] = left[0] if score[0] > -np.inf else -1, 1.0
        for l in range(costs):
            answer[run, 1 + l], weight[run, 1 + l] = arms + l, 0.0
