import numpy as np
import pytest
from tests.theory.gaps.brute import brute_gap

from bestmix import Instance, gaps, solve
from bestmix.theory.gaps.geometry import geometry_of
from bestmix.theory.gaps.regularity import can_be_basis, can_rest_on

AT_ITS_BOUND = Instance([1, 0.2], [[0.9, 1.0]], [1.0], known=1)
SAME_COSTS = Instance([1, 0.2, 0.1], [[0.9, 0.5, 0.5], [0.8, 0.4, 0.4]], [1, 1], known=2)


def shape(instance):
    return geometry_of(instance, solve(instance))


def test_known_arms_with_the_same_costs_are_no_basis_together():
    assert not can_be_basis(shape(SAME_COSTS), (0, 1, 2))
    assert can_be_basis(shape(SAME_COSTS), (0, 1, 3))


def test_an_arm_at_its_bound_leaves_no_weight_for_another():
    assert can_be_basis(shape(AT_ITS_BOUND), (0, 1))
    assert not can_rest_on(shape(AT_ITS_BOUND), (0, 1), (0,))
    within = Instance([1, 0.2], [[0.9, 0.7]], [1.0], known=1)
    assert can_rest_on(shape(within), (0, 1), (0,))


def test_gaps_of_such_bases_are_those_of_the_definition():
    found = gaps(AT_ITS_BOUND).alternative((0, 1))
    assert (found.gap, found.proven) == (pytest.approx(0.8), True)
    never = gaps(SAME_COSTS).alternative((0, 1, 2))
    assert (never.gap, never.proven) == (float("inf"), True)


@pytest.mark.parametrize(("instance", "rival", "gap"), [(AT_ITS_BOUND, (0, 1), 0.8), (SAME_COSTS, (0, 1, 2), np.inf)])
def test_brute_force_agrees(instance, rival, gap):
    rng = np.random.default_rng(0)
    assert brute_gap(instance, solve(instance).basis, rival, rng, starts=2) == pytest.approx(gap)
