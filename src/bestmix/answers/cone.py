"""The best mix whose mean costs stay within the bounds with a margin: a linear program with a cone for each bound.

    max r.p   subject to   c_l.p + sqrt(sum_a d_al^2 p_a^2) <= b_l,   p a mix

Where estimates of arms are correlated the sum has terms R_ab d_al d_bl p_a p_b as well.

Cutting planes on the linear program settle it in one to three rounds when a few arms carry the mix. With few trials
the margins reward spreading over many arms, planes then enclose the curved region slowly, and a barrier method takes
over (``barrier.py``): Newton's steps on a problem of K variables.
"""

from typing import NamedTuple

import numpy as np

from bestmix.answers.barrier import divided, follow, inside
from bestmix.answers.correlations import floored
from bestmix.arrays import Flags, Floats
from bestmix.kernels.columns import ROUNDING
from bestmix.problems.solution import solve_means

ROUNDS = 6  # of cutting planes
FEW_ROUNDS = 3  # the same with many arms: the fourth takes as long as the barrier does, and hardly ever settles it
FINE = 0.005  # of a margin, by which a mix may miss its limit
ROUGH = 0.99  # of the margins that a mix has room for, where it is looked for by bisection
ADDED_UP = 1e-11  # of a price, by which a sum of many may be off
DUST = 1e-9  # relative to the data, as programs are solved: rounding
MANY = 50  # arms, from which on it is quicker to make use of what the equations of a step look like


def dust(rows: Floats, right: Floats, width: Floats | None = None) -> Floats:
    """What rounding may leave of limits: of mixes of ``rows`` (n, R) against their right sides (R,).

    Programs are solved on what rows differ from their limits; of what all have in common rounding takes far less. But
    of prices, where the mix has no ``width`` (R,), it takes what adding them up may leave.

    >>> dust(np.array([[1e10 + 3.0], [1e10]]), np.array([1e10 + 1.0])).round(5)
    array([2.e-05])
    """
    apart = np.abs(rows - right).max(axis=0, initial=0.0)
    share = ROUNDING if width is None else np.where(width == 0, ADDED_UP, ROUNDING)
    return np.asarray(DUST * apart + share * np.maximum(np.abs(right), np.abs(rows).max(axis=0, initial=0.0)))


class Margins(NamedTuple):
    """Margins of each arm (K, L), and for each limit the correlations of the arms (L, K, K); None for none."""

    width: Floats
    shared: Floats | None = None

    def times(self, factor: float | Floats) -> "Margins":
        """All of them times a factor, or those of each limit times its own."""
        return Margins(self.width * factor, self.shared)

    def slope(self, mixture: Floats) -> Floats:
        """D R D p of each limit (K, L)."""
        weighted = self.width * mixture[:, None]
        if self.shared is not None:
            weighted = np.einsum("lab,bl->al", self.shared, weighted)
        return np.asarray(self.width * weighted)

    def spread(self, mixture: Floats) -> Floats:
        """By how much the mean costs of a mix may be off (L,)."""
        return spread(self.width, mixture, self.shared)

    def square(self, weight: Floats) -> Floats:
        """sum_l weight_l D_l R_l D_l (K, K)."""
        if self.shared is None:
            return np.diag((self.width**2 * weight).sum(axis=1))
        return np.asarray(np.einsum("al,bl,lab,l->ab", self.width, self.width, self.shared, weight))

    def divided(self, slope: Floats, room: Floats, x: Floats, excess: Floats, right: Floats) -> Floats:
        """The barrier's second derivatives, in units of x itself, where they are well scaled, divided into ``right``.

        As long as arms are not correlated they are a diagonal plus 2 L columns times their own rows: S (1 + Q R W R'
        Q') S, where S is diagonal, Q has orthogonal columns and W the weights. Only 1 + R W R' remains to be solved.
        """
        if self.shared is not None or len(x) <= MANY:
            return divided(self.square(2.0 / room), slope, room, x, excess, right)
        scale = np.sqrt(1.0 + x**2 * (self.width**2 * (2.0 / room)).sum(axis=1))[:, None]
        q, r = np.linalg.qr(np.hstack([slope, excess]) * (x[:, None] / scale))
        inner = (r * np.r_[np.ones(len(room)), -2.0 / room]) @ r.T
        known = right / scale
        within = q.T @ known
        return np.asarray((known + q @ (np.linalg.solve(np.eye(len(r)) + inner, within) - within)) / scale)

    def with_exact(self) -> "Margins":
        """With one more column, which has no margin."""
        width = np.vstack([self.width, 0.0 * self.width[:1]])
        if self.shared is None:
            return Margins(width)
        shared = np.tile(np.eye(len(width)), (len(self.shared), 1, 1))
        shared[:, :-1, :-1] = self.shared
        return Margins(width, shared)


def cone_mix(means: Floats, bound: Floats, margin: Floats, shared: Floats | None = None) -> Floats | None:
    """Mix with the largest reward for which mean cost plus margin is within each bound; None when there is none."""
    excess, margins = scaled(means, bound, Margins(margin, shared))
    mixture, settled = _by_planes(means[:, 0], excess, margins)
    if settled:
        return mixture
    start = inside(excess, margins)
    return None if start is None else _cleaned(follow(means[:, 0], start, excess, margins), excess, margins)


def widest_mix(
    means: Floats, bound: Floats, margin: Floats, halvings: int, shared: Floats | None = None
) -> tuple[float, Floats | None]:
    """The largest share of the margins, up to 1, that some mix has room for, and such a mix; None when there is none.

    With one bound that is the mix with the largest room in units of its margin, (b - c).p / |d p|, which is known:
    weights in proportion to (b - c_a) / d_a^2 where that is positive. With several, or where arms are correlated, it is
    found by bisection.
    """
    excess, margins = scaled(means, bound, Margins(margin, shared))
    alone = shared is None and excess.shape[1] == 1
    if alone and (excess < 0).any() and (margins.width[excess < 0] > 0).all():
        best = np.maximum(-excess[:, 0], 0.0) / np.where(margins.width[:, 0] > 0, margins.width[:, 0], 1.0) ** 2
        return min(_share(best, excess, margins), 1.0), best / best.sum()
    low, high, found = 0.0, 1.0, None
    for _ in range(halvings):
        middle = (low + high) / 2.0
        start = inside(excess, margins.times(middle))
        if start is None:
            high = middle
        else:
            low, found = min(max(middle, _share(start, excess, margins)), high), start
    return low, None if found is None else _cleaned(found, excess, margins.times(ROUGH * low))


def _share(mixture: Floats, excess: Floats, margin: Margins) -> float:
    """Room of a mix in units of its margins, at the tightest limit."""
    width = margin.spread(mixture)
    return float(np.where(width > 0, -mixture @ excess / np.where(width > 0, width, 1.0), np.inf).min())


def scaled(means: Floats, bound: Floats, margin: Margins) -> tuple[Floats, Margins]:
    """Costs above the bounds, and margins, in units of the largest of them."""
    size = np.maximum(np.abs(means[:, 1:] - bound), margin.width).max(axis=0)
    size[size == 0] = 1.0
    return (means[:, 1:] - bound) / size, Margins(margin.width / size, margin.shared)


def spread(margin: Floats, mixture: Floats, shared: Floats | None = None) -> Floats:
    """Length of the weighted margins (L,): by how much the mean costs of a mix may be off.

    ``shared`` are correlations of the arms (L, K, K); weights and margins may have any sign.
    """
    if shared is None:
        return lengths(margin * mixture[:, None])
    weighted = margin * mixture[:, None]
    square = np.einsum("al,lab,bl->l", weighted, shared, weighted)
    return np.asarray(np.sqrt(floored(square, (weighted * weighted).sum(axis=0))))


def lengths(columns: Floats) -> Floats:
    """Lengths of columns (K, L), also of those whose squares are no floats.

    >>> lengths(np.array([[3.0, 3e200], [4.0, 4e200]]))
    array([5.e+000, 5.e+200])
    """
    with np.errstate(over="ignore"):
        found = np.asarray(np.sqrt((columns * columns).sum(axis=0)))
    if np.isfinite(found).all():
        return found
    size = np.maximum(np.abs(columns).max(axis=0), 1.0)
    return np.asarray(size * np.sqrt(((columns / size) ** 2).sum(axis=0)))


def _by_planes(reward: Floats, excess: Floats, margin: Margins) -> tuple[Floats | None, bool]:
    """The mix, None when there is none, and whether that is settled.

    |d p| is at least d d p.q / |d q| for every q, so the rows at earlier mixes and at their running middle enclose
    the cone ever more closely.
    """
    table, middle = np.column_stack([reward, excess]), np.zeros(len(reward))
    for k in range(1, (ROUNDS if len(reward) <= MANY else FEW_ROUNDS) + 1):
        try:
            solution = solve_means(table, np.zeros(table.shape[1] - 1))
        except ArithmeticError:  # planes that nearly coincide, and equal rewards: the barrier minds neither
            break
        if solution.status == "infeasible":
            return None, True
        mixture = solution.mixture
        failing = _fails(mixture, excess, margin)
        if not failing.any():
            return mixture, True
        middle += (mixture - middle) / k
        for point in (mixture, middle)[: min(k, 2)]:
            table = np.column_stack([table, _cuts(excess, margin, point, failing)])
    return None, False


def _fails(mixture: Floats, excess: Floats, margin: Margins) -> Flags:
    width = margin.spread(mixture)
    return np.asarray(mixture @ excess + width > FINE * width + DUST)


def _cuts(excess: Floats, margin: Margins, point: Floats, failing: Flags) -> Floats:
    """Rows c_al - b_l + d_al^2 q_a / |d_l q|, as columns (K, failing)."""
    width = margin.spread(point)
    use = failing & (width > 0)
    return np.asarray(excess[:, use] + margin.slope(point)[:, use] / width[use])


def _cleaned(x: Floats, excess: Floats, margin: Margins) -> Floats:
    """Without the dust that a barrier leaves on every arm, as long as the cones are kept."""
    for least in (1e-3, 1e-4, 1e-5):
        mixture = np.where(x < least, 0.0, x)
        mixture /= mixture.sum()
        if not _fails(mixture, excess, margin).any():
            return mixture
    return x
