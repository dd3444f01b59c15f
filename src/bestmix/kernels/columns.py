"""Columns of the linear program in its homogeneous form, scaled to the data.

The column of an arm is u = cost - bound with e = 1 and mu = reward; the column of the slack of
cost l is the unit vector l with e = 0 and mu = 0. A mixture is x >= 0 with sum_j x_j u_j = 0 and
sum_j x_j e_j = 1. Columns are scaled so that the arms' entries fill [-1, 1]: a tolerance in the
kernels then means the same for rewards of 1e-6 and for costs of 1e3.
"""

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels.jit import compiled

ROUNDING = 8 * float(np.finfo(np.float64).eps)


@compiled
def load(means: Floats, bound: Floats, columns: Integers, mu: Floats, u: Floats, e: Floats) -> None:
    """Write the unscaled ``columns`` into ``mu`` (n,), ``u`` (n, L) and ``e`` (n,).

    ``means`` is (K, 1 + L), reward first. A difference between cost and bound that is within
    rounding of zero becomes zero, so that an arm exactly at its bound counts as exactly there.
    """
    arms, costs = means.shape[0], bound.shape[0]
    for j in range(columns.shape[0]):
        a = columns[j]
        if a < arms:
            mu[j], e[j] = means[a, 0], 1.0
            for l in range(costs):
                u[j, l] = above(means[a, 1 + l], bound[l])
        else:
            mu[j], e[j] = 0.0, 0.0
            for l in range(costs):
                u[j, l] = 1.0 if a - arms == l else 0.0


@compiled
def above(mean: float, bound: float) -> float:
    """How far a mean cost is above its bound; zero within rounding."""
    gap = mean - bound
    return 0.0 if abs(gap) <= ROUNDING * max(abs(mean), abs(bound)) else gap


@compiled
def load_sums(
    sums: Floats, count: int, means: Floats, bound: Floats, columns: Integers, mu: Floats, u: Floats, e: Floats
) -> None:
    """As ``load``, the first columns being arms whose means are ``sums`` (each arm's 1 + L) over ``count`` trials."""
    costs = bound.shape[0]
    d = 1 + costs
    rows = sums.shape[0] // d
    for j in range(rows):
        mu[j], e[j] = sums[j * d] / count, 1.0
    for l in range(costs):
        limit = bound[l]
        for j in range(rows):
            u[j, l] = above(sums[j * d + 1 + l] / count, limit)
    load(means, bound, columns[rows:], mu[rows:], u[rows:], e[rows:])


@compiled
def rescale(mu: Floats, u: Floats, e: Floats, scale: Floats) -> None:
    """Scale loaded columns in place; ``scale`` receives (reward middle, reward spread, cost spreads).

    Slack columns stand last and stay unit vectors, which measures slack l in units of cost spread l.
    """
    n, costs = u.shape
    while n > 0 and e[n - 1] == 0.0:
        n -= 1
    low, high = np.inf, -np.inf
    for j in range(n):
        low = mu[j] if mu[j] < low else low
        high = mu[j] if mu[j] > high else high
    # Halves first: the sum or the difference of two very large rewards could overflow.
    middle, spread = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
    if not spread > ROUNDING * max(abs(low), abs(high)):
        spread = max(abs(low), abs(high))
        if spread == 0.0:
            spread = 1.0
    scale[0], scale[1] = middle, spread
    for j in range(n):
        mu[j] = (mu[j] - middle) / spread
    for l in range(costs):
        largest = 0.0
        for j in range(n):
            size = abs(u[j, l])
            largest = size if size > largest else largest
        scale[2 + l] = largest if largest > 0.0 else 1.0
        unit = 1.0 / scale[2 + l]
        for j in range(n):
            u[j, l] *= unit
