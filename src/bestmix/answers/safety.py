"""The mix that keeps every limit with a wanted certainty, and how certain any mix is.

The optimum at the estimates stands exactly on its bounds, so the truth is above or below by chance. The safe mix
earns the most among those whose mean costs stay within the bounds even at the upper end of their one-sided
intervals. An interval of a mix is put together from those of its arms (the method of variance estimates recovery,
Zou and Donner 2008): the distances of the arms' own limits from their means add up like standard errors. For
Gaussian trials of two arms and one bound this is Fieller's limit; for 0/1 trials the arms' limits are those of a
beta distribution, so that an event that was never seen still counts.

How the safe mix is searched for is in ``safe_search.py``; here are the intervals of mean costs.
"""

from typing import Any, NamedTuple

import numpy as np

from bestmix.answers import likeliest, pooling
from bestmix.answers.cone import Margins, cone_mix, dust, scaled, spread, widest_mix
from bestmix.answers.correlations import mean_covariances, of_row
from bestmix.answers.safe_search import HALVINGS, judged, nothing, search, spread_out, tails_at
from bestmix.answers.safe_search import LEAST_CHANCE as LEAST_CHANCE
from bestmix.answers.safe_search import Guess as Guess
from bestmix.answers.safe_search import SafeMix as SafeMix
from bestmix.answers.safe_search import affordable as affordable
from bestmix.answers.safe_search import choice as choice
from bestmix.answers.safe_search import described as describe
from bestmix.answers.safe_search import regret_tail as regret_tail
from bestmix.answers.safe_search import shown_odds as shown_odds
from bestmix.answers.safe_search import told as told
from bestmix.answers.skewness import SHARE, SIZE, SKEWNESS
from bestmix.arrays import Flags, Floats, Integers, Signs
from bestmix.kernels import conditions, jit
from bestmix.kernels.conditions import PRIOR
from bestmix.problems.solution import solve_means

COSTS = slice(1, None)  # of the metrics
SOME_TAIL = 0.1  # of a limit whose width only tells whether there is any
ALIKE = 1e-14  # of a mean, by which values differ that rounding alone has made different
EXACT = 10  # trials of one value, other than zero, after which it is taken for a price without spread
FEW_EVENTS = 0.7  # events that limits of shares add: between Jeffreys's 0.5 and the 1 of exact limits
ALONE = 1.0  # the same where a single arm is uncertain: the errors of several do not make up for each other there
TINY = 1e-200  # next to nothing in any unit


class Estimates(NamedTuple):
    """What the trials say about K arms: reward first, then L costs."""

    means: Floats  # (K, 1 + L)
    covariances: Floats  # of one trial (K, 1 + L, 1 + L); zeros for what is known
    counts: Floats  # trials (K,); infinite for known arms, 0 for untried ones
    binary: Signs  # 1 where all values were 0 or 1, -1 where they were 0 or -1, else 0 (K, 1 + L)
    shared: Floats | None = None  # correlations of the means of different arms (K, K, 1 + L, 1 + L); None for none
    lent: Floats | float = PRIOR  # degrees of freedom that the other arms' trials add to an arm's own (K,)
    skew: Floats | None = None  # skewness and rare values of one trial (K, 1 + L, 3), as in skewness.py; None for none
    rivals: int = 0  # further arms out of which trials chose these
    few: float = FEW_EVENTS  # events that limits of shares add
    unlike: Floats | None = None  # own deviations over those that are blended with the pool's, one at least (K, 1 + L)
    fitted: bool = False  # whether means are of one fit: ``shared`` is known, not estimated, and no arm's trials alone


# --- estimates -----------------------------------------------------------------------------------------------


def estimates(
    means: Floats,
    scatters: Floats,
    counts: Floats,
    binary: Signs | Flags | None = None,
    as_possible: bool = False,
    skew: Floats | None = None,
    given: Flags | None = None,
) -> Estimates:
    """Estimates from sums: each arm's covariance is blended with the pooled one, but a price keeps its own.

    For the chance of a support (``as_possible``) the pool, that of decisions, counts for an arm as no more than its own
    trials leave possible. For limits it counts as more where values are skewed, and arms with many trials do not make
    one with few a quiet arm (``pooling``).

    ``scatters`` are sums of squares around the means (K, 1 + L, 1 + L), zeros for known arms, whose counts are
    infinite. ``skew`` (K, 1 + L, 3) is what to reckon with; None where it is not known. ``given`` (K, 1 + L, 1 + L) are
    entries that are known. A value that was the same, but for rounding, in EXACT trials or more, of an arm or (but for
    the first ones) of all, is a price; zero is not, it may be an event that did not happen yet, and keeps the pool's
    share, which falls like one over the trials.
    """
    counts, binary = np.asarray(counts, dtype=np.float64), _flags(means, binary)
    unknown = np.isfinite(counts)
    trials, own = counts[unknown].astype(np.int64), np.ascontiguousarray(scatters[unknown], dtype=np.float64)
    pooled, blended = np.empty(scatters.shape[1:]), np.zeros(scatters.shape)
    speed = jit.speed_for(len(trials))
    speed(conditions.pool_scatter)(trials, own, pooled)
    least = 0.0 if as_possible else pooling.skewed(trials, own, means[unknown], _of(skew, unknown))
    pools, lends, left = pooled, np.full(len(trials), PRIOR), np.maximum(trials - 1.0, 0.0)
    if not as_possible:
        pools, lends = pooling.among_equals(left, own, pooled, _of(given, unknown))
    mixed = pooling.blended_as_possible(trials, own, pools, binary[unknown] != 0, least)
    blended[unknown] = mixed if as_possible else pooling.as_own_trials_say(left, own, mixed)
    freedom = np.where(unknown, np.maximum(counts - 1.0, 0.0), 0.0)[:, None]
    same = (np.diagonal(scatters, axis1=1, axis2=2) <= freedom * (ALIKE * means) ** 2) & (means != 0) & (binary == 0)
    price = same & (counts >= EXACT)[:, None]
    blended[price[:, :, None] | price[:, None, :]] = 0.0
    if freedom.sum() < EXACT - 1:  # a few trials without any spread, and the first of an arm says nothing of it
        for a, m in np.argwhere(same & (np.diagonal(pooled) == 0.0) & unknown[:, None]):
            blended[a, m, m] = means[a, m] ** 2
    unseen = (binary != 0) & (means == 0) & (np.diagonal(pooled) == 0.0)  # no arm has shown an event
    for a, m in np.argwhere(unseen & ((counts > 0) & unknown)[:, None]):
        share = FEW_EVENTS / (counts[a] + 1.0)
        blended[a, m, m] = share * (1.0 - share)
    lent = np.minimum(PRIOR, freedom.sum() - freedom[:, 0])
    lent[unknown] = np.minimum(lent[unknown], lends)
    skew = None if skew is None else np.where(price[:, :, None], 0.0, skew)
    few = ALONE if unknown.sum() == 1 else FEW_EVENTS
    variance = np.diagonal(scatters, axis1=1, axis2=2) / np.maximum(freedom, 1.0)
    reckoned = np.diagonal(blended, axis1=1, axis2=2)
    unlike = np.sqrt(np.maximum(variance / np.where(reckoned > 0, reckoned, np.inf), 1.0))
    return Estimates(means, blended, counts, binary, lent=lent, skew=skew, few=few, unlike=unlike)


def _flags(means: Floats, flags: Signs | Flags | None) -> Signs:
    return np.zeros(means.shape, dtype=np.int8) if flags is None else flags.astype(np.int8)


def _of(table: Any, arms: Integers | Flags) -> Any:
    return None if table is None else table[arms]


def chosen(data: Estimates, arms: Integers | Flags) -> Estimates:
    """Only some of the arms."""
    shared, skew = None if data.shared is None else data.shared[arms][:, arms], _of(data.skew, arms)
    means, covariances, counts, binary = data.means[arms], data.covariances[arms], data.counts[arms], data.binary[arms]
    lent = np.broadcast_to(data.lent, data.counts.shape)[arms]
    told = means, covariances, counts, binary, shared, lent, skew
    return Estimates(*told, data.rivals, data.few, _of(data.unlike, arms), data.fitted)


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
    """Degrees of freedom of the variances (K,): the arm's own trials, and the pool's share; one at least."""
    return np.maximum(np.minimum(data.counts, 1e9) - 1.0 + data.lent, 1.0)


def margins(data: Estimates, tail: Floats | float, sign: Floats | float = 1.0, metrics: slice = COSTS) -> Floats:
    """Distance of one-sided limits from the estimated means (K, L): the upper ones, or with sign -1 the lower ones.

    Each misses with the chance ``tail``: Student's quantile times the standard error, and for values of 0 and 1
    ``binomial_margins``. ``tail`` and ``sign`` are for all metrics, or for each (L,).
    """
    from scipy.special import stdtrit

    # d_al = t(alpha_l; nu_a) sqrt(var_al)
    quantile = np.maximum(-stdtrit(freedoms(data)[:, None], np.maximum(tail, 1e-300)), 0.0)
    if data.skew is not None:
        quantile = farther(quantile, sign * data.skew[:, metrics, SKEWNESS], data.counts[:, None])
    width = np.asarray(quantile * np.sqrt(mean_variances(data)[:, metrics]))
    if data.skew is not None:
        width = np.maximum(width, rare_margins(data.skew[:, metrics], data.counts[:, None], tail, sign))
    events = data.binary[:, metrics]
    flags = (events != 0) & np.isfinite(data.counts)[:, None]
    if flags.any():
        share = events * data.means[:, metrics]
        sign = np.asarray(sign * events, dtype=np.float64)
        events_width = binomial_margins(share, data.counts[:, None], tail, sign, data.few)[flags]
        width[flags] = np.maximum(width[flags], events_width) if data.fitted else events_width
    return width


def farther(quantile: Floats, skewness: Floats, counts: Floats) -> Floats:
    """Quantile of a mean in units of its estimated error, where a long tail of the values is on the limit's side.

    Who has not seen the long tail takes mean and error for too small: the first term of the expansion of Edgeworth, of
    Cornish and Fisher, for a studentised mean (Hall). Where the tail is on the other side nothing is taken off.
    """
    # t + gamma (1 + 2 t^2) / (6 sqrt(n))
    return np.asarray(quantile + np.maximum(skewness, 0.0) * (1.0 + 2.0 * quantile**2) / (6.0 * np.sqrt(counts)))


def rare_margins(skew: Floats, counts: Floats, tail: Floats | float, sign: Floats | float) -> Floats:
    """Distance of one-sided limits from means (K, L) of values that are alike but for a few large ones (K, L, 3).

    As many large values may be missing as events of that share may have happened too rarely: an arm that has shown
    none in n trials may have one in n / 3 or so. Zero where nothing is known of large values.
    """
    size, known = skew[..., SIZE], skew[..., SIZE] != 0
    n = np.broadcast_to(np.where(np.isfinite(counts), counts, 1.0), size.shape)
    width = np.abs(size) * binomial_margins(skew[..., SHARE], n, tail, np.where(known, np.sign(sign * size), 1.0))
    return np.where(known, width, 0.0)


def binomial_margins(
    share: Floats, n: Floats, tail: Floats | float, sign: Floats | float, few: float = FEW_EVENTS
) -> Floats:
    """Distance of one-sided limits from the shares of 1 in n trials of 0 and 1.

    Those of a beta distribution with ``few`` events added: between Jeffreys's and the exact ones (Clopper and Pearson).
    """
    from scipy.special import betaincinv

    share, n = np.where(np.asarray(sign) > 0, share, 1.0 - share), np.where(np.isfinite(n), n, 1.0)
    other = np.clip(n * (1.0 - share), 0.0, n)  # trials without the event; a lower limit is one of these
    tail = np.broadcast_to(tail, share.shape)
    # other + 1 - few is zero where the event was seen in all trials, and its upper limit is 1
    upper = np.where(other < 0.5, 1.0, 1.0 - betaincinv(np.maximum(other, 0.5) + 1.0 - few, n - other + few, tail))
    return np.asarray(np.clip(upper - share, 0.0, 1.0))


def share_interval(share: Floats, n: float, tail: float) -> tuple[Floats, Floats]:
    """Ends of the intervals of shares of 1 in n trials of 0 and 1, each of which misses with the chance ``tail``.

    >>> [end.round(4).tolist() for end in share_interval(np.array([0.0, 0.005, 0.5]), 200, 0.025)]
    [[0.0, 0.0003, 0.4301], [0.015, 0.0249, 0.5699]]
    """
    trials = np.full(share.shape, float(n))
    low, high = (binomial_margins(share, trials, tail, sign) for sign in (-1.0, 1.0))
    return share - low, share + high


# --- any mix -------------------------------------------------------------------------------------------------


def tails(data: Estimates, mixture: Floats, bound: Floats) -> Floats:
    """Estimated chance that each limit is broken by a mix that was fixed beforehand (L,).

    The tail at which the end of the mix's one-sided interval touches the bound, found by bisection. A mix without
    spread keeps a limit that it meets exactly.
    """
    from scipy.special import ndtr

    data, mixture = chosen(data, mixture > 0), mixture[mixture > 0]
    mean = mixture @ data.means[:, 1:]
    some = spread(margins(data, SOME_TAIL), mixture, of_row(data.shared, COSTS))
    rounding = dust(data.means[:, 1:], bound, some)
    sign = np.where(mean <= bound + rounding, 1.0, -1.0)

    def outside(z: Floats) -> Flags:
        width = spread(margins(data, np.asarray(ndtr(-z)), sign), mixture, of_row(data.shared, COSTS))
        return np.asarray(width > np.abs(bound - mean) + rounding)

    return tails_at(outside, sign)


def mean_interval(data: Estimates, mixture: Floats, tail: float) -> tuple[Floats, Floats]:
    """Ends of the interval of each mean cost of a mix (L,), each of which misses with the chance ``tail``."""
    data, mixture = chosen(data, mixture > 0), mixture[mixture > 0]
    mean = mixture @ data.means[:, 1:]
    together = of_row(data.shared, COSTS)
    low, high = (spread(margins(data, tail, sign), mixture, together) for sign in (-1.0, 1.0))
    return np.asarray(mean - low), np.asarray(mean + high)


# --- the safe mix --------------------------------------------------------------------------------------------


def safe_mix(data: Estimates, bound: Floats, chance: float | None, safety: float = 0.95) -> SafeMix:
    """Mix with the largest estimated reward among those that keep all limits with the wanted certainty.

    ``chance`` is that of the support of the optimum at the estimates. When no mix is certain enough: the most
    certain one, the limits that are in the way, and about how many more trials would do.
    """
    data, bound, arms = data._replace(means=rounded(data.means)), rounded(bound), usable(data)
    if not arms.any():
        return nothing(len(arms), len(bound))
    return spread_out(search(CostLimits(chosen(data, arms), bound), chance, safety), arms)


def judged_mix(data: Estimates, bound: Floats, chance: float | None, mixture: Floats, safety: float) -> SafeMix:
    """A given mix as ``safe_mix`` would judge it."""
    data, bound, arms = data._replace(means=rounded(data.means)), rounded(bound), usable(data)
    return spread_out(judged(CostLimits(chosen(data, arms), bound), chance, mixture[arms], safety), arms)


class CostLimits(NamedTuple):
    """Bounds on the mean costs of arms that were tried or are known, as the search for a safe mix sees them."""

    data: Estimates
    bound: Floats

    @property
    def counts(self) -> Floats:
        """Trials of each arm (K,)."""
        return self.data.counts

    @property
    def noisy(self) -> Flags:
        """All of them."""
        return np.ones(len(self.bound), dtype=np.bool_)

    @property
    def rivals(self) -> int:
        """Further arms out of which the trials chose these."""
        return self.data.rivals

    @property
    def events(self) -> int:
        """Bounds on costs that were 0 or 1 in all trials."""
        tried = np.isfinite(self.counts) & (self.counts > 0)
        return int((self.data.binary[tried, 1:] != 0).all(axis=0).sum()) if tried.any() else 0

    @property
    def size(self) -> int:
        """One arm, and one more for each bound."""
        return 1 + len(self.bound)

    def optimum(self) -> Guess:
        """The best mix at the estimates."""
        guess = solve_means(self.data.means, self.bound)
        return Guess(guess.mixture, guess.status != "infeasible", guess.dual)

    def noise(self, mixture: Floats) -> Floats:
        """Covariances of a mix's mean reward and costs (1 + L, 1 + L)."""
        own = np.einsum("a,aij->ij", mixture * mixture / self.data.counts, self.data.covariances)
        if not self.data.fitted or self.data.shared is None:
            return np.asarray(own)
        together = mean_covariances(self.data.shared, np.sqrt(mean_variances(self.data)))
        return np.asarray(own + np.einsum("a,abij,b->ij", mixture, together, mixture))

    def within(self, tail: Floats | float) -> Floats | None:
        """The best mix with margins."""
        return cone_mix(self.data.means, self.bound, margins(self.data, tail), of_row(self.data.shared, COSTS))

    def widest(self, tail: float) -> tuple[float, Floats | None]:
        """The share of the margins that some mix has room for."""
        together = of_row(self.data.shared, COSTS)
        return widest_mix(self.data.means, self.bound, margins(self.data, tail), HALVINGS, together)

    def likeliest(self, mixture: Floats) -> Floats:
        """The mix that most likely keeps all bounds, by steps from a given one."""
        from scipy.special import ndtri

        width, together = margins(self.data, likeliest.TAIL) / -ndtri(likeliest.TAIL), of_row(self.data.shared, COSTS)
        excess, errors = scaled(self.data.means, self.bound, Margins(width, together))

        def scores(mix: Floats) -> tuple[Floats, Floats]:
            return -mix @ excess, errors.spread(mix)

        def slopes(mix: Floats) -> tuple[Floats, Floats]:
            error = errors.spread(mix)
            return -excess, errors.slope(mix) / np.where(error > 0, error, 1.0)

        return likeliest.likeliest(mixture, scores, slopes, np.zeros(len(mixture), dtype=np.int64), np.ones(1))

    def tails(self, mixture: Floats) -> Floats:
        """Chance that each bound is broken."""
        return tails(self.data, mixture, self.bound)

    def keeps(self, mixture: Floats, tail: float, times: float) -> bool:
        """Whether the ends of the intervals would be within the bounds."""
        inner, share = chosen(self.data, mixture > 0), mixture[mixture > 0]
        inner = inner._replace(counts=times * inner.counts)
        room = self.bound - share @ inner.means[:, 1:]
        width = spread(margins(inner, tail), share, of_row(inner.shared, COSTS))
        return bool((width <= room + dust(inner.means[:, 1:], self.bound, width)).all())

    def means(self, mixture: Floats) -> tuple[Floats, Floats]:
        """Mean costs and their standard errors, from the arms in the mix alone: others may have no trials."""
        inner, share = chosen(self.data, mixture > 0), mixture[mixture > 0]
        errors = np.sqrt(mean_variances(inner)[:, 1:])
        return share @ inner.means[:, 1:], spread(errors, share, of_row(inner.shared, COSTS))


def described(
    data: Estimates, bound: Floats, mixture: Floats, odds: float, safety: float = 1.0, times: float = np.inf
) -> SafeMix:
    """Any mix with its certainty, at the odds of ``trust``; ``times`` as many trials would do, 1: none are missing."""
    return describe(CostLimits(data, bound), mixture, odds, safety, times)
