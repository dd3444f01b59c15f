import json
import math

import pytest
from tests.answers.kits import answer

from bestmix import SFSR, Challenger, Known, Problem, Recommendation, Uniform
from bestmix.answers.recommendation import Estimate, Round, finite


def test_plain_data_hold_no_infinities():
    data = answer(n=1, strategy=Uniform()).to_dict()
    text = json.dumps(data, allow_nan=False)
    assert json.loads(text)["estimates"][0]["reward_interval"] == [None, None]
    assert data["support"] == ["a", "b"]
    assert data["problem"] == Problem(["a", "b"], {"dollars": 1.0}).to_dict()
    assert finite({"a": (float("inf"), [float("nan"), 1.0]), "b": "x"}) == {"a": [None, [None, 1.0]], "b": "x"}


ANSWERS = {
    "a mix": lambda: answer(),
    "one trial an arm": lambda: answer(n=1),
    "infeasible": lambda: answer(cost=(3.0, 2.0)),
    "rounds with scores": lambda: answer(n=20, strategy=SFSR()),
    "rounds with reasons": lambda: answer(n=20, strategy=Challenger()),
    "no trial": lambda: SFSR().start(Problem(["a", "b"], {"x": 1.0}, {"k": Known(0.5, {"x": 2.0})}), 20).recommend(),
    "no bound": lambda: Uniform().start(Problem(["a"]), 1).recommend(),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_comes_back_from_plain_data(name):
    found = ANSWERS[name]()
    again = Recommendation.from_dict(json.loads(found.to_json()))
    assert again.to_json() == found.to_json()
    assert str(again) == str(found)
    assert (again.problem, again.history) == (found.problem, found.history)
    assert again.policy() == found.policy() if found.mixture else not again.mixture
    bare = {key: value for key, value in found.to_dict().items() if key != "history"}
    assert Recommendation.from_dict(bare).history == ()


@pytest.mark.parametrize("told", [5, [], [{"count": 1}], [{"count": 1, "sums": ["1/0"], "products": ["1/0"]}] * 2])
def test_sums_that_are_not_those_of_the_problem_are_refused(told):
    data = answer().to_dict()
    with pytest.raises(ValueError, match="told: expected the sums of 2 metrics for each of 2 that are tried"):
        Recommendation.from_dict({**data, "told": told})
    assert Recommendation.from_dict({**data, "told": None}).told is None


def test_what_json_cannot_hold_comes_back_as_what_it_was():
    unsure = Estimate("a", 1, False, 2.0, (-math.inf, math.inf), {"x": math.nan}, {"x": (0.5, math.inf)})
    again = Estimate.from_dict(json.loads(json.dumps(unsure.to_dict(), allow_nan=False)))
    assert again.reward_interval == (-math.inf, math.inf)
    assert again.cost_intervals == {"x": (0.5, math.inf)}
    assert math.isnan(again.costs["x"])
    lost = Round(2, {"a": 3}, {"a": -math.inf, "b": 1.0}, None, None, {"a": {"b": 3}})
    assert Round.from_dict(json.loads(json.dumps(lost.to_dict() | {"mixture": None}, allow_nan=False))) == lost


def test_rounds_of_older_files_have_no_reasons():
    assert Round.from_dict({"number": 1, "pulls": {}, "scores": {}, "rejected": None, "margin": None}).reasons == {}


@pytest.mark.parametrize("segments", [None, {"x": 0.5, "y": 0.5}])
def test_before_any_trial_there_is_nothing_to_deploy(segments):
    rec = Challenger().start(Problem(["a", "b"], segments=segments), 20).recommend()
    with pytest.raises(ValueError, match="no arm was tried"):
        rec.policy()
