import numpy as np

from bestmix import Instance, catalog, solve
from bestmix.theory.limit.conditions import conditions_of, points_of


def conditions(instance):
    solution = solve(instance)
    return conditions_of(points_of(instance, solution, instance.covariance), solution)


def test_every_column_has_a_condition():
    found = conditions(catalog.load("D2P"))
    assert [c.column for c in found] == list(range(26))


def test_the_plane_of_a_condition_holds_slacks_and_known_arms():
    instance = Instance([1.7, 2.6, 0.5, 0.3], [[0.0, 1.8, 0.8, 0.4]], [1.0], known=1)
    points = points_of(instance, solve(instance), instance.covariance)
    for condition in conditions(instance):
        fixed = [j for j in condition.support if j >= points.movable]
        rows = np.column_stack([points.columns, -points.total])[fixed]
        assert np.abs(rows @ condition.free).max(initial=0.0) < 1e-12
        assert condition.arms.max() < points.movable


def test_what_nothing_unknown_can_break_is_no_condition():
    assert conditions(Instance([1.0, 0.5], [[0.2, 0.4]], [1.0], known=2)) == []


def test_with_one_cost_and_no_feasible_mix_some_arm_must_become_feasible():
    found = conditions(Instance([1.0, 0.5, 0.2], [[2.0, 1.5, 1.3]], [1.0]))
    assert [c.support for c in found] == [(0,), (1,), (2,)]
