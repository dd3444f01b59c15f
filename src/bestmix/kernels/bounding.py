"""The simplex with generalised upper bounding: many segments, few limits that couple them.

Given the prices of the limits the segments separate, so columns are priced a segment at a time, and a pivot costs
R^2. A segment whose basic column is its key alone changes it without touching the inverse, which is most of the work
of a cold start. First the least violation of the limits (elastic columns), then the largest objective that keeps it:
two objectives in order, so that no large price blurs the second.
"""

import numpy as np

from bestmix.arrays import Floats
from bestmix.kernels.jit import compiled
from bestmix.kernels.segments import PENALTY, SegmentProgram, is_elastic, key_weight, segment_of
from bestmix.kernels.simplex import (
    FEASIBLE,
    INFEASIBLE,
    OPTIMAL,
    PIVOT,
    PRICE,
    REFACTOR,
    STALLED,
    TIE,
    VALUE,
    VIOLATION,
)

GUARD = 1e-9  # a column that adds less violation than this for each unit of weight adds none
SOME_PIVOTS = 20  # for each basic column, after which the first improving column enters (Bland's rule)
MOST_PIVOTS = 100  # times as many, after which the numbers are broken


@compiled
def maximise(program: SegmentProgram) -> int:
    """Solve the program from its key columns and basis; OPTIMAL, INFEASIBLE or STALLED.

    INFEASIBLE means that the mix fails its limits by as little as possible in total (``segments.excess`` says which),
    and is the best of these.
    """
    if not exists(program):
        choose_keys(program)
        start(program)
    elif not (invert(program) and feasible(program)):
        start(program)
    guarded = False
    program.missing[:] = 0.0
    if violated(program) >= 0.0:
        if improve(program, VIOLATION, guarded) != OPTIMAL:
            return STALLED
        guarded = violated(program) > FEASIBLE
        if guarded:
            set_prices(program, VIOLATION, program.missing)
        else:
            drive_out(program)
    if improve(program, VALUE, guarded) != OPTIMAL or not invert(program):
        return STALLED
    set_prices(program, VALUE, program.price)
    program.price[:] = program.price + PENALTY * program.missing
    return INFEASIBLE if guarded else OPTIMAL


@compiled
def exists(program: SegmentProgram) -> bool:
    """Whether every key is a column of its segment, and every other basic column is one of the program."""
    n, limits = program.rows.shape
    for s in range(program.key.shape[0]):
        if not program.start[s] <= program.key[s] < program.start[s + 1]:
            return False
    for i in range(limits):
        kind, r = divmod(program.basis[i] - n, limits)
        if program.basis[i] < 0 or kind > 2 or (kind >= 0 and kind != 1 and program.equality[r] != (kind == 2)):
            return False
    return True


@compiled
def choose_keys(program: SegmentProgram) -> None:
    """The column with the largest objective in each segment."""
    for s in range(program.key.shape[0]):
        first, last = program.start[s], program.start[s + 1]
        program.key[s] = first + np.argmax(program.mu[first:last])


@compiled
def start(program: SegmentProgram) -> None:
    """Complete the key columns to a basis: each limit's slack, or the elastic column that it needs."""
    n, limits = program.rows.shape
    set_residual(program)
    program.inverse[:] = 0.0
    for r in range(limits):
        over = program.residual[r] < 0.0
        program.inverse[r, r] = -1.0 if over else 1.0
        program.basis[r], program.owner[r] = n + r, -1
        if over:
            program.basis[r] += limits
        elif program.equality[r]:
            program.basis[r] += 2 * limits
    set_weights(program)


@compiled
def set_residual(program: SegmentProgram) -> None:
    """What the key columns leave of the right sides."""
    for r in range(program.right.shape[0]):
        left = program.right[r]
        for s in range(program.key.shape[0]):
            left -= program.weight[s] * program.rows[program.key[s], r]
        program.residual[r] = left


@compiled
def set_weights(program: SegmentProgram) -> None:
    """Weights of the basic columns that are no keys."""
    inverse, residual, x = program.inverse, program.residual, program.x
    for i in range(x.shape[0]):
        total = 0.0
        for r in range(x.shape[0]):
            total += inverse[i, r] * residual[r]
        x[i] = total


@compiled
def feasible(program: SegmentProgram) -> bool:
    """Whether no weight is negative, given the inverse."""
    for i in range(program.basis.shape[0]):
        if not program.x[i] >= -FEASIBLE:
            return False
        if program.owner[i] >= 0 and not key_weight(program, program.owner[i]) >= -FEASIBLE:
            return False
    return True


@compiled
def set_entries(program: SegmentProgram, j: int, result: Floats) -> None:
    """Entries of column j in the limits, less those of the key column of its segment."""
    rows = program.rows
    n, limits = rows.shape
    if j < n:
        key = program.key[program.segment[j]]
        for r in range(limits):
            result[r] = rows[j, r] - rows[key, r]
        return
    result[:] = 0.0
    result[(j - n) % limits] = -1.0 if (j - n) // limits == 1 else 1.0


@compiled
def invert(program: SegmentProgram) -> bool:
    """Invert the basis afresh by Gauss-Jordan elimination, with its weights; False when it is singular."""
    limits = program.basis.shape[0]
    inverse, matrix = program.inverse, np.empty((limits, limits))
    for i in range(limits):
        program.owner[i] = segment_of(program, program.basis[i])
        set_entries(program, program.basis[i], matrix[i])
    matrix = matrix.T.copy()
    inverse[:] = np.eye(limits)
    for i in range(limits):
        p = i + int(np.argmax(np.abs(matrix[i:, i])))
        pivot = matrix[p, i]
        if not abs(pivot) > PIVOT:
            return False
        for k in range(limits):
            matrix[i, k], matrix[p, k] = matrix[p, k], matrix[i, k]
            inverse[i, k], inverse[p, k] = inverse[p, k], inverse[i, k]
        for k in range(limits):
            matrix[i, k] /= pivot
            inverse[i, k] /= pivot
        for q in range(limits):
            factor = matrix[q, i]
            if q != i and factor != 0.0:
                for k in range(limits):
                    matrix[q, k] -= factor * matrix[i, k]
                    inverse[q, k] -= factor * inverse[i, k]
    set_residual(program)
    set_weights(program)
    return True


@compiled
def violated(program: SegmentProgram) -> float:
    """Total of the elastic columns; -1 when none is in the basis."""
    basis, x = program.basis, program.x
    total, found = 0.0, False
    for i in range(basis.shape[0]):
        if is_elastic(program, basis[i]):
            total, found = total + max(x[i], 0.0), True
    return total if found else -1.0


@compiled
def set_prices(program: SegmentProgram, phase: float, price: Floats) -> None:
    """Prices of the limits for an objective: VIOLATION counts elastic columns as -1, VALUE counts rewards."""
    mu, basis, owner, inverse = program.mu, program.basis, program.owner, program.inverse
    price[:] = 0.0
    for i in range(basis.shape[0]):
        gain = 0.0
        if owner[i] >= 0:
            gain = phase * (mu[basis[i]] - mu[program.key[owner[i]]])
        elif is_elastic(program, basis[i]):
            gain = phase - 1.0
        if gain != 0.0:
            for r in range(price.shape[0]):
                price[r] += gain * inverse[i, r]


@compiled
def improve(program: SegmentProgram, phase: float, guarded: bool) -> int:
    """Pivot until no column improves the phase's objective; ``guarded``: without adding to the violation."""
    segments, limits = program.key.shape[0], program.basis.shape[0]
    price = program.price
    set_prices(program, phase, price)
    group, quiet, pivots = 0, 0, 0
    bland = SOME_PIVOTS * (segments + limits + 10)
    while quiet <= segments:
        if phase == VIOLATION and violated(program) <= 0.0:
            return OPTIMAL
        first = pivots > bland
        if group < segments:
            j = entering(program, group, phase, guarded, first)
        else:
            j = entering_free(program, phase, guarded)
        group, quiet = (group + 1) % (segments + 1), quiet + 1
        if j >= 0:
            set_direction(program, j)
            out = leaving(program, j, first)
            if out < 0 or pivots > MOST_PIVOTS * bland:
                return STALLED
            inverted = exchange(program, j, out)
            group, quiet, pivots = 0 if first else group, 0, pivots + 1
            if pivots % REFACTOR == 0 and not invert(program):
                return STALLED
            if inverted:
                set_prices(program, phase, price)
    return OPTIMAL


@compiled
def entering(program: SegmentProgram, s: int, phase: float, guarded: bool, first: bool) -> int:
    """Column of a segment with the largest positive reduced cost, or the first one that has; -1 if there is none."""
    missing = program.missing[: program.missing.shape[0] if guarded else 0]
    start, stop, key = program.start[s], program.start[s + 1], program.key[s]
    return best_column(program.mu, program.rows, program.price, missing, start, stop, key, phase, first)


@compiled
def best_column(
    mu: Floats,
    rows: Floats,
    price: Floats,
    missing: Floats,
    start: int,
    stop: int,
    key: int,
    phase: float,
    first: bool,
) -> int:
    """As ``entering``, of the columns from ``start`` on; ``missing`` is empty where violation needs no guard."""
    limits = price.shape[0]
    base = phase * mu[key]
    for r in range(limits):
        base -= price[r] * rows[key, r]
    best, chosen = 0.0, -1
    for j in range(start, stop):
        d = phase * mu[j] - base
        for r in range(limits):
            d -= price[r] * rows[j, r]
        if d > best:
            size, added = phase * (abs(mu[j]) + abs(mu[key])), 0.0
            for r in range(limits):
                size += abs(price[r]) * (abs(rows[j, r]) + abs(rows[key, r]))
            for r in range(missing.shape[0]):
                added += missing[r] * (rows[j, r] - rows[key, r])
            if d > PRICE * size and added <= GUARD:
                best, chosen = d, j
                if first:
                    return int(chosen)
    return int(chosen)


@compiled
def entering_free(program: SegmentProgram, phase: float, guarded: bool) -> int:
    """The first slack or elastic column with a positive reduced cost; -1 if there is none."""
    n, limits = program.rows.shape
    for kind in range(3):
        if kind > 0 and phase == VALUE and not guarded:
            return -1
        for r in range(limits):
            sign = -1.0 if kind == 1 else 1.0
            exists = kind == 1 or program.equality[r] == (kind == 2)
            worth = phase - 1.0 if kind > 0 else 0.0
            added = sign * program.missing[r] + (1.0 if kind > 0 else 0.0)
            if exists and worth - sign * program.price[r] > PRICE * (abs(worth) + abs(program.price[r])) + PRICE:
                if not (guarded and added > GUARD):
                    return int(n + kind * limits + r)
    return -1


@compiled
def set_direction(program: SegmentProgram, j: int) -> None:
    """How the weights of ``basis`` fall for each unit of column j."""
    inverse, entries, direction = program.inverse, program.entries, program.direction
    set_entries(program, j, entries)
    for i in range(direction.shape[0]):
        total = 0.0
        for r in range(direction.shape[0]):
            total += inverse[i, r] * entries[r]
        direction[i] = total


@compiled
def leaving(program: SegmentProgram, j: int, bland: bool) -> int:
    """Which basic column reaches zero first when column j enters: row i, or R + s for the key column of segment s."""
    owner, basis, key, weight = program.owner, program.basis, program.key, program.weight
    x, direction = program.x, program.direction
    limits, own = basis.shape[0], segment_of(program, j)
    largest = 1.0 if own >= 0 else 0.0
    for i in range(limits):
        largest = max(largest, abs(direction[i]))
    chosen, step, best, column = -1, np.inf, 0.0, 0
    for c in range(2 * limits + 1):
        if c < limits:
            out, candidate, rate, left = c, basis[c], direction[c], x[c]
        else:
            s = own if c == 2 * limits else owner[c - limits]
            if s < 0:
                continue
            out, candidate, rate, left = limits + s, key[s], 1.0 if s == own else 0.0, weight[s]
            for i in range(limits):
                if owner[i] == s:
                    rate, left = rate - direction[i], left - x[i]
        if rate > PIVOT * largest:
            length = max(left, 0.0) / rate
            tie = abs(length - step) <= TIE * (length + step)
            if (candidate < column if bland else rate > best) if tie else length < step:
                chosen, step, best, column = out, length, rate, candidate
    return int(chosen)


@compiled
def exchange(program: SegmentProgram, j: int, out: int) -> bool:
    """Put column j in place of the column that leaves; whether the inverse has changed."""
    limits = program.basis.shape[0]
    if out < limits:
        replace(program, out, j)
        return True
    s, row = out - limits, -1
    for i in range(limits):
        if program.owner[i] == s:
            row = i
    if row < 0:  # the segment has no other basic column: only its key changes
        set_key(program, s, j)
        set_weights(program)
        return False
    swap_key(program, s, row)
    set_direction(program, j)
    replace(program, row, j)
    return True


@compiled
def set_key(program: SegmentProgram, s: int, j: int) -> None:
    """Make column j the key of its segment, and account for it in the residual."""
    rows, residual, old, weight = program.rows, program.residual, program.key[s], program.weight[s]
    for r in range(residual.shape[0]):
        residual[r] += weight * (rows[old, r] - rows[j, r])
    program.key[s] = j


@compiled
def swap_key(program: SegmentProgram, s: int, row: int) -> None:
    """Make the basic column of a row the key of its segment, and the key the column of that row."""
    owner, inverse, key = program.owner, program.inverse, program.key[s]
    # Entries are relative to the key: D_row changes its sign and every other D of the segment loses D_row.
    for r in range(owner.shape[0]):
        total = 0.0
        for i in range(owner.shape[0]):
            if owner[i] == s:
                total += inverse[i, r]
        inverse[row, r] = -total
    set_key(program, s, program.basis[row])
    program.basis[row] = key


@compiled
def replace(program: SegmentProgram, row: int, j: int) -> None:
    """Replace the basic column of a row by column j, whose direction is known."""
    inverse, direction = program.inverse, program.direction
    limits, unit = direction.shape[0], 1.0 / direction[row]
    for r in range(limits):
        inverse[row, r] *= unit
    for i in range(limits):
        factor = direction[i]
        if i != row and factor != 0.0:
            for r in range(limits):
                inverse[i, r] -= factor * inverse[row, r]
    program.basis[row], program.owner[row] = j, segment_of(program, j)
    set_weights(program)


@compiled
def drive_out(program: SegmentProgram) -> None:
    """Replace elastic columns that stayed in the basis at zero, where any other column can take their row."""
    n, limits = program.rows.shape
    entries = program.entries
    for i in range(limits):
        if is_elastic(program, program.basis[i]):
            best, chosen = GUARD, -1
            for j in range(n + limits):
                if j < n or not program.equality[j - n]:
                    set_entries(program, j, entries)
                    size = abs(np.sum(program.inverse[i] * entries))
                    if size > best:
                        best, chosen = size, j
            if chosen >= 0:
                set_direction(program, chosen)
                replace(program, i, chosen)
