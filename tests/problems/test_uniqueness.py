import re

import pytest

from bestmix import Instance
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
