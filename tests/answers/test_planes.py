import math

import pytest

from bestmix import from_log
from bestmix.answers.planes import MOST_PLANES, plane, planes

SIZE = 40
LOG = {
    "arm": ["s", "l"] * SIZE,
    "tier": ["free", "free", "paid", "paid"] * (SIZE // 2),
    "reward": [1.0 + k % 2 + 0.01 * (k % 7) for k in range(2 * SIZE)],
    "dollars": [1.0 + 3.0 * (k % 2) + 0.01 * (k % 5) for k in range(2 * SIZE)],
}
LIMITS = ["dollars <= 2 in free", "dollars <= 3.5 in paid"]


def test_a_limit_of_one_segment_is_drawn_with_its_arms_and_its_own_mix():
    rec = from_log(LOG, segment="tier", limits=LIMITS)
    assert planes(rec.problem) == {
        "dollars <= 2 in free": "dollars in free",
        "dollars <= 3.5 in paid": "dollars in paid",
    }
    for cost, segment in zip(LIMITS, ("free", "paid"), strict=True):
        found = plane(rec, cost)
        assert [e.arm for e in found.arms] == [f"s in {segment}", f"l in {segment}"]
        assert found.mean == rec.limits[cost].mean < found.bound
        shares = rec.by_segment[segment]
        means = {arm: rec.estimates[f"{arm} in {segment}"] for arm in shares}
        assert found.value == pytest.approx(sum(share * means[arm].reward for arm, share in shares.items()))
        assert found.mean == pytest.approx(sum(share * means[arm].costs[cost] for arm, share in shares.items()))
        assert not math.isfinite(found.value_interval[0])


def test_the_order_of_the_limits_moves_nothing():
    rec, other = (from_log(LOG, segment="tier", limits=limits) for limits in (LIMITS, LIMITS[::-1]))
    for cost in LIMITS:
        assert plane(rec, cost).mean == pytest.approx(plane(other, cost).mean)
        assert plane(rec, cost).value == pytest.approx(plane(other, cost).value)


def test_a_limit_on_all_users_comes_first_and_has_all_arms():
    rec = from_log(LOG, segment="tier", limits=["dollars <= 2 in free", "dollars <= 3"])
    first, second = planes(rec.problem)
    assert (first, second) == ("dollars", "dollars <= 2 in free")
    found = plane(rec, first)
    assert len(found.arms) == 4
    assert (found.value, found.value_interval) == (rec.value, rec.value_interval)


def test_of_many_segments_some_are_drawn():
    log = LOG | {"tier": [f"g{k // 2 % 8}" for k in range(2 * SIZE)]}
    rec = from_log(log, segment="tier", limits=[f"dollars <= 2 in g{g}" for g in range(8)])
    assert len(planes(rec.problem)) == MOST_PLANES


def test_before_any_trial_there_is_no_mix_to_draw():
    from bestmix import Challenger, Problem

    rec = Challenger().start(Problem(["a", "b"], {"dollars": 1.0}), 20).recommend()
    assert not plane(rec, "dollars").has_mix
