"""Columns of the linear program in its homogeneous form, scaled to the data.

The column of an arm is u = cost - bound with e = 1 and mu = reward; the column of the slack of
cost l is the unit vector l with e = 0 and mu = 0. A mixture is x >= 0 with sum_j x_j u_j = 0 and
sum_j x_j e_j = 1. Columns are scaled so that the arms' entries fill [-1, 1]: a tolerance in the
kernels then means the same for rewards of 1e-6 and for costs of 1e3.

Whatever finite means come in, scaled columns and the reciprocals of their scale are finite: costs that
are all too near their bound for a reciprocal count as at their bound.

Columns are loaded and scaled for one program, or for several with a lane for each (``lanes.py``).
"""

from typing import NamedTuple

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels.jit import borrowing, compiled, inlined, view
from bestmix.kernels.lanes import any_lane, either, larger

ROUNDING = 8 * float(np.finfo(np.float64).eps)
SMALLEST = float(np.finfo(np.float64).tiny)  # the reciprocal of a smaller number can overflow
LARGEST = float(np.finfo(np.float64).max)
# What programs may have. Machine code for one that has not leaves out what is only for those that have (``lacking``).
ONE_COST, TWO_COSTS, MORE_COSTS = True, True, True
OVER_16, OVER_40, OVER_64, OVER_512 = True, True, True, True  # columns
NEGLIGIBLE = 1e-200  # a scaled entry below this counts as zero: products of its reciprocal would overflow


class Program(NamedTuple):
    """Columns of a linear program: rewards (n,), what is to balance (n, L), and one for an arm or zero for a slack."""

    mu: Floats
    u: Floats
    e: Floats


def lacking(costs: int, size: int) -> frozenset[str]:
    """Which of the constants above do not hold for programs of so many costs and columns."""
    holds = {
        "ONE_COST": costs == 1,
        "TWO_COSTS": costs == 2,
        "MORE_COSTS": costs > 2,
        "OVER_16": costs == 2 and size > 16,  # asked for with two costs alone, and
        "OVER_40": costs == 1 and size > 40,  # with one: else two sizes would be compiled where one does
        "OVER_64": size > 64,
        "OVER_512": size > 512,
    }
    return frozenset(name for name, held in holds.items() if not held)


@inlined
def fixed(costs: int) -> int:
    """A number of costs: as a constant where the machine code is for that number alone, whose short loops unroll."""
    if ONE_COST and not TWO_COSTS and not MORE_COSTS:
        return 1
    if TWO_COSTS and not ONE_COST and not MORE_COSTS:
        return 2
    return costs


@inlined
def fixed_rows(rows: int) -> int:
    """``fixed`` for the rows of a program, which are one more than the costs."""
    return 1 + fixed(rows - 1)


@compiled
def new_program(size: int, costs: int) -> Program:
    """Space for so many columns."""
    return Program(np.empty(size), np.empty((size, costs)), np.empty(size))


@view
def part(program: Program, first: int, last: int) -> Program:
    """Some of the columns, in the same memory."""
    return Program(program.mu[first:last], program.u[first:last], program.e[first:last])


@compiled
def pick(program: Program, chosen: Integers) -> Program:
    """A copy of the chosen columns."""
    return Program(program.mu[chosen], program.u[chosen], program.e[chosen])


@borrowing
def load(means: Floats, bound: Floats, columns: Integers, program: Program) -> None:
    """Write the unscaled ``columns`` into the program.

    ``means`` is (K, 1 + L), reward first. A difference between cost and bound that is within
    rounding of zero becomes zero, so that an arm exactly at its bound counts as exactly there.
    """
    mu, u, e = program
    arms, costs = means.shape[0], fixed(bound.shape[0])
    for j in range(columns.shape[0]):
        a = columns[j]
        if a < arms:
            mu[j], e[j] = means[a, 0], 1.0
            for l in range(costs):
                u[j, l] = above(means[a, 1 + l], bound[l])
        else:
            mu[j], e[j] = 0.0, 0.0
            for l in range(costs):
                u[j, l] = 1.0 if a - arms == l else 0.0


@compiled
def above(mean: float, bound: float) -> float:
    """How far a mean cost is above its bound; zero within rounding."""
    gap = mean - bound
    return either(abs(gap) <= ROUNDING * larger(abs(mean), abs(bound)), 0.0, gap)


@borrowing
def load_sums(sums: Floats, count: int, means: Floats, bound: Floats, columns: Integers, program: Program) -> None:
    """As ``load``, the first columns being arms whose means are ``sums`` (each arm's 1 + L) over ``count`` trials."""
    mu, u, e = program
    costs = fixed(bound.shape[0])
    d = 1 + costs
    rows = sums.shape[0] // d
    for j in range(rows):
        mu[j], e[j] = sums[j * d] / count, 1.0
    for l in range(costs):
        limit = bound[l]
        for j in range(rows):
            u[j, l] = above(sums[j * d + 1 + l] / count, limit)
    load(means, bound, columns[rows:], part(program, rows, columns.shape[0]))


@borrowing
def rescale(program: Program, scale: Floats) -> None:
    """Scale loaded columns in place; ``scale`` receives (reward middle, reward spread, cost spreads)."""
    measure(program, scale)
    apply(scale, program)


@borrowing
def arms_among(e: Floats) -> int:
    """Number of arms: slacks stand last."""
    n = int(e.shape[0])
    while n > 0 and any_lane(e[n - 1] == 0.0):
        n -= 1
    return n


@inlined
def middle_and_spread(mu: Floats, n: int) -> tuple[float, float]:
    """Middle of the first n rewards, and half of what they are apart, or their size where that is nothing."""
    low, high = np.inf, -np.inf
    for j in range(n):
        low, high = either(mu[j] < low, mu[j], low), either(mu[j] > high, mu[j], high)
    # Halves first: the sum or the difference of two very large rewards could overflow.
    middle, spread, size = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low, larger(abs(low), abs(high))
    usable = either((size >= SMALLEST) & (size < np.inf), size, 1.0)
    return middle, either(spread > larger(ROUNDING * size, SMALLEST), spread, usable)


@inlined
def measure(program: Program, scale: Floats) -> None:
    """Write the scale of loaded columns: (reward middle, reward spread, cost spreads), with finite reciprocals."""
    mu, u, e = program
    n, costs = arms_among(e), fixed(u.shape[1])
    scale[0], scale[1] = middle_and_spread(mu, n)
    for l in range(costs):
        largest = 0.0
        for j in range(n):
            largest = larger(abs(u[j, l]), largest)
        if any_lane(largest == np.inf):  # a cost and its bound at the two ends of what floats hold
            largest = either(largest == np.inf, LARGEST, largest)
            for j in range(n):
                u[j, l] = either(abs(u[j, l]) == np.inf, either(u[j, l] > 0.0, LARGEST, -LARGEST), u[j, l])
        scale[2 + l] = either(largest >= SMALLEST, largest, 1.0)


@inlined
def apply(scale: Floats, program: Program) -> None:
    """Divide the arms' columns by their scale. Slacks stay unit vectors: slack l is in units of cost spread l."""
    mu, u, e = program
    n, costs = arms_among(e), fixed(u.shape[1])
    middle, spread = scale[0], scale[1]
    for j in range(n):
        mu[j] = (mu[j] - middle) / spread
    for l in range(costs):
        unit = 1.0 / scale[2 + l]
        for j in range(n):
            entry = u[j, l] * unit
            u[j, l] = either(abs(entry) < NEGLIGIBLE, 0.0, entry)
