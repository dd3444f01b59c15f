"""The mix where a weight of the basis reaches zero, which is where the answer would change.

The other basic columns take over its weight so that all rows that hold whatever the noise is (the segments' totals, the
limits on shares and the flow between states) still do: p = x + x_i t with E t = E_i, E the entries in these rows, and
sum_k t_k^2 / x_k as small as possible. With one segment and no limits on shares that is p = x / (1 - x_i). Where a flow
would need less than no weight of some column, that one goes as well.
"""

import numpy as np

from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels.jit import compiled
from bestmix.kernels.segments import SegmentProgram, key_weight, segment_of

RANK = 1e-12  # a pivot below this share of the largest one counts as zero
MISMATCH = 1e-9  # rows that hold up to this hold


@compiled
def boundary_weights(program: SegmentProgram, known: Flags, slot: Integers, c: int, mix: Floats) -> bool:
    """Change ``mix`` (n,) to the one where the weight of slot c is zero; False where the known rows forbid it.

    Slots are the basic columns that are no keys (R), then the keys of their segments (R), -1 for none.
    """
    n, size = mix.shape[0], slot.shape[0]
    entries, left, matrix = np.zeros((size, size)), np.zeros(size), np.zeros((size, size))
    for k in range(size):
        if slot[k] >= 0:
            set_known_entries(program, known, slot, slot[k], entries[k])
            left[k] = max(slot_weight(program, k), 0.0)
    for k in range(size):
        if k != c and left[k] > 0.0:
            add_square(left[k], entries[k], matrix)
    price = entries[c].copy()
    if not solve(matrix, price):
        return False
    price *= left[c]
    if np.any(known & program.equality) and not without_debts(entries, left, c, matrix, price):
        return False
    for k in range(size):
        if 0 <= slot[k] < n:
            mix[slot[k]] = 0.0 if k == c else left[k] * (1.0 + np.sum(entries[k] * price))
    return True


@compiled
def without_debts(entries: Floats, left: Floats, c: int, matrix: Floats, price: Floats) -> bool:
    """Make ``price`` one at which no column has a weight below zero; False where there is none.

    In a flow between states the only action of a state cannot vanish, unless others would go there less than never.
    Columns that would are taken out as c is, one after another, from ``left`` and from the ``matrix`` of the others.
    """
    gone = left[c] * entries[c]
    for _ in range(left.shape[0]):
        worst, found = -MISMATCH, -1
        for k in range(left.shape[0]):
            weight = left[k] * (1.0 + np.sum(entries[k] * price)) if k != c else 0.0
            if weight < worst:
                worst, found = weight, k
        if found < 0:
            return True
        gone += left[found] * entries[found]
        add_square(-left[found], entries[found], matrix)
        left[found] = 0.0
        price[:] = gone
        if not solve(matrix, price):
            return False
    return False


@compiled
def add_square(weight: float, entries: Floats, matrix: Floats) -> None:
    """Add a column's entries times themselves to a matrix."""
    for a in range(entries.shape[0]):
        if entries[a] != 0.0:
            matrix[a] += weight * entries[a] * entries


@compiled
def slot_weight(program: SegmentProgram, c: int) -> float:
    """Weight of the column of a slot."""
    limits = program.basis.shape[0]
    return float(program.x[c]) if c < limits else key_weight(program, program.owner[c - limits])


@compiled
def set_known_entries(program: SegmentProgram, known: Flags, slot: Integers, j: int, result: Floats) -> None:
    """Entries of column j in the known rows: the total of each segment that has a slot, then the known limits."""
    n, limits = program.rows.shape
    for r in range(limits):
        same = segment_of(program, j) == program.owner[r]
        result[r] = 1.0 if slot[limits + r] >= 0 and same else 0.0
        result[limits + r] = 0.0
        if known[r] and j < n:
            result[limits + r] = program.rows[j, r]
        elif known[r] and (j - n) % limits == r:
            result[limits + r] = -1.0 if (j - n) // limits == 1 else 1.0


@compiled
def solve(matrix: Floats, vector: Floats) -> bool:
    """Solve matrix z = vector for a positive semidefinite matrix, z in place of ``vector``; False if there is no z."""
    size = vector.shape[0]
    reduced, wanted = matrix.copy(), vector.copy()
    done, largest = np.zeros(size, dtype=np.bool_), 0.0
    for i in range(size):
        largest = max(largest, matrix[i, i])
    for _ in range(size):
        p = -1
        for i in range(size):
            if not done[i] and reduced[i, i] > RANK * largest and (p < 0 or reduced[i, i] > reduced[p, p]):
                p = i
        if p < 0:
            break
        done[p] = True
        for i in range(size):
            factor = reduced[i, p] / reduced[p, p]
            if i != p and factor != 0.0:
                reduced[i] -= factor * reduced[p]
                vector[i] -= factor * vector[p]
    for i in range(size):
        vector[i] = vector[i] / reduced[i, i] if done[i] else 0.0
    for i in range(size):
        if abs(np.sum(matrix[i] * vector) - wanted[i]) > MISMATCH:
            return False
    return True
