"""What a mix of a program is worth: how much better another can be, what it earns, and what segments add.

For any prices lam (at least 0, but for equalities) the best value is at most

    sum_s w_s max_j (mu_j - lam.rows_j) + lam.right

with j among the columns of segment s (weak duality). The column that attains the true maximum of a segment is one fixed
column, so no correction for their number is needed; but the noise of the segments' columns adds up under one root. With
sqrt(V) <= V / 2u + u / 2 the segments separate again, and the best u is found along with the prices.
"""

from typing import NamedTuple

import numpy as np

from bestmix.answers import program_cone
from bestmix.answers.certificate import CLOSE, ROUNDS
from bestmix.answers.noisy_program import NoisyProgram, restricted
from bestmix.answers.program_safety import ProgramLimits, common_arms, entry_margins
from bestmix.answers.safe_search import LEAST_CHANCE, affordable, search, trust
from bestmix.answers.safety import freedoms
from bestmix.arrays import Floats, Integers
from bestmix.problems.solution import solve_means

REWARD = slice(0, 1)
STEPS = 40  # of the search for u


class ProgramCertificate(NamedTuple):
    """What can be said about a mix with one certainty; None where it cannot."""

    regret: float  # the best mix of the usable columns earns at most so much more
    value: float
    value_interval: tuple[float, float]
    single: int | None  # the best arm that alone, in all segments, keeps the limits with the wanted certainty
    gain: float | None  # of the mix over it
    gain_interval: tuple[float, float] | None
    common: Floats | None  # the best mix that is the same in all segments, found as the mix was (n,)
    worth: float | None  # of segments: what the mix earns more than that
    worth_interval: tuple[float, float] | None


def certify_program(
    program: NoisyProgram,
    weights: Floats,
    chance: float | None,
    prices: Floats,
    level: float = 0.95,
    safety: float | None = 0.95,
) -> ProgramCertificate:
    """Certificate of a mix of usable columns (n,); ``prices`` are those of the optimum at the estimates.

    ``safety`` is the certainty that was asked of the mix, None for the optimum at the estimates: the mix that is the
    same in all segments is judged alike.
    """
    inner, some = restricted(program)
    x, risk = weights[some.columns], 1.0 - level
    single = safe_arm(inner, affordable(risk, trust(chance)))
    common = common_mix(inner, chance, safety) if len(program.weight) > 1 else None

    def against(other: Floats | None) -> tuple[float | None, tuple[float, float] | None]:
        if other is None:
            return None, None
        return float((x - other) @ inner.entries()[0]), value_interval(inner, x - other, risk)

    gain, worth = against(None if single is None else _alone(inner, single)), against(common)
    return ProgramCertificate(
        regret_bound(inner, x, risk * max(chance or 0.0, LEAST_CHANCE), prices),
        float(x @ inner.entries()[0]),
        value_interval(inner, x, risk),
        single,
        *gain,
        None if common is None else _everywhere(common, some.columns, len(weights)),
        *worth,
    )


def _everywhere(mix: Floats, columns: Integers, n: int) -> Floats:
    result = np.zeros(n)
    result[columns] = mix
    return result


def _alone(program: NoisyProgram, arm: int) -> Floats:
    """The mix of one arm in all segments."""
    return np.where(program.layout.arm == arm, program.weight[program.segment], 0.0)


def safe_arm(program: NoisyProgram, risk: float) -> int | None:
    """Best arm that alone, in all segments, keeps all limits by the rule of the safe mix; None when there is none."""
    limits, best, value = ProgramLimits(program), None, -np.inf
    cones = limits.cones(risk / max(int(limits.noisy.sum()), 1))
    for arm in np.unique(program.layout.arm):
        x, line = _alone(program, arm), limits.line
        served = np.bincount(line.segment, x, len(line.weight)) >= line.weight
        level = np.abs(x @ line.rows - line.right)[line.equality]
        if served.all() and not program_cone.fails(line, cones, x, 0.0).any() and (level < 1e-9).all():
            best, value = (int(arm), float(x @ line.mu)) if x @ line.mu > value else (best, value)
    return best


def common_mix(program: NoisyProgram, chance: float | None, safety: float | None) -> Floats | None:
    """Best mix that is the same in all segments (n,), safe or at the estimates; None when there is none."""
    arms = common_arms(program)
    if not arms.shape[1]:
        return None
    limits = ProgramLimits(program, arms)
    if safety is not None:
        found = search(limits, chance, safety)
        return found.mixture if found.certified else None
    mix, feasible = limits.optimum()
    return mix if feasible else None


def value_interval(program: NoisyProgram, weights: Floats, risk: float) -> tuple[float, float]:
    """Interval that misses a weighted sum of the columns' objective with at most the given chance; weights of any sign.

    As ``certificate.reward_interval``: the lower end holds for all columns at once.
    """
    from scipy.special import ndtri

    (mu, _), unknown = program.entries(), max(int(np.isfinite(program.data.counts).sum()), 1)
    low, high = risk / 2.0 / unknown, risk / 2.0
    up, down = weights > 0, weights < 0
    below = np.where(up, _objective_margins(program, low, -1.0), _objective_margins(program, low, 1.0))
    above = np.where(down, _objective_margins(program, high, -1.0), _objective_margins(program, high, 1.0))
    middle, share = float(weights @ mu), share_deviation(program, weights * mu)
    ends = [np.hypot(np.linalg.norm(weights * m), ndtri(1.0 - t) * share) for m, t in ((below, low), (above, high))]
    return middle - float(ends[0]), middle + float(ends[1])


def _objective_margins(program: NoisyProgram, tail: float, sign: float) -> Floats:
    return entry_margins(program, tail, sign, REWARD)[:, 0]


def share_deviation(program: NoisyProgram, parts: Floats) -> float:
    """Standard error of a sum over columns (n,) that comes from estimated shares of segments."""
    if program.arrivals <= 0:
        return 0.0
    weight = program.weight
    means = np.bincount(program.segment, parts, len(weight)) / np.where(weight > 0, weight, 1.0)
    return float(np.sqrt(weight @ (means - weight @ means) ** 2 / program.arrivals))


# --- the bound on the regret ---------------------------------------------------------------------------------


def regret_bound(program: NoisyProgram, mixture: Floats, tail: float, prices: Floats) -> float:
    """W = min over lam of the bound at lam, by cutting planes from the given prices (R,)."""
    free, dual = program.layout.equality, _Dual(program, mixture, tail)
    lam, best = np.where(np.isfinite(prices), np.where(free, prices, np.maximum(prices, 0.0)), 0.0), np.inf
    heights, slopes = np.empty(0), np.empty((0, len(lam)))
    for _ in range(ROUNDS):
        value, slope = dual.planes(lam)
        best = min(best, float(value.max()))
        heights, slopes = np.r_[heights, value - slope @ lam], np.vstack([slopes, slope])
        signed = np.hstack([slopes, -slopes[:, free]])  # a price of either sign is the difference of two
        plan = solve_means(np.column_stack([heights, -signed]), np.zeros(signed.shape[1]))
        if plan.status == "infeasible" or best - plan.value <= CLOSE * abs(best):
            break
        lam = np.maximum(plan.dual[: len(free)], 0.0)
        lam[free] -= np.maximum(plan.dual[len(free) :], 0.0)
    return max(best, 0.0)


class _Dual:
    """The bound at given prices, and planes below it."""

    def __init__(self, program: NoisyProgram, mixture: Floats, tail: float) -> None:
        from scipy.special import stdtrit

        data, rules = program.data, program.layout
        self.program, self.mixture = program, mixture
        self.mu, self.rows = program.entries()
        self.share, self.start = program.weight[program.segment], np.r_[0, np.cumsum(rules.sizes)[:-1]]
        self.turn = np.repeat(rules.transform, rules.sizes, axis=0)  # (n, 1 + R, M)
        fewest = freedoms(data)[mixture > 0].min(initial=np.inf)
        quantile = -stdtrit(np.minimum(freedoms(data), fewest), tail)
        self.spread = data.covariances * (quantile**2 / data.counts)[:, None, None]
        self.quantile = float(quantile[mixture > 0].max(initial=0.0))
        # what limits relative to a column count it for, by each unit of price: (n, R)
        self.relative = np.zeros(self.rows.shape)
        for s, r in np.argwhere(rules.reference >= 0):
            self.relative[rules.reference[s, r], r] = program.weight[s] * rules.factor[r]

    def planes(self, lam: Floats) -> tuple[Floats, Floats]:
        """Values at lam of functions below the bound, the largest being the bound itself, and their slopes (., R)."""
        turn, share = self.turn, self.share[:, None]
        aside = np.einsum("nr,nrm->nm", self.relative * lam, turn[:, 1:]) - self.mixture[:, None] * turn[:, 0]
        chosen = aside + share * (turn[:, 0] - np.einsum("r,nrm->nm", lam, turn[:, 1:]))
        seen, both = (np.einsum("nij,nj->ni", self.spread, v) for v in (aside, chosen))
        base, own = (aside * seen).sum(axis=1), (chosen * both).sum(axis=1)
        height = self.share * (self.mu - self.rows @ lam)
        means = np.add.reduceat(self.mixture * self.mu, self.start)[self.program.segment]
        shifted = (height - means) / np.sqrt(np.where(self.share > 0, self.share, 1.0))
        arrivals = self.program.arrivals
        wide = self.quantile**2 / arrivals if arrivals > 0 else 0.0
        variance = own - base + wide * shifted**2
        fixed, constant = float(base.sum()), float(lam @ self.program.layout.right - self.mixture @ self.mu)
        column = [np.einsum("nm,nrm->nr", v, turn[:, 1:]) for v in (seen, both)]
        aslope = 2.0 * self.relative * column[0]  # of base
        cslope = 2.0 * (self.relative - share) * column[1]  # of own
        dslope = cslope - aslope - 2.0 * wide * (shifted * np.sqrt(self.share))[:, None] * self.rows
        if len(self.start) == 1:
            root = np.sqrt(np.maximum(variance + fixed, 0.0))
            slope = (dslope + aslope.sum(axis=0)) / (2.0 * np.where(root > 0, root, 1.0))[:, None]
            return height + root + constant, -share * self.rows + slope + self.program.layout.right
        u = self._best_root(height, variance, fixed)
        total = height + variance / (2.0 * u)
        top = np.array(
            [
                first + int(np.argmax(part))
                for first, part in zip(self.start, np.split(total, self.start[1:]), strict=True)
            ]
        )
        value = total[top].sum() + fixed / (2.0 * u) + u / 2.0 + constant
        slope = (-share * self.rows)[top].sum(axis=0) + (dslope[top].sum(axis=0) + aslope.sum(axis=0)) / (2.0 * u)
        return np.array([value]), (slope + self.program.layout.right)[None]

    def _best_root(self, height: Floats, variance: Floats, fixed: float) -> float:
        """The u for which sum_s max_j (height_j + variance_j / 2u) + fixed / 2u + u / 2 is least, by golden section."""
        most = np.sqrt(max(np.maximum.reduceat(variance, self.start).sum() + fixed, 0.0))
        if most == 0.0:
            return 1e-300

        def bound(log: float) -> float:
            u = np.exp(log)
            top = np.maximum.reduceat(height + variance / (2.0 * u), self.start)
            return float(top.sum() + fixed / (2.0 * u) + u / 2.0)

        low, high = np.log(most) - 12.0, float(np.log(most))
        golden = (np.sqrt(5.0) - 1.0) / 2.0
        for _ in range(STEPS):
            left, right = high - golden * (high - low), low + golden * (high - low)
            low, high = (low, right) if bound(left) <= bound(right) else (left, high)
        return float(np.exp((low + high) / 2.0))
