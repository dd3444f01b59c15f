import math

import numpy as np
import pytest

from bestmix.kernels import conditions, tracked_runs

RULE = tracked_runs.LATS, 0.05, 0.0, 0.02, 0.0


def solved(counts):
    state = conditions.new_state(2, 2, 1)
    state.counts[:] = counts
    means = np.array([[1.0, 0.0], [2.0, 2.0]])
    conditions.solve(means, np.array([1.0]), np.arange(3), state)
    state.pooled[:] = np.diag([1.0, 0.25])
    return means, state


def test_thresholds():
    counts = np.array([100, 300])
    assert tracked_runs.threshold(RULE, 400, counts) == pytest.approx(math.log((1 + math.log(400)) / 0.05))
    proven = (*RULE[:4], 2.5)
    expected = sum(3 * math.log(1 + math.log(n)) + 2.5 for n in counts)
    assert tracked_runs.threshold(proven, 400, counts) == pytest.approx(expected)


def test_bounds_are_relaxed_by_the_width_of_the_mix():
    """Equation 2 and Lemma 1 of Das and Basu, for half of each arm and costs with a deviation of 0.5."""
    means, state = solved([100, 300])
    relaxed, slack = np.empty((2, 1))
    tracked_runs.relax(RULE, means, np.array([1.0]), state, relaxed, slack)
    f = 1 + math.sqrt(0.5 * math.log(2 / 0.05) + 0.25 * (math.log(101) + math.log(301)))
    width = 0.5 * f * math.sqrt(0.25 / 101 + 0.25 / 301)
    assert relaxed == pytest.approx([1 + width])
    assert slack == pytest.approx([width])
    assert tracked_runs.least_slack(slack, state.scale) == pytest.approx(width / state.scale[2])
    assert tracked_runs.least_slack(np.zeros(1), state.scale) == np.inf


@pytest.mark.parametrize("code", [tracked_runs.LATS, tracked_runs.LAGEX, tracked_runs.CTNS, tracked_runs.CGE])
def test_a_clear_answer_stops_and_an_infeasible_one_is_explored_evenly(code):
    rule = code, *RULE[1:]
    _, state = solved([3000, 3000])
    from bestmix.kernels import tracking

    owed, tracker, bound = np.empty(2, dtype=np.int64), tracking.new_tracker(2), np.array([1.0])
    state.scatter[:] = 3000 * np.diag([0.01, 0.01])
    tracked_runs.decide(rule, 10**6, np.array([[1.0, 0.0], [2.0, 2.0]]), bound, np.arange(3), state, tracker, owed)
    assert not owed.any()
    state.scatter[:] = 0.0
    tracked_runs.decide(rule, 10**6, np.array([[1.0, 5.0], [2.0, 6.0]]), bound, np.arange(3), state, tracker, owed)
    assert owed.sum() == 120
    assert abs(owed[0] - owed[1]) <= 1


def test_the_budget_is_a_cap():
    _, state = solved([50, 50])
    from bestmix.kernels import tracking

    owed = np.empty(2, dtype=np.int64)
    arguments = np.array([[1.0, 0.0], [1.01, 2.0]]), np.array([1.0]), np.arange(3), state, tracking.new_tracker(2), owed
    tracked_runs.decide(RULE, 100, *arguments)
    assert not owed.any()
    assert tracked_runs.first_pulls(9, 3) == 3
    assert tracked_runs.first_pulls(900, 3) == tracked_runs.FIRST
