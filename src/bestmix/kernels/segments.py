"""The linear program of segments that share limits: its columns, scaled, and what its solution says.

Maximise sum_j mu_j x_j over x >= 0, where the columns of segment s have a total of w_s (its share of all users) and

    sum_j x_j rows_jr <= right_r        for each limit r that couples the columns (or = for an equality)

One segment of weight 1 with rows = cost - bound and right = 0 is the program of ``columns.py``. A limit of one
segment has zeros elsewhere. Write limits as rows = value - bound with right = 0 where possible: the arithmetic is
then about the differences that matter.

Columns have numbers: the n columns of segments first, in order of segments; then the slack n + r of each limit;
n + R + r, by how much limit r is exceeded; n + 2 R + r, by how much an equality is missed from below. The last two
kinds are elastic: they are in use only when no mix keeps all limits, and then as little as possible in total, each
in units of the largest entry of its row.

A basis has R + S columns: a key column for each segment, and R others in any segment or none
(generalised upper bounding). Only the inverse of the R limits is kept; ``bounding.py`` works on it.

Whatever finite numbers come in, scaled columns and the reciprocals of their scale are finite, as in ``columns.py``.
"""

from typing import NamedTuple

import numpy as np

from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels.columns import LARGEST, NEGLIGIBLE, SMALLEST, middle_and_spread
from bestmix.kernels.jit import compiled

PENALTY = 1e6  # price of an elastic column, in units of the reward spread
LARGEST_RIGHT = 1e100  # a right side beyond this, in units of its row, is as good as any: no mix comes near it


class SegmentProgram(NamedTuple):
    """The program of n columns in S segments with R limits, and a basis of it.

    Attributes
    ----------
    mu, rows
        Scaled objective (n,) and entries (n, R).
    start, segment
        Segment s has the columns start[s] to start[s + 1] - 1, (S + 1,); the segment of each column (n,).
    right, weight, equality
        Right sides (R,) in the scale of their rows, weights of segments (S,), which limits are equalities (R,).
    scale
        Middle and spread of the objective, then the largest entry of each row: (2 + R,).
    key, basis, owner, inverse
        Key columns (S,), the other basic columns (R,) with their segments (-1 for none), and the inverse (R, R) of
        their entries less those of the key column of their segment. A key below zero asks for a cold start.
    residual, x
        Right sides less what the key columns use (R,), and the weights of ``basis`` (R,).
    price, missing, direction, entries
        Prices of the limits (R,) in scaled units; their prices in elastic units, zero when feasible; scratch.
    """

    mu: Floats
    rows: Floats
    start: Integers
    segment: Integers
    right: Floats
    weight: Floats
    equality: Flags
    scale: Floats
    key: Integers
    basis: Integers
    owner: Integers
    inverse: Floats
    residual: Floats
    x: Floats
    price: Floats
    missing: Floats
    direction: Floats
    entries: Floats


@compiled
def new_program(sizes: Integers, limits: int) -> SegmentProgram:
    """Arrays for segments with so many columns each and so many limits; the basis is to be found."""
    segments, n = sizes.shape[0], int(np.sum(sizes))
    start, segment = np.zeros(segments + 1, dtype=np.int64), np.empty(n, dtype=np.int64)
    for s in range(segments):
        start[s + 1] = start[s] + sizes[s]
        segment[start[s] : start[s + 1]] = s
    return SegmentProgram(
        np.empty(n),
        np.empty((n, limits)),
        start,
        segment,
        np.empty(limits),
        np.empty(segments),
        np.zeros(limits, dtype=np.bool_),
        np.empty(2 + limits),
        np.full(segments, -1),
        np.full(limits, -1),
        np.full(limits, -1),
        np.empty((limits, limits)),
        np.empty(limits),
        np.zeros(limits),
        np.zeros(limits),
        np.zeros(limits),
        np.empty(limits),
        np.empty(limits),
    )


@compiled
def load(program: SegmentProgram, mu: Floats, rows: Floats, right: Floats, weight: Floats) -> None:
    """Write these unscaled numbers into the program, scaled; the basis stays for a warm start."""
    program.weight[:] = weight
    program.scale[0], program.scale[1] = rescale(mu, program.mu)
    for r in range(right.shape[0]):
        largest = 0.0
        for j in range(mu.shape[0]):
            size = abs(rows[j, r])
            largest = size if size > largest else largest
        program.scale[2 + r] = min(largest, LARGEST) if largest >= SMALLEST else 1.0
        copy_row(rows, program.rows, r, 1.0 / program.scale[2 + r])
        program.right[r] = max(-LARGEST_RIGHT, min(right[r] / program.scale[2 + r], LARGEST_RIGHT))


@compiled
def rescale(mu: Floats, result: Floats) -> tuple[float, float]:
    """Write the objective into ``result`` so that it fills [-1, 1]; returns its middle and its spread."""
    middle, spread = middle_and_spread(mu, mu.shape[0])
    for j in range(mu.shape[0]):
        result[j] = (mu[j] - middle) / spread
    return middle, spread


@compiled
def copy_row(rows: Floats, result: Floats, r: int, unit: float) -> None:
    """Write row r, multiplied, into ``result``; what overflowed is as large as floats can be."""
    for j in range(rows.shape[0]):
        entry = max(-LARGEST, min(rows[j, r], LARGEST)) * unit
        result[j, r] = 0.0 if abs(entry) < NEGLIGIBLE else entry


@compiled
def is_elastic(program: SegmentProgram, j: int) -> bool:
    """Whether column j measures by how much a limit fails."""
    n, limits = program.rows.shape
    return bool(j >= n + limits)


@compiled
def segment_of(program: SegmentProgram, j: int) -> int:
    """Segment of column j; -1 for slacks and elastic columns."""
    return int(program.segment[j]) if j < program.segment.shape[0] else -1


@compiled
def key_weight(program: SegmentProgram, s: int) -> float:
    """Weight of the key column of a segment: what its other basic columns leave."""
    owner, x = program.owner, program.x
    rest = float(program.weight[s])
    for i in range(owner.shape[0]):
        if owner[i] == s:
            rest -= x[i]
    return rest


@compiled
def weights(program: SegmentProgram, result: Floats) -> None:
    """Write the weight of every column of segments into ``result`` (n,)."""
    result[:] = 0.0
    for s in range(program.key.shape[0]):
        result[program.key[s]] = program.weight[s]
    for i in range(program.basis.shape[0]):
        s = program.owner[i]
        if s >= 0:
            result[program.basis[i]] = max(program.x[i], 0.0)
            result[program.key[s]] = max(result[program.key[s]] - program.x[i], 0.0)


@compiled
def excess(program: SegmentProgram, result: Floats) -> None:
    """Write by how much each limit fails, in its own unit, into ``result`` (R,); a shortfall is negative."""
    n, limits = program.rows.shape
    result[:] = 0.0
    for i in range(limits):
        if is_elastic(program, program.basis[i]):
            kind, r = divmod(program.basis[i] - n, limits)
            result[r] = (1.0 if kind == 1 else -1.0) * max(program.x[i], 0.0) * program.scale[2 + r]


@compiled
def value(program: SegmentProgram) -> float:
    """The objective of the current mix, in its own unit."""
    total = 0.0
    for s in range(program.key.shape[0]):
        key = program.key[s]
        total += program.weight[s] * (program.scale[0] + program.scale[1] * program.mu[key])
    for i in range(program.basis.shape[0]):
        s = program.owner[i]
        if s >= 0:
            total += program.x[i] * program.scale[1] * (program.mu[program.basis[i]] - program.mu[program.key[s]])
    return total


@compiled
def prices(program: SegmentProgram, result: Floats) -> None:
    """Write what one more unit of each right side would add to the objective into ``result`` (R,)."""
    for r in range(result.shape[0]):
        result[r] = program.price[r] * program.scale[1] / program.scale[2 + r]
