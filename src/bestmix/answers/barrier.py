"""Newton's steps along the central path: the best point within cones, none of whose weights is below zero.

    max reward.x   subject to   |M_l x| <= y_l = - excess_l.x,   x >= 0,   the weights of each group add up

The barrier is - sum log x - sum_l log(y_l^2 - |M_l x|^2). In ``cone.py`` all arms are one group, in ``program_cone.py``
the columns of each segment.
"""

from typing import Protocol, Self

import numpy as np

from bestmix.arrays import Floats

START, END, GROWTH = 30.0, 1e6, 3.1  # weight of the objective against the barrier
STEPS = 60  # of Newton for one weight, at most: three on average, more where a mix is hardly within the cones
GAP = 2.0  # times the gap of a point exactly on the path
SETTLED = 0.3  # squared length of Newton's step, in its own metric, at which the weight may grow


class Widths(Protocol):
    """The lengths |M_l x| of L linear functions of a point (n,)."""

    def spread(self, x: Floats, /) -> Floats:
        """The lengths (L,)."""

    def slope(self, x: Floats, /) -> Floats:
        """M_l' M_l x of each (n, L)."""

    def divided(self, slope: Floats, room: Floats, x: Floats, excess: Floats, right: Floats, /) -> Floats:
        """``right`` (n, k) divided by the barrier's second derivatives, in units of x itself."""

    def with_exact(self) -> Self:
        """With one more column, which has no part in any length."""


def divided(square: Floats, slope: Floats, room: Floats, x: Floats, excess: Floats, right: Floats) -> Floats:
    """``Widths.divided`` by a matrix of all columns; ``square`` is sum_l 2 / room_l M_l' M_l (n, n)."""
    hessian = slope @ slope.T - (2.0 * excess / room) @ excess.T + square
    hessian.flat[:: len(x) + 1] += 1.0 / x**2
    return np.asarray(np.linalg.solve(hessian * x * x[:, None], right), dtype=np.float64)


def inside(excess: Floats, margin: Widths, even: Floats | None = None, groups: Floats | None = None) -> Floats | None:
    """A point strictly within all cones, by raising the room that is left from below; None when there is none.

    ``even`` is a point within the groups to start from, by default with the same weight everywhere.
    """
    return room_within(excess, margin, even, groups)[0]


def room_within(
    excess: Floats, margin: Widths, even: Floats | None = None, groups: Floats | None = None
) -> tuple[Floats | None, bool]:
    """The point of ``inside``, and whether it is certain that there is none where it is None."""
    arms = len(excess)
    even = np.full(arms, 1.0 / arms) if even is None else even
    groups = np.ones((1, arms)) if groups is None else groups
    lift = float((even @ excess + margin.spread(even)).max()) + 1.0
    rows = np.vstack([excess - lift, np.ones(excess.shape[1])])  # the last column is the room gained
    point = np.r_[even, 0.5]
    closed = np.hstack([groups, np.zeros((len(groups), 1))])
    found, gap = _along(np.r_[np.zeros(arms), 1.0], point, rows, margin.with_exact(), closed, lift)
    return (found[:arms], False) if found[arms] > lift else (None, found[arms] + gap < lift)


def follow(reward: Floats, point: Floats, excess: Floats, margin: Widths, groups: Floats | None = None) -> Floats:
    """The best point within the cones and the groups (S, n), which say whose weights add up, along the central path."""
    groups = np.ones((1, len(point))) if groups is None else groups
    return _along(reward, point, excess, margin, groups)[0]


def _along(
    reward: Floats, point: Floats, excess: Floats, margin: Widths, groups: Floats, enough: float = np.inf
) -> tuple[Floats, float]:
    """The end of the central path, and how much better any other point can be.

    With ``enough`` it ends as soon as the last weight is above it, or by duality never will be.
    """
    weight, span, gap = START, float(np.ptp(reward)) or 1.0, np.inf
    while weight <= END:
        point = _centred(weight / span * reward, point, excess, margin, groups)
        gap = GAP * (len(point) + 2 * excess.shape[1]) / weight
        if point[-1] > enough or (np.isfinite(enough) and point[-1] + gap < enough):
            break
        weight *= GROWTH
    return point, gap


def _centred(reward: Floats, point: Floats, excess: Floats, margin: Widths, groups: Floats) -> Floats:
    """The point where objective and barrier balance, or as near as rounding lets it come."""
    for _ in range(STEPS):
        try:
            step, length = _newton(reward, point, excess, margin, groups)
        except np.linalg.LinAlgError:
            break
        point = _moved(reward, point, step, excess, margin, length)
        if not length > SETTLED:
            break
    return point


def _newton(reward: Floats, x: Floats, excess: Floats, margin: Widths, groups: Floats) -> tuple[Floats, float]:
    """Newton's step for the barrier less the reward, which leaves the sums of the groups as they are; its length."""
    y = -x @ excess
    room = _room(x, excess, margin)
    slope = 2.0 * (y * excess + margin.slope(x)) / room
    gradient = slope.sum(axis=1) - 1.0 / x - reward
    right = np.column_stack([gradient, groups.T]) * x[:, None]
    solved = margin.divided(slope, room, x, excess, right)
    sums = groups * x
    if len(groups) == 1:
        price = sums[0] @ solved[:, 0] / (sums[0] @ solved[:, 1])
        step = x * (solved[:, 1] * price - solved[:, 0])
    else:
        step = x * (solved[:, 1:] @ np.linalg.solve(sums @ solved[:, 1:], sums @ solved[:, 0]) - solved[:, 0])
    return step, float(-gradient @ step)


def _moved(reward: Floats, x: Floats, step: Floats, excess: Floats, margin: Widths, length: float) -> Floats:
    """The point after the longest halving of a step that lowers the barrier enough."""
    here, size = _barrier(reward, x, excess, margin), _longest(x, step, excess)
    while size > 1e-10 and not _barrier(reward, x + size * step, excess, margin) <= here - 0.1 * size * length:
        size /= 2.0
    return x + size * step if size > 1e-10 else x


def _longest(x: Floats, step: Floats, excess: Floats) -> float:
    """Share of a step, at most all of it, that stays where no weight and no limit is below zero."""
    most = max((-step / x).max(), ((step @ excess) / (-x @ excess)).max())
    return float(min(1.0, 0.99 / max(most, 0.99)))


def _barrier(reward: Floats, x: Floats, excess: Floats, margin: Widths) -> float:
    room = _room(x, excess, margin)
    if not ((x > 0).all() and (room > 0).all() and (x @ excess < 0).all()):
        return np.inf
    return float(-reward @ x - np.log(x).sum() - np.log(room).sum())


def _room(x: Floats, excess: Floats, margin: Widths) -> Floats:
    """y_l^2 - |d_l x|^2, with few digits lost."""
    y, width = -x @ excess, margin.spread(x)
    return np.asarray((y - width) * (y + width))
