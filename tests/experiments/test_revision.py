"""Which changes earlier trials can speak to, and how stores keep what is tried."""

import pytest

from bestmix import Known, Problem
from bestmix.experiments.model import Record
from bestmix.experiments.revision import Revision, Wish, amended, changes, revision, same_shape

PROBLEM = Problem(["a", "b"], {"dollars": 1.0, "seconds": 2.0}, limits=["quality >= 0.9"])
RECORD = Record("0123456789ab", "a", PROBLEM.to_dict(), {"kind": "Uniform"}, 9, 60.0, 100)


def test_bounds_are_changed_one_by_one_and_limits_as_a_whole():
    new = amended(PROBLEM, Wish(bounds={"seconds": 3.0}))
    assert [str(limit) for limit in new.limits] == ["dollars <= 1", "seconds <= 3", "quality >= 0.9"]
    new = amended(PROBLEM, Wish(limits=["share(a) <= 40%", "quality >= 0.8"]))
    assert {str(limit) for limit in new.limits} >= {"dollars <= 1", "quality >= 0.8", "share(a) <= 40%"}
    assert new.measures == PROBLEM.measures
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
        (Wish(arms=["a", "\u200b"]), "arms"),
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


def test_numbers_in_the_store_never_change():
    segments = {"free": 0.7, "paid": 0.3}
    first = revision(
        Record("0123456789ab", "a", Problem(["a", "b"], segments=segments).to_dict(), {}, 9, 60.0, 100), None
    )
    later = first.becoming(Problem(["b", "c"], segments=segments), {"text": "x"})
    assert [str(cell) for cell in later.cells] == [
        "a in free",
        "b in free",
        "a in paid",
        "b in paid",
        "c in free",
        "c in paid",
    ]
    assert (later.places, later.retired) == ([1, 4, 3, 5], [0, 2])
    assert later.spread([5, 6, 7, 8]) == [0, 5, 0, 7, 6, 8]
    assert later.chosen(list("abcdef")) == list("bedf")
    back = later.becoming(first.problem, {"text": "y"})
    assert (back.places, back.retired) == ([0, 1, 2, 3], [4, 5])
    assert isinstance(revision(RECORD, back.to_text()), Revision)
    assert revision(RECORD, back.to_text()) == back


def test_changes_are_told_in_words():
    new = amended(PROBLEM, Wish(bounds={"dollars": 2.0}, arms=["b", "c"]))
    assert changes(PROBLEM, new, 9, 8) == (
        "dollars <= 2 instead of dollars <= 1; c is new; a is retired; a budget of 8 instead of 9"
    )
    assert changes(PROBLEM, PROBLEM, 9, 9) == ""
    assert not same_shape(PROBLEM, new)
    assert same_shape(PROBLEM, amended(PROBLEM, Wish(bounds={"dollars": 2.0})))
    assert not same_shape(PROBLEM, amended(PROBLEM, Wish(limits=["quality = 0.9"])))
