"""What conditions weigh in the choice of the next trials, and the sums and maxima that the choice takes of them."""

from bestmix.arrays import Floats
from bestmix.kernels.jit import inlined
from bestmix.kernels.lanes import either, larger, root

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
    weight = decay(0.5 * (least - square)) * (1.0 / ((1.0 + root(square)) * spread))
    return either((spread > 0.0) & (square - least < NEGLIGIBLE), weight, 0.0)


@inlined
def decay(x: float) -> float:
    """exp(x) for 0 >= x >= -NEGLIGIBLE / 2, to nine digits, as ties count: the 128th power of a series.

    There is no call in it, so that a loop works on several numbers at once.
    """
    y = x / 128.0
    square = y * y
    fourth = square * square
    low = (1.0 + y) + square * (1.0 / 2.0 + y * (1.0 / 6.0))
    middle = (1.0 / 24.0 + y * (1.0 / 120.0)) + square * (1.0 / 720.0 + y * (1.0 / 5040.0))
    high = 1.0 / 40320.0 + y * (1.0 / 362880.0)
    result = low + fourth * (middle + fourth * high)
    for _ in range(7):
        result = result * result
    return result


@inlined
def highest(values: Floats, width: int) -> float:
    """The largest of some positive numbers, or zero; four at a time, since one would wait for the one before."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for q in range(width // 4):
        k = 4 * q
        a, b = larger(values[k], a), larger(values[k + 1], b)
        c, d = larger(values[k + 2], c), larger(values[k + 3], d)
    return larger(larger(a, b), larger(c, d))


@inlined
def first_of(values: Floats, most: float, size: int) -> float:
    """Where the first of those stands that count as the largest; -1 if none do, or that is zero."""
    found: float = -1
    for k in range(size - 1, -1, -1):
        found = either(values[k] * (1.0 + TIE) >= most, k, found)
    return either(most > 0.0, found, -1)


@inlined
def dot(left: Floats, right: Floats, width: int) -> float:
    """Sum of products, four at a time: one sum would wait for itself."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for q in range(width // 4):
        k = 4 * q
        a = a + left[k] * right[k]
        b = b + left[k + 1] * right[k + 1]
        c = c + left[k + 2] * right[k + 2]
        d = d + left[k + 3] * right[k + 3]
    return (a + b) + (c + d)
