"""Whole simulated runs of Challenger, one after another, with the same decisions as the live search.

The arrays that are filled are those that ``replicate.py`` describes. A run needs the trials only through
each arm's count, mean and scatter, so that Gaussian noise costs a draw for each arm and round.
"""

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import allocation, challenge, columns, replicate, sampling, simplex, stopping
from bestmix.kernels.jit import compiled


@compiled
def challenger(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    bound: Floats,
    unknown: int,
    budget: int,
    settings: challenge.Settings,
    answer: Integers,
    weight: Floats,
    pulls: Integers,
    chance: Floats,
) -> None:
    """Spend each round's trials on the conditions that are most in doubt, then solve the program.

    ``chance`` (runs,) receives the estimated chance that the answer is right.
    """
    arms, costs = means.shape[0], bound.shape[0]
    d, n = 1 + costs, arms + costs + 1
    start = sampling.origin(model, means, unknown)
    sums, squares = np.empty((unknown, d)), np.empty((unknown, d, d))
    owed, estimate = np.empty(unknown, dtype=np.int64), means.copy()
    space, everything = np.empty((3, d, d)), np.arange(arms + costs)
    state = challenge.new_state(unknown, arms, costs)
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
            challenge.solve(estimate, bound, everything, state)
            challenge.pool(state)
            challenge.conditions(state)
            size = allocation.round_size(budget, unknown, spent, settings)
            if size == 0 or stopping.stops(settings, state):
                break
            allocation.allocate(state, size, arm, reason, owed)
        pulls[run] = spent
        chance[run] = challenge.chance(state)
        columns.load(estimate, bound, everything, mu, u, e)
        status = replicate.finish(everything, mu, u, e, state.scale, basis, state.work, answer[run], weight[run])
        if status != simplex.OPTIMAL:
            answer[run, 0] = -1


@compiled
def summarise(start: Floats, count: int, sums: Floats, squares: Floats, mean: Floats, scatter: Floats) -> None:
    """Mean and scatter of an arm's trials from their sums."""
    for i in range(sums.shape[0]):
        mean[i] = start[i] + sums[i] / count
        for k in range(i + 1):
            scatter[i, k] = squares[i, k] - sums[i] * sums[k] / count
            scatter[k, i] = scatter[i, k]
