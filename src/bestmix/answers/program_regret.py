"""How much better than a mix any other can be, in a program of segments.

For any prices lam (at least 0, but for equalities) the best value is at most

    sum_s w_s max_j (mu_j - lam.rows_j) + lam.right

with j among the columns of segment s (weak duality), and that holds for the true means as well. The column that attains
the true maximum of a segment is one fixed column, so no correction for their number is needed; but the noise of the
segments' columns adds up under one root. With sqrt(V) <= V / 2u + u / 2 the segments separate again: for each u this is
a bound, convex in lam and u, and cutting planes find the best lam. Their own program has a segment for each segment, a
column for each plane, and lam and u for its prices. At the prices on the way the largest sum with its own root is found
among the choices of columns that no other choice exceeds in both.

The prices of a basis give another bound, as in ``regret.py``: its value, and of each segment the largest reduced
cost, if that is positive. The noise of one segment's is taken together with that of the value, and those of the others
are added.
"""

from typing import NamedTuple

import numpy as np

from bestmix.answers.noisy_program import NoisyProgram, Optimum, maximised
from bestmix.answers.program_basis import ProgramSteps, program_steps
from bestmix.answers.regret import CLOSE, ROUNDS, with_events
from bestmix.answers.safety import freedoms
from bestmix.arrays import Flags, Floats
from bestmix.kernels import segments

STEPS = 40  # of the search for u
DUST = 1e-13  # of the largest objective: a regret that rounding left
MOST_CHOICES = 256  # of columns in the segments so far that are told apart
TINY = 1e-75  # a root of next to nothing, whose square is a number still


class Planes(NamedTuple):
    """Linear functions of (lam, u) below the parts of the bound: those of columns (n,), and the part they share.

    Slopes are by limit, and by u last: (n, R + 1) and (R + 1,).
    """

    value: Floats
    slope: Floats
    rest: float
    rest_slope: Floats


class Terms(NamedTuple):
    """Parts of the bound at given prices.

    Attributes
    ----------
    height, variance
        Of each column, were it the best of its segment (n,).
    rest, rest_variance
        What is there whatever the best columns are.
    height_slope, variance_slope, rest_slope, rest_variance_slope
        By limit: (n, R), (n, R), (R,), (R,).
    """

    height: Floats
    variance: Floats
    rest: float
    rest_variance: float
    height_slope: Floats
    variance_slope: Floats
    rest_slope: Floats
    rest_variance_slope: Floats


def least_bound(program: NoisyProgram, mixture: Floats, tail: float, prices: Floats, best: Optimum) -> float:
    """The lower bound on the regret: by fixed prices, looked for from the given ones on, or by those of the optimum."""
    wider = program._replace(data=with_events(program.data))
    return min(regret_bound(wider, mixture, tail, prices), basis_regret_bound(wider, mixture, tail, best))


def basis_regret_bound(program: NoisyProgram, mixture: Floats, tail: float, best: Optimum) -> float:
    """Bound on the regret of a mix by the prices of the optimum at the estimates; infinite where it has none.

    Prices of limits must not be negative, but for equalities: those of tight ones are to be surely positive.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # means near the end of floats
        steps = program_steps(program, best) if best.feasible else None
        found = np.inf if steps is None else _by_basis(program, mixture, tail, best, steps)
    return found if found >= 0.0 else np.inf


def _by_basis(program: NoisyProgram, mixture: Floats, tail: float, best: Optimum, steps: ProgramSteps) -> float:
    bound, n, segment = _Bound(program, mixture, tail, best.weights), len(mixture), program.segment
    aside, scored = bound.coefficients(steps.prices)
    nothing, share = np.zeros(n), program.weight[segment]
    tight = np.setdiff1d(np.flatnonzero(~program.layout.equality) + n, steps.basis)
    alone = steps.reduced + np.sqrt(
        steps.variances(bound.spread, 0.0 * aside, scored, nothing, np.ones(len(steps.reduced)))
    )
    if (alone[tight] > 0.0).any():
        return np.inf
    worth = float((best.weights - mixture) @ bound.mu)
    means = np.add.reduceat(mixture * bound.mu, bound.start) / np.where(program.weight > 0, program.weight, 1.0)
    lead = steps.totals - means  # of each segment, for shares that are estimated
    moved = bound.shared * (lead**2 @ program.weight - (lead @ program.weight) ** 2)
    size = np.r_[share, np.zeros(program.limits)]
    noise = steps.variances(bound.spread, aside, scored, best.weights, size)[:n] + moved
    # Each segment has a column in the basis, which stands for no step at all.
    together = share * steps.reduced[:n] + np.sqrt(np.maximum(noise, 0.0))
    others = program.weight * np.maximum(np.maximum.reduceat(alone[:n], bound.start), 0.0)
    first = np.maximum.reduceat(together, bound.start) + others.sum() - others
    result = worth + float(first.min())
    return result if result > DUST * float(np.abs(bound.mu).max(initial=0.0)) else 0.0


def regret_bound(program: NoisyProgram, mixture: Floats, tail: float, prices: Floats) -> float:
    """The best mix of these columns, all usable, earns at most so much more; missed with the chance ``tail``.

    ``prices`` (R,) are where the search begins, those of the optimum at the estimates being good ones.
    """
    free, bound = program.layout.equality, _Bound(program, mixture, tail)
    lam = np.where(np.isfinite(prices), np.where(free, prices, np.maximum(prices, 0.0)), 0.0)
    best = above = np.inf
    kept: list[tuple[Floats, Floats]] = [(np.empty(0), np.empty((0, len(free) + 1)))] * (len(bound.start) + 1)
    for k in range(ROUNDS):
        with np.errstate(over="ignore", invalid="ignore"):  # means near the end of floats
            terms = bound.terms(lam)
        if not all(np.isfinite(part).all() for part in terms):
            return max(best, 0.0)
        u = bound.best_root(terms)
        planes = bound.planes(terms, u)
        best = min(best, bound.largest(terms))
        above = min(above, float(np.maximum.reduceat(planes.value, bound.start).sum()) + planes.rest)
        kept = [_more(old, new) for old, new in zip(kept, bound.cut(planes, np.r_[lam, u], k == 0), strict=True)]
        plan = _lowest(kept, free)
        if plan is None or above - plan[0] <= CLOSE * abs(above):
            break
        lam = np.where(free, plan[1], np.maximum(plan[1], 0.0))
    return max(best, 0.0)


def _more(old: tuple[Floats, Floats], new: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return np.r_[old[0], new[0]], np.vstack([old[1], new[1]])


def _lowest(kept: list[tuple[Floats, Floats]], free: Flags) -> tuple[float, Floats] | None:
    """Least value of the planes' maxima, and the prices where it is; None where it has no end."""
    heights, slopes = np.concatenate([h for h, _ in kept]), np.vstack([s for _, s in kept])
    sizes, equality = np.array([len(h) for h, _ in kept]), np.r_[free, np.zeros(1, dtype=np.bool_)]
    solved = maximised(heights, -slopes, np.zeros(len(equality)), equality, np.ones(len(kept)), sizes)
    if solved.missing.any():
        return None
    prices = np.empty(len(equality))
    segments.prices(solved, prices)
    return float(segments.value(solved)), prices[:-1]


def _frontier(height: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Those that no other exceeds in both; where they are many, neighbours together with the larger of each."""
    order = np.lexsort((-variance, -height))
    height, variance = height[order], variance[order]
    top = np.r_[True, variance[1:] > np.maximum.accumulate(variance)[:-1]]
    height, variance = height[top], variance[top]
    step = -(-len(height) // MOST_CHOICES)
    return height[::step], np.maximum.reduceat(variance, np.arange(0, len(variance), step))


class _Bound:
    """The bound on the regret of a mix as a function of prices."""

    def __init__(self, program: NoisyProgram, mixture: Floats, tail: float, beside: Floats | float = 0.0) -> None:
        from scipy.special import stdtrit

        data, rules = program.data, program.layout
        self.mixture, self.right, self.segment = mixture, rules.right, program.segment
        self.mu, self.rows = program.entries()
        self.share, self.start = program.weight[program.segment], np.r_[0, np.cumsum(rules.sizes)[:-1]]
        self.turn = np.repeat(rules.transform, rules.sizes, axis=0)  # (n, 1 + R, M)
        fewest = freedoms(data)[mixture + beside > 0].min(initial=np.inf)
        quantile = -stdtrit(np.minimum(freedoms(data), fewest), tail)
        self.spread = data.covariances * (quantile**2 / data.counts)[:, None, None]
        most = float(quantile[mixture > 0].max(initial=0.0))
        self.shared = most**2 / program.arrivals if program.arrivals > 0 else 0.0
        # what limits relative to a column count it for, by each unit of price: (n, R)
        self.relative = np.zeros(self.rows.shape)
        for s, r in np.argwhere(rules.reference >= 0):
            self.relative[rules.reference[s, r], r] = program.weight[s] * rules.factor[r]

    def coefficients(self, lam: Floats) -> tuple[Floats, Floats]:
        """What each column's metrics (n, M) move at these prices: whatever the best mix is, and per share of it."""
        aside = np.einsum("nr,nrm->nm", self.relative * lam, self.turn[:, 1:]) - self.mixture[:, None] * self.turn[:, 0]
        return aside, self.turn[:, 0] - np.einsum("r,nrm->nm", lam, self.turn[:, 1:])

    def terms(self, lam: Floats) -> Terms:
        """Heights and variances at these prices: v'S v / n for the coefficients v of each column's metrics."""
        turn, share = self.turn, self.share[:, None]
        aside, scored = self.coefficients(lam)
        chosen = aside + share * scored
        without, within = (np.einsum("nij,nj->ni", self.spread, v) for v in (aside, chosen))
        height, root = self.share * (self.mu - self.rows @ lam), np.sqrt(np.where(self.share > 0, self.share, 1.0))
        means = np.add.reduceat(self.mixture * self.mu, self.start)[self.segment]
        above = (height - means) / root  # what a segment's share moves, for shares that are estimated
        base, own = (aside * without).sum(axis=1), (chosen * within).sum(axis=1)
        base_slope = 2.0 * self.relative * np.einsum("nm,nrm->nr", without, turn[:, 1:])
        own_slope = 2.0 * (self.relative - share) * np.einsum("nm,nrm->nr", within, turn[:, 1:])
        return Terms(
            height,
            own - base + self.shared * above**2,
            float(lam @ self.right - self.mixture @ self.mu),
            float(base.sum()),
            -share * self.rows,
            own_slope - base_slope - 2.0 * self.shared * (above * self.share / root)[:, None] * self.rows,
            self.right,
            base_slope.sum(axis=0),
        )

    def largest(self, terms: Terms) -> float:
        """The largest height plus root of variance over all choices of a column in each segment."""
        height, variance = np.array([terms.rest]), np.array([terms.rest_variance])
        for more, wider in zip(
            np.split(terms.height, self.start[1:]), np.split(terms.variance, self.start[1:]), strict=True
        ):
            height, variance = _frontier((height[:, None] + more).ravel(), (variance[:, None] + wider).ravel())
        return float((height + np.sqrt(np.maximum(variance, 0.0))).max())

    def best_root(self, terms: Terms) -> float:
        """The u with the least sum_s max_j (height_j + variance_j / 2u) + ... + u / 2, by golden section."""
        widest = np.maximum.reduceat(np.abs(terms.variance), self.start).sum()
        top = max(float(widest), terms.rest_variance)
        if not top > TINY**2 or len(self.start) == 1:
            return TINY

        def bound(log: float) -> float:
            planes = self.planes(terms, float(np.exp(log)))
            return float(np.maximum.reduceat(planes.value, self.start).sum()) + planes.rest

        low, high = 0.5 * np.log(top) - 12.0, 0.5 * np.log(2.0 * top)
        golden = (np.sqrt(5.0) - 1.0) / 2.0
        for _ in range(STEPS):
            left, right = high - golden * (high - low), low + golden * (high - low)
            low, high = (low, right) if bound(left) <= bound(right) else (left, high)
        return float(np.exp((low + high) / 2.0))

    def planes(self, terms: Terms, u: float) -> Planes:
        """The planes that touch the bound; with one segment each column's root is its own."""
        none = np.zeros((len(terms.height), 1))
        if len(self.start) == 1:
            root = np.sqrt(np.maximum(terms.variance + terms.rest_variance, 0.0))
            slope = (terms.variance_slope + terms.rest_variance_slope) / (2.0 * np.where(root > 0, root, 1.0))[:, None]
            return Planes(
                terms.height + root,
                np.hstack([terms.height_slope + slope, none]),
                terms.rest,
                np.r_[terms.rest_slope, 0.0],
            )
        less = np.r_[terms.rest_slope + terms.rest_variance_slope / (2.0 * u), 0.5 - terms.rest_variance / (2.0 * u**2)]
        return Planes(
            terms.height + terms.variance / (2.0 * u),
            np.hstack([terms.height_slope + terms.variance_slope / (2.0 * u), -terms.variance[:, None] / (2.0 * u**2)]),
            terms.rest + terms.rest_variance / (2.0 * u) + u / 2.0,
            less,
        )

    def cut(self, planes: Planes, at: Floats, everything: bool) -> list[tuple[Floats, Floats]]:
        """Heights at zero and slopes of the planes that may matter, by segment, and those of the rest."""
        result = []
        for value, slope in zip(
            np.split(planes.value, self.start[1:]), np.split(planes.slope, self.start[1:]), strict=True
        ):
            near = value >= value.max() - (np.inf if everything else 0.5 * np.ptp(value))
            result.append(((value - slope @ at)[near], slope[near]))
        rest = np.array([planes.rest - planes.rest_slope @ at])
        return [*result, (rest, planes.rest_slope[None])]
