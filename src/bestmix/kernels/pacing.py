"""Thompson sampling with a budget pacer: a price on each cost that rises while spending is above its bound."""

import math
from typing import NamedTuple

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import columns, sampling, simplex
from bestmix.kernels.jit import compiled
from bestmix.kernels.rejects import INFEASIBLE, finish

Settings = tuple[float, float, float]  # learning rate, smoothing, largest price

FIRST = 2  # trials of each arm before the first draw, to have a variance


class Pacer(NamedTuple):
    """Smoothed spending on each cost, and its price (L,)."""

    smooth: Floats
    price: Floats


@compiled
def new_pacer(bound: Floats) -> Pacer:
    """As if spending had been at the bounds: no price."""
    return Pacer(bound.copy(), np.zeros(bound.shape[0]))


@compiled
def observe(settings: Settings, bound: Floats, cost: Floats, pacer: Pacer) -> None:
    """Smooth the spending with a trial's costs, and move the prices by how far it is from the bounds."""
    rate, smoothing, most = settings
    for l in range(bound.shape[0]):
        pacer.smooth[l] += smoothing * (cost[l] - pacer.smooth[l])
        pacer.price[l] = min(max(pacer.price[l] + rate * (pacer.smooth[l] / bound[l] - 1.0), 0.0), most)


@compiled
def choose(
    rng: np.random.Generator, estimate: Floats, bound: Floats, counts: Integers, variance: float, pacer: Pacer
) -> int:
    """The arm with the highest drawn reward minus the price of its estimated costs, in units of the bounds."""
    best, chosen = -np.inf, 0
    for a in range(counts.shape[0]):
        value = estimate[a, 0] + math.sqrt(variance / counts[a]) * rng.standard_normal()
        for l in range(bound.shape[0]):
            value -= pacer.price[l] * estimate[a, 1 + l] / bound[l]
        if value > best:
            best, chosen = value, a
    return chosen


@compiled
def reward_variance(counts: Integers, scatter: Floats) -> float:
    """Variance of a reward, pooled over the arms."""
    total, freedom = 0.0, 0
    for a in range(counts.shape[0]):
        total += scatter[a, 0, 0]
        freedom += max(counts[a] - 1, 0)
    return total / max(freedom, 1)


@compiled
def runs(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    bound: Floats,
    unknown: int,
    budget: int,
    settings: Settings,
    answer: Integers,
    weight: Floats,
    pulls: Integers,
    late: Floats,
    spend: Floats,
) -> None:
    """A trial at a time until the budget is spent, then the program of the estimates.

    ``late`` (runs, K) receives the shares of the arms in the later half of the trials, the mix that a run ends with;
    ``spend`` (runs, 1 + L) the true mean reward and costs of what was tried, the price of learning.
    """
    arms, costs = means.shape[0], bound.shape[0]
    d = 1 + costs
    start, estimate = sampling.origin(model, means, unknown), means.copy()
    sums, squares, owed = np.empty((unknown, d)), np.empty((unknown, d, d)), np.empty(unknown, dtype=np.int64)
    space, scatter, counts = np.empty((4, d, d)), np.zeros((unknown, d, d)), np.zeros(unknown, dtype=np.int64)
    everything, cost, half = np.arange(arms + costs), np.empty(costs), budget - budget // 2
    program, scale = columns.new_program(arms + costs, costs), np.empty(costs + 2)
    for run in range(answer.shape[0]):
        sums[:], squares[:], counts[:], owed[:] = 0.0, 0.0, 0, 0
        pacer, basis = new_pacer(bound), simplex.new_basis(costs)
        late[run], spend[run] = 0.0, 0.0
        for spent in range(budget):
            a = spent % unknown
            if spent >= FIRST * unknown:
                a = choose(rng, estimate, bound, counts, reward_variance(counts, scatter), pacer)
            for l in range(costs):
                cost[l] = -sums[a, 1 + l]
            owed[a] = 1
            sampling.add_owed(rng, model, means, owed, sums, squares, space)
            counts[a] += 1
            sampling.summarise(start, owed, counts, sums, squares, estimate, scatter)
            owed[a] = 0
            for l in range(costs):
                cost[l] += sums[a, 1 + l] + start[a, 1 + l]
            observe(settings, bound, cost, pacer)
            spend[run] += means[a] / budget
            if spent >= half:
                late[run, a] += 1.0 / (budget - half)
        pulls[run] = budget
        columns.load(estimate, bound, everything, program)
        if finish(everything, program, scale, basis, answer[run], weight[run]) != simplex.OPTIMAL:
            answer[run, 0] = INFEASIBLE
