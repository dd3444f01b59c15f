"""The shares of trials with the largest weighted distance to every alternative: cutting planes, with a certificate.

The smallest weighted distance is concave in the shares, as a minimum of linear functions, one for each alternative.
Any alternatives give an upper bound on its maximum: the value of a linear program; any shares give a lower one.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bestmix.arrays import Floats, Integers

CLOSE = 1e-4  # share by which the two bounds may differ
MOST_STEPS = 100  # 25 are usual; more help only where the distances are searched for and not all found
STEP = 0.35  # from the best shares towards those of the linear program
FAR = 3.0  # times the smallest distance: alternatives beyond are not kept

Cuts = list[tuple[int, float, Floats]]  # condition, weighted divergence, divergence of each arm


class Allocation(NamedTuple):
    """Shares, and what is certain of the largest smallest distance.

    ``lower`` is attained by ``share`` and ``upper`` proven by alternatives; ``weight`` (conditions,) says how much each
    condition counts in that proof, and sums to one. Both bounds are infinite where there is no alternative.
    """

    share: Floats
    lower: float
    upper: float
    weight: dict[int, float]


def maximise(
    distances: Callable[[Floats], Cuts], arms: int, most_steps: int = MOST_STEPS, start: Floats | None = None
) -> Allocation:
    """Shares of ``arms`` arms that maximise the smallest of the distances, which have their cuts with them.

    Arms with nothing in ``start``, and that no distance is made of, get no trials.

    >>> def two_arms(share):
    ...     apart = share.prod() / share.sum()
    ...     return [(0, apart, (share[::-1] / share.sum()) ** 2)]
    >>> found = maximise(two_arms, 2)
    >>> found.share.round(2), round(found.upper, 3)
    (array([0.5, 0.5]), 0.25)
    """
    best, lower, upper = np.full(arms, 1.0 / max(arms, 1)) if start is None else start, np.inf, np.inf
    rows, owners = np.empty((0, arms)), np.empty(0, dtype=np.int64)
    weight: dict[int, float] = {}
    share = best
    for _ in range(most_steps):
        cuts = distances(share)
        if not cuts:  # those that were found for other shares stay alternatives
            break
        least = min(value for _, value, _ in cuts)
        kept = [cut for cut in cuts if cut[1] <= FAR * least]
        rows = np.vstack([rows, [row for _, _, row in kept]])
        owners = np.r_[owners, [owner for owner, _, _ in kept]]
        if not rows[-len(kept) :].any(axis=1).all():  # an alternative at no distance: the same for all shares
            return Allocation(best, 0.0, 0.0, {owner: 1.0 for owner, value, _ in cuts if value == least})
        best = max(best, share, key=lambda one: float((rows @ one).min()))
        lower = float((rows @ best).min())
        solved = _program(rows)
        if solved is None:
            break
        aim, proof = solved
        bound = float((proof @ rows).max())
        if bound < upper:
            upper, weight = bound, _by_owner(owners, proof)
        if upper <= lower * (1 + CLOSE):
            break
        share = best + STEP * (aim - best)
    return Allocation(best, lower, upper, weight)


def _program(rows: Floats) -> tuple[Floats, Floats] | None:
    """Shares that maximise the smallest of the rows' products with them, and the rows' weights that prove it."""
    from scipy.optimize import linprog

    size = rows.max(axis=1).min()
    scaled, (count, arms) = rows / size, rows.shape
    matrix = np.column_stack([-scaled, np.ones(count)])
    found: Any = linprog(
        np.r_[np.zeros(arms), -1.0],
        A_ub=matrix,
        b_ub=np.zeros(count),
        A_eq=[np.r_[np.ones(arms), 0.0]],
        b_eq=[1.0],
        bounds=[(0.0, None)] * arms + [(None, None)],
        method="highs",
    )
    if found.status:  # rounding alone leads here; the bounds so far stand
        return None
    proof = np.maximum(-found.ineqlin.marginals, 0.0)
    share = np.maximum(found.x[:arms], 0.0)
    return share / share.sum(), proof / proof.sum()


def _by_owner(owners: Integers, proof: Floats) -> dict[int, float]:
    used = np.unique(owners[proof > 0])
    return {int(owner): float(proof[owners == owner].sum()) for owner in used}
