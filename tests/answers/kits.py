"""Answers to try things on."""

import numpy as np

from bestmix import Problem, Uniform


def answer(
    reward=(1.0, 3.0), cost=(0.0, 2.0), bound=1.0, spread=0.1, n=20, names=("a", "b"), strategy=None, safety=0.95
):
    """A finished search in which trials alternate around these means."""
    search = (strategy or Uniform()).start(Problem(names, {"dollars": bound}), n * len(names))
    while owed := search.ask():
        for arm, m in owed.items():
            i = names.index(arm)
            noise = spread * np.where(np.arange(m) % 2, 1.0, -1.0)
            search.tell(arm, reward[i] + noise, (cost[i] - noise)[:, None])
    return search.recommend(safety)
