"""One function advances a live search and a durable experiment: what both do is checked here."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestmix import SFSR, Challenger, Known, Problem, SingleArm, Uniform
from bestmix.strategies import rounds
from bestmix.strategies.rounds import Recipe, share_out

PROBLEM = Problem(["a", "b", "c"], {"x": 1.0}, {"off": Known(0.1, {"x": 0.0})})
MEANS = {"a": (1.7, 0.0), "b": (2.6, 1.8), "c": (0.5, 0.8)}


def trials(arm, first, count):
    rng = np.random.default_rng([ord(arm), first])
    return np.array(MEANS[arm]) + rng.standard_normal((count, 2))


@pytest.mark.parametrize("strategy", [SFSR(), SFSR("lagrangian"), Uniform(), SingleArm(), Challenger()])
def test_rounds_advanced_by_hand_are_those_of_a_search(strategy):
    recipe, moments = Recipe(PROBLEM, strategy), rounds.no_trials(PROBLEM)
    search, step, closed = strategy.start(PROBLEM, 200), rounds.begin(Recipe(PROBLEM, strategy), 200), []
    closed += step.rounds
    while step.quota is not None:
        assert {arm: n for arm, n in zip(PROBLEM.arms, step.quota, strict=True) if n} == search.ask()
        for place, (arm, count) in enumerate(zip(PROBLEM.arms, step.quota, strict=True)):
            rows = trials(arm, moments[place].count, count)
            moments[place] = moments[place].plus(rows)
            search.tell(arm, rows[:, 0], rows[:, 1:])
        step = rounds.finish(recipe, 200, step.memory, moments, len(closed))
        closed += step.rounds
    assert search.done
    assert closed == search.history
    assert step.memory == search.memory
    assert rounds.mixture(recipe, step.memory, moments) == search.recommend().best_guess
    assert rounds.finish(recipe, 200, step.memory, moments, len(closed)) == rounds.Step(step.memory, None, [])


class Greedy(Uniform):
    """Wants more than there is."""

    def quota(self, problem, budget, memory):
        return np.full(len(problem.arms), budget)


def test_a_quota_beyond_the_budget_is_refused():
    with pytest.raises(RuntimeError, match="USLP wants 30 further trials after 0, beyond the budget of 10"):
        rounds.begin(Recipe(PROBLEM, Greedy()), 10)
    with pytest.raises(RuntimeError, match="beyond the budget of 10"):
        Greedy().start(PROBLEM, 10)


@given(st.dictionaries(st.integers(0, 20), st.integers(0, 9), max_size=6), st.integers(0, 30))
def test_trials_are_shared_out_most_needed_first(due, most):
    shared = share_out(sorted(due.items()), most)
    assert len(shared) == min(most, sum(due.values()))
    left = dict(due)
    for arm in shared:
        assert left[arm] == max(left.values()) > 0
        assert arm == min(a for a in left if left[a] == left[arm])
        left[arm] -= 1
