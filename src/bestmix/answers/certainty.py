"""How sure the answer is: the K + L conditions that keep a basis optimal, each with its z-score.

A basis stays optimal exactly while its weights are positive and no other column has a positive
reduced cost. By the delta method each of these margins has a standard error; that of a weight is taken
where the weight is zero, which is where the answer would change. The product of their chances of holding
estimates the chance that the support is right: for rare failures it is one minus the sum of the tails,
and it stays meaningful when several conditions are in doubt. In simulations it errs on the safe side.
"""

import numpy as np

from bestmix.answers.evidence import Evidence
from bestmix.arrays import Floats
from bestmix.problems.solution import Solution


def z_scores(evidence: Evidence, solution: Solution) -> Floats | None:
    """Distance of each column's condition from failing, in standard errors (K + L,).

    For a column of the basis the condition is a positive weight, for any other a negative reduced
    cost. NaN where an arm has no trials; None when there is no spread to go by.
    """
    problem, covariances = evidence.problem, evidence.covariances
    if covariances is None or solution.status != "optimal":
        return None
    means, costs = evidence.means, len(problem.bounds)
    arms = len(means)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = covariances.copy()
        spread[: len(evidence.counts)] /= evidence.counts[:, None, None]  # covariance of each mean
        columns = np.zeros((arms + costs, costs + 1))
        columns[:arms, :costs] = means[:, 1:] - problem.bound
        columns[:arms, costs] = 1.0
        columns[arms:, :costs] = np.eye(costs)
        basis = np.array(solution.basis)
        inside = [(i, a) for i, a in enumerate(basis) if a < arms]
        gap, variance = np.empty(arms + costs), np.zeros(arms + costs)
        # dual: d_j = mu_j - lambda.u_j - v e_j, with the noise of reward - lambda.cost
        direction = np.r_[1.0, -solution.dual]
        noise = np.einsum("i,aij,j->a", direction, spread, direction)
        reward = np.r_[means[:, 0], np.zeros(costs)]
        gap[:] = solution.value * columns[:, costs] + columns[:, :costs] @ solution.dual - reward
        coordinates = columns @ solution.inverse.T
        variance[:arms] = noise
        for i, a in inside:
            variance += coordinates[:, i] ** 2 * noise[a]
        # primal: x_i, with the noise of g_i.cost in the other arms of the basis, weighted as where x_i is zero
        weight = solution.inverse[:, costs]
        for i, column in enumerate(basis):
            g = solution.inverse[i, :costs]
            gap[column] = weight[i]
            share = weight / (1.0 - weight[i]) if column < arms else weight
            variance[column] = sum(share[k] ** 2 * (g @ spread[a, 1:, 1:] @ g) for k, a in inside if k != i)
        z = gap / np.sqrt(variance)
    z[(variance == 0) & (gap == 0)] = 0.0
    return z


def support_probability(z: Floats | None) -> float | None:
    """Product of the chances that each condition holds; None when it cannot be said."""
    if z is None or np.isnan(z).any():
        return None
    from scipy.special import ndtr

    return float(np.prod(ndtr(z)))
