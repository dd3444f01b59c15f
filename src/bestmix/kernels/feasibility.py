"""Whether it is in doubt that any mix is feasible, and which trials would tell.

While the estimates say that some mix is feasible, but are not sure of it, the best trials are those of the mix
that keeps all bounds by the widest margin: whether there is a mix at all comes before which one it is.
"""

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import simplex
from bestmix.kernels.columns import Program, fixed, fixed_rows, part
from bestmix.kernels.conditions import PRIOR, State, blended, maximise, variance
from bestmix.kernels.jit import compiled, inlined, plain
from bestmix.kernels.lanes import either, every_lane
from bestmix.kernels.simplex import Basis

DOUBT = 2.0  # standard errors of the widest margin, below which feasibility is in doubt
SOME = 5  # trials of an arm that say by themselves how noisy its costs are
RAISED = 2.0  # by how much the costs are raised to find that margin: more than it can be, in units of the cost spreads


@compiled
def in_doubt(state: State, safest: Integers, term: Floats) -> bool:
    """Whether the estimates say that some mix is feasible, but are not sure of it.

    ``safest`` (m,) receives the columns of the mix that keeps all bounds by the widest margin, in units of the cost
    spreads, and ``term`` (m,) each one's part of the variance of that margin, times the number of its trials.
    """
    counts, scatter, unknown = state.counts, state.scatter, state.counts.shape[0]
    n, costs = state.program.u.shape
    m = costs + 1
    if beyond_doubt(state):
        return False
    direction, safe = np.zeros(m), simplex.new_basis(costs)
    if unknown < n - 1 - costs and widest_margin(unknown, state, safe) >= 0.0:  # of known arms alone
        return False
    margin = widest_margin(plain(0), state, safe)
    if margin == -np.inf:
        return False
    weight, price = simplex.weights(safe), simplex.prices(safe)
    for l in range(costs):
        direction[1 + l] = price[l] / state.scale[2 + l]
    common, spread = variance(direction, 0.0, 1, state.pooled) * PRIOR, 0.0
    for i in range(m):
        safest[i], term[i] = safe.column[i], 0.0
        if safest[i] < unknown:
            a = safest[i]
            term[i] = (
                weight[i]
                * weight[i]
                * own_variance(variance(direction, common, counts[a], scatter[a]), common, counts[a])
            )
            spread += term[i] / counts[a]
    return margin * margin < DOUBT * DOUBT * spread


@inlined
def beyond_doubt(state: State) -> bool:
    """Whether feasibility is clear as far as each arm alone says: a light check before ``in_doubt``, in all lanes."""
    return says_infeasible(state) | any_arm_is_safe(state)


@compiled
def widest_margin(first: int, state: State, safe: Basis) -> float:
    """The widest margin that a mix of the columns from ``first`` on keeps from all bounds; minus infinity if none."""
    rest = part(state.program, first, state.program.e.shape[0])
    n, costs = rest.u.shape
    raised = Program(np.zeros(n), rest.u.copy(), rest.e.copy())
    raised.mu[n - 1] = -1.0
    for j in range(n - 1 - costs):
        for l in range(costs):
            raised.u[j, l] += RAISED
    simplex.forget(safe)
    if maximise(raised, safe) != simplex.OPTIMAL:
        return -np.inf
    for i in range(costs + 1):
        if safe.column[i] == n - 1:
            return RAISED - float(simplex.weights(safe)[i])
    return RAISED


@inlined
def says_infeasible(state: State) -> bool:
    """Whether the elastic column is in the basis."""
    basis, found = state.basis.column, False
    for i in range(fixed_rows(basis.shape[0])):
        found = found | (basis[i] == state.program.e.shape[0] - 1)
    return found


@inlined
def any_arm_is_safe(state: State) -> bool:
    """Whether some arm alone is surely within all bounds, which leaves no doubt."""
    counts, scatter, pooled, scale = state.counts, state.scatter, state.pooled, state.scale
    u, unknown, found = state.program.u, counts.shape[0], False
    costs = fixed(u.shape[1])
    for j in range(u.shape[0] - 1 - costs):
        safe = True
        for l in range(costs):
            below, spread = -u[j, l] * scale[2 + l], 0.0
            if j < unknown:
                common = pooled[1 + l, 1 + l]
                blend = blended(scatter[j, 1 + l, 1 + l], common, counts[j])
                spread = own_variance(blend, common, counts[j]) / counts[j]
            safe = safe & (below >= 0.0) & (below * below >= DOUBT * DOUBT * spread)
        found = found | safe
        if every_lane(found):
            break
    return found


@inlined
def own_variance(blend: float, common: float, count: float) -> float:
    """Variance of the arm's own trials, where there are some, from the blended one: its costs may be exact."""
    return either(count < SOME, blend, (blend * (count - 1 + PRIOR) - PRIOR * common) / (count - 1))
