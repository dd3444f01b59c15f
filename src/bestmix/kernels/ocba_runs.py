"""Decisions and whole simulated runs of OCBA with stochastic constraints, for the best arm that is feasible alone.

The arrays that runs fill are those that ``rejects.py`` describes.
"""

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import allocation, alone, conditions, sampling
from bestmix.kernels.jit import compiled
from bestmix.kernels.rejects import INFEASIBLE

SMALLEST_VARIANCE = 1e-12  # of a metric, in units of the pooled one: arms that never vary are tried as well


@compiled
def variances(counts: Integers, scatter: Floats) -> Floats:
    """Variance of each metric of each arm (unknown, 1 + L), its own blended with the pooled one."""
    arms, d = scatter.shape[0], scatter.shape[1]
    pooled = np.empty((d, d))
    conditions.pool_scatter(counts, scatter, pooled)
    covariance = conditions.blend(counts, scatter, pooled)
    result = np.empty((arms, d))
    for i in range(d):
        least = SMALLEST_VARIANCE * (pooled[i, i] if pooled[i, i] > 0.0 else 1.0)
        for a in range(arms):
            result[a, i] = max(covariance[a, i, i], least)
    return result


@compiled
def plan(means: Floats, bound: Floats, counts: Integers, scatter: Floats, size: int, owed: Integers) -> None:
    """The trials of a round of ``size``: those that the rate-optimal shares lack."""
    share = np.empty(counts.shape[0])
    alone.rate_shares(means, variances(counts, scatter), bound, share)
    alone.catch_up(share, counts, size, owed)


@compiled
def runs(
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
) -> None:
    """Rounds of rate-optimal shares, then the best feasible arm of the estimates."""
    arms, costs = means.shape[0], bound.shape[0]
    d, everyone = 1 + costs, np.arange(means.shape[0])
    start, estimate = sampling.origin(model, means, unknown), means.copy()
    sums, squares, owed = np.empty((unknown, d)), np.empty((unknown, d, d)), np.empty(unknown, dtype=np.int64)
    space, scatter, counts = np.empty((4, d, d)), np.zeros((unknown, d, d)), np.zeros(unknown, dtype=np.int64)
    for run in range(answer.shape[0]):
        sums[:], squares[:], counts[:] = 0.0, 0.0, 0
        owed[:] = allocation.first_pulls(budget, unknown, settings)
        spent = 0
        while True:
            spent += sampling.add_owed(rng, model, means, owed, sums, squares, space)
            counts += owed
            sampling.summarise(start, owed, counts, sums, squares, estimate, scatter)
            size = allocation.round_size(budget, unknown, spent, settings)
            if size == 0:
                break
            plan(estimate, bound, counts, scatter, size, owed)
        pulls[run] = spent
        best = alone.leader(estimate, bound, np.ones(d), everyone)
        fits = alone.excess(estimate[best], bound, np.ones(d)) <= 0.0
        answer[run, 0], weight[run, 0] = best if fits else INFEASIBLE, 1.0
        for l in range(costs):
            answer[run, 1 + l], weight[run, 1 + l] = arms + l, 0.0
