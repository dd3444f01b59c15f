"""True means, bounds and noise of the instances on which deployed mixes are judged, and trials of them.

The instances of the tables have seeds from 30,000 on; those with smaller seeds were looked at while the rule was made.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bestmix import Instance, catalog, families
from bestmix.arrays import Floats

FIRST_SEED = 30_000
COMMON, RARE = 0.4, 0.03  # mean of a 0/1 cost at its bound


class Case(NamedTuple):
    """True means, bounds and noise."""

    name: str
    means: Floats
    bound: Floats
    sigma: Floats | None  # deviations (K, 1 + L); None: values of 0 and 1
    correlation: float = 0.0


def groups(count: int, first: int = FIRST_SEED) -> Iterator[tuple[str, list[Case]]]:
    """Families of instances: the catalog's, and ``count`` random ones of each kind for one, two and three limits."""
    uniform, random = families.uniform_instance, families.random_instance
    for family in "DAH":
        yield family, [gaussian(name, catalog.load(name)) for name in catalog.names() if name.startswith(family)]
    seeds = range(first, first + count)
    for costs in (1, 2, 3):
        yield f"uniform{costs}", [gaussian(f"u{costs}.{s}", uniform(12, costs, s)) for s in seeds]
        yield f"random{costs}", [gaussian(f"r{costs}.{s}", random(12, costs, s, 0.5)) for s in seeds]
        yield f"unequal{costs}", [unequal(f"q{costs}.{s}", uniform(12, costs, s + 1000), s) for s in seeds]
        yield f"binary{costs}", [zero_one(f"b{costs}.{s}", uniform(8, costs, s + 2000), COMMON) for s in seeds]
        yield f"rare{costs}", [zero_one(f"e{costs}.{s}", uniform(8, costs, s + 3000), RARE) for s in seeds]


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
    means = np.clip(np.array(instance.means) / 2.2, 0.02, 0.98)
    means[:, 1:] = np.clip(np.array(instance.means)[:, 1:] * rate, rate / 50, 0.98)
    return Case(name, means, np.array(instance.bound) * rate, None)


def drawn(case: Case, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Means and scatters of n trials of every arm, drawn as such for Gaussian trials (Bartlett)."""
    arms, size = case.means.shape
    if case.sigma is None:
        values = (rng.random((arms, n, size)) < case.means[:, None]).astype(float)
        means = values.mean(axis=1)
        rest = values - means[:, None]
        return means, np.einsum("ani,anj->aij", rest, rest)
    root = np.linalg.cholesky(np.eye(size) * (1 - case.correlation) + case.correlation) * case.sigma[:, :, None]
    means = case.means + np.einsum("aij,aj->ai", root, rng.standard_normal((arms, size))) / np.sqrt(n)
    lower = np.tril(rng.standard_normal((arms, size, size)), -1)
    degrees = np.maximum(n - 1.0 - np.arange(size), 0.0)
    squares = np.where(degrees > 0, rng.chisquare(np.maximum(degrees, 1e-9), (arms, size)), 0.0)
    lower[:, np.arange(size), np.arange(size)] = np.sqrt(squares)
    half = root @ lower
    return means, half @ half.transpose(0, 2, 1)


def covariance(case: Case) -> Floats:
    """Of one trial of each arm (K, 1 + L, 1 + L)."""
    size = case.means.shape[1]
    if case.sigma is None:
        return np.asarray(np.einsum("ai,ij->aij", case.means * (1 - case.means), np.eye(size)))
    correlations = np.eye(size) * (1 - case.correlation) + case.correlation
    return np.asarray(case.sigma[:, :, None] * correlations * case.sigma[:, None, :])
