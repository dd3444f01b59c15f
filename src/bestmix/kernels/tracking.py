"""Shares of trials that put the nearest other answer as far away as can be, when only rewards are uncertain.

A vertex of the feasible set stops being the best where the rewards meet a facet of its normal cone: there a neighbour
is as good. With v the way to that neighbour, gap its loss and w the shares of the trials, the rewards are
gap^2 / (2 sum_a load_a / w_a) away from it, load_a = sigma^2 v_a^2. The fixed-confidence rivals maximise the smallest
of these distances, and stop when it is large enough at the counts.
"""

import math
from typing import NamedTuple

import numpy as np

from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels import simplex
from bestmix.kernels.columns import Program
from bestmix.kernels.jit import compiled
from bestmix.kernels.overtaking import factor_and_solve
from bestmix.kernels.simplex import Basis

STEPS = 80  # of the multiplicative weights
RATE = 0.6  # how fast they move
RIDGE = 1e-10  # of a diagonal, where limits say the same
KEPT = 1e-7  # of a limit, in units of the costs' spreads: what is not more than that above it keeps it
MOST_PRICE = 1e6  # of a limit that no shares keep
MOST_ASCENTS = 50  # steps of the game in one decision
LEAST_GAP = 1e-9  # of a facet, in units of the reward spread: none is nearer
LEAST_SHARE = 1e-6
LEAST_WAY = 1e-12  # to a neighbour, in weight: what is nearer is the vertex itself, in another basis
HALVINGS = 40  # of an interval
MOST_STEPS = 60  # of Newton's method


class Facets(NamedTuple):
    """Facets of a vertex's normal cone: its loss (facets,), and what each arm's noise adds to it (facets, arms)."""

    gap: Floats
    load: Floats


class Tracker(NamedTuple):
    """What a rival remembers between decisions, for the arms that are tried.

    Attributes
    ----------
    share
        Shares of trials as last chosen.
    total
        Their sum over all trials, which the counts are to follow (C-tracking).
    curvature
        Sum of the squared gradients of the game (AdaGrad).
    """

    share: Floats
    total: Floats
    curvature: Floats


@compiled
def new_tracker(unknown: int) -> Tracker:
    """Even shares, and nothing tracked yet."""
    return Tracker(np.full(unknown, 1.0 / max(unknown, 1)), np.zeros(unknown), np.zeros(unknown))


@compiled
def restart(tracker: Tracker) -> None:
    """As new."""
    tracker.share[:] = 1.0 / max(tracker.share.shape[0], 1)
    tracker.total[:], tracker.curvature[:] = 0.0, 0.0


@compiled
def facets(program: Program, basis: Basis, scale: Floats, noise: float, unknown: int, tolerance: float) -> Facets:
    """The facets of the program's vertex, with ``noise`` the variance of a reward, of the arms that are tried.

    The program's last column, the elastic one, leads to no neighbour. Where a weight of the basis is zero the vertex
    has other bases, and some of its edges are only seen from there. With a ``tolerance`` a neighbour must be better by
    as much. A facet that no noise moves is left out.
    """
    n = program.mu.shape[0] - 1
    flat, unseen = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    unit = scale[1]
    gap, load = np.empty(n + 1), np.zeros((n + 1, unknown))
    count = edges(program, basis, noise / (unit * unit), tolerance / unit, gap, load, flat)
    result = Facets(gap[:count], load[:count])
    for j in range(n):
        if not flat[j]:
            continue
        other = Basis(basis.column.copy(), basis.work.copy())
        simplex.set_direction(program, j, other)
        i = simplex.leaving(other, simplex.STEEPEST)
        if i >= 0:
            simplex.pivot(i, j, other)
            simplex.set_prices(program, other, simplex.VALUE)
            gap, load = np.empty(n + 1), np.zeros((n + 1, unknown))
            count = edges(program, other, noise / (unit * unit), tolerance / unit, gap, load, unseen)
            result = Facets(np.concatenate((result.gap, gap[:count])), np.concatenate((result.load, load[:count])))
    return result


@compiled
def edges(
    program: Program, basis: Basis, noise: float, tolerance: float, gap: Floats, load: Floats, flat: Flags
) -> int:
    """Write the facets that are seen from one basis, and return how many; ``flat`` marks columns that lead nowhere.

    ``gap`` and ``load`` have a row more than there are columns.
    """
    u, e, m = program.u, program.e, basis.column.shape[0]
    column, inverse, price = basis.column, simplex.inverse(basis), simplex.prices(basis)
    count, unknown = 0, load.shape[1]
    for j in range(flat.shape[0]):
        basic, way = False, np.inf
        load[count] = 0.0
        for i in range(m):
            basic |= column[i] == j
            y = inverse[i, m - 1] * e[j]
            for l in range(m - 1):
                y += inverse[i, l] * u[j, l]
            if column[i] < unknown:
                load[count, column[i]] = y * y * noise
            if y > simplex.PIVOT:
                way = min(way, max(inverse[i, m - 1], 0.0) / y)
        if j < unknown and not basic:
            load[count, j] = noise
        flat[j] = way <= LEAST_WAY and not basic
        if not basic and not flat[j] and load[count].sum() > 0.0:
            gap[count] = max(-simplex.reduced_cost(program, price, j), LEAST_GAP) + tolerance / way
            count += 1
    return count


@compiled
def nearest(sides: Facets, share: Floats | Integers) -> tuple[int, float]:
    """The nearest facet at these shares, or counts, and its distance; -1 where rewards cannot change the answer."""
    chosen, least = -1, np.inf
    for j in range(sides.gap.shape[0]):
        far = 0.5 * sides.gap[j] * sides.gap[j] / (sides.load[j] / share).sum()
        if far < least:
            chosen, least = j, far
    return chosen, least


@compiled
def respond(need: Floats, excess: Floats, price: Floats, share: Floats) -> None:
    """Shares that minimise sum_a need_a / share_a, of those whose mean ``excess`` (arms, limits) is none.

    share_a ~ sqrt(need_a / (1 + price . excess_a)), where the prices of the limits maximise the concave
    sum_a sqrt(need_a (1 + price . excess_a)): by Newton's method, from the ``price`` (limits,) passed in, which is
    overwritten. The price of a limit that is kept without one is zero.
    """
    charge = charged(excess, price)
    if not charge.min() > 0.0:
        price[:], charge[:] = 0.0, 1.0
    for _ in range(MOST_STEPS):
        share[:] = np.sqrt(need / charge)
        over, step = np.zeros(price.shape[0]), np.zeros(price.shape[0])
        for l in range(price.shape[0]):
            over[l] = (share * excess[:, l]).sum()
        free = (over > 0.0) | (price > 0.0)
        if not (free & (np.abs(over) > KEPT * share.sum())).any():
            break
        system = np.zeros((price.shape[0], price.shape[0]))
        for l in range(price.shape[0]):
            for k in range(price.shape[0]):
                if free[l] and free[k]:
                    system[l, k] = (share / charge * excess[:, l] * excess[:, k]).sum()
            system[l, l] = system[l, l] * (1.0 + RIDGE) if free[l] else 1.0
        factor_and_solve(system, np.where(free, 2.0 * over, 0.0), step)
        if not climb(need, excess, step, price, charge):
            break
    share /= share.sum()
    share[:] = np.maximum(share, LEAST_SHARE)
    share /= share.sum()


@compiled
def charged(excess: Floats, price: Floats) -> Floats:
    """One plus what the limits charge each arm at these prices (arms,)."""
    charge = np.ones(excess.shape[0])
    for l in range(price.shape[0]):
        charge += price[l] * excess[:, l]
    return charge


@compiled
def climb(need: Floats, excess: Floats, step: Floats, price: Floats, charge: Floats) -> bool:
    """Move the prices by a step, halved until sum_a sqrt(need_a charge_a) is no smaller; False if none does."""
    before = np.sqrt(need * charge).sum()
    for _ in range(HALVINGS):
        then = np.maximum(price + step, 0.0)
        new = charged(excess, then)
        if new.min() > 0.0 and then.max() <= MOST_PRICE and np.sqrt(need * new).sum() > before:
            price[:], charge[:] = then, new
            return True
        step *= 0.5
    return False


@compiled
def spread_out(sides: Facets, excess: Floats, share: Floats) -> None:
    """Shares that maximise the smallest distance to a facet, of those whose mean ``excess`` (arms, limits) is none.

    Multiplicative weights over the facets against best responses; the answer is the mean of the later half of these.
    """
    limits, unknown = excess.shape[1], share.shape[0]
    square = sides.gap * sides.gap
    weight, price = np.ones(square.shape[0]), np.zeros(limits)
    answer, response = np.zeros(unknown), np.empty(unknown)
    if square.shape[0] == 0:
        return
    for step in range(STEPS):
        need = np.zeros(unknown)
        for j in range(square.shape[0]):
            need += weight[j] / square[j] * sides.load[j]
        need = np.maximum(need, LEAST_SHARE * need.max())  # whoever no facet needs may fill up what limits leave
        respond(need, excess, price, response)
        far = np.empty(square.shape[0])
        for j in range(square.shape[0]):
            far[j] = (sides.load[j] / response).sum() / square[j]
        weight *= np.exp(RATE * (far / far.max() - 1.0))
        weight = np.maximum(weight / weight.max(), 1e-200)
        if 2 * step >= STEPS:
            answer += response
    share[:] = answer / answer.sum()


@compiled
def ascend(sides: Facets, excess: Floats, slack: float, explore: float, counts: Integers, tracker: Tracker) -> None:
    """One step of the game: the nearest facet answers the shares, and AdaGrad moves these away from it.

    The gain of an arm is the optimistic divergence from the confusing rewards, U_a = max(g / N_a, the divergence from
    the far end of its interval). The multiplier of the limit that the shares break most is at its bound, the distance
    over the least ``slack`` (Theorem 1 of Das and Basu); those of the others are zero.
    """
    share = tracker.share
    j, value = nearest(sides, share)
    if j < 0:
        return
    shift = sides.gap[j] * np.sqrt(sides.load[j]) / (share * (sides.load[j] / share).sum())
    width = np.sqrt(2.0 * explore / counts)
    gain = np.maximum(0.5 * width * width, 0.5 * (shift + width) ** 2)
    worst, most = -1, 0.0
    for l in range(excess.shape[1]):
        over = (share * excess[:, l]).sum()
        if over > most:
            worst, most = l, over
    if worst >= 0:
        gain -= value / slack * excess[:, worst]
    tracker.curvature[:] += gain * gain
    stiff = np.sqrt(tracker.curvature) + 1e-12
    project(share + gain / stiff, stiff, share)


@compiled
def project(point: Floats, stiff: Floats, share: Floats) -> None:
    """The shares nearest to a point, each coordinate measured by its stiffness: max(point - s / stiff, least)."""
    low, high = (stiff * (point - 1.0)).min(), (stiff * point).max()
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if np.maximum(point - middle / stiff, LEAST_SHARE).sum() > 1.0:
            low = middle
        else:
            high = middle
    share[:] = np.maximum(point - high / stiff, LEAST_SHARE)
    share /= share.sum()


@compiled
def follow(tracker: Tracker, counts: Integers, size: int, owed: Integers) -> None:
    """C-tracking: each of the next trials to the arm that is furthest behind the sum of the shares.

    The shares are mixed with a little of even ones, so that no arm is forgotten (Garivier and Kaufmann).
    """
    unknown = counts.shape[0]
    owed[:] = 0
    spent = counts.sum()
    for k in range(size):
        little = 0.5 / math.sqrt(spent + k + unknown * unknown)
        tracker.total[:] += (tracker.share + little) / (1.0 + unknown * little)
        owed[np.argmin(counts + owed - tracker.total)] += 1
