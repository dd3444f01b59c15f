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
    freedom: Floats, scatters: Floats, pooled: Floats, given: Flags | None = None
) -> tuple[Floats, Floats]:
    """The pooled covariance for each arm (K, R, R), and the degrees of freedom that it lends to its variance (K,).

    ``freedom`` (K,) are the arms' own. Others count for an arm no more than it does itself: what a quiet arm shows in
    hundreds of trials is no reason to take an arm with five for a quiet one. Where all have as many trials it is the
    ``pooled`` one. It lends the less, the fewer trials the arm has next to the most that one has: these may be of
    another kind. What is ``given`` (K, R, R) is in no pool.

    >>> freedom, scatters = np.array([500.0, 4.0]), np.array([500 * 0.01, 4 * 1.0]).reshape(2, 1, 1)
    >>> pool, lent = among_equals(freedom, scatters, scatters.sum(axis=0) / 504)
    >>> pool.ravel().round(3).tolist(), lent.round(2).tolist()
    ([0.018, 0.505], [4.0, 0.03])
    """
    tells = np.ones(scatters.shape) if given is None else np.where(given, 0.0, 1.0)
    if given is not None:  # who tells nothing of costs lends nothing
        costs = np.diagonal(tells, axis1=1, axis2=2)[:, 1:]
        freedom = np.where(costs.any(axis=1) | (costs.shape[1] == 0), freedom, 0.0)
    most = np.maximum(freedom, 1.0)
    lent = np.minimum(PRIOR, capped(freedom, np.ones((len(freedom), 1)), most)[:, 0] - freedom) * (1.0 - fewer(freedom))
    if (freedom == freedom.max(initial=0.0)).all():
        return np.broadcast_to(pooled, scatters.shape), lent
    with np.errstate(over="ignore"):
        each = (tells / most[:, None, None] * scatters).reshape(len(freedom), -1)
        size = capped(freedom, tells.reshape(len(freedom), -1), most).reshape(scatters.shape)
        pool = capped(freedom, each, most).reshape(scatters.shape)
    return np.where(size > 0, pool / np.maximum(size, 1.0), pooled), lent


def capped(freedom: Floats, values: Floats, most: Floats) -> Floats:
    """Sums of all arms' values (K, R) times their degrees of freedom, of which those of each arm count ``most`` (K,).

    >>> capped(np.array([1.0, 5.0, 9.0]), np.ones((3, 1)), np.array([1.0, 5.0, 9.0])).ravel().tolist()
    [3.0, 11.0, 15.0]
    """
    order = np.argsort(freedom, kind="stable")
    ranked, sorted_values = freedom[order], values[order]
    nothing = np.zeros((1, values.shape[1]))
    below = np.concatenate([nothing, np.cumsum(ranked[:, None] * sorted_values, axis=0)])
    above = np.concatenate([np.cumsum(sorted_values[::-1], axis=0)[::-1], nothing])
    place = np.searchsorted(ranked, most, side="right")
    return np.asarray(below[place] + most[:, None] * above[place])


def fewer(freedom: Floats) -> Floats:
    """By which share of the most degrees of freedom an arm has fewer (K,).

    >>> fewer(np.array([100.0, 50.0, 0.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return np.asarray(1.0 - freedom / max(freedom.max(initial=0.0), 1.0)) if freedom.any() else np.zeros(len(freedom))


def as_own_trials_say(freedom: Floats, scatters: Floats, blended: Floats) -> Floats:
    """Blended covariances (K, R, R), with the own deviation of an arm that has far fewer trials than others.

    With as many trials an arm that is taken for less noisy than it is stands beside one that is taken for noisier. With
    far fewer nothing makes up for it: where its own deviation is larger, it counts the more the fewer trials there are.

    >>> scatters, blended = np.array([[[500.0]], [[16.0]]]), np.ones((2, 1, 1))
    >>> as_own_trials_say(np.array([500.0, 4.0]), scatters, blended).ravel().round(3).tolist()
    [1.0, 3.956]
    """
    own = np.diagonal(scatters, axis1=1, axis2=2) / np.maximum(freedom, 1.0)[:, None]
    mixed = np.diagonal(blended, axis1=1, axis2=2)
    scale = np.maximum(own / np.where(mixed > 0, mixed, np.inf), 1.0) ** (0.5 * fewer(freedom)[:, None])
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
