"""The arrays that Challenger's kernels work on, from evidence."""

import numpy as np

from bestmix import Instance
from bestmix.evidence import Evidence
from bestmix.kernels import challenge, simplex
from bestmix.moments import Moments


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


class State:
    """The arrays of the kernels for some evidence."""

    def __init__(self, evidence):
        problem = evidence.problem
        costs, n = len(problem.bounds), len(problem.columns) + 1
        self.counts = evidence.counts
        self.scatter = np.array([m.scatter() for m in evidence.moments]).reshape(-1, 1 + costs, 1 + costs)
        self.mu, self.u, self.e, self.scale = np.empty(n), np.empty((n, costs)), np.empty(n), np.empty(costs + 2)
        self.basis, self.work = np.full(1 + costs, -1), simplex.workspace(costs)
        self.pooled = np.empty((1 + costs, 1 + costs))
        self.gap, self.own, self.coefficient = np.empty(n), np.empty(n), np.empty((n, 1 + costs))
        program = self.mu, self.u, self.e, self.scale, self.basis, self.work
        self.status = challenge.solve(evidence.means, problem.bound, np.arange(n - 1), *program)
        challenge.pool(self.counts, self.scatter, self.scale, self.pooled)
        self.program = (*program, self.counts, self.scatter, self.pooled)
        self.terms = self.gap, self.own, self.coefficient
        challenge.conditions(*self.program, *self.terms)

    @property
    def z(self):
        return challenge.z_scores(*self.terms, self.basis, self.counts)
