"""Metrics whose noise has the scale 0: trials of an arm that tell several values are refused wherever they come in."""

import numpy as np
import pytest

from bestmix import Challenger, Problem, Spend
from bestmix.strategies.exact_values import exact_measures

PROBLEM = Problem(["a", "b"], {"dollars": 1.0})
SURE = Challenger(confidence=0.95, proven=True, sigma={"reward": 0.3, "dollars": 0.0})
WORDS = r"dollars: expected 0\.5 as in the other trials of 'a', since its scale is 0, got 0\.6; what is proven rests"


@pytest.mark.parametrize("tolerance", [None, 0.1])
@pytest.mark.parametrize("budget", [400, Spend(400.0, "euros", prices={"a": 1.0, "b": 1.0})], ids=["trials", "money"])
def test_a_value_that_differs_from_the_others_is_refused(tolerance, budget):
    strategy = Challenger(confidence=0.95, proven=True, tolerance=tolerance, sigma=SURE.sigma)
    search = strategy.start(PROBLEM, budget)
    with pytest.raises(ValueError, match=WORDS):
        search.tell("a", [1.0, 1.2], [[0.5], [0.6]])
    assert search.trials == 0
    search.tell("a", [1.0, 1.2], [[0.5], [0.5]])
    search.tell("b", 1.0, [0.6])  # another arm has a value of its own
    with pytest.raises(ValueError, match=WORDS):
        search.tell("a", 1.0, [0.6])
    assert search.trials == 3


def test_logs_and_other_searches_are_held_against_it():
    log = {"arm": ["a", "a", "b"], "reward": [1.0, 1.2, 2.0], "dollars": [0.5, 0.6, 1.8]}
    with pytest.raises(ValueError, match=WORDS):
        SURE.start(PROBLEM, 400).start_from(log)
    other = Challenger(confidence=0.95).start(PROBLEM, 400)
    other.tell("a", log["reward"][:2], [[0.5], [0.6]])
    for start in (other, other.recommend()):
        with pytest.raises(ValueError, match="dollars: the trials of 'a' before tell several values"):
            SURE.start(PROBLEM, 400).start_from(start)
    alike = SURE.start(PROBLEM, 400)
    alike.start_from({**log, "dollars": [0.5, 0.5, 1.8]})
    with pytest.raises(ValueError, match=WORDS):
        alike.tell("a", 1.0, [0.6])


def test_a_tail_is_measured_before_it_is_compared():
    problem = Problem(["a", "b"], limits=["p(seconds > 2) <= 5%"])
    search = Challenger(confidence=0.95, proven=True, sigma={"reward": 1.0, "p(seconds > 2) <= 5%": 0.0}).start(problem)
    search.tell("a", [1.0, 1.2], [[0.5], [0.6]])
    with pytest.raises(ValueError, match="seconds"):
        search.tell("a", 1.0, [2.5])


def test_other_strategies_take_nothing_for_exact():
    noisy = Challenger(confidence=0.95, proven=True, sigma=0.3)
    ranged = Challenger(confidence=0.95, proven=True, ranges={"reward": (0, 1), "dollars": (0, 1)})
    assert [exact_measures(one, PROBLEM) for one in (noisy, ranged, Challenger())] == [[], [], []]
    assert exact_measures(Challenger(confidence=0.95, proven=True, sigma=0), PROBLEM) == [0, 1]


def test_rewards_of_no_trials_are_no_values():
    search = SURE.start(PROBLEM, 400)
    search.tell("a", [], np.empty((0, 1)))
    assert search.trials == 0
