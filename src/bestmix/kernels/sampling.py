"""Sums of simulated trials, drawn inside compiled code from a NumPy Generator.

A model is a tuple of kind, factor, table, offset and extra: ``factor`` (K, d, d) maps standard normals
to a trial's noise, ``table`` (rows, d) holds observed trials with those of arm a in rows
offset[a]..offset[a + 1], and ``extra`` holds the other numbers. Where the sum of several trials has a
simple law it is one draw. INDEPENDENT is GAUSSIAN with diagonal factors, which are not multiplied out.
"""

import math

import numpy as np

from bestmix.kernels.jit import Floats, Integers, compiled

Model = tuple[int, Floats, Floats, Integers, Floats]

GAUSSIAN, INDEPENDENT, BERNOULLI, BERNOULLI_REWARD, BOUNDED, EMPIRICAL = 0, 1, 2, 3, 4, 5
SUPPLY = 4096  # normals drawn at a time


@compiled
def supply(unknown: int, size: int) -> Floats:
    """An empty supply of normals for rounds of up to ``unknown`` arms; its last entry says how many are used up."""
    normals = np.empty(max(SUPPLY, unknown * size) + 1)
    normals[-1] = normals.shape[0] - 1
    return normals


@compiled
def line_up(model: Model, means: Floats, center: Floats, spread: Floats, sums: Floats) -> None:
    """Entries of the unknown arms before the first trial: means, deviations of INDEPENDENT noise, sums."""
    factor, d = model[1], means.shape[1]
    for a in range(sums.shape[0] // d):
        for i in range(d):
            center[a * d + i], spread[a * d + i], sums[a * d + i] = means[a, i], factor[a, i, i], 0.0


@compiled
def add_trials(
    rng: np.random.Generator,
    model: Model,
    arms: Integers,
    count: int,
    center: Floats,
    spread: Floats,
    sums: Floats,
    normals: Floats,
) -> int:
    """Add the sum of ``count`` trials of each of ``arms`` to ``sums``; returns the number of trials.

    The entries of arm arms[j] in ``center``, ``spread`` and ``sums`` are the j-th 1 + L: those of the
    arms still in the running lie side by side. ``normals`` is a supply that lasts for many calls.
    """
    kind, factor, table, offset, extra = model
    d = factor.shape[1]
    size = arms.shape[0] * d
    if kind <= INDEPENDENT:
        if normals[-1] + size >= normals.shape[0]:
            refill(rng, normals)
        at, root = int(normals[-1]), math.sqrt(count)
        if kind == INDEPENDENT:
            some = normals[at : at + size]
            for i in range(size):
                sums[i] += count * center[i] + root * spread[i] * some[i]
        else:
            for j in range(arms.shape[0]):
                k = j * d
                add_correlated(factor[arms[j]], center[k : k + d], count, normals[at + k : at + k + d], sums[k : k + d])
        normals[-1] = at + size
        return int(arms.shape[0] * count)
    for j in range(arms.shape[0]):
        k = j * d
        if kind == EMPIRICAL:
            add_empirical(rng, table, offset, arms[j], count, sums[k : k + d])
        else:
            add_other(rng, kind, extra, center[k : k + d], count, sums[k : k + d])
    return int(arms.shape[0] * count)


@compiled
def refill(rng: np.random.Generator, normals: Floats) -> None:
    """Draw a fresh supply: a long loop of nothing but draws is the fastest way to have them."""
    for i in range(normals.shape[0] - 1):
        normals[i] = rng.standard_normal()
    normals[-1] = 0.0


@compiled
def add_correlated(factor: Floats, center: Floats, count: int, normals: Floats, total: Floats) -> None:
    """A sum of normal vectors is one normal vector."""
    for i in range(total.shape[0]):
        noise = 0.0
        for k in range(total.shape[0]):
            noise += factor[i, k] * normals[k]
        total[i] += count * center[i] + math.sqrt(count) * noise


@compiled
def add_empirical(rng: np.random.Generator, table: Floats, offset: Integers, a: int, count: int, total: Floats) -> None:
    """Rows of the arm's table, with replacement."""
    rows = offset[a + 1] - offset[a]
    for _ in range(count):
        row = offset[a] + rng.integers(0, rows)
        for i in range(total.shape[0]):
            total[i] += table[row, i]


@compiled
def add_other(rng: np.random.Generator, kind: int, extra: Floats, center: Floats, count: int, total: Floats) -> None:
    """Binomial sums for 0/1 coordinates; Beta trials one by one."""
    for i in range(total.shape[0]):
        if kind == BERNOULLI or (kind == BERNOULLI_REWARD and i == 0):
            total[i] += rng.binomial(count, center[i])
        elif kind == BERNOULLI_REWARD:
            total[i] += count * center[i] + math.sqrt(count) * extra[0] * rng.standard_normal()
        else:
            low, width, concentration = extra[0], extra[1] - extra[0], extra[2]
            share = (center[i] - low) / width
            for _ in range(count):
                inner = share
                if 0.0 < share < 1.0:
                    inner = rng.beta(concentration * share, concentration * (1.0 - share))
                total[i] += low + width * inner
