import json
import math
import re
from itertools import pairwise

import numpy as np
import pytest

from bestmix import SFSR, Challenger, Instance, Known, Problem, catalog, from_log, identify, solve, tradeoff
from bestmix.answers.evidence import Evidence
from bestmix.answers.recommend import recommend
from bestmix.answers.tradeoff import SafePoint, _rising

THREE = Instance([1.0, 1.75, 2.0], [[0.0, 1.0, 2.0]], [1.0], costs=["dollars"])


def log(n=60, seed=0, binary=False):
    rng = np.random.default_rng(seed)
    data = {"arm": [], "quality": [], "dollars": []}
    for arm, (quality, dollars) in {"s": (0.5, 1.0), "m": (0.7, 4.0), "l": (0.8, 9.0)}.items():
        draws = (rng.random(n) < quality).astype(float) if binary else rng.normal(quality, 0.1, n)
        data["arm"] += [arm] * n
        data["quality"] += draws.tolist()
        data["dollars"] += rng.normal(dollars, 0.3, n).tolist()
    return data


@pytest.fixture(scope="module")
def found():
    return tradeoff(log(), "dollars", reward="quality", bounds={"dollars": 3.0})


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


def test_pieces_join_and_the_last_never_ends():
    pieces = tradeoff(THREE).pieces
    assert [(p.low, p.high, p.slope) for p in pieces] == [(0.0, 1.0, 0.75), (1.0, 2.0, 0.25), (2.0, math.inf, 0.0)]
    assert all(a.high == b.low and a.high_value == b.low_value for a, b in zip(pieces, pieces[1:], strict=False))


def test_below_the_least_bound_there_is_no_mix():
    found = tradeoff(THREE)
    assert not found.at(-0.1).feasible
    assert math.isnan(found.at(-0.1).value)
    assert found.at(99.0).value == 2.0


def test_a_bound_that_no_mix_keeps_says_which_one_can_be_kept():
    tight = Instance([1.0, 2.0], [[2.0, 3.0]], [1.0], costs=["dollars"])
    first, *_ = tradeoff(tight).sentences()
    assert first == "No mix keeps a limit on dollars of 1; the smallest that one keeps is 2."


def test_other_limits_that_cannot_be_kept_are_an_answer():
    found = tradeoff(Instance([1.0], [[1.0], [5.0]], [9.0, 1.0]), "cost0")
    assert found.pieces == ()
    assert str(found) == "Whatever the limit on cost0, no mix keeps the others."
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["least"] is None


def test_the_safe_mix_earns_less_than_the_optimum_and_lies_in_its_interval(found):
    assert found.safety == 0.95
    assert len(found.safe) > 20
    for point in found.safe:
        assert point.value <= found.at(point.bound).value + 1e-9
        assert point.interval[0] <= point.value <= point.interval[1]
        assert sum(point.mixture.values()) == pytest.approx(1.0)
    assert found.safe_at(3.0) is not None
    assert [p.bound for p in found.safe] == sorted(p.bound for p in found.safe)


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


def test_sentences_tell_the_change_in_digits_that_mean_something(found):
    texts = found.sentences()
    assert texts[2].startswith(
        "Kept with 95% certainty, a limit on dollars that is 20% higher (3.6 instead of 3) would"
    )
    assert " more quality (" in texts[2]
    assert " less quality (" in texts[3]
    assert "Kept with 95% certainty, the best mix has a mean quality of " in texts[1]
    assert "(now)" in str(found)


def test_a_bound_of_zero_moves_by_its_range():
    found = tradeoff(Instance([1.0, 2.0], [[-1.0, 3.0]], [0.0]))
    assert "A limit on cost0 of 0.8 instead of 0 would earn 0.20 more (1.25 -> 1.45)." in found.sentences()


def test_without_safety_there_is_only_the_curve():
    found = tradeoff(log(), reward="quality", bounds={"dollars": 3.0}, safety=None)
    assert (found.safe, found.safety) == ((), None)
    assert found.pieces


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


def test_plain_data_has_everything(found):
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["pieces"][-1]["high"] is None
    assert data["value"] == found.at(3.0).value
    assert len(data["safe"]) == len(found.safe)


def at_least(**terms):
    """Least dollars at a given quality: means 0.5, 0.7, 0.8 for about 1, 4 and 9 dollars."""
    return tradeoff(log(), goal="minimise dollars", limits=["quality >= 0.72"], **terms)


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


@pytest.mark.parametrize("least", [False, True])
def test_a_mix_that_is_certain_of_a_tighter_limit_is_so_of_a_looser_one(least):
    found = at_least(points=2) if least else tradeoff(log(), reward="quality", bounds={"dollars": 3.0}, points=2)
    sign = -1.0 if least else 1.0  # dollars to minimise, under a limit that is looser the smaller it is
    values = [1.0, 3.0, 2.0, 2.5, 4.0]
    points = [SafePoint(sign * k, sign * v, (v - 1, v + 1), {f"mix{k}": 1.0}) for k, v in enumerate(values)]
    line = sorted(_rising(found, points), key=lambda point: sign * point.bound)
    assert [sign * point.value for point in line] == [1.0, 3.0, 3.0, 3.0, 4.0]
    assert [next(iter(point.mixture)) for point in line] == ["mix0", "mix1", "mix1", "mix1", "mix4"]
    assert [sign * point.bound for point in line] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert line[2].interval == points[1].interval
    kept = sorted(_rising(found, points, own=points[2]), key=lambda point: sign * point.bound)
    assert [sign * point.value for point in kept] == [1.0, 3.0, 2.0, 3.0, 4.0]  # what was recommended stays


def test_sentences_in_the_words_of_goal_and_limit():
    texts = at_least(points=3).sentences()
    assert texts[0].startswith("At the estimates, with a limit on quality of at least 0.72 the best mix is ")
    assert "and has a mean dollars of " in texts[0]
    tighter = (
        r"At the estimates, a limit on quality of 0\.79\d+ instead of 0\.72, the largest that a mix keeps, would mean"
    )
    assert "Kept with 95% certainty, the best mix has a mean dollars of " in texts[1]
    assert re.match(tighter, texts[2])
    assert texts[3].startswith("Kept with 95% certainty, a limit on quality")
    assert " less dollars (" in texts[3]
    assert texts[4].startswith("At the estimates, below 0.")
    header, *rows = str(at_least(points=3)).split("\n\n")[1].splitlines()
    assert header.split("  ")[0] == "limit on quality of at least"
    assert rows[1].startswith("up to 0.")


def test_a_tail_moves_between_nothing_and_all():
    data = log() | {"seconds": [1.0, 3.0] * 90}
    found = tradeoff(data, reward="quality", limits=["p(seconds > 2) <= 50%"], points=4)
    assert all(0.0 <= point.bound <= 1.0 for point in found.safe)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["limit"] == "p(seconds > 2) <= 50%"


@pytest.mark.parametrize("bound", [float("inf"), float("nan"), "2"])
def test_a_bound_to_look_at_is_a_finite_number(bound):
    with pytest.raises(ValueError, match="bound: expected a finite number"):
        tradeoff(Instance([1.0, 2.0], [[0.0, 3.0]], [1.0])).at(bound)


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
