"""The value against a limit of any kind is what solving with that limit gives."""

import itertools

import numpy as np
import pytest
from tests.problems.test_segment_instance import EVERYTHING, everything

from bestmix import Instance, Problem, from_log, solve, tradeoff
from bestmix.answers.tradeoff_sources import moved_limit


def solved(instance, cost, bound):
    problem = moved_limit(instance.problem, instance.problem.costs.index(cost), bound)
    tried = instance.means[: len(problem.cells)]
    return solve(Instance.from_problem(problem, tried, noise=instance.noise))


@pytest.mark.parametrize("cost", EVERYTHING.costs)
def test_every_bound_is_what_solving_with_it_gives(cost):
    instance = everything()
    found = tradeoff(instance, cost)
    ratio = "/" in cost
    size = max(found.most - found.least, 0.1 * abs(found.most), 0.01)
    for bound in np.linspace(found.least - 0.3 * size, found.most + 0.3 * size, 14).tolist():
        if "share" in cost or "p(" in cost:
            bound = min(max(bound, 0.0), 1.0)
        here, truth = found.at(bound), solved(instance, cost, bound)
        assert here.feasible == truth.feasible
        if truth.feasible:
            assert here.value == pytest.approx(truth.value, abs=2e-4 if ratio else 1e-8)


def test_pieces_join_and_the_value_is_concave():
    found = tradeoff(everything(), "quality")
    assert len(found.pieces) == 7
    for one, other in itertools.pairwise(found.pieces):
        assert (one.high, one.high_value) == (other.low, other.low_value)
        assert one.slope < other.slope  # dear limits are the tight ones: dollars are to be as few as possible
    now = found.at(0.8)
    assert now.mixture == pytest.approx(everything().mixture)
    assert now.price == pytest.approx(solve(everything()).dual[0])


def test_a_ratio_over_a_metric_that_varies_is_nearly_straight_between_its_knots():
    asked = Problem(["a", "b", "c"], limits=["complaints / visits <= 20%"])
    means = [[1.0, 0.1, 1.0], [2.0, 0.9, 3.0], [3.0, 0.8, 2.0]]
    found = tradeoff(Instance.from_problem(asked, means))
    assert pytest.approx(found.tightest) == 0.1
    assert pytest.approx(found.loosest) == 0.4
    assert len(found.pieces) > 5
    for bound in np.linspace(0.1, 0.4, 20).tolist():
        truth = solved(Instance.from_problem(asked, means), asked.costs[0], bound)
        assert found.at(bound).value == pytest.approx(truth.value, abs=1e-3)


def test_limits_that_contradict_the_others_have_no_curve():
    asked = Problem(["a", "b"], limits=["share(a) >= 70%", "share(b) >= 50%", "cost <= 1"])
    found = tradeoff(Instance.from_problem(asked, [[1.0, 0.5], [2.0, 2.0]]), "cost")
    assert found.pieces == ()
    assert "no mix keeps the others" in str(found)


def test_the_label_says_for_whom_and_relative_to_what():
    labels = [tradeoff(everything(), cost).label for cost in EVERYTHING.costs]
    assert labels[-2:] == ["seconds / seconds(small)", "dollars in free"]


def log(n=80, seed=1):
    rng = np.random.default_rng(seed)
    rows = [
        (segment, arm, float(rng.random() < quality), dollars * rng.uniform(0.8, 1.2))
        for segment, arm, quality, dollars in (
            ("free", "small", 0.8, 1.0),
            ("free", "large", 0.9, 9.0),
            ("paid", "small", 0.5, 1.0),
            ("paid", "large", 0.95, 9.0),
        )
        for _ in range(n)
    ]
    return dict(zip(("tier", "arm", "quality", "dollars"), map(list, zip(*rows, strict=True)), strict=True))


def test_a_log_and_its_recommendation_have_the_same_curve_and_the_safe_mix_costs_more():
    asked = {"goal": "minimise dollars", "limits": ["quality >= 0.7", "share(large) <= 80%"], "segment": "tier"}
    found = tradeoff(log(), "quality", points=4, **asked)
    again = tradeoff(from_log(log(), **asked), "quality", safety=None)
    assert [p.to_dict() for p in again.pieces] == [
        {k: pytest.approx(v) if isinstance(v, float | dict) else v for k, v in p.to_dict().items()}
        for p in found.pieces
    ]
    assert found.safe
    for point in found.safe:
        assert point.value >= found.at(point.bound).value - 1e-9
        assert point.interval[0] <= point.value <= point.interval[1]
        assert sum(point.mixture.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("limit", ["c >= 0.5 * c(a)", "c <= 1.1 * c(a)", "b / c <= 1"])
def test_what_divides_by_nothing_has_no_trade_off(limit):
    log = {"arm": ["a", "b"] * 10, "reward": [1.0, 2.0, 1.5, 2.5] * 5, "c": [0.0, -1.0] * 10, "b": [1.0] * 20}
    with pytest.raises(ValueError, match="has no trade-off: what it divides by, or is relative to, is not above zero"):
        tradeoff(log, limits=[limit])
