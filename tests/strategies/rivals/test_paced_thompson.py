import numpy as np
import pytest
from tests.strategies.searches import drive

from bestmix import Instance, Problem
from bestmix.strategies.rivals import PacedThompson

INSTANCE = Instance([1.0, 2.0], [[0.2, 1.8]], [1.0], sigma_reward=0.2, sigma_cost=0.2)


def test_spending_comes_to_the_bound():
    search = drive(PacedThompson().start(INSTANCE.problem, 1200), INSTANCE, seed=1)
    assert search.trials == 1200
    assert search.done
    assert search.evidence.counts @ INSTANCE.means[:, 1] / 1200 == pytest.approx(1.0, abs=0.1)


def test_the_defaults_are_those_of_the_package():
    """DEFAULT_PACER_LR, DEFAULT_PACER_EMA_ALPHA and DEFAULT_PACER_LAMBDA_MAX of paretobandit 0.1.1."""
    pacer = PacedThompson()
    assert (pacer.rate, pacer.smoothing, pacer.most) == (0.05, 0.05, 5.0)


def test_kernel_gives_the_mix_that_a_run_ends_with():
    run = PacedThompson().ended(INSTANCE, 800)
    answer, weight, pulls = np.zeros((2, 2), dtype=np.int64), np.zeros((2, 2)), np.zeros(2, dtype=np.int64)
    late, spend = np.empty((2, 2)), np.empty((2, 2))
    run.kernel(np.random.default_rng(0), *run.arguments, answer, weight, pulls, late, spend)
    assert answer.tolist() == [[0, 1], [0, 1]]
    assert pulls.tolist() == [800, 800]
    assert late.sum(axis=1) == pytest.approx([1, 1])
    assert late[:, 0] == pytest.approx([0.5, 0.5], abs=0.12)
    assert spend[:, 1] == pytest.approx([1, 1], abs=0.15)


def test_mistakes():
    with pytest.raises(ValueError, match="bounds: expected positive ones"):
        PacedThompson().start(Problem(["a", "b"], {"dollars": 0.0}), 10)
    with pytest.raises(ValueError, match="smoothing: expected a positive number"):
        PacedThompson(smoothing=0.0)
