"""What a mix is worth: how much better the best mix can be, what it earns, what it gains over a single arm."""

from typing import NamedTuple

import numpy as np

from bestmix.answers.cone import dust, spread
from bestmix.answers.correlations import of_row
from bestmix.answers.regret import by_themselves, least_bound
from bestmix.answers.safe_search import best_alone, single_tail
from bestmix.answers.safety import (
    CostLimits,
    Estimates,
    chosen,
    margins,
    regret_tail,
    rounded,
    usable,
)
from bestmix.arrays import Flags, Floats
from bestmix.problems.solution import solve_means

REWARD = slice(0, 1)
LIKELY = 0.5  # chance of the support from which on the lower end of the objective holds


class Certificate(NamedTuple):
    """What can be said about a mix with one certainty; None where it cannot."""

    regret: float  # the best mix of the tried arms earns at most so much more
    value: float
    value_interval: tuple[float, float]
    single: int | None  # the best arm that alone keeps the limits with the wanted certainty
    gain: float | None  # of the mix over it
    gain_interval: tuple[float, float] | None


def possible(regret: float, interval: tuple[float, float], ends: tuple[float, float], chance: float | None) -> float:
    """A bound on the regret, no larger than what is possible where the objective of every mix is between two ends.

    ``interval`` is that of the mix's objective, which errs too often where the support is not likely.

    >>> possible(1.8, (0.4, 0.8), (0.0, 1.0), 0.9), possible(1.8, (0.4, 0.8), (0.0, 1.0), 0.3)
    (0.6, 1.0)
    """
    low, high = ends
    least = max(interval[0], low) if (chance or 0.0) >= LIKELY else low
    return min(regret, high - least)


def certify(
    data: Estimates,
    mixture: Floats,
    bound: Floats,
    chance: float | None,
    prices: Floats,
    level: float = 0.95,
    safety: float = 0.95,
    certified: bool | None = None,
    deployable: Flags | None = None,
) -> Certificate:
    """Certificate of a mix; ``prices`` are the shadow prices of the optimum at the estimates, a good start.

    ``level`` is that of the intervals and of the regret, ``safety`` the certainty with which a single arm must keep the
    limits. A mix of one arm that is ``certified`` is that single arm, and where it is False, and no mix was, there is
    no single arm either; None is for a mix of which nothing was asked. ``deployable`` (K,) are arms that may be it;
    None for all.
    """
    data, bound, tried = data._replace(means=rounded(data.means)), rounded(bound), usable(data)
    inner, p = chosen(data, tried), mixture[tried]
    risk = 1.0 - level
    own = certified and np.count_nonzero(p) == 1
    single = int(np.argmax(p)) if own else None
    if single is None and certified is not False:
        single = safe_arm(inner, bound, chance, safety, None if deployable is None else deployable[tried])
    against = None if single is None else p - np.eye(len(p))[single]
    return Certificate(
        regret=least_bound(
            by_themselves(inner), p, bound, regret_tail(risk, chance), prices, solve_means(inner.means, bound)
        ),
        value=float(p @ inner.means[:, 0]),
        value_interval=reward_interval(inner, p, risk),
        single=None if single is None else int(np.flatnonzero(tried)[single]),
        gain=None if against is None else float(against @ inner.means[:, 0]),
        gain_interval=None if against is None else reward_interval(inner, against, risk),
    )


def reward_interval(data: Estimates, weights: Floats, risk: float) -> tuple[float, float]:
    """Interval that misses a weighted sum of mean rewards with at most the given chance; weights of any sign.

    Whoever is chosen for a high estimate is likely overrated, and a support that looks sure may look so for that
    very reason. The lower end therefore holds for all arms at once (the risk divided by their number); the upper end
    needs no such care.
    """
    unknown = max(int(np.isfinite(data.counts).sum()), 1)
    low, high = risk / 2.0 / unknown, risk / 2.0
    up, down = weights > 0, weights < 0
    below = np.where(up, _reward_margins(data, low, -1.0), _reward_margins(data, low, 1.0))
    above = np.where(down, _reward_margins(data, high, -1.0), _reward_margins(data, high, 1.0))
    middle, together = float(weights @ data.means[:, 0]), of_row(data.shared, REWARD)
    lower, upper = (float(spread(margin[:, None], weights, together)[0]) for margin in (below, above))
    return middle - lower, middle + upper


def _reward_margins(data: Estimates, tail: float, sign: float) -> Floats:
    return margins(data, tail, sign, REWARD)[:, 0]


def safe_arm(
    data: Estimates, bound: Floats, chance: float | None, safety: float, deployable: Flags | None = None
) -> int | None:
    """Best arm that alone keeps all limits, judged as any mix is, of all or of some (K,); None when there is none."""
    limits = CostLimits(data, bound)
    margin = margins(data, single_tail(limits, chance, safety))
    rounding = np.array([dust(mean[None], bound, w) for mean, w in zip(data.means[:, 1:], margin, strict=True)])
    keeps = np.asarray((data.means[:, 1:] + margin <= bound + rounding).all(axis=1))
    fits = np.flatnonzero(keeps if deployable is None else keeps & deployable)
    found = best_alone(limits, chance, np.eye(len(data.means))[fits], data.means[fits, 0], safety)
    return None if found is None else int(fits[found])
