"""Whether the answer is sure enough to stop: the chances that its conditions fail, by exact distances.

The z-scores of ``conditions.py`` are linearised at the estimates, and far from them that can be too kind. Before
a run stops, the nearest means at which each condition fails are looked for, with the counts as weights.
"""

import math

import numpy as np

from bestmix.arrays import Floats
from bestmix.kernels import simplex
from bestmix.kernels.allocation import FIRST, stops_itself
from bestmix.kernels.conditions import PRIOR, Settings, State, spread_of
from bestmix.kernels.jit import borrowing, compiled, plain

STEPS = 8  # of Gauss-Newton
NOISELESS = 1e-9  # variance of a column without noise, in units of the pooled one
FIXED = 1.0  # how firmly the length of a direction is held
DUST = 1e-9  # of a weight, or of a coordinate, in the program's own scale: rounding
RARE = 0.01  # of an arm's trials: a price that differs from the others as often would have been seen


@borrowing
def stops(settings: Settings, state: State, bound: Floats) -> bool:
    """Whether the answer is sure enough: the sum of the conditions' tails, then that of the exact ones."""
    if not stops_itself(settings):
        return False
    if settings.weak:
        settle_zeros(state, bound, -math.log(settings.single * settings.delta) / RARE)
    total, largest = tails(state)
    if settings.tail > 0.0 and total <= settings.tail:
        return True
    spent = 0
    for a in range(state.counts.shape[0]):
        spent += state.counts[a]
    delta = allowed(settings, spent, state.counts.shape[0])
    if not (total <= settings.margin * delta and largest <= settings.single * delta):
        return False
    total, largest = exact_tails(state)
    return total <= settings.margin * delta and largest <= settings.single * delta


@borrowing
def allowed(settings: Settings, spent: float, unknown: int) -> float:
    """The chance of a wrong answer that a run may stop with after so many trials: at first less than delta."""
    return settings.delta / (1.0 + settings.early * FIRST * unknown / max(spent, 1.0))


@compiled
def settle_zeros(state: State, bound: Floats, enough: float) -> None:
    """Give the conditions that cannot change the mix an infinite gap: no trial is needed for them.

    Such are weights that are zero whatever the trials say, as of what stands beside an arm that costs exactly its bound
    at a known price; and columns whose entry such a weight blocks: their coordinate on it is positive.
    """
    u, e, basis = state.program.u, state.program.e, state.basis.column
    inverse, gap, costs = simplex.inverse(state.basis), state.gap, u.shape[1]
    for i in range(basis.shape[0]):
        if not (gap[basis[i]] <= DUST and fixed(i, state, bound, enough)):
            continue
        for j in range(gap.shape[0]):
            inside = False
            for k in range(basis.shape[0]):
                inside |= basis[k] == j
            coordinate = inverse[i, costs] * e[j]
            for l in range(costs):
                coordinate += inverse[i, l] * u[j, l]
            if j == basis[i] or (not inside and coordinate > DUST):
                gap[j] = np.inf


@compiled
def fixed(i: int, state: State, bound: Floats, enough: float) -> bool:
    """Whether no trial can move the weight in row i of the basis: the other arms of the mix have prices there.

    A price is what was the same in ``enough`` trials; zero is none, since it may be an event that has not happened yet.
    """
    basis, inverse, costs = state.basis.column, simplex.inverse(state.basis), bound.shape[0]
    for k in range(basis.shape[0]):
        a = basis[k]
        if k == i or a >= state.counts.shape[0] or inverse[k, costs] <= DUST:
            continue
        for l in range(costs):
            rounding = state.counts[a] * (DUST * state.scale[2 + l]) ** 2
            price = state.counts[a] >= enough and state.scatter[a, 1 + l, 1 + l] <= rounding and bound[l] != 0.0
            if abs(inverse[i, l]) > DUST and not price:
                return False
    return True


@borrowing
def tails(state: State) -> tuple[float, float]:
    """Chances that conditions fail, by their z-scores: the sum, and the largest of them."""
    total, largest, gap = 0.0, 0.0, state.gap
    for j in range(gap.shape[0]):
        spread, chance = spread_of(j, state, state.counts), 0.0
        if spread > 0.0 and gap[j] < np.inf:
            chance = 0.5 * math.erfc(gap[j] / math.sqrt(2.0 * spread))
        elif gap[j] == 0.0:
            chance = 0.5
        total, largest = total + chance, max(largest, chance)
    return total, largest


@compiled
def exact_tails(state: State) -> tuple[float, float]:
    """``tails`` by the exact distances."""
    basis = state.basis.column
    n, m = state.gap.shape[0], basis.shape[0]
    total, largest = 0.0, 0.0
    for j in range(n):
        row = plain(-1)
        for i in range(m):
            if basis[i] == j:
                row = i
        if (j < n - 1 or row >= 0) and state.gap[j] < np.inf:
            far = distance(j, row, state)
            chance = 0.5 * math.erfc(math.sqrt(0.5 * far))
            total, largest = total + chance, max(largest, chance)
    return total, largest


@compiled
def distance(j: int, row: int, state: State) -> float:
    """Squared distance of the means from the nearest ones at which the condition of column ``j`` fails.

    Dual (``row`` < 0): the columns of the basis and j lie on one hyperplane mu = lambda.u + v e. Primal:
    those of the basis but ``row`` balance without it, so that some direction is orthogonal to all their u.
    Gauss-Newton on the residuals, each divided by its standard error along the direction. Columns without
    noise must fit: they are given almost none. Where the residuals overflow the linearised distance has to do.
    """
    basis, unknown = state.basis.column, state.counts.shape[0]
    m = basis.shape[0]
    dual = row < 0
    price, normal, step = np.empty(m), np.empty((m, m + 1)), np.empty(m)
    start = simplex.prices(state.basis) if dual else simplex.inverse(state.basis)[row]
    for k in range(m):
        price[k] = start[k]
    if not dual:
        price[m - 1] = 0.0
    least = np.inf
    for iteration in range(STEPS):
        total, noisy = 0.0, False
        normal[:] = 0.0
        for i in range(m + 1):
            if i == row or (i == m and not dual):
                continue
            a = j if i == m else basis[i]
            noisy |= a < unknown
            total += fit(a, dual, price, state, normal, step)
        if not noisy:
            break
        if not total < np.inf:
            return min(least, linear_distance(j, state))
        if iteration > 0:
            least = min(least, total)
        if not dual:  # the length of the direction does not matter, and v plays no part
            for k in range(m - 1):
                for l in range(m - 1):
                    normal[k, l] += price[k] * price[l] * FIXED
            normal[m - 1, m - 1] = 1.0
        if not eliminate(normal, step):
            break
        for k in range(m):
            price[k] += step[k]
    return least


@borrowing
def linear_distance(j: int, state: State) -> float:
    """The square of a condition's z-score."""
    spread = spread_of(j, state, state.counts)
    return float(state.gap[j] * state.gap[j] / spread) if spread > 0.0 else np.inf


@compiled
def fit(a: int, dual: bool, price: Floats, state: State, normal: Floats, slope: Floats) -> float:
    """Squared residual of column ``a``, in standard errors; adds its part to the normal equations (m, m + 1)."""
    mu, u, e = state.program
    scale = state.scale
    counts, scatter, pooled = state.counts, state.scatter, state.pooled
    m = price.shape[0]
    direction = np.zeros(m)
    direction[0] = 1.0 / scale[1] if dual else 0.0
    for l in range(m - 1):
        direction[1 + l] = -price[l] / scale[2 + l]
    miss = (mu[a] if dual else 0.0) - price[m - 1] * e[a]
    for l in range(m - 1):
        miss -= price[l] * u[a, l]
    noisy = a < counts.shape[0]
    scattered = scatter[a] if noisy else pooled
    weight = 1.0 / (counts[a] * (counts[a] - 1 + PRIOR)) if noisy else 0.0
    spread = 0.0
    for i in range(m):
        inner = 0.0
        for k in range(m):
            inner += (weight * scattered[i, k] + PRIOR * (weight if noisy else NOISELESS) * pooled[i, k]) * direction[k]
        spread += direction[i] * inner
        if i > 0:
            slope[i - 1] = -inner / scale[1 + i]
    root = np.sqrt(spread)  # NaN where rounding has made the variance negative, in plain Python too
    for l in range(m - 1):
        slope[l] = -u[a, l] / root - miss * slope[l] / (spread * root)
    slope[m - 1] = -e[a] / root if dual else 0.0
    residual = miss / root
    for k in range(m):
        for l in range(m):
            normal[k, l] += slope[k] * slope[l]
        normal[k, m] -= slope[k] * residual
    return float(residual * residual)


@borrowing
def eliminate(system: Floats, result: Floats) -> bool:
    """Solve a small linear system (m, m + 1) by elimination with pivoting; False when it is singular.

    6.8 times as fast as ``np.linalg.solve`` in compiled code with 2 rows, 4.6 times with 3 (``python -m bench gaps``).
    """
    m = system.shape[0]
    for i in range(m):
        r = i
        for k in range(i + 1, m):
            if abs(system[k, i]) > abs(system[r, i]):
                r = k
        if not abs(system[r, i]) > 0.0:
            return False
        for k in range(m + 1):
            system[i, k], system[r, k] = system[r, k], system[i, k]
        for q in range(i + 1, m):
            factor = system[q, i] / system[i, i]
            for k in range(i, m + 1):
                system[q, k] -= factor * system[i, k]
    for i in range(m - 1, -1, -1):
        total = system[i, m]
        for k in range(i + 1, m):
            total -= system[i, k] * result[k]
        result[i] = total / system[i, i]
    return True
