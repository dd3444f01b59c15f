"""Whole simulated runs of the other strategies; the arrays that they fill are those that ``rejects.py`` describes."""

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import allocation, columns, conditions, sampling, simplex, stopping
from bestmix.kernels.jit import compiled
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
    each arm and round. ``chance`` (runs,) receives the estimated chance that the answer is right.
    """
    arms, costs = means.shape[0], bound.shape[0]
    d, n = 1 + costs, arms + costs + 1
    start = sampling.origin(model, means, unknown)
    sums, squares = np.empty((unknown, d)), np.empty((unknown, d, d))
    owed, estimate = np.empty(unknown, dtype=np.int64), means.copy()
    space, everything = np.empty((4, d, d)), np.arange(arms + costs)
    state = conditions.new_state(unknown, arms, costs)
    some, counts = columns.part(state.program, 0, n - 1), state.counts
    chunks = allocation.decisions(unknown)
    arm, reason = np.empty(chunks, dtype=np.int64), np.empty(chunks, dtype=np.int64)
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
        columns.load(estimate, bound, everything, some)
        status = finish(everything, some, state.scale, state.basis, answer[run], weight[run])
        if status != simplex.OPTIMAL:
            answer[run, 0] = INFEASIBLE
