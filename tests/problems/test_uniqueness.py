import re

import pytest

from bestmix import Instance, Problem, families
from bestmix.problems.uniqueness import broken_condition, is_settled


@pytest.mark.parametrize(
    ("reward", "cost", "settled"),
    [
        ([1.0, 0.5], [[0.5, 0.5]], True),
        ([1.0, 1.0], [[0.5, 0.5]], False),  # two best arms
        ([1.0, 0.5], [[1.0, 0.5]], False),  # the bound is met exactly
        ([1.0, 0.5], [[1.5, 1.2]], False),  # infeasible
        ([1.0, 0.0, 0.5], [[1.5, 0.5, 1.0]], False),  # a third arm on the frontier
        ([0.5, 0.5], [[0.5, 1.5]], False),  # a price of zero
    ],
)
def test_settled(reward, cost, settled):
    assert is_settled(Instance(reward, cost, [1.0])) is settled


def test_settled_without_costs():
    assert is_settled(Instance([1.0, 2.0]))
    assert not is_settled(Instance([2.0, 2.0]))
    assert not is_settled(Instance([1.0, 2.0]), margin=1.5)


@pytest.mark.parametrize(
    ("reward", "cost", "part"),
    [
        ([1.0, 1.0], [[0.5, 0.5]], "not unique"),
        ([1.0, 0.5], [[1.0, 0.5]], "degenerate: .* with a weight of zero"),
        ([1.0, 0.5], [[1.5, 1.2]], "no mix keeps all bounds; the nearest one misses cost0 by"),
    ],
)
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_condition_that_fails_is_named_in_any_unit(reward, cost, part, unit):
    scaled = [[unit * c for c in cost[0]]]
    assert re.search(part, broken_condition(Instance([unit * r for r in reward], scaled, [unit])))


def broken(limits, *rewards):
    asked = Problem([f"arm{a}" for a in range(len(rewards))], limits=limits)
    return broken_condition(Instance.from_problem(asked, [[r] for r in rewards]))


def test_of_limits_of_every_kind():
    assert broken_condition(families.random_segments(3, arms=3, costs=1, seed=1)) is None
    assert broken(["share(arm1) <= 40%"], 1.0, 2.0) is None
    assert "arm1 could take part at no loss" in broken(["share(arm2) <= 40%"], 1.0, 1.0, 0.0)
    assert "no mix keeps all bounds" in broken(["share(arm0) >= 70%", "share(arm1) >= 50%"], 1.0, 2.0)


def test_a_change_of_basis_that_leaves_the_answer_is_none():
    """A limit on an arm's share that equals its segment's: met exactly, and the answer cannot move."""
    asked = Problem(["a", "b"], limits=["share(a) <= 70%"], segments={"x": 0.7, "y": 0.3})
    means = {"x": {"a": {"reward": 2.0}, "b": {"reward": 1.0}}, "y": {"a": {"reward": 0.0}, "b": {"reward": 1.0}}}
    assert broken_condition(Instance.from_problem(asked, means)) is None
