import math

import numpy as np
import pytest
from tests import generators, naive

from bestmix.kernels import bases, jit, scores, simplex
from bestmix.problems.solution import scaled, solve_means


def intersection(means, bound, chosen, wanted):
    """(status, scores in the units of the reward, exact, loser)."""
    program, scale = scaled(means, bound, chosen)
    costs, n = len(bound), len(chosen)
    score, state = np.empty(n), np.empty(n, dtype=np.int64)
    basis, tableau = simplex.new_basis(costs), bases.workspace(costs, n)
    status = scores.intersection_values(program, basis, tableau, wanted, score, state)
    loser = scores.loser(program, score) if status == simplex.OPTIMAL else -1
    return status, scale[0] + scale[1] * score, state == scores.EXACT, loser


def weights(means, bound, chosen):
    """Of the chosen columns in the optimum; where there are several optima, in the one that the program finds."""
    solution = solve_means(means, bound, chosen)
    weight = np.r_[solution.mixture, solution.slack][chosen]
    return np.where(weight > 1e-9, weight, 0.0)


def spare(means, bound, chosen):
    return naive.spare(means.tolist(), bound.tolist(), chosen.tolist(), weights(means, bound, chosen))


def lagrangian(means, bound, chosen):
    program, scale = scaled(means, bound, chosen)
    score = np.empty(len(chosen))
    status = scores.lagrangian(program, scale, simplex.new_basis(len(bound)), score)
    return status, scale[1] * score


def problems(costs, kind, count, subsets, most):
    rng = np.random.default_rng([costs, generators.KINDS.index(kind), subsets])
    for _ in range(count):
        arms = int(rng.integers(1, most + 1))
        means, bound = generators.grid(rng, kind, arms, costs)
        columns = arms + costs
        chosen = generators.subset(rng, columns, costs + 1) if subsets else np.arange(columns)
        yield means, bound, chosen


COUNTS = {0: (40, 8), 1: (150, 8), 2: (90, 7), 3: (30, 6), 4: (10, 5)}
cases = pytest.mark.parametrize(
    ("costs", "kind", "subsets"),
    [(costs, kind, subsets) for costs in COUNTS for kind in generators.KINDS for subsets in (False, True)],
)


def test_a_slack_whose_row_has_no_other_column_is_not_rejected():
    """All arms cost exactly the first bound, so that its slack alone makes a basis of them."""
    means = np.array([[0.1, 1.0, 1.0], [1.0, 1.0, 2.0], [0.6, 1.0, 1.0], [0.3, 1.0, 1.0]])
    bound, chosen = np.array([1.0, 2.0]), np.arange(6)
    rejected = []
    while len(chosen) > 3:
        status, _, _, loser = intersection(means, bound, chosen, len(chosen))
        assert status == simplex.OPTIMAL
        rejected.append(int(chosen[loser]))
        chosen = np.delete(chosen, loser)
    assert {1, 4} < set(chosen.tolist())


@cases
def test_intersection_values_are_those_of_the_paper(costs, kind, subsets):
    count, most = COUNTS[costs]
    for means, bound, chosen in problems(costs, kind, count, subsets, most):
        expected = naive.iv_scores(means.tolist(), bound.tolist(), chosen.tolist())
        status, score, exact, loser = intersection(means, bound, chosen, len(chosen))
        if max(expected) == naive.INFEASIBLE:
            assert status in (simplex.INFEASIBLE, simplex.DEFICIENT)
            assert (score == -np.inf).all()
            assert loser == -1
            continue
        assert status == simplex.OPTIMAL
        assert exact.all()
        np.testing.assert_allclose(score, [float(s) for s in expected], rtol=1e-9, atol=1e-9)
        assert loser == naive.loser(expected, spare(means, bound, chosen))
        for wanted in (1, 2):
            status, score, exact, loser = intersection(means, bound, chosen, wanted)
            assert status == simplex.OPTIMAL
            assert loser == naive.loser(expected, spare(means, bound, chosen))
            assert exact[loser]
            assert (score <= np.array([float(s) for s in expected]) + 1e-9).all()  # the others are lower bounds


@cases
def test_lagrangian_scores_are_reduced_costs_of_an_optimal_basis(costs, kind, subsets):
    count, most = COUNTS[costs]
    for means, bound, chosen in problems(costs, kind, count // 2, subsets, most):
        found = naive.dual_solutions(means.tolist(), bound.tolist(), chosen.tolist())
        status, score = lagrangian(means, bound, chosen)
        if found:
            assert status == simplex.OPTIMAL
            distances = [max(abs(float(d) - s) for d, s in zip(reduced, score, strict=True)) for _, reduced in found]
            assert min(distances) < 1e-9
        else:  # infeasible; or the columns span no basis, and the dual program is bounded all the same
            bounded = max(naive.lagrangian_scores_float(means, bound, chosen)) > naive.INFEASIBLE
            assert (status == simplex.OPTIMAL) == bounded
            assert (score > -np.inf).all() == bounded
            assert score.max() == (0.0 if bounded else -np.inf)


# Few, some and many columns take different ways in the kernels.
@pytest.mark.parametrize(
    ("costs", "arms", "kind", "count"),
    [(1, 45, kind, 6) for kind in generators.KINDS]
    + [(2, 20, kind, 2) for kind in generators.KINDS]
    + [(2, 65, "eighths", 1)],
)
def test_many_columns(costs, arms, kind, count):
    rng = np.random.default_rng([costs, arms, generators.KINDS.index(kind)])
    for _ in range(count):
        means, bound = generators.grid(rng, kind, arms, costs)
        chosen = generators.subset(rng, arms + costs, arms + costs - 1)
        expected = naive.iv_scores(means.tolist(), bound.tolist(), chosen.tolist())
        for wanted in (1, len(chosen)):
            _, score, exact, loser = intersection(means, bound, chosen, wanted)
            free = spare(means, bound, chosen)
            assert loser == (naive.loser(expected, free) if max(expected) > naive.INFEASIBLE else -1)
            sure = np.array([float(s) for s in expected])[exact]
            np.testing.assert_allclose(score[exact], sure, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("costs", "arms"), [(1, 60), (2, 22), (3, 12), (4, 9)])
def test_gaussian_means_lose_the_same_column_as_in_plain_numpy(costs, arms):
    rng = np.random.default_rng(costs)
    for _ in range(6):
        means, bound = rng.normal(size=(arms, 1 + costs)), rng.normal(0.3, 0.3, costs)
        chosen = np.arange(arms + costs)
        expected = naive.iv_scores_float(means, bound)
        status, score, exact, loser = intersection(means, bound, chosen, 1)
        if max(expected) == naive.INFEASIBLE:
            assert status == simplex.INFEASIBLE
            continue
        assert loser == int(np.argmin(expected))
        np.testing.assert_allclose(score[exact], np.array(expected)[exact], rtol=1e-8, atol=1e-8)
        _, score, _, _ = intersection(means, bound, chosen, len(chosen))
        np.testing.assert_allclose(score, expected, rtol=1e-8, atol=1e-8)


def test_a_warm_start_gives_the_same_scores():
    rng = np.random.default_rng(5)
    for costs in (1, 2, 3):
        basis = simplex.new_basis(costs)
        means, bound = rng.normal(size=(9, 1 + costs)), np.full(costs, 0.5)
        means[0, 1:] = 0.0
        for _ in range(20):
            means = means + 0.1 * rng.normal(size=means.shape)
            means[0, 1:] = 0.0
            program, _ = scaled(means, bound, np.arange(9 + costs))
            cold, warm, state = np.empty(9 + costs), np.empty(9 + costs), np.empty(9 + costs, dtype=np.int64)
            tableau, n = bases.workspace(costs, 9 + costs), 9 + costs
            scores.intersection_values(program, simplex.new_basis(costs), tableau, n, cold, state)
            scores.intersection_values(program, basis, tableau, n, warm, state)
            np.testing.assert_allclose(warm, cold, rtol=1e-9, atol=1e-9)


FIVE = np.array([[1.7, 0.0], [2.6, 1.8], [0.5, 0.8], [2.1, 1.3], [1.2, 2.0]])  # (reward, cost), bound 1


def through(i, j):
    """Height at cost 1 of the line through two arms of the figure."""
    (r, c), (s, d) = FIVE[i], FIVE[j]
    return r + (s - r) * (1.0 - c) / (d - c)


def test_the_five_arms_of_the_figure_score_what_it_shows():
    _, score, _, loser = intersection(FIVE, np.array([1.0]), np.arange(6), 6)
    shown = [through(0, 1), through(0, 1), through(2, 3), through(0, 3), through(0, 4)]
    np.testing.assert_allclose(score[:5], shown, rtol=1e-12)
    assert score[0] == pytest.approx(2.2)
    # The slack's best partner is arm 1, which is feasible alone; arms 3 and 5 gain nothing from the slack.
    assert score[5] == pytest.approx(1.7)
    assert FIVE[2, 0] < shown[2]
    assert loser == 2


def test_ties_reject_the_last_and_an_infinite_low_is_exact():
    assert scores.last_lowest(np.array([1.0, 0.0, 0.0, 2.0]), scores.TIE) == 2
    assert scores.last_lowest(np.array([1.0, 0.0, 1e-13, 2.0]), scores.TIE) == 2
    assert scores.last_lowest(np.array([1.0, 0.0, 1e-9, 2.0]), scores.TIE) == 1
    assert scores.last_lowest(np.array([-math.inf, 0.0, -math.inf, 2.0]), scores.TIE) == 2


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9, 1e20])
def test_infeasible_arms_go_before_feasible_ones_and_the_worst_violation_first(size):
    rewards = np.array([-3.0, 5.0, 0.0, 2.0]) * size
    score = np.empty(4)
    means = np.column_stack([rewards, [0.0, 1.2, 1.1, 0.9]])
    order, left = [], np.arange(4)
    while len(left) > 1:
        loser = scores.worst_alone(means, np.array([1.0]), left, score[: len(left)])
        order.append(int(left[loser]))
        left = np.delete(left, loser)
    assert order == [1, 2, 0]
    scores.worst_alone(means, np.array([1.0]), np.arange(4), score)
    np.testing.assert_array_equal(score, [rewards[0], -math.inf, -math.inf, rewards[3]])


def test_scores_run_inside_compiled_code():
    @jit.compiled
    def inside(program, scale, basis, score):
        return scores.lagrangian(program, scale, basis, score)

    program, scale = scaled(FIVE, np.array([1.0]), np.arange(6))
    score = np.empty(6)
    assert jit.machine(inside)(program, scale, simplex.new_basis(1), score) == simplex.OPTIMAL
    np.testing.assert_array_equal(scale[1] * score, lagrangian(FIVE, np.array([1.0]), np.arange(6))[1])


def test_of_columns_that_tie_those_of_the_optimum_stay():
    """Arm 1 costs exactly its bound and is the optimum: so is every basis that holds it, and all scores tie."""
    means, bound = np.array([[0.5, 0.5], [1.0, 1.0], [0.2, 0.4]]), np.array([1.0])
    _, score, _, loser = intersection(means, bound, np.arange(4), 4)
    assert np.ptp(score) < 1e-12
    assert loser == 3  # the slack, which stands last
    assert intersection(means, bound, np.arange(3), 3)[3] == 2
    assert intersection(means, bound, np.arange(2), 2)[3] == 0  # not arm 1, although it stands last
