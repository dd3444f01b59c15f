"""Good enough with segments, states, limits on shares, relative limits, partly known arms: ``enough`` on programs."""

from collections.abc import Callable

import numpy as np

from bestmix.answers import noisy_program, safety
from bestmix.answers.evidence import Evidence
from bestmix.answers.markov import seen_along
from bestmix.answers.noisy_program import NoisyProgram
from bestmix.answers.program_regret import least_bound
from bestmix.answers.program_safety import safe_program_mix
from bestmix.answers.programs import program_of, segment_shares
from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels.segment_allocation import capacities
from bestmix.problems.layouts import places
from bestmix.strategies.tolerance_stop import FAR, LIMITS, REGRET, SHARP, Gains, Tolerance, Verdict, margin_parts_gains


def judge(evidence: Evidence, delta: float, tolerance: Tolerance) -> Verdict | None:
    """The safe mix with the bound on its regret; None where no mix of the estimates keeps the limits."""
    program = program_of(evidence)
    best = noisy_program.solve(program)
    if not best.feasible:
        return None
    known = bool(program.judgeable and program.usable.all() and not evidence.vanishing.any())
    tail = delta * REGRET * max(best.chance or 0.0, safety.LEAST_CHANCE)

    def found(seen: NoisyProgram, weights: Floats, certified: bool) -> Verdict:
        inner, some = noisy_program.restricted(seen)
        mix, regret = weights[some.columns], np.inf
        if known:
            own = best if seen is program else noisy_program.solve(seen)
            regret = least_bound(inner, mix, tail, own.prices, own)
        return Verdict(_named(evidence, weights), regret, tolerance.of(float(mix @ inner.entries()[0])), certified)

    guess = found(program, best.weights, certified=False)
    if guess.regret > FAR * guess.tolerance:
        return guess
    level = 1.0 - delta * LIMITS
    seen, safe = seen_along(program, evidence.problem, lambda p: safe_program_mix(p, best.chance, level))
    return found(seen, safe.mixture, bool(safe.certified))


def _named(evidence: Evidence, weights: Floats) -> Floats:
    """Weights of the program's columns in the order of the problem's names (K,)."""
    result = np.zeros(len(weights))
    result[places(evidence.problem)] = weights
    return result


def regret_gains(evidence: Evidence, delta: float, size: int | None) -> Gains:
    """What trials do for the regret's bound and for the margin, by name: (K, K + L).

    The bound is sum_s max_j (T_j + V_j / 2u) with V the variance of what a column of segment s adds: those near the
    largest of their segment count. Where users arrive a segment has its share of ``size`` trials.
    """
    program, problem = program_of(evidence), evidence.problem
    at, best = places(problem), noisy_program.solve(program)
    prices = np.where(np.isfinite(best.prices), best.prices, 0.0)  # of either sign for equalities, which have no margin
    lam = np.where(program.layout.equality, 0.0, np.maximum(prices, 0.0))
    height, own, base = _terms(program, best.weights, np.where(program.layout.equality, prices, lam))
    parts = _margin_parts(program, best.weights, lam)
    level = np.sqrt(-2.0 * np.log(delta * REGRET))
    start, segment = np.r_[0, np.cumsum(program.layout.sizes)[:-1]], program.segment
    is_full, limits = _filling(evidence, program, size), len(evidence.problem.limits)

    def gains(counts: Floats) -> Floats:
        n = counts[at]
        near, root = _near(height, (own - base) / n, float((base / n).sum()), level, start, segment)
        gain = level * (base + near * np.maximum(own - base, 0.0)) / (2.0 * root)
        margin = margin_parts_gains(parts, lam, n, level)
        full = is_full(n)
        result = np.zeros((len(n), len(n) + limits))
        result[at, at] = np.where(full, 0.0, gain)
        result[at, len(n) :] = np.where(full[:, None], 0.0, margin)[:, :limits]
        return result

    return gains


def margin_gains(evidence: Evidence, size: int | None) -> Gains | None:
    """What trials do for the margin of the safe mix, by name: (K, K + L); None where it has none, or arms no trials.

    The margin costs sum_l lam_l se_l, up to a factor, with the prices and the mix of the optimum at the estimates.
    Where users arrive a segment has its share of ``size`` trials.
    """
    program, at = program_of(evidence), places(evidence.problem)
    best = noisy_program.solve(program)
    lam = np.where(np.isfinite(best.prices) & ~program.layout.equality, np.maximum(best.prices, 0.0), 0.0)
    parts = _margin_parts(program, best.weights, lam)
    if not program.usable.all() or not parts.any():
        return None
    is_full, limits = _filling(evidence, program, size), len(evidence.problem.limits)

    def gains(counts: Floats) -> Floats:
        n = counts[at]
        result = np.zeros((len(n), len(n) + limits))
        result[at, len(n) :] = np.where(is_full(n)[:, None], 0.0, margin_parts_gains(parts, lam, n, 1.0))[:, :limits]
        return result

    return gains


def _margin_parts(program: NoisyProgram, weights: Floats, lam: Floats) -> Floats:
    """Terms of the margins of limits at a mix, at their prices and for one trial (n, R).

    The mean of an arm that a limit is relative to counts with its weight less the factor.
    """
    rules = program.layout
    part = np.tile(weights[:, None], (1, len(lam)))
    for s, r in np.argwhere(rules.reference >= 0):
        part[rules.reference[s, r], r] -= rules.factor[r] * program.weight[s]
    turn = np.repeat(rules.transform[:, 1:], rules.sizes, axis=0)
    return np.asarray(lam * part**2 * np.einsum("nri,nij,nrj->nr", turn, program.data.covariances, turn))


def _filling(evidence: Evidence, program: NoisyProgram, size: int | None) -> Callable[[Floats], Flags]:
    """Of trials (n,), which columns are of segments that have no users left in a round of ``size``; None: there are."""
    begun, room = program.data.counts.copy(), capacities(segment_shares(evidence)[0], size or 0)

    def full(trials: Floats) -> Flags:
        return np.zeros(len(trials), np.bool_) if size is None else _full(trials - begun, room, program.segment)

    return full


def _full(trials: Floats, room: Integers, segment: Integers) -> Flags:
    """Columns of segments that have no users left in the round (n,); those that are known have none at all."""
    trials = np.where(np.isfinite(trials), trials, 0.0)
    return np.asarray(np.bincount(segment, trials, len(room)) >= room)[segment]


def _terms(program: NoisyProgram, weights: Floats, lam: Floats) -> tuple[Floats, Floats, Floats]:
    """Height of each column, and the variances of a trial of it where it is the best of its segment and where not."""
    (mu, rows), share = program.entries(), program.weight[program.segment]
    turn = np.repeat(program.layout.transform, program.layout.sizes, axis=0)
    aside = -weights[:, None] * turn[:, 0]
    chosen = aside + share[:, None] * (turn[:, 0] - np.einsum("r,nrm->nm", lam, turn[:, 1:]))
    own, base = (np.einsum("ni,nij,nj->n", v, program.data.covariances, v) for v in (chosen, aside))
    return share * (mu - rows @ lam), own, base


def _near(
    height: Floats, variance: Floats, rest: float, level: float, start: Integers, segment: Integers
) -> tuple[Floats, float]:
    """How much each column counts among those of its segment (n,), and the root of the bound's variance."""
    top = np.maximum.reduceat(height, start)[segment] == height
    root = np.sqrt(max(rest + float(np.maximum.reduceat(np.where(top, variance, 0.0), start).sum()), 1e-300))
    upper = height + level * variance / (2.0 * root)
    weight = np.exp(SHARP * (upper - np.maximum.reduceat(upper, start)[segment]) / (level * root))
    return weight / np.add.reduceat(weight, start)[segment], float(root)
