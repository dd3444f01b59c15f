"""The mix that most likely keeps all limits at once, where none keeps them with the wanted certainty.

    max prod_l Phi(z_l(p)),   z_l = room of limit l in units of its standard error,   p a mix

The mix for which all margins have to shrink the least treats all limits alike, also those that could be far safer at
next to no risk for the others. Measured on instances apart, this one breaks one to two points fewer of those runs with
two or three limits (docs/research/safety.md). Multiplicative steps climb from the other mix: whatever they reach is no
worse.
"""

from collections.abc import Callable

import numpy as np

from bestmix.arrays import Floats, Integers

TAIL = 0.02  # of the one-sided limits that tell standard errors; 0.16 and 0.001 give the same mixes
ROUNDS = 200
FINE = 1e-4  # of a log chance: what one more step must promise
START = 0.1  # of the mix to start from, spread over all columns: a weight of zero cannot grow
ENOUGH = 0.15  # of the promised gain, that a step must bring
GROWTH = 1.6  # of the next step
TRACES = (0.01, 1e-3)  # of a segment: weights that only the search has left
DUST = 1e-9  # of a limit: rounding
ROOT = np.sqrt(2.0 * np.pi)

Scores = Callable[[Floats], tuple[Floats, Floats]]  # of a mix (n,): room of each limit (R,) and its standard error
Slopes = Callable[[Floats], tuple[Floats, Floats]]  # their slopes by column, both (n, R)


def likeliest(start: Floats, scores: Scores, slopes: Slopes, segment: Integers, weight: Floats) -> Floats:
    """The mix of n columns with the largest product of chances that steps from ``start`` reach.

    In every segment the mix adds up to its ``weight``. A limit without a standard error is kept or not; where spreading
    the start breaks such a limit, it is returned as it is.

    >>> excess, error = np.array([[-1.0, 0.5], [0.5, -2.0]]), np.ones((2, 2))
    >>> def scores(p): return -p @ excess, np.sqrt((p * p) @ error**2)
    >>> def slopes(p): return -excess, error**2 * p[:, None] / scores(p)[1]
    >>> likeliest(np.array([0.6, 0.4]), scores, slopes, np.zeros(2, dtype=int), np.ones(1)).round(2)
    array([0.53, 0.47])
    """
    share = weight[segment]
    even = share / np.bincount(segment, minlength=len(weight))[segment]
    point = (1.0 - START) * start + START * even
    first, value, step = _value(start, scores), _value(point, scores), 1.0
    if not np.isfinite(value):
        return start
    for _ in range(ROUNDS):
        slope = share * _slope(point, scores, slopes)
        inner = point / np.where(share > 0, share, 1.0)  # in each segment
        with np.errstate(over="ignore", invalid="ignore"):
            slope -= np.bincount(segment, inner * slope, len(weight))[segment]
            gain = float(inner @ slope**2)
        if not np.isfinite(gain):
            break
        while step * gain > FINE:
            moved = point * np.exp(np.clip(step * slope, -30.0, 30.0))
            moved *= (weight / np.maximum(np.bincount(segment, moved, len(weight)), 1e-300))[segment]
            reached = _value(moved, scores)
            if reached >= value + ENOUGH * step * gain:
                break
            step /= 2.0
        else:
            break
        point, value, step = moved, reached, GROWTH * step
    point, value = _cleaned(point, value, scores, segment, weight)
    return point if value > first else start


def _value(mix: Floats, scores: Scores) -> float:
    """Logarithm of the product of chances; minus infinity where a limit is surely broken."""
    from scipy.special import log_ndtr

    return float(log_ndtr(_standard(*scores(mix))).sum())


def _standard(room: Floats, error: Floats) -> Floats:
    """Room in units of the standard error; infinite without one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error > 0, room / error, np.where(room >= -DUST, np.inf, -np.inf))


def _slope(mix: Floats, scores: Scores, slopes: Slopes) -> Floats:
    """Slope of the logarithm by column (n,)."""
    from scipy.special import log_ndtr

    (room, error), (of_room, of_error) = scores(mix), slopes(mix)
    some = error > 0
    z, error = room[some] / error[some], error[some]
    with np.errstate(all="ignore"):  # numbers without measure: the caller stays where it is
        rate = np.exp(-z * z / 2.0 - log_ndtr(z)) / ROOT / error  # of the logarithm, by what adds to the room
        return np.asarray((of_room[:, some] - z * of_error[:, some]) @ rate)


def _cleaned(mix: Floats, value: float, scores: Scores, segment: Integers, weight: Floats) -> tuple[Floats, float]:
    """Without the traces that steps leave on every column, as long as that costs no more than a few steps gain."""
    for least in TRACES:
        cut = np.where(mix < least * weight[segment], 0.0, mix)
        cut *= (weight / np.maximum(np.bincount(segment, cut, len(weight)), 1e-300))[segment]
        reached = _value(cut, scores)
        if reached > value - 10.0 * FINE:
            return cut, reached
    return mix, value
