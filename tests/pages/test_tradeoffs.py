import numpy as np
import pytest
from tests.pages.pages import HOSTILE, check_harmless

from bestmix import Instance, from_log, tradeoff
from bestmix.pages.answer_view import Answer
from bestmix.pages.charts import LEFT, text_width
from bestmix.pages.report import report
from bestmix.pages.tradeoffs import tradeoff_chart


def log(names=("a", "b", "c")):
    rows = [(n, k + e, 2.0 * k + e) for k, n in enumerate(names) for e in (-0.1, 0.0, 0.12, 0.05, -0.07)]
    return dict(zip(("arm", "reward", "dollars"), zip(*rows, strict=True), strict=True))


def inside(chart, points):
    return all(0 <= x <= chart.width and 0 <= y <= chart.height for x, y in points)


def test_everything_has_its_place():
    chart = tradeoff_chart(tradeoff(log(), bounds={"dollars": 3.0}))
    assert len(chart.knots) == 2
    assert chart.safe
    assert inside(chart, [*chart.value, *chart.safe, *chart.band, *((k.x, k.y) for k in chart.knots)])
    assert chart.across.at(3.0) == chart.bound_at


@pytest.mark.parametrize("bound", [0.4, 1.0, 1.6, 2.5])
@pytest.mark.parametrize("goal", ["maximise reward", "minimise reward"])
def test_the_arms_at_the_limit_of_today_stand_beside_it_in_full_and_off_the_curve(goal, bound):
    arms = ["a model of many words", "another-with-dashes", "a third model"]
    sign = 1.0 if goal.startswith("max") else -1.0
    problem = Instance([sign * r for r in (1.0, 1.75, 2.0)], [[0.0, 1.0, 2.0]], [bound], arms=arms)
    found = tradeoff(problem)
    chart = tradeoff_chart(found)
    assert " ".join(name.text for name in chart.names) == f"now: {' + '.join(found.at(bound).mixture)}"
    for name in chart.names:
        width = text_width(name.text, bold=True)
        left = name.x - (width if name.anchor == "end" else 0.0)
        assert LEFT <= left < left + width <= chart.width
        assert not left < chart.bound_at < left + width
        x, y = np.array(chart.value).T
        assert not ((y > name.y - 11) & (y < name.y + 3) & (x > left) & (x < left + width)).any()


def test_arms_that_have_no_room_in_full_are_not_named():
    problem = Instance([1.0, 2.0], [[0.0, 2.0]], [1.0], arms=["x" * 60, "y" * 60])
    assert tradeoff_chart(tradeoff(problem)).names == []
    many = Instance([1.0, 2.0], [[0.0, 2.0]], [1e3])
    assert tradeoff_chart(tradeoff(many)).names == []


def test_a_limit_beyond_the_frame_is_named_at_its_edge():
    assert tradeoff_chart(tradeoff(Instance([1.0, 2.0], [[1.0, 2.0]], [1e9]))).bound_at is None
    assert "now 1e+06 →" in report(from_log(log(), bounds={"dollars": 1e6}))


def test_costs_of_many_sizes_bend_the_line():
    chart = tradeoff_chart(tradeoff(Instance([0.5, 0.6, 0.7], [[2e-4, 3e-3, 0.1]], [5e-3])))
    assert chart.across.log
    assert len(chart.value) > 10
    assert inside(chart, chart.value)


def test_a_report_answers_what_if_and_is_computed_once():
    answer = Answer(from_log(log(), bounds={"dollars": 3.0}))
    assert answer.whatifs is answer.whatifs
    page = report(answer.rec)
    assert "What if the limit were different" in page
    assert answer.whatifs[0].sentences[1].replace(">", "&gt;") in page
    assert "What if" not in report(answer.rec, figure=False)


def test_a_report_tells_what_is_certain_with_segments_too():
    rng, size = np.random.default_rng(1), 160
    data = {
        "arm": ["s", "l"] * (size // 2),
        "reward": [float(rng.random() < 0.6 + 0.3 * (k % 2)) for k in range(size)],
        "dollars": [1.0 + 2.0 * (k % 2) + 0.3 * rng.normal() for k in range(size)],
        "tier": ["free", "free", "paid", "paid"] * (size // 4),
    }
    asked = {"limits": ["dollars <= 2.5 in free", "dollars <= 2 in paid"], "segment": "tier"}
    rec = from_log(data, **asked)
    page = " ".join(report(rec).split())
    for limit in asked["limits"]:
        told = tradeoff(rec, limit, points=7).sentences()[1]
        assert told.startswith("Kept with 95% certainty, the best mix")
        assert told.replace("'", "&#39;") in page
    live = Answer(rec, safe_points=6)
    assert not any("Kept with" in sentence for row in live.whatifs for sentence in row.sentences)


def test_names_are_harmless():
    rec = from_log(log(HOSTILE[:3]) | {HOSTILE[0]: log()["dollars"]}, bounds={HOSTILE[0]: 3.0})
    check_harmless(report(rec), HOSTILE[:3])


@pytest.mark.parametrize(("size", "told"), [(1e-320, False), (1e-160, False), (1.0, True), (1e148, True)])
def test_of_values_whose_squares_are_no_floats_nothing_is_certain(size, told):
    data = log()
    data["dollars"] = [d * size for d in data["dollars"]]
    page = report(from_log(data, bounds={"dollars": 3.0 * size}))
    assert "What if the limit were different" in page
    assert ("Kept with 95% certainty, the best mix" in page) == told
