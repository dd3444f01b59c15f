"""The arrays that Challenger's kernels work on, from evidence."""

import numpy as np

from bestmix import Instance, noise
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.kernels import conditions, simplex

SIZES = [(1, 1, 0), (6, 6, 0), (6, 6, 1), (7, 4, 1), (6, 5, 2), (8, 8, 3)]  # arms, those that are tried, costs


def linked(table, arms, bound):
    """Arms that are all alike; their rewards and costs hang together, so that what varies cancels but for rounding."""
    mean = np.mean(table, axis=0)
    tables = noise.Empirical([np.array(table)] * arms)
    return Instance([mean[0]] * arms, [[cost] * arms for cost in mean[1:]], bound, noise=tables)


LINKED = {
    "the reward is a cost": linked([[0.9, 0.9, 0.4], [0.9, 0.9, 0.5]], 4, [0.9, 0.45]),
    "costs add up to one": linked([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], 3, [0.5, 0.5]),
    "costs of 0 and 1": linked([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]], 3, [0.6, 0.4]),
}


def told(instance, pulls, seed):
    rng = np.random.default_rng(seed)
    moments = [Moments(instance.means.shape[1]) for _ in instance.problem.arms]
    for a, m in enumerate(moments):
        m.add(instance.draw(a, pulls[a], rng))
    return Evidence(instance.problem, moments)


def random_instance(arms, unknown, costs, seed):
    rng = np.random.default_rng([arms, costs, seed])
    return Instance(
        rng.normal(size=arms), rng.normal(size=(costs, arms)), rng.normal(0.3, 0.2, costs), known=arms - unknown
    )


def decided(evidence):
    """The arrays of a decision; the program is solved and the conditions are known."""
    problem = evidence.problem
    state = conditions.new_state(len(problem.arms), len(evidence.means), len(problem.bounds))
    state.counts[:] = evidence.counts
    if problem.arms:
        state.scatter[:] = [m.scatter() for m in evidence.moments]
    everything = np.arange(len(problem.columns))
    assert conditions.solve(evidence.means, problem.bound, everything, state) == simplex.OPTIMAL
    conditions.pool(state)
    conditions.conditions(state)
    return state
