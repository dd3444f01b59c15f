"""The simplex on many columns: solve over a small working set, price the rest, add, repeat."""

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import simplex
from bestmix.kernels.columns import Program, part, pick
from bestmix.kernels.jit import compiled, plain
from bestmix.kernels.simplex import Basis

SMALL = 512  # up to this many columns the simplex prices them all itself
BLOCKS = 8  # columns added in a pass, per row


@compiled
def maximise(program: Program, basis: Basis) -> int:
    """As ``simplex.maximise`` from a cold start, for any number of columns."""
    n, column = program.e.shape[0], basis.column
    simplex.forget(basis)
    if n <= SMALL:
        return simplex.maximise(program, basis)
    chosen = np.empty(n, dtype=np.int64)
    taken = np.zeros(n, dtype=np.bool_)
    size = first_set(program, chosen, taken)
    while True:
        status = simplex.maximise(pick(program, chosen[:size]), basis)
        if status > simplex.INFEASIBLE:
            break
        phase = simplex.VIOLATION if status == simplex.INFEASIBLE else simplex.VALUE
        added = add_best(program, simplex.prices(basis), phase, chosen, taken, size)
        if added == size:
            break
        size = added
    for i in range(column.shape[0]):
        if column[i] >= 0:
            column[i] = chosen[column[i]]
    return status


@compiled
def first_set(program: Program, chosen: Integers, taken: np.ndarray) -> int:
    """All slacks, the arms that are extreme in reward or in a cost, and a spread of the others."""
    mu, u, e = program
    n, costs = u.shape
    size = 0
    best = np.full(costs + 1, -1)
    for j in range(n):
        if e[j] == 0.0:
            chosen[size], taken[j], size = j, True, size + 1
        else:
            if best[costs] < 0 or mu[j] > mu[best[costs]]:
                best[costs] = j
            for l in range(costs):
                if best[l] < 0 or u[j, l] < u[best[l], l]:
                    best[l] = j
    stride = max(n // (SMALL // 2), 1)
    for k in range(costs + 1 + n // stride):
        j = best[k] if k <= costs else (k - costs - 1) * stride
        if j >= 0 and not taken[j]:
            chosen[size], taken[j], size = j, True, size + 1
    return size


@compiled
def add_best(program: Program, price: Floats, phase: float, chosen: Integers, taken: np.ndarray, size: int) -> int:
    """Add the best-priced column of each block of columns; returns the new size of the set."""
    n, m = program.e.shape[0], price.shape[0]
    width = max(n // (BLOCKS * m), 1)
    for start in range(0, n, width):
        stop = min(start + width, n)
        j = simplex.entering(part(program, start, stop), price, phase, plain(simplex.STEEPEST))
        if j >= 0 and not taken[start + j]:
            chosen[size], taken[start + j], size = start + j, True, size + 1
    return size
