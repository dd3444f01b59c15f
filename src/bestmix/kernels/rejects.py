"""Whole simulated runs of successive rejects, one after another, with the same decisions as the live search.

Each function fills, for every run, ``answer`` (runs, L + 1): the columns of the answer in ascending
order, or INFEASIBLE first; ``weight`` (runs, L + 1): their weights, those of
slacks in units of the cost's spread; and ``pulls`` (runs,). ``means`` are the true ones; those of
the first ``unknown`` arms are only ever seen through trials.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import alone, bases, columns, incumbents, sampling, scores, simplex
from bestmix.kernels.columns import OVER_16, TWO_COSTS, Program
from bestmix.kernels.incumbents import Incumbents
from bestmix.kernels.jit import borrowing, compiled, compiled_here, inlined, is_machine, plain
from bestmix.kernels.simplex import Basis

INTERSECTION, LAGRANGIAN, OWN = 0, 1, 2  # scores
NONE = -1  # no column to reject: no mix of those that are left is feasible
INFEASIBLE = -1  # in the first column of an answer


def judge(
    program: Program,
    scale: Floats,
    basis: Basis,
    trial: Basis,
    tableau: Floats,
    score: Floats,
    state: Integers,
    known: Incumbents,
    kind: int,
) -> int:
    """Position of the column to reject of those loaded, or NONE; ``with_judge`` puts a real one in its place."""
    raise NotImplementedError


def rejects(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    bound: Floats,
    unknown: int,
    ends: Integers,
    kind: int,
    space: "Space",
    answer: Integers,
    weight: Floats,
    pulls: Integers,
) -> None:
    """Successive rejects (Algorithm 1); ``ends`` are the trials of each arm at the end of each round.

    An unknown arm alone has one round, in which nothing is rejected.
    """
    run_all(rng, model, means, bound, unknown, ends, kind, space, answer, weight, pulls)


class Space(NamedTuple):
    """What runs of successive rejects work on.

    Attributes
    ----------
    left
        The columns that are left, in ascending order (K + L,).
    rows
        Of the arms among them that are tried, side by side: means, deviations and sums (3, arms times 1 + L).
    normals
        A supply of them.
    program, scale, basis, trial
        The linear program as ``simplex.py`` has it, and one more basis.
    tableau, score, state
        Space of the scores, and what they are.
    known
        What the round before has found, with two costs.
    """

    left: Integers
    rows: Floats
    normals: Floats
    program: Program
    scale: Floats
    basis: Basis
    trial: Basis
    tableau: Floats
    score: Floats
    state: Integers
    known: Incumbents


def new_space(arms: int, costs: int, unknown: int) -> Space:
    """Space for so many arms and costs; some of the arms are not known. Python makes it: that compiles sooner."""
    total = arms + costs
    return Space(
        np.empty(total, dtype=np.int64),
        np.empty((3, unknown * (1 + costs))),
        sampling.supply(unknown, 1 + costs),
        columns.new_program(total, costs),
        np.empty(costs + 2),
        simplex.new_basis(costs),
        simplex.new_basis(costs),
        bases.workspace(costs, total),
        np.empty(total),
        np.empty(total, dtype=np.int64),
        incumbents.new_incumbents(),
    )


def run_all(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    bound: Floats,
    unknown: int,
    ends: Integers,
    kind: int,
    space: Space,
    answer: Integers,
    weight: Floats,
    pulls: Integers,
) -> None:
    """``rejects`` without a count of references to arrays."""
    left, rows, normals, program, scale, basis, trial, tableau, score, state, known = space
    center, spread, sums = rows[0], rows[1], rows[2]
    arms, costs = means.shape[0], bound.shape[0]
    total = arms + costs
    last = ends[-1] if ends.shape[0] > 0 else plain(1)
    for run in range(answer.shape[0]):
        sampling.line_up(model, means, center, spread, sums)
        for j in range(total):
            left[j] = j
        n, tried, spent = total, unknown, 0
        status = simplex.OPTIMAL
        simplex.forget(basis)
        incumbents.forget(known)
        for k in range(arms - 1):
            count = ends[k] - (ends[k - 1] if k > 0 else 0)
            if count > 0:
                spent += sampling.add_trials(rng, model, left[:tried], count, center, spread, sums, normals)
            some = columns.part(program, 0, n)
            columns.load_sums(sums[: tried * (1 + costs)], ends[k], means, bound, left[:n], some)
            loser = judge(some, scale, basis, trial, tableau, score[:n], state[:n], known, kind)
            if loser == NONE:
                status = simplex.INFEASIBLE
                break
            tried = drop(loser, n, tried, left, rows, basis.column)
            if TWO_COSTS and OVER_16:
                incumbents.drop(loser, n, known)
            n -= 1
        if arms == 1 and tried > 0:
            spent += sampling.add_trials(rng, model, left[:tried], last, center, spread, sums, normals)
        pulls[run] = spent
        if status == simplex.OPTIMAL:
            some = columns.part(program, 0, n)
            columns.load_sums(sums[: tried * (1 + costs)], last, means, bound, left[:n], some)
            status = finish(left[:n], some, scale, basis, answer[run], weight[run])
        if status != simplex.OPTIMAL:
            answer[run, 0] = INFEASIBLE


def with_judge(decide: Callable[..., int], declare: Callable[[Any], Any]) -> Callable[..., None]:
    """``rejects`` with its ``judge``: Numba keeps machine code that calls a global, and none that is passed one."""
    runs = FunctionType(run_all.__code__, globals() | {"judge": decide}, run_all.__name__)
    runs.__annotations__ = run_all.__annotations__
    runs.__qualname__ = f"{run_all.__qualname__}.{decide.__qualname__}"  # machine code is known by its name
    result = FunctionType(rejects.__code__, globals() | {"run_all": declare(runs)}, rejects.__name__)
    result.__qualname__ = f"{rejects.__qualname__}.{decide.__qualname__}"
    return result


@inlined
def judge_by_paper(
    program: Program,
    scale: Floats,
    basis: Basis,
    trial: Basis,
    tableau: Floats,
    score: Floats,
    state: Integers,
    known: Incumbents,
    kind: int,
) -> int:
    """The lowest of one of the paper's scores."""
    columns.rescale(program, scale)
    if kind == LAGRANGIAN:
        status = scores.lagrangian(program, scale, basis, score)
    elif TWO_COSTS and OVER_16 and incumbents.worthwhile(program, known):
        return incumbents.loser(program, basis, trial, score, known)
    else:
        status = scores.intersection_values_with(trial, program, basis, tableau, plain(1), score, state)
    return scores.loser_with(trial, program, score) if status == simplex.OPTIMAL else NONE


def successive_by(score: Callable[[Floats, Floats, Floats], Floats]) -> Callable[..., None]:
    """Successive rejects with a score function of (mu, u, e), unscaled, for each column.

    A kernel when the function is compiled; otherwise Python, which calls it between the steps.
    """

    def judge_by_function(
        program: Program,
        scale: Floats,
        basis: Basis,
        trial: Basis,
        tableau: Floats,
        space: Floats,
        state: Integers,
        known: Incumbents,
        kind: int,
    ) -> int:
        values = score(program.mu, program.u, program.e)
        return scores.last_lowest(values, 0.0) if values.max() > -np.inf else NONE

    if not is_machine(score):
        return with_judge(judge_by_function, lambda function: function)
    return compiled_here(with_judge(compiled_here(judge_by_function), compiled_here))


@borrowing
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


@borrowing
def finish(
    left: Integers,
    program: Program,
    scale: Floats,
    basis: Basis,
    answer: Integers,
    weight: Floats,
) -> int:
    """Best mix of the columns ``left``, loaded but not scaled; a simplex status."""
    n, m = left.shape[0], basis.column.shape[0]
    column, x = basis.column, simplex.weights(basis)
    columns.rescale(program, scale)
    simplex.forget(basis)
    status = simplex.maximise(program, basis)
    if status == simplex.DEFICIENT and n == m:
        # The columns that are left are no basis, yet they have a feasible mix.
        for i in range(m):
            answer[i], weight[i] = left[i], 0.0
        for i in range(m):
            if column[i] >= 0:
                weight[column[i]] = x[i]
        return simplex.OPTIMAL
    if status == simplex.OPTIMAL:
        for i in range(m):
            rank = 0
            for k in range(m):
                if column[k] < column[i]:
                    rank += 1
            answer[rank], weight[rank] = left[column[i]], x[i]
    return status


@compiled
def single(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    bound: Floats,
    unknown: int,
    ends: Integers,
    kind: int,
    sigma: Floats,
    answer: Integers,
    weight: Floats,
    pulls: Integers,
) -> None:
    """Successive rejects for the best arm that is feasible on its own, by one of the rules of ``alone.py``."""
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
            worst = alone.reject(kind, estimate, bound, sigma, left[:n], score[:n])
            tried = drop(worst, n, tried, left, rows, nothing)
        if arms == 1 and tried > 0:
            spent += sampling.add_trials(rng, model, left[:tried], ends[0], center, spread, sums, normals)
            for i in range(1 + costs):
                estimate[0, i] = sums[i] / ends[0]
        pulls[run] = spent
        scores.worst_alone(estimate, bound, left[:1], score[:1])
        answer[run, 0], weight[run, 0] = left[0] if score[0] > -np.inf else INFEASIBLE, 1.0
        for l in range(costs):
            answer[run, 1 + l], weight[run, 1 + l] = arms + l, 0.0


successive = compiled(with_judge(judge_by_paper, borrowing))  # with one of the paper's scores
