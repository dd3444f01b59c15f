"""Recommendations by segment, with limits of every kind, in the units that users know."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.answers.segmented import ARMS, DOLLARS, SHARES, evidence, problem

from bestmix import Known, Problem, Uniform, from_log
from bestmix.answers.evidence import Evidence
from bestmix.answers.recommend import recommend
from bestmix.answers.recommendation import Recommendation
from bestmix.pages.report import report

LIMITS = "share(large) <= 40%", "share(small) >= 10%", "dollars <= 0.3 in free", "dollars <= 4 * dollars(medium)"


def answer(*limits, safety=0.95, **options):
    found = evidence(problem(*limits, **options))
    return found, recommend(found, found.tried, strategy="log", safety=safety)


def test_every_limit_is_kept_at_the_estimates_and_shown_in_its_own_units():
    told, rec = answer(*LIMITS)
    assert (rec.feasible, rec.certified) == (True, True)
    weights = np.array([rec.mixture.get(name, 0.0) for name in rec.problem.names])
    dollars, quality = weights @ told.measured
    assert rec.value == pytest.approx(dollars)
    assert rec.limits["quality >= 0.87"].mean == pytest.approx(quality)
    assert rec.limits["share(large) <= 40%"].mean == pytest.approx(weights[2] + weights[5])
    free = weights[:3] @ told.measured[:3, 0] / SHARES["free"]
    assert rec.limits["dollars <= 0.3 in free"].mean == pytest.approx(free)
    medium = 0.7 * told.measured[1, 0] + 0.3 * told.measured[4, 0]
    relative = rec.limits["dollars <= 4 * dollars(medium)"]
    assert (relative.mean, relative.bound) == (pytest.approx(dollars), pytest.approx(4 * medium))
    assert all(rec.room(cost) >= -1e-9 for cost in rec.problem.costs)


def test_the_mix_of_each_segment_adds_up_to_one_and_to_the_whole():
    _, rec = answer()
    for segment, share in SHARES.items():
        assert sum(rec.by_segment[segment].values()) == pytest.approx(1.0)
        for arm, part in rec.by_segment[segment].items():
            assert rec.mixture[f"{arm} in {segment}"] == pytest.approx(part * share)


def test_mixes_by_segment_are_worth_something():
    _, rec = answer(safety=None)
    assert rec.segments_worth > 0
    low, high = rec.segments_worth_interval
    assert low < rec.segments_worth < high
    assert "than the best mix for all" in recommend_text(rec)


def recommend_text(rec):
    from bestmix.answers import wording

    return wording._segments(rec)


def test_limits_that_contradict_each_other_are_named_with_what_would_do():
    _, rec = answer("dollars <= 0.2")
    assert not rec.feasible
    assert "'dollars <= 0.2' and 'quality >= 0.87' contradict each other" in rec.note
    assert "looser by as little as possible" in rec.note


@pytest.mark.parametrize(
    "limits",
    [
        ["quality >= 0.96 in free", "share(large) <= 20% in free"],
        ["quality >= 0.96 in paid"],
        ["quality / dollars >= 20"],
        ["dollars <= 0.2 * dollars(medium)"],
    ],
)
def test_relaxed_by_what_it_says_the_limits_can_be_kept(limits):
    """In the units of what is limited: of the users of one segment, and of a ratio."""
    told, rec = answer(*limits)
    assert not rec.feasible
    least = dict(re.findall(r"'([^']*)' by ([0-9.e-]*[0-9])", rec.note))
    assert least

    def can_be_kept(share):
        looser = []
        for limit in told.problem.limits:
            unit = rec.bound(str(limit)) / limit.bound if limit.arm is not None else 1.0
            step = share * float(least.get(str(limit), 0.0)) / unit
            looser.append(replace(limit, bound=limit.bound + limit.sign * step))
        asked = Problem(ARMS, goal="minimise dollars", limits=looser, segments=told.problem.segments)
        again = Evidence(asked, told.moments)
        return recommend(again, again.tried, strategy="log", safety=None).feasible

    assert can_be_kept(1.01)
    assert not can_be_kept(0.9)
    failing = next(limit for limit in told.problem.limits if str(limit) in least)
    assert rec.violation == {str(failing): pytest.approx(-rec.room(str(failing)))}
    where = "" if failing.segment is None else f" in {failing.segment}"
    assert f"{failing.quantity}{where} " in rec.sentence()


def test_a_known_price_is_not_estimated():
    prices = {arm: Known(costs={"dollars": price}) for arm, price in zip(ARMS, DOLLARS, strict=True)}
    _, rec = answer(known=prices, segments=None)
    assert rec.estimates["large"].reward == 2.0
    assert rec.estimates["large"].reward_interval == (2.0, 2.0)
    assert rec.value == pytest.approx(sum(p * prices[arm].costs["dollars"] for arm, p in rec.mixture.items()))


def test_plain_data_come_back():
    _, rec = answer(*LIMITS)
    again = Recommendation.from_dict(json.loads(rec.to_json()))
    assert again.to_dict() == rec.to_dict()
    assert again.by_segment == rec.by_segment
    assert str(again) == str(rec)


def test_before_two_trials_nothing_is_said_of_certainty():
    asked = problem()
    few = Evidence(asked, evidence(asked, trials=1).moments)
    rec = recommend(few, few.tried, strategy="log")
    assert rec.certainty is None
    assert math.isinf(rec.regret)


def test_the_limit_of_a_segment_has_the_price_of_its_users_alone():
    told, rec = answer("dollars <= 0.3 in free", safety=None)
    price, step = rec.shadow_prices["dollars <= 0.3 in free"], 1e-4
    assert price > 0
    looser = Evidence(problem(f"dollars <= {0.3 + step} in free"), told.moments)
    change = rec.value - recommend(looser, looser.tried, strategy="log", safety=None).value
    assert change == pytest.approx(price * step, rel=1e-6)


def test_no_chance_is_claimed_for_an_equality_of_means():
    from bestmix.pages.answer_view import Answer

    rng = np.random.default_rng(0)
    asked = Problem(["a", "b", "c"], {"dollars": 2.0}, limits=["load = 0.5", "share(c) = 20%"])
    search = Uniform().start(asked, 300)
    for arm, load in zip("abc", (0.2, 0.9, 0.5), strict=True):
        search.tell(
            arm, rng.normal(load, 0.1, 100), np.column_stack([rng.normal(1, 0.1, 100), rng.normal(load, 0.1, 100)])
        )
    rec = search.recommend()
    assert math.isnan(rec.limits["load = 0.5"].chance)
    assert rec.limits["load = 0.5"].mean == pytest.approx(0.5)
    assert (rec.limits["share(c) = 20%"].chance, rec.limits["dollars"].chance > 0.99) == (1.0, True)
    assert "All other limits are kept with above 99% certainty, and 'load = 0.5' is met at the estimates;" in str(rec)
    assert re.search(r"0\.500 ± 0\.\d+ for exactly 0\.5(\n|  |$)", str(rec))
    assert Answer(rec).verdict == ("good", "keeps all other limits with above 99% certainty")
    again = Recommendation.from_dict(json.loads(json.dumps(rec.to_dict())))
    assert math.isnan(again.limits["load = 0.5"].chance)


def test_an_equality_that_no_mix_meets_is_a_contradiction():
    told = {"arm": ["a", "b"] * 15, "reward": [1 + 0.01 * i for i in range(30)]}
    told |= {"d": [1 + 0.1 * (i % 3) for i in range(30)]}
    rec = from_log(told, limits=["d = 9"])
    assert (rec.feasible, rec.certified, rec.certainty) == (False, False, 0.0)
    assert rec.violation == pytest.approx({"d = 9": 7.9})
    assert rec.sentence().startswith(
        "At the estimates no mix keeps all bounds. The closest is b: d 7.9 below its bound"
    )
    met = from_log(told, limits=["d = 1.1"])
    assert (met.feasible, met.certified, met.certainty, met.policy().certainty) == (True, False, None, None)
    assert met.sentence().startswith("Use b. 'd = 1.1' is met at the estimates; it earns 1.150")


@pytest.mark.parametrize(("below", "limit"), [(-1.0, "x / y >= 1%"), (0.0, "x / y <= 1%")])
def test_nothing_is_claimed_of_a_ratio_whose_denominator_is_not_above_zero(below, limit):
    told = {"arm": ["a", "b"] * 15, "reward": [1 + 0.01 * i for i in range(30)], "x": [1.0] * 30, "y": [below] * 30}
    rec = from_log(told, limits=[limit])
    assert (rec.certified, rec.certainty) == (False, None)
    assert math.isnan(rec.limits[limit].chance)
    assert "cannot be judged: the mean of y, which it divides by, is not above zero in this mix." in rec.sentence()
    assert "nan" not in str(rec)
    assert "nan" not in report(rec)


def test_a_segment_without_trials_has_no_answer():
    rng = np.random.default_rng(0)
    told = {"arm": ["a", "b"] * 20, "reward": rng.random(40), "c": rng.random(40), "s": ["u"] * 40}
    rec = from_log(told, bounds={"c": 0.9}, segment="s", segments={"u": 0.7, "v": 0.3})
    assert rec.sentence().startswith("There is no answer for v yet: no arm was tried there.")
    assert not rec.certified
    with pytest.raises(ValueError, match="policy: no arm was tried in v yet"):
        rec.policy()
    assert "There is no answer for v yet" in report(rec)


@pytest.mark.parametrize("order", [("bad", "good"), ("good", "bad")])
def test_segments_that_no_limit_is_about_get_their_best_arm_where_nothing_is_certain(order):
    means = {"bad": 0.0, "good": 1.0}
    rows = []
    for segment in ("free", "paid"):
        for arm in order:
            rng = np.random.default_rng([len(arm), len(segment), ord(segment[0])])
            rows += [(segment, arm, means[arm] + 0.1 * rng.normal(), 1.0 + 0.3 * rng.normal()) for _ in range(10)]
    log = dict(zip(("tier", "arm", "reward", "dollars"), map(list, zip(*rows, strict=True)), strict=True))
    for limits in (["dollars <= 1 in free"], ["dollars <= 1 in free", "p(dollars > 1.2) <= 25% in free"]):
        rec = from_log(log, limits=limits, segment="tier", segments={"free": 0.5, "paid": 0.5})
        assert not rec.certified
        assert rec.by_segment["paid"] == {"good": pytest.approx(1.0, abs=1e-12)}


def test_limits_on_shares_and_learnt_segments_warn_of_nothing():
    rng = np.random.default_rng(3)
    cells = [(arm, tier) for tier in ("x", "y", "z") for arm in range(3) for _ in range(12)]
    log = {
        "arm": [f"a{arm}" for arm, _ in cells],
        "tier": [tier for _, tier in cells],
        "reward": [arm + 0.5 * rng.normal() for arm, _ in cells],
        "x": [arm + 0.3 + 0.5 * rng.normal() for arm, _ in cells],
    }
    rec = from_log(log, limits=["share(a0) >= 0.3", "x <= 1.5"], segment="tier")  # warnings are errors in tests
    assert rec.mixture
    assert all(share > 1e-5 for share in rec.common_mixture.values())
