"""The test of conflict: how often it warns where nothing has changed, and that it sees what has."""

import numpy as np
import pytest

from bestmix import Problem
from bestmix.answers.conflict import FALSE_ALARM, differences, warning
from bestmix.answers.moments import Moments

PROBLEM = Problem(["a", "b"], {"dollars": 1.0})


def sums(rng, size, shift=0.0):
    return [Moments(2).plus(rng.normal([1.0, shift], [0.3, 0.5], (size, 2))) for _ in PROBLEM.arms]


def test_false_alarms_are_as_rare_as_said():
    rng = np.random.default_rng(0)
    alarms = sum(bool(differences(PROBLEM, sums(rng, 8), sums(rng, 30))) for _ in range(300))
    # Bonferroni's level is at most 0.01: more than 10 of 300 come by chance with a probability below 1e-3.
    assert 0 < alarms <= 10
    assert FALSE_ALARM == 0.01


def test_a_change_is_seen_and_the_clearest_comes_first():
    rng = np.random.default_rng(1)
    found = differences(PROBLEM, sums(rng, 40), [sums(rng, 40)[0], sums(rng, 40, shift=3.0)[1]])
    assert [(d.arm, d.metric) for d in found] == [("b", "dollars")]
    assert warning(found).startswith("The log and the fresh results of b differ by more than chance: dollars")
    assert "(and 1 more such)" in warning([*found, *found])


@pytest.mark.parametrize(("now", "count"), [(2.0, 1), (1.0, 0)])
def test_constants_differ_or_not(now, count):
    before, fresh = (Moments(1).plus(np.full((9, 1), value)) for value in (1.0, now))
    assert len(differences(Problem(["a"]), [before], [fresh])) == count


def test_few_trials_say_nothing():
    before, fresh = (Moments(1).plus(np.full((n, 1), float(n))) for n in (4, 30))
    assert differences(Problem(["a"]), [before], [fresh]) == []
