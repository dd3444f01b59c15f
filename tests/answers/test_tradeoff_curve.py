import json
import math

import pytest
from tests.answers.tradeoffs import THREE, at_most

from bestmix import Instance, Known, Problem, Uniform, tradeoff


def test_pieces_join_and_the_last_never_ends():
    pieces = tradeoff(THREE).pieces
    assert [(p.low, p.high, p.slope) for p in pieces] == [(0.0, 1.0, 0.75), (1.0, 2.0, 0.25), (2.0, math.inf, 0.0)]
    assert all(a.high == b.low and a.high_value == b.low_value for a, b in zip(pieces, pieces[1:], strict=False))


def test_below_the_least_bound_there_is_no_mix():
    found = tradeoff(THREE)
    assert not found.at(-0.1).feasible
    assert math.isnan(found.at(-0.1).value)
    assert found.at(99.0).value == 2.0


def test_all_of_a_share_can_be_asked_where_rounding_ends_a_little_before():
    mean = {("s0", "a0"): -0.042, ("s0", "a1"): -0.699, ("s0", "a2"): -0.665}
    mean |= {("s1", "a0"): -0.661, ("s1", "a1"): -2.177, ("s1", "a2"): -0.623}
    cells = [cell for cell in mean for _ in range(2)]
    log = {"arm": [arm for _, arm in cells], "seg": [segment for segment, _ in cells]}
    log |= {"q": [value + apart for value in mean.values() for apart in (-0.1, 0.1)]}
    shares, limit = {"s0": 0.26694349307231763, "s1": 0.7330565069276823}, "share(a0) >= 17%"
    asked = {"goal": "minimise q", "segment": "seg", "segments": shares, "limits": [limit]}
    found = tradeoff(log, limit, **asked)
    assert found.keepable(1.0)
    assert found.at(1.0).feasible
    assert found.at(1.0).value == pytest.approx(sum(shares[s] * mean[s, "a0"] for s in shares))
    assert not found.keepable(1.0 + 1e-9)
    assert not found.at(1.0 + 1e-9).feasible


def test_what_rounding_is_does_not_grow_with_what_all_costs_have_in_common():
    found = tradeoff(Instance([1.0, 1.75, 2.0], [[1e10 + 1, 1e10 + 2, 1e10 + 3]], [1e10 + 1.5]))
    assert found.keepable(1e10 + 1)
    assert not found.keepable(1e10 + 1 - 0.001)


def test_a_bound_of_zero_moves_by_its_range():
    found = tradeoff(Instance([1.0, 2.0], [[-1.0, 3.0]], [0.0]))
    assert "A limit on cost0 of 0.8 instead of 0 would earn 0.20 more (1.25 -> 1.45)." in found.sentences()


def test_plain_data_has_everything():
    found = at_most(points=3)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["pieces"][-1]["high"] is None
    assert data["value"] == found.at(3.0).value
    assert len(data["safe"]) == len(found.safe)


@pytest.mark.parametrize("bound", [float("inf"), float("nan"), "2"])
def test_a_bound_to_look_at_is_a_finite_number(bound):
    with pytest.raises(ValueError, match="bound: expected a finite number"):
        tradeoff(Instance([1.0, 2.0], [[0.0, 3.0]], [1.0])).at(bound)


def test_a_chance_is_not_moved_beyond_one():
    known = {"a": Known(1.0), "b": Known(2.0)}
    rec = Uniform().start(Problem([], limits=["share(b) <= 90%"], known=known), budget=0).recommend()
    assert tradeoff(rec).changed_bounds == (1.0, pytest.approx(0.72))
