import numpy as np
import pytest

from bestmix.problems.solution import solve_means
from bestmix.strategies.proven.columns import is_answer

MEANS = np.array([[1.7, 0.0], [2.6, 1.8], [0.5, 0.8]])
EXACT, NOISY = np.zeros(2), np.ones(2)


@pytest.mark.parametrize("scale", [EXACT, NOISY])
def test_an_answer_has_positive_weights_and_negative_reduced_costs(scale):
    bound = np.array([1.0])
    assert is_answer(MEANS, bound, scale, [0, 1])
    assert not is_answer(MEANS, bound, scale, [1, 2])
    assert not is_answer(MEANS[[0, 0, 1]], bound, scale, [0, 1])


def test_what_the_program_forgives_is_no_answer():
    """The program forgives a little of the spread of the costs, which may be a lot in units of the noise."""
    means, bound = np.array([[1.0, 1.0], [0.0, 1e11]]), np.array([0.0])
    assert solve_means(means, bound).status == "optimal"
    assert not is_answer(means, bound, NOISY, [0, 2])


@pytest.mark.parametrize("move", [0.0, 1e-16, 1e-12, 1e-9])
def test_what_is_within_rounding_of_a_tie_is_one(move):
    on_a_line = np.array([[0.1, 0.1], [0.7, 0.7], [0.3, 0.3 + move]])  # 0.3 is not quite on it in binary
    assert is_answer(on_a_line, np.array([0.4]), EXACT, [0, 1]) == (move > 1e-15)
    at_the_bound = np.array([[1.0, 0.1 - move], [2.0, 0.3]])
    assert is_answer(at_the_bound, np.array([0.1]), EXACT, [0, 1]) == (move > 1e-15)


def test_far_values_leave_small_differences_between_them():
    means = MEANS + 1e6
    assert is_answer(means, np.array([1e6 + 1.0]), EXACT, [0, 1])
    assert is_answer(MEANS * [1e-9, 1e9], np.array([1e9]), EXACT, [0, 1])
