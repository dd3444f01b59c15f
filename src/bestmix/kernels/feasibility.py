"""Whether it is in doubt that any mix is feasible, and which trials would tell.

While the estimates say that some mix is feasible, but are not sure of it, the best trials are those of the mix
that keeps all bounds by the widest margin: whether there is a mix at all comes before which one it is.
"""

import numpy as np

from bestmix.kernels import simplex
from bestmix.kernels.challenge import PRIOR, State, maximise, variance
from bestmix.kernels.jit import Floats, Integers, compiled

DOUBT = 2.0  # standard errors of the widest margin, below which feasibility is in doubt
RAISED = 2.0  # by how much the costs are raised to find that margin: more than it can be, in units of the cost spreads


@compiled
def in_doubt(state: State, safest: Integers, term: Floats) -> bool:
    """Whether the estimates say that some mix is feasible, but are not sure of it.

    ``safest`` (m,) receives the columns of the mix that keeps all bounds by the widest margin, in units of the cost
    spreads, and ``term`` (m,) what a trial of each adds to the variance of that margin.
    """
    counts, scatter, unknown = state.counts, state.scatter, state.counts.shape[0]
    n, costs = state.u.shape
    m = costs + 1
    direction = np.zeros(m)
    if costs == 0 or np.any(state.basis == n - 1) or any_arm_is_safe(state, direction):
        return False
    mu, u, work = np.zeros(n), state.u.copy(), simplex.workspace(costs)
    mu[n - 1] = -1.0
    for j in range(n - 1 - costs):
        u[j] += RAISED
    safest[0] = -1
    if maximise(mu, u, state.e, safest, work) != simplex.OPTIMAL:
        return False
    direction[0] = 0.0
    for l in range(costs):
        direction[1 + l] = work[m + 1, l] / state.scale[2 + l]
    common = variance(direction, 0.0, 1, state.pooled) * PRIOR
    margin, spread = RAISED, 0.0
    for i in range(m):
        j, weight = safest[i], work[i, costs]
        term[i] = 0.0
        if j == n - 1:
            margin -= weight
        elif j < unknown:
            term[i] = weight * weight * variance(direction, common, counts[j], scatter[j])
            spread += term[i] / counts[j]
    return margin * margin < DOUBT * DOUBT * spread


@compiled
def any_arm_is_safe(state: State, direction: Floats) -> bool:
    """Whether some arm alone is surely within all bounds, which leaves no doubt; ``direction`` (1 + L,) is scratch."""
    counts, scatter, scale, unknown = state.counts, state.scatter, state.scale, state.counts.shape[0]
    costs = state.u.shape[1]
    for j in range(state.u.shape[0] - 1 - costs):
        safe = True
        for l in range(costs):
            below = -state.u[j, l] * scale[2 + l]
            spread = 0.0
            if below > 0.0 and j < unknown:
                direction[:] = 0.0
                direction[1 + l] = 1.0
                spread = variance(direction, state.pooled[1 + l, 1 + l], counts[j], scatter[j]) / counts[j]
            safe = safe and below >= 0.0 and below * below >= DOUBT * DOUBT * spread
        if safe:
            return True
    return False
