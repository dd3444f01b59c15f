"""The arrays that Challenger's kernels work on, from evidence."""

import numpy as np

from bestmix import Instance
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.kernels import conditions, simplex

SIZES = [(1, 1, 0), (6, 6, 0), (6, 6, 1), (7, 4, 1), (6, 5, 2), (8, 8, 3)]  # arms, those that are tried, costs


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
