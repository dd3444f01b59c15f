"""Doubt about feasibility, against HiGHS and plain NumPy."""

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.kernels.states import SIZES, decided, random_instance, told

from bestmix import Instance, noise
from bestmix.kernels import conditions, feasibility


def widest_margin(state, first=0):
    """Value, weights by arm and prices (costs,) of the mix of arms from ``first`` on with the widest margin."""
    costs = state.program.u.shape[1]
    u = state.program.u[first : -1 - costs]
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
    costs, unknown = state.program.u.shape[1], len(state.counts)
    n = state.counts[:, None, None]
    blended = (state.scatter + conditions.PRIOR * state.pooled) / (n - 1 + conditions.PRIOR) / n
    blended = np.where(n < feasibility.SOME, blended, state.scatter / np.maximum(n - 1, 1) / n)
    blended = blended[:, 1:, 1:] / np.outer(state.scale[2:], state.scale[2:])
    spread = sum(weight[a] ** 2 * price @ blended[a] @ price for a in range(unknown))
    own = np.full((len(weight), costs), 1e-300)
    own[:unknown] = [np.diag(b) for b in blended]
    alone = -state.program.u[: len(weight)] / np.sqrt(own)
    return margin / np.sqrt(spread) if spread > 0 else np.inf, alone.min(axis=1).max()


@pytest.mark.parametrize("size", SIZES)
def test_feasibility_is_in_doubt_where_no_arm_alone_and_no_mix_is_safe(size):
    arms, unknown, costs = size
    seen = set()
    for seed in range(40):
        trials = np.random.default_rng(seed).integers(2, 9, unknown)
        state = decided(told(random_instance(*size, seed), trials, seed))
        safest, term = np.empty(1 + costs, dtype=np.int64), np.empty(1 + costs)
        doubtful = feasibility.in_doubt(state, safest, term)
        seen.add(doubtful)
        if costs == 0 or len(state.gap) - 1 in state.basis.column:  # feasible in any case; infeasible
            assert not doubtful
            continue
        mix, alone = z_of_margin(state)
        known = unknown < arms and widest_margin(state, first=unknown)[0] >= 0
        assert doubtful == (mix < feasibility.DOUBT and alone < feasibility.DOUBT and not known)
        if doubtful:
            _, weight, _ = widest_margin(state)
            used = {int(j) for j in safest if j < len(weight)}
            assert {int(a) for a in np.flatnonzero(weight > 1e-9)} <= used
            assert all(t == 0 for j, t in zip(safest, term, strict=True) if j >= unknown)
            assert (term >= 0).all()
            assert term.any()
    assert seen == {False, True} or costs == 0 or unknown < arms  # known arms are often safe


def doubt(instance, pulls, seed=0):
    state = decided(told(instance, pulls, seed))
    size = 1 + len(instance.costs)
    return feasibility.in_doubt(state, np.empty(size, dtype=np.int64), np.empty(size))


def test_an_exact_cost_within_its_bound_leaves_no_doubt():
    deviation = np.array([[0.0, 0.5, 0.5]])
    instance = Instance([0.0, 1.0, 2.0], [[0.999, 1.5, 1.8]], [1.0], noise=noise.Gaussian(1.0, deviation))
    assert not doubt(instance, [feasibility.SOME] * 3)


@pytest.mark.parametrize("ones", [4, 5])
def test_an_arm_that_seems_to_be_at_its_bound_is_not_safe(ones):
    rows = [[1.0, 1.0]] * ones + [[0.0, 0.0]] * (10 - ones)
    evidence = told(Instance([1.0, 1.0], [[0.5, 0.9]], [0.5]), [0, 0], 0)
    evidence.moments[0].add(np.array(rows))
    evidence.moments[1].add(np.array([[1.0, 1.0]] * 9 + [[0.0, 0.0]]))
    assert feasibility.in_doubt(decided(evidence), np.empty(2, dtype=np.int64), np.empty(2))


def test_known_arms_that_keep_the_bounds_together_leave_no_doubt():
    known = [[0.4, 1.4], [1.4, 0.4]]
    instance = Instance([1.0, 0.0, 0.0], np.c_[[0.85, 0.85], known], [1.0, 1.0], sigma_cost=4.0, known=2)
    alone = Instance([1.0, 0.0], [[0.85, 1.4], [0.85, 1.4]], [1.0, 1.0], sigma_cost=4.0, known=1)
    seeds = [seed for seed in range(20) if doubt(alone, [30], seed)]
    assert seeds
    assert not any(doubt(instance, [30], seed) for seed in seeds)
