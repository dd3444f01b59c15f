"""How much more than a mix the best one can earn: the lower one of two bounds by weak duality.

For any prices lam >= 0 the best value is at most max_a r_a - lam.(c_a - b), and that holds for the true means as well.
So every choice of prices gives a bound on the regret, and the best choice is a convex problem: each arm's term is
linear in lam plus the length of an affine function of lam. No correction for the number of arms is needed: at fixed
prices the arm that attains the true maximum is one fixed arm.

The prices of a basis, whatever the means are, give another one. At these all of its arms are worth the same, which is
its value, and any other arm as much more as its reduced cost is: the best value is at most that of the basis and the
largest reduced cost, if that is positive. Prices then move with the means, and the noise of the rewards in the basis,
which is in what the mix earns too, cancels. It is the lower bound where no other arm comes close.
"""

import numpy as np

from bestmix.answers.basis import basis_steps
from bestmix.answers.correlations import floored, mean_covariances
from bestmix.answers.safety import Estimates, freedoms, mean_variances
from bestmix.arrays import Floats
from bestmix.problems.solution import Solution, solve_means

ROUNDS = 25  # of cutting planes
ROUNDING = 1e-12  # of the largest mean reward: a regret that is none
CLOSE = 0.01  # of the bound, at which its last digits no longer matter
UNSEEN = 2.7  # squared normal quantile of 95%: as if so many trials more had been made, half of them with the event


def least_bound(data: Estimates, mixture: Floats, bound: Floats, tail: float, prices: Floats, best: Solution) -> float:
    """The lower bound: by fixed prices, looked for from the given ones on, or by those of the optimum."""
    wider = with_events(data)
    fixed = regret_bound(wider, mixture, bound, tail, prices)
    return min(fixed, basis_regret_bound(wider, mixture, bound, tail, best))


def regret_bound(data: Estimates, mixture: Floats, bound: Floats, tail: float, prices: Floats) -> float:
    """W = min over lam >= 0 of max_a T_a + t sqrt(V_a), by cutting planes from the given prices.

    The planes' own program has a column for each plane, its slopes as costs: its shadow prices are the next lam.
    """
    lam, best = np.where(np.isfinite(prices), np.maximum(prices, 0.0), 0.0), np.inf
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
        variance, seen = floored(variance + common, variance, data.fitted), seen - beside
    deviation = np.sqrt(variance)
    t = quantiles(data, mixture, tail)
    value = data.means[:, 0] - excess @ lam - mixture @ data.means[:, 0] + t * deviation
    slope = -excess - (t / np.where(deviation > 0, deviation, 1.0))[:, None] * seen[:, 1:]
    return value, slope


def basis_regret_bound(data: Estimates, mixture: Floats, bound: Floats, tail: float, best: Solution) -> float:
    """Bound on the regret of a mix p by the prices of the optimum x at the estimates; infinite where it has none.

    The best value is at most r.x + max(0, max_j d_j), with d the reduced costs; x, prices and d follow from the means.
    Prices must not be negative: those of tight limits are to be surely positive.
    """
    if best.status == "infeasible" or not (np.isfinite(best.dual).all() and np.isfinite(best.inverse).all()):
        return np.inf
    with np.errstate(over="ignore", invalid="ignore"):  # means near the end of floats
        found = _by_basis(data, mixture, bound, tail, best)
    return found if found >= 0.0 else np.inf


def _by_basis(data: Estimates, mixture: Floats, bound: Floats, tail: float, best: Solution) -> float:
    steps = basis_steps(data.means, bound, best)
    x, t, arms = best.mixture, quantiles(data, mixture + best.mixture, tail), np.arange(len(mixture))
    tight = np.setdiff1d(np.arange(len(mixture), len(steps.reduced)), best.basis)
    if (steps.reduced[tight] + steps.errors(data, t, tight, 0.0 * x, 0.0 * x) > 0.0).any():
        return np.inf
    # An arm of the basis stands for no step at all.
    other = steps.reduced[arms] + steps.errors(data, t, arms, x, mixture)
    return max(float((x - mixture) @ data.means[:, 0] + other.max()), 0.0)


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
    least = np.where(noisy, _wilson(data.counts[:, None], data.means), 0.0)
    covariances[:, each, each] = np.maximum(covariances[:, each, each], least)
    return data._replace(covariances=covariances)


def by_themselves(data: Estimates) -> Estimates:
    """Arms whose own trials vary more than their blended variance says have their own: quiet arms lend them none.

    >>> data = Estimates(np.zeros((2, 1)), np.ones((2, 1, 1)), np.full(2, 10.0), np.zeros((2, 1)))
    >>> found = by_themselves(data._replace(unlike=np.array([[1.0], [1.5]])))
    >>> found.covariances.ravel().tolist(), found.lent.tolist()
    ([1.0, 2.25], [5.0, 0.0])
    """
    if data.unlike is None:
        return data
    covariances = data.covariances * data.unlike[:, :, None] * data.unlike[:, None, :]
    return data._replace(covariances=covariances, lent=np.where((data.unlike > 1.0).any(axis=1), 0.0, data.lent))


def _wilson(n: Floats, means: Floats) -> Floats:
    """Variance of values of 0 and 1, or 0 and -1, at the centre of Wilson's interval."""
    with np.errstate(invalid="ignore"):
        centre = (n * np.minimum(np.abs(means), 1.0) + UNSEEN / 2.0) / (n + UNSEEN)
    return np.asarray(centre * (1.0 - centre))


def quantiles(data: Estimates, mixture: Floats, tail: float) -> Floats:
    """Student's quantile for each arm beside the mix (K,), with the fewest degrees of freedom among them."""
    from scipy.special import stdtrit

    freedom = freedoms(data)
    return np.asarray(-stdtrit(np.minimum(freedom, freedom[mixture > 0].min(initial=np.inf)), tail))
