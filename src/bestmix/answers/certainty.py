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
from bestmix.kernels import conditions
from bestmix.problems.solution import Solution


def z_scores(evidence: Evidence, solution: Solution) -> Floats | None:
    """Distance of each column's condition from failing, in standard errors (K + L,).

    For a column of the basis the condition is a positive weight, for any other a negative reduced
    cost. NaN where an arm has no trials; None when there is no spread to go by.
    """
    problem = evidence.problem
    if evidence.pooled is None or solution.status != "optimal":
        return None
    state = conditions.new_state(len(evidence.counts), len(evidence.means), len(problem.bounds))
    state.counts[:], state.scatter[:], state.pooled[:] = evidence.counts, evidence.scatters, evidence.pooled
    state.basis.column[:] = solution.basis
    if not conditions.load_basis(evidence.means, problem.bound, np.arange(len(problem.columns)), state):
        return None
    conditions.conditions(state)
    z, gap = conditions.z_scores(state)[:-1], state.gap[:-1]
    z[np.isinf(z) & (gap == 0)] = 0.0  # a tie that no trial can break
    z[np.isinf(z) & (gap < 0)] = -np.inf
    z[np.isnan(gap)] = np.nan
    return z


def support_probability(z: Floats | None) -> float | None:
    """Product of the chances that each condition holds; None when it cannot be said."""
    if z is None or np.isnan(z).any():
        return None
    from scipy.special import ndtr

    return float(np.prod(ndtr(z)))
