"""The value against a moving bound: exact ends of its pieces, checked by solving again, and against HiGHS."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests import generators

from bestmix.problems.parametric import walk_bound
from bestmix.problems.solution import solve_means


def drawn(seed, kind, arms, costs):
    rng = np.random.default_rng(seed)
    if kind == "gaussian":
        size = 10.0 ** rng.integers(-4, 5, 1 + costs)
        return rng.normal(size=(arms, 1 + costs)) * size, rng.normal(size=costs) * size[1:]
    return generators.grid(rng, kind, arms, costs)


def moved(bound, cost, value):
    return np.where(np.arange(len(bound)) == cost, value, bound)


kinds = st.sampled_from(["gaussian", "binary", "integers", "eighths", "duplicates", "at the bound"])


@given(generators.seeds, kinds, st.integers(1, 9), st.integers(1, 3), st.integers(0, 2))
def test_the_curve_is_that_of_solving_again(seed, kind, arms, costs, cost):
    means, bound = drawn(seed, kind, arms, costs)
    cost %= costs
    knots = walk_bound(means, bound, cost)
    size, unit = np.ptp(means[:, 0]) or 1.0, np.ptp(means[:, 1 + cost]) or 1.0
    if not knots:
        assert not solve_means(means, moved(bound, cost, means[:, 1 + cost].max() + unit)).feasible
        return
    x, y = np.array([(k.bound, k.value) for k in knots[::-1]]).T
    for b in [*np.linspace(x[0], x[-1], 7)[1:], *x[1:], x[-1] + unit]:
        again = solve_means(means, moved(bound, cost, b))
        assert again.feasible
        assert again.value == pytest.approx(np.interp(b, x, y), abs=1e-7 * size)
    assert not solve_means(means, moved(bound, cost, x[0] - 1e-5 * unit)).feasible


@given(generators.seeds, kinds, st.integers(1, 9), st.integers(1, 3))
def test_it_is_concave_and_its_slopes_are_the_shadow_prices(seed, kind, arms, costs):
    means, bound = drawn(seed, kind, arms, costs)
    knots = walk_bound(means, bound, 0)
    assert [k.bound for k in knots] == sorted({k.bound for k in knots}, reverse=True)
    size = (np.ptp(means[:, 0]) or 1.0) / (np.ptp(means[:, 1]) or 1.0)
    slopes = [k.slope for k in knots]
    assert all(above <= below + 1e-8 * size for above, below in zip(slopes, slopes[1:], strict=False))
    for high, low in zip(knots, knots[1:], strict=False):
        if high.bound - low.bound > 1e-6 * np.ptp(means[:, 1]):
            assert (high.value - low.value) / (high.bound - low.bound) == pytest.approx(low.slope, rel=1e-5)
            inside = solve_means(means, moved(bound, 0, (low.bound + high.bound) / 2))
            assert inside.dual[0] == pytest.approx(low.slope, rel=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_highs_agrees(seed):
    rng = np.random.default_rng(seed)
    means, bound = rng.normal(size=(12, 4)), rng.normal(0.2, 0.5, 3)
    knots = walk_bound(means, bound, 1)
    x, y = np.array([(k.bound, k.value) for k in knots[::-1]]).T
    for b in np.linspace(x[0], x[-1] + 1.0, 12)[1:]:
        limits = moved(bound, 1, b)
        solved = linprog(-means[:, 0], A_ub=means[:, 1:].T, b_ub=limits, A_eq=np.ones((1, 12)), b_eq=[1.0])
        assert -solved.fun == pytest.approx(np.interp(b, x, y), abs=1e-9)


def test_mixes_at_the_knots_are_mixes_and_cost_the_bound():
    means, bound = drawn(3, "gaussian", 15, 3)
    for knot in walk_bound(means, bound + 1.0, 2):
        assert knot.mixture.sum() == pytest.approx(1.0)
        assert (knot.mixture >= 0).all()
        assert knot.mixture @ means[:, 3] == pytest.approx(knot.bound)


def test_arms_that_earn_the_same_count_as_one_that_costs_least():
    knots = walk_bound(np.array([[1.0, 3.0], [1.0, 2.0], [0.0, 0.0], [1.0, 2.0]]), np.array([0.0]), 0)
    assert [(k.bound, k.value) for k in knots] == [(2.0, 1.0), (0.0, 0.0)]


def test_the_best_arm_is_the_cheapest():
    (knot,) = walk_bound(np.array([[1.0, 1.0], [0.5, 2.0]]), np.array([5.0]), 0)
    assert (knot.bound, knot.value, knot.slope) == (1.0, 1.0, 0.0)


def test_nothing_helps_where_the_other_bounds_cannot_be_kept():
    assert walk_bound(np.array([[1.0, 1.0, 5.0]]), np.array([9.0, 1.0]), 0) == []
