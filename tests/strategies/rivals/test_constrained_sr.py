import numpy as np
import pytest
from tests import naive
from tests.strategies.rivals.kits import check_same
from tests.strategies.test_sfsr import draw, run

from bestmix import Problem
from bestmix.strategies.rivals import ConstrainedSR


def naive_loser(means, bound, sigma, left):
    """The arm of the largest gap, written out by cases."""
    excess = {a: max((c - b) / sigma[1] for c, b in zip(means[a][1:], bound, strict=True)) for a in left}
    feasible = [a for a in left if excess[a] <= 0]
    best = max(feasible, key=lambda a: means[a][0]) if feasible else min(left, key=lambda a: excess[a])

    def gap(a):
        behind = (means[best][0] - means[a][0]) / sigma[0]
        if not feasible:
            return excess[a] - excess[best]
        if excess[a] <= 0:
            return behind
        return excess[a] if behind < 0 else max(behind, excess[a])

    return max((a for a in left if a != best), key=gap)


@pytest.mark.parametrize("costs", [1, 2])
def test_a_run_rejects_the_largest_gap_each_round(costs):
    rng = np.random.default_rng(costs)
    for _ in range(10):
        trials, known, bound = draw(rng, "gaussian", 5, 5, costs, 60)
        strategy = ConstrainedSR(sigma_reward=0.7, sigma_cost=1.3)
        search, _ = run(strategy, trials, known, bound, 60)
        ends, left = naive.schedule(5, 5, 0, 60), list(range(5))
        for end, told in zip(ends, search.history, strict=True):
            means = np.array(trials)[:, :end].mean(axis=1) if np.ndim(trials) == 3 else None
            loser = naive_loser(means, bound, (0.7, 1.3), left)
            assert told.rejected == search.problem.names[loser]
            left.remove(loser)


def test_an_infeasible_arm_that_is_near_its_bound_stays_longer_than_a_poor_one():
    """Unlike with SingleArm, which rejects every infeasible arm first."""
    known = [[1.0, 0.5], [1.2, 1.1], [0.1, 0.5]]
    search, _ = run(ConstrainedSR(), [], known, [1.0], 0)
    assert [r.rejected for r in search.history] == ["known2", "known1"]
    assert search.recommend().support == ("known0",)


def test_the_kernel_decides_as_a_live_search():
    check_same(ConstrainedSR(0.7, 1.3), (5, 4, 1), budget=80)


def test_scales_must_be_positive():
    with pytest.raises(ValueError, match="sigma_cost: expected a positive number"):
        ConstrainedSR(sigma_cost=0.0)
    assert ConstrainedSR().start(Problem(["a"]), 5).ask() == {"a": 5}
