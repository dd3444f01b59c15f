"""Rows are linear functions of what trials measure: derived metrics told to a plain problem give the same answer."""

import numpy as np
import pytest

from bestmix import Challenger, Problem
from bestmix.problems.goals import Goal
from bestmix.problems.limits import Limit
from bestmix.problems.rows import Rows, is_bound, log_rows, parse_limits

TEXTS = ["quality >= 0.6", "p(seconds > 1.5) <= 30%", "complaints / visits <= 10%"]
ARMS = {"small": (0.55, 0.2, 1.0, 0.05), "medium": (0.65, 0.5, 1.1, 0.02), "large": (0.8, 0.9, 0.9, 0.04)}


def trial(arm, rng):
    quality, dollars, seconds, complaints = ARMS[arm]
    return {
        "quality": float(rng.random() < quality),
        "dollars": dollars * rng.gamma(4.0) / 4.0,
        "seconds": seconds * rng.gamma(4.0) / 4.0,
        "complaints": float(rng.random() < complaints),
        "visits": float(1 + rng.integers(3)),
    }


def test_a_problem_with_limits_is_the_plain_one_of_its_derived_metrics():
    rich = Problem(list(ARMS), goal="minimise dollars", limits=TEXTS)
    plain = Problem(list(ARMS), {"low": -0.6, "late": 0.3, "angry": 0.0})
    searches = Challenger().start(rich, 400), Challenger().start(plain, 400)
    rng = np.random.default_rng(1)
    while not searches[0].done:
        assert searches[0].ask() == searches[1].ask()
        for arm, count in searches[0].ask().items():
            for row in [trial(arm, rng) for _ in range(count)]:
                searches[0].tell(arm, row)
                costs = -row["quality"], float(row["seconds"] > 1.5), row["complaints"] - 0.1 * row["visits"]
                searches[1].tell(arm, -row["dollars"], costs)
    first, second = (search.recommend(safety=None) for search in searches)
    assert first.best_guess == pytest.approx(second.best_guess, abs=1e-9)
    assert first.value == pytest.approx(-second.value)
    assert list(first.shadow_prices.values()) == pytest.approx(list(second.shadow_prices.values()), rel=1e-6, abs=1e-9)
    assert list(first.z_scores.values()) == pytest.approx(list(second.z_scores.values()), rel=1e-6)


def test_a_limit_is_shown_in_its_own_units():
    problem = Problem(list(ARMS), goal="minimise dollars", limits=TEXTS)
    rng = np.random.default_rng(2)
    rows = {arm: [trial(arm, rng) for _ in range(200)] for arm in ARMS}
    search = Challenger().start(problem, 10_000)
    for arm in ARMS:
        part = rows[arm][: search.ask()[arm]]
        search.tell(arm, {name: [row[name] for row in part] for name in problem.metrics})
        rows[arm] = part
    found = search.recommend()

    def mean(name):
        return sum(p * np.mean([row[name] for row in rows[arm]]) for arm, p in found.mixture.items())

    ratio = mean("complaints") / mean("visits")
    for cost, wanted in {"quality >= 0.6": mean("quality"), "complaints / visits <= 0.1": ratio}.items():
        limit = found.limits[cost]
        assert limit.mean == pytest.approx(wanted)
        assert limit.interval[0] <= limit.mean <= limit.interval[1]
    assert found.limits["quality >= 0.6"].bound == 0.6


def test_sums_do_not_depend_on_bounds():
    one, other = (Rows(Goal(), (Limit.parse(f"complaints / visits <= {b}"),)) for b in ("1%", "7%"))
    assert one.measures == other.measures
    assert (one.transform != other.transform).any()


def test_limits_are_a_list():
    with pytest.raises(ValueError, match="limits: expected a list of limits, got 5"):
        Problem(["a", "b"], limits=5)


def test_bounds_come_first_and_nothing_is_limited_twice():
    texts = [str(limit) for limit in parse_limits(["share(a) <= 40%", "time <= 2"], {"dollars": 5.0})]
    assert texts == ["dollars <= 5", "time <= 2", "share(a) <= 40%"]
    with pytest.raises(ValueError, match="limit the same quantity; leave one out"):
        parse_limits(["dollars <= 3"], {"dollars": 5.0})


@pytest.mark.parametrize(
    "text", ["dollars >= 5", "dollars <= 5 in free", "p(dollars > 1) <= 5%", "dollars <= dollars(a)"]
)
def test_only_an_upper_bound_on_a_mean_is_a_bound(text):
    assert not is_bound(Limit.parse(text))


@pytest.mark.parametrize(
    ("goal", "limits", "column", "named"),
    [
        ("maximise reward", [], "quality", "maximise quality"),
        ("minimise reward", ["quality >= 0.9"], "quality", "minimise quality"),
        ("maximise reward", ["reward >= 0.5"], "quality", "maximise reward"),
        ("maximise p(reward > 2)", [], "quality", "maximise p(reward > 2)"),
        ("minimise dollars", [], "quality", "minimise dollars"),
        ("maximise reward", [], "my quality ", 'maximise "my quality"'),
    ],
)
def test_a_goal_about_the_reward_has_the_name_of_its_column(goal, limits, column, named):
    assert str(log_rows(goal, limits, None, column).goal) == named
