"""A seeded family of random instances whose arms are all combinations of a few factors."""

import itertools
from collections.abc import Sequence

import numpy as np

from bestmix import checks
from bestmix.problems.problem import Problem
from bestmix.problems.segment_instance import SegmentInstance

MOST_DRAWS = 10_000
SIGMA = 0.3


def random_features(
    levels: Sequence[int], costs: int, seed: int = 0, events: bool = False, margin: float = 0.0
) -> SegmentInstance:
    """Arms that combine factors, whose effects on every metric add up, under limits that all bind.

    ``levels`` are how many values each factor has. The effect of each value is uniform on [0, 1], and a mean is the
    average of its arm's effects, with noise deviations of 0.3, or with ``events`` trials are 0 or 1. A limit lies half
    way between the least cost there is and that of the best arm without limits. Drawn anew until all limits bind, the
    best mix has one arm more than limits, each with a share of at least ``margin``, and every other arm's reduced cost
    is at least ``margin``.

    >>> instance = random_features([3, 2], costs=1, seed=1)
    >>> instance.problem.features["0-1"], len(instance.mixture)
    ({'factor0': '0', 'factor1': '1'}, 2)
    """
    sizes = [checks.whole("levels", size, 1, "give how many values each factor has") for size in levels]
    costs = checks.whole("costs", costs, 0, "give the number of limited costs")
    rng = np.random.default_rng([checks.whole("seed", seed, 0, "give any whole number"), *sizes, costs])
    arms = list(itertools.product(*map(range, sizes)))
    names = ["-".join(map(str, arm)) for arm in arms]
    features = {
        name: {f"factor{k}": str(value) for k, value in enumerate(arm)} for name, arm in zip(names, arms, strict=True)
    }
    for _ in range(MOST_DRAWS):
        effects = [rng.uniform(0.0, 1.0, (size, 1 + costs)) for size in sizes]
        means = np.array([[effect[value] for effect, value in zip(effects, arm, strict=True)] for arm in arms])
        means = means.mean(axis=1)
        bound = (means[:, 1:].min(axis=0) + means[np.argmax(means[:, 0]), 1:]) / 2.0
        bounds = {f"cost{l}": float(b) for l, b in enumerate(bound)}
        problem, told = Problem(names, bounds, features=features), ["reward", *bounds] if events else []
        found = SegmentInstance(problem, means, sigma=None if events else SIGMA, events=told)
        if found.truth.feasible and _is_settled(found, margin):
            return found
    fault = f"no instance has {costs} limits that all bind, and keeps {margin:g}"
    raise checks.InvalidInput("costs", fault, "ask for fewer, or for a smaller margin")


def _is_settled(instance: SegmentInstance, margin: float) -> bool:
    """Whether the mix has as many arms as a basis, and is unique by a margin."""
    truth, (mu, rows) = instance.truth, instance.entries
    used = truth.weights > 0
    gain = mu - rows @ truth.prices
    reduced = gain[used].min(initial=np.inf) - gain[~used]
    settled = used.sum() == 1 + len(instance.costs) and truth.weights[used].min() >= max(margin, 1e-6)
    return bool(settled and reduced.min(initial=np.inf) >= max(margin, 1e-6))
