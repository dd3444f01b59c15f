"""Seeded families of random problems with segments that share limits."""

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats
from bestmix.kernels.layout import Layout, new_layout, set_entries
from bestmix.problems.noise import Bernoulli, Gaussian
from bestmix.problems.problem import Problem
from bestmix.problems.segment_instance import SegmentInstance, truth_of

MOST_DRAWS = 10_000
SIGMA_REWARD, SIGMA_COST = 1.0, 0.5


def random_segments(
    count: int,
    arms: int,
    costs: int,
    seed: int = 0,
    tightness: float = 0.5,
    margin: float = 0.05,
    noise: str = "gaussian",
) -> SegmentInstance:
    """Segments of unequal size whose arms differ, under limits on mean costs that all of them share.

    Mean rewards and costs are uniform on [0, 2], with noise deviations 1 (reward) and 0.5 (costs); or on [0.1, 0.9] and
    trials of 0 and 1. Each limit lies between the least cost there is and that of each segment's best arm, nearer to
    the former with a larger ``tightness``. Drawn anew until all limits bind, every weight in a segment that is split is
    at least ``margin`` of it, and every other column's reduced cost at least ``margin``.

    >>> instance = random_segments(3, arms=6, costs=1, seed=1)
    >>> instance.means.shape, int(instance.truth.basic.sum())
    ((18, 2), 4)
    """
    count = checks.whole("count", count, 1, "give the number of segments")
    arms = checks.whole("arms", arms, 2, "give the number of arms")
    costs = checks.whole("costs", costs, 0, "give the number of limited costs")
    noise = checks.choice("noise", noise, ["gaussian", "bernoulli"])
    if not 0 < checks.number("tightness", tightness) < 1:
        raise checks.InvalidInput("tightness", expected="a number between 0 and 1", got=tightness, remedy="try 0.5")
    rng = np.random.default_rng([checks.whole("seed", seed, 0, "give any whole number"), count, arms, costs])
    for _ in range(MOST_DRAWS):
        weight, means, bound = _drawn(rng, count, arms, costs, tightness, noise)
        if _is_settled(_rows(bound, count, arms), weight, means, margin):
            return _instance(weight, means, bound, arms, noise)
    raise checks.InvalidInput("margin", f"no instance keeps {margin:g}", "choose a smaller one, or fewer columns")


def _drawn(
    rng: np.random.Generator, count: int, arms: int, costs: int, tightness: float, noise: str
) -> tuple[Floats, Floats, Floats]:
    """Shares of the segments (S,), means (n, 1 + L) and bounds (L,)."""
    weight = rng.dirichlet(np.full(count, 5.0))
    low, high = (0.1, 0.9) if noise == "bernoulli" else (0.0, 2.0)
    means = rng.uniform(low, high, (count, arms, 1 + costs))
    least = weight @ means[:, :, 1:].min(axis=1)
    best = weight @ means[np.arange(count), means[:, :, 0].argmax(axis=1), 1:]
    return weight, means.reshape(-1, 1 + costs), least + (1.0 - tightness) * (best - least)


def _rows(bound: Floats, count: int, arms: int) -> Layout:
    size = 1 + len(bound)
    return new_layout(np.full(count, arms), np.tile(np.eye(size), (count, 1, 1)), np.tile(-bound, (count * arms, 1)))


def _is_settled(rows: Layout, weight: Floats, means: Floats, margin: float) -> bool:
    """Whether the answer is unique by a margin, and all limits bind."""
    n, limits = rows.constant.shape
    truth = truth_of(rows, weight, means)
    if not truth.feasible or truth.basic[n:].any() or truth.basic.sum() != len(weight) + limits:
        return False
    mu, entries, segment = np.empty(n), np.empty((n, limits)), np.repeat(np.arange(len(weight)), rows.sizes)
    set_entries(rows, means, mu, entries)
    share = truth.weights / weight[segment]
    gain = mu - entries @ truth.prices
    top = np.array([gain[(segment == s) & truth.basic[:n]].max() for s in range(len(weight))])
    reduced = (top[segment] - gain)[~truth.basic[:n]]
    return bool(share[truth.basic[:n]].min() >= margin and reduced.min() >= margin and (truth.prices > 0).all())


def _instance(weight: Floats, means: Floats, bound: Floats, arms: int, noise: str) -> SegmentInstance:
    problem = Problem(
        [f"arm{a}" for a in range(arms)],
        {f"cost{l}": float(b) for l, b in enumerate(bound)},
        segments={f"segment{s}": float(w) for s, w in enumerate(weight)},
    )
    model = Bernoulli() if noise == "bernoulli" else Gaussian(SIGMA_REWARD, SIGMA_COST)
    return SegmentInstance(problem, means, noise=model)
