"""The covariance of a trial of each arm: its own, blended with that of all arms, as far as the arm can be like them.

A few trials alone say next to nothing of their spread, so that each arm's is blended with the pooled one, as if that
were a few further trials. But where arms differ 500-fold the pool is the dearest arm's, and beside it sixty trials of a
cheap one would count for nothing. So the pool counts for an arm as no more than what its own trials leave possible: the
largest variance with which so little scatter would still be seen once in a million times. Arms that are alike are
pooled as they are.

So it is for the chance that a support is right. For what keeps a limit the pool counts as a few times the arm's own
variance in any case (``skewed``): an arm whose trials happened to be cheap happened to scatter little too. And the pool
of an arm with few trials is not that of arms with many (``among_equals``), which may be quieter than it is.
"""

import numpy as np

from bestmix.answers.skewness import SKEWNESS
from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels.conditions import PRIOR

UNLIKELY = 1e-6  # chance of as little scatter as was seen, at which a variance is no longer taken for possible
SKEWED, ROOT = 2.5, 0.25  # times its own variance and its skewness: what the pool may count for an arm, to keep a limit
LEAST = 15.0  # times its own variance, whatever the skewness seems to be: a fixed part of a price hides it
KNOWN = 8.0  # the same where the trials tell the skewness: a limit on its side has a wider margin in any case
WIDEST = 1.5  # deviation over the mean, at most: the mean may be next to zero


def blended_as_possible(
    counts: Integers, scatters: Floats, pooled: Floats, kept: Flags, least: Floats | float = 0.0
) -> Floats:
    """Covariance of a trial of each arm (K, R, R), its own blended with as much of the pooled one as is possible.

    The pool is that of all, or each arm's own (K, R, R). At least ``least`` times its own variance, for all or for each
    (K, R), counts as possible. ``kept`` (K, R) are metrics whose pool is not made smaller: events of 0 and 1, which may
    not have happened yet. Nor is it where a metric never varied.

    >>> rng = np.random.default_rng(0)
    >>> trials = np.array([rng.normal(0.0, s, 60) for s in (0.01, 5.0)])
    >>> scatters = ((trials.T - trials.mean(axis=1)) ** 2).sum(axis=0).reshape(2, 1, 1)
    >>> counts, pooled = np.array([60, 60]), scatters.sum(axis=0) / 118
    >>> from bestmix.kernels import conditions
    >>> conditions.blend(counts, scatters, pooled)[0].round(2)
    array([[1.01]])
    >>> blended_as_possible(counts, scatters, pooled, np.zeros((2, 1), bool))[0].round(4)
    array([[0.0001]])
    """
    scale = np.where(kept, 1.0, possible_scale(counts, scatters, pooled, least))
    prior = scale[:, :, None] * pooled * scale[:, None, :]
    return np.asarray((scatters + PRIOR * prior) / (np.maximum(counts - 1, 0) + PRIOR)[:, None, None])


def among_equals(
    counts: Integers, scatters: Floats, pooled: Floats, given: Flags | None = None
) -> tuple[Floats, Floats]:
    """The pooled covariance for each arm (K, R, R), and the degrees of freedom that it lends to its variance (K,).

    Others count for an arm no more than it does itself: what a quiet arm shows in hundreds of trials is no reason to
    take an arm with five for a quiet one. Where all have as many trials it is the ``pooled`` one. It lends the less,
    the fewer trials the arm has next to the most that one has: these may be of another kind. What is ``given``
    (K, R, R) is in no pool.

    >>> counts, scatters = np.array([501, 5]), np.array([500 * 0.01, 4 * 1.0]).reshape(2, 1, 1)
    >>> pool, lent = among_equals(counts, scatters, scatters.sum(axis=0) / 504)
    >>> pool.ravel().round(3).tolist(), lent.round(2).tolist()
    ([0.018, 0.505], [4.0, 0.03])
    """
    own = np.maximum(counts - 1.0, 0.0)
    weight = np.minimum(own, np.maximum(own, 1.0)[:, None])  # of the other arms, for each
    lent = np.minimum(PRIOR, weight.sum(axis=1) - own) * (1.0 - fewer(counts))
    if (own == own.max(initial=0.0)).all():
        return np.broadcast_to(pooled, scatters.shape), lent
    tells = np.ones(scatters.shape) if given is None else np.where(given, 0.0, 1.0)
    each = tells / np.maximum(own, 1.0)[:, None, None] * scatters
    size = (weight @ tells.reshape(len(own), -1)).reshape(scatters.shape)
    pool = (weight @ each.reshape(len(own), -1)).reshape(scatters.shape)
    return np.where(size > 0, pool / np.maximum(size, 1.0), pooled), lent


def fewer(counts: Integers) -> Floats:
    """By which share of the most trials an arm has fewer (K,).

    >>> fewer(np.array([101, 51, 1])).tolist()
    [0.0, 0.5, 1.0]
    """
    freedom = np.maximum(counts - 1.0, 0.0)
    return np.asarray(1.0 - freedom / max(freedom.max(initial=0.0), 1.0)) if freedom.any() else np.zeros(len(counts))


def as_own_trials_say(counts: Integers, scatters: Floats, blended: Floats) -> Floats:
    """Blended covariances (K, R, R), with the own deviation of an arm that has far fewer trials than others.

    With as many trials an arm that is taken for less noisy than it is stands beside one that is taken for noisier. With
    far fewer nothing makes up for it: where its own deviation is larger, it counts the more the fewer trials there are.

    >>> scatters, blended = np.array([[[500.0]], [[16.0]]]), np.ones((2, 1, 1))
    >>> as_own_trials_say(np.array([501, 5]), scatters, blended).ravel().round(3).tolist()
    [1.0, 3.956]
    """
    freedom = np.maximum(counts - 1.0, 0.0)
    own = np.diagonal(scatters, axis1=1, axis2=2) / np.maximum(freedom, 1.0)[:, None]
    mixed = np.diagonal(blended, axis1=1, axis2=2)
    scale = np.maximum(own / np.where(mixed > 0, mixed, np.inf), 1.0) ** (0.5 * fewer(counts)[:, None])
    return np.asarray(blended * scale[:, :, None] * scale[:, None, :])


def possible_scale(counts: Integers, scatters: Floats, pooled: Floats, least: Floats | float = 0.0) -> Floats:
    """By how much the pooled deviations, of all or for each arm, are too large for each arm (K, R), at most 1.

    The largest variance that is possible is the scatter over the quantile UNLIKELY of a chi-squared distribution, or
    ``least`` times the arm's own.

    >>> possible_scale(np.array([60]), np.full((1, 1, 1), 59.0), np.full((1, 1), 100.0)).round(3)
    array([[0.168]])
    >>> possible_scale(np.array([60]), np.full((1, 1, 1), 59.0), np.full((1, 1), 100.0), least=30.0).round(3)
    array([[0.548]])
    """
    from scipy.special import gammaincinv

    freedom = np.maximum(counts - 1.0, 1.0)[:, None]
    own, common = np.diagonal(scatters, axis1=1, axis2=2), np.diagonal(pooled, axis1=-2, axis2=-1)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        divisor = np.minimum(2.0 * gammaincinv(freedom / 2.0, UNLIKELY), freedom / np.maximum(least, 1e-300))
        share = np.where((own > 0) & (common > 0), own / divisor / common, 1.0)
    return np.asarray(np.sqrt(np.minimum(share, 1.0)))


def skewed(counts: Integers, scatters: Floats, means: Floats, skew: Floats | None = None) -> Floats:
    """How many times its own variance the pool may count for each arm (K, R), to keep a limit.

    Where the skewness is not known (``skew`` (K, R, 3) is None, or zero) it is taken for that of a log-normal value
    whose deviation is v times its mean, 3 v + v^3. It makes a normal limit too near by a share that falls like one over
    the root of the trials, and the pool's share falls like one over the trials, so that ROOT times that root is added.

    >>> scatters = np.array([[[0.25 * 99]], [[0.25 * 399]]])  # a deviation of 0.5
    >>> skewed(np.array([100, 400]), scatters, np.array([[0.5], [0.5]])).round(1).ravel().tolist()
    [20.0, 30.0]
    >>> skewed(np.array([100, 400]), scatters, np.array([[5.0], [5.0]])).round(1).ravel().tolist()
    [15.0, 15.0]
    """
    own = np.diagonal(scatters, axis1=1, axis2=2) / np.maximum(counts - 1.0, 1.0)[:, None]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        v = np.fmin(np.sqrt(own) / np.abs(means), WIDEST)
    found = np.maximum(LEAST, (3.0 * v + v**3) * (SKEWED + ROOT * np.sqrt(counts)[:, None]))
    return found if skew is None else np.where(skew[..., SKEWNESS] != 0, KNOWN, found)
