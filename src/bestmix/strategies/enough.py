"""Good enough: a mix that keeps the limits, and that no other mix beats by more than a tolerance.

A run stops as soon as a safe mix is certified and the bound on its regret is within the tolerance. Which arms are in
the best mix need not be known for that: of two equal arms either will do. The rounds in between reduce what is in the
way: the bound on the regret, and the margin that the safe mix keeps from the limits. Where they are known all the same,
the bound is that of their mixes, which has less noise.
"""

from collections.abc import Callable
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from bestmix import checks
from bestmix.answers import safety
from bestmix.answers.certificate import SURE, least_bound, quantiles
from bestmix.arrays import Floats, Integers
from bestmix.kernels import chunks
from bestmix.problems.solution import Solution, solve_means

LIMITS = 1 / 2  # of delta: that a limit is broken
LIMITS_IF_SURE = 1 / 8  # and where the support is taken for granted: it becomes sure when its costs look low
REGRET = 1 / 20  # of delta: that the regret is larger than its bound, at any one look; there are many
FAR = 1.5  # times the tolerance: where the optimum at the estimates has such a regret no safe mix is looked for
SHARP = 4.0  # how much more the arms near the maximum of the regret's bound count than the others


class Tolerance(NamedTuple):
    """How much a mix may earn less than the best one: an amount of reward, or a share of what it earns."""

    amount: float
    relative: bool

    def of(self, value: float) -> float:
        """The amount for a mix that earns so much."""
        return self.amount * abs(value) if self.relative else self.amount


def parse_tolerance(tolerance: float | str) -> Tolerance:
    """An amount of reward, or a text such as "1%" for a share of the value.

    >>> parse_tolerance(0.01), parse_tolerance("1%").of(value=50.0)
    (Tolerance(amount=0.01, relative=False), 0.5)
    """
    relative = isinstance(tolerance, str) and tolerance.strip().endswith("%")
    text = tolerance.strip().removesuffix("%") if isinstance(tolerance, str) else tolerance
    try:
        amount = float(text)
    except (TypeError, ValueError):
        amount = np.nan
    if isinstance(tolerance, bool) or not 0 < amount < np.inf:
        raise checks.InvalidInput(
            "tolerance",
            expected="a positive amount of reward, or a share of it such as '1%'",
            got=checks.shown(tolerance),
            remedy="give how much less than the best would do",
        )
    return Tolerance(amount / 100 if relative else amount, relative)


class Verdict(NamedTuple):
    """A mix and what is certain of it."""

    mixture: Floats  # (K,)
    regret: float  # the best mix earns at most so much more
    tolerance: float
    certified: bool  # that all limits are kept

    @property
    def enough(self) -> bool:
        """Whether the run may stop."""
        return self.certified and self.regret <= self.tolerance

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "mixture": self.mixture.tolist(),
            "regret": self.regret if np.isfinite(self.regret) else None,
            "certified": bool(self.certified),
            "enough": bool(self.enough),
        }


def judge(
    data: safety.Estimates, bound: Floats, chance: float, delta: float, tolerance: Tolerance, sure: bool
) -> Verdict:
    """The safe mix with the bound on its regret.

    ``chance`` is that of the support of the optimum at the estimates; ``sure``, whether that may be taken for granted.
    """
    guess = solve_means(data.means, bound)
    tail = delta * REGRET * max(chance, safety.LEAST_CHANCE)

    def found(limits: float, known: bool) -> Verdict:
        least = least_bound(data, guess.mixture, bound, tail, guess.dual, known)
        allowed = tolerance.of(guess.value)
        if guess.status == "infeasible" or least > FAR * allowed:
            return Verdict(guess.mixture, least, allowed, certified=False)
        safe = safety.safe_mix(data, bound, chance, 1.0 - delta * limits)
        regret = least_bound(data, safe.mixture, bound, tail, guess.dual, known)
        return Verdict(safe.mixture, regret, tolerance.of(float(safe.mixture @ data.means[:, 0])), safe.certified)

    anyhow = found(LIMITS, known=False)
    return found(LIMITS_IF_SURE, known=True) if sure and not anyhow.enough else anyhow


def is_for_regret(verdict: Verdict, least: float, delta: float, before: bool) -> bool:
    """Whether the next round is for the bound on the regret and the margin; else it is for the support.

    They alternate, ``before`` being what the last round was for. But where the support is nearer to being sure, by its
    ``least`` z-score, than the bound is to the tolerance, rounds are for it until it is, and then for the bound. Both
    get nearer with the root of the trials.

    >>> far = Verdict(np.ones(1), regret=0.5, tolerance=0.1, certified=False)
    >>> [is_for_regret(far, least, 0.05, before=False) for least in (0.1, 2.0, 3.0)]
    [True, False, True]
    """
    wanted = -NormalDist().inv_cdf(SURE * delta)
    if verdict.regret <= verdict.tolerance or wanted * verdict.tolerance >= max(least, 0.0) * verdict.regret:
        return not before
    return least >= wanted


class Plan(NamedTuple):
    """Trials of each arm in a round (K0,), and for each arm what they are for: columns and trials."""

    trials: Integers
    reasons: dict[int, dict[int, int]]


Gains = Callable[[Floats], Floats]  # of trials so far (K,), what each arm's variance counts for, by column


def regret_gains(data: safety.Estimates, bound: Floats, chance: float, delta: float, sure: bool) -> Gains:
    """What trials do for the regret's bound and for the margin (K, K + L).

    The bound of arm j is T_j + q sqrt(V_j), V_j = sum_a k_ja / n_a; those near the largest one count, by
    h_j ~ exp(SHARP (U_j - U) / sqrt(V_top)). The margin costs lam_l q_l sqrt(sum_a p_a^2 var_al / n_a). Both are
    taken at the optimum of the estimates: the safe mix avoids the arms that need trials. Where its support is ``sure``
    there is one bound, whose only noise is that of the costs at their prices.
    """
    guess, chance = solve_means(data.means, bound), max(chance, safety.LEAST_CHANCE)
    lam = np.where(np.isfinite(guess.dual), np.maximum(guess.dual, 0.0), 0.0)
    terms = _terms(data, guess, lam)
    level = data.means[:, 0] - (data.means[:, 1:] - bound) @ lam - guess.value
    q = quantiles(data, guess.mixture, delta * REGRET * chance)
    made = safety.Guess(guess.mixture, guess.status != "infeasible", lam)
    odds = safety.choice(safety.CostLimits(data, bound), chance, made).odds
    risk = safety.affordable(delta * (LIMITS_IF_SURE if sure else LIMITS), odds) / max(len(bound), 1)
    limit = quantiles(data, guess.mixture, risk).min(initial=np.inf)
    variances = np.diagonal(data.covariances, axis1=1, axis2=2)[:, 1:]
    parts = lam * guess.mixture[:, None] ** 2 * variances  # of each margin (K, L), times its trials

    costly = guess.mixture**2 * np.einsum("i,aij,j->a", lam, data.covariances[:, 1:, 1:], lam)

    def gains(counts: Floats) -> Floats:
        regret = _support_gains(costly, counts, q) if sure else _regret_gains(terms, counts, level, q)
        return np.hstack([regret, margin_parts_gains(parts, lam, counts, limit)])

    return gains


def margin_gains(data: safety.Estimates, bound: Floats, unknown: int) -> Gains | None:
    """What trials do for the margin of the safe mix (K, K + L); None where it has none.

    The margin costs sum_l lam_l se_l, up to a factor, with the prices and the mix of the optimum at the estimates.
    """
    guess = solve_means(data.means, bound)
    lam = np.where(np.isfinite(guess.dual), np.maximum(guess.dual, 0.0), 0.0)
    parts = lam * guess.mixture[:, None] ** 2 * np.diagonal(data.covariances, axis1=1, axis2=2)[:, 1:]
    if not parts[:unknown].any():
        return None

    def gains(counts: Floats) -> Floats:
        return np.hstack([np.zeros((len(counts), len(counts))), margin_parts_gains(parts, lam, counts, 1.0)])

    return gains


def plan_trials(gains: Gains, counts: Floats, size: int, unknown: int) -> Plan:
    """Give a round's trials, a chunk at a time, to the arm whose gain for its trials so far is the largest."""
    counts, trials, reasons = np.array(counts), np.zeros(unknown, dtype=np.int64), dict[int, dict[int, int]]()
    step = chunks.chunk_size(size, unknown)
    while (some := min(step, size - int(trials.sum()))) > 0:
        gain = gains(counts)[:unknown]
        total = gain.sum(axis=1) / counts[:unknown] ** 2
        arm = int(np.argmax(total)) if total.max(initial=0.0) > 0 else int(np.argmin(counts[:unknown]))
        spent = reasons.setdefault(arm, {})
        column = int(np.argmax(gain[arm]))
        spent[column] = spent.get(column, 0) + some
        trials[arm] += some
        counts[arm] += some
    return Plan(trials, reasons)


def _terms(data: safety.Estimates, guess: Solution, lam: Floats) -> Floats:
    """k_ja (K, K): terms of the variance of arm j's bound, for one trial of arm a."""
    p = guess.mixture
    w = np.column_stack([1.0 - p, np.broadcast_to(-lam, (len(p), len(lam)))])
    terms = np.tile(p**2 * data.covariances[:, 0, 0], (len(p), 1))
    np.fill_diagonal(terms, np.einsum("ai,aij,aj->a", w, data.covariances, w))
    return terms


def _support_gains(terms: Floats, counts: Floats, q: Floats) -> Floats:
    """Entries q k_a / sqrt(V) for arm a, by its own column (K, K): where the support is known there is one bound."""
    deviation = np.sqrt((terms / counts).sum())
    return np.diag(q * terms / deviation if deviation > 0 else np.zeros(len(q)))


def _regret_gains(terms: Floats, counts: Floats, level: Floats, q: Floats) -> Floats:
    """Entries q h_j k_ja / sqrt(V_j) for arm a and bound j (K, K)."""
    deviation = np.sqrt((terms / counts).sum(axis=1))
    upper = level + q * deviation
    top = int(np.argmax(upper))
    near = np.exp(SHARP * (upper - upper[top]) / deviation[top]) if deviation[top] > 0 else upper == upper[top]
    weight = q * near / near.sum() / np.where(deviation > 0, deviation, np.inf)
    return np.asarray((weight[:, None] * terms).T)


def margin_parts_gains(parts: Floats, lam: Floats, counts: Floats, q: float) -> Floats:
    """Entries q lam_l p_a^2 var_al / margin_l for arm a and limit l (K, L); ``parts`` without q and the margin."""
    squared = (parts / counts[:, None]).sum(axis=0) / np.where(lam > 0, lam, 1.0)
    return np.asarray(q * parts / np.where(squared > 0, np.sqrt(squared), np.inf))
