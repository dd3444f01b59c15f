"""The covariance of a trial of each arm: its own, blended with that of all arms, as far as the arm can be like them.

A few trials alone say next to nothing of their spread, so that each arm's is blended with the pooled one, as if that
were a few further trials. But where arms differ 500-fold the pool is the dearest arm's, and beside it sixty trials of a
cheap one would count for nothing. So the pool counts for an arm as no more than what its own trials leave possible: the
largest variance with which so little scatter would still be seen once in a million times. Arms that are alike are
pooled as they are.

So it is for the chance that a support is right. For what keeps a limit the pool counts as up to SKEWED times the arm's
own variance in any case: costs are skewed, and an arm whose trials happened to be cheap happened to scatter little too.
"""

import numpy as np

from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels import conditions, jit
from bestmix.kernels.conditions import PRIOR

UNLIKELY = 1e-6  # chance of as little scatter as was seen, at which a variance is no longer taken for possible
SKEWED = 30.0  # times its own variance: what the pool may count for an arm however many trials it has, to keep a limit


def blended_as_possible(counts: Integers, scatters: Floats, pooled: Floats, kept: Flags, least: float = 0.0) -> Floats:
    """Covariance of a trial of each arm (K, R, R), its own blended with as much of the pooled one as is possible.

    At least ``least`` times its own counts as possible. ``kept`` (K, R) are metrics whose pool is not made smaller:
    events of 0 and 1, which may not have happened yet. Neither is it where a metric was always the same.

    >>> rng = np.random.default_rng(0)
    >>> trials = np.array([rng.normal(0.0, s, 60) for s in (0.01, 5.0)])
    >>> scatters = ((trials.T - trials.mean(axis=1)) ** 2).sum(axis=0).reshape(2, 1, 1)
    >>> counts, pooled = np.array([60, 60]), scatters.sum(axis=0) / 118
    >>> conditions.blend(counts, scatters, pooled)[0].round(2)
    array([[1.01]])
    >>> blended_as_possible(counts, scatters, pooled, np.zeros((2, 1), bool))[0].round(4)
    array([[0.0001]])
    """
    result = jit.speed_for(len(counts))(conditions.blend)(counts, scatters, pooled)
    scale = np.where(kept, 1.0, possible_scale(counts, scatters, pooled, least))
    for a in np.flatnonzero((scale < 1.0).any(axis=1)):
        prior = scale[a, :, None] * pooled * scale[a]
        result[a] = (scatters[a] + PRIOR * prior) / (counts[a] - 1 + PRIOR)
    return result


def possible_scale(counts: Integers, scatters: Floats, pooled: Floats, least: float = 0.0) -> Floats:
    """By how much the pooled deviations are too large for each arm (K, R), at most 1.

    The largest variance that is possible is the scatter over the quantile UNLIKELY of a chi-squared distribution, or
    ``least`` times the arm's own.

    >>> possible_scale(np.array([60]), np.full((1, 1, 1), 59.0), np.full((1, 1), 100.0)).round(3)
    array([[0.168]])
    >>> possible_scale(np.array([60]), np.full((1, 1, 1), 59.0), np.full((1, 1), 100.0), least=30.0).round(3)
    array([[0.548]])
    """
    from scipy.special import gammaincinv

    freedom = np.maximum(counts - 1.0, 1.0)
    own, common = np.diagonal(scatters, axis1=1, axis2=2), np.diagonal(pooled)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        divisor = np.minimum(2.0 * gammaincinv(freedom / 2.0, UNLIKELY), freedom / max(least, 1e-300))
        share = np.where((own > 0) & (common > 0), own / divisor[:, None] / common, 1.0)
    return np.asarray(np.sqrt(np.minimum(share, 1.0)))
