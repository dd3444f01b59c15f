"""The best value as a function of one bound: a parametric linear program, walked from basis to basis.

The value is concave and piecewise linear in the bound. Where the bound no longer limits anything the program is solved
without it. From there the bound is lowered: the weights of a basis are linear in it, so the ratio test says exactly
where the first of them reaches zero, and a dual pivot, which column takes its place. The walk ends where none can:
below that bound no mix keeps the limits.
"""

from typing import NamedTuple

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import simplex
from bestmix.kernels.columns import Program
from bestmix.problems.solution import check_settled, scaled, solve_means

PRICE = 1e-11  # on scaled columns: a smaller slope counts as zero
MOST_PIVOTS = 10_000  # of one walk


class Knot(NamedTuple):
    """The optimum at a bound where the basis changes; from one knot to the next everything is linear."""

    bound: float
    value: float
    slope: float  # of the value above this bound: the shadow price there
    mixture: Floats  # (K,)


def walk_bound(means: Floats, bound: Floats, cost: int) -> list[Knot]:
    """Knots of the best value as the bound on one cost falls, from where it begins to bind to the least feasible.

    Parameters
    ----------
    means
        Reward and costs of each arm (K, 1 + L).
    bound
        Bounds (L,); the entry of the one that moves is not used.
    cost
        Which bound moves.

    Returns
    -------
    list of Knot
        The largest bound first, above which the slope is zero; empty when the other bounds cannot be kept.

    Examples
    --------
    >>> means = np.array([[1.0, 0.0], [1.75, 1.0], [2.0, 2.0]])
    >>> [(knot.bound, knot.value, knot.slope) for knot in walk_bound(means, np.array([1.0]), 0)]
    [(2.0, 2.0, 0.0), (1.0, 1.75, 0.25), (0.0, 1.0, 0.75)]
    """
    basis = _unlimited(means, bound, cost)
    if basis is None:
        return []
    bound = np.where(np.arange(len(bound)) == cost, means[:, 1 + cost].min(), bound)
    program, scale = scaled(means, bound, np.arange(len(means) + len(bound)))
    matrix = np.column_stack([program.u, program.e]).T
    knots, place = [], float(matrix[cost, : len(means)].max())
    for _ in range(MOST_PIVOTS):
        inverse = _inverse(matrix[:, basis])
        row, place = _leaving(inverse[:, cost], inverse[:, -1], basis, place)
        prices = program.mu[basis] @ inverse
        slope = prices[cost] * scale[1] / scale[2 + cost] if prices[cost] > PRICE else 0.0
        knots.append(_knot(means, cost, basis, inverse[:, -1] + place * inverse[:, cost], float(slope)))
        entering = _entering(program, matrix, prices, inverse[row], basis)
        if entering is None:
            return _distinct(knots)
        basis[row] = entering
    check_settled(simplex.STALLED)
    return []


def _unlimited(means: Floats, bound: Floats, cost: int) -> Integers | None:
    """Optimal basis where the bound does not bind: that of the program without it, and its slack."""
    arms, others = len(means), np.delete(np.arange(len(bound)), cost)
    solution = solve_means(means[:, [0, *(1 + others)]], bound[others])
    if not solution.feasible:
        return None
    numbers = np.r_[np.arange(arms), arms + others]
    basis: Integers = np.r_[numbers[list(solution.basis)], arms + cost].astype(np.int64)
    return basis


def _inverse(matrix: Floats) -> Floats:
    """Of a basis, anew at every step: rounding does not add up."""
    try:
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        check_settled(simplex.STALLED)
        raise


def _leaving(falling: Floats, weight: Floats, basis: Integers, place: float) -> tuple[int, float]:
    """Row whose weight reaches zero first as the bound falls, and where; of ties the smallest column (Bland's rule)."""
    rows = np.flatnonzero(falling > simplex.PIVOT)
    if not len(rows):  # no mix is cheaper than the cheapest arm, so only rounding leads here
        check_settled(simplex.STALLED)
    zero = -weight[rows] / falling[rows]
    ties = rows[zero >= zero.max() - simplex.TIE]
    return int(ties[np.argmin(basis[ties])]), min(float(zero.max()), place)


def _entering(program: Program, matrix: Floats, prices: Floats, row: Floats, basis: Integers) -> int | None:
    """Column that takes the place of the one that leaves: least loss of reduced cost; None when there is none."""
    pivot, reduced = row @ matrix, np.maximum(prices @ matrix - program.mu, 0.0)
    fits = pivot < -simplex.PIVOT
    fits[basis] = False
    ratio = np.full(len(pivot), np.inf)
    ratio[fits] = reduced[fits] / -pivot[fits]
    return int(np.argmax(ratio <= ratio.min() + simplex.TIE)) if fits.any() else None


def _knot(means: Floats, cost: int, basis: Integers, weight: Floats, slope: float) -> Knot:
    mixture = np.zeros(len(means) + means.shape[1] - 1)
    mixture[basis] = np.where(weight > simplex.FEASIBLE, weight, 0.0)
    mixture = mixture[: len(means)] / mixture[: len(means)].sum()
    mean = mixture @ means
    return Knot(float(mean[1 + cost]), float(mean[0]), slope, mixture)


def _distinct(knots: list[Knot]) -> list[Knot]:
    """Without pivots that did not move the bound, and without the part where only ties change hands."""
    flat = [knot for knot in knots if knot.slope == 0.0][-1]
    kept = [flat]
    for knot in knots:
        if knot.slope > 0.0 and knot.bound < kept[-1].bound - simplex.TIE * abs(kept[-1].bound):
            kept.append(knot)
    return kept
