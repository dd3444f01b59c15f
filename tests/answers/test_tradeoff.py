import json
import math
from itertools import pairwise

import numpy as np
import pytest
from tests.answers.tradeoffs import THREE, at_least, log

from bestmix import SFSR, Challenger, Instance, Known, Problem, catalog, from_log, identify, solve, tradeoff
from bestmix.answers.evidence import Evidence
from bestmix.answers.recommend import recommend


@pytest.mark.parametrize("name", ["D1P", "D2P", "D3P", "A2", "H1"])
def test_an_instance_at_its_bound_is_what_solve_gives(name):
    instance = catalog.load(name)
    solution = solve(instance)
    for place, cost in enumerate(instance.costs):
        now = tradeoff(instance, cost).at(float(instance.bound[place]))
        assert now.value == pytest.approx(solution.value, rel=1e-9)
        assert now.price == pytest.approx(solution.dual[place], rel=1e-6, abs=1e-9)
        shares = np.array([now.mixture.get(arm, 0.0) for arm in instance.arms])
        np.testing.assert_allclose(shares, solution.mixture, atol=1e-9)


def test_other_limits_that_cannot_be_kept_are_an_answer():
    found = tradeoff(Instance([1.0], [[1.0], [5.0]], [9.0, 1.0]), "cost0")
    assert found.pieces == ()
    assert str(found) == "Whatever the limit on cost0, no mix keeps the others."
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["least"] is None


@pytest.mark.parametrize("binary", [False, True])
def test_a_recommendation_gives_what_its_log_gives(binary):
    data = log(binary=binary)
    of_log = tradeoff(data, reward="quality", bounds={"dollars": 3.0}, points=5)
    of_answer = tradeoff(from_log(data, reward="quality", bounds={"dollars": 3.0}), points=5)
    assert of_answer.pieces == of_log.pieces
    assert len(of_answer.safe) == len(of_log.safe) > 3
    for a, b in zip(of_answer.safe, of_log.safe, strict=True):
        assert a.value == pytest.approx(b.value, rel=2e-3)  # reward and cost are uncorrelated here


def test_known_arms_take_part_and_untried_ones_do_not():
    known = {"off": Known(0.0, {"dollars": 0.0})}
    found = tradeoff(log(), reward="quality", bounds={"dollars": 3.0}, known=known, points=3)
    assert found.least == 0.0
    untried = SFSR().start(Problem(["a"], {"dollars": 1.0}), budget=9).recommend()
    assert tradeoff(untried).pieces == ()


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"cost": "euros"}, "expected one of dollars, got 'euros'"),
        ({"safety": 1.5}, "safety: expected a certainty from 0.5 to below 1"),
        ({"points": 1}, "points"),
    ],
)
def test_mistakes_are_told(terms, message):
    with pytest.raises(ValueError, match=message):
        tradeoff(THREE, **terms)


def test_a_problem_without_limits_has_no_trade_off():
    with pytest.raises(ValueError, match="a problem with a bound"):
        tradeoff(Instance([1.0, 2.0]))


def test_a_limit_of_at_least_moves_in_its_own_units():
    found = at_least(points=5)
    assert (found.cost, found.label, found.bound) == ("quality >= 0.72", "quality", 0.72)
    assert found.pieces[0].low == -math.inf
    assert found.least == found.loosest < found.most == found.tightest
    assert all(a.high == b.low and a.high_value == b.low_value for a, b in pairwise(found.pieces))
    values = [found.at(bound).value for bound in (0.0, 0.6, 0.72, found.tightest)]
    assert values == sorted(values)  # more quality costs more
    assert not found.at(0.99).feasible
    for point in found.safe:
        assert point.value >= found.at(point.bound).value - 1e-9
        assert point.interval[0] <= point.value <= point.interval[1]


@pytest.mark.parametrize("bound", [0.55, 0.65, 0.72, 0.75])
def test_every_bound_is_what_solving_with_it_gives(bound):
    asked = {"goal": "minimise dollars", "limits": [f"quality >= {bound}"], "safety": None}
    rec, then = from_log(log(), **asked), at_least(safety=None).at(bound)
    assert then.value == pytest.approx(rec.value)
    assert then.mixture == pytest.approx(dict(rec.mixture))
    assert then.price == pytest.approx(rec.shadow_prices[f"quality >= {bound}"])


def test_a_recommendation_has_one_interval():
    rec = from_log(log(), reward="quality", bounds={"dollars": 5.0})
    own = tradeoff(rec).safe_at(5.0)
    assert (own.value, own.interval, own.mixture) == (rec.value, rec.value_interval, rec.mixture)
    assert tradeoff(rec, safety=0.8).safe_at(5.0).value > rec.value


def test_all_points_have_one_certainty_also_where_a_strategy_asked_for_more():
    instance = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=0.3, sigma_cost=0.2)
    strategy = Challenger(confidence=0.95, tolerance=0.05)
    rec = identify(instance.problem, instance.sampler(seed=1), 20_000, strategy)
    found = tradeoff(rec, points=5)
    assert rec.certainty > 0.97
    assert rec.safety == 0.95
    plain = recommend(Evidence(instance.problem, list(rec.told)), np.arange(4), strategy="log")
    assert found.safe_at(1.0).value == pytest.approx(plain.value, rel=1e-3)
    assert plain.value > rec.value
