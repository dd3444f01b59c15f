"""Few-row primal simplex for maximise mu.x, sum_j x_j u_j = 0, sum_j x_j e_j = 1, x >= 0.

Columns come scaled from ``columns.py``. The basis inverse is kept whole, because a basis has only
L + 1 columns. Ties in the ratio test are broken lexicographically (row by row of the inverse), which
excludes cycling from a cold start; after many pivots Bland's rule takes over as a second guard.

Only functions that call no other take arrays out of a tuple: elsewhere each would be counted as one more reference.
"""

from typing import NamedTuple

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import pairs
from bestmix.kernels.columns import ONE_COST, TWO_COSTS, Program, fixed, fixed_rows
from bestmix.kernels.jit import borrowing, compiled, inlined, plain, view
from bestmix.kernels.lanes import any_lane, at, either

OPTIMAL, INFEASIBLE, DEFICIENT, STALLED = 0, 1, 2, 3

PIVOT = 1e-11  # a smaller pivot counts as zero, on columns scaled to one
PRICE = 1e-12  # a reduced cost below this share of its terms counts as zero
WORTHLESS = 1e-16  # and one below this: rewards scaled to one are not known any better
FEASIBLE = 1e-10  # total violation, in units of the cost spreads, that still counts as feasible
TIE = 1e-12
LEAST_GAP = 1e-6  # differences on scaled columns that no rounding makes
VIOLATION, VALUE = 0.0, 1.0  # phases: the weight of the rewards in the objective
STEEPEST, BLAND = 0, 1  # rules for the pivots: the largest reduced cost, or the first one, which never cycles
WELL_CONDITIONED = 1e-6  # determinant above which an inverse is written in closed form
CLIMBS = 8  # improvements of a pair from one round to the next, before it is looked for anew
REFACTOR = 64  # pivots between fresh inversions


class Basis(NamedTuple):
    """A basis of m = L + 1 columns, and what the simplex knows of it.

    Attributes
    ----------
    column
        Positions of its columns (m,); below zero it is the artificial column of row -1 - entry.
    work
        Space of the simplex (2 m + 3, m), one array because kernels pass it on at every step: the inverse in rows
        [0, m), the entering direction in row m, the row prices in row m + 1, the artificials' signs in row m + 2,
        scratch below. Others read it through ``inverse``, ``weights`` and ``prices``.
    """

    column: Integers
    work: Floats


@compiled
def new_basis(costs: int) -> Basis:
    """A basis that is still to be found, for this many costs."""
    return Basis(np.full(costs + 1, -1), np.empty((2 * costs + 5, costs + 1)))


@view
def inverse(basis: Basis) -> Floats:
    """Inverse of the matrix of the basis's columns (m, m)."""
    result: Floats = basis.work[: basis.column.shape[0]]
    return result


@view
def weights(basis: Basis) -> Floats:
    """Weights of the columns (m,)."""
    m = basis.column.shape[0]
    result: Floats = basis.work[:m, m - 1]
    return result


@view
def prices(basis: Basis) -> Floats:
    """Row prices (m,): the shadow prices of the costs, then the objective."""
    result: Floats = basis.work[basis.column.shape[0] + 1]
    return result


@inlined
def forget(basis: Basis) -> None:
    """Ask for a cold start."""
    basis.column[0] = -1


@inlined
def copy(basis: Basis, other: Basis) -> None:
    """Write a basis, and what is known of it, into another."""
    rows, m = basis.work.shape
    for i in range(m):
        other.column[i] = basis.column[i]
        for r in range(rows):
            other.work[r, i] = basis.work[r, i]


@borrowing
def maximise(program: Program, basis: Basis) -> int:
    """Solve the program; ``basis`` is overwritten with the final one.

    The basis passed in is tried first; a negative entry asks for a cold start. Returns OPTIMAL;
    INFEASIBLE, with artificials in the basis; DEFICIENT when the columns do not span all rows, so that
    an artificial stays at zero in place of a column; or STALLED, which only broken numbers can cause.
    """
    if of_few_pairs(program):
        if climb(program, basis):
            return OPTIMAL
        if pairs.best(program, basis.column) and invert(program, basis):
            set_prices(program, basis, VALUE)
            return OPTIMAL
    if not restart(program, basis) and not cold_start(program, basis):
        return INFEASIBLE
    status = improve(program, basis, VIOLATION)
    if status != OPTIMAL:
        return status
    if violation(basis) > FEASIBLE:
        return INFEASIBLE
    spanned = drive_out(program, basis)
    status = improve(program, basis, VALUE)
    return status if spanned or status != OPTIMAL else DEFICIENT


@inlined
def of_few_pairs(program: Program) -> bool:
    """Whether a basis is one of so few pairs that looking at all is cheap."""
    return ONE_COST and program.u.shape[1] == 1 and program.mu.shape[0] <= pairs.FEW


@inlined
def climb(program: Program, basis: Basis) -> bool:
    """Improve a pair on either side of the bound until it is the best one by a margin; False where it does not get so.

    A better column takes the place of the one on its own side. In lanes with a pair its inverse and prices are set;
    where the answer is False they, and its columns, are of no use.
    """
    column, mu, u, e = basis.column, program.mu, program.u[:, 0], program.e
    known, most = exists(program, basis), -np.inf
    found: float = 0
    left, right = either(known, column[0], 0), either(known, column[1], 0)
    holds: bool = known & (at(u, left) < -LEAST_GAP) & (at(u, right) > LEAST_GAP)
    if not any_lane(holds):
        return holds
    for _ in range(CLIMBS):
        holds = holds & invert_two(program, basis)
        set_prices(program, basis, VALUE)
        slope, level, most, found = basis.work[3, 0], basis.work[3, 1], -np.inf, 0
        for j in range(mu.shape[0]):
            d = mu[j] - level * e[j] - slope * u[j]
            better = (d > most) & ((column[0] < j) | (column[0] > j)) & ((column[1] < j) | (column[1] > j))
            most, found = either(better, d, most), either(better, j, found)
        rises, side = holds & (most > LEAST_GAP), at(u, found)
        if not any_lane(rises):
            break
        holds = holds & ((most < LEAST_GAP) | (abs(side) > LEAST_GAP))
        column[0] = either(rises & (side < 0.0), found, column[0])
        column[1] = either(rises & (side > 0.0), found, column[1])
    best: bool = holds & (most < -LEAST_GAP) & (basis.work[0, 1] > LEAST_GAP) & (basis.work[1, 1] > LEAST_GAP)
    return best


@borrowing
def cold_start(program: Program, basis: Basis) -> bool:
    """Start from the arm that violates the rows least; False when there is none."""
    found = choose_first(program, basis)
    return invert(program, basis) and found


@inlined
def choose_first(program: Program, basis: Basis) -> bool:
    """The arm that violates the rows least, with a slack or an artificial on each row; False without an arm."""
    column, work = basis
    u, e = program.u, program.e
    n, costs = u.shape[0], fixed(u.shape[1])
    for l in range(costs):
        column[l] = -1
    for j in range(n):
        if e[j] == 0.0:
            for l in range(costs):
                if u[j, l] > 0.0:
                    column[l] = j
    first, least = -1, np.inf
    for j in range(n):
        if e[j] != 0.0:
            total = 0.0
            for l in range(costs):
                total += abs(u[j, l]) if column[l] < 0 else max(u[j, l], 0.0)
            if total < least:
                first, least = j, total
                if total == 0.0:
                    break
    if first < 0:  # no arm: every row is missed
        for l in range(costs + 1):
            column[l], work[costs + 3, l] = -1 - l, 1.0
        return False
    column[costs] = first
    for l in range(costs):
        if column[l] < 0 or u[first, l] > 0.0:
            column[l] = -1 - l
        work[costs + 3, l] = -1.0 if u[first, l] > 0.0 else 1.0
    return True


@borrowing
def restart(program: Program, basis: Basis) -> bool:
    """Invert the basis passed in; False when it is none of these columns, singular or not feasible on them."""
    return exists(program, basis) and invert(program, basis) and is_feasible(basis)


@inlined
def exists(program: Program, basis: Basis) -> bool:
    """Whether the basis is made of columns of the program."""
    column, real = basis.column, True
    for i in range(column.shape[0]):
        real = real & (column[i] >= 0) & (column[i] < program.e.shape[0])
    return real


@inlined
def is_feasible(basis: Basis) -> bool:
    """Whether no weight is negative."""
    m = fixed_rows(basis.column.shape[0])
    for i in range(m):
        if not basis.work[i, m - 1] >= -FEASIBLE:
            return False
    return True


@borrowing
def invert(program: Program, basis: Basis) -> bool:
    """Invert the basis matrix; False when it is singular.

    Two and three rows have their closed form, unless it is ill conditioned; Gauss-Jordan does the rest.
    """
    m = fixed_rows(basis.column.shape[0])
    if ONE_COST and m == 2 and invert_two(program, basis):
        return True
    if TWO_COSTS and m == 3 and invert_three(program, basis):
        return True
    return eliminate(program, basis)


@inlined
def eliminate(program: Program, basis: Basis) -> bool:
    """Invert the basis matrix by Gauss and Jordan's method; False when it is singular."""
    column, work = basis
    u, e = program.u, program.e
    costs = fixed(u.shape[1])
    m = costs + 1
    for i in range(m):
        for k in range(m):
            work[k, i] = 1.0 if k == i else 0.0
            work[m + 3 + k, i] = 0.0
        if column[i] < 0:
            work[m + 3 - 1 - column[i], i] = work[m + 2, -1 - column[i]]
        else:
            for l in range(costs):
                work[m + 3 + l, i] = u[column[i], l]
            work[m + 3 + costs, i] = e[column[i]]
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


@inlined
def invert_two(program: Program, basis: Basis) -> bool:
    """Closed form of the inverse for one cost; False when it is ill conditioned or has an artificial column."""
    column, work = basis
    real = (column[0] >= 0) & (column[1] >= 0)
    p, q = either(real, column[0], 0), either(real, column[1], 0)
    up, uq, ep, eq = at(program.u[:, 0], p), at(program.u[:, 0], q), at(program.e, p), at(program.e, q)
    determinant = up * eq - uq * ep
    clear: bool = real & (abs(determinant) > WELL_CONDITIONED)
    scale = 1.0 / either(clear, determinant, 1.0)
    work[0, 0], work[0, 1] = scale * eq, -scale * uq
    work[1, 0], work[1, 1] = -scale * ep, scale * up
    return clear


@inlined
def invert_three(program: Program, basis: Basis) -> bool:
    """Closed form of the inverse for two costs; False when it is ill conditioned or has an artificial column."""
    column, work = basis
    u, e = program.u, program.e
    p, q, r = column[0], column[1], column[2]
    if min(p, q, r) < 0:
        return False
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


@borrowing
def cross(u: Floats, i: int, j: int) -> float:
    """u_i x u_j in the plane."""
    result: float = u[i, 0] * u[j, 1] - u[i, 1] * u[j, 0]
    return result


@borrowing
def improve(program: Program, basis: Basis, phase: float) -> int:
    """Pivot until no column improves the phase's objective: VIOLATION or VALUE."""
    m = fixed_rows(basis.column.shape[0])
    patience = 20 * (m + 10)
    for step in range(100 * patience):
        if phase == VIOLATION and violation(basis) <= 0.0:
            return OPTIMAL
        set_prices(program, basis, phase)
        rule = BLAND if step > patience else STEEPEST
        j = entering(program, basis.work[m + 1], phase, rule)
        if j < 0:
            return OPTIMAL
        set_direction(program, j, basis)
        i = leaving(basis, rule)
        if i < 0:
            return STALLED
        pivot(i, j, basis)
        if step % REFACTOR == REFACTOR - 1 and not invert(program, basis):
            return STALLED
    return STALLED


@borrowing
def violation(basis: Basis) -> float:
    """Total of the artificials in the current basic solution."""
    column, work = basis
    m = fixed_rows(column.shape[0])
    total = 0.0
    for i in range(m):
        if column[i] < 0:
            total += work[i, m - 1]
    return total


@borrowing
def set_prices(program: Program, basis: Basis, phase: float) -> None:
    """Row prices of the basis: the shadow prices of the costs, then the objective."""
    mu = program.mu
    column, work = basis
    m = fixed_rows(column.shape[0])
    for k in range(m):
        work[m + 1, k] = 0.0
    for i in range(m):
        artificial = column[i] < 0
        gain = either(artificial, phase - 1.0, phase * at(mu, either(artificial, 0, column[i])))
        for k in range(m):
            work[m + 1, k] = work[m + 1, k] + either(gain == 0.0, 0.0, gain * work[i, k])


@inlined
def reduced_cost(program: Program, price: Floats, j: int) -> float:
    """d_j = mu_j - lambda.u_j - v e_j."""
    mu, u, e = program
    costs = fixed(u.shape[1])
    d: float = mu[j] - price[costs] * e[j]
    for l in range(costs):
        d = d - price[l] * u[j, l]
    return d


@borrowing
def entering(program: Program, price: Floats, phase: float, rule: int) -> int:
    """Column with the largest positive reduced cost (BLAND: the first positive one)."""
    mu, u, e = program
    n, costs = u.shape[0], fixed(u.shape[1])
    best, chosen = WORTHLESS, -1
    if ONE_COST and costs == 1:
        return entering_one(program, price, phase, rule)
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
                if rule == BLAND:
                    return chosen
    return chosen


@borrowing
def entering_one(program: Program, price: Floats, phase: float, rule: int) -> int:
    """``entering`` for one cost."""
    mu, u, e = program
    best, chosen = WORTHLESS, -1
    slope, level = price[0], price[1]
    for j in range(mu.shape[0]):
        d = phase * mu[j] - level * e[j] - slope * u[j, 0]
        if d > best and d > PRICE * (abs(phase * mu[j]) + abs(level * e[j]) + abs(slope * u[j, 0])):
            best, chosen = d, j
            if rule == BLAND:
                return chosen
    return chosen


@borrowing
def set_direction(program: Program, j: int, basis: Basis) -> None:
    """Coordinates of column j in the basis."""
    work = basis.work
    u, e = program.u, program.e
    m = fixed(u.shape[1]) + 1
    for i in range(m):
        y = work[i, m - 1] * e[j]
        for l in range(m - 1):
            y += work[i, l] * u[j, l]
        work[m, i] = y


@borrowing
def leaving(basis: Basis, rule: int) -> int:
    """Row of the basis that reaches zero first; lexicographic on ties (BLAND: smallest column)."""
    column, work = basis
    m = fixed_rows(column.shape[0])
    largest = 0.0
    for i in range(m):
        largest = max(largest, abs(work[m, i]))
    row = plain(-1)
    for i in range(m):
        if work[m, i] > PIVOT * largest and (row < 0 or before(i, row, basis, rule)):
            row = i
    return row


@borrowing
def before(i: int, r: int, basis: Basis, rule: int) -> bool:
    """Whether row i leaves the basis rather than row r."""
    column, work = basis
    m = fixed_rows(column.shape[0])
    yi, yr = work[m, i], work[m, r]
    for step in range(m):
        k = m - 1 if step == 0 else step - 1
        left, right = work[i, k] * yr, work[r, k] * yi
        if abs(left - right) > TIE * (abs(left) + abs(right)):
            return bool(left < right)
        if rule == BLAND:
            return bool(column[i] < column[r])
    return False


@borrowing
def pivot(i: int, j: int, basis: Basis) -> None:
    """Replace row i of the basis by column j, whose direction is set."""
    column, work = basis
    m = fixed_rows(column.shape[0])
    for k in range(m):
        work[i, k] /= work[m, i]
    for q in range(m):
        if q != i and work[m, q] != 0.0:
            for k in range(m):
                work[q, k] -= work[m, q] * work[i, k]
    column[i] = j


@borrowing
def drive_out(program: Program, basis: Basis) -> bool:
    """Replace artificials that stayed in the basis at zero; False when some row has no column."""
    spanned = True
    for i in range(basis.column.shape[0]):
        if basis.column[i] < 0:
            chosen = largest_in_row(i, program, basis)
            if chosen < 0:
                spanned = False
                continue
            set_direction(program, chosen, basis)
            pivot(i, chosen, basis)
    return spanned


@inlined
def largest_in_row(i: int, program: Program, basis: Basis) -> int:
    """Column with the largest coordinate on row i of the basis; -1 when all are zero."""
    work = basis.work
    u, e = program.u, program.e
    n, m = u.shape[0], fixed(u.shape[1]) + 1
    best, chosen = PIVOT, -1
    for j in range(n):
        y = work[i, m - 1] * e[j]
        for l in range(m - 1):
            y += work[i, l] * u[j, l]
        if abs(y) > best:
            best, chosen = abs(y), j
    return chosen
