"""Whether arms are linear in their features, by the distances of their own means from the fit.

All distances together, and those along a curve, are compared with what the spread within arms makes of them: F tests
for unequal variances, as Brown and Forsythe have them.
"""

import numpy as np

from bestmix.arrays import Floats

DUST = 1e-9  # of the largest mean: rounding
BENT = 1e-6  # of a curve that the features leave of the squares of what was fitted: what is smaller is rounding
MOST_ALONE = 0.5  # part of the test that arms with a single trial may have


def misfit(counts: Floats, scatters: Floats, own: Floats, weights: Floats) -> Floats:
    """Chance that the arms' own means (K0, M) are so far from the fit (M,), by their spread within arms.

    Of two tests the one that says more, times two: of all distances at once, and of one smooth curve, the square of
    what was fitted (Ramsey). An arm with one trial is taken to spread as the others do.
    """
    tried, freedom = counts > 0, np.maximum(counts - 1.0, 0.0)
    n, left_free, fitted = counts[tried], freedom[tried], (weights @ own)[tried]
    inner = np.diagonal(scatters, axis1=1, axis2=2)[tried]
    root = np.sqrt(n)
    left = np.eye(len(n)) - root[:, None] * weights[np.ix_(tried, tried)] / root  # symmetric, a projection
    result, twice = np.full(inner.shape[1], np.nan), left_free > 0
    part = np.diagonal(left)
    if np.trace(left) < 0.5 or part[~twice].sum() > MOST_ALONE * part.sum():
        return result
    pooled = inner.sum(axis=0) / left_free.sum()
    spread = np.where(twice[:, None], inner / np.maximum(left_free, 1.0)[:, None], pooled)  # of one trial (T, M)
    for m in range(len(result)):
        size, largest = float(np.abs(own[:, m]).max(initial=0.0)), float(spread[:, m].max())
        apart = own[tried, m] - fitted[:, m]
        if not largest > 0.0:  # without any spread every distance is one, but for rounding
            result[m] = float(np.abs(apart).max(initial=0.0) <= DUST * size)
            continue
        s, distance = spread[:, m] / largest, root * apart / np.sqrt(largest)
        # A sample's squared variance is too large by (f + 2) / f, with f degrees of freedom.
        both = left**2 * np.outer(s, s)
        less = (np.diagonal(both) * 2.0 / (left_free + 2.0))[twice].sum()
        spent = (distance**2).sum(), part * s, both.sum() - less
        curve = left @ (root * (fitted[:, m] / (size or 1.0)) ** 2)
        bent = (curve @ distance) ** 2, curve**2 * s, None
        found = [_tail(*spent, left_free)]
        if np.linalg.norm(curve) > BENT * np.sqrt(n.sum()):
            found.append(_tail(*bent, left_free))
        result[m] = min(len(found) * min(found), 1.0)
    return result


def _tail(seen: float, parts: Floats, squares: float | None, freedom: Floats) -> float:
    """Chance of so large a square, or sum of squares, that should be the sum of ``parts``, each with its freedom.

    ``squares`` are half of its variance; None for a single square.
    """
    from scipy.special import fdtrc

    expected, twice = parts.sum(), freedom > 0
    above = 1.0 if squares is None else expected**2 / squares
    noise = (parts[twice] ** 2 / (freedom[twice] + 2.0)).sum() + parts[~twice].sum() ** 2 / freedom.sum()
    return float(fdtrc(above, expected**2 / noise, seen / expected)) if noise > 0.0 else 1.0
