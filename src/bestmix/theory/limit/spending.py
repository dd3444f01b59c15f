"""What runs of Challenger spend on each arm, to put beside the shares of the limit."""

import numpy as np

from bestmix.arrays import Floats
from bestmix.problems.instance import Instance
from bestmix.strategies import Challenger


def spent_shares(
    instance: Instance, delta: float, runs: int, seed: int = 0, tolerance: float | str | None = None
) -> Floats:
    """Share of its trials that each of some runs of Challenger gives to each arm (runs, K).

    With a tolerance it stops when a mix is good enough.

    >>> spent_shares(Instance(reward=[1.0, 0.0, -3.0]), 0.05, runs=2).sum(axis=1)
    array([1., 1.])
    """
    strategy = Challenger(delta=delta, tolerance=tolerance or None)
    trials = np.array([_trials(instance, strategy, np.random.default_rng([seed, run])) for run in range(runs)])
    result: Floats = trials / trials.sum(axis=1, keepdims=True)
    return result


def _trials(instance: Instance, strategy: Challenger, rng: np.random.Generator) -> Floats:
    """Trials of each arm in one run (K,)."""
    problem, trials = instance.problem, np.zeros(len(instance.arms))
    search = strategy.start(problem)
    while owed := search.ask():
        for name, count in owed.items():
            arm = problem.index(name)
            rows = instance.draw(arm, count, rng)
            search.tell(name, rows[:, 0], rows[:, 1:])
            trials[arm] += count
    return trials
