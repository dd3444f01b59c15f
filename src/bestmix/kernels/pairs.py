"""One cost: a basis is a pair of columns on opposite sides of the bound.

The weights of a pair are the opposite distances |u|. So with mu and e divided by |u| a pair's value is
the ratio of two sums. A column at the bound (u = 0) is the whole mix, whatever its partner.
"""

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels.columns import Program
from bestmix.kernels.jit import borrowing

FEW = 40  # up to this many columns looking at every pair is cheaper than the linear program


@borrowing
def best(program: Program, basis: Integers) -> bool:
    """Write the best pair into ``basis`` (2,); False when none is feasible, or a column at the bound is best.

    The partner of a column at the bound decides the shadow price, and that takes the simplex.
    """
    mu, u, e = program
    n = mu.shape[0]
    highest, at_bound = -np.inf, False
    basis[0] = -1
    for i in range(n):
        ui, gain, total = u[i, 0], mu[i], e[i]
        if ui == 0.0:
            if gain >= highest:
                highest, at_bound = gain, True
        elif ui < 0.0:
            for j in range(n):
                if u[j, 0] > 0.0:
                    value = (u[j, 0] * gain - ui * mu[j]) / (u[j, 0] * total - ui * e[j])
                    if value > highest:
                        highest, at_bound = value, False
                        basis[0], basis[1] = i, j
    if at_bound:
        basis[0] = -1
    return bool(basis[0] >= 0)


@borrowing
def all_values(program: Program, space: Floats, score: Floats) -> bool:
    """Score each column by its best pair; False, and minus infinity for all, when none is feasible.

    ``space`` is (at least 3, 3, n).
    """
    mu, u, e = program
    n = mu.shape[0]
    left, right, best = space[0], space[1], space[2, 0]
    below, above, at_bound = 0, 0, -np.inf
    for j in range(n):
        score[j] = -np.inf
        size = 1.0 / abs(u[j, 0])  # infinite at the bound, where it is not used
        if u[j, 0] == 0.0:
            at_bound = max(at_bound, mu[j])
        elif u[j, 0] < 0.0:
            left[0, below], left[1, below], left[2, below] = mu[j] * size, e[j] * size, j
            below += 1
        else:
            right[0, above], right[1, above], right[2, above] = mu[j] * size, e[j] * size, j
            above += 1
    if below + above == 0 or (at_bound == -np.inf and (below == 0 or above == 0)):
        return False
    for k in range(above):
        best[k] = at_bound
    for i in range(below):
        gain, total, highest = left[0, i], left[1, i], at_bound
        for k in range(above):
            value = (gain + right[0, k]) / (total + right[1, k])
            best[k] = max(best[k], value)
            highest = max(highest, value)
        score[int(left[2, i])] = highest
    for k in range(above):
        score[int(right[2, k])] = best[k]
    if at_bound > -np.inf:
        for j in range(n):
            if u[j, 0] == 0.0:
                score[j] = mu[j]
    return True


@borrowing
def best_through(a: int, program: Program, values: Floats, basis: Integers) -> float:
    """Best value of a pair that contains column ``a``; as ``bases.best_through``. ``values`` is (n,) of space."""
    mu, u, e = program
    n, size = u.shape[0], abs(u[a, 0])
    if size == 0.0:
        value: float = mu[a]
        return value
    sign = 1.0 if u[a, 0] > 0.0 else -1.0
    gain, total = mu[a], e[a]
    for j in range(n):  # without a branch on the side, which a processor cannot guess
        opposite = -sign * u[j, 0]
        ratio = (opposite * gain + size * mu[j]) / (opposite * total + size * e[j])
        values[j] = ratio if opposite >= 0.0 else -np.inf
    first, second, third, fourth = -np.inf, -np.inf, -np.inf, -np.inf
    for j in range(0, n - 3, 4):
        first, second = max(first, values[j]), max(second, values[j + 1])
        third, fourth = max(third, values[j + 2]), max(fourth, values[j + 3])
    best = max(max(first, second), max(third, fourth))
    for j in range(n - n % 4, n):
        best = max(best, values[j])
    basis[0], basis[1] = -1, a
    for j in range(n):
        if values[j] == best and best > -np.inf:
            basis[0] = j if u[j, 0] != 0.0 else -1
            break
    return best


@borrowing
def lift(partner: int, program: Program, score: Floats) -> None:
    """L = 1: raise each score to the value of the basis that the column forms with ``partner``."""
    mu, u, e = program
    size = abs(u[partner, 0])
    sign = 1.0 if u[partner, 0] > 0.0 else -1.0
    gain, total = mu[partner], e[partner]
    if size == 0.0:
        for j in range(mu.shape[0]):
            if u[j, 0] != 0.0:
                score[j] = max(score[j], gain)
        return
    for j in range(mu.shape[0]):
        opposite = -sign * u[j, 0]
        if opposite >= 0.0:
            value = (opposite * gain + size * mu[j]) / (opposite * total + size * e[j])
            score[j] = max(score[j], value)
