"""How sure the answer is: the K + L conditions that keep a basis optimal, each with its z-score.

A basis stays optimal exactly while its weights are positive and no other column has a positive
reduced cost. By the delta method each of these margins has a standard error; that of a weight is taken
where the weight is zero, which is where the answer would change. The product of their chances of holding
estimates the chance that the support is right: for rare failures it is one minus the sum of the tails,
and it stays meaningful when several conditions are in doubt. What the trials favour also looks likely to them: with few
trials and many rivals close by, or with noise that makes a good trial a cheap one, less is true than it says.

The conditions are weak: a weight or a reduced cost of exactly zero that no trial can move holds for ever. Such are arms
that cost exactly their bound at a known price.
"""

import numpy as np

from bestmix.answers.correlations import floored, mean_covariances
from bestmix.answers.evidence import Evidence
from bestmix.answers.safety import Estimates
from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels import conditions, jit, simplex
from bestmix.problems.solution import Solution

DUST = 1e-9  # of a weight or a reduced cost in the program's own scale: rounding


def z_scores(evidence: Evidence, solution: Solution, data: Estimates | None = None) -> Floats | None:
    """Distance of each column's condition from failing, in standard errors (K + L,); by other estimates, if given.

    For a column of the basis the condition is a positive weight, for any other a negative reduced
    cost. NaN where an arm has no trials; None when there is no spread to go by.
    """
    if evidence.pooled is None or solution.status != "optimal":
        return None
    data = evidence.support_estimates if data is None else data
    return basis_z_scores(data, evidence.problem.bound, np.array(solution.basis))


def basis_z_scores(data: Estimates, bound: Floats, basis: Integers) -> Floats | None:
    """The same of the columns of a basis, by estimates in which known arms come last; None for a singular basis."""
    state = _loaded(data, bound, basis)
    if state is None:
        return None
    return settled_z_scores(state)[:-1]


def settled_z_scores(state: conditions.State) -> Floats:
    """Those of all columns, the elastic one too (n,): without noise a condition holds or not, whatever trials say."""
    z, gap = jit.speed_for(state.scatter.size)(conditions.z_scores)(state), state.gap
    z[np.isinf(z) & (gap < -DUST)] = -np.inf
    z[_harmless(state, np.isinf(z) & (np.abs(gap) <= DUST))] = np.inf
    z[np.isnan(gap)] = np.nan
    return np.asarray(z)


def tied(evidence: Evidence, solution: Solution) -> bool:
    """Whether other mixes earn exactly as much at the estimates, by differences that have no spread at all.

    Such are arms with one and the same reward. The conditions of the support hold, but it is not the only right one,
    and of values of 0 and 1 that were the same in all trials it is not even known that they are equal.
    """
    if evidence.pooled is None or solution.status != "optimal":
        return False
    state = _loaded(evidence.support_estimates, evidence.problem.bound, np.array(solution.basis))
    if state is None:
        return False
    z = jit.speed_for(len(state.gap) * evidence.means.shape[1] ** 2)(conditions.z_scores)(state)
    still = np.isinf(z) & (np.abs(state.gap) <= DUST)
    other = still & ~_harmless(state, still)
    other[state.basis.column] = False
    return bool(other[:-1].any())


def _loaded(data: Estimates, bound: Floats, basis: Integers) -> conditions.State | None:
    """The conditions of a basis with their variances; None for a singular one."""
    state = state_of(data)
    state.basis.column[:] = basis
    columns = np.arange(len(data.means) + len(bound))
    speed = jit.speed_for(len(columns) * data.means.shape[1] ** 2)
    if not speed(conditions.load_basis)(data.means, bound, columns, state):
        return None
    speed(conditions.conditions)(state)
    if data.shared is not None:
        count_correlations(state, data)
    return state


def state_of(data: Estimates) -> conditions.State:
    """Arrays for the conditions of a basis by these estimates, in which known arms come last; it is to be found."""
    counts = data.counts[np.isfinite(data.counts)].astype(np.int64)
    unknown, (arms, size) = len(counts), data.means.shape
    state = conditions.new_state(unknown, arms, size - 1)
    state.counts[:], state.pooled[:] = counts, 0.0
    # Covariances that are blended already, and zero for a price: as scatter with nothing to blend it with.
    weight = np.maximum(counts - 1, 0) + conditions.PRIOR
    state.scatter[:] = data.covariances[:unknown] * weight[:, None, None]
    return state


def count_correlations(state: conditions.State, data: Estimates) -> None:
    """Multiply the terms of each condition's variance, so that it is the one with what arms have in common."""
    together, apart = condition_variances(state, data)
    factor = np.divide(floored(together, apart, data.fitted), apart, out=np.ones_like(apart), where=apart > 0)
    state.own[:] *= factor
    state.coefficient[:] *= factor


def condition_variances(state: conditions.State, data: Estimates) -> tuple[Floats, Floats]:
    """Variance of each condition's gap (n,), with what arms have in common, and as if they had nothing."""
    means, basis = _mean_covariances(data, len(state.counts)), state.basis.column
    weights, directions = condition_weights(state)
    others = np.ones(len(weights), dtype=np.bool_)
    others[basis] = False
    together, apart = np.zeros(len(weights)), np.zeros(len(weights))
    # All conditions of columns outside the basis have the same noise, that of reward - lambda.cost.
    for some in [np.flatnonzero(others), *basis[:, None]]:
        direction = directions[some[0]]
        noise = (means.reshape(-1, direction.size**2) @ np.outer(direction, direction).ravel()).reshape(means.shape[:2])
        together[some], apart[some] = _quadratic(weights[some], noise)
    return together, apart


def condition_weights(state: conditions.State) -> tuple[Floats, Floats]:
    """What moves each condition's gap: the means of arms with weights (n, K0), along a direction (n, 1 + L).

    Dual: the arm itself less its coordinates in the basis, along reward - lambda.cost. Primal: the other arms of the
    basis along g_i.cost, where the weight is zero.
    """
    unknown, costs = len(state.counts), state.program.u.shape[1]
    basis, inverse = state.basis.column, simplex.inverse(state.basis)
    price, scale = simplex.prices(state.basis), state.scale
    directions = np.tile(np.r_[1.0, -price[:costs]] / scale[1:], (len(state.gap), 1))
    coordinates = np.column_stack([state.program.u, state.program.e]) @ inverse.T
    weights = np.zeros((len(state.gap), unknown))
    weights[:unknown] = np.eye(unknown)
    tried = basis < unknown
    weights[:, basis[tried]] -= coordinates[:, tried]
    weights[np.isnan(weights).any(axis=1)] = 0.0
    for i, column in enumerate(basis):
        share = inverse[:, costs].copy()
        rest = 1.0 - max(share[i], 0.0) if state.program.e[column] != 0.0 else 1.0
        share[i] = 0.0
        weights[column] = 0.0
        weights[column, basis[tried]] = share[tried] / rest if rest > 0 else 0.0
        directions[column] = np.r_[0.0, inverse[i, :costs] / scale[2:]]
    return weights, directions


def _mean_covariances(data: Estimates, unknown: int) -> Floats:
    """Covariances of the means of all arms that are tried (K0, K0, 1 + L, 1 + L); zero for one without trials."""
    tried = np.maximum(data.counts[:unknown], 1.0)
    spread = data.covariances[:unknown] / tried[:, None, None]
    errors = np.sqrt(np.diagonal(spread, axis1=1, axis2=2))
    shared = data.shared if data.shared is not None else np.zeros((unknown, unknown, *spread.shape[1:]))
    result = mean_covariances(shared[:unknown, :unknown], errors)
    result[np.arange(unknown), np.arange(unknown)] = spread
    return result


def _quadratic(weights: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Variance of each row of weights, w'Nw, and the part of it that is on the diagonal of N."""
    return np.asarray((weights @ noise * weights).sum(axis=1)), weights**2 @ np.diagonal(noise)


def _harmless(state: conditions.State, zero: Flags) -> Flags:
    """Columns whose entry would only push out a weight that is zero and stays so: the basis changes, not the mix.

    Such are all columns outside the basis whose first step is blocked by such a weight: their coordinate on it is
    positive.
    """
    basis = state.basis.column
    coordinates = np.column_stack([state.program.u, state.program.e]) @ simplex.inverse(state.basis).T
    result = np.asarray((coordinates[:, zero[basis]] > DUST).any(axis=1))
    result[basis] = False
    return result


def support_probability(z: Floats | None) -> float | None:
    """Product of the chances that each condition holds; None when it cannot be said."""
    if z is None or np.isnan(z).any():
        return None
    from scipy.special import ndtr

    return float(np.prod(ndtr(z)))
