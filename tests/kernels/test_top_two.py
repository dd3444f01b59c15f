import numpy as np
import pytest

from bestmix import Instance
from bestmix.kernels import conditions, simplex, top_two
from bestmix.strategies.rivals import TopTwo

CLEAR = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=0.1, sigma_cost=0.1)


def run(instance, budget, runs=3, **options):
    costs, found = len(instance.bound), TopTwo(**options).replicator(instance, budget)
    answer, weight, pulls = np.zeros((runs, 1 + costs), np.int64), np.zeros((runs, 1 + costs)), np.zeros(runs, np.int64)
    with np.errstate(all="ignore"):
        found.kernel(np.random.default_rng(0), *found.arguments, answer, weight, pulls)
    return answer, weight, pulls


def test_runs_spend_the_budget_or_stop_when_they_are_sure():
    answer, weight, pulls = run(CLEAR, 120)
    assert answer.tolist() == [[0, 1]] * 3
    np.testing.assert_allclose(weight, [[4 / 9, 5 / 9]] * 3, atol=0.1)
    assert pulls.tolist() == [120] * 3
    answer, _, pulls = run(CLEAR, 10**6, confidence=0.95)
    assert answer.tolist() == [[0, 1]] * 3
    assert pulls.max() < 200


def test_runs_say_that_no_mix_keeps_the_bounds():
    answer, _, _ = run(Instance([1.0, 2.0], [[3.0, 2.5]], [1.0], sigma_cost=0.1), 60)
    assert answer[:, 0].tolist() == [top_two.INFEASIBLE] * 3


def test_roots_of_covariances():
    rng = np.random.default_rng(0)
    half, result = rng.normal(size=(3, 3)), np.empty((3, 3))
    top_two.root(half @ half.T, result)
    np.testing.assert_allclose(result @ result.T, half @ half.T)
    top_two.root(np.diag([0.0, 4.0, 0.0]), result)
    np.testing.assert_array_equal(result, np.diag([0.0, 2.0, 0.0]))


def test_answers_to_draws_are_as_frequent_as_the_posterior_says():
    """Two arms without limits: the better one leads in Phi(1 / sqrt 2) = 76% of the draws, within 3 standard errors."""
    rng, spare, drawn = np.random.default_rng(1), conditions.new_state(2, 2, 0), np.empty((2, 1))
    roots, everything, first = np.ones((2, 1, 1)), np.arange(2), 0
    for _ in range(2000):
        spare.basis.column[:] = -1
        assert top_two.draw_answer(rng, np.array([[1.0], [0.0]]), roots, np.empty(0), everything, drawn, spare)
        first += spare.basis.column[0] == 0
    assert first / 2000 == pytest.approx(0.7602, abs=0.029)


def test_trials_go_to_the_leader_or_to_what_only_the_challenger_has():
    rng, counts = np.random.default_rng(0), np.array([5, 5, 5, 1])
    leader, other = np.array([0, 1, 4]), np.array([1, 2, 4])
    chosen = [top_two.choose(rng, leader, other, counts, 0.5) for _ in range(4000)]
    assert set(chosen) == {0, 1, 2}
    assert chosen.count(2) / 4000 == pytest.approx(0.5, abs=0.03)
    assert top_two.choose(rng, np.array([4]), np.array([5]), counts, 0.5) == 3


def test_a_round_is_spent_whole():
    state, spare = conditions.new_state(3, 3, 1), conditions.new_state(3, 3, 1)
    means, bound, everything = np.array([[1.7, 0.0], [2.6, 1.8], [0.5, 0.8]]), np.array([1.0]), np.arange(4)
    state.counts[:], state.scatter[:] = 10, 9 * 0.09 * np.eye(2)
    assert conditions.solve(means, bound, everything, state) == simplex.OPTIMAL
    conditions.pool(state)
    conditions.conditions(state)
    owed = np.empty(3, dtype=np.int64)
    with np.errstate(all="ignore"):
        top_two.allocate(np.random.default_rng(0), 0.5, 37, means, bound, everything, state, spare, owed)
    assert owed.sum() == 37
    assert owed.min() >= 0
