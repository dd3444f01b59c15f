"""Instances that several parts simulate."""

import numpy as np

from bestmix import Instance


def sixteen() -> Instance:
    """One cost and sixteen arms on both sides of its bound."""
    cost = np.linspace(0.25, 1.75, 16)
    reward = cost + 0.3 * np.random.default_rng(16).standard_normal(16)
    return Instance(reward, [cost], [1.0], sigma_reward=1.0, sigma_cost=0.5)
