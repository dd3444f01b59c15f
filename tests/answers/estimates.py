"""Estimates to try the safe mix on: given ones, and ones drawn from an instance of the catalog."""

import numpy as np

from bestmix import catalog
from bestmix.answers import safety
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments


def made(means, deviations, counts, binary=None):
    """Estimates with these means, deviations of one trial and counts; no count is infinite for nothing."""
    means = np.array(means, dtype=float)
    deviations = np.broadcast_to(np.array(deviations, dtype=float), means.shape)
    covariances = np.einsum("ai,ij->aij", deviations**2, np.eye(means.shape[1]))
    counts = np.broadcast_to(np.array(counts, dtype=float), len(means)).copy()
    covariances[np.isinf(counts)] = 0.0
    flags = np.zeros(means.shape, dtype=bool) if binary is None else np.array(binary, dtype=bool)
    return safety.Estimates(means, covariances, counts, flags)


def evidence(instance, n, rng):
    """Evidence of n trials of every arm that is tried."""
    moments = [Moments(instance.means.shape[1]) for _ in instance.problem.arms]
    for a, sums in enumerate(moments):
        sums.add(instance.draw(a, n, rng))
    return Evidence(instance.problem, moments)


def drawn(name, n, seed=0):
    """Estimates from n trials of every arm of a catalog instance, and its bounds."""
    instance = catalog.load(name)
    return evidence(instance, n, np.random.default_rng(seed)).estimates, instance.bound
