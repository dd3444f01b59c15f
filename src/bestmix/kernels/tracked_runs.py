"""Decisions and whole simulated runs of the rivals that track shares: LATS, LAGEX, CTnS and CGE.

The arrays that runs fill are those that ``rejects.py`` describes.
"""

import math

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import columns, conditions, sampling, simplex, tracking
from bestmix.kernels.conditions import State
from bestmix.kernels.jit import compiled
from bestmix.kernels.rejects import INFEASIBLE, finish
from bestmix.kernels.tracking import Tracker

LATS, LAGEX, CTNS, CGE = 0, 1, 2, 3
FIRST = 5  # trials of each arm before the first decision: the noise is not known here

Rule = tuple[int, float, float, float, float]  # which, delta, tolerance, growth, what the threshold adds for each arm


@compiled
def threshold(rule: Rule, spent: int, counts: Integers) -> float:
    """What the smallest distance must exceed: log((1 + log t) / delta), or the proven one.

    The proven one is beta(t, delta) = 3 sum_a log(1 + log N_a) + K T(...), whose last term the rule brings along.
    """
    if rule[4] <= 0.0:
        return math.log((1.0 + math.log(spent)) / rule[1])
    total = 0.0
    for a in range(counts.shape[0]):
        total += 3.0 * math.log(1.0 + math.log(counts[a])) + rule[4]
    return total


@compiled
def relax(rule: Rule, estimate: Floats, bound: Floats, state: State, relaxed: Floats, slack: Floats) -> None:
    """Bounds of the optimistic feasible set, and the slack that the solved program's mix has in it.

    Its width is f |pi| in the norm of the inverse design matrix, with f = 1 + sqrt(log(K / delta) / 2 +
    log det(I + N) / 4), in standard deviations of each cost (eq. 2 and Lemma 1).
    """
    counts, basis, weights = state.counts, state.basis.column, simplex.weights(state.basis)
    norm, volume, arms = 0.0, 0.0, estimate.shape[0]
    for a in range(counts.shape[0]):
        volume += math.log(1.0 + counts[a])
    cost = np.zeros(bound.shape[0])
    for i in range(basis.shape[0]):
        if basis[i] < arms:
            if basis[i] < counts.shape[0]:
                norm += weights[i] * weights[i] / (1.0 + counts[basis[i]])
            for l in range(bound.shape[0]):
                cost[l] += weights[i] * estimate[basis[i], 1 + l]
    radius = (1.0 + math.sqrt(0.5 * math.log(counts.shape[0] / rule[1]) + 0.25 * volume)) * math.sqrt(norm)
    for l in range(bound.shape[0]):
        relaxed[l] = bound[l] + radius * math.sqrt(max(state.pooled[1 + l, 1 + l], 0.0))
        slack[l] = max(relaxed[l] - cost[l], relaxed[l] - bound[l])


@compiled
def least_slack(slack: Floats, scale: Floats) -> float:
    """The least slack, in units of the costs' spreads; infinite where there is none to speak of: nothing is charged."""
    least = np.inf
    for l in range(slack.shape[0]):
        least = min(least, slack[l] / scale[2 + l])
    return float(least) if least > 0.0 else np.inf


@compiled
def has_elastic(state: State) -> bool:
    """Whether no mix of the estimates keeps the bounds: the elastic column is in the basis."""
    found = False
    for i in range(state.basis.column.shape[0]):
        if state.basis.column[i] == state.gap.shape[0] - 1:
            found = True
    return found


@compiled
def decide(
    rule: Rule,
    budget: int,
    estimate: Floats,
    bound: Floats,
    everything: Integers,
    state: State,
    tracker: Tracker,
    owed: Integers,
) -> int:
    """Find the next trials of each arm, or that the run is over, when none is owed; a simplex status."""
    owed[:] = 0
    spent, slack, relaxed = int(state.counts.sum()), np.empty_like(bound), bound.copy()
    size = min(max(1, int(rule[3] * spent)), budget - spent)
    status = conditions.solve(estimate, bound, everything, state)
    if status != simplex.OPTIMAL or size <= 0:
        return status
    conditions.pool(state)
    if rule[0] <= LAGEX:
        relax(rule, estimate, bound, state, relaxed, slack)
        status = conditions.solve(estimate, relaxed, everything, state)
        if status != simplex.OPTIMAL:
            return status
    if has_elastic(state):
        tracker.share[:] = 1.0 / owed.shape[0]
    else:
        sides = tracking.facets(state.program, state.basis, state.scale, state.pooled[0, 0], owed.shape[0], rule[2])
        if tracking.nearest(sides, state.counts)[1] > threshold(rule, spent, state.counts):
            return status
        limits = bound.shape[0] if rule[0] <= LAGEX else 0  # which only these two keep while they explore
        excess = np.ascontiguousarray(state.program.u[: owed.shape[0], :limits])
        if rule[0] == LATS or rule[0] == CTNS:
            tracking.spread_out(sides, excess, tracker.share)
        else:
            least = least_slack(slack[:limits], state.scale)
            for _ in range(min(size, tracking.MOST_ASCENTS)):
                tracking.ascend(sides, excess, least, math.log(spent), state.counts, tracker)
    tracking.follow(tracker, state.counts, size, owed)
    return status


@compiled
def runs(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    bound: Floats,
    unknown: int,
    budget: int,
    rule: Rule,
    answer: Integers,
    weight: Floats,
    pulls: Integers,
) -> None:
    """Decide until the rule stops or the budget is spent, then solve the program of the estimates."""
    arms, costs = means.shape[0], bound.shape[0]
    d, n = 1 + costs, arms + costs + 1
    start, estimate = sampling.origin(model, means, unknown), means.copy()
    sums, squares, owed = np.empty((unknown, d)), np.empty((unknown, d, d)), np.empty(unknown, dtype=np.int64)
    space, everything = np.empty((4, d, d)), np.arange(arms + costs)
    state, tracker = conditions.new_state(unknown, arms, costs), tracking.new_tracker(unknown)
    some, counts = columns.part(state.program, 0, n - 1), state.counts
    for run in range(answer.shape[0]):
        sums[:], squares[:], counts[:] = 0.0, 0.0, 0
        simplex.forget(state.basis)
        tracking.restart(tracker)
        owed[:] = first_pulls(budget, unknown)
        status = simplex.OPTIMAL
        while owed.sum() > 0 and status == simplex.OPTIMAL:
            sampling.add_owed(rng, model, means, owed, sums, squares, space)
            counts += owed
            sampling.summarise(start, owed, counts, sums, squares, estimate, state.scatter)
            status = decide(rule, budget, estimate, bound, everything, state, tracker, owed)
        pulls[run] = counts.sum()
        columns.load(estimate, bound, everything, some)
        if finish(everything, some, state.scale, state.basis, answer[run], weight[run]) != simplex.OPTIMAL:
            answer[run, 0] = INFEASIBLE


@compiled
def first_pulls(budget: int, unknown: int) -> int:
    """Trials of each arm before the first decision."""
    return min(FIRST, budget // max(unknown, 1))
