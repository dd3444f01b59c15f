"""Runs of successive rejects; that they decide as the live search does is tested in ``test_replicate``."""

import numpy as np

import bestmix as bm


def test_no_costs_is_successive_rejects():
    """Against an implementation of its own, for runs of Gaussian arms: the same law of the answer."""
    means, budget, runs = np.array([1.0, 0.8, 0.7, 0.5, 0.0]), 60, 4000
    inst = bm.Instance(means, sigma_reward=1.0)
    right = 1 - bm.simulate(inst, bm.SFSR(), budget, runs, seed=4).error_rate
    rng = np.random.default_rng(9)
    wins = 0
    arms = len(means)
    log = 0.5 + sum(1 / i for i in range(2, arms + 1))
    ends = [0] + [int(np.ceil((budget - arms) / log / (arms + 1 - k) - 1e-12)) for k in range(1, arms)]
    for _ in range(runs):
        left, total = list(range(arms)), np.zeros(arms)
        for k in range(1, arms):
            n = ends[k] - ends[k - 1]
            for a in left:
                total[a] += rng.normal(means[a], 1.0, n).sum()
            left.remove(min(left, key=lambda a: total[a]))
        wins += left == [0]
    # The difference of two proportions of 4,000 runs; 4.4 standard errors: false alarm 1e-5.
    error = np.sqrt(2 * right * (1 - right) / runs)
    assert abs(wins / runs - right) < 4.4 * error
