"""Where the next trials help most: the conditions that keep the current answer, and their weakest points.

The optimal basis stays optimal exactly while its weights are positive (primal conditions) and no other
column has a positive reduced cost (dual conditions). Each condition has a gap G, and by the delta method
a variance V = own / n_j + sum_i coefficient_i / n_i, with n the numbers of trials of the condition's own
arm and of the arms of the basis. Trials go, a chunk at a time, to the arm that most reduces the sum over
conditions of the chance that the answer is wrong because of it.

An extra column, elastic and heavily priced, makes the program feasible whatever the estimates are: with
it in the basis the answer is that no mix is feasible, and its own condition says how sure that is.
"""

import math
from typing import NamedTuple

import numpy as np

from bestmix.kernels import columns, sifting, simplex
from bestmix.kernels.jit import Floats, Integers, compiled

Settings = tuple[float, int, float, float]  # first share, rounds, delta, tails; the last two are 0 for no stop

CHUNKS = 10  # decisions in a round, at least
EACH = 8  # arms for each of them, where there are many
RESERVED = 0.2  # share of them, the last ones, that look past the condition most in doubt: perhaps nothing resolves it
LEAST = 3  # trials of each arm in the first round, at least
FIRST = 10  # and as many where the budget does not say, because the run ends when it is sure
GROWTH = 0.1  # there a round's share of the trials made so far
PENALTY = 1e6  # price of the elastic column, in units of the reward spread
PRIOR = 5.0  # trials' worth of the pooled scatter that each arm's own is blended with
NEGLIGIBLE = 80.0  # a squared z-score that is so much larger than the least one has no weight
TIE = 1e-9  # scores of arms that differ by less than this share count as equal


class State(NamedTuple):
    """What a decision works on, for n columns (the elastic one is the last), L costs and the arms that are tried.

    Attributes
    ----------
    mu, u, e, scale, basis, work
        The linear program as ``simplex.py`` has it: (n,), (n, L), (n,), (L + 2,), (1 + L,).
    counts, scatter, pooled
        Trials of each arm, their scatter (arms, 1 + L, 1 + L), and the pooled covariance of one trial.
    gap, own, coefficient
        Each column's condition, (n,), and the terms of its variance: own (n,) and by basis row (n, 1 + L).
    """

    mu: Floats
    u: Floats
    e: Floats
    scale: Floats
    basis: Integers
    work: Floats
    counts: Integers
    scatter: Floats
    pooled: Floats
    gap: Floats
    own: Floats
    coefficient: Floats


@compiled
def new_state(unknown: int, arms: int, costs: int) -> State:
    """Arrays for so many arms that are tried, of so many in all; the basis is to be found."""
    n, d = arms + costs + 1, 1 + costs
    return State(
        np.empty(n),
        np.empty((n, costs)),
        np.empty(n),
        np.empty(costs + 2),
        np.full(d, -1),
        simplex.workspace(costs),
        np.zeros(unknown, dtype=np.int64),
        np.zeros((unknown, d, d)),
        np.zeros((d, d)),
        np.empty(n),
        np.empty(n),
        np.empty((n, d)),
    )


@compiled
def solve(means: Floats, bound: Floats, everything: Integers, state: State) -> int:
    """Elastic program of all columns, from ``basis``; a simplex status."""
    mu, u, e, basis, work = state.mu, state.u, state.e, state.basis, state.work
    n, costs = u.shape
    columns.load(means, bound, everything, mu[: n - 1], u[: n - 1], e[: n - 1])
    mu[n - 1], e[n - 1] = -PENALTY, 0.0
    for l in range(costs):
        u[n - 1, l] = -1.0
    columns.rescale(mu, u, e, state.scale)
    if n <= sifting.SMALL:
        status = simplex.maximise(mu, u, e, basis, work)
    else:
        status = sifting.maximise(mu, u, e, basis, work)
    if status == simplex.OPTIMAL:
        simplex.set_prices(mu, basis, work, simplex.VALUE)
    return status


@compiled
def pool(state: State) -> None:
    """Pooled covariance of a trial; as wide as the arms are apart when no arm has two trials."""
    counts, scatter, scale, result = state.counts, state.scatter, state.scale, state.pooled
    freedom = 0
    result[:] = 0.0
    for a in range(counts.shape[0]):
        freedom += max(counts[a] - 1, 0)
        result += scatter[a]
    if freedom > 0:
        result /= freedom
        return
    for i in range(result.shape[0]):
        result[i, i] = scale[1 + i] * scale[1 + i]


@compiled
def variance(direction: Floats, common: float, count: int, scatter: Floats) -> float:
    """Variance of a trial along a direction, blended with the pooled one."""
    total = 0.0
    for i in range(direction.shape[0]):
        inner = 0.5 * scatter[i, i] * direction[i]
        for k in range(i):
            inner += scatter[i, k] * direction[k]
        total += 2.0 * direction[i] * inner
    return (total + PRIOR * common) / (count - 1 + PRIOR)


@compiled
def conditions(state: State) -> None:
    """Gap of each column's condition, and the terms of its variance."""
    mu, u, e, scale, basis, work = state.mu, state.u, state.e, state.scale, state.basis, state.work
    counts, scatter, pooled = state.counts, state.scatter, state.pooled
    gap, own, coefficient = state.gap, state.own, state.coefficient
    n, costs = u.shape
    m, unknown = costs + 1, counts.shape[0]
    direction, noise = np.empty(1 + costs), np.zeros(m)
    # dual: d_j = mu_j - lambda.u_j - v e_j, with the noise of reward - lambda.cost
    direction[0] = 1.0 / scale[1]
    for l in range(costs):
        direction[1 + l] = -work[m + 1, l] / scale[2 + l]
    common = variance(direction, 0.0, 1, pooled) * PRIOR
    for i in range(m):
        if basis[i] < unknown:
            noise[i] = variance(direction, common, counts[basis[i]], scatter[basis[i]])
    for j in range(n):
        gap[j] = -simplex.reduced_cost(mu, u, e, work[m + 1], j)
        own[j] = 0.0
        if j < unknown:
            own[j] = variance(direction, common, counts[j], scatter[j])
        for i in range(m):
            y = 0.0
            if noise[i] > 0.0:
                y = work[i, costs] * e[j]
                for l in range(costs):
                    y += work[i, l] * u[j, l]
            coefficient[j, i] = y * y * noise[i]
    gap[n - 1] = np.inf
    # primal: x_i, with the noise of g_i.cost in the other arms of the basis, at the point where x_i is zero
    direction[0] = 0.0
    for i in range(m):
        j = basis[i]
        gap[j], own[j] = max(work[i, costs], 0.0), 0.0
        rest = 1.0 - gap[j] if e[j] != 0.0 else 1.0
        for l in range(costs):
            direction[1 + l] = work[i, l] / scale[2 + l]
        common = variance(direction, 0.0, 1, pooled) * PRIOR
        for k in range(m):
            coefficient[j, k] = 0.0
            if k != i and basis[k] < unknown and rest > 0.0:
                share = work[k, costs] / rest
                coefficient[j, k] = share * share * variance(direction, common, counts[basis[k]], scatter[basis[k]])


@compiled
def spread_of(j: int, state: State) -> float:
    """Variance of condition j's gap."""
    own, coefficient, counts, basis = state.own, state.coefficient, state.counts, state.basis
    spread = own[j] / counts[j] if own[j] > 0.0 else 0.0
    for i in range(basis.shape[0]):
        if coefficient[j, i] > 0.0:
            spread += coefficient[j, i] / counts[basis[i]]
    return float(spread)


@compiled
def z_scores(state: State) -> Floats:
    """Distance of each condition from failing, in standard errors; infinite where it cannot fail."""
    z = np.empty(state.gap.shape[0])
    for j in range(state.gap.shape[0]):
        spread = spread_of(j, state)
        z[j] = state.gap[j] / math.sqrt(spread) if spread > 0.0 else np.inf
    return z


@compiled
def closest(gap: Floats, spread: Floats) -> int:
    """The condition with the smallest z-score of those that trials can change; 0 if there is none."""
    chosen, least = 0, np.inf
    for j in range(gap.shape[0]):
        if spread[j] > 0.0 and gap[j] * gap[j] / spread[j] < least:
            chosen, least = j, gap[j] * gap[j] / spread[j]
    return chosen


@compiled
def weigh(first: int, last: int, gap: Floats, spread: Floats, least: float, weight: Floats) -> None:
    """What a unit of variance less is worth to conditions: exp(-z^2/2) / ((1 + z) V), up to a common factor."""
    for j in range(first, last):
        weight[j] = 0.0
        if spread[j] > 0.0:
            square = gap[j] * gap[j] / spread[j]
            if square - least < NEGLIGIBLE:
                weight[j] = math.exp(0.5 * (least - square)) / ((1.0 + math.sqrt(square)) * spread[j])


@compiled
def allocate(state: State, size: int, arm: Integers, reason: Integers, owed: Integers) -> int:
    """Give the ``size`` trials of a round to arms, a chunk at a time; returns the number of chunks.

    ``arm`` and ``reason`` (decisions(unknown),) receive each chunk's arm and the condition that it was mostly spent on,
    ``owed`` (unknown,) the trials of each arm.
    """
    gap, own, coefficient, basis, counts = state.gap, state.own, state.coefficient, state.basis, state.counts
    n, m = coefficient.shape
    unknown = counts.shape[0]
    trials, spread, weight = np.empty(unknown), np.empty(n), np.empty(n)
    for a in range(unknown):
        trials[a], owed[a] = counts[a], 0
    least = np.inf
    for j in range(n):
        spread[j] = spread_of(j, state)
        if spread[j] > 0.0:
            least = min(least, gap[j] * gap[j] / spread[j])
    weigh(0, n, gap, spread, least, weight)
    step, given, chunk = chunk_size(size, unknown), 0, 0
    reserved = decisions(unknown) - int(RESERVED * decisions(unknown))
    while given < size:
        some = min(step, size - given)
        if chunk >= reserved:
            weight[closest(gap, spread)] = 0.0
        best, chosen, row = 0.0, -1, -1
        for i in range(m):
            if basis[i] < unknown:
                total = 0.0
                for j in range(n):
                    total += weight[j] * coefficient[j, i]
                value = total / (trials[basis[i]] * trials[basis[i]])
                if value > best * (1.0 + TIE):
                    best, chosen, row = value, basis[i], i
        for j in range(unknown):
            value = weight[j] * own[j] / (trials[j] * trials[j])
            if value > best * (1.0 + TIE):
                best, chosen, row = value, j, -1
        if chosen < 0:  # nothing is in doubt: keep the numbers of trials even
            chosen = int(np.argmin(trials))
        arm[chunk], reason[chunk] = chosen, chosen
        less = 1.0 / trials[chosen] - 1.0 / (trials[chosen] + some)
        most = 0.0
        for j in range(n):
            if row >= 0:
                spread[j] -= coefficient[j, row] * less
                if weight[j] * coefficient[j, row] > most:
                    most, reason[chunk] = weight[j] * coefficient[j, row], j
        if row < 0:
            spread[chosen] -= own[chosen] * less
        alone = row < 0 and chunk < reserved  # only the arm's own condition has changed
        weigh(chosen if alone else 0, chosen + 1 if alone else n, gap, spread, least, weight)
        trials[chosen] += some
        owed[chosen] += some
        given, chunk = given + some, chunk + 1
    return chunk


@compiled
def decisions(unknown: int) -> int:
    """Chunks in a round, at most."""
    return max(CHUNKS, unknown // EACH)


@compiled
def chunk_size(size: int, unknown: int) -> int:
    """Trials in a chunk of a round of ``size``; the last one may be smaller."""
    return (size + decisions(unknown) - 1) // decisions(unknown)


@compiled
def first_pulls(budget: int, unknown: int, settings: Settings) -> int:
    """Trials of each arm in the first round."""
    if unknown == 0:
        return 0
    share, _, delta, tail = settings
    some = FIRST if delta > 0.0 or tail > 0.0 else max(LEAST, int(share * budget / unknown))
    return min(some, budget // unknown)


@compiled
def round_size(budget: int, unknown: int, spent: int, settings: Settings) -> int:
    """Trials of the next round; none when the budget is spent."""
    _, rounds, delta, tail = settings
    if unknown == 0:
        return 0
    if delta > 0.0 or tail > 0.0:
        size = max(unknown, int(GROWTH * spent))
    else:
        later = budget - unknown * first_pulls(budget, unknown, settings)
        size = (later + rounds - 1) // rounds
    return min(size, budget - spent)


@compiled
def chance(state: State) -> float:
    """Product of the chances that each condition holds, by its z-score."""
    result = 1.0
    for j in range(state.gap.shape[0]):
        spread = spread_of(j, state)
        if spread > 0.0:
            result *= 0.5 * math.erfc(-state.gap[j] / math.sqrt(2.0 * spread))
    return result
