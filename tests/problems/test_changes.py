"""Which changes earlier trials can speak to."""

import pytest

from bestmix import Known, Problem
from bestmix.problems.changes import Wish, amended, changes, same_shape, wish_for

PROBLEM = Problem(["a", "b"], {"dollars": 1.0, "seconds": 2.0}, limits=["quality >= 0.9"])


def test_bounds_are_changed_one_by_one_and_limits_as_a_whole():
    new = amended(PROBLEM, Wish(bounds={"seconds": 3.0}))
    assert [str(limit) for limit in new.limits] == ["dollars <= 1", "seconds <= 3", "quality >= 0.9"]
    new = amended(PROBLEM, Wish(limits=["share(a) <= 40%", "quality >= 0.8"]))
    assert {str(limit) for limit in new.limits} >= {"dollars <= 1", "quality >= 0.8", "share(a) <= 40%"}
    assert new.measures == PROBLEM.measures
    new = amended(PROBLEM, Wish(limits=["quality >= 0.8", "dollars <= 0.5"]))  # as the problem may have been written
    assert [str(limit) for limit in new.limits] == ["dollars <= 0.5", "seconds <= 2", "quality >= 0.8"]
    two = Problem(["a"], limits=["x >= 1", "y >= 1"])
    assert amended(two, Wish(limits=["y >= 2", "x >= 2"])).measures == two.measures


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (Wish(limits=[]), "limits on what the trials so far tell"),
        (Wish(limits=["quality >= 0.9", "risk <= 1"]), "limits on what the trials so far tell"),
        (Wish(limits=["p(quality > 1) <= 5%"]), "limits on what the trials so far tell"),
        (Wish(bounds={"quality": 1.0}), "bounds: expected some of"),
        (Wish(bounds={"dollars": "many"}), "bounds"),
        (Wish(limits="quality >= 1"), "limits: expected a list"),
        (Wish(arms=[]), "at least one arm"),
        (Wish(arms=["a", "a"]), "arms"),
    ],
)
def test_what_earlier_trials_cannot_speak_to_is_refused(wish, words):
    with pytest.raises(ValueError, match=words):
        amended(PROBLEM, wish)


def test_what_is_known_of_an_arm_goes_with_it():
    problem = Problem(
        ["a", "b"], {"dollars": 1.0}, {"a": Known(costs={"dollars": 0.1}), "z": Known(1.0, {"dollars": 2})}
    )
    assert set(amended(problem, Wish(arms=["b", "c"])).known) == {"z"}


def test_changes_are_told_in_words():
    new = amended(PROBLEM, Wish(bounds={"dollars": 2.0}, arms=["b", "c"]))
    assert changes(PROBLEM, new, 9, 8) == (
        "dollars <= 2 instead of dollars <= 1; c is new; a is retired; a budget of 8 instead of 9"
    )
    assert changes(PROBLEM, PROBLEM, 9, 9) == ""
    assert not same_shape(PROBLEM, new)
    assert same_shape(PROBLEM, amended(PROBLEM, Wish(bounds={"dollars": 2.0})))
    assert not same_shape(PROBLEM, amended(PROBLEM, Wish(limits=["quality = 0.9"])))


def test_a_wish_leads_from_one_problem_to_another():
    new = Problem(["b", "c"], {"dollars": 3.0, "seconds": 2.0}, limits=["quality >= 0.5", "share(c) <= 10%"])
    wish = wish_for(PROBLEM, new)
    assert amended(PROBLEM, wish).to_dict() == new.to_dict()
    assert wish_for(PROBLEM, Problem(["a"], goal="minimise dollars")) is None
    assert wish_for(PROBLEM, Problem(["a", "b"], {"dollars": 1.0}, limits=["quality >= 0.9"])) is None
