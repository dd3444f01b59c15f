"""What conditions weigh in the choice of the next trials, and the sums and maxima that the choice takes of them."""

import numpy as np

from bestmix.arrays import Floats
from bestmix.kernels.jit import inlined

NEGLIGIBLE = 80.0  # a squared z-score that is so much larger than the least one has no weight
TIE = 1e-9  # scores of arms that differ by less than this share count as equal


@inlined
def weigh(first: int, last: int, gap: Floats, spread: Floats, least: float, weight: Floats) -> None:
    """Weigh some conditions."""
    for j in range(first, last):
        weight[j] = weigh_one(gap[j] * gap[j] / spread[j], spread[j], least)


@inlined
def weigh_one(square: float, spread: float, least: float) -> float:
    """What a unit of variance less is worth to a condition: exp(-z^2/2) / ((1 + z) V), up to a common factor."""
    weight = decay(0.5 * (least - square)) * (1.0 / ((1.0 + np.sqrt(square)) * spread))
    return weight if spread > 0.0 and square - least < NEGLIGIBLE else 0.0


@inlined
def decay(x: float) -> float:
    """exp(x) for 0 >= x >= -NEGLIGIBLE / 2, to twelve digits: the 128th power of a series.

    There is no call in it, so that a loop works on several numbers at once.
    """
    y = x / 128.0
    square = y * y
    fourth = square * square
    low = (1.0 + y) + square * (1.0 / 2.0 + y * (1.0 / 6.0))
    middle = (1.0 / 24.0 + y * (1.0 / 120.0)) + square * (1.0 / 720.0 + y * (1.0 / 5040.0))
    high = (1.0 / 40320.0 + y * (1.0 / 362880.0)) + square * (1.0 / 3628800.0 + y * (1.0 / 39916800.0))
    result = low + fourth * (middle + fourth * high)
    for _ in range(7):
        result *= result
    return result


@inlined
def largest(m: int, used: int, total: Floats, value: Floats) -> int:
    """Position of the largest number, those of ``total`` (m,) coming before those of ``value``; -1 if all are zero.

    A later number has to be larger by more than a tie.
    """
    found, most = -1, 0.0
    for i in range(m):
        if total[i] > most:
            found, most = i, total[i] * (1.0 + TIE)
    for k in range(used):
        if value[k] > most:
            found, most = m + k, value[k] * (1.0 + TIE)
    return found


@inlined
def highest(values: Floats, width: int) -> float:
    """The largest of some positive numbers, or zero; four at a time."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for q in range(width // 4):
        k = 4 * q
        a = values[k] if values[k] > a else a
        b = values[k + 1] if values[k + 1] > b else b
        c = values[k + 2] if values[k + 2] > c else c
        d = values[k + 3] if values[k + 3] > d else d
    a, c = a if a > b else b, c if c > d else d
    return a if a > c else c


@inlined
def position(values: Floats, value: float, width: int) -> int:
    """Where a number stands that is there once."""
    result = 0
    for k in range(width):
        result += k if values[k] == value else 0
    return result


@inlined
def count(values: Floats, most: float, width: int) -> int:
    """How many numbers count as the largest."""
    result = 0
    for k in range(width):
        result += 1 if values[k] * (1.0 + TIE) >= most else 0
    return result


@inlined
def dot(left: Floats, right: Floats, width: int) -> float:
    """Sum of products, four at a time: one sum would wait for itself."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for q in range(width // 4):
        k = 4 * q
        a += left[k] * right[k]
        b += left[k + 1] * right[k + 1]
        c += left[k + 2] * right[k + 2]
        d += left[k + 3] * right[k + 3]
    return (a + b) + (c + d)
