"""Whole simulated runs, one after another, with the same decisions as the live search.

Each function fills, for every run, ``answer`` (runs, L + 1): the columns of the answer in ascending
order, or INFEASIBLE first; ``weight`` (runs, L + 1): their weights, those of
slacks in units of the cost's spread; and ``pulls`` (runs,). ``means`` are the true ones; those of
the first ``unknown`` arms are only ever seen through trials.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core.registry import CPUDispatcher

from bestmix.arrays import Floats, Integers
from bestmix.kernels import allocation, bases, columns, conditions, sampling, scores, simplex, stopping
from bestmix.kernels.jit import compiled, plain

INTERSECTION, LAGRANGIAN = 0, 1
NONE = -1  # no column to reject: no mix of those that are left is feasible
INFEASIBLE = -1  # in the first column of an answer

Score = Callable[[Floats, Floats, Floats], Floats]


# Loaded columns, the basis to start from, what a score needs, and how to score: the position to reject, or NONE.
Judge = Callable[..., int]


def rejects(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    bound: Floats,
    unknown: int,
    ends: Integers,
    judge: Judge,
    how: Any,
    answer: Integers,
    weight: Floats,
    pulls: Integers,
) -> None:
    """Successive rejects (Algorithm 1): ``judge`` says, by the score that ``how`` names, which column goes.

    ``ends`` are the trials of each arm at the end of each round. Compiled wherever the judge is.
    """
    arms, costs = means.shape[0], bound.shape[0]
    total = arms + costs
    normals = sampling.supply(unknown, 1 + costs)
    rows, left = np.empty((3, unknown * (1 + costs))), np.empty(total, dtype=np.int64)
    center, spread, sums = rows[0], rows[1], rows[2]
    mu, u, e, scale = np.empty(total), np.empty((total, costs)), np.empty(total), np.empty(costs + 2)
    basis, work = np.empty(costs + 1, dtype=np.int64), simplex.workspace(costs)
    tableau = bases.workspace(costs, total)
    score, state = np.empty(total), np.empty(total, dtype=np.int64)
    last = ends[-1] if arms > 1 else plain(1)
    for run in range(answer.shape[0]):
        sampling.line_up(model, means, center, spread, sums)
        left[:] = np.arange(total)
        n, tried, spent, status = total, unknown, 0, simplex.OPTIMAL
        basis[0] = -1
        for k in range(arms - 1):
            count = ends[k] - (ends[k - 1] if k > 0 else 0)
            if count > 0:
                spent += sampling.add_trials(rng, model, left[:tried], count, center, spread, sums, normals)
            columns.load_sums(sums[: tried * (1 + costs)], ends[k], means, bound, left[:n], mu[:n], u[:n], e[:n])
            loser = judge(mu[:n], u[:n], e[:n], scale, basis, work, tableau, score[:n], state[:n], how)
            if loser == NONE:
                status = simplex.INFEASIBLE
                break
            tried = drop(loser, n, tried, left, rows, basis)
            n -= 1
        pulls[run] = spent
        if status == simplex.OPTIMAL:
            columns.load_sums(sums[: tried * (1 + costs)], last, means, bound, left[:n], mu[:n], u[:n], e[:n])
            status = finish(left[:n], mu[:n], u[:n], e[:n], scale, basis, work, answer[run], weight[run])
        if status != simplex.OPTIMAL:
            answer[run, 0] = INFEASIBLE


compiled_rejects = numba.njit(nogil=True, error_model="numpy")(rejects)


@compiled
def judge_by_paper(
    mu: Floats,
    u: Floats,
    e: Floats,
    scale: Floats,
    basis: Integers,
    work: Floats,
    tableau: Floats,
    score: Floats,
    state: Integers,
    kind: int,
) -> int:
    """One of the paper's scores, on scaled columns."""
    columns.rescale(mu, u, e, scale)
    if kind == INTERSECTION:
        status = scores.intersection_values(mu, u, e, basis, work, tableau, plain(1), score, state)
    else:
        status = scores.lagrangian(mu, u, e, scale, basis, work, score)
    return scores.last_lowest(score, scores.TIE) if status == simplex.OPTIMAL else NONE


def judge_by_function(
    mu: Floats,
    u: Floats,
    e: Floats,
    scale: Floats,
    basis: Integers,
    work: Floats,
    tableau: Floats,
    score: Floats,
    state: Integers,
    function: Score,
) -> int:
    """A score of the user's own, on columns as they are."""
    values = function(mu, u, e)
    return scores.last_lowest(values, 0.0) if values.max() > -np.inf else NONE


compiled_judge_by_function = numba.njit(nogil=True, error_model="numpy")(judge_by_function)


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
    """Successive rejects with one of the paper's scores."""
    compiled_rejects(rng, model, means, bound, unknown, ends, judge_by_paper, score_kind, answer, weight, pulls)


def successive_by(score: Score) -> Callable[..., None]:
    """Successive rejects with a score function of (mu, u, e), unscaled, for each column.

    Compiled when the function is; otherwise Python calls it between the compiled steps.
    """
    is_compiled = isinstance(score, CPUDispatcher)
    run, judge = (compiled_rejects, compiled_judge_by_function) if is_compiled else (rejects, judge_by_function)

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
        run(rng, model, means, bound, unknown, ends, judge, score, answer, weight, pulls)

    if not is_compiled:
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
            answer[run, 0] = INFEASIBLE


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
        answer[run, 0], weight[run, 0] = left[0] if score[0] > -np.inf else INFEASIBLE, 1.0
        for l in range(costs):
            answer[run, 1 + l], weight[run, 1 + l] = arms + l, 0.0


@compiled
def challenger(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    bound: Floats,
    unknown: int,
    budget: int,
    settings: conditions.Settings,
    answer: Integers,
    weight: Floats,
    pulls: Integers,
    chance: Floats,
) -> None:
    """Spend each round's trials on the conditions that are most in doubt, then solve the program.

    A run needs the trials only through each arm's count, mean and scatter, so that Gaussian noise costs a draw for
    each arm and round.
    ``chance`` (runs,) receives the estimated chance that the answer is right.
    """
    arms, costs = means.shape[0], bound.shape[0]
    d, n = 1 + costs, arms + costs + 1
    start = sampling.origin(model, means, unknown)
    sums, squares = np.empty((unknown, d)), np.empty((unknown, d, d))
    owed, estimate = np.empty(unknown, dtype=np.int64), means.copy()
    space, everything = np.empty((3, d, d)), np.arange(arms + costs)
    state = conditions.new_state(unknown, arms, costs)
    mu, u, e, basis, counts = state.mu[: n - 1], state.u[: n - 1], state.e[: n - 1], state.basis, state.counts
    chunks = allocation.decisions(unknown)
    arm, reason = np.empty(chunks, dtype=np.int64), np.empty(chunks, dtype=np.int64)
    for run in range(answer.shape[0]):
        sums[:], squares[:], counts[:] = 0.0, 0.0, 0
        basis[0] = -1
        owed[:] = allocation.first_pulls(budget, unknown, settings)
        spent = 0
        while True:
            for a in range(unknown):
                if owed[a] > 0:
                    sampling.add_moments(rng, model, means[a], a, owed[a], sums[a], squares[a], space)
                    counts[a] += owed[a]
                    spent += owed[a]
                    summarise(start[a], counts[a], sums[a], squares[a], estimate[a], state.scatter[a])
            status = conditions.solve(estimate, bound, everything, state)
            if status != simplex.OPTIMAL:
                break
            conditions.pool(state)
            conditions.conditions(state)
            size = allocation.round_size(budget, unknown, spent, settings)
            if size == 0 or stopping.stops(settings, state):
                break
            allocation.allocate(state, size, arm, reason, owed)
        pulls[run] = spent
        if status != simplex.OPTIMAL:
            answer[run, 0], chance[run] = INFEASIBLE, 0.0
            continue
        chance[run] = conditions.chance(state)
        columns.load(estimate, bound, everything, mu, u, e)
        status = finish(everything, mu, u, e, state.scale, basis, state.work, answer[run], weight[run])
        if status != simplex.OPTIMAL:
            answer[run, 0] = INFEASIBLE


@compiled
def summarise(start: Floats, count: int, sums: Floats, squares: Floats, mean: Floats, scatter: Floats) -> None:
    """Mean and scatter of an arm's trials from their sums."""
    for i in range(sums.shape[0]):
        mean[i] = start[i] + sums[i] / count
        for k in range(i + 1):
            scatter[i, k] = squares[i, k] - sums[i] * sums[k] / count
            scatter[k, i] = scatter[i, k]
