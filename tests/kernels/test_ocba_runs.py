import numpy as np
import pytest

from bestmix import Instance
from bestmix.kernels import ocba_runs
from bestmix.strategies.rivals import OCBA


def run(instance, budget, runs=3):
    costs, found = len(instance.bound), OCBA().replicator(instance, budget)
    answer, weight, pulls = np.zeros((runs, 1 + costs), np.int64), np.zeros((runs, 1 + costs)), np.zeros(runs, np.int64)
    found.kernel(np.random.default_rng(0), *found.arguments, answer, weight, pulls)
    return answer, weight, pulls


def test_runs_end_with_the_best_arm_that_fits_and_spend_the_budget():
    instance = Instance([1.0, 2.0, 0.5], [[0.5, 2.0, 0.1]], [1.0], sigma_reward=0.2, sigma_cost=0.2)
    answer, weight, pulls = run(instance, 200)
    assert answer.tolist() == [[0, 3]] * 3
    assert weight.tolist() == [[1.0, 0.0]] * 3
    assert pulls.tolist() == [200] * 3


def test_runs_say_that_no_arm_fits():
    answer, _, _ = run(Instance([1.0, 2.0], [[3.0, 2.5]], [1.0], sigma_cost=0.2), 100)
    assert answer[:, 0].tolist() == [ocba_runs.INFEASIBLE] * 3


def test_runs_of_one_arm_have_nothing_to_tell_apart():
    with np.errstate(all="raise"):
        answer, _, pulls = run(Instance([1.0], sigma_reward=0.2), 40)
    assert answer.tolist() == [[0]] * 3
    assert pulls.tolist() == [40] * 3


def test_variances_are_never_zero():
    scatter = np.zeros((2, 2, 2))
    scatter[0] = 9 * np.eye(2)
    variance = ocba_runs.variances(np.array([10, 10]), scatter)
    assert variance[0] == pytest.approx([(9 + 5 * 0.5) / 14] * 2)
    assert (variance > 0).all()
    assert (ocba_runs.variances(np.array([1, 1]), np.zeros((2, 2, 2))) > 0).all()


def test_a_round_is_spent_whole():
    owed, scatter = np.empty(2, dtype=np.int64), np.tile(9 * np.eye(2), (2, 1, 1))
    ocba_runs.plan(np.array([[1.0, 0.5], [0.9, 0.5]]), np.array([1.0]), np.array([10, 10]), scatter, 33, owed)
    assert owed.sum() == 33
    assert owed.min() >= 0
