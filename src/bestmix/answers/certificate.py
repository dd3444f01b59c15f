"""What a mix is worth: how much better the best mix can be, what it earns, what it gains over a single arm.

For any prices lam >= 0 the best value is at most max_a r_a - lam.(c_a - b) (weak duality), and that holds for the true
means as well. So every choice of prices gives a bound on the regret, and the best choice is a convex problem: each
arm's term is linear in lam plus the length of an affine function of lam. No correction for the number of arms is
needed: at fixed prices the arm that attains the true maximum is one fixed arm.

The prices of a basis, whatever the means are, give another one. At these all of its arms are worth the same, which is
its value, and any other arm as much more as its reduced cost is: the best value is at most that of the basis and the
largest reduced cost, if that is positive. Prices then move with the means, and the noise of the rewards in the basis,
which is in what the mix earns too, cancels. It is the lower bound where no other arm comes close.
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
from bestmix.arrays import Floats, Integers
from bestmix.problems.solution import Solution, solve_means

ROUNDS = 25  # of cutting planes
ROUNDING = 1e-12  # of the largest mean reward: a regret that is none
CLOSE = 0.01  # of the bound, at which its last digits no longer matter
REWARD = slice(0, 1)
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
        regret=least_bound(with_events(inner), p, bound, regret_tail(risk, chance), prices),
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


def least_bound(data: Estimates, mixture: Floats, bound: Floats, tail: float, prices: Floats) -> float:
    """The lower bound on the regret: by fixed prices, looked for from the given ones on, or by those of the optimum."""
    best = solve_means(data.means, bound)
    return min(regret_bound(data, mixture, bound, tail, prices), basis_regret_bound(data, mixture, bound, tail, best))


def basis_regret_bound(data: Estimates, mixture: Floats, bound: Floats, tail: float, best: Solution) -> float:
    """Bound on the regret of a mix p by the prices of the optimum x at the estimates; infinite where it has none.

    The best value is at most r.x + max(0, max_j d_j), with d the reduced costs; x, prices and d follow from the means.
    Prices must not be negative: those of tight limits are to be surely positive.
    """
    if best.status == "infeasible" or not (np.isfinite(best.dual).all() and np.isfinite(best.inverse).all()):
        return np.inf
    with np.errstate(over="ignore", invalid="ignore"):  # means near the end of floats
        found = _by_basis(_with_unseen(data), mixture, bound, tail, best)
    return found if found >= 0.0 else np.inf


def _by_basis(data: Estimates, mixture: Floats, bound: Floats, tail: float, best: Solution) -> float:
    steps = basis_steps(data.means, bound, best)
    x, t, arms = best.mixture, quantiles(data, mixture + best.mixture, tail), np.arange(len(mixture))
    tight = np.setdiff1d(np.arange(len(mixture), len(steps.reduced)), best.basis)
    if (steps.reduced[tight] + steps.errors(data, t, tight, 0.0 * x, 0.0 * x) > 0.0).any():
        return np.inf
    other = steps.reduced[arms] + steps.errors(data, t, arms, x, mixture)
    itself = steps.errors(data, t, np.array([best.basis[0]]), x, mixture)  # no step at all
    return max(float((x - mixture) @ data.means[:, 0] + max(other.max(), itself.max())), 0.0)


class BasisSteps(NamedTuple):
    """What a unit more of each column changes in the mix of a basis, and in what that earns.

    Attributes
    ----------
    reduced, change
        Of all columns: reduced cost (K + L,), and change of the weights of the arms ``inside`` the basis (K + L, m).
    inside
        Those arms (m,).
    score
        Of a trial: one for its reward, and minus the prices for its costs (1 + L,).
    """

    reduced: Floats
    change: Floats
    inside: Integers
    score: Floats

    def errors(self, data: Estimates, t: Floats, columns: Integers, x: Floats, p: Floats) -> Floats:
        """Standard errors, each arm's times its t (K,), of a mix x with a unit more of some columns, less a mix p.

        With z the mix x after the step, the means of arm a move it by w_a = (z_a - p_a, -lam z_a): p has rewards only.
        """
        each = data.covariances * (t**2 / data.counts)[:, None, None]
        outside = np.ones(len(p), dtype=np.bool_)
        outside[self.inside] = False
        rest = np.where(outside, p**2 * each[:, 0, 0], 0.0)
        variance = np.full(len(columns), rest.sum())
        for k, arm in enumerate(self.inside):
            w = np.outer(x[arm] + self.change[columns, k], self.score) - p[arm] * (np.arange(len(self.score)) == 0)
            variance += np.einsum("ni,ij,nj->n", w, each[arm], w)
        own = (columns < len(p)) & outside[np.minimum(columns, len(p) - 1)]
        arm = columns[own]
        w = self.score - p[arm, None] * (np.arange(len(self.score)) == 0)
        variance[own] += np.einsum("ni,nij,nj->n", w, each[arm], w) - rest[arm]
        if data.shared is not None:
            variance = floored(variance + self._together(data.shared, data, t, columns, x, p), variance)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def _together(self, shared: Floats, data: Estimates, t: Floats, columns: Integers, x: Floats, p: Floats) -> Floats:
        """What arms have in common that share items, in these variances (n,)."""
        z = np.tile(x, (len(columns), 1))
        z[:, self.inside] += self.change[columns]
        for row, column in enumerate(columns):
            if column < len(p) and column not in self.inside:
                z[row, column] += 1.0
        w = (z[:, :, None] * self.score - p[:, None] * (np.arange(len(self.score)) == 0)) * t[:, None]
        common = mean_covariances(shared, np.sqrt(mean_variances(data)))
        return np.asarray(np.einsum("nai,abij,nbj->n", w, common, w, optimize=True))


def basis_steps(means: Floats, bound: Floats, best: Solution) -> BasisSteps:
    """The steps from the basis of an optimum.

    >>> means, bound = np.array([[1.0, 0.0], [3.0, 2.0], [1.5, 1.0]]), np.array([1.0])
    >>> steps = basis_steps(means, bound, solve_means(means, bound))
    >>> steps.reduced.tolist(), steps.change[2].tolist()
    ([0.0, 0.0, -0.5, -1.0], [-0.5, -0.5])
    """
    arms, costs = len(means), len(bound)
    basis, score = np.array(best.basis), np.r_[1.0, -np.maximum(best.dual, 0.0)]
    columns = np.zeros((arms + costs, 2 + costs))
    columns[:arms] = np.column_stack([means[:, 0], means[:, 1:] - bound, np.ones(arms)])
    columns[arms:, 1:-1] = np.eye(costs)
    change, reduced = -columns[:, 1:] @ best.inverse.T, columns[:, :-1] @ score - best.value * columns[:, -1]
    change[basis], reduced[basis] = 0.0, 0.0
    return BasisSteps(reduced, change[:, basis < arms], basis[basis < arms], score)


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


def with_events(data: Estimates) -> Estimates:
    """Values of 0 and 1 have at least the variance of Wilson: a few events, or none, say little of how many there are.

    >>> means, covariances = np.array([[0.0], [0.5]]), np.array([[[0.0]], [[0.25]]])
    >>> data = Estimates(means, covariances, np.full(2, 20.0), np.ones((2, 1)))
    >>> with_events(data).covariances.ravel().round(3).tolist()
    [0.056, 0.25]
    """
    noisy = (data.binary != 0) & np.isfinite(data.counts)[:, None] & (data.counts > 0)[:, None]
    if not noisy.any():
        return data
    covariances, each = data.covariances.copy(), np.arange(data.means.shape[1])
    least = np.where(noisy, _wilson(np.broadcast_to(data.counts[:, None], noisy.shape), data.means), 0.0)
    covariances[:, each, each] = np.maximum(covariances[:, each, each], least)
    return data._replace(covariances=covariances)


def _wilson(n: Floats, means: Floats) -> Floats:
    """Variance of values of 0 and 1, or 0 and -1, at the centre of Wilson's interval."""
    with np.errstate(invalid="ignore"):
        centre = (n * np.abs(means) + UNSEEN / 2.0) / (n + UNSEEN)
    return np.asarray(centre * (1.0 - centre))


def _with_unseen(data: Estimates) -> Estimates:
    """Rewards of 0 and 1 that were the same in all trials may differ in the next: they get the variance of Wilson."""
    same = (data.binary[:, 0] != 0) & np.isfinite(data.counts) & (data.covariances[:, 0, 0] == 0)
    if not same.any():
        return data
    covariances = data.covariances.copy()
    covariances[same, 0, 0] = _wilson(data.counts[same], data.means[same, 0])
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
