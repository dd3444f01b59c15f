"""Whole simulated runs of successive rejects, one after another, with the same decisions as the live search.

Each function fills, for every run, ``answer`` (runs, L + 1): the columns of the answer in ascending
order, or INFEASIBLE first; ``weight`` (runs, L + 1): their weights, those of
slacks in units of the cost's spread; and ``pulls`` (runs,). ``means`` are the true ones; those of
the first ``unknown`` arms are only ever seen through trials.
"""

from collections.abc import Callable
from typing import NamedTuple

import numba
import numpy as np
from numba.core.registry import CPUDispatcher

from bestmix.arrays import Floats, Integers
from bestmix.kernels import bases, columns, sampling, scores, simplex
from bestmix.kernels.columns import Program
from bestmix.kernels.jit import compiled, plain
from bestmix.kernels.simplex import Basis

INTERSECTION, LAGRANGIAN = 0, 1
NONE = -1  # no column to reject: no mix of those that are left is feasible
INFEASIBLE = -1  # in the first column of an answer
ROUND, LEFT, TRIED, SPENT, STATUS = 0, 1, 2, 3, 4  # entries of ``Race.at``


class Race(NamedTuple):
    """A run of successive rejects.

    Attributes
    ----------
    at
        Where it stands: ROUND, LEFT (columns), TRIED (arms still tried), SPENT (trials) and STATUS (of the simplex).
    left
        The columns that are left (K + L,), of which the first ``at[LEFT]`` count.
    rows
        Means, deviations and sums of the arms still tried, as ``sampling.add_trials`` has them (3, K0 (1 + L)).
    program, scale, basis
        Columns of the estimates, as ``simplex.py`` has them.
    normals
        A supply for the trials.
    """

    at: Integers
    left: Integers
    rows: Floats
    program: Program
    scale: Floats
    basis: Basis
    normals: Floats


@compiled
def new_race(unknown: int, arms: int, costs: int) -> Race:
    """Space for runs."""
    return Race(
        np.zeros(5, dtype=np.int64),
        np.empty(arms + costs, dtype=np.int64),
        np.empty((3, unknown * (1 + costs))),
        columns.new_program(arms + costs, costs),
        np.empty(costs + 2),
        simplex.new_basis(costs),
        sampling.supply(unknown, 1 + costs),
    )


@compiled
def begin(race: Race, model: sampling.Model, means: Floats) -> None:
    """All columns in the running."""
    total, d = race.left.shape[0], means.shape[1]
    sampling.line_up(model, means, race.rows[0], race.rows[1], race.rows[2])
    for j in range(total):
        race.left[j] = j
    race.at[ROUND], race.at[LEFT], race.at[TRIED], race.at[SPENT] = 0, total, race.rows.shape[1] // d, 0
    race.at[STATUS] = simplex.OPTIMAL
    simplex.forget(race.basis)


@compiled
def play(
    race: Race, rng: np.random.Generator, model: sampling.Model, means: Floats, bound: Floats, ends: Integers
) -> bool:
    """Make the trials of the next round and load the columns; False when there is none."""
    k, tried = race.at[ROUND], race.at[TRIED]
    if k == means.shape[0] - 1 or race.at[STATUS] != simplex.OPTIMAL:
        return False
    count = ends[k] - (ends[k - 1] if k > 0 else 0)
    if count > 0:
        center, spread, sums = race.rows[0], race.rows[1], race.rows[2]
        race.at[SPENT] += sampling.add_trials(rng, model, race.left[:tried], count, center, spread, sums, race.normals)
    load_left(race, ends[k], means, bound)
    return True


@compiled
def load_left(race: Race, count: int, means: Floats, bound: Floats) -> None:
    """Columns that are left, from ``count`` trials of each arm."""
    sums = race.rows[2, : race.at[TRIED] * means.shape[1]]
    columns.load_sums(sums, count, means, bound, race.left[: race.at[LEFT]], left_program(race))


@compiled
def left_program(race: Race) -> Program:
    """The columns that are left."""
    return columns.part(race.program, 0, race.at[LEFT])


@compiled
def reject(race: Race, loser: int) -> None:
    """Take a column out of the running and go on to the next round; NONE ends the run."""
    if loser == NONE:
        race.at[STATUS] = simplex.INFEASIBLE
        return
    race.at[TRIED] = drop(loser, race.at[LEFT], race.at[TRIED], race.left, race.rows, race.basis.column)
    race.at[LEFT] -= 1
    race.at[ROUND] += 1


@compiled
def conclude(race: Race, means: Floats, bound: Floats, ends: Integers, answer: Integers, weight: Floats) -> int:
    """Write the best mix of what is left; returns the trials that were made."""
    if race.at[STATUS] == simplex.OPTIMAL:
        load_left(race, ends[-1] if means.shape[0] > 1 else 1, means, bound)
        left = race.left[: race.at[LEFT]]
        race.at[STATUS] = finish(left, left_program(race), race.scale, race.basis, answer, weight)
    if race.at[STATUS] != simplex.OPTIMAL:
        answer[0] = INFEASIBLE
    return int(race.at[SPENT])


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
    race, total = new_race(unknown, means.shape[0], bound.shape[0]), means.shape[0] + bound.shape[0]
    tableau = bases.workspace(bound.shape[0], total)
    score, state = np.empty(total), np.empty(total, dtype=np.int64)
    for run in range(answer.shape[0]):
        begin(race, model, means)
        while play(race, rng, model, means, bound, ends):
            n = race.at[LEFT]
            reject(race, loser_by_paper(race, tableau, score[:n], state[:n], score_kind))
        pulls[run] = conclude(race, means, bound, ends, answer[run], weight[run])


@compiled
def loser_by_paper(race: Race, tableau: Floats, score: Floats, state: Integers, kind: int) -> int:
    """Position of the column with the lowest score; NONE when no mix is feasible."""
    program = left_program(race)
    columns.rescale(program, race.scale)
    if kind == INTERSECTION:
        status = scores.intersection_values(program, race.basis, tableau, plain(1), score, state)
    else:
        status = scores.lagrangian(program, race.scale, race.basis, score)
    return scores.last_lowest(score, scores.TIE) if status == simplex.OPTIMAL else NONE


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
        race = new_race(unknown, means.shape[0], bound.shape[0])
        for run in range(answer.shape[0]):
            begin(race, model, means)
            while play(race, rng, model, means, bound, ends):
                program = left_program(race)
                values = score(program.mu, program.u, program.e)
                reject(race, scores.last_lowest(values, 0.0) if values.max() > -np.inf else NONE)
            pulls[run] = conclude(race, means, bound, ends, answer[run], weight[run])

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
    program: Program,
    scale: Floats,
    basis: Basis,
    answer: Integers,
    weight: Floats,
) -> int:
    """Best mix of the columns ``left``, loaded but not scaled; a simplex status."""
    n, m = left.shape[0], basis.column.shape[0]
    column, inverse = basis.column, basis.inverse
    columns.rescale(program, scale)
    simplex.forget(basis)
    status = simplex.maximise(program, basis)
    if status == simplex.DEFICIENT and n == m:
        # The columns that are left are no basis, yet they have a feasible mix.
        for i in range(m):
            answer[i], weight[i] = left[i], 0.0
        for i in range(m):
            if column[i] >= 0:
                weight[column[i]] = inverse[i, m - 1]
        return simplex.OPTIMAL
    if status == simplex.OPTIMAL:
        for i in range(m):
            rank = 0
            for k in range(m):
                if column[k] < column[i]:
                    rank += 1
            answer[rank], weight[rank] = left[column[i]], inverse[i, m - 1]
    return status


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
