"""Trade-offs that several tests look at."""

import numpy as np

from bestmix import Instance, tradeoff

THREE = Instance([1.0, 1.75, 2.0], [[0.0, 1.0, 2.0]], [1.0], costs=["dollars"])


def log(n=60, seed=0, binary=False):
    rng = np.random.default_rng(seed)
    data = {"arm": [], "quality": [], "dollars": []}
    for arm, (quality, dollars) in {"s": (0.5, 1.0), "m": (0.7, 4.0), "l": (0.8, 9.0)}.items():
        draws = (rng.random(n) < quality).astype(float) if binary else rng.normal(quality, 0.1, n)
        data["arm"] += [arm] * n
        data["quality"] += draws.tolist()
        data["dollars"] += rng.normal(dollars, 0.3, n).tolist()
    return data


def at_least(**terms):
    """Least dollars at a given quality: means 0.5, 0.7, 0.8 for about 1, 4 and 9 dollars."""
    return tradeoff(log(), goal="minimise dollars", limits=["quality >= 0.72"], **terms)


def at_most(**terms):
    """Most quality for a given number of dollars, from the same means."""
    return tradeoff(log(), "dollars", reward="quality", bounds={"dollars": 3.0}, **terms)
