from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from tests import generators, naive

from bestmix import Instance, Known, Problem, solve
from bestmix.problems.solution import solve_means


def matrix(means, bound, basis):
    """Columns of the homogeneous program."""
    arms, costs = len(means), len(bound)
    u = np.vstack([means[:, 1:] - bound, np.eye(costs)])
    return np.vstack([u[list(basis)].T, [float(j < arms) for j in basis]])


def check_optimal(means, bound, solution, tolerance=1e-9):
    """Feasible, and primal equals dual; both relative to the size of the rewards and costs."""
    rewards, costs = means[:, 0], means[:, 1:]
    size = np.abs(rewards).max() or 1.0
    widths = np.maximum(np.abs(costs), np.abs(bound)).max(axis=0, initial=0.0)
    assert solution.status == "optimal"
    assert solution.feasible
    assert solution.mixture.sum() == pytest.approx(1.0)
    assert (solution.mixture >= 0).all()
    np.testing.assert_allclose(
        solution.slack, bound - solution.mixture @ costs, atol=1e-11 * widths.max(initial=1e-300)
    )
    assert (solution.slack >= -1e-11 * widths).all()
    assert (solution.violation == 0).all() or (solution.violation <= 1e-11 * widths).all()
    assert (solution.dual >= -tolerance * size / np.where(widths > 0, widths, 1)).all()
    by_dual = (rewards - (costs - bound) @ solution.dual).max()
    assert solution.value == pytest.approx(by_dual, rel=tolerance, abs=tolerance * size)
    assert np.flatnonzero(solution.mixture).tolist() == [
        j for j in solution.basis if j < len(means) and solution.mixture[j] > 0
    ]


def check_inverse(means, bound, solution):
    inverse = solution.inverse
    product = inverse @ matrix(means, bound, solution.basis)
    units = np.abs(inverse) @ np.abs(matrix(means, bound, solution.basis))  # the size of the terms
    assert (np.abs(product - np.eye(len(inverse))) <= 1e-9 * np.maximum(units, 1.0)).all()
    assert list(solution.basis) == sorted(solution.basis)


def highs(means, bound):
    """Value by SciPy, after scaling rewards and costs to one; None when infeasible."""
    spread = np.ptp(means[:, 0]) or 1.0
    widths = np.abs(means[:, 1:] - bound).max(axis=0, initial=0.0)
    u = (means[:, 1:] - bound) / np.where(widths > 0, widths, 1.0)
    found = linprog(
        -(means[:, 0] - means[:, 0].min()) / spread,
        A_ub=u.T if len(bound) else None,
        b_ub=np.zeros(len(bound)) if len(bound) else None,
        A_eq=np.ones((1, len(means))),
        b_eq=[1.0],
    )
    assert found.status in (0, 2)
    return None if found.status == 2 else means[:, 0].min() - found.fun * spread


def least_violation(means, bound):
    """Smallest total violation, each cost against its largest distance from the bound."""
    arms, costs = len(means), len(bound)
    u = means[:, 1:] - bound
    widths = np.abs(u).max(axis=0)
    widths[widths == 0] = 1.0
    u = u / widths
    found = linprog(
        np.r_[np.zeros(arms), np.ones(costs)],
        A_ub=np.hstack([u.T, -np.eye(costs)]),
        b_ub=np.zeros(costs),
        A_eq=np.r_[np.ones(arms), np.zeros(costs)][None],
        b_eq=[1.0],
    )
    return found.fun, widths


def random_means(rng, kind, arms, costs):
    if kind in generators.KINDS:
        return generators.grid(rng, kind, arms, costs)
    means, bound = rng.normal(size=(arms, 1 + costs)), rng.normal(size=costs)
    if kind == "duplicate columns":
        means = means[rng.integers(0, max(arms // 3, 1), arms)]
    elif kind == "badly scaled":
        size = 10.0 ** rng.integers(-6, 7, 1 + costs)
        means, bound = means * size, bound * size[1:]
    elif kind == "far from zero":
        means, bound = means + 1e6, bound + 1e6
    return means, bound


@pytest.mark.parametrize(
    "kind", ["gaussian", "duplicate columns", "badly scaled", "far from zero", *generators.KINDS[:-1]]
)
@pytest.mark.parametrize("costs", range(5))
def test_the_answer_is_that_of_highs_and_primal_equals_dual(kind, costs):
    rng = np.random.default_rng([len(kind), costs])
    for _ in range(25):
        means, bound = random_means(rng, kind, int(rng.integers(1, 30)), costs)
        solution = solve(Instance(means[:, 0], means[:, 1:].T, bound))
        expected = highs(means, bound)
        assert solution.feasible == (expected is not None)
        if expected is None:
            continue
        size = np.abs(means[:, 0]).max() or 1.0
        assert solution.value == pytest.approx(expected, abs=1e-7 * size)
        check_optimal(means, bound, solution)
        check_inverse(means, bound, solution)


@pytest.mark.parametrize("costs", range(1, 4))
def test_tiny_rewards_beside_large_costs_are_exact(costs):
    rng = np.random.default_rng(costs)
    for _ in range(15):
        means, bound = rng.normal(size=(6, 1 + costs)), rng.normal(0.5, 0.5, costs)
        means[:, 0] *= 1e-6
        means[:, 1:] *= 1e3
        bound *= 1e3
        solution = solve_means(means, bound)
        best = naive.best_basis(means.tolist(), bound.tolist())
        assert solution.feasible == (best is not None)
        if best is not None:
            value, basis, weights = best
            assert solution.basis == basis
            assert solution.value == pytest.approx(float(value), rel=1e-9)
            shares = [float(w) for j, w in zip(basis, weights, strict=True) if j < 6]
            np.testing.assert_allclose(solution.mixture[[j for j in basis if j < 6]], shares, rtol=1e-9)


@pytest.mark.parametrize("costs", range(1, 4))
def test_an_outlier_in_a_cost_leaves_the_answer_exact(costs):
    rng = np.random.default_rng([5, costs])
    for _ in range((0, 60, 40, 20)[costs]):
        means, bound = generators.grid(rng, "outlier", int(rng.integers(2, 7)), costs)
        best = naive.best_basis(means.tolist(), bound.tolist())
        solution = solve_means(means, bound)
        assert solution.feasible == (best is not None)
        if best is not None:
            assert solution.value == pytest.approx(float(best[0]), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("costs", range(1, 5))
@pytest.mark.parametrize("arms", [1, 2, 3, 8, 700])
def test_an_infeasible_problem_gives_the_mix_with_the_least_violation(costs, arms):
    rng = np.random.default_rng([costs, arms])
    for _ in range(30 if arms < 100 else 3):
        means = rng.normal(size=(arms, 1 + costs)) * 10.0 ** rng.integers(-3, 4, 1 + costs)
        bound = np.array([rng.choice([c.min() - 0.1 * abs(c.min()), np.quantile(c, 0.3)]) for c in means[:, 1:].T])
        solution = solve_means(means, bound)
        if highs(means, bound) is not None:
            continue
        total, widths = least_violation(means, bound)
        assert solution.status == "infeasible"
        assert not solution.feasible
        assert solution.mixture.sum() == pytest.approx(1.0)
        assert (solution.mixture >= 0).all()
        np.testing.assert_allclose(solution.slack, bound - solution.mixture @ means[:, 1:], rtol=1e-9, atol=1e-9)
        assert (solution.violation / widths).sum() == pytest.approx(total, rel=1e-7, abs=1e-9)
        assert np.isnan(solution.dual).all()


def test_the_least_violation_may_break_a_bound_that_the_first_arm_keeps():
    # Arm 0 breaks only the first bound, by 0.5. With a third of arm 1 only the second breaks, by 0.2.
    solution = solve_means(np.array([[1.0, 0.5, 0.0], [1.0, -1.0, 0.6], [1.0, 1.0, 1.0]]), np.zeros(2))
    np.testing.assert_allclose(solution.mixture, [2 / 3, 1 / 3, 0])
    np.testing.assert_allclose(solution.violation, [0.0, 0.2], atol=1e-12)


def test_twenty_thousand_arms():
    rng = np.random.default_rng(20)
    means, bound = rng.normal(size=(20_000, 4)), np.array([-1.0, -0.8, -0.9])
    solution = solve_means(means, bound)
    assert solution.value == pytest.approx(highs(means, bound), abs=1e-7)
    check_optimal(means, bound, solution)
    check_inverse(means, bound, solution)


def test_a_problem_whose_arms_are_all_known_can_be_solved():
    known = {"a": Known(1.0, {"x": 0.0}), "b": Known(3.0, {"x": 2.0})}
    solution = solve(Problem([], {"x": 0.5}, known))
    np.testing.assert_allclose(solution.mixture, [0.75, 0.25])
    assert solution.value == pytest.approx(1.5)
    np.testing.assert_allclose(solution.dual, [1.0])


def test_the_shadow_price_is_what_one_more_unit_adds():
    rng = np.random.default_rng(4)
    means, bound = rng.normal(size=(8, 3)), np.array([-0.5, -0.5])
    solution = solve_means(means, bound)
    assert (solution.dual > 0).any()
    for l in range(2):
        step = np.eye(2)[l] * 1e-6
        gained = solve_means(means, bound + step).value - solution.value
        assert gained / 1e-6 == pytest.approx(solution.dual[l], rel=1e-4, abs=1e-6)


def test_an_arm_at_its_bound_has_a_shadow_price_that_keeps_the_others_out():
    # Arm 0 alone is best, at its bound. Any price from 1 to 2 proves it: at 0 arm 1 would be better.
    means = np.array([[2.0, 1.0], [3.0, 2.0], [0.0, 0.0]])
    solution = solve_means(means, np.array([1.0]))
    assert solution.mixture.tolist() == [1.0, 0.0, 0.0]
    assert 1.0 <= solution.dual[0] <= 2.0


def test_without_bounds_the_best_mix_is_the_best_arm():
    solution = solve(Instance(reward=[1.0, 3.0, 2.0]))
    assert solution.mixture.tolist() == [0.0, 1.0, 0.0]
    assert (solution.value, solution.basis) == (3.0, (1,))
    assert solution.slack.shape == solution.dual.shape == (0,)


def test_restricted_columns_that_span_no_basis_are_degenerate():
    means = np.array([[1.0, 2.0], [3.0, 2.0]])
    assert solve_means(means, np.array([2.0]), np.array([0, 1])).status == "degenerate"
    assert solve_means(means, np.array([2.0]), np.array([0, 2])).value == 1.0


def test_columns_that_are_not_allowed_may_be_unknown():
    means = np.array([[1.0, 0.0], [np.nan, np.nan], [3.0, 2.0]])
    solution = solve_means(means, np.array([1.0]), np.array([0, 2, 3]))
    assert solution.basis == (0, 2)
    assert solution.value == 2.0
    np.testing.assert_array_equal(solution.mixture, [0.5, 0.0, 0.5])
    np.testing.assert_array_equal(solution.slack, [0.0])


@pytest.mark.parametrize("reward", [2.0**-60, 1.0, 2.0**60])
@pytest.mark.parametrize("cost", [2.0**-60, 1.0, 2.0**60])
def test_units_of_measurement_change_nothing(reward, cost):
    rng = np.random.default_rng(9)
    means, bound = rng.normal(size=(10, 3)), np.array([-0.5, 0.1])
    plain = solve_means(means, bound)
    units = np.array([reward, cost, 1.0])
    changed = solve_means(means * units, bound * units[1:])
    assert changed.basis == plain.basis
    np.testing.assert_array_equal(changed.mixture, plain.mixture)
    np.testing.assert_allclose(changed.dual * [cost, 1.0] / reward, plain.dual, rtol=1e-12)
    np.testing.assert_allclose(changed.value / reward, plain.value, rtol=1e-12)


def test_a_rare_but_very_rewarding_arm_keeps_its_small_share():
    # One in ten thousand million trials of the dear arm doubles the reward.
    means = np.array([[1.0, 0.0], [1e10, 1e10]])
    best = naive.best_basis(means.tolist(), [1.0])
    solution = solve_means(means, np.array([1.0]))
    assert solution.value == pytest.approx(float(best[0]), rel=1e-6)
    assert solution.mixture[1] == pytest.approx(float(Fraction(1, 10**10)), rel=1e-6)


@pytest.mark.parametrize("reward", [[0.0, 1.0], [1.0, 0.0]])
def test_of_mixes_that_violate_as_little_the_best_is_told(reward):
    found = solve(Instance(reward, [[2.0, 2.0]], [1.0]))
    assert not found.feasible
    assert found.mixture.tolist() == reward
