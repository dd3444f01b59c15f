import numpy as np
import pytest
from tests import naive

from bestmix.problems.families import random_markov


@pytest.mark.parametrize(
    ("states", "actions", "costs", "events"), [(3, 2, 1, False), (4, 3, 2, True), (5, 2, 0, False)]
)
def test_the_best_policy_is_that_of_a_general_solver(states, actions, costs, events):
    for seed in range(5):
        instance = random_markov(states, actions, costs, 0.85, seed=seed, events=events)
        problem = instance.problem
        bound = np.array([limit.bound for limit in problem.limits])
        start = np.array(list(problem.start.values()))
        state = np.repeat(np.arange(states), actions)
        value, weights = naive.best_policy_float(instance.means, bound, state, start, 0.85)
        assert instance.truth.value == pytest.approx(value, abs=1e-9)
        np.testing.assert_allclose(instance.truth.weights, weights, atol=1e-8)
        assert instance.truth.basic.sum() == states + costs


def test_seeds_differ_and_repeat():
    first, again, other = (random_markov(3, 2, 1, seed=seed) for seed in (1, 1, 2))
    assert (first.means == again.means).all()
    assert (first.means != other.means).any()
    with pytest.raises(ValueError, match="states"):
        random_markov(1, 2, 1)
