"""The mix that keeps every limit with a wanted certainty, and how certain any mix is.

The optimum at the estimates stands exactly on its bounds, so the truth is above or below by chance. The safe mix
earns the most among those whose mean costs stay within the bounds even at the upper end of their one-sided
intervals. An interval of a mix is put together from those of its arms (the method of variance estimates recovery,
Zou and Donner 2008): the distances of the arms' own limits from their means add up like standard errors. For
Gaussian trials of two arms and one bound this is Fieller's limit; for 0/1 trials the arms' limits are Jeffreys's, so
that an event that was never seen still counts.

The support was chosen from the same trials, which favours arms whose costs look too small. The risk is therefore
multiplied by the chance that the support is right; how far this repairs it was measured, not proven.
"""

from typing import NamedTuple

import numpy as np

from bestmix.answers.cone import DUST, FINE, cone_mix, spread
from bestmix.arrays import Flags, Floats, Integers, Signs
from bestmix.kernels import conditions, jit
from bestmix.kernels.conditions import PRIOR
from bestmix.problems.solution import solve_means

COSTS = slice(1, None)  # of the metrics
EXACT = 10  # trials of one value, other than zero, after which it is taken for a price without spread
CAUTION = 0.8  # of the risk that is spent: the selection effect left over at three limits
LEAST_CHANCE = 0.02  # of a support; less would ask for margins that no experiment reaches
TINY = 1e-200  # next to nothing in any unit
SURE = 8.0  # standard errors from which on a condition is certain
PRECISION = 18  # halvings of a tail's interval
HALVINGS = 10  # of a bisection on the size of the margins: three digits


class Estimates(NamedTuple):
    """What the trials say about K arms: reward first, then L costs."""

    means: Floats  # (K, 1 + L)
    covariances: Floats  # of one trial (K, 1 + L, 1 + L); zeros for what is known
    counts: Floats  # trials (K,); infinite for known arms, 0 for untried ones
    binary: Signs  # 1 where all values were 0 or 1, -1 where they were 0 or -1, else 0 (K, 1 + L)


class SafeMix(NamedTuple):
    """A mix, and how certain it is that each limit is kept."""

    mixture: Floats  # (K,); all zero when no arm was tried
    mean: Floats  # estimated mean of each cost (L,)
    error: Floats  # its standard error (L,)
    kept: Floats  # chance that each limit is kept (L,)
    certainty: float  # that all limits are kept
    certified: bool  # whether that reaches the wanted certainty
    short: Flags  # limits that cannot be certified (L,)
    further: Floats  # about how many more trials of each arm would do (K,); infinite when none would


# --- estimates -----------------------------------------------------------------------------------------------


def estimates(means: Floats, scatters: Floats, counts: Floats, binary: Signs | Flags | None = None) -> Estimates:
    """Estimates from sums: each arm's covariance is blended with the pooled one, but a price keeps its own.

    ``scatters`` are sums of squares around the means (K, 1 + L, 1 + L), zeros for known arms, whose counts are
    infinite. A value that was the same in EXACT trials or more is a price; zero is not, it may be an event that
    did not happen yet, and keeps the pool's share, which falls like one over the trials.
    """
    counts, binary = np.asarray(counts, dtype=np.float64), _flags(means, binary)
    unknown = np.isfinite(counts)
    trials, own = counts[unknown].astype(np.int64), np.ascontiguousarray(scatters[unknown], dtype=np.float64)
    pooled, blended = np.empty(scatters.shape[1:]), np.zeros(scatters.shape)
    speed = jit.speed_for(len(trials))
    speed(conditions.pool_scatter)(trials, own, pooled)
    blended[unknown] = speed(conditions.blend)(trials, own, pooled)
    freedom = np.where(unknown, np.maximum(counts - 1.0, 0.0), 0.0)[:, None]
    same = (np.diagonal(scatters, axis1=1, axis2=2) <= freedom * (DUST * means) ** 2) & (means != 0) & (binary == 0)
    price = same & (counts >= EXACT)[:, None]
    blended[price[:, :, None] | price[:, None, :]] = 0.0
    return Estimates(means, blended, counts, binary)


def _flags(means: Floats, flags: Signs | Flags | None) -> Signs:
    return np.zeros(means.shape, dtype=np.int8) if flags is None else flags.astype(np.int8)


def chosen(data: Estimates, arms: Integers | Flags) -> Estimates:
    """Only some of the arms."""
    return Estimates(data.means[arms], data.covariances[arms], data.counts[arms], data.binary[arms])


def usable(data: Estimates) -> Flags:
    """Arms that were tried, or are known (K,)."""
    return np.asarray((data.counts > 0) & np.isfinite(data.means).all(axis=1))


def rounded(numbers: Floats) -> Floats:
    """With zeros for what is too small to be divided by."""
    return np.where(np.abs(numbers) < TINY, 0.0, numbers)


def mean_variances(data: Estimates) -> Floats:
    """Variance of each estimated mean (K, 1 + L)."""
    return np.diagonal(data.covariances, axis1=1, axis2=2) / data.counts[:, None]


def freedoms(data: Estimates) -> Floats:
    """Degrees of freedom of the variances (K,): the arm's own trials, and the pool's share."""
    return np.minimum(data.counts, 1e9) - 1.0 + PRIOR


def margins(data: Estimates, tail: Floats | float, sign: Floats | float = 1.0, metrics: slice = COSTS) -> Floats:
    """Distance of one-sided limits from the estimated means (K, L): the upper ones, or with sign -1 the lower ones.

    Each misses with the chance ``tail``: Student's quantile times the standard error, and for values of 0 and 1
    the limit of Jeffreys. ``tail`` and ``sign`` are for all metrics, or for each (L,).
    """
    from scipy.special import stdtrit

    # d_al = t(alpha_l; nu_a) sqrt(var_al)
    width = -stdtrit(freedoms(data)[:, None], np.maximum(tail, 1e-300)) * np.sqrt(mean_variances(data)[:, metrics])
    width = np.asarray(np.maximum(width, 0.0))
    events = data.binary[:, metrics]
    flags = (events != 0) & np.isfinite(data.counts)[:, None]
    if flags.any():
        share = events * data.means[:, metrics]
        width[flags] = _binomial_margins(
            share, data.counts[:, None], tail, np.asarray(sign * events, dtype=np.float64)
        )[flags]
    return width


def _binomial_margins(share: Floats, n: Floats, tail: Floats | float, sign: Floats | float) -> Floats:
    from scipy.special import betaincinv

    share, n = np.where(np.asarray(sign) > 0, share, 1.0 - share), np.where(np.isfinite(n), n, 1.0)
    other = np.clip(n * (1.0 - share), 0.0, n)  # trials without the event; a lower limit is one of these
    upper = 1.0 - betaincinv(other + 0.5, n - other + 0.5, np.broadcast_to(tail, share.shape))
    return np.asarray(np.clip(np.where(other < 0.5, 1.0, upper) - share, 0.0, 1.0))


# --- any mix -------------------------------------------------------------------------------------------------


def trust(chance: float | None) -> float:
    """Factor of the odds that a limit is broken, for a mix chosen from the same trials."""
    return CAUTION * max(chance or 0.0, LEAST_CHANCE)


def told(tail: Floats, factor: float) -> Floats:
    """Chance of a broken limit, selection included, from its tail: the odds grow by one over the factor."""
    return np.asarray(tail / (tail + (1.0 - tail) * factor))


def affordable(risk: float, factor: float) -> float:
    """Tail that may be spent for a told risk: the inverse of ``told``."""
    return risk * factor / (1.0 - risk + risk * factor)


def tails(data: Estimates, mixture: Floats, bound: Floats) -> Floats:
    """Estimated chance that each limit is broken by a mix that was fixed beforehand (L,).

    The tail at which the end of the mix's one-sided interval touches the bound, found by bisection. A mix without
    spread keeps a limit that it meets exactly.
    """
    from scipy.special import ndtr

    data, mixture = chosen(data, mixture > 0), mixture[mixture > 0]
    mean = mixture @ data.means[:, 1:]
    dust = DUST * np.maximum(np.abs(bound), np.abs(data.means[:, 1:]).max(axis=0, initial=0.0))
    sign = np.where(mean <= bound + dust, 1.0, -1.0)
    low, high = np.zeros(len(bound)), np.full(len(bound), SURE)

    def outside(z: Floats) -> Flags:
        width = spread(margins(data, np.asarray(ndtr(-z)), sign), mixture)
        return np.asarray(width > np.abs(bound - mean) + dust)

    for _ in range(PRECISION):
        middle = (low + high) / 2.0
        far = outside(middle)
        low, high = np.where(far, low, middle), np.where(far, middle, high)
    low[~outside(np.full(len(bound), SURE))] = np.inf
    return np.asarray(ndtr(-sign * low))


def mean_interval(data: Estimates, mixture: Floats, tail: float) -> tuple[Floats, Floats]:
    """Ends of the interval of each mean cost of a mix (L,), each of which misses with the chance ``tail``."""
    data, mixture = chosen(data, mixture > 0), mixture[mixture > 0]
    mean = mixture @ data.means[:, 1:]
    low, high = (spread(margins(data, tail, sign), mixture) for sign in (-1.0, 1.0))
    return np.asarray(mean - low), np.asarray(mean + high)


# --- the safe mix --------------------------------------------------------------------------------------------


def safe_mix(data: Estimates, bound: Floats, chance: float | None, safety: float = 0.95) -> SafeMix:
    """Mix with the largest estimated reward among those that keep all limits with the wanted certainty.

    ``chance`` is that of the support of the optimum at the estimates. When no mix is certain enough: the most
    certain one, the limits that are in the way, and about how many more trials would do.
    """
    data, bound, arms = data._replace(means=rounded(data.means)), rounded(bound), usable(data)
    inner, odds = chosen(data, arms), trust(chance)
    mixture = np.zeros(len(arms))
    if not arms.any():
        return _nothing(mixture, len(bound))
    found = _divided(inner, bound, affordable(1.0 - safety, odds))
    strange = 1.0 if found is None else float(found[solve_means(inner.means, bound).mixture == 0].sum())
    if strange > FINE:
        odds = trust(_diluted(inner, chance or 0.0, strange))
        found = _divided(inner, bound, affordable(1.0 - safety, odds))
    mixture[arms], times = (
        (found, 1.0) if found is not None else nearest_mix(inner, bound, affordable(1.0 - safety, odds))
    )
    return described(data, bound, mixture, odds, safety, times)


def _diluted(data: Estimates, chance: float, strange: float) -> float:
    """Chance to reckon with when a share of the safe mix is on arms outside the support that the chance is about.

    Of those nothing is known but that they look cheap: one over their number covers the choice of any.
    """
    unknown = max(int(np.isfinite(data.counts).sum()), 1)
    return (1.0 - strange) * chance + strange * min(chance, 1.0 / unknown)


def _divided(data: Estimates, bound: Floats, risk: float) -> Floats | None:
    """Safe mix with the risk divided among the limits: those that are hardly in danger leave theirs to the others."""
    share = np.full(len(bound), risk / max(len(bound), 1))
    best = cone_mix(data.means, bound, margins(data, share))
    for _ in range(2 if len(bound) > 1 else 0):
        spent = tails(data, best, bound) if best is not None else share
        idle = spent < share / 2.0
        if idle.all() or not idle.any():
            break
        share = np.where(idle, np.maximum(2.0 * spent, 1e-3 * risk), 0.0)
        share[~idle] = (risk - share.sum()) / (~idle).sum()
        best = cone_mix(data.means, bound, margins(data, share))
    return best


def nearest_mix(data: Estimates, bound: Floats, risk: float) -> tuple[Floats, float]:
    """The most certain mix where none is certain enough, and the factor of trials that it needs (infinite: no use).

    It is the mix for which all margins have to shrink the least; they fall like one over the root of the trials.
    Where the estimates themselves are above the bounds: the mix with the least violation.
    """
    guess = solve_means(data.means, bound)
    if guess.status == "infeasible":
        return guess.mixture, np.inf
    margin = margins(data, risk / len(bound))
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        fits = cone_mix(data.means, bound, middle * margin, finish=False) is not None
        low, high = (middle, high) if fits else (low, middle)
    found = cone_mix(data.means, bound, low * margin) if low else None
    return (guess.mixture, np.inf) if found is None else (found, high**-2.0)


def described(
    data: Estimates, bound: Floats, mixture: Floats, odds: float, safety: float = 1.0, times: float = np.inf
) -> SafeMix:
    """Any mix with its certainty, at the odds of ``trust``; ``times`` as many trials would do, 1: none are missing."""
    support = mixture > 0
    inner, share = chosen(data, support), mixture[support]
    tail = tails(data, mixture, bound)
    certainty = 1.0 - float(told(np.minimum(tail.sum(), 1.0), odds))
    certified = times == 1.0 or certainty >= safety
    certainty = max(certainty, safety) if certified else certainty
    return SafeMix(
        mixture=mixture,
        mean=share @ inner.means[:, 1:],
        error=spread(np.sqrt(mean_variances(inner)[:, 1:]), share),
        kept=np.maximum(1.0 - told(tail, odds), certainty),
        certainty=certainty,
        certified=certified,
        short=np.asarray(tail >= 0.5 * tail.max(initial=0.0)) & (not certified),
        further=np.zeros(len(mixture)) if certified else _further(data.counts, mixture, times),
    )


def _further(counts: Floats, mixture: Floats, times: float) -> Floats:
    """About how many more trials of each arm of the mix (K,), if the estimates are right; at least one."""
    tried = np.where(np.isfinite(counts), counts, 0.0)
    more = np.maximum(np.ceil(tried * (times - 1.0)), 1.0) if np.isfinite(times) else np.full(len(counts), np.inf)
    return np.where((mixture > 0) & (tried > 0), more, 0.0)


def _nothing(mixture: Floats, costs: int) -> SafeMix:
    """Before any trial."""
    unknown = np.full(costs, np.nan)
    return SafeMix(mixture, unknown, unknown, np.zeros(costs), 0.0, False, np.ones(costs, np.bool_), mixture + np.inf)
