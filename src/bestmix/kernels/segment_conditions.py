"""The conditions that keep the answer of a program of segments: how far each is from failing, in standard errors.

The optimal basis stays optimal exactly while its weights are positive (primal conditions) and no other column has a
positive reduced cost (dual conditions). Each has a gap G and, by the delta method, a variance:

    dual j:    G = -d_j;  V = w'S_j w / n_j + sum over basic k of y_jk^2 w'S_k w / n_k,       w = (1, -lambda)
    primal i:  G = x_i;   V = sum over basic k of p_k^2 g_i'S_k g_i / n_k + g_i' Cov(shares) g_i

with S_j the covariance of a trial of column j seen through the rows, y_j its coordinates in the basis, g_i row i of
the inverse and p the weights where x_i is zero. A column j reaches only the R basic columns that are no keys, the keys
of their segments and the key of its own: 2 R + 1 coordinates, whatever the number of segments. A weight can reach
zero only in a segment with more than one basic column: at most 2 R primal conditions.
"""

import math
from typing import NamedTuple

import numpy as np

from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels.boundary import boundary_weights
from bestmix.kernels.conditions import VAST, unless_rounding
from bestmix.kernels.jit import compiled
from bestmix.kernels.segments import SegmentProgram, key_weight, weights
from bestmix.kernels.simplex import FEASIBLE, PIVOT


class Noise(NamedTuple):
    """Where the entries of n columns come from, for S segments, R limits and M metrics of a trial.

    Attributes
    ----------
    transform
        The objective and the limits as linear functions of the metrics, by segment: (S, 1 + R, M).
    covariance
        Of the metrics in one trial of each column, zero where they are known: (n, M, M).
    known
        Limits that hold whatever the noise is: those on shares, and the flow between states (R,).
    reference, factor
        For relative limits the column by whose mean each segment's entries are reduced, -1 for none: (S, R); and
        what multiplies that mean: (R,).
    arrivals
        Number of users from whom the weights of segments were estimated; 0 when they are known.
    """

    transform: Floats
    covariance: Floats
    known: Flags
    reference: Integers
    factor: Floats
    arrivals: float


class Conditions(NamedTuple):
    """Gap and terms of the variance of each column's condition, for all N = n + 3 R columns.

    Attributes
    ----------
    gap
        (N,); infinite for a column that cannot enter.
    own, coefficient, slot
        Dual conditions: V = own_j / n_j + sum_c coefficient_jc / n_slot(c), (N,) and (N, 2 R + 1). Slot c is the
        column slot[c], (2 R,), -1 for none; the last one is the key column of j's own segment.
    row, term, fixed
        Primal conditions: the row of each basic column that has one, else -1 (N,); then
        V = sum_k term_row,k / n_k + fixed_row, (2 R, n) and (2 R,).
    harmless
        Whether the failure of a dual condition would change the basis but not the answer (N,).
    """

    gap: Floats
    own: Floats
    coefficient: Floats
    slot: Integers
    row: Integers
    term: Floats
    fixed: Floats
    harmless: Flags


@compiled
def new_conditions(columns: int, limits: int) -> Conditions:
    """Arrays for so many columns of segments and limits."""
    everything = columns + 3 * limits
    return Conditions(
        np.empty(everything),
        np.empty(everything),
        np.empty((everything, 2 * limits + 1)),
        np.empty(2 * limits, dtype=np.int64),
        np.empty(everything, dtype=np.int64),
        np.empty((2 * limits, columns)),
        np.empty(2 * limits),
        np.empty(everything, dtype=np.bool_),
    )


@compiled
def set_conditions(program: SegmentProgram, noise: Noise, result: Conditions) -> None:
    """Work out all conditions of a solved program."""
    set_slots(program, result)
    set_primal(program, noise, result)
    set_own(program, noise, result)
    set_dual(program, result)
    settle_basic(program, result)


@compiled
def set_slots(program: SegmentProgram, result: Conditions) -> None:
    """The basic columns that others can reach: those that are no keys, and once the key of each one's segment."""
    basis, owner, slot = program.basis, program.owner, result.slot
    limits = basis.shape[0]
    for i in range(limits):
        slot[i] = basis[i]
        slot[limits + i] = program.key[owner[i]] if owner[i] >= 0 else -1
        for k in range(i):
            if owner[k] == owner[i]:
                slot[limits + i] = -1


@compiled
def set_primal(program: SegmentProgram, noise: Noise, result: Conditions) -> None:
    """Terms of the variance of each weight, where that weight is zero."""
    n, limits = program.rows.shape
    mix, g = np.empty(n), np.empty(limits)
    result.row[:] = -1
    result.term[:] = 0.0
    result.fixed[:] = 0.0
    for c in range(2 * limits):
        j = result.slot[c]
        if j < 0:
            continue
        weights(program, mix)
        if not boundary_weights(program, noise.known, result.slot, c, mix):
            continue
        result.row[j] = c
        set_inverse_row(program, c, g)
        result.fixed[c] = share_variance(program, noise.arrivals, c, g)
        for r in range(limits):
            g[r] /= program.scale[2 + r]
        set_terms(program, noise, g, mix, result.term[c])


@compiled
def set_inverse_row(program: SegmentProgram, c: int, g: Floats) -> None:
    """Row of the whole basis' inverse that belongs to slot c, in the limits."""
    inverse, owner = program.inverse, program.owner
    limits = owner.shape[0]
    if c < limits:
        g[:] = inverse[c]
        return
    g[:] = 0.0  # the weight of a key is what the others of its segment leave
    for i in range(limits):
        if owner[i] == owner[c - limits]:
            g -= inverse[i]


@compiled
def share_variance(program: SegmentProgram, arrivals: float, c: int, g: Floats) -> float:
    """Variance of the weight of slot c that comes from the estimated shares: Cov(w) = (diag w - w w') / arrivals."""
    if arrivals <= 0.0:
        return 0.0
    key, rows, weight, limits = program.key, program.rows, program.weight, g.shape[0]
    square, mean = 0.0, 0.0
    for s in range(key.shape[0]):
        change = 1.0 if c >= limits and program.owner[c - limits] == s else 0.0
        for r in range(limits):
            change -= g[r] * rows[key[s], r]
        square += weight[s] * change * change
        mean += weight[s] * change
    return max(square - mean * mean, 0.0) / arrivals


@compiled
def set_terms(program: SegmentProgram, noise: Noise, g: Floats, mix: Floats, term: Floats) -> None:
    """Write each column's variance along g for the weights ``mix``, into ``term`` (n,)."""
    start, weight = program.start, program.weight
    transform, covariance, reference, factor = noise.transform, noise.covariance, noise.reference, noise.factor
    limits, direction = g.shape[0], np.empty(transform.shape[2])
    for s in range(weight.shape[0]):
        see_through(transform, s, 0.0, g, direction)
        for j in range(start[s], start[s + 1]):
            term[j] = mix[j] ** 2 * quadratic(direction, covariance, j) if mix[j] != 0.0 else 0.0
        for r in range(limits):
            k = reference[s, r]
            if k >= 0:
                # The arm of reference counts in its limits with its weight less the factor times the segment's.
                shares = np.where(reference[s] == k, mix[k] - factor * weight[s], mix[k])
                see_through(transform, s, 0.0, g * shares, direction)
                term[k] = quadratic(direction, covariance, k)


@compiled
def see_through(transform: Floats, s: int, reward: float, limits: Floats, result: Floats) -> None:
    """Write the direction in the metrics (M,) of these multiples of the objective and of the limits (R,)."""
    for m in range(result.shape[0]):
        total = reward * transform[s, 0, m]
        for r in range(limits.shape[0]):
            if transform[s, 1 + r, m] != 0.0:  # the multiple of a limit in a very small unit may be infinite
                total += limits[r] * transform[s, 1 + r, m]
        result[m] = total


@compiled
def quadratic(direction: Floats, covariance: Floats, k: int) -> float:
    """Variance of a trial of column k along a direction; never infinite, and zero where nothing has noise."""
    total, apart = 0.0, 0.0
    for i in range(direction.shape[0]):
        if covariance[k, i, i] > 0.0 and direction[i] != 0.0:
            inner = 0.5 * covariance[k, i, i] * direction[i]
            apart += inner * direction[i]
            for m in range(i):
                if covariance[k, i, m] != 0.0:
                    inner += covariance[k, i, m] * direction[m]
            total += 2.0 * direction[i] * inner
    return unless_rounding(total, apart) if total < np.inf else VAST


@compiled
def set_own(program: SegmentProgram, noise: Noise, result: Conditions) -> None:
    """Variance of one trial of each column along reward - lambda.limits; zero for slacks."""
    n = program.mu.shape[0]
    scale, start, transform, covariance, own = (
        program.scale,
        program.start,
        noise.transform,
        noise.covariance,
        result.own,
    )
    price, direction = -program.price / scale[2:], np.empty(transform.shape[2])
    own[n:] = 0.0
    for s in range(start.shape[0] - 1):
        see_through(transform, s, 1.0 / scale[1], price, direction)
        for j in range(start[s], start[s + 1]):
            own[j] = quadratic(direction, covariance, j)


@compiled
def set_dual(program: SegmentProgram, result: Conditions) -> None:
    """Gap and variance of the reduced cost of each column; slacks too, elastic columns cannot enter."""
    n, limits = program.rows.shape
    mu, rows, price, segment, key = program.mu, program.rows, program.price, program.segment, program.key
    inverse, owner, entries = program.inverse, program.owner, program.entries
    gap, coefficient, own, slot, harmless = result.gap, result.coefficient, result.own, result.slot, result.harmless
    y, noise, frozen = np.empty(2 * limits), np.zeros(2 * limits), np.zeros(2 * limits, dtype=np.bool_)
    gap[n + limits :] = np.inf
    coefficient[n:] = 0.0
    harmless[:] = False
    for c in range(2 * limits):
        if slot[c] >= 0:
            noise[c] = own[slot[c]]
            frozen[c] = is_frozen(program, c, result)
    for j in range(n + limits):
        s = segment[j] if j < n else -1
        if s >= 0:
            gap[j] = mu[key[s]] - mu[j]
            for r in range(limits):
                entries[r] = rows[j, r] - rows[key[s], r]
                gap[j] += price[r] * entries[r]
        else:
            gap[j] = np.inf if program.equality[j - n] else price[j - n]
            entries[:] = 0.0
            entries[j - n] = 1.0
        alone = set_coordinates(inverse, owner, entries, s, y)
        for c in range(2 * limits):
            if slot[c] >= 0:
                coefficient[j, c] = y[c] * y[c] * noise[c]
                harmless[j] |= frozen[c] and y[c] > PIVOT
            else:
                coefficient[j, c] = 0.0
        coefficient[j, 2 * limits] = own[key[s]] if alone else 0.0


@compiled
def set_coordinates(inverse: Floats, owner: Integers, entries: Floats, s: int, y: Floats) -> bool:
    """Write the coordinates in the slots (2 R,) of a column of segment s (-1 for a slack), given its entries less its
    key's; whether its key has no slot and a coordinate of 1.
    """
    limits = owner.shape[0]
    alone = s >= 0
    for i in range(limits):
        total = 0.0
        for r in range(limits):
            total += inverse[i, r] * entries[r]
        y[i] = total
        alone = alone and owner[i] != s
    for i in range(limits):
        rest = 1.0 if owner[i] == s else 0.0
        for k in range(limits):
            if owner[k] == owner[i]:
                rest -= y[k]
        y[limits + i] = rest
    return alone


@compiled
def is_frozen(program: SegmentProgram, c: int, result: Conditions) -> bool:
    """Whether the weight of slot c is zero without any noise."""
    limits = program.basis.shape[0]
    left = program.x[c] if c < limits else key_weight(program, program.owner[c - limits])
    return bool(left <= FEASIBLE and result.fixed[c] == 0.0 and not np.any(result.term[c] > 0.0))


@compiled
def settle_basic(program: SegmentProgram, result: Conditions) -> None:
    """Basic columns have a weight for their gap, and none of the dual terms."""
    limits = program.basis.shape[0]
    for s in range(program.key.shape[0]):
        set_basic(program.key[s], key_weight(program, s), result)
    for i in range(limits):
        set_basic(program.basis[i], program.x[i], result)


@compiled
def set_basic(j: int, weight: float, result: Conditions) -> None:
    """Make the condition of column j that of its weight."""
    result.gap[j], result.own[j], result.harmless[j] = max(weight, 0.0), 0.0, False
    result.coefficient[j] = 0.0


@compiled
def variances(program: SegmentProgram, conditions: Conditions, counts: Floats, result: Floats) -> None:
    """Write the variance of each condition's gap with so many trials of each column (n,) into ``result`` (N,)."""
    own, coefficient, slot = conditions.own, conditions.coefficient, conditions.slot
    row, term, n = conditions.row, conditions.term, program.segment.shape[0]
    for j in range(own.shape[0]):
        total = own[j] / counts[j] if own[j] > 0.0 else 0.0
        if row[j] >= 0:
            total += conditions.fixed[row[j]]
            for k in range(n):
                if term[row[j], k] > 0.0:
                    total += term[row[j], k] / counts[k]
        for c in range(slot.shape[0]):
            if coefficient[j, c] > 0.0:
                total += coefficient[j, c] / counts[slot[c]]
        if coefficient[j, slot.shape[0]] > 0.0:
            total += coefficient[j, slot.shape[0]] / counts[program.key[program.segment[j]]]
        result[j] = total


@compiled
def z_scores(program: SegmentProgram, conditions: Conditions, counts: Floats) -> Floats:
    """Distance of each condition from failing, in standard errors (N,); infinite where it cannot fail."""
    result = np.empty(conditions.gap.shape[0])
    variances(program, conditions, counts, result)
    for j in range(result.shape[0]):
        result[j] = conditions.gap[j] / math.sqrt(result[j]) if result[j] > 0.0 else np.inf
    return result


@compiled
def chance(program: SegmentProgram, conditions: Conditions, counts: Floats) -> float:
    """Product of the chances that each condition holds, but for those that do not change the answer."""
    z = z_scores(program, conditions, counts)
    result = 1.0
    for j in range(z.shape[0]):
        if not conditions.harmless[j]:
            result *= 0.5 * math.erfc(-z[j] / math.sqrt(2.0))
    return result
