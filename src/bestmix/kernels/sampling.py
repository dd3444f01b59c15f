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
def add_trials(
    rng: np.random.Generator,
    model: Model,
    means: Floats,
    columns: Integers,
    unknown: int,
    count: int,
    sums: Floats,
    normals: Floats,
) -> int:
    """Add the sum of ``count`` trials of each unknown arm among ``columns`` to its row of ``sums``.

    ``normals`` is a supply that lasts for many calls. Returns the number of trials.
    """
    kind, factor, table, offset, extra = model
    drawn = 0
    for j in range(columns.shape[0]):
        if columns[j] < unknown:
            drawn += 1
    if kind <= INDEPENDENT:
        if normals[-1] + drawn * means.shape[1] >= normals.shape[0]:
            refill(rng, normals)
        add_gaussian(kind, factor, means, columns, unknown, count, sums, normals)
        return drawn * count
    for j in range(columns.shape[0]):
        a = columns[j]
        if a < unknown:
            if kind == EMPIRICAL:
                add_empirical(rng, table, offset, a, count, sums)
            else:
                add_other(rng, kind, extra, means, a, count, sums)
    return drawn * count


@compiled
def refill(rng: np.random.Generator, normals: Floats) -> None:
    """Draw a fresh supply: a long loop of nothing but draws is the fastest way to have them."""
    for i in range(normals.shape[0] - 1):
        normals[i] = rng.standard_normal()
    normals[-1] = 0.0


@compiled
def add_gaussian(
    kind: int,
    factor: Floats,
    means: Floats,
    columns: Integers,
    unknown: int,
    count: int,
    sums: Floats,
    normals: Floats,
) -> None:
    """A sum of normals is one normal."""
    d = means.shape[1]
    root = math.sqrt(count)
    at = int(normals[-1])
    for j in range(columns.shape[0]):
        a = columns[j]
        if a < unknown:
            for i in range(d):
                noise = factor[a, i, i] * normals[at + i]
                if kind == GAUSSIAN:
                    noise = 0.0
                    for k in range(d):
                        noise += factor[a, i, k] * normals[at + k]
                sums[a, i] += count * means[a, i] + root * noise
            at += d
    normals[-1] = at


@compiled
def add_empirical(rng: np.random.Generator, table: Floats, offset: Integers, a: int, count: int, sums: Floats) -> None:
    """Rows of the arm's table, with replacement."""
    rows = offset[a + 1] - offset[a]
    for _ in range(count):
        row = offset[a] + rng.integers(0, rows)
        for i in range(table.shape[1]):
            sums[a, i] += table[row, i]


@compiled
def add_other(
    rng: np.random.Generator, kind: int, extra: Floats, means: Floats, a: int, count: int, sums: Floats
) -> None:
    """Binomial sums for 0/1 coordinates; Beta trials one by one."""
    d = means.shape[1]
    for i in range(d):
        if kind == BERNOULLI or (kind == BERNOULLI_REWARD and i == 0):
            sums[a, i] += rng.binomial(count, means[a, i])
        elif kind == BERNOULLI_REWARD:
            sums[a, i] += count * means[a, i] + math.sqrt(count) * extra[0] * rng.standard_normal()
        else:
            low, width, concentration = extra[0], extra[1] - extra[0], extra[2]
            share = (means[a, i] - low) / width
            for _ in range(count):
                inner = share
                if 0.0 < share < 1.0:
                    inner = rng.beta(concentration * share, concentration * (1.0 - share))
                sums[a, i] += low + width * inner
