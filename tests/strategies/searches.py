"""Searches that are driven by draws of an instance."""

import numpy as np

from bestmix import Instance

NOISE = {"sigma_reward": 0.3, "sigma_cost": 0.3}


def plain():
    """Three arms, of which two make the best mix."""
    return Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], **NOISE)


def drive(search, instance, seed):
    """Tell a search what it asks for until it is over."""
    rng = np.random.default_rng(seed)
    while owed := search.ask():
        for arm, count in owed.items():
            rows = instance.draw(instance.arms.index(arm), count, rng)
            search.tell(arm, rows[:, 0], rows[:, 1:])
    return search
