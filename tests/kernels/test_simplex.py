import numpy as np
import pytest
from tests import generators, naive

from bestmix.kernels import simplex
from bestmix.problems.solution import scaled

pytestmark = pytest.mark.parametrize("speed", ["plain", "machine"], indirect=True)


def maximise(means, bound, chosen, basis=None):
    """(status, value, basis)."""
    program, scale = scaled(means, bound, chosen)
    found = simplex.new_basis(len(bound))
    if basis is not None:
        found.column[:] = basis
    status = simplex.maximise(program, found)
    value = scale[0] + scale[1] * simplex.prices(found)[len(bound)] if status == simplex.OPTIMAL else None
    return status, value, found


@pytest.mark.parametrize("kind", generators.KINDS)
@pytest.mark.parametrize("costs", range(5))
def test_status_and_value_are_those_of_all_bases(costs, kind):
    rng = np.random.default_rng([7, costs, generators.KINDS.index(kind)])
    for _ in range((60, 100, 60, 25, 10)[costs]):
        arms = int(rng.integers(1, 7))
        means, bound = generators.grid(rng, kind, arms, costs)
        chosen = generators.subset(rng, arms + costs, 1)
        best = naive.best_basis(means.tolist(), bound.tolist(), chosen.tolist())
        status, value, basis = maximise(means, bound, chosen)
        assert (status == simplex.OPTIMAL) == (best is not None)
        if best is not None:
            assert value == pytest.approx(float(best[0]), rel=1e-10, abs=1e-10)
            assert (simplex.weights(basis) >= -1e-10).all()
            assert len(set(basis.column)) == costs + 1
            assert basis.column.min() >= 0


def test_the_inverse_is_that_of_the_basis():
    rng = np.random.default_rng(3)
    for costs in range(5):
        means, bound = rng.normal(size=(12, 1 + costs)), np.full(costs, 0.4)
        means[0, 1:] = 0.0
        program, _ = scaled(means, bound, np.arange(12 + costs))
        _, _, basis = maximise(means, bound, np.arange(12 + costs))
        matrix = np.vstack([program.u[basis.column].T, program.e[basis.column]])
        np.testing.assert_allclose(simplex.inverse(basis) @ matrix, np.eye(costs + 1), atol=1e-9)


def test_columns_that_span_no_basis_are_deficient():
    at_bound = np.array([[1.0, 2.0], [3.0, 2.0]])
    assert maximise(at_bound, np.array([2.0]), np.array([0, 1]))[0] == simplex.DEFICIENT
    assert maximise(at_bound, np.array([2.0]), np.array([0, 1, 2]))[0] == simplex.OPTIMAL
    assert maximise(at_bound, np.array([2.0]), np.array([2]))[0] == simplex.INFEASIBLE  # a slack alone


@pytest.mark.parametrize("start", [[0, 1], [0, 0], [2, 3], [-1, 0], [6, 0], [0, 10**9]])
def test_any_warm_start_ends_at_the_same_value(start):
    means = np.array([[1.7, 0.0], [2.6, 1.8], [0.5, 0.8], [2.1, 1.3], [1.2, 2.0]])
    status, value, basis = maximise(means, np.array([1.0]), np.arange(6), start)
    assert (status, value) == (simplex.OPTIMAL, pytest.approx(2.2))
    assert sorted(basis.column) == [0, 1]


def test_a_problem_that_makes_naive_pivoting_cycle_ends():
    # Beale's example: three degenerate rows at a vertex; the last arm keeps all mixes bounded.
    means = np.array(
        [
            [0.75, 0.25, 0.5, 0.0],
            [-150.0, -60.0, -90.0, 0.0],
            [0.02, -0.04, -0.02, 1.0],
            [-6.0, 9.0, 3.0, 0.0],
            [0.0] * 4,
        ]
    )
    bound = np.array([0.0, 0.0, 0.01])
    best = naive.best_basis(means.tolist(), bound.tolist())
    status, value, _ = maximise(means, bound, np.arange(8))
    assert status == simplex.OPTIMAL
    assert value == pytest.approx(float(best[0]), rel=1e-9)


@pytest.mark.parametrize("tiny", [1e-16, 1e-30, 1e-124, 5e-324])
def test_a_reward_within_rounding_of_another_does_not_make_it_pivot_for_ever(tiny):
    means = np.array([[tiny, 0.0, 0.0, 1.0], [-1.0, -1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    status, value, _ = maximise(means, np.zeros(3), np.arange(6))
    assert status == simplex.OPTIMAL
    assert value == pytest.approx(0.0, abs=1e-15)


def test_rates_with_many_ties_are_solved():
    events = [[216, 116, 108, 50], [270, 276, 134, 68], [28, 338, 104, 94], [192, 340, 162, 246]]
    events += [[188, 154, 200, 344], [98, 110, 302, 178], [338, 232, 202, 42], [370, 130, 234, 378]]
    status, value, _ = maximise(np.array(events) * (1 / 199), np.ones(3), np.arange(11))
    assert status == simplex.OPTIMAL
    assert value == pytest.approx(335 / 199)
