"""Estimates to try the safe mix on: given ones, and ones drawn, from the catalog and from arms with features."""

import numpy as np

from bestmix import Problem, catalog
from bestmix.answers import safety
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments

LINE = [[1, 0], [1, 1], [1, 2], [1, 3]]  # features of four arms, along one number


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


def with_features(trials, features, bounds=None, **asked):
    """Evidence of these trials of arms with features (or None)."""
    problem = Problem([f"arm{a}" for a in range(len(trials))], bounds or {}, features=features, **asked)
    size = len(problem.measures)
    return Evidence(problem, [Moments(size).plus(np.reshape(own, (len(own), size)).astype(float)) for own in trials])
