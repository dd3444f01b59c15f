"""Doubt about feasibility, against HiGHS and plain NumPy."""

import numpy as np
import pytest
from scipy.optimize import linprog
from states import SIZES, decided, random_instance, told

from bestmix.kernels import challenge, feasibility


def widest_margin(state):
    """Value, weights (n - 1 - costs,) and prices (costs,) of: maximise the least margin of a mix."""
    costs = state.u.shape[1]
    u = state.u[: -1 - costs]
    found = linprog(
        np.r_[np.zeros(len(u)), -1.0],
        A_ub=np.c_[u.T, np.ones(costs)],
        b_ub=np.zeros(costs),
        A_eq=np.r_[np.ones(len(u)), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * len(u) + [(None, None)],
    )
    return -found.fun, found.x[:-1], -found.ineqlin.marginals


def z_of_margin(state):
    """Of the widest margin; and of each arm alone that keeps all bounds, the least of its margins."""
    margin, weight, price = widest_margin(state)
    costs, unknown = state.u.shape[1], len(state.counts)
    n = state.counts[:, None, None]
    blended = (state.scatter + challenge.PRIOR * state.pooled) / (n - 1 + challenge.PRIOR) / n
    blended = blended[:, 1:, 1:] / np.outer(state.scale[2:], state.scale[2:])
    spread = sum(weight[a] ** 2 * price @ blended[a] @ price for a in range(unknown))
    own = np.full((len(weight), costs), 1e-300)
    own[:unknown] = [np.diag(b) for b in blended]
    alone = -state.u[: len(weight)] / np.sqrt(own)
    return margin / np.sqrt(spread) if spread > 0 else np.inf, alone.min(axis=1).max()


@pytest.mark.parametrize("size", SIZES)
def test_feasibility_is_in_doubt_where_no_arm_alone_and_no_mix_is_safe(size):
    arms, unknown, costs = size
    seen = set()
    for seed in range(40):
        state = decided(told(random_instance(*size, seed), [4] * unknown, seed))
        safest, term = np.empty(1 + costs, dtype=np.int64), np.empty(1 + costs)
        doubtful = feasibility.in_doubt(state, safest, term)
        seen.add(doubtful)
        if costs == 0 or len(state.mu) - 1 in state.basis:  # feasible in any case; infeasible
            assert not doubtful
            continue
        mix, alone = z_of_margin(state)
        assert doubtful == (mix < feasibility.DOUBT and alone < feasibility.DOUBT)
        if doubtful:
            _, weight, _ = widest_margin(state)
            used = {int(j) for j in safest if j < len(weight)}
            assert {int(a) for a in np.flatnonzero(weight > 1e-9)} <= used
            assert all(t == 0 for j, t in zip(safest, term, strict=True) if j >= unknown)
            assert (term >= 0).all()
            assert term.any()
    assert seen == {False, True} or costs == 0 or unknown < arms  # known arms are often safe
