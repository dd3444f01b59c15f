"""Two costs: the column to reject in a round, from the triples that the round before has found.

From one round to the next trials change the columns a little, and one column is gone, which was in none of the best
triples of the others: so the best triple of a column is mostly the same as before, and otherwise its value still bounds
the column's score from below. The column with the lowest bound is evaluated over all of its triples, until the lowest
score is exact. The first round takes the triples that are one pivot away from the optimal basis.

All of the work is in one array, in rows of a fixed length: a compiler then sees that rows do not overlap, and computes
several columns at a time.
"""

from typing import NamedTuple

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import scores, simplex
from bestmix.kernels.columns import Program
from bestmix.kernels.jit import borrowing, compiled, inlined
from bestmix.kernels.simplex import Basis
from bestmix.kernels.triples import FEW, SIGN, SOME, ZERO, to_one

LEAST_WEIGHT = 1e-6  # weights of a triple of columns of size one that no rounding makes
BLOCK = 8  # pairs that are looked at together
ROW = SOME + BLOCK
MASK = SOME - 1  # leaves a position as it is, and tells the compiler that it is not negative
# Columns brought to size one: reward, arm or slack, and the two costs; bounds of the scores that are not exact.
GAIN, PART, X, Y, OPEN = 0 * ROW, 1 * ROW, 2 * ROW, 3 * ROW, 4 * ROW
# Seen from one column: distance from its line, and by that distance weight on the column, net reward, net share.
ACROSS, ALONG, NET, SHARE = 5 * ROW, 6 * ROW, 7 * ROW, 8 * ROW
# The same, with the columns on one side of the line in the first half and those on the other in the second.
SIDE_ALONG, SIDE_NET, SIDE_SHARE, SIDE_COLUMN = 9 * ROW, 11 * ROW, 13 * ROW, 15 * ROW
OTHER_ALONG, OTHER_NET, OTHER_SHARE, OTHER_COLUMN = 10 * ROW, 12 * ROW, 14 * ROW, 16 * ROW
ROWS = 17


class Incumbents(NamedTuple):
    """The best triples found so far, and space.

    Attributes
    ----------
    triple
        Positions of the three columns for each column (3, SOME); below zero first where none is known.
    work
        Space (ROWS times ROW,).
    """

    triple: Integers
    work: Floats


@compiled
def new_incumbents() -> Incumbents:
    """None so far."""
    return Incumbents(np.full((3, SOME), -1), np.zeros(ROWS * ROW))


@inlined
def forget(incumbents: Incumbents) -> None:
    """No triple is known."""
    incumbents.triple[0, 0] = -1


@borrowing
def drop(column: int, size: int, incumbents: Incumbents) -> None:
    """Take a column out of so many: a triple that had it gets one beside it instead, whose value is a bound as well."""
    triple, last = incumbents.triple, size - 2
    if triple[0, 0] < 0:
        return
    for i in range(3):
        row = triple[i]
        for j in range(column, size - 1):
            row[j] = row[j + 1]
        for j in range(size - 1):
            row[j] = min(row[j] - (row[j] > column), last)


@inlined
def worthwhile(program: Program, incumbents: Incumbents) -> bool:
    """Whether there are known triples, or finding them is cheaper than looking at all: for up to SOME columns."""
    n = program.mu.shape[0]
    return bool(program.u.shape[1] == 2 and n <= SOME and (n > FEW or incumbents.triple[0, 0] >= 0))


@borrowing
def loser(program: Program, basis: Basis, trial: Basis, score: Floats, incumbents: Incumbents) -> int:
    """Position of the column to reject by intersection values, as ``scores.loser`` has it; -1 where no mix is feasible.

    Only the lowest scores are exact. Where no known triple is a basis, the linear program gives the first ones.
    """
    n, work = program.mu.shape[0], incumbents.work
    bring_to_one(program, work)
    if incumbents.triple[0, 0] < 0 or not revalue(n, score, incumbents):
        if simplex.maximise(program, basis) != simplex.OPTIMAL:
            forget(incumbents)
            return scores.NOBODY
        enter(program, basis, incumbents.triple)
        revalue(n, score, incumbents)
    found, lowest, second, limit = scores.NOBODY, np.inf, np.inf, np.inf
    for _ in range(n):
        j = lowest_open(n, work)
        if work[OPEN + j] > limit:
            break
        value = evaluate(j, n, score, incumbents)
        if value < lowest:
            found, lowest, second = j, value, lowest
            limit = value + scores.TIE * (1.0 + abs(value)) if abs(value) < np.inf else value
        else:
            second = min(second, value)
    return found if second > limit else scores.loser_with(trial, program, score)


@borrowing
def bring_to_one(program: Program, work: Floats) -> None:
    """Columns brought to size one."""
    mu, u, e = program
    n = mu.shape[0]
    for j in range(n):
        scale = to_one(u, j)
        work[GAIN + j], work[PART + j] = scale * mu[j], scale * e[j]
        work[X + j], work[Y + j] = scale * u[j, 0], scale * u[j, 1]


@borrowing
def enter(program: Program, basis: Basis, triple: Integers) -> None:
    """For each column the triple that it enters with one pivot from a feasible basis."""
    u, e, column, inverse = program.u, program.e, basis.column, basis.work
    for j in range(e.shape[0]):
        least, leaves = np.inf, 0
        for i in range(3):
            y = inverse[i, 0] * u[j, 0] + inverse[i, 1] * u[j, 1] + inverse[i, 2] * e[j]
            ratio = max(inverse[i, 2], 0.0) / y if y > ZERO else np.inf
            least, leaves = (ratio, i) if ratio < least else (least, leaves)
        for i in range(3):
            triple[i, j] = j if i == leaves else column[i]


@borrowing
def revalue(n: int, score: Floats, incumbents: Incumbents) -> bool:
    """Values of the known triples as bounds of the scores; minus infinity where one is not clearly feasible.

    False where none is.
    """
    triple, w = incumbents
    some = 0
    for j in range(n):
        p, q, r = triple[0, j] & MASK, triple[1, j] & MASK, triple[2, j] & MASK
        a = w[X + q] * w[Y + r] - w[Y + q] * w[X + r]
        b = w[X + r] * w[Y + p] - w[Y + r] * w[X + p]
        c = w[X + p] * w[Y + q] - w[Y + p] * w[X + q]
        value = (a * w[GAIN + p] + b * w[GAIN + q] + c * w[GAIN + r]) / (
            a * w[PART + p] + b * w[PART + q] + c * w[PART + r]
        )
        clear = ((a > LEAST_WEIGHT) & (b > LEAST_WEIGHT) & (c > LEAST_WEIGHT)) | (
            (a < -LEAST_WEIGHT) & (b < -LEAST_WEIGHT) & (c < -LEAST_WEIGHT)
        )
        value = value if clear else -np.inf
        score[j], w[OPEN + j] = value, value
        some += clear
    return some > 0


@borrowing
def lowest_open(n: int, work: Floats) -> int:
    """Position of the lowest bound."""
    low, found = np.inf, 0
    for j in range(n):
        value = work[OPEN + j]
        low, found = (value, j) if value < low else (low, found)
    return found


@borrowing
def evaluate(a: int, n: int, score: Floats, incumbents: Incumbents) -> float:
    """Make the score of column ``a`` exact; the columns of its best triple have their bounds raised to it."""
    triple, w = incumbents
    highest, first, second = best_through(a, n, w, score[a])
    score[a], w[OPEN + a] = highest, np.inf
    if first >= 0:
        triple[0, a], triple[1, a], triple[2, a] = a, first, second
        for j in (first, second):
            if w[OPEN + j] < highest:
                score[j], w[OPEN + j] = highest, highest
                triple[0, j], triple[1, j], triple[2, j] = a, first, second
    return float(highest)


@borrowing
def best_through(a: int, n: int, w: Floats, known: float) -> tuple[float, int, int]:
    """Best value of a triple that contains column ``a``, and the other two if it is above the ``known`` one, or -1.

    As ``triples.best_through``.
    """
    ax, ay, gain, part = w[X + a], w[Y + a], w[GAIN + a], w[PART + a]
    size = ax * ax + ay * ay
    if size == 0.0:
        return float(gain), -1, -1
    bx, by = ax / size, ay / size
    on_line = 0
    for j in range(n):
        q, p = bx * w[Y + j] - by * w[X + j], bx * w[X + j] + by * w[Y + j]
        inverse, beside = 1.0 / abs(q), abs(q) > ZERO
        w[ACROSS + j] = q
        along = (p - SIGN * (1.0 + abs(p))) * inverse
        w[ALONG + j] = along if beside else np.inf
        w[NET + j] = (w[GAIN + j] - p * gain) * inverse
        w[SHARE + j] = (w[PART + j] - p * part) * inverse
        on_line += abs(q) <= ZERO
    highest = known if on_line == 1 else max(known, on_the_line(a, n, w))
    left, right = 0, 0
    for j in range(n):  # without branches, which a processor cannot guess
        first = w[ACROSS + j] > ZERO
        k = ROW + right + first * (left - right - ROW)
        left, right = left + first, right + 1 - first
        w[SIDE_ALONG + k], w[SIDE_NET + k], w[SIDE_SHARE + k] = w[ALONG + j], w[NET + j], w[SHARE + j]
        w[SIDE_COLUMN + k] = j
    for k in range(BLOCK):
        w[OTHER_ALONG + right + k] = np.inf
    one, other = -1, -1
    for i in range(left):
        p, net, share = w[SIDE_ALONG + i], w[SIDE_NET + i], w[SIDE_SHARE + i]
        better = 0
        for k in range(padded(right)):
            better += (p + w[OTHER_ALONG + k] <= 0.0) & (
                net + w[OTHER_NET + k] > highest * (share + w[OTHER_SHARE + k])
            )
        if better > 0:
            for k in range(right):
                if (p + w[OTHER_ALONG + k] <= 0.0) & (net + w[OTHER_NET + k] > highest * (share + w[OTHER_SHARE + k])):
                    highest = (net + w[OTHER_NET + k]) / (share + w[OTHER_SHARE + k])
                    one, other = int(w[SIDE_COLUMN + i]), int(w[OTHER_COLUMN + k])
    return float(highest), one, other


@inlined
def padded(n: int) -> int:
    """The next multiple of BLOCK."""
    return (n + BLOCK - 1) // BLOCK * BLOCK


@borrowing
def on_the_line(a: int, n: int, w: Floats) -> float:
    """Best value of a mix of column ``a`` and one opposite to it, whatever the third of the triple is."""
    ax, ay, gain, part = w[X + a], w[Y + a], w[GAIN + a], w[PART + a]
    size = ax * ax + ay * ay
    highest = -np.inf
    for j in range(n):
        p = (ax * w[X + j] + ay * w[Y + j]) / size
        share = w[PART + j] - p * part
        if j != a and abs(w[ACROSS + j]) <= ZERO and p <= SIGN and share > ZERO:
            highest = max(highest, (w[GAIN + j] - p * gain) / share)
    return highest
