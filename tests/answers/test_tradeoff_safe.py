import json

import numpy as np
import pytest
from tests.answers.tradeoffs import at_least, at_most, log

from bestmix import Instance, from_log, tradeoff
from bestmix.answers.tradeoff_curve import SafePoint
from bestmix.answers.tradeoff_safe import _curve, rising, shown_range


def test_the_safe_mix_earns_less_than_the_optimum_and_lies_in_its_interval():
    found = at_most()
    assert found.safety == 0.95
    assert len(found.safe) > 20
    for point in found.safe:
        assert point.value <= found.at(point.bound).value + 1e-9
        assert point.interval[0] <= point.value <= point.interval[1]
        assert sum(point.mixture.values()) == pytest.approx(1.0)
    assert found.safe_at(3.0) is not None
    assert [p.bound for p in found.safe] == sorted(p.bound for p in found.safe)


def test_without_safety_there_is_only_the_curve():
    found = at_most(safety=None)
    assert (found.safe, found.safety) == ((), None)
    assert found.pieces


@pytest.mark.parametrize("least", [False, True])
def test_a_mix_that_is_certain_of_a_tighter_limit_is_so_of_a_looser_one(least):
    found = at_least(points=2) if least else at_most(points=2)
    sign = -1.0 if least else 1.0  # dollars to minimise, under a limit that is looser the smaller it is
    values = [1.0, 3.0, 2.0, 2.5, 4.0]
    points = [SafePoint(sign * k, sign * v, (v - 1, v + 1), {f"mix{k}": 1.0}) for k, v in enumerate(values)]
    line = sorted(rising(found, points), key=lambda point: sign * point.bound)
    assert [sign * point.value for point in line] == [1.0, 3.0, 3.0, 3.0, 4.0]
    assert [next(iter(point.mixture)) for point in line] == ["mix0", "mix1", "mix1", "mix1", "mix4"]
    assert [sign * point.bound for point in line] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert line[2].interval == points[1].interval
    kept = sorted(rising(found, points, own=points[2]), key=lambda point: sign * point.bound)
    assert [sign * point.value for point in kept] == [1.0, 3.0, 2.0, 3.0, 4.0]  # what was recommended stays


def test_at_the_limit_as_it_is_the_line_has_what_is_recommended():
    """Whatever is certain of a tighter limit: one question has one answer."""
    found = at_most(points=2)
    line = _curve(found, 5, lambda bound: SafePoint(bound, -abs(bound - 1.0), (-9.0, 9.0), {str(bound): 1.0}))
    assert min(point.bound for point in line) < found.bound
    own = next(point for point in line if point.bound == found.bound)
    assert own.mixture == {str(found.bound): 1.0}
    asked = {"reward": "quality", "bounds": {"dollars": 3.0}}
    assert tradeoff(log(), **asked).safe_at(3.0).value == from_log(log(), **asked).value


def test_a_tail_moves_between_nothing_and_all():
    data = log() | {"seconds": [1.0, 3.0] * 90}
    found = tradeoff(data, reward="quality", limits=["p(seconds > 2) <= 50%"], points=4)
    assert all(0.0 <= point.bound <= 1.0 for point in found.safe)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["limit"] == "p(seconds > 2) <= 50%"


def test_where_nothing_is_certain_at_the_limit_the_first_that_is_so_is_said():
    rng = np.random.default_rng(3)
    told = {"arm": ["a"] * 60 + ["b"] * 60, "reward": rng.normal(1.0, 0.1, 120).tolist()}
    told["refusal"] = [0.0] * 59 + [1.0] + [0.0] * 57 + [1.0] * 3
    found = tradeoff(told, "refusal", bounds={"refusal": 0.03})
    assert found.safe_at(0.03) is None
    first = found.safe[0].bound
    assert f"there is no mix at a limit of 0.03; from about {first:.4g} on the best one earns" in found.sentences()[1]
    assert from_log(told, bounds={"refusal": first}).certified
    assert not from_log(told, bounds={"refusal": 0.9 * first}).certified


def test_a_bound_far_beyond_is_not_shown_and_one_below_is():
    at = lambda bound: tradeoff(Instance([1.0, 2.0], [[1.0, 2.0]], [bound]))  # noqa: E731
    assert shown_range(at(1e9))[1] < 3.0
    assert shown_range(at(2.4)) == (1.0, pytest.approx(2.88))  # what 20% more would do is seen
    assert shown_range(at(2.9))[1] > 2.9
    assert shown_range(at(0.5))[0] == 0.5
