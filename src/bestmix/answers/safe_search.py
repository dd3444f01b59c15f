"""The search for a mix that keeps every limit with a wanted certainty, whatever the limits are.

``Limits`` is what it needs to know of them: ``safety.py`` has them for mean costs of arms, ``program_safety.py`` for
every kind of limit, in segments too.

The support was chosen from the same trials, which favours arms whose costs look too small, and also makes the support
look likely. The risk is therefore multiplied by a power of the chance that the support is right, or by one over the
number of supports, which is enough for any of them; how far the former repairs it was measured, not proven. The power
grows with what a lucky choice says of the costs. What is chosen is what scores most, reward less costs at their prices;
where a good score comes from costs that look too small, or from rewards that come with these, its noise is that of the
costs with the opposite sign, and their correlation is -1.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from bestmix.answers.cone import FINE
from bestmix.arrays import Flags, Floats

CAUTION = 0.8  # of the risk that is spent: the selection effect left over at three limits
POWER = 4.0  # of the chance of the support, beyond the first: where luck of the choice is luck of the costs
EARLY = 20.0  # trials of an arm: with fewer its luck counts more than twice, since the chance rests on them too
MOST_SUPPORTS = 250  # that the risk is divided by; more would ask for margins that no experiment reaches
LEAST_CHANCE = 0.02  # of a support, for the same reason
LUCK = 0.4  # of the risk of a regret above its bound: a support that looks likely after few trials may be a lucky draw
SURE = 8.0  # standard errors from which on a condition is certain
PRECISION = 18  # halvings of a tail's interval
HALVINGS = 8  # of a bisection on the size of the margins: two digits
LITTLE = 1e-3  # of a risk: what a limit that is in no danger gets of it
NEARLY = 1.05  # times a small risk: what FINE of a margin can make of it
PRECISE = 0.01  # of the factor of trials that would do
MISSING = 1e-3  # of a risk: by so much at least a certainty that is not certified is below the wanted one
HOPELESS = 1e-6  # of the margins: more trials than anybody can make


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


class Guess(NamedTuple):
    """The best mix at the estimates, or the one with the least violation."""

    mixture: Floats  # (K,)
    feasible: bool
    prices: Floats  # what one more unit of each limit would earn (L,)


class Selection(NamedTuple):
    """How far trials chose the columns of a program out of others, which it does not have."""

    chance: float | None  # that the support is right, with all of these columns in view
    rivals: int  # columns that the program does not have


class Limits(Protocol):
    """K columns that were tried or are known, under L limits."""

    @property
    def counts(self) -> Floats:
        """Trials of each column (K,); infinite for known ones."""

    @property
    def noisy(self) -> Flags:
        """Limits that are kept with a margin (L,)."""

    @property
    def rivals(self) -> int:
        """Further columns out of which the trials chose these, and that are not to be used."""

    @property
    def events(self) -> int:
        """How many of these are on values of 0 and 1."""

    @property
    def size(self) -> int:
        """Columns of a support, at most."""

    def optimum(self) -> Guess:
        """The best mix at the estimates."""

    def noise(self, mixture: Floats) -> Floats:
        """Covariances of what is estimated of a mix: the objective, and what each limit is about (1 + L, 1 + L)."""

    def within(self, tail: Floats | float) -> Floats | None:
        """The best mix that keeps the limits with margins that miss with these chances; None when there is none."""

    def widest(self, tail: float) -> tuple[float, Floats | None]:
        """The largest share of such margins, up to 1, that some mix has room for, and such a mix; None if none has."""

    def likeliest(self, mixture: Floats) -> Floats:
        """The mix that most likely keeps all limits at once, by steps from a given one."""

    def tails(self, mixture: Floats) -> Floats:
        """Chance that each limit is broken by a mix that was fixed beforehand (L,)."""

    def keeps(self, mixture: Floats, tail: float, times: float) -> bool:
        """Whether a mix keeps the limits with such margins, were the estimates from so many times the trials."""

    def means(self, mixture: Floats) -> tuple[Floats, Floats]:
        """What each limit is about (L,), at the estimates, and its standard error."""


def trust(chance: float | None, supports: int = MOST_SUPPORTS, luck: float = 1.0) -> float:
    """Factor of the odds that a limit is broken, for a mix chosen from the same trials out of so many supports.

    ``luck`` is how far a lucky choice is one of costs that look too small: from 0 to 1, and more after few trials.
    """
    return CAUTION * max(math.pow(chance or 0.0, 1.0 + POWER * luck), 1.0 / min(supports, MOST_SUPPORTS))


class Choice(NamedTuple):
    """The mix that the trials chose, and the factor of the odds for any mix of its arms."""

    mixture: Floats
    odds: float


def choice(limits: Limits, chance: float | None, guess: Guess | None = None) -> Choice:
    """What was chosen from the trials, and how far it is to be trusted; ``guess`` is the optimum, where it is known."""
    guess = limits.optimum() if guess is None else guess
    luck = luck_of(limits.noise(guess.mixture), guess.prices, limits.noisy) if guess.feasible else 1.0
    fewest = limits.counts[guess.mixture > 0].min(initial=np.inf)
    return Choice(guess.mixture, trust(chance, supports(limits), luck * (1.0 + EARLY / max(fewest, 1.0))))


def luck_of(noise: Floats, prices: Floats, noisy: Flags) -> float:
    """Squared correlation of a mix's score with a cost, of the limit where it is the most negative; 0 if none is.

    ``noise`` are covariances of the mix's objective and limits (1 + L, 1 + L).

    >>> noise = np.array([[0.01, -0.009], [-0.009, 0.01]])  # a good trial is a cheap one
    >>> round(luck_of(noise, np.array([0.5]), np.array([True])), 2)
    0.91
    >>> round(luck_of(np.abs(noise), np.array([0.5]), np.array([True])), 2)
    0.0
    """
    with np.errstate(all="ignore"):
        error = np.sqrt(np.diagonal(noise))
        size = np.where(error > 0, error, 1.0)
        together, score = noise / size[:, None] / size, np.r_[1.0, -prices] * size
        score = score / np.abs(score).max()
        length = np.sqrt(score @ together @ score)
        found = (together[1:] @ score) / np.where(length > 0, length, 1.0)
    if not np.isfinite(found).all():
        return 1.0
    return float(min(np.minimum(found[noisy], 0.0).min(initial=0.0) ** 2, 1.0))


def supports(limits: Limits) -> int:
    """How many supports there are to choose from, but for what is known; about, when they are very many."""
    unknown, result = _unknown(limits), 0
    for size in range(1, min(limits.size, unknown) + 1):
        result += math.comb(unknown, size)
        if result > MOST_SUPPORTS:
            break
    return result


def told(tail: Floats, factor: float) -> Floats:
    """Chance of a broken limit, selection included, from its tail: the odds grow by one over the factor."""
    return np.asarray(tail / (tail + (1.0 - tail) * factor))


def affordable(risk: float, factor: float) -> float:
    """Tail that may be spent for a told risk: the inverse of ``told``."""
    return risk * factor / (1.0 - risk + risk * factor)


def regret_tail(risk: float, chance: float | None) -> float:
    """Tail at which to bound the regret of a mix that was chosen from the same trials, for a wanted risk."""
    return LUCK * risk * max(chance or 0.0, LEAST_CHANCE)


def search(limits: Limits, chance: float | None, safety: float) -> SafeMix:
    """Mix with the largest estimated objective among those that keep all limits with the wanted certainty.

    ``chance`` is that of the support of the optimum at the estimates. When no mix is certain enough: the most
    certain one, the limits that are in the way, and about how many more trials would do. Where the estimates are above
    the limits: the one with the least violation, or the most certain one if events of 0 and 1 may be so by chance.
    """
    found, odds = certain(limits, chance, safety)
    if found is not None:
        return described(limits, found, odds, safety, 1.0)
    mixture, times = nearest(limits, affordable(1.0 - safety, odds))
    shown = shown_odds(limits, chance)
    result = described(limits, mixture, odds, safety, times, shown)
    hopeful = np.isfinite(times)
    if (limits.noisy.sum() < 2) if hopeful else not limits.events:
        return result
    likely = limits.likeliest(mixture)
    better = described(limits, likely, odds, safety, shown=shown)
    if not hopeful:  # unless noise may explain it, the least violation
        return better if (limits.tails(likely) <= safety).all() else result
    # the trials that would do are those of the mix whose margins have to shrink the least
    return better if better.certified else better._replace(further=result.further)


def certain(limits: Limits, chance: float | None, safety: float) -> tuple[Floats | None, float]:
    """The mix of ``search`` where one is certain enough, else None; and the odds that it was reckoned with."""
    chosen, odds = choice(limits, chance)
    found = divided(limits, affordable(1.0 - safety, odds))
    strange = 1.0 if found is None else _strange(chosen, found)
    if strange > FINE:
        odds = _diluted(limits, odds, strange)
        found = divided(limits, affordable(1.0 - safety, odds))
    return found, odds


def judged(limits: Limits, chance: float | None, mixture: Floats, safety: float) -> SafeMix:
    """A given mix as ``search`` would judge it: certified, up to rounding, if that could have found it."""
    return _judged(limits, chance, mixture, safety, choice(limits, chance))


def _judged(limits: Limits, chance: float | None, mixture: Floats, safety: float, made: Choice) -> SafeMix:
    odds = _diluted(limits, made.odds, _strange(made.mixture, mixture))
    close = 1.0 - _surely(limits.tails(mixture), odds) < NEARLY * (1.0 - safety)
    return described(limits, mixture, odds, safety, 1.0 if close else np.inf, shown_odds(limits, chance))


def best_alone(limits: Limits, chance: float | None, alone: Floats, value: Floats, safety: float) -> int | None:
    """The first in value of some mixes (A, K) that ``judged`` certifies; None when it certifies none of them."""
    made = choice(limits, chance)
    for a in np.argsort(-value, kind="stable"):
        if _judged(limits, chance, alone[a], safety, made).certified:
            return int(a)
    return None


def single_tail(limits: Limits, chance: float | None, safety: float) -> float:
    """The largest tail of a limit with which ``judged`` may certify a mix."""
    return affordable(NEARLY * (1.0 - safety), choice(limits, chance).odds)


def _strange(chosen: Floats, mixture: Floats) -> float:
    """Share of a mix on columns outside of the one that was chosen."""
    return float(mixture[chosen == 0].sum())


def _diluted(limits: Limits, odds: float, strange: float) -> float:
    """Odds to reckon with when a share of the safe mix is on arms outside the support that the chance is about.

    Of those nothing is known but that they look cheap: one over their number covers the choice of any.
    """
    return (1.0 - strange) * odds + strange * min(odds, CAUTION / _unknown(limits))


def divided(limits: Limits, risk: float) -> Floats | None:
    """Safe mix with the risk divided among the limits: those that are hardly in danger leave theirs to the others."""
    noisy = limits.noisy
    count = int(noisy.sum())
    share = np.full(len(noisy), risk / max(count, 1))
    best = limits.within(share)
    if best is None:
        needed = _needed(limits, risk) if count > 1 else None
        return None if needed is None else limits.within(needed)
    for _ in range(2 if count > 1 else 0):
        spent = limits.tails(best)
        idle = noisy & (spent < share / 2.0)
        if idle[noisy].all() or not idle.any():
            break
        share = np.where(idle, np.maximum(2.0 * spent, LITTLE * risk), 0.0)
        share[noisy & ~idle] = (risk - share.sum()) / (noisy & ~idle).sum()
        found = limits.within(share)
        if found is None:
            break
        best = found
    return best


def _needed(limits: Limits, risk: float) -> Floats | None:
    """The risk divided as the mix needs it that most likely keeps all limits; None where that needs more."""
    mixture, times = nearest(limits, risk)
    if not np.isfinite(times):
        return None
    tail = np.where(limits.noisy, limits.tails(limits.likeliest(mixture)), 0.0)
    tail = np.where(limits.noisy, np.maximum(tail, LITTLE * risk), 0.0)
    return tail * risk / tail.sum() if tail.sum() <= risk else None


def nearest(limits: Limits, risk: float) -> tuple[Floats, float]:
    """The mix whose margins have to shrink the least, and the factor of trials that it needs (infinite: no use).

    Where the estimates themselves are above the bounds: the mix with the least violation.
    """
    guess, feasible, _ = limits.optimum()
    if not feasible:
        return guess, np.inf
    tail = risk / max(int(limits.noisy.sum()), 1)
    share, found = limits.widest(tail)
    if found is None or share < HOPELESS:
        return guess, np.inf
    return found, _enough(limits, found, tail, share**-2.0)


def _enough(limits: Limits, mixture: Floats, tail: float, most: float) -> float:
    """The factor of trials with which a mix would keep the limits, ``most`` at most, to two digits.

    Most margins fall like one over the root of the trials; that of an event that was not seen falls like one over them.
    """
    low, high = 0.0, float(np.log(most))
    while high - low > PRECISE:
        middle = (low + high) / 2.0
        low, high = (low, middle) if limits.keeps(mixture, tail, float(np.exp(middle))) else (middle, high)
    return float(np.exp(high))


def shown_odds(limits: Limits, chance: float | None) -> float:
    """The odds with which to tell chances of a mix that is not certified: an estimate, where ``trust`` is a precaution.

    Where the chance of the support cannot be said, one over the number of arms covers the choice of any, and with one
    arm there is no choice (measured: docs/research/safety.md).
    """
    unknown = _unknown(limits)
    return CAUTION * (1.0 / unknown if chance is None or unknown == 1 else max(chance, LEAST_CHANCE))


def _unknown(limits: Limits) -> int:
    """Columns whose trials may mislead the choice; one at least."""
    return max(int(np.isfinite(limits.counts).sum()) + limits.rivals, 1)


def _surely(tail: Floats, odds: float) -> float:
    """Certainty that all limits are kept, however their noise depends on each other: tails add up."""
    return 1.0 - float(told(np.minimum(tail.sum(), 1.0), odds))


def _estimated(tail: Floats, odds: float, safety: float) -> tuple[float, Floats]:
    """Chances that all limits are kept, as if their noise were independent, and each; below what was not certified."""
    broken, each = float(told(np.asarray(1.0 - np.prod(1.0 - tail)), odds)), told(tail, odds)
    least = min((1.0 - safety) * (1.0 + MISSING), 1.0)
    if broken >= least:
        return 1.0 - broken, 1.0 - each
    return 1.0 - least, 1.0 - np.minimum(each * (least / broken) if broken > 0.0 else np.full(len(tail), least), least)


def described(
    limits: Limits,
    mixture: Floats,
    odds: float,
    safety: float = 1.0,
    times: float = np.inf,
    shown: float | None = None,
) -> SafeMix:
    """Any mix with its certainty, at the odds of ``trust``; ``times`` as many trials would do, 1: none are missing.

    What is certified holds however the limits depend on each other. Of another mix an estimate is told, at the odds
    ``shown`` if given: sums of tails would be above one where each of several limits is in doubt.
    """
    tail, (mean, error) = limits.tails(mixture), limits.means(mixture)
    certainty = _surely(tail, odds)
    certified = times == 1.0 or certainty >= safety
    if certified:
        certainty, kept = max(certainty, safety), 1.0 - told(tail, odds)
    else:
        certainty, kept = _estimated(tail, odds if shown is None else shown, safety)
    return SafeMix(
        mixture=mixture,
        mean=mean,
        error=error,
        kept=np.maximum(kept, certainty),
        certainty=certainty,
        certified=certified,
        short=np.asarray(tail >= 0.5 * tail.max(initial=0.0)) & (not certified),
        further=np.zeros(len(mixture)) if certified else _further(limits.counts, mixture, times),
    )


def _further(counts: Floats, mixture: Floats, times: float) -> Floats:
    """About how many more trials of each arm of the mix (K,), if the estimates are right; at least one."""
    tried = np.where(np.isfinite(counts), counts, 0.0)
    more = np.maximum(np.ceil(tried * (times - 1.0)), 1.0) if np.isfinite(times) else np.full(len(counts), np.inf)
    return np.where((mixture > 0) & (tried > 0), more, 0.0)


def nothing(columns: int, limits: int) -> SafeMix:
    """Before any trial."""
    mixture, unknown = np.zeros(columns), np.full(limits, np.nan)
    return SafeMix(mixture, unknown, unknown, np.zeros(limits), 0.0, False, np.ones(limits, np.bool_), mixture + np.inf)


def spread_out(found: SafeMix, columns: Flags) -> SafeMix:
    """With zeros for the columns that were left out; ``columns`` are those that were not."""
    mixture, further = np.zeros((2, len(columns)))
    mixture[columns], further[columns] = found.mixture, found.further
    return found._replace(mixture=mixture, further=further)


def tails_at(outside: Callable[[Floats], Flags], sign: Floats) -> Floats:
    """Chances that limits are broken: where the end of the mix's one-sided interval touches them, by bisection.

    ``outside`` says of which limits the interval of so many standard errors reaches beyond; ``sign`` is 1 where the
    mean keeps the limit and -1 where it does not.
    """
    from scipy.special import ndtr

    low, high = np.zeros(len(sign)), np.full(len(sign), SURE)
    for _ in range(PRECISION):
        middle = (low + high) / 2.0
        far = outside(middle)
        low, high = np.where(far, low, middle), np.where(far, middle, high)
    low[~outside(np.full(len(sign), SURE))] = np.inf
    return np.asarray(ndtr(-sign * low))
