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

from bestmix.arrays import Floats, Integers
from bestmix.kernels import bases, columns, sampling, scores, simplex
from bestmix.kernels.jit import compiled, plain

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
    rows, left = np.empty((3, unknown * (1 + costs))), np.empty(total, dtype=np.int64)
    center, spread, sums = rows[0], rows[1], rows[2]
    mu, u, e, scale = np.empty(total), np.empty((total, costs)), np.empty(total), np.empty(costs + 2)
    basis, work = np.empty(costs + 1, dtype=np.int64), simplex.workspace(costs)
    tableau = bases.workspace(costs, total)
    score, state = np.empty(total), np.empty(total, dtype=np.int64)
    one = plain(1)
    last = ends[-1] if arms > 1 else plain(1)
    for run in range(answer.shape[0]):
        sampling.line_up(model, means, center, spread, sums)
        for j in range(total):
            left[j] = j
        n, tried, spent, status = total, unknown, 0, simplex.OPTIMAL
        basis[0] = -1
        for k in range(arms - 1):
            count = ends[k] - (ends[k - 1] if k > 0 else 0)
            if count > 0:
                spent += sampling.add_trials(rng, model, left[:tried], count, center, spread, sums, normals)
            columns.load_sums(sums[: tried * (1 + costs)], ends[k], means, bound, left[:n], mu[:n], u[:n], e[:n])
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
            tried = drop(loser, n, tried, left, rows, basis)
            n -= 1
        pulls[run] = spent
        if status == simplex.OPTIMAL:
            columns.load_sums(sums[: tried * (1 + costs)], last, means, bound, left[:n], mu[:n], u[:n], e[:n])
            status = finish(left[:n], mu[:n], u[:n], e[:n], scale, basis, work, answer[run], weight[run])
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
        rows, left = np.empty((3, unknown * (1 + costs))), np.empty(total, dtype=np.int64)
        center, spread, sums = rows[0], rows[1], rows[2]
        mu, u, e, scale = np.empty(total), np.empty((total, costs)), np.empty(total), np.empty(costs + 2)
        basis, work = np.full(costs + 1, -1), simplex.workspace(costs)
        last = ends[-1] if arms > 1 else plain(1)
        for run in range(answer.shape[0]):
            sampling.line_up(model, means, center, spread, sums)
            left[:] = np.arange(total)
            n, tried, spent, status = total, unknown, 0, simplex.OPTIMAL
            for k in range(arms - 1):
                count = ends[k] - (ends[k - 1] if k > 0 else 0)
                if count > 0:
                    spent += sampling.add_trials(rng, model, left[:tried], count, center, spread, sums, normals)
                columns.load_sums(sums[: tried * (1 + costs)], ends[k], means, bound, left[:n], mu[:n], u[:n], e[:n])
                values = score(mu[:n], u[:n], e[:n])
                if not values.max() > -np.inf:
                    status = simplex.INFEASIBLE
                    break
                tried = drop(scores.last_lowest(values, 0.0), n, tried, left, rows, basis)
                n -= 1
            pulls[run] = spent
            if status == simplex.OPTIMAL:
                columns.load_sums(sums[: tried * (1 + costs)], last, means, bound, left[:n], mu[:n], u[:n], e[:n])
                status = finish(left[:n], mu[:n], u[:n], e[:n], scale, basis, work, answer[run], weight[run])
            if status != simplex.OPTIMAL:
                answer[run, 0] = -1

    if not isinstance(score, CPUDispatcher):
        return run_all
    made: Callable[..., None] = numba.njit(nogil=True, error_model="numpy")(run_all)
    return made


@compiled
def drop(loser: int, size: int, tried: int, left: Integers, rows: Floats, basis: Integers) -> int:
    """Take a column out of ``left``, and its rows if it is one of the ``tried`` arms; returns how many of them remain.

    The basis keeps the other columns to start from, or asks for a cold start.
    """
    for j in range(loser, size - 1):
        left[j] = left[j + 1]
    for i in range(basis.shape[0]):
        if basis[i] == loser:
            basis[i] = -1
        elif basis[i] > loser:
            basis[i] -= 1
    if loser >= tried:
        return tried
    d = basis.shape[0]
    for part in range(rows.shape[0]):
        row = rows[part]
        for i in range(loser * d, (tried - 1) * d):
            row[i] = row[i + d]
    return tried - 1


@compiled
def finish(
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
    """Best mix of the columns ``left``, loaded but not scaled; a simplex status."""
    n, m = left.shape[0], basis.shape[0]
    columns.rescale(mu, u, e, scale)
    basis[0] = -1
    status = simplex.maximise(mu, u, e, basis, work)
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
    total, d = arms + costs, 1 + costs
    normals = sampling.supply(unknown, 1 + costs)
    center, spread, sums = np.empty(unknown * d), np.empty(unknown * d), np.empty(unknown * d)
    mu, u, e, scale = np.empty(total), np.empty((total, costs)), np.empty(total), np.empty(costs + 2)
    basis, work, left = np.empty(costs + 1, dtype=np.int64), simplex.workspace(costs), np.arange(total)
    for run in range(answer.shape[0]):
        sampling.line_up(model, means, center, spread, sums)
        pulls[run] = sampling.add_trials(rng, model, left[:unknown], count, center, spread, sums, normals)
        columns.load_sums(sums, count, means, bound, left, mu, u, e)
        if finish(left, mu, u, e, scale, basis, work, answer[run], weight[run]) != simplex.OPTIMAL:
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
    rows, left = np.empty((3, unknown * (1 + costs))), np.empty(arms, dtype=np.int64)
    center, spread, sums = rows[0], rows[1], rows[2]
    estimate, score = means.copy(), np.empty(arms)
    nothing = np.full(1 + costs, -1)
    for run in range(answer.shape[0]):
        sampling.line_up(model, means, center, spread, sums)
        for a in range(arms):
            left[a] = a
        tried, spent = unknown, 0
        for k in range(arms - 1):
            count = ends[k] - (ends[k - 1] if k > 0 else 0)
            n = arms - k
            if count > 0:
                spent += sampling.add_trials(rng, model, left[:tried], count, center, spread, sums, normals)
                for j in range(tried):
                    for i in range(1 + costs):
                        estimate[left[j], i] = sums[j * (1 + costs) + i] / ends[k]
            worst = scores.worst_alone(estimate, bound, left[:n], score[:n])
            tried = drop(worst, n, tried, left, rows, nothing)
        pulls[run] = spent
        scores.worst_alone(estimate, bound, left[:1], score[:1])
        answer[run, 0], weight[run, 0] = left[0] if score[0] > -np.inf else -1, 1.0
        for l in range(costs):
            answer[run, 1 + l], weight[run, 1 + l] = arms + l, 0.0
