import pytest

from bestmix import Problem
from bestmix.cli import problems

ASKED = {"goal": "minimise dollars", "limits": ["quality >= 0.9"]}


@pytest.fixture
def path(tmp_path):
    Problem(["small", "large"], {"seconds": 2.0}, **ASKED).save(tmp_path / "problem.toml")
    return tmp_path / "problem.toml"


def test_a_file_alone_is_the_problem(path):
    assert problems.load_problem(path) == Problem(["small", "large"], {"seconds": 2.0}, **ASKED)


def test_options_add_limits_and_replace_the_goal_and_the_segments(path):
    found = problems.load_problem(path, ["visits=3"], ["share(large) <= 40%"], "maximise sales", "free=70%,paid=0.3")
    assert [str(limit) for limit in found.limits] == [
        "seconds <= 2",
        "visits <= 3",
        "quality >= 0.9",
        "share(large) <= 40%",
    ]
    assert (str(found.goal), found.segments) == ("maximise sales", {"free": 0.7, "paid": 0.3})


def test_a_text_that_cannot_be_read_is_shown_with_a_mark(path):
    with pytest.raises(ValueError) as caught:
        problems.load_problem(path, limits=["quality > 0.9"])
    assert caught.value.mark == "  quality > 0.9\n          ^"
    assert caught.value.sentence == "limit: expected <=, >= or =, got '>'"


@pytest.mark.parametrize("text", ["free=x,paid=0.3", "free=0.7,paid", "=1", "free=0.7,free=0.3", "free=%,paid=0.3"])
def test_shares_that_are_none_are_refused(text):
    with pytest.raises(ValueError, match="--segments: "):
        problems.parse_segments(text)
