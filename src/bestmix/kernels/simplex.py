"""Few-row primal simplex for maximise mu.x, sum_j x_j u_j = 0, sum_j x_j e_j = 1, x >= 0.

Columns come scaled from ``columns.py``. The basis inverse is kept whole, because a basis has only
L + 1 columns. Ties in the ratio test are broken lexicographically (row by row of the inverse), which
excludes cycling from a cold start; after many pivots Bland's rule takes over as a second guard.

A basis entry below zero is the artificial column of row -1 - entry. The workspace of a problem with
m = L + 1 rows is a float array of shape (2 m + 3, m): the inverse in rows [0, m), the entering
direction in row m, the row prices in row m + 1, the artificials' signs in row m + 2, scratch below.
"""

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import pairs
from bestmix.kernels.jit import compiled

OPTIMAL, INFEASIBLE, DEFICIENT, STALLED = 0, 1, 2, 3

PIVOT = 1e-11  # a smaller pivot counts as zero, on columns scaled to one
PRICE = 1e-12  # a reduced cost below this share of its terms counts as zero
FEASIBLE = 1e-10  # total violation, in units of the cost spreads, that still counts as feasible
TIE = 1e-12
VIOLATION, VALUE = 0.0, 1.0  # phases: the weight of the rewards in the objective
WELL_CONDITIONED = 1e-6  # determinant above which an inverse is written in closed form
REFACTOR = 64  # pivots between fresh inversions


@compiled
def workspace(costs: int) -> Floats:
    """Space that ``maximise`` needs for a problem with this many costs."""
    return np.empty((2 * costs + 5, costs + 1))


@compiled
def maximise(mu: Floats, u: Floats, e: Floats, basis: Integers, work: Floats) -> int:
    """Solve the program; ``basis`` (m,) and ``work`` are overwritten with the final basis.

    The basis passed in is tried first; a negative entry asks for a cold start. Returns OPTIMAL;
    INFEASIBLE, with artificials in the basis; DEFICIENT when the columns do not span all rows, so that
    an artificial stays at zero in place of a column; or STALLED, which only broken numbers can cause.
    """
    if basis.shape[0] == 2 and mu.shape[0] <= pairs.FEW and pairs.best(mu, u, e, basis):
        if invert(u, e, basis, work):
            set_prices(mu, basis, work, VALUE)
            return OPTIMAL
    if not restart(u, e, basis, work) and not cold_start(u, e, basis, work):
        return INFEASIBLE
    status = improve(mu, u, e, basis, work, VIOLATION)
    if status != OPTIMAL:
        return status
    if violation(basis, work) > FEASIBLE:
        return INFEASIBLE
    spanned = drive_out(u, e, basis, work)
    status = improve(mu, u, e, basis, work, VALUE)
    return status if spanned or status != OPTIMAL else DEFICIENT


@compiled
def cold_start(u: Floats, e: Floats, basis: Integers, work: Floats) -> bool:
    """Start from the arm that violates the rows least, with a slack or an artificial on each row."""
    n, costs = u.shape
    slack = np.full(costs, -1)
    for j in range(n):
        if e[j] == 0.0:
            for l in range(costs):
                if u[j, l] > 0.0:
                    slack[l] = j
    first, least = -1, np.inf
    for j in range(n):
        if e[j] != 0.0:
            total = 0.0
            for l in range(costs):
                total += abs(u[j, l]) if slack[l] < 0 else max(u[j, l], 0.0)
            if total < least:
                first, least = j, total
                if total == 0.0:
                    break
    if first < 0:  # no arm: every row is missed
        for l in range(costs + 1):
            basis[l], work[costs + 3, l] = -1 - l, 1.0
        invert(u, e, basis, work)
        return False
    basis[costs] = first
    for l in range(costs):
        fits = slack[l] >= 0 and u[first, l] <= 0.0
        basis[l] = slack[l] if fits else -1 - l
        work[costs + 3, l] = -1.0 if u[first, l] > 0.0 else 1.0
    return invert(u, e, basis, work)


@compiled
def restart(u: Floats, e: Floats, basis: Integers, work: Floats) -> bool:
    """Invert the basis passed in; False when it is none of these columns, singular or not feasible on them."""
    m = basis.shape[0]
    for i in range(m):
        if not 0 <= basis[i] < e.shape[0]:
            return False
    if not invert(u, e, basis, work):
        return False
    for i in range(m):
        if not work[i, m - 1] >= -FEASIBLE:
            return False
    return True


@compiled
def invert(u: Floats, e: Floats, basis: Integers, work: Floats) -> bool:
    """Invert the basis matrix into the workspace; False when it is singular.

    Two and three rows have their closed form, unless it is ill conditioned; Gauss-Jordan does the rest.
    """
    m = basis.shape[0]
    if m == 2 and basis[0] >= 0 and basis[1] >= 0 and invert_two(u, e, basis, work):
        return True
    if m == 3 and min(basis[0], basis[1], basis[2]) >= 0 and invert_three(u, e, basis, work):
        return True
    costs = m - 1
    for i in range(m):
        for k in range(m):
            work[k, i] = 1.0 if k == i else 0.0
            work[m + 3 + k, i] = 0.0
        if basis[i] < 0:
            work[m + 3 - 1 - basis[i], i] = work[m + 2, -1 - basis[i]]
        else:
            for l in range(costs):
                work[m + 3 + l, i] = u[basis[i], l]
            work[m + 3 + costs, i] = e[basis[i]]
    for i in range(m):
        r = i
        for k in range(i + 1, m):
            if abs(work[m + 3 + k, i]) > abs(work[m + 3 + r, i]):
                r = k
        pivot = work[m + 3 + r, i]
        if not abs(pivot) > PIVOT:
            return False
        for k in range(m):
            work[m + 3 + i, k], work[m + 3 + r, k] = work[m + 3 + r, k], work[m + 3 + i, k]
            work[i, k], work[r, k] = work[r, k], work[i, k]
        for k in range(m):
            work[m + 3 + i, k] /= pivot
            work[i, k] /= pivot
        for q in range(m):
            factor = work[m + 3 + q, i]
            if q != i and factor != 0.0:
                for k in range(m):
                    work[m + 3 + q, k] -= factor * work[m + 3 + i, k]
                    work[q, k] -= factor * work[i, k]
    return True


@compiled
def invert_two(u: Floats, e: Floats, basis: Integers, work: Floats) -> bool:
    """Closed form of the inverse for one cost; False when it is ill conditioned."""
    p, q = basis[0], basis[1]
    determinant = u[p, 0] * e[q] - u[q, 0] * e[p]
    if not abs(determinant) > WELL_CONDITIONED:
        return False
    scale = 1.0 / determinant
    work[0, 0], work[0, 1] = scale * e[q], -scale * u[q, 0]
    work[1, 0], work[1, 1] = -scale * e[p], scale * u[p, 0]
    return True


@compiled
def invert_three(u: Floats, e: Floats, basis: Integers, work: Floats) -> bool:
    """Closed form of the inverse for two costs; False when it is ill conditioned."""
    p, q, r = basis[0], basis[1], basis[2]
    qr, rp, pq = cross(u, q, r), cross(u, r, p), cross(u, p, q)
    determinant = qr * e[p] + rp * e[q] + pq * e[r]
    if not abs(determinant) > WELL_CONDITIONED:
        return False
    scale = 1.0 / determinant
    for row, i, j, weight in ((0, q, r, qr), (1, r, p, rp), (2, p, q, pq)):
        work[row, 0] = scale * (u[i, 1] * e[j] - u[j, 1] * e[i])
        work[row, 1] = scale * (u[j, 0] * e[i] - u[i, 0] * e[j])
        work[row, 2] = scale * weight
    return True


@compiled
def cross(u: Floats, i: int, j: int) -> float:
    """u_i x u_j in the plane."""
    result: float = u[i, 0] * u[j, 1] - u[i, 1] * u[j, 0]
    return result


@compiled
def improve(mu: Floats, u: Floats, e: Floats, basis: Integers, work: Floats, phase: float) -> int:
    """Pivot until no column improves the phase's objective: VIOLATION or VALUE."""
    m = basis.shape[0]
    bland = 20 * (m + 10)
    for step in range(100 * bland):
        if phase == VIOLATION and violation(basis, work) <= 0.0:
            return OPTIMAL
        set_prices(mu, basis, work, phase)
        j = entering(mu, u, e, work[m + 1], phase, step > bland)
        if j < 0:
            return OPTIMAL
        set_direction(u, e, j, work)
        i = leaving(basis, work, step > bland)
        if i < 0:
            return STALLED
        pivot(i, j, basis, work)
        if step % REFACTOR == REFACTOR - 1 and not invert(u, e, basis, work):
            return STALLED
    return STALLED


@compiled
def violation(basis: Integers, work: Floats) -> float:
    """Total of the artificials in the current basic solution."""
    m = basis.shape[0]
    total = 0.0
    for i in range(m):
        if basis[i] < 0:
            total += work[i, m - 1]
    return total


@compiled
def set_prices(mu: Floats, basis: Integers, work: Floats, phase: float) -> None:
    """Row prices of the basis: the shadow prices of the costs, then the objective."""
    m = basis.shape[0]
    for k in range(m):
        work[m + 1, k] = 0.0
    for i in range(m):
        gain = phase - 1.0 if basis[i] < 0 else phase * mu[basis[i]]
        if gain != 0.0:
            for k in range(m):
                work[m + 1, k] += gain * work[i, k]


@compiled
def reduced_cost(mu: Floats, u: Floats, e: Floats, price: Floats, j: int) -> float:
    """d_j = mu_j - lambda.u_j - v e_j."""
    costs = u.shape[1]
    d: float = mu[j] - price[costs] * e[j]
    for l in range(costs):
        d -= price[l] * u[j, l]
    return d


@compiled
def entering(mu: Floats, u: Floats, e: Floats, price: Floats, phase: float, bland: bool) -> int:
    """Column with the largest positive reduced cost (with Bland's rule: the first positive one)."""
    n, costs = u.shape
    best, chosen = 0.0, -1
    if costs == 1:
        return entering_one(mu, u, e, price, phase, bland)
    for j in range(n):
        d = phase * mu[j] - price[costs] * e[j]
        for l in range(costs):
            d -= price[l] * u[j, l]
        if d > best:
            size = abs(phase * mu[j]) + abs(price[costs] * e[j])
            for l in range(costs):
                size += abs(price[l] * u[j, l])
            if d > PRICE * size:
                best, chosen = d, j
                if bland:
                    return chosen
    return chosen


@compiled
def entering_one(mu: Floats, u: Floats, e: Floats, price: Floats, phase: float, bland: bool) -> int:
    """``entering`` for one cost."""
    best, chosen = 0.0, -1
    slope, level = price[0], price[1]
    for j in range(mu.shape[0]):
        d = phase * mu[j] - level * e[j] - slope * u[j, 0]
        if d > best and d > PRICE * (abs(phase * mu[j]) + abs(level * e[j]) + abs(slope * u[j, 0])):
            best, chosen = d, j
            if bland:
                return chosen
    return chosen


@compiled
def set_direction(u: Floats, e: Floats, j: int, work: Floats) -> None:
    """Coordinates of column j in the basis."""
    m = u.shape[1] + 1
    for i in range(m):
        y = work[i, m - 1] * e[j]
        for l in range(m - 1):
            y += work[i, l] * u[j, l]
        work[m, i] = y


@compiled
def leaving(basis: Integers, work: Floats, bland: bool) -> int:
    """Row of the basis that reaches zero first; lexicographic on ties (Bland: smallest column)."""
    m = basis.shape[0]
    largest = 0.0
    for i in range(m):
        largest = max(largest, abs(work[m, i]))
    row = -1
    for i in range(m):
        if work[m, i] > PIVOT * largest and (row < 0 or before(i, row, basis, work, bland)):
            row = i
    return row


@compiled
def before(i: int, r: int, basis: Integers, work: Floats, bland: bool) -> bool:
    """Whether row i leaves the basis rather than row r."""
    m = basis.shape[0]
    yi, yr = work[m, i], work[m, r]
    for step in range(m):
        k = m - 1 if step == 0 else step - 1
        left, right = work[i, k] * yr, work[r, k] * yi
        if abs(left - right) > TIE * (abs(left) + abs(right)):
            return bool(left < right)
        if bland:
            return bool(basis[i] < basis[r])
    return False


@compiled
def pivot(i: int, j: int, basis: Integers, work: Floats) -> None:
    """Replace row i of the basis by column j, whose direction is in the workspace."""
    m = basis.shape[0]
    for k in range(m):
        work[i, k] /= work[m, i]
    for q in range(m):
        if q != i and work[m, q] != 0.0:
            for k in range(m):
                work[q, k] -= work[m, q] * work[i, k]
    basis[i] = j


@compiled
def drive_out(u: Floats, e: Floats, basis: Integers, work: Floats) -> bool:
    """Replace artificials that stayed in the basis at zero; False when some row has no column."""
    n, m = u.shape[0], basis.shape[0]
    spanned = True
    for i in range(m):
        if basis[i] < 0:
            best, chosen = PIVOT, -1
            for j in range(n):
                y = work[i, m - 1] * e[j]
                for l in range(m - 1):
                    y += work[i, l] * u[j, l]
                if abs(y) > best:
                    best, chosen = abs(y), j
            if chosen < 0:
                spanned = False
                continue
            set_direction(u, e, chosen, work)
            pivot(i, chosen, basis, work)
    return spanned
