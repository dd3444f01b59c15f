"""The nearest alternative by SciPy's SLSQP over moves of the means: determinants instead of hyperplanes."""

import numpy as np
from scipy.optimize import minimize

from bestmix import solve

STARTS = 8


def roots(covariance):
    """Factors (1 + L, rank) of each covariance: an arm moves by a combination of their columns."""
    pairs = [np.linalg.eigh(one) for one in covariance]
    return [vectors[:, values > 1e-12] * np.sqrt(values[values > 1e-12]) for values, vectors in pairs]


def failures(instance):
    """Columns whose determinant vanishes where a condition fails, and whether it is one of costs alone."""
    solution, columns = solve(instance), range(len(instance.problem.columns))
    if not solution.feasible:
        return [((a,), True) for a in range(len(instance.arms) - instance.known)]
    inside = [(tuple(k for k in solution.basis if k != j), True) for j in solution.basis]
    return inside + [((*solution.basis, j), False) for j in columns if j not in solution.basis]


def determinant(instance, means, support, costs_alone):
    arms, costs = means.shape[0], len(instance.bound)
    rows = np.vstack(
        [
            np.column_stack([means[:, 0], means[:, 1:] - instance.bound, -np.ones(arms)]),
            np.column_stack([np.zeros(costs), np.eye(costs), np.zeros(costs)]),
        ]
    )[list(support)]
    return float(np.linalg.det(rows[:, 1:-1] if costs_alone else rows))


def nearest_alternative(instance, share, rng):
    """The smallest weighted divergence found; infinite where the noise lets no condition fail."""
    factors = roots(instance.covariance[: len(instance.arms) - instance.known])
    return min((_nearest(instance, share, factors, rng, *one) for one in failures(instance)), default=np.inf)


def _nearest(instance, share, factors, rng, support, costs_alone):
    arms = [a for a in support if a < len(factors) and factors[a].shape[1]]
    sizes = [factors[a].shape[1] for a in arms]
    if not arms:
        return np.inf
    weight = np.repeat([share[a] for a in arms], sizes)

    def fails(steps):
        means = instance.means.copy()
        for a, step in zip(arms, np.split(steps, np.cumsum(sizes)[:-1]), strict=True):
            means[a] += factors[a] @ step
        return determinant(instance, means, support, costs_alone)

    best, boundary = np.inf, {"type": "eq", "fun": fails}
    for k in range(STARTS):
        start = (0.3, 1.5, 4.0)[k % 3] * rng.normal(size=len(weight))
        found = minimize(
            lambda s: 0.5 * weight @ s**2,
            start,
            jac=lambda s: weight * s,
            constraints=boundary,
            options={"ftol": 1e-13, "maxiter": 400},
        )
        if abs(fails(found.x)) < 1e-8:
            best = min(best, found.fun)
    return best
