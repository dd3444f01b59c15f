"""The simplex on many columns: solve over a small working set, price the rest, add, repeat."""

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import simplex
from bestmix.kernels.jit import compiled

SMALL = 512  # up to this many columns the simplex prices them all itself
BLOCKS = 8  # columns added in a pass, per row


@compiled
def maximise(mu: Floats, u: Floats, e: Floats, basis: Integers, work: Floats) -> int:
    """As ``simplex.maximise`` from a cold start, for any number of columns."""
    n, m = mu.shape[0], basis.shape[0]
    basis[0] = -1
    if n <= SMALL:
        return simplex.maximise(mu, u, e, basis, work)
    chosen = np.empty(n, dtype=np.int64)
    taken = np.zeros(n, dtype=np.bool_)
    size = first_set(mu, u, e, chosen, taken)
    while True:
        some = chosen[:size]
        status = simplex.maximise(mu[some], u[some], e[some], basis, work)
        if status > simplex.INFEASIBLE:
            break
        phase = simplex.VIOLATION if status == simplex.INFEASIBLE else simplex.VALUE
        added = add_best(mu, u, e, work[m + 1], phase, chosen, taken, size)
        if added == size:
            break
        size = added
    for i in range(m):
        if basis[i] >= 0:
            basis[i] = chosen[basis[i]]
    return status


@compiled
def first_set(mu: Floats, u: Floats, e: Floats, chosen: Integers, taken: np.ndarray) -> int:
    """All slacks, the arms that are extreme in reward or in a cost, and a spread of the others."""
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
def add_best(
    mu: Floats,
    u: Floats,
    e: Floats,
    price: Floats,
    phase: float,
    chosen: Integers,
    taken: np.ndarray,
    size: int,
) -> int:
    """Add the best-priced column of each block of columns; returns the new size of the set."""
    n, m = mu.shape[0], price.shape[0]
    width = max(n // (BLOCKS * m), 1)
    for start in range(0, n, width):
        stop = min(start + width, n)
        j = simplex.entering(mu[start:stop], u[start:stop], e[start:stop], price, phase, n < 0)
        if j >= 0 and not taken[start + j]:
            chosen[size], taken[start + j], size = start + j, True, size + 1
    return size
