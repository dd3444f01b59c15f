import json

import numpy as np
import pytest

from bestmix import Problem, Recommendation, from_log, tradeoff
from bestmix.answers import tradeoff_sources as sources
from bestmix.answers.logs import evidence as log_sums
from bestmix.answers.moments import Moments

QUALITY = {"arm": ["s"] * 4 + ["l"] * 4, "quality": [0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0]}
LOG = QUALITY | {"dollars": [1.0, 1.2, 0.8, 1.0, 3.0, 3.3, 2.7, 3.0], "seconds": [1.0, 3.0, 1.0, 1.0] * 2}


def test_zeros_and_ones_are_recognised_in_an_answer():
    _, binary = sources.of_recommendation(from_log(LOG, reward="quality", bounds={"dollars": 2.0}))
    assert binary.all(axis=0).tolist() == [True, False]


def test_a_recommendation_and_its_log_have_the_same_sums():
    asked = {"goal": "minimise dollars", "limits": ["quality >= 0.6", "p(seconds > 2) <= 50%"]}
    of_log, flags = log_sums.of_log(LOG, "arm", "reward", False, bounds=None, known=None, **asked)
    of_answer, looks = sources.of_recommendation(from_log(LOG, **asked))
    assert of_answer.problem == of_log.problem
    np.testing.assert_allclose(of_answer.means, of_log.means)
    assert flags.tolist() == looks.tolist() == [[False, True, True]] * 2


def test_an_event_that_was_not_seen_has_no_scatter_in_an_answer():
    log = LOG | {"refusal": [0.0] * 4 + [0.0, 1.0, 0.0, 0.0]}
    asked = {"goal": "maximise quality", "limits": ["refusal <= 0.5"]}
    of_log, flags = log_sums.of_log(log, "arm", "quality", False, bounds=None, known=None, **asked)
    of_answer, looks = sources.of_recommendation(from_log(log, **asked))
    assert flags.all()
    assert looks.all()
    own = [np.diagonal(each.measured_scatters, axis1=1, axis2=2) for each in (of_log, of_answer)]
    np.testing.assert_allclose(own[1], own[0], atol=1e-12)


@pytest.mark.parametrize(
    ("limits", "cost", "message"),
    [
        (["quality >= 0.9"], "dollars", "expected one of quality >= 0.9, got 'dollars'"),
        (["c = 1"], None, "'c = 1' has no trade-off: an equality is neither looser nor tighter"),
        (["share(a) = 40%"], "share(a) = 40%", "an equality is neither looser nor tighter; solve it again"),
        ([], None, "expected a problem with a bound on a mean"),
    ],
)
def test_a_limit_that_cannot_move_is_refused_in_a_sentence(limits, cost, message):
    with pytest.raises(ValueError, match=message):
        sources.chosen_cost(Problem(["a", "b"], limits=limits), cost)


def test_a_ratio_needs_the_trials():
    log = LOG | {"visits": [2.0, 2.5, 3.0, 2.5] * 2}
    rec = from_log(log, reward="quality", limits=["seconds / visits <= 2"])
    assert sources.of_recommendation(rec)[0].moments == list(rec.told)
    again = Recommendation.from_dict(json.loads(rec.to_json()))
    assert all(map(Moments.matches, again.told, rec.told))
    with pytest.raises(ValueError, match="give the log of trials instead"):
        sources.of_recommendation(Recommendation.from_dict({**rec.to_dict(), "told": None}))


@pytest.mark.parametrize(
    "asked",
    [
        {"bounds": {"dollars": 2.0}, "limits": ["p(seconds > 2) <= 30%"]},
        {"goal": "minimise dollars", "limits": ["quality >= 0.9 * quality(l)"]},
        {"limits": ["dollars <= 2.5 in free"], "segment": "tier"},
        {"limits": ["dollars / seconds <= 1.5"]},
    ],
)
def test_a_recommendation_and_its_log_have_the_same_trade_off(asked):
    rng, size = np.random.default_rng(1), 80
    log = {
        "arm": ["s", "l"] * (size // 2),
        "reward": [float(rng.random() < 0.6 + 0.3 * (k % 2)) for k in range(size)],
        "quality": [float(rng.random() < 0.6 + 0.3 * (k % 2)) for k in range(size)],
        "dollars": [1.0 + 2.0 * (k % 2) + 0.3 * rng.normal() for k in range(size)],
        "seconds": rng.exponential(1.5, size).tolist(),
        "tier": ["free", "free", "paid", "paid"] * (size // 4),
    }
    of_log, of_answer = tradeoff(log, **asked, points=5), tradeoff(from_log(log, **asked), points=5)
    assert of_log.pieces == of_answer.pieces
    assert [point.bound for point in of_log.safe] == [point.bound for point in of_answer.safe]
    assert of_log.sentences()[0] == of_answer.sentences()[0]


def test_of_two_limits_on_one_quantity_it_has_to_be_said_which():
    problem = Problem(["a"], limits=["x <= 2 in free", "x <= 5 in paid"], segments=["free", "paid"])
    assert sources.chosen_cost(problem, None) == "x <= 2 in free"
    with pytest.raises(ValueError, match="expected one of x <= 2 in free, x <= 5 in paid, got 'x'; say which"):
        sources.chosen_cost(problem, "x")
