"""Two costs: a basis is three columns whose cone in the plane holds the origin.

Seen from one column ``a`` the others lie on two sides of its line. A column on one side and one on the
other complete a basis when the cone of the three holds the origin; with entries divided by the
distance from the line, that and the value of the triple are sums of one term from each side.
"""

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels.columns import Program
from bestmix.kernels.jit import borrowing, compiled

ZERO = 1e-11  # entries of scaled columns below this count as zero, after elimination too
SIGN = 1e-12  # a weight above minus this counts as not negative
FEW = 16  # up to this many columns looking at every triple is cheaper than the linear program
SOME = 64  # up to this many evaluating one column exactly is cheaper than improving its bound


@compiled
def space(columns: int) -> int:
    """Blocks of 4 rows of ``columns`` entries that ``all_values`` needs."""
    return min(columns, FEW) // 4 + 2


@borrowing
def to_one(u: Floats, j: int) -> float:
    """Scale that brings column j to size one: beside an outlier even a tiny column keeps its sign."""
    size = max(abs(u[j, 0]), abs(u[j, 1]))
    return 1.0 / size if size > 0.0 else 1.0


@borrowing
def all_values(program: Program, space: Floats, score: Floats) -> bool:
    """Score each column by its best triple; False, and minus infinity for all, when none is feasible.

    The weights of i, j, k are the cross products of the other two, if they have one sign.
    """
    mu, u, e = program
    n = mu.shape[0]
    flat = space.reshape(-1)
    gain, part, x, y = flat[:n], flat[n : 2 * n], flat[2 * n : 3 * n], flat[3 * n : 4 * n]
    cross = flat[4 * n : (n + 4) * n].reshape((n, n))
    for i in range(n):
        scale = to_one(u, i)
        score[i], gain[i], part[i] = -np.inf, scale * mu[i], scale * e[i]
        x[i], y[i] = scale * u[i, 0], scale * u[i, 1]
        row = cross[i]
        for j in range(i):
            row[j] = x[i] * y[j] - y[i] * x[j]
    highest = -np.inf
    for i in range(n):
        for j in range(i):
            c, top = cross[i, j], -np.inf
            up, down = c >= -SIGN, c <= SIGN
            from_i, from_j = cross[i], cross[j]
            for k in range(j):  # without branches, which a processor cannot guess
                a, b = from_j[k], -from_i[k]
                low, high = (a, b) if a < b else (b, a)
                total = a * part[i] + b * part[j] + c * part[k]
                value = (a * gain[i] + b * gain[j] + c * gain[k]) / total
                fits = ((up & (low >= -SIGN)) | (down & (high <= SIGN))) & (abs(total) > ZERO)
                value = value if fits else -np.inf
                score[k] = value if value > score[k] else score[k]
                top = value if value > top else top
            score[i], score[j] = max(score[i], top), max(score[j], top)
            highest = max(highest, top)
    return bool(highest > -np.inf)


@borrowing
def best_through(a: int, program: Program, space: Floats, enough: float, basis: Integers) -> float:
    """Best value of a triple that contains column ``a``; as ``bases.best_through``."""
    mu, u, e = program
    n = mu.shape[0]
    along, net, share, column = space[0, 0], space[0, 1], space[0, 2], space[0, 3]
    scale = to_one(u, a)
    ax, ay, gain, total = scale * u[a, 0], scale * u[a, 1], scale * mu[a], scale * e[a]
    size = ax * ax + ay * ay
    basis[0] = -1
    if size == 0.0:
        return float(gain)
    bx, by = ax / size, ay / size
    highest = -np.inf
    left, right = 0, n  # columns on one side of the line fill the arrays from the left, the others from the right
    # Column j is p times column a plus q times the normal of a's line.
    for j in range(n):
        if j == a:
            continue
        scale = to_one(u, j)
        ux, uy = scale * u[j, 0], scale * u[j, 1]
        q, p = bx * uy - by * ux, bx * ux + by * uy
        more, part = scale * mu[j] - p * gain, scale * e[j] - p * total
        if abs(q) <= ZERO:
            if p <= SIGN and part > ZERO:
                highest = max(highest, more / part)
            continue
        k = left if q > 0.0 else right - 1
        left, right = (left + 1, right) if q > 0.0 else (left, right - 1)
        inverse = 1.0 / abs(q)
        along[k] = (p - SIGN * (1.0 + abs(p))) * inverse
        net[k], share[k], column[k] = more * inverse, part * inverse, j
    # Most pairs are no better than the best so far, which is seen without a division.
    for i in range(left):
        p, more, part = along[i], net[i], share[i]
        for k in range(right, n):
            if (p + along[k] <= 0.0) & (more + net[k] > highest * (part + share[k])):
                highest = (more + net[k]) / (part + share[k])
                basis[0], basis[1], basis[2] = a, int(column[i]), int(column[k])
        if highest > enough:
            break
    return float(highest)


@borrowing
def lift(program: Program, inverse: Floats, price: Floats, score: Floats) -> None:
    """Raise each column's score to the value of the basis that it enters with one pivot.

    The ``inverse`` is that of a feasible basis, with its prices; as ``scores.neighbours``.
    """
    mu, u, e = program
    value = price[2]
    x0, x1, x2 = max(inverse[0, 2], 0.0), max(inverse[1, 2], 0.0), max(inverse[2, 2], 0.0)
    for j in range(mu.shape[0]):
        first, second, third = u[j, 0], u[j, 1], e[j]
        y0 = inverse[0, 0] * first + inverse[0, 1] * second + inverse[0, 2] * third
        y1 = inverse[1, 0] * first + inverse[1, 1] * second + inverse[1, 2] * third
        y2 = inverse[2, 0] * first + inverse[2, 1] * second + inverse[2, 2] * third
        d = mu[j] - price[0] * first - price[1] * second - price[2] * third
        step = min(
            x0 / y0 if y0 > ZERO else np.inf,
            min(x1 / y1 if y1 > ZERO else np.inf, x2 / y2 if y2 > ZERO else np.inf),
        )
        if step < np.inf:
            score[j] = max(score[j], value + step * d)
