"""What a mix is worth: how much better the best mix can be, what it earns, what it gains over a single arm.

For any prices lam >= 0 the best value is at most max_a r_a - lam.(c_a - b) (weak duality), and that holds for the true
means as well. So every choice of prices gives a bound on the regret, and the best choice is a convex problem: each
arm's term is linear in lam plus the length of an affine function of lam. No correction for the number of arms is
needed: at fixed prices the arm that attains the true maximum is one fixed arm.

Where the support is sure there is a better one. The best mix is then that of a known basis, whose value moves with the
costs of its arms at their prices; the noise of their rewards is in what the mix earns too, and cancels.
"""

from typing import NamedTuple

import numpy as np

from bestmix.answers.cone import DUST, spread
from bestmix.answers.safe_search import best_alone, single_tail
from bestmix.answers.safety import (
    CostLimits,
    Estimates,
    chosen,
    freedoms,
    margins,
    mean_variances,
    regret_tail,
    rounded,
    usable,
)
from bestmix.answers.shared_items import floored, mean_covariances, of_row
from bestmix.arrays import Floats
from bestmix.problems.solution import solve_means

ROUNDS = 25  # of cutting planes
ROUNDING = 1e-12  # of the largest mean reward: a regret that is none
CLOSE = 0.01  # of the bound, at which its last digits no longer matter
REWARD = slice(0, 1)
SURE = 1 / 4  # of a risk: if the support is wrong with no larger chance, the regret is also bounded as if it were right
UNSEEN = 2.7  # squared normal quantile of 95%: as if so many trials more had been made, half of them with the event


class Certificate(NamedTuple):
    """What can be said about a mix with one certainty; None where it cannot."""

    regret: float  # the best mix of the tried arms earns at most so much more
    value: float
    value_interval: tuple[float, float]
    single: int | None  # the best arm that alone keeps the limits with the wanted certainty
    gain: float | None  # of the mix over it
    gain_interval: tuple[float, float] | None


def certify(
    data: Estimates,
    mixture: Floats,
    bound: Floats,
    chance: float | None,
    prices: Floats,
    level: float = 0.95,
    safety: float = 0.95,
    certified: bool | None = None,
) -> Certificate:
    """Certificate of a mix; ``prices`` are the shadow prices of the optimum at the estimates, a good start.

    ``level`` is that of the intervals and of the regret, ``safety`` the certainty with which a single arm must keep the
    limits. A mix of one arm that is ``certified`` is that single arm, and where it is False, and no mix was, there is
    no single arm either; None is for a mix of which nothing was asked.
    """
    data, bound, tried = data._replace(means=rounded(data.means)), rounded(bound), usable(data)
    inner, p = chosen(data, tried), mixture[tried]
    risk = 1.0 - level
    own = certified and np.count_nonzero(p) == 1
    single = None if certified is False else safe_arm(inner, bound, chance, safety) if not own else int(np.argmax(p))
    against = None if single is None else p - np.eye(len(p))[single]
    return Certificate(
        regret=least_bound(inner, p, bound, regret_tail(risk, chance), prices, is_sure(chance, risk)),
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


def safe_arm(data: Estimates, bound: Floats, chance: float | None, safety: float) -> int | None:
    """Best arm that alone keeps all limits, judged as any mix is; None when there is none."""
    limits = CostLimits(data, bound)
    margin = margins(data, single_tail(limits, chance, safety))
    dust = DUST * np.maximum(np.abs(bound), np.abs(data.means[:, 1:]))
    fits = np.flatnonzero((data.means[:, 1:] + margin <= bound + dust).all(axis=1))
    found = best_alone(limits, chance, np.eye(len(data.means))[fits], data.means[fits, 0], safety)
    return None if found is None else int(fits[found])


def is_sure(chance: float | None, risk: float) -> bool:
    """Whether a support that is right with this chance may be taken for granted within a risk.

    >>> is_sure(0.99, risk=0.05), is_sure(0.98, risk=0.05), is_sure(None, risk=0.05)
    (True, False, False)
    """
    return chance is not None and 1.0 - chance <= SURE * risk


def least_bound(
    data: Estimates, mixture: Floats, bound: Floats, tail: float, prices: Floats, sure: bool = False
) -> float:
    """The lower bound on the regret: the one for any support or, where that of the estimates is ``sure``, its own."""
    anyhow = regret_bound(data, mixture, bound, tail, prices)
    return min(anyhow, support_regret_bound(data, mixture, bound, tail)) if sure else anyhow


def support_regret_bound(data: Estimates, mixture: Floats, bound: Floats, tail: float) -> float:
    """Bound on the regret of a mix p if the support of the optimum x at the estimates is right; infinite without one.

    The regret is r.x - r.p, in which x follows from the costs: those of arm a move its value by -lam x_a each (the
    envelope theorem). Where arms share items what they have in common is added.

        regret <= r.(x - p) + sqrt( sum_a t_a^2 w_a' Sigma_a w_a / n_a ),   w_a = (x_a - p_a, -lam x_a)
    """
    best = solve_means(data.means, bound)
    if best.status == "infeasible" or not np.isfinite(best.dual).all():
        return np.inf
    data, x = _with_unseen(data), best.mixture
    w = np.column_stack([x - mixture, -np.maximum(best.dual, 0.0) * x[:, None]])
    w *= quantiles(data, mixture, tail)[:, None]
    variance = np.einsum("ai,aij,aj,a->", w, data.covariances, w, 1.0 / data.counts)
    if data.shared is not None:
        common = mean_covariances(data.shared, np.sqrt(mean_variances(data)))
        variance = floored(variance + np.einsum("ai,abij,bj->", w, common, w), variance)
    return max(float((x - mixture) @ data.means[:, 0] + np.sqrt(np.maximum(variance, 0.0))), 0.0)


def regret_bound(data: Estimates, mixture: Floats, bound: Floats, tail: float, prices: Floats) -> float:
    """W = min over lam >= 0 of max_a T_a + t sqrt(V_a), by cutting planes from the given prices.

    The planes' own program has a column for each plane, its slopes as costs: its shadow prices are the next lam.
    """
    data, lam, best = _with_unseen(data), np.where(np.isfinite(prices), np.maximum(prices, 0.0), 0.0), np.inf
    heights, slopes = np.empty(0), np.empty((0, len(bound)))
    for k in range(ROUNDS):
        value, slope = priced(data, mixture, bound, tail, lam)
        best = min(best, float(value.max()))
        near = value > value.max() - 0.5 * np.ptp(value) - 1e-300 if k else value == value
        heights, slopes = np.r_[heights, (value - slope @ lam)[near]], np.vstack([slopes, slope[near]])
        plan = solve_means(np.column_stack([heights, -slopes]), np.zeros(len(bound)))
        if plan.status == "infeasible" or best - plan.value <= CLOSE * abs(best):
            break
        lam = np.maximum(plan.dual, 0.0)
    return best if best > ROUNDING * float(np.abs(data.means[:, 0]).max(initial=0.0)) else 0.0


def _with_unseen(data: Estimates) -> Estimates:
    """Rewards of 0 and 1 that were the same in all trials may differ in the next: they get the variance of Wilson."""
    same = (data.binary[:, 0] != 0) & np.isfinite(data.counts) & (data.covariances[:, 0, 0] == 0)
    if not same.any():
        return data
    n, covariances = data.counts[same], data.covariances.copy()
    centre = (n * np.abs(data.means[same, 0]) + UNSEEN / 2.0) / (n + UNSEEN)
    covariances[same, 0, 0] = centre * (1.0 - centre)
    return data._replace(covariances=covariances)


def priced(data: Estimates, mixture: Floats, bound: Floats, tail: float, lam: Floats) -> tuple[Floats, Floats]:
    """T_a + t sqrt(V_a) of every arm at prices lam (K,), and its slopes (K, L).

    T_a = r_a - lam.(c_a - b) - r.p;  V_a = w' Sigma_a w / n_a + sum_{k != a} p_k^2 Var(r_k) / n_k,
    w = (1 - p_a, -lam). Where arms share items: + sum_{k != l} p_k p_l Cov(r_k, r_l) - 2 sum_{k != a} p_k
    Cov(r_a - lam.c_a, r_k).
    """
    each, excess = data.covariances / data.counts[:, None, None], data.means[:, 1:] - bound
    w = np.column_stack([1.0 - mixture, np.broadcast_to(-lam, excess.shape)])
    seen = np.einsum("aij,aj->ai", each, w)
    own = mixture**2 * each[:, 0, 0]
    variance = np.maximum((w * seen).sum(axis=1) + own.sum() - own, 0.0)
    if data.shared is not None:
        beside = np.einsum("akij,k->aij", mean_covariances(data.shared, np.sqrt(mean_variances(data))), mixture)[
            :, :, 0
        ]
        common = mixture @ beside[:, 0] - 2.0 * (beside[:, 0] - beside[:, 1:] @ lam)
        variance, seen = floored(variance + common, variance), seen - beside
    deviation = np.sqrt(variance)
    t = quantiles(data, mixture, tail)
    value = data.means[:, 0] - excess @ lam - mixture @ data.means[:, 0] + t * deviation
    slope = -excess - (t / np.where(deviation > 0, deviation, 1.0))[:, None] * seen[:, 1:]
    return value, slope


def quantiles(data: Estimates, mixture: Floats, tail: float) -> Floats:
    """Student's quantile for each arm beside the mix (K,), with the fewest degrees of freedom among them."""
    from scipy.special import stdtrit

    freedom = freedoms(data)
    return np.asarray(-stdtrit(np.minimum(freedom, freedom[mixture > 0].min(initial=np.inf)), tail))
