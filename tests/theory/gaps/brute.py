"""Gaps as the paper defines them, by SciPy's SLSQP from many random starts over the moved means."""

import itertools

import numpy as np
from scipy.optimize import minimize

from bestmix import Instance, solve
from bestmix.problems.noise import root
from bestmix.problems.uniqueness import broken_condition


def random_instance(rng, arms, costs, known=0, noise=None):
    """An instance with a unique, stable optimum."""
    while True:
        reward, cost = rng.normal(0, 1, arms), rng.uniform(0, 2, (costs, arms))
        instance = Instance(reward, cost, np.ones(costs), known=known, noise=noise)
        if broken_condition(instance) is None and _margin(instance) > 0.02:
            return instance


def _margin(instance):
    solution = solve(instance)
    weight = np.r_[solution.mixture, solution.slack]
    return weight[list(solution.basis)].min()


def columns(instance, means):
    """Columns (u, e) and rewards of arms and slacks."""
    arms, costs = means.shape[0], len(instance.bound)
    u = np.vstack([means[:, 1:] - instance.bound, np.eye(costs)])
    return u, np.r_[np.ones(arms), np.zeros(costs)], np.r_[means[:, 0], np.zeros(costs)]


def weights_and_value(instance, means, basis):
    """Weights of a basis and its value; None for dependent columns."""
    u, e, mu = columns(instance, means)
    matrix = np.vstack([u[list(basis)].T, e[list(basis)]])
    if abs(np.linalg.det(matrix)) < 1e-13:
        return None
    weight = np.linalg.solve(matrix, np.r_[np.zeros(u.shape[1]), 1.0])
    return weight, float(weight @ mu[list(basis)])


def overtaken(instance, means, best, rival, tolerance):
    """Whether both bases are feasible there and the rival is not behind."""
    ours, theirs = (weights_and_value(instance, means, basis) for basis in (best, rival))
    if ours is None or theirs is None:
        return False
    sizes = [np.abs(w).max() for w, _ in (ours, theirs)]
    fits = all(w.min() >= -tolerance * max(1, s) for (w, _), s in zip((ours, theirs), sizes, strict=True))
    return fits and theirs[1] >= ours[1] - tolerance * max(1.0, *sizes)


def brute_gap(instance, best, rival, rng, starts):
    """The smallest gap found in the paper's own variables; infinite when no start ends in a feasible point."""
    unknown = len(instance.problem.arms)
    arms = sorted({a for a in (*best, *rival) if a < unknown})
    size = 1 + len(instance.bound)
    factor = np.array([root(instance.covariance[a]) for a in arms]).reshape(len(arms), size, size)

    def means(x):
        moved = instance.means.copy()
        moved[arms] += np.einsum("aij,aj->ai", factor, x.reshape(len(arms), size))
        return moved

    def slack(x):
        found = [weights_and_value(instance, means(x), basis) for basis in (best, rival)]
        if None in found:
            return np.full(2 * len(best) + 1, -1e3)
        (ours, value), (theirs, other) = found
        return np.r_[ours, theirs, other - value]

    smallest = np.inf
    for _ in range(starts if arms else 0):
        begin = rng.normal(0, 1.0, len(arms) * size)
        options = {"maxiter": 300, "ftol": 1e-12}
        constraint = {"type": "ineq", "fun": slack}
        found = minimize(
            lambda x: x @ x, begin, jac=lambda x: 2 * x, constraints=constraint, method="SLSQP", options=options
        )
        if slack(found.x).min() > -1e-7:
            smallest = min(smallest, float(found.fun))
    return np.sqrt(smallest)


def all_bases(instance):
    size = len(instance.bound) + 1
    return itertools.combinations(range(len(instance.arms) + size - 1), size)
