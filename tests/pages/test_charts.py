"""Places of charts: within the drawing, not on each other."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestmix import Known, from_log
from bestmix.pages import charts
from bestmix.pages.charts import Axis, arms_chart, fit, rewards_chart, text_width

NAMES = ["small", "medium", "large", "tuned", "distilled-v2-with-a-long-name", "gemini-pro", "nano"]
REWARDS = [0.60, 0.72, 0.90, 0.66, 0.62, 0.88, 0.41]
DOLLARS = [1.0, 4.0, 9.0, 3.5, 2.2, 8.5, 0.4]


def record(scale=1.0, **terms):
    rows = [(n, r + e, (d + e) * scale) for n, r, d in zip(NAMES, REWARDS, DOLLARS, strict=True) for e in (-0.02, 0.02)]
    arm, reward, dollars = zip(*rows, strict=True)
    log = {"arm": arm, "reward": reward, "dollars": dollars}
    return from_log(log, bounds={"dollars": 5.0 * scale}, **terms)


def boxes(names):
    for name in names:
        width = text_width(name.text, bold=name.role == "support")
        left = name.x - (width if name.anchor == "end" else 0.0)
        yield left, name.y - 10, left + width, name.y + 3


def overlap(a, b):
    return max(min(a[2], b[2]) - max(a[0], b[0]), 0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0)


def test_names_do_not_lie_on_each_other_or_on_marks():
    chart = arms_chart(record(), "dollars")
    found = list(boxes(chart.names))
    assert len(found) == len(NAMES)
    for i, box in enumerate(found):
        assert all(overlap(box, other) == 0 for other in found[:i])
        assert all(overlap(box, (m.x - 4, m.y - 4, m.x + 4, m.y + 4)) == 0 for m in chart.marks)
        assert box[0] >= charts.LEFT - 8
        assert box[2] <= charts.WIDTH + 8


def test_a_line_joins_a_name_to_its_mark_where_it_had_to_move():
    rows = [(f"model {k}", 0.6 + 0.01 * k + e, (k == 9) + 1e-3 * k) for k in range(10) for e in (-0.02, 0.02)]
    log = dict(zip(("arm", "reward", "dollars"), zip(*rows, strict=True), strict=True))
    chart = arms_chart(from_log(log, bounds={"dollars": 0.5}), "dollars")
    assert not chart.across.log
    spots = {mark.title.partition(":")[0]: (mark.x, mark.y) for mark in chart.marks}
    moved = [name for name in chart.names if name.line]
    assert moved
    for name in moved:
        (x, y), _ = name.line
        assert math.dist((x, y), spots[name.text]) == pytest.approx(6.0 * charts.NAME_DISTANCE)


def test_intervals_end_at_the_frame():
    arms = ("a", 0.5, 0.001, 0.1), ("b", 0.9, 0.05, 40.0)
    rows = [(n, r + e, d * (1 + noise * e)) for n, r, d, noise in arms for e in (-0.02, 0.02) * 3]
    log = dict(zip(("arm", "reward", "dollars"), zip(*rows, strict=True), strict=True))
    chart = arms_chart(from_log(log, bounds={"dollars": 0.002}), "dollars")
    assert chart.across.log
    ends = [end for mark in chart.marks for end in mark.across or ()]
    assert chart.across.start <= min(ends)
    assert max(ends) == chart.across.end


def test_costs_that_differ_fiftyfold_have_a_logarithmic_axis_with_a_few_numbers():
    axis = charts.fit_costs([0.001, 0.05], [], 50.0, 450.0)
    assert axis.log
    assert [tick.text for tick in axis.ticks()] == ["0.001", "0.002", "0.005", "0.01", "0.02", "0.05"]
    assert not charts.fit_costs([0.01, 0.2], [], 50.0, 450.0).log


def test_the_mix_the_bound_and_the_line_are_where_they_belong():
    rec = record()
    chart = arms_chart(rec, "dollars")
    (mix,) = (m for m in chart.marks if m.role == "mix")
    assert mix.x == pytest.approx(chart.across.at(rec.limits["dollars"].mean))
    assert mix.across == tuple(map(chart.across.at, rec.limits["dollars"].interval))
    assert mix.upwards == tuple(map(chart.upwards.at, rec.value_interval))
    assert mix.across[0] < mix.x < mix.across[1]
    assert "of 5, kept 95%" in mix.title
    assert len(rec.mixture) == 2
    left, *_, right = sorted(chart.line)
    share = (mix.x - left[0]) / (right[0] - left[0])
    assert mix.y == pytest.approx(left[1] + share * (right[1] - left[1]))


def test_a_known_arm_has_no_interval():
    rec = record(known={"baseline": Known(0.3, {"dollars": 0.2})})
    (known,) = (m for m in arms_chart(rec, "dollars").marks if m.role == "known")
    assert known.across is known.upwards is None


@pytest.mark.parametrize("scale", [1e-6, 4e-5, 1.0, 1e7])
def test_ticks_do_not_touch(scale):
    chart = arms_chart(record(scale), "dollars")
    ticks = chart.across.ticks()
    assert len(ticks) > 1
    for before, after in zip(ticks, ticks[1:], strict=False):
        assert after.at - before.at > (text_width(before.text) + text_width(after.text)) / 2


def test_of_many_arms_only_those_of_the_mix_are_named():
    arms = [f"arm{k}" for k in range(40) for _ in range(2)]
    log = {"arm": arms, "reward": [0.01 * (k // 2) for k in range(80)], "dollars": [0.05 * (k // 2) for k in range(80)]}
    rec = from_log(log, bounds={"dollars": 1.0})
    assert {name.text for name in arms_chart(rec, "dollars").names} == set(rec.mixture)


def test_rewards_alone_have_the_best_on_top():
    log = {"arm": [n for n in NAMES for _ in range(2)], "reward": [r + e for r in REWARDS for e in (0.0, 0.1)]}
    chart = rewards_chart(from_log(log))
    assert [name.text for name in chart.names][:2] == ["large", "gemini-pro"]
    assert [m.x for m in chart.marks] == sorted((m.x for m in chart.marks), reverse=True)
    assert max(m.y for m in chart.marks) < chart.height


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9))
def test_an_axis_has_room_for_its_values_and_a_tick_or_more(values):
    axis = fit(values, 0.0, 400.0)
    assert all(0.0 <= axis.at(value) <= 400.0 for value in values)
    assert all(-1e-6 <= tick.at <= 400.0 + 1e-6 for tick in axis.ticks())


def test_what_is_unknown_or_far_away_breaks_nothing():
    axis = fit([math.nan, math.inf], 0.0, 10.0)
    assert (axis.at(0.5), axis.at(1e300)) == (pytest.approx(5.0), 12.0)
    assert Axis(0.0, 1.0, 0.0, 10.0).at(-1e300) == -2.0


ENDS = st.sampled_from([0.0, 5e-324, 1e-320, 2e-308, 1e-290, 1e-200, 1e-16, 1.0, 1.0 + 2**-52, 3.0, 1e20, 1e150])


@given(st.lists(ENDS, min_size=1, max_size=4), st.booleans())
def test_every_finite_value_has_a_place_on_an_axis(values, negative):
    values = [-v if negative and i else v for i, v in enumerate(values)]
    for axis in (fit(values, 0.0, 300.0), charts.fit_costs(values, [], 0.0, 300.0)):
        assert all(math.isfinite(axis.at(value)) for value in values)
        assert all(math.isfinite(tick.at) for tick in [*axis.ticks(), *axis.ticks(upwards=True)])


@pytest.mark.parametrize(("limit", "anchor", "text"), [("<=", "end", "at most 0.7"), (">=", "start", "at least 0.7")])
def test_the_words_of_a_bound_stand_on_the_side_that_is_allowed(limit, anchor, text):
    rows = [(n, d, r + e) for n, r, d in zip(NAMES, REWARDS, DOLLARS, strict=True) for e in (-0.02, 0.02)]
    arm, dollars, quality = zip(*rows, strict=True)
    log = {"arm": arm, "dollars": dollars, "quality": quality}
    rec = from_log(log, goal="minimise dollars", limits=[f"quality {limit} 0.7"])
    chart = arms_chart(rec, rec.problem.costs[0])
    assert (chart.goal, chart.cost, chart.bound_text, chart.bound_anchor) == ("dollars", "quality", text, anchor)
    ((start, end),) = chart.beyond
    assert (start if limit == "<=" else end) == chart.bound_at
    assert start < end
