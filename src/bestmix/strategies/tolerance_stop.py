"""Good enough: a mix that keeps the limits, and that no other mix beats by more than a tolerance.

A run stops as soon as a safe mix is certified and the bound on its regret is within the tolerance. Which arms are in
the best mix need not be known for that: of two equal arms either will do. The rounds in between reduce what is in the
way: the bound on the regret, and the margin that the safe mix keeps from the limits.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bestmix import checks
from bestmix.answers import safety
from bestmix.answers.basis import basis_steps
from bestmix.answers.regret import basis_regret_bound, least_bound, quantiles, with_events
from bestmix.arrays import Floats, Integers
from bestmix.kernels import chunks
from bestmix.problems.solution import Solution, solve_means

LIMITS = 1 / 4  # of delta: that a limit is broken, at any one look; there are many
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


def judge(data: safety.Estimates, bound: Floats, chance: float, delta: float, tolerance: Tolerance) -> Verdict:
    """The safe mix with the bound on its regret; ``chance`` is that of the support of the optimum at the estimates."""
    guess = solve_means(data.means, bound)
    tail = delta * REGRET * max(chance, safety.LEAST_CHANCE)

    def regret(mixture: Floats) -> float:
        return least_bound(data, mixture, bound, tail, guess.dual, guess)

    least, allowed = regret(guess.mixture), tolerance.of(guess.value)
    if guess.status == "infeasible" or least > FAR * allowed:
        return Verdict(guess.mixture, least, allowed, certified=False)
    safe = safety.safe_mix(data, bound, chance, 1.0 - delta * LIMITS)
    value = float(safe.mixture @ data.means[:, 0])
    return Verdict(safe.mixture, regret(safe.mixture), tolerance.of(value), safe.certified)


class Plan(NamedTuple):
    """Trials of each arm in a round (K0,), and for each arm what they are for: columns and trials."""

    trials: Integers
    reasons: dict[int, dict[int, int]]


Gains = Callable[[Floats], Floats]  # of trials so far (K,), what each arm's variance counts for, by column


def regret_gains(data: safety.Estimates, bound: Floats, chance: float, delta: float, by_basis: bool) -> Gains:
    """What trials do for the regret's bound and for the margin (K, K + L).

    The bound of arm j is T_j + q sqrt(V_j), V_j = sum_a k_ja / n_a; those near the largest one count, by
    h_j ~ exp(SHARP (U_j - U) / sqrt(V_top)). The margin costs lam_l q_l sqrt(sum_a p_a^2 var_al / n_a). Both are
    taken at the optimum of the estimates: the safe mix avoids the arms that need trials. The bound is the lower one of
    two, where that by the prices of the basis may be taken (``by_basis``).
    """
    guess, chance = solve_means(data.means, bound), max(chance, safety.LEAST_CHANCE)
    lam = np.where(np.isfinite(guess.dual), np.maximum(guess.dual, 0.0), 0.0)
    wider, tail = with_events(data) if by_basis else data, delta * REGRET * chance
    terms = _terms(wider, guess, lam)
    level = data.means[:, 0] - (data.means[:, 1:] - bound) @ lam - guess.value
    q = quantiles(data, guess.mixture, tail)
    made = safety.Guess(guess.mixture, guess.status != "infeasible", lam)
    odds = safety.choice(safety.CostLimits(data, bound), chance, made).odds
    risk = safety.affordable(delta * LIMITS, odds) / max(len(bound), 1)
    limit = quantiles(data, guess.mixture, risk).min(initial=np.inf)
    variances = np.diagonal(data.covariances, axis1=1, axis2=2)[:, 1:]
    parts = lam * guess.mixture[:, None] ** 2 * variances  # of each margin (K, L), times its trials

    if by_basis and np.isfinite(basis_regret_bound(wider, guess.mixture, bound, tail, guess)):
        terms, level = _lower(wider, bound, guess, (terms, level), q)

    def gains(counts: Floats) -> Floats:
        return np.hstack([_regret_gains(terms, counts, level, q), margin_parts_gains(parts, lam, counts, limit)])

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


def _lower(
    data: safety.Estimates, bound: Floats, guess: Solution, fixed: tuple[Floats, Floats], q: Floats
) -> tuple[Floats, Floats]:
    """Terms and levels of the bounds by fixed prices, or of those by the prices of the basis if these are lower."""
    steps = basis_steps(data.means, bound, guess)
    terms = np.zeros_like(fixed[0])
    for k, arm in enumerate(steps.inside):
        w = np.outer(guess.mixture[arm] + steps.change[: len(terms), k], steps.score)
        w[:, 0] -= guess.mixture[arm]
        terms[:, arm] = np.einsum("ni,ij,nj->n", w, data.covariances[arm], w)
    outside = np.setdiff1d(np.arange(len(terms)), steps.inside)
    terms[outside, outside] = np.einsum("i,nij,j->n", steps.score, data.covariances[outside], steps.score)
    own = terms, steps.reduced[: len(terms)]
    return min(own, fixed, key=lambda pair: float((pair[1] + q * np.sqrt((pair[0] / data.counts).sum(axis=1))).max()))


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
