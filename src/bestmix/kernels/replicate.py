"""Whole simulated runs of the other strategies; the arrays that they fill are those that ``rejects.py`` describes."""

from typing import NamedTuple

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import allocation, columns, conditions, sampling, simplex, stopping
from bestmix.kernels.jit import borrowing, compiled
from bestmix.kernels.rejects import INFEASIBLE, finish


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
    program, scale, basis = columns.new_program(total, costs), np.empty(costs + 2), simplex.new_basis(costs)
    left = np.arange(total)
    for run in range(answer.shape[0]):
        sampling.line_up(model, means, center, spread, sums)
        pulls[run] = sampling.add_trials(rng, model, left[:unknown], count, center, spread, sums, normals)
        columns.load_sums(sums, count, means, bound, left, program)
        if finish(left, program, scale, basis, answer[run], weight[run]) != simplex.OPTIMAL:
            answer[run, 0] = INFEASIBLE


@compiled
def challenger(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    bound: Floats,
    budget: int,
    settings: conditions.Settings,
    least: Floats | None,
    tally: "Tally",
    state: conditions.State,
    answer: Integers,
    weight: Floats,
    pulls: Integers,
    chance: Floats | None,
) -> None:
    """Runs of Challenger that may end before the budget is spent, as ``lane_runs.py`` has those that may not."""
    run_all(rng, model, means, bound, budget, settings, least, tally, state, answer, weight, pulls, chance)


class Tally(NamedTuple):
    """What is known of the trials of a run, and what the next are.

    Attributes
    ----------
    start, sums, squares
        Where the sums of each unknown arm's trials count from (unknown, 1 + L), and the sums.
    estimate
        Means of all arms (K, 1 + L).
    owed, arm
        Trials of each arm in the next round, and the arms of its chunks.
    everything
        The numbers of all columns (K + L,).
    space
        Of the noise (4, 1 + L, 1 + L).
    """

    start: Floats
    sums: Floats
    squares: Floats
    estimate: Floats
    owed: Integers
    arm: Integers
    everything: Integers
    space: Floats


def challenger_space(
    model: sampling.Model, means: Floats, bound: Floats, unknown: int, most: int
) -> tuple[Tally, conditions.State]:
    """What runs of ``challenger`` work on. Python makes it: that compiles sooner."""
    start = sampling.origin(model, means, unknown)
    return new_tally(start, means.copy(), most), conditions.new_state(unknown, means.shape[0], bound.shape[0])


def new_tally(start: Floats, estimate: Floats, most: int) -> Tally:
    """Nothing is known yet; ``estimate`` has the means of the known arms."""
    unknown, d = start.shape
    return Tally(
        start,
        np.empty((unknown, d)),
        np.empty((unknown, d, d)),
        estimate,
        np.empty(unknown, dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.arange(estimate.shape[0] + d - 1),
        np.empty((4, d, d)),
    )


@borrowing
def run_all(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    bound: Floats,
    budget: int,
    settings: conditions.Settings,
    least: Floats | None,
    tally: Tally,
    state: conditions.State,
    answer: Integers,
    weight: Floats,
    pulls: Integers,
    chance: Floats | None,
) -> None:
    """``challenger`` without a count of references to arrays."""
    start, sums, squares, estimate, owed, arm, everything, space = tally
    unknown, counts, status = owed.shape[0], state.counts, simplex.OPTIMAL
    some = columns.part(state.program, 0, everything.shape[0])
    for run in range(answer.shape[0]):
        sums[:], squares[:], counts[:] = 0.0, 0.0, 0
        simplex.forget(state.basis)
        owed[:] = allocation.first_pulls(budget, unknown, settings)
        spent = 0
        while True:
            spent += sampling.add_owed(rng, model, means, owed, sums, squares, space)
            for a in range(unknown):
                counts[a] += owed[a]
            sampling.summarise(start, owed, counts, sums, squares, estimate, state.scatter)
            sampling.raise_scatter(least, state.scatter)
            if settings.events:
                sampling.raise_events(counts, estimate, bound, state.scatter)
            status = conditions.solve(estimate, bound, everything, state)
            if status != simplex.OPTIMAL:
                break
            conditions.pool(state)
            conditions.conditions(state)
            size = allocation.round_size(budget, unknown, spent, settings)
            if size == 0 or stopping.stops(settings, state, bound):
                break
            allocation.allocate(state, size, settings.reserve, arm, None, owed)
        pulls[run] = spent
        if status != simplex.OPTIMAL:
            answer[run, 0] = INFEASIBLE
        if chance is not None:
            chance[run] = conditions.chance(state) if status == simplex.OPTIMAL else 0.0
        if status != simplex.OPTIMAL:
            continue
        columns.load(estimate, bound, everything, some)
        status = finish(everything, some, state.scale, state.basis, answer[run], weight[run])
        if status != simplex.OPTIMAL:
            answer[run, 0] = INFEASIBLE
