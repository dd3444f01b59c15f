import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.problems.test_limits import ROWS, means, tails

from bestmix.problems.goals import Goal


@given(st.builds(Goal, means | tails, st.booleans()))
def test_what_a_goal_prints_parses_to_an_equal_goal(goal):
    assert Goal.parse(str(goal)) == goal


@pytest.mark.parametrize(
    ("text", "canonical"),
    [("maximise reward", str(Goal())), ("Minimize dollars", "minimise dollars"), ("MAXIMIZE 'a b'", 'maximise "a b"')],
)
def test_spellings_of_a_goal(text, canonical):
    assert str(Goal.parse(text)) == canonical


@pytest.mark.parametrize(
    "text", ["", "reward", "maximise", "maximise a / b", "maximise share(a)", "minimise a b", "largest a"]
)
def test_an_error_in_a_goal_marks_the_place(text):
    with pytest.raises(ValueError, match=r"goal: expected [\s\S]*\^$"):
        Goal.parse(text)


def test_a_goal_derives_what_is_maximised():
    np.testing.assert_array_equal(Goal.parse("minimise x").derive(ROWS), -ROWS["x"])
    with pytest.raises(ValueError, match="goal: 'maximise reward' reads the metric 'reward', got 'x'"):
        Goal().derive(ROWS)
    with pytest.raises(ValueError, match="goal: expected a Mean or a Tail"):
        Goal("reward")
