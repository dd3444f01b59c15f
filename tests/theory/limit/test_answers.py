import itertools

import numpy as np
import pytest
from tests.theory.gaps.brute import columns, weights_and_value

from bestmix import Instance, solve
from bestmix.checks import InvalidInput
from bestmix.theory.limit.answers import Answers, Tolerance, right_answers


def naive(instance, means, tolerance):
    """The definition, one basis at a time."""
    size, found = len(means) + len(instance.bound), set()
    best = solve(Instance(means[:, 0], means[:, 1:].T, instance.bound))
    for basis in itertools.combinations(range(size), 1 + len(instance.bound)):
        if (one := weights_and_value(instance, means, basis)) is None:
            continue
        weight, value = one
        least = [-tolerance.cost[j - len(means)] if j >= len(means) else 0.0 for j in basis]
        if (weight >= least).all() and (not best.feasible or value >= best.value - tolerance.reward):
            found.add(basis)
    return found


@pytest.mark.parametrize("costs", [0, 1, 2])
def test_right_answers_are_those_of_the_definition(costs):
    rng = np.random.default_rng(costs)
    for _ in range(20):
        instance = Instance(rng.normal(size=4), rng.uniform(0.5, 2, (costs, 4)), np.ones(costs))
        tolerance = Tolerance(rng.exponential(0.5), rng.exponential(0.2, costs))
        found = right_answers(instance.means, instance.bound, tolerance)
        assert set(map(tuple, found.bases.tolist())) == naive(instance, instance.means, tolerance)
        there = instance.means + rng.normal(0, 0.3, instance.means.shape)
        still = found.bases[found.right(there)]
        assert set(map(tuple, still.tolist())) == set(map(tuple, found.bases.tolist())) & naive(
            instance, there, tolerance
        )


def test_without_a_tolerance_only_the_best_basis_is_right():
    instance = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0])
    found = right_answers(instance.means, instance.bound, Tolerance(0.0, np.zeros(1)))
    assert found.bases.tolist() == [list(solve(instance).basis)]


def test_columns_without_a_balance_are_no_answer():
    means, bound = np.array([[1.0, 1.0], [2.0, 1.0]]), np.array([1.0])  # both arms exactly at the bound
    same = Answers(bound, Tolerance(9.0, np.zeros(1)), np.array([[0, 1]]))
    assert not same.right(means).any()
    assert columns(Instance(means[:, 0], means[:, 1:].T, bound), means)[0][:2].tolist() == [[0.0], [0.0]]


def test_too_many_bases_are_refused():
    with pytest.raises(InvalidInput, match="leave out arms"):
        right_answers(np.zeros((200, 4)), np.ones(3), Tolerance(0.1, np.zeros(3)))
