"""The structured simplex against SciPy's HiGHS, and laws of programs of segments."""

import numpy as np
import pytest
from tests.kernels.segment_problems import Data, highs, least_violation, loaded, outcome, random_data

from bestmix import Instance, solve
from bestmix.kernels import bounding, segments, simplex
from bestmix.kernels.segments import load


def check(data, program, status):
    """The answer keeps every row, and is as good as HiGHS'; whether it is feasible."""
    mixture, excess, _, value = outcome(program)
    failed, best = highs(data)
    size = np.abs(data.mu).max()
    np.testing.assert_allclose(data.totals @ mixture, data.weight, atol=1e-9)
    left = (data.right + excess - mixture @ data.rows) / data.scale
    assert (np.where(data.equality, -np.abs(left), left) >= -1e-8).all()
    assert value == pytest.approx(mixture @ data.mu, abs=1e-8 * size)
    assert (status, failed) in ((simplex.OPTIMAL, 0), (simplex.INFEASIBLE, 2))
    assert np.abs(excess / data.scale).sum() == pytest.approx(least_violation(data), abs=1e-8)
    if failed == 0:
        assert value == pytest.approx(best, abs=1e-8 * size)
    return failed == 0


@pytest.mark.parametrize("block", range(10))
def test_answers_are_those_of_highs(block):
    feasible = 0
    for seed in range(210):
        rng = np.random.default_rng([block, seed])
        data = random_data(rng) if seed % 4 == 0 else random_data(rng, 6, 8)
        program = loaded(data)
        feasible += check(data, program, bounding.maximise(program))
    assert 50 < feasible < 180


def test_a_warm_start_ends_at_the_same_value():
    restarted = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        data = random_data(rng, 12, 10)
        program = loaded(data)
        bounding.maximise(program)
        for size in (1e-3, 1.0, 0.0):
            moved = data._replace(mu=data.mu * (1 + size * rng.normal(size=data.mu.shape)))
            moved = moved._replace(rows=data.rows * (1 + size * rng.normal(size=data.rows.shape)))
            load(program, moved.mu, moved.rows, moved.right, moved.weight)
            restarted += check(moved, program, bounding.maximise(program))
    assert restarted > 50


def test_among_mixes_that_fail_the_least_the_best_is_chosen():
    # Both first arms exceed the limit by 1, the third by 2; the second pays more than the first.
    data = Data(*(np.array(a) for a in ([3], [1.0], [1.0, 2.0, 9.0], [[1.0], [1.0], [2.0]], [0.0], [False])))
    program = loaded(data)
    assert bounding.maximise(program) == simplex.INFEASIBLE
    mixture, excess, _, value = outcome(program)
    assert (mixture.tolist(), excess.tolist(), value) == ([0.0, 1.0, 0.0], [1.0], 2.0)


def test_an_equality_missed_from_below_says_so():
    data = Data(*(np.array(a) for a in ([2], [1.0], [1.0, 2.0], [[0.2], [0.3]], [0.5], [True])))
    program = loaded(data)
    assert bounding.maximise(program) == simplex.INFEASIBLE
    assert outcome(program)[1] == pytest.approx([-0.2])


@pytest.mark.parametrize("costs", range(5))
def test_one_segment_is_the_plain_program(costs):
    for seed in range(40):
        rng = np.random.default_rng([costs, seed])
        arms = int(rng.integers(1, 12))
        instance = Instance(rng.normal(size=arms), rng.normal(size=(costs, arms)), rng.normal(0.3, 0.3, costs))
        plain = solve(instance)
        rows = (instance.cost - instance.bound[:, None]).T
        data = Data(np.array([arms]), np.ones(1), instance.reward, rows, np.zeros(costs), np.zeros(costs, dtype=bool))
        program = loaded(data)
        assert (bounding.maximise(program) == simplex.OPTIMAL) == plain.feasible
        mixture, excess, prices, value = outcome(program)
        if plain.feasible:
            assert sorted([*program.key, *program.basis]) == list(plain.basis)
            assert value == pytest.approx(plain.value, rel=1e-12, abs=1e-12)
            np.testing.assert_allclose(mixture, plain.mixture, atol=1e-12)
            np.testing.assert_allclose(prices, plain.dual, rtol=1e-9, atol=1e-12)
        else:
            assert (excess / data.scale).sum() == pytest.approx((plain.violation / data.scale).sum(), abs=1e-9)


def test_splitting_a_segment_into_equal_halves_changes_nothing():
    compared = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        data = random_data(rng, 5, 6, 3)
        first = data.sizes[0]
        halves = Data(
            np.r_[first, data.sizes],
            np.r_[data.weight[0] / 2, data.weight[0] / 2, data.weight[1:]],
            np.r_[data.mu[:first], data.mu],
            np.vstack([data.rows[:first], data.rows]),
            data.right,
            data.equality,
        )
        one, two = loaded(data), loaded(halves)
        assert bounding.maximise(one) == bounding.maximise(two)
        (mixture, excess, prices, value), (split, missed, dual, same) = outcome(one), outcome(two)
        assert same == pytest.approx(value, abs=1e-9 * np.abs(data.mu).max())
        np.testing.assert_allclose((missed / data.scale).sum(), (excess / data.scale).sum(), atol=1e-9)
        if len(np.unique(data.mu)) == len(data.mu) and not excess.any():  # without ties the mix is unique
            joined = split[first:].copy()
            joined[:first] += split[:first]
            np.testing.assert_allclose(joined, mixture, atol=1e-8)
            np.testing.assert_allclose(dual, prices, rtol=1e-7, atol=1e-9)
            compared += 1
    assert compared > 10


def test_segments_with_one_arm_each_are_a_fixed_mix():
    data = Data(
        np.array([1, 1]),
        np.array([0.7, 0.3]),
        np.array([1.0, 3.0]),
        np.array([[-0.5], [0.8]]),
        np.zeros(1),
        np.zeros(1, dtype=bool),
    )
    program = loaded(data)
    assert bounding.maximise(program) == simplex.OPTIMAL
    mixture, _, prices, value = outcome(program)
    assert (mixture.tolist(), prices.tolist(), value) == ([0.7, 0.3], [0.0], pytest.approx(1.6))
    assert program.basis.tolist() == [2]  # the slack
    assert program.x * program.scale[2] == pytest.approx([0.11])


def test_a_limit_on_a_segment_alone_leaves_the_others():
    rows = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]])
    program = loaded(
        Data(
            np.array([2, 2]),
            np.array([0.5, 0.5]),
            np.array([0.0, 1.0, 0.0, 2.0]),
            rows,
            np.zeros(2),
            np.zeros(2, dtype=bool),
        )
    )
    assert bounding.maximise(program) == simplex.OPTIMAL
    np.testing.assert_allclose(outcome(program)[0], [0.25, 0.25, 0.25, 0.25])
    np.testing.assert_allclose(outcome(program)[2], [0.5, 1.0])


def test_the_inverse_is_that_of_the_basis():
    for seed in range(20):
        program = loaded(random_data(np.random.default_rng(seed), 6, 6))
        bounding.maximise(program)
        limits = len(program.right)
        matrix = np.empty((limits, limits))
        for i, j in enumerate(program.basis):
            bounding.set_entries(program, j, matrix[:, i])
        np.testing.assert_allclose(program.inverse @ matrix, np.eye(limits), atol=1e-9)
        assert [segments.segment_of(program, j) for j in program.basis] == program.owner.tolist()
