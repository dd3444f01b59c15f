"""Rounds where arms have features: a trial of any arm helps every condition, as far as the fit carries it there.

The conditions and their weights are those of ``kernels/conditions.py``; what a trial does for one is how much less the
variance of its gap becomes. With u the features that the condition weighs, and s_c the variance of a trial of arm c
along its direction, the best fit leaves the variance

    V = u' A^-1 u,   A = sum_c n_c phi_c phi_c' / s_c,   dV/dn_c = -(phi_c' A^-1 u)^2 / s_c
"""

from typing import NamedTuple

import numpy as np

from bestmix.answers import certainty, safety
from bestmix.answers.evidence import Evidence
from bestmix.answers.linear_fit import LinearFit, solved
from bestmix.answers.regret import quantiles, with_events
from bestmix.arrays import Floats
from bestmix.kernels import allocation, conditions, feasibility, jit, simplex, stopping
from bestmix.problems.solution import check_settled, solve_means
from bestmix.strategies import money, tolerance_stop
from bestmix.strategies.protocol import Memory

LEAST_NOISE = 1e-8  # of the largest variance of a trial: an arm without noise settles what it is about at once
TINY = 1e-300  # next to nothing, in any unit


class Sight(NamedTuple):
    """The optimum at the fitted means with its conditions, and their z-scores (n,)."""

    evidence: Evidence
    fit: LinearFit
    data: safety.Estimates
    state: conditions.State
    z: Floats

    @property
    def least(self) -> float:
        """The smallest z-score."""
        return float(np.nanmin(self.z, initial=np.inf))


def look(evidence: Evidence, fit: LinearFit, memory: Memory) -> Sight:
    """Solve the program at the fitted means, from the basis of the round before."""
    problem, data = evidence.problem, evidence.estimates
    state = certainty.state_of(data)
    state.basis.column[: len(memory["basis"])] = memory["basis"]
    speed = jit.speed_for(state.scatter.size)
    check_settled(speed(conditions.solve)(evidence.means, problem.bound, np.arange(len(problem.columns)), state))
    speed(conditions.conditions)(state)
    certainty.count_correlations(state, data)
    return Sight(evidence, fit, data, state, certainty.settled_z_scores(state))


def stops(settings: conditions.Settings, seen: Sight) -> bool:
    """Whether the answer is sure enough, by the tails of the conditions' z-scores: their sum, and the largest."""
    from scipy.special import ndtr

    if not allocation.stops_itself(settings):
        return False
    tails = ndtr(-np.nan_to_num(seen.z, nan=np.inf))
    total, largest = float(tails.sum()), float(tails.max(initial=0.0))
    if settings.tail > 0.0 and total <= settings.tail:
        return True
    delta = stopping.allowed(settings, int(seen.fit.counts.sum()), len(seen.fit.counts))
    return total <= settings.margin * delta and largest <= settings.single * delta


class Variances:
    """Variances of some linear functions of the means as functions of the trials, and what a trial takes off them.

    ``coefficients`` (J, K0) are of the arms, ``directions`` (J, 1 + L) of the goal and the limits.
    """

    def __init__(self, seen: Sight, coefficients: Floats, directions: Floats) -> None:
        # Where a metric is not linear a trial of an arm tells of that arm alone.
        self.rows = np.eye(len(seen.fit.counts)) if seen.fit.refuted.any() else seen.fit.design
        self.wanted = coefficients @ self.rows  # u (J, d)
        noise = seen.evidence.problem.rows.scatters(seen.fit.covariances)
        spread = np.maximum(np.einsum("ji,cik,jk->jc", directions, noise, directions), 0.0)  # s (J, K0)
        largest = spread.max(axis=1, initial=0.0, keepdims=True)
        # Conditions along the same direction have the same fit; a direction without noise has nothing to learn.
        self.size = largest[:, 0]
        relative = np.maximum(spread / np.where(largest > 0.0, largest, 1.0), LEAST_NOISE)
        self.noise, self.which = np.unique(relative, axis=0, return_inverse=True)
        self.factor = np.ones(len(coefficients))

    def scaled(self, trials: Floats, exact: Floats) -> "Variances":
        """The same, as far as what is known leaves of them: with these trials they are ``exact`` (J,)."""
        found = self.at(trials)[0]
        self.factor = np.divide(exact, found, out=np.zeros(len(found)), where=found > TINY)
        return self

    def at(self, trials: Floats) -> tuple[Floats, Floats]:
        """With so many trials of each arm (K0,): the variances (J,), and what one more trial takes off (J, K0)."""
        variance, less = np.empty(len(self.wanted)), np.empty((len(self.wanted), len(trials)))
        for k, noise in enumerate(self.noise):
            some = self.which == k
            told = self.rows * np.sqrt(trials / noise)[:, None]
            aim = solved(told.T @ told, self.wanted[some].T)  # A^-1 u (d, J)
            variance[some] = np.maximum((self.wanted[some] * aim.T).sum(axis=1), 0.0)
            less[some] = (self.rows @ aim).T ** 2 / noise
        scale = self.size * self.factor
        return scale * variance, scale[:, None] * less


def condition_gains(seen: Sight, reserve: conditions.Reserve) -> money.Gains:
    """What trials do for the conditions in doubt (K0, n + 1); the last column is whether any mix keeps the limits."""
    state, counts = seen.state, np.maximum(seen.fit.counts, 1.0)
    gap = np.where(np.isinf(seen.z), np.inf, state.gap)
    with np.errstate(invalid="ignore", divide="ignore"):
        exact = np.where(np.isfinite(seen.z) & (seen.z != 0), (state.gap / seen.z) ** 2, 0.0)
    exact = np.where(seen.z == 0, certainty.condition_variances(state, seen.data)[0], exact)
    doubts = Variances(seen, *certainty.condition_weights(state)).scaled(counts, exact)
    feasible = _feasible(seen)
    least: list[float] = []

    def gains(trials: Floats, share: float) -> Floats:
        if feasible is not None and share < 1.0 - allocation.REST:
            less = feasible.at(trials)[1][0]
            return np.column_stack([np.zeros((len(trials), len(gap))), less * trials**2])
        late = share >= 1.0 - reserve.share
        if late and (behind := _neglected(seen, trials, reserve.floor)) is not None:
            return np.outer(np.arange(len(trials)) == behind, np.arange(len(gap) + 1) == behind).astype(np.float64)
        spread, less = doubts.at(trials)
        square = money.squares(gap, spread)
        least.append(float(square.min(initial=np.inf)))
        weight = money.weighed(square, spread, least[0], reserve if late else None)
        return np.column_stack([(weight[:, None] * less).T * trials[:, None] ** 2, np.zeros(len(trials))])

    return gains


def _neglected(seen: Sight, trials: Floats, floor: float) -> int | None:
    """The arm of the answer with the fewest trials, if these are below a share of all: it is to speak for itself too.

    What is deployed rests on the fit alone otherwise. None while it is in doubt whether any mix keeps the limits.
    """
    basis = seen.state.basis.column
    inside = basis[basis < len(trials)]
    if not len(inside) or feasibility.says_infeasible(seen.state):
        return None
    least = int(inside[np.argmin(trials[inside])])
    return least if trials[least] < floor * trials.sum() else None


def _feasible(seen: Sight) -> Variances | None:
    """The widest margin that a mix keeps from all bounds, where it is in doubt that there is one; else None."""
    state, unknown, costs = seen.state, len(seen.fit.counts), seen.state.program.u.shape[1]
    speed, safe = jit.speed_for(state.scatter.size), simplex.new_basis(costs)
    if speed(feasibility.beyond_doubt)(state):
        return None
    known = unknown < len(seen.data.means)
    if known and speed(feasibility.widest_margin)(unknown, state, safe) >= 0.0:
        return None
    margin = speed(feasibility.widest_margin)(0, state, safe)
    if not np.isfinite(margin):
        return None
    mix, tried = np.zeros((1, unknown)), safe.column < unknown
    mix[0, safe.column[tried]] = simplex.weights(safe)[tried]
    direction = np.r_[0.0, simplex.prices(safe)[:costs] / state.scale[2:]]
    found = Variances(seen, mix, direction[None])
    variance = float(found.at(np.maximum(seen.fit.counts, 1.0))[0][0])
    return found if margin**2 < feasibility.DOUBT**2 * variance else None


def margin_gains(seen: Sight) -> money.Gains | None:
    """What trials do for the margin that the safe mix keeps from its limits (K0, n + 1); None where it has none."""
    guess = solve_means(seen.data.means, seen.evidence.problem.bound)
    lam = np.where(np.isfinite(guess.dual), np.maximum(guess.dual, 0.0), 0.0)
    return money.plain_gains(_Margins(seen, guess.mixture, lam, 1.0).gains) if lam.any() else None


class _Margins:
    """What trials do for sum_l lam_l q sqrt(V_l), with the mean costs of a mix: lam_l q / (2 sqrt(V_l)) for each."""

    def __init__(self, seen: Sight, mixture: Floats, lam: Floats, q: float) -> None:
        unknown, limits = len(seen.fit.counts), len(lam)
        self.lam, self.q, self.before = lam, q, len(seen.data.means)
        directions = np.eye(1 + limits)[1:]
        self.noise = Variances(seen, np.tile(mixture[:unknown], (limits, 1)), directions)

    def gains(self, trials: Floats) -> Floats:
        variance, less = self.noise.at(trials)
        worth = self.q * self.lam / (2.0 * np.sqrt(np.maximum(variance, TINY)))
        margins = np.where(variance > 0.0, worth, 0.0)[:, None] * less
        nothing = np.zeros((len(trials), self.before)), np.zeros((len(trials), 1))
        return np.column_stack([nothing[0], margins.T * trials[:, None] ** 2, nothing[1]])


def regret_gains(seen: Sight, chance: float, delta: float) -> money.Gains:
    """What trials do for the bound on the regret and for the margin (K0, n + 1), as ``tolerance_stop.regret_gains``."""
    data, bound, unknown = seen.data, seen.evidence.problem.bound, len(seen.fit.counts)
    guess, chance = solve_means(data.means, bound), max(chance, safety.LEAST_CHANCE)
    lam = np.where(np.isfinite(guess.dual), np.maximum(guess.dual, 0.0), 0.0)
    wider, tail = with_events(data), delta * tolerance_stop.REGRET * chance
    level = data.means[:, 0] - (data.means[:, 1:] - bound) @ lam - guess.value
    q = quantiles(wider, guess.mixture, tail)
    # Arm j's bound has the noise of its own score less that of the mix.
    arms = np.eye(len(level)) - guess.mixture
    noise = Variances(seen, arms[:, :unknown], np.tile(np.r_[1.0, -lam], (len(level), 1)))
    made = safety.Guess(guess.mixture, guess.status != "infeasible", lam)
    odds = safety.choice(safety.CostLimits(data, bound), chance, made).odds
    risk = safety.affordable(delta * tolerance_stop.LIMITS, odds) / max(len(bound), 1)
    margins = _Margins(seen, guess.mixture, lam, float(quantiles(data, guess.mixture, risk).min(initial=np.inf)))

    def gains(trials: Floats) -> Floats:
        variance, less = noise.at(trials)
        deviation = np.sqrt(variance)
        upper = level + q * deviation
        top = int(np.argmax(upper))
        near = np.exp(tolerance_stop.SHARP * (upper - upper[top]) / max(deviation[top], TINY))
        worth = q * near / near.sum() / (2.0 * np.where(deviation > 0, deviation, np.inf))
        result = margins.gains(trials)
        result[:, : len(level)] += (worth[:, None] * less).T * trials[:, None] ** 2
        return result

    return money.plain_gains(gains)
