"""True means, bounds and noise of the instances on which deployed mixes are judged, and trials of them.

The instances of the tables have seeds from 30,000 on; those with smaller seeds were looked at while the rule was made.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from bestmix import Instance, catalog, families
from bestmix.answers import safety, skewness
from bestmix.arrays import Floats
from bestmix.problems.solution import Solution, solve_means
from bestmix.reproduction.deploy import support_chance

FIRST_SEED = 30_000
ARMS, ARMS_01 = 12, 8  # Gaussian trials, and values of 0 and 1
MARGIN = 0.05  # of the uniform instances
REWARDS = 2.2  # by which rewards on [0, 2] are divided for values of 0 and 1
LEAST_SHARE = 0.02  # mean of a reward of 0 and 1, at least, and as far from 1; a cost's is so small against its bound
COMMON, RARE = 0.4, 0.03  # mean of a 0/1 cost at its bound
ARMS_PRICED, FOLDS = 6, (150.0, 500.0)  # models, and how far apart their prices are
# Prices: the share of them that is fixed, and the deviation of the rest, which is log-normal, in units of its mean.
PRICED = {"priced": (0.0, 0.5), "priced, wide": (0.0, 1.0), "priced, fee": (0.9, 2.0)}
CATALOG = ("D", "A", "H")


class Case(NamedTuple):
    """True means, bounds and noise."""

    name: str
    means: Floats
    bound: Floats
    sigma: Floats | None  # deviations (K, 1 + L); None: values of 0 and 1
    correlation: float = 0.0
    fixed: float | None = None  # share of costs that is so, where the rest is log-normal


@cache
def some_cases(name: str, count: int, first: int = FIRST_SEED) -> tuple[Case, ...]:
    """Instances of a family: those of the catalog's, or ``count`` random ones."""
    if name in CATALOG:
        return tuple(gaussian(each, catalog.load(each)) for each in catalog.names() if each.startswith(name))
    return tuple(random_case(name, seed) for seed in range(first, first + count))


def random_case(name: str, seed: int) -> Case:
    """One instance of a random family, such as ``"rare2"`` with its two limits."""
    if name in OTHERS:
        return OTHERS[name](seed)
    return priced(seed, *PRICED[name]) if name in PRICED else MAKERS[name[:-1]](int(name[-1]), seed)


def gaussian(name: str, instance: Instance, factor: Floats | float = 1.0, correlation: float = 0.0) -> Case:
    scale = np.broadcast_to(np.reshape(factor, (-1, 1)), instance.means.shape)
    sigma = np.r_[1.0, np.full(len(instance.bound), 0.5)] * scale
    return Case(name, np.array(instance.means), np.array(instance.bound), sigma, correlation)


def unequal(name: str, instance: Instance, seed: int) -> Case:
    """Deviations that differ up to tenfold from arm to arm, rewards and costs correlated."""
    rng = np.random.default_rng([seed, 77])
    return gaussian(name, instance, 10 ** rng.uniform(-0.6, 0.4, len(instance.means)), 0.5)


def zero_one(name: str, instance: Instance, rate: float) -> Case:
    """Rewards and costs of 0 and 1: the means of an instance on [0, 2] put on [0, 1], costs around ``rate``."""
    means = np.clip(np.array(instance.means) / REWARDS, LEAST_SHARE, 1.0 - LEAST_SHARE)
    means[:, 1:] = np.clip(np.array(instance.means)[:, 1:] * rate, LEAST_SHARE * rate, 1.0 - LEAST_SHARE)
    return Case(name, means, np.array(instance.bound) * rate, None)


def priced(seed: int, fixed: float, spread: float) -> Case:
    """Models whose prices differ 150- to 500-fold; a share is fixed, the rest varies by ``spread`` of its mean."""
    fold = FOLDS[0] * (FOLDS[1] / FOLDS[0]) ** np.random.default_rng([seed, 78]).uniform()
    instance = families.priced_instance(ARMS_PRICED, seed, fold)
    means = np.array(instance.means)
    sigma = np.column_stack([np.full(len(means), 0.4), (1.0 - fixed) * spread * means[:, 1:]])
    return Case(f"p{spread}.{seed}", means, np.array(instance.bound), sigma, fixed=fixed)


def skewed(seed: int) -> Case:
    """Models whose prices are within a factor of three, and log-normal with a deviation of 1.3 times their mean."""
    rng = np.random.default_rng([seed, 81])
    while True:
        quality, dollars = rng.uniform(0.3, 0.95, ARMS_PRICED), 3.0 ** rng.uniform(size=ARMS_PRICED)
        means, bound = np.column_stack([quality, dollars]), np.quantile(dollars, [rng.uniform(0.25, 0.7)])
        if (solve_means(means, bound).mixture > 0).sum() == 2:
            sigma = np.column_stack([np.full(ARMS_PRICED, 0.4), 1.3 * dollars])
            return Case(f"s.{seed}", means, bound, sigma, fixed=0.0)


def linked(seed: int) -> Case:
    """Dearer models are better, and a trial that is good is cheap too: easy questions."""
    rng = np.random.default_rng([seed, 79])
    while True:
        quality = rng.uniform(0.3, 0.95, ARMS_PRICED)
        dollars = 0.2 + 1.2 * (quality - 0.3) + 0.25 * rng.random(ARMS_PRICED)
        least = rng.uniform(*np.quantile(quality, [0.3, 0.8]))
        if quality.max() > least + 0.05:  # the least dollars for that quality
            means, sigma = -np.column_stack([dollars, quality]), np.full((ARMS_PRICED, 2), 0.3)
            return Case(f"l.{seed}", means, np.array([-least]), sigma, -0.9)


def crowded(seed: int) -> Case:
    """A poor arm that is free, and many good ones that are alike."""
    rng = np.random.default_rng([seed, 80])
    means = np.ones((ARMS, 2)) + rng.choice([0.0, 0.05]) * rng.standard_normal((ARMS, 2))
    means[0] = 0.0
    return Case(f"c.{seed}", means, np.array([0.7]), np.tile([0.3, 0.5], (ARMS, 1)), rng.choice([-0.9, 0.0, 0.9]))


def events(seed: int) -> Case:
    """Three to seven arms whose rewards and costs are 0 or 1: those with more costs of 1% to 20% are better."""
    rng = np.random.default_rng([seed, 81])
    while True:
        cost = rng.uniform(0.01, 0.2, rng.integers(3, 8))
        reward = np.clip(0.4 + 2.0 * cost + 0.1 * rng.standard_normal(len(cost)), 0.02, 0.98)
        if cost.min() <= 0.08 < cost.max():
            return Case(f"v.{seed}", np.column_stack([reward, cost]), np.array([0.08]), None)


OTHERS: dict[str, Callable[[int], Case]] = {"skewed": skewed, "linked": linked, "crowded": crowded, "events": events}
MAKERS: dict[str, Callable[[int, int], Case]] = {
    "uniform": lambda costs, s: gaussian(f"u{costs}.{s}", uniform(ARMS, costs, s)),
    "random": lambda costs, s: gaussian(f"r{costs}.{s}", families.random_instance(ARMS, costs, s, 0.5)),
    "unequal": lambda costs, s: unequal(f"q{costs}.{s}", uniform(ARMS, costs, s + 1000), s),
    "binary": lambda costs, s: zero_one(f"b{costs}.{s}", uniform(ARMS_01, costs, s + 2000), COMMON),
    "rare": lambda costs, s: zero_one(f"e{costs}.{s}", uniform(ARMS_01, costs, s + 3000), RARE),
}

NAMES = (*CATALOG, *(f"{kind}{costs}" for costs in (1, 2, 3) for kind in MAKERS), *PRICED, *OTHERS)  # of all families


def uniform(arms: int, costs: int, seed: int) -> Instance:
    return families.uniform_instance(arms, costs, seed, MARGIN)


class Drawn(NamedTuple):
    """What n trials of every arm come to."""

    means: Floats  # (K, 1 + L)
    scatters: Floats  # (K, 1 + L, 1 + L)
    skewness: Floats | None = None  # (K, 1 + L), of the sample; None where it is not looked at: of Gaussian trials


def drawn(case: Case, n: int, rng: np.random.Generator) -> Drawn:
    """Sums of n trials of every arm, drawn as such for Gaussian trials (Bartlett)."""
    arms, size = case.means.shape
    if case.sigma is None:
        return summed((rng.random((arms, n, size)) < case.means[:, None]).astype(float))
    if case.fixed is not None:
        return summed(log_normal(case, n, rng))
    root = np.linalg.cholesky(np.eye(size) * (1 - case.correlation) + case.correlation) * case.sigma[:, :, None]
    means = case.means + np.einsum("aij,aj->ai", root, rng.standard_normal((arms, size))) / np.sqrt(n)
    lower = np.tril(rng.standard_normal((arms, size, size)), -1)
    degrees = np.maximum(n - 1.0 - np.arange(size), 0.0)
    squares = np.where(degrees > 0, rng.chisquare(np.maximum(degrees, 1e-9), (arms, size)), 0.0)
    lower[:, np.arange(size), np.arange(size)] = np.sqrt(squares)
    half = root @ lower
    return Drawn(means, half @ half.transpose(0, 2, 1))


def summed(values: Floats) -> Drawn:
    """Of trials (K, n, 1 + L)."""
    means = values.mean(axis=1)
    rest = values - means[:, None]
    square, third = (rest**2).mean(axis=1), (rest**3).mean(axis=1)
    skewness = np.where(square > 0, third / np.where(square > 0, square, 1.0) ** 1.5, 0.0)
    return Drawn(means, np.einsum("ani,anj->aij", rest, rest), skewness)


def log_normal(case: Case, n: int, rng: np.random.Generator) -> Floats:
    """Trials (K, n, 1 + L): rewards are normal, the logarithms of costs too, but for what of them is fixed."""
    assert case.sigma is not None
    assert case.fixed is not None
    noise = rng.standard_normal((len(case.means), n, case.means.shape[1]))
    mean = case.means[:, None, 1:]
    part = (1.0 - case.fixed) * mean
    square = np.log1p((case.sigma[:, None, 1:] / part) ** 2)
    costs = (mean - part) + part * np.exp(np.sqrt(square) * noise[:, :, 1:] - square / 2.0)
    return np.concatenate([case.means[:, None, :1] + case.sigma[:, None, :1] * noise[:, :, :1], costs], axis=2)


def covariance(case: Case) -> Floats:
    """Of one trial of each arm (K, 1 + L, 1 + L)."""
    size = case.means.shape[1]
    if case.sigma is None:
        return np.asarray(np.einsum("ai,ij->aij", case.means * (1 - case.means), np.eye(size)))
    correlations = np.eye(size) * (1 - case.correlation) + case.correlation
    return np.asarray(case.sigma[:, :, None] * correlations * case.sigma[:, None, :])


class Deployed(NamedTuple):
    """What the trials say, the optimum at the estimates with the chance of its support, and the mix to deploy."""

    data: safety.Estimates
    guess: Solution
    chance: float
    mix: safety.SafeMix


def deployed(case: Case, trials: Drawn, n: int) -> Deployed:
    """The answer after n trials of every arm."""
    means, scatters, sample = trials
    counts, binary = np.full(len(means), float(n)), np.full(means.shape, case.sigma is None)
    skew = None if sample is None else skewness.counted(sample, counts, means, scatters, binary)
    data = safety.estimates(means, scatters, counts, binary, skew=skew)
    guess = solve_means(means, case.bound)
    chance = support_chance(means, scatters, counts, case.bound, binary)
    return Deployed(data, guess, chance, safety.safe_mix(data, case.bound, chance))


def breaks(case: Case, mixture: Floats) -> bool:
    """Whether a limit is truly broken."""
    return bool((mixture @ case.means[:, 1:] > case.bound + 1e-9).any())
