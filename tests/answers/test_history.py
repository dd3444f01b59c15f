import pytest

from bestmix import SFSR, Instance, Known, Problem, from_log, identify
from bestmix.answers.history import ROLES, describe, is_rejected, question, role, spent_on
from bestmix.answers.recommendation import Round

INSTANCE = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=0.1, sigma_cost=0.1)
PROBLEM = Problem(["a", "slack of time"], {"dollars": 1.0})


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("a", "a belongs to the mix"),
        ("slack of dollars", "the bound on dollars is worth using up"),
        ("slack of time", "slack of time belongs to the mix"),  # an arm, though it does not look like one
        ("infeasibility", "any mix keeps the bounds"),
    ],
)
def test_a_condition_is_a_question(condition, words):
    assert question(PROBLEM, condition) == words


def test_trials_are_counted_over_all_arms_and_rounds():
    history = [
        Round(1, {"a": 4}),
        Round(2, {"a": 4, "b": 3}, reasons={"a": {"a": 1, "b": 3}, "b": {"b": 3}}),
        Round(3, {"a": 9}, reasons={"a": {"slack of x": 7, "a": 2}}),
    ]
    assert list(spent_on(history).items()) == [("slack of x", 7), ("b", 6), ("a", 3)]
    assert spent_on(history[:1]) == {}


def test_what_a_round_has_rejected_stays_rejected():
    history = [Round(1, {}, rejected="a"), Round(2, {}, rejected="slack of dollars")]
    assert [is_rejected(history, column) for column in ("a", "b", "slack of dollars")] == [True, False, True]


@pytest.mark.parametrize(
    ("finished", "line"),
    [
        (Round(1, {"a": 3, "b": 4}), "round 1: 7 trials"),
        (Round(2, {"a": 3}, rejected="a", margin=0.123), "round 2: 3 trials, rejected a (margin 0.12)"),
        (Round(2, {"a": 3}, rejected="a"), "round 2: 3 trials, rejected a"),
        (
            Round(2, {"a": 3}, rejected="slack of dollars", margin=1.0),
            "round 2: 3 trials, the bound on dollars is worth using up",
        ),
        (
            Round(4, {"a": 3}, reasons={"a": {"a": 1, "infeasibility": 2}}),
            "round 4: 3 trials, most on whether any mix keeps the bounds",
        ),
    ],
)
def test_a_round_is_one_line(finished, line):
    assert describe(PROBLEM, finished) == line


def test_only_what_a_round_rejected_is_rejected():
    rejecting = identify(INSTANCE.problem, INSTANCE.sampler(seed=1), 90, SFSR())
    for arm in rejecting.estimates:
        assert role(rejecting, arm) == ("support" if arm in rejecting.mixture else "rejected")
    watching = identify(INSTANCE.problem, INSTANCE.sampler(seed=1), 60)
    assert {role(watching, arm) for arm in watching.estimates} == {"support", "other"}


def test_a_known_arm_outside_of_the_mix():
    rec = from_log({"arm": ["s", "l"] * 2, "reward": [1.0, 2.0, 1.1, 2.1]}, known={"base": Known(0.0)})
    assert role(rec, "base") == "known"
    assert {role(rec, arm) for arm in rec.estimates} < set(ROLES)
