"""The conditions that keep the current answer: how far each is from failing, in standard errors.

The optimal basis stays optimal exactly while its weights are positive (primal conditions) and no other
column has a positive reduced cost (dual conditions). Each condition has a gap G, and by the delta method
a variance V = own / n_j + sum_i coefficient_i / n_i, with n the numbers of trials of the condition's own
arm and of the arms of the basis.

An extra column, elastic and heavily priced, makes the program feasible whatever the estimates are: with
it in the basis the answer is that no mix is feasible, and its own condition says how sure that is.

Conditions are those of one run, or of several with a lane for each (``lanes.py``).
"""

import math
from typing import NamedTuple

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import columns, sifting, simplex
from bestmix.kernels.columns import ONE_COST, OVER_512, Program, fixed, fixed_rows
from bestmix.kernels.jit import borrowing, compiled, inlined
from bestmix.kernels.lanes import at, either, larger, put
from bestmix.kernels.simplex import Basis


class Reserve(NamedTuple):
    """The last chunks of a round, which look past the condition most in doubt: perhaps nothing resolves it.

    Attributes
    ----------
    share
        Of a round's chunks. A run that cannot end before that condition is resolved needs none.
    floor
        Share of all trials that each arm of the answer is to have; the reserve is for that first. Where an arm of the
        best mix had bad luck, others are close to each other, and which of them is the best may take all trials.
    doubt
        Z-score that some other condition has to be below: where all others are clear there is nothing else to resolve.
    """

    share: float = 0.2
    floor: float = 0.0
    doubt: float = np.inf


RESERVE = Reserve()


class Settings(NamedTuple):
    """How a run is spent, and when it stops.

    Attributes
    ----------
    share, rounds
        Of a fixed budget: the share of the first round, and the rounds after it.
    delta, tail
        The chance of a wrong answer at which it stops, with a margin and as a heuristic; 0 for no stop.
    reserve
        What the last chunks of a round are for.
    growth
        A round's share of the trials made so far, where the run ends when it is sure.
    margin, single
        Parts of delta that the sum of the tails, and one tail, may be: they are looked at many times, and the sum of
        many is larger than the chance that any fails, where one is not.
    early
        How much less is allowed at first: after as many trials as the first round has, delta / (1 + early).
    weak
        Whether weights and reduced costs of exactly zero that no trial can move hold; else such a run never stops.
    events
        Whether values of 0 and 1 that were all alike count as if the next trial may bring another one.
    """

    share: float
    rounds: int
    delta: float
    tail: float
    reserve: Reserve = RESERVE
    growth: float = 0.1
    margin: float = 0.6
    single: float = 0.45
    early: float = 0.0
    weak: bool = False
    events: bool = False


PENALTY = 1e6  # price of the elastic column, in units of the reward spread
PRIOR = 5.0  # trials' worth of the pooled scatter that each arm's own is blended with
WIDTH = 4  # conditions that a decision adds up at once
BY_ROW = 11  # rows of a decision's space before those of the terms by row of the basis
ROUNDING = 1e-12  # of a sum of squares: what is left where rewards and costs cancel
VAST = 1e200  # the variance of what overflows: nothing is known of it


class State(NamedTuple):
    """What a decision works on, for n columns (the elastic one is the last), L costs and the arms that are tried.

    Attributes
    ----------
    program, scale, basis
        The linear program as ``simplex.py`` has it.
    counts, scatter, pooled
        Trials of each arm, their scatter (arms, 1 + L, 1 + L), and the pooled covariance of one trial.
    gap, own, coefficient
        Each column's condition, (n,), and the terms of its variance: own (n,) and by basis row (1 + L, n).
    space
        Of the decision, as ``chunks.py`` has it.
    """

    program: Program
    scale: Floats
    basis: Basis
    counts: Integers
    scatter: Floats
    pooled: Floats
    gap: Floats
    own: Floats
    coefficient: Floats
    space: Floats


@compiled
def new_state(unknown: int, arms: int, costs: int) -> State:
    """Arrays for so many arms that are tried, of so many in all; the basis is to be found."""
    n, d = arms + costs + 1, 1 + costs
    return State(
        columns.new_program(n, costs),
        np.empty(costs + 2),
        simplex.new_basis(costs),
        np.zeros(unknown, dtype=np.int64),
        np.zeros((unknown, d, d)),
        np.zeros((d, d)),
        np.empty(n),
        np.empty(n),
        np.empty((d, n)),
        np.empty((BY_ROW + d, (n + d + WIDTH - 1) // WIDTH * WIDTH + WIDTH)),
    )


@inlined
def solve(means: Floats, bound: Floats, everything: Integers, state: State) -> int:
    """Elastic program of all columns, from ``basis``; a simplex status."""
    load_elastic(means, bound, everything, state.program)
    columns.rescale(state.program, state.scale)
    return maximise(state.program, state.basis)


@borrowing
def maximise(program: Program, basis: Basis) -> int:
    """Solve the program of these columns, many or few, and set its prices; a simplex status."""
    if OVER_512 and program.mu.shape[0] > sifting.SMALL:
        status = sifting.maximise(program, basis)
    else:
        status = simplex.maximise(program, basis)
    if status == simplex.OPTIMAL:
        simplex.set_prices(program, basis, simplex.VALUE)
    return status


@compiled
def load_basis(means: Floats, bound: Floats, everything: Integers, state: State) -> bool:
    """All columns with the program's answer given as ``basis``, in its scale; False when that is no basis.

    The answer may be that of some of the columns only, and an arm without trials has means that are NaN: so has its
    condition.
    """
    program, basis = state.program, state.basis
    load_elastic(means, bound, everything, program)
    columns.measure(columns.pick(program, basis.column), state.scale)
    columns.apply(state.scale, program)
    if not simplex.invert(program, basis):
        return False
    simplex.set_prices(program, basis, simplex.VALUE)
    return True


@borrowing
def load_elastic(means: Floats, bound: Floats, everything: Integers, program: Program) -> None:
    """Write all columns, unscaled, and the elastic one."""
    n, costs = program.u.shape[0], program.u.shape[1]
    columns.load(means, bound, everything, columns.part(program, 0, n - 1))
    program.mu[n - 1], program.e[n - 1] = -PENALTY, 0.0
    for l in range(costs):
        program.u[n - 1, l] = -1.0


@inlined
def pool(state: State) -> None:
    """Pooled covariance of a trial; as wide as the arms are apart when no arm has two trials."""
    known = pool_scatter(state.counts, state.scatter, state.pooled)
    for i in range(state.pooled.shape[0]):
        state.pooled[i, i] = either(known, state.pooled[i, i], state.scale[1 + i] * state.scale[1 + i])


@inlined
def pool_scatter(counts: Integers | Floats, scatter: Floats, pooled: Floats) -> bool:
    """Pooled covariance of a trial; False, and zero, when no arm has two trials."""
    m, freedom = fixed_rows(pooled.shape[0]), 0.0
    for a in range(counts.shape[0]):
        freedom = freedom + larger(counts[a] - 1, 0)
    divisor = larger(freedom, 1)
    if ONE_COST and m == 2:
        pool_two(scatter, divisor, pooled)
        return freedom > 0
    for i in range(m):
        for k in range(i + 1):
            total = 0.0
            for a in range(counts.shape[0]):
                total = total + scatter[a, i, k]
            pooled[i, k] = total / divisor
            pooled[k, i] = pooled[i, k]
    return freedom > 0


@inlined
def pool_two(scatter: Floats, freedom: float, pooled: Floats) -> None:
    """Pooled covariance of a reward and one cost: three sums at a time, for one would wait for itself."""
    first, both, second = 0.0, 0.0, 0.0
    for a in range(scatter.shape[0]):
        first = first + scatter[a, 0, 0]
        both = both + scatter[a, 1, 0]
        second = second + scatter[a, 1, 1]
    pooled[0, 0], pooled[0, 1] = first / freedom, both / freedom
    pooled[1, 0], pooled[1, 1] = pooled[0, 1], second / freedom


@compiled
def blend(counts: Integers, scatter: Floats, pooled: Floats) -> Floats:
    """Covariance of a trial of each arm, its own blended with the pooled one (arms, 1 + L, 1 + L)."""
    result = np.empty_like(scatter)
    for a in range(counts.shape[0]):
        result[a] = (scatter[a] + PRIOR * pooled) / (max(counts[a] - 1, 0) + PRIOR)
    return result


@inlined
def variance(direction: Floats, common: float, count: float, scatter: Floats) -> float:
    """Variance of a trial along a direction, blended with the pooled one; never infinite."""
    total, apart = 0.0, 0.0
    for i in range(fixed_rows(direction.shape[0])):
        inner = 0.5 * scatter[i, i] * direction[i]
        apart = apart + inner * direction[i]
        for k in range(i):
            inner = inner + scatter[i, k] * direction[k]
        total = total + 2.0 * direction[i] * inner
    return blended(unless_rounding(total, apart), common, count)


@inlined
def variance_of(a: float, direction: Floats, common: float, counts: Integers | Floats, scatter: Floats) -> float:
    """``variance`` of an arm, which may be another one in each lane, along a direction without the reward."""
    total, apart = 0.0, 0.0
    for i in range(1, fixed_rows(direction.shape[0])):
        inner = 0.5 * at(scatter[:, i, i], a) * direction[i]
        apart = apart + inner * direction[i]
        for k in range(1, i):
            inner = inner + at(scatter[:, i, k], a) * direction[k]
        total = total + 2.0 * direction[i] * inner
    return blended(unless_rounding(total, apart), common, at(counts, a))


@inlined
def unless_rounding(total: float, apart: float) -> float:
    """A sum of squares along a direction; none where rewards and costs hang together so that rounding alone is left.

    ``apart`` is half of what it would be if they were uncorrelated.
    """
    return either(total <= ROUNDING * apart, 0.0, total)


@inlined
def blended(scatter: float, common: float, count: float) -> float:
    """Variance of one value from its scatter in so many trials and the pooled variance; never infinite."""
    result = (scatter + PRIOR * common) / (count - 1 + PRIOR)
    return either(result < np.inf, result, VAST)


@inlined
def conditions(state: State) -> None:
    """Gap of each column's condition, and the terms of its variance."""
    u, e, scale = state.program.u, state.program.e, state.scale
    basis, inverse, price = state.basis.column, simplex.inverse(state.basis), simplex.prices(state.basis)
    counts, scatter, pooled = state.counts, state.scatter, state.pooled
    gap, own, coefficient = state.gap, state.own, state.coefficient
    n, costs = u.shape[0], fixed(u.shape[1])
    m, unknown = costs + 1, counts.shape[0]
    direction, noise = state.space[0, :m], state.space[1, :m]
    # dual: d_j = mu_j - lambda.u_j - v e_j, with the noise of reward - lambda.cost
    direction[0] = 1.0 / scale[1]
    for l in range(costs):
        direction[1 + l] = -price[l] / scale[2 + l]
    common = variance(direction, 0.0, 1, pooled) * PRIOR
    for j in range(n):
        gap[j], own[j] = -simplex.reduced_cost(state.program, price, j), 0.0
    for j in range(unknown):
        own[j] = variance(direction, common, counts[j], scatter[j])
    for i in range(m):
        noise[i] = at(own, basis[i])
        for j in range(n):
            y = inverse[i, costs] * e[j]
            for l in range(costs):
                y = y + inverse[i, l] * u[j, l]
            coefficient[i, j] = either(noise[i] > 0.0, y * y * noise[i], 0.0)
    gap[n - 1] = np.inf
    # primal: x_i, with the noise of g_i.cost in the other arms of the basis, at the point where x_i is zero
    for i in range(m):
        j, weight = basis[i], larger(inverse[i, costs], 0.0)
        put(gap, j, weight)
        put(own, j, 0.0)
        rest = either(j < n - 1 - costs, 1.0 - weight, 1.0)
        direction[0] = 0.0
        for l in range(costs):
            direction[1 + l] = inverse[i, l] / scale[2 + l]
        common = variance(direction, 0.0, 1, pooled) * PRIOR
        for k in range(m):
            put(coefficient[k], j, 0.0)
            if k != i and unknown > 0:
                moved = (basis[k] < unknown) & (rest > 0.0)
                share = inverse[k, costs] / rest
                spread = variance_of(either(moved, basis[k], 0), direction, common, counts, scatter)
                put(coefficient[k], j, either(moved, share * share * spread, 0.0))


@inlined
def spread_of(j: int, state: State, counts: Integers | Floats) -> float:
    """Variance of condition j's gap with so many trials of each arm."""
    own, coefficient, basis = state.own, state.coefficient, state.basis.column
    spread = own[j] / counts[j] if own[j] > 0.0 else 0.0
    for i in range(fixed_rows(basis.shape[0])):
        if coefficient[i, j] > 0.0:
            spread += coefficient[i, j] / counts[basis[i]]
    return float(spread)


@compiled
def z_scores(state: State) -> Floats:
    """Distance of each condition from failing, in standard errors; infinite where it cannot fail."""
    z = np.empty(state.gap.shape[0])
    for j in range(state.gap.shape[0]):
        spread = spread_of(j, state, state.counts)
        z[j] = state.gap[j] / math.sqrt(spread) if spread > 0.0 else np.inf
    return z


@borrowing
def chance(state: State) -> float:
    """Product of the chances that each condition holds, by its z-score."""
    result = 1.0
    for j in range(state.gap.shape[0]):
        spread = spread_of(j, state, state.counts)
        if spread > 0.0:
            result *= 0.5 * math.erfc(-state.gap[j] / math.sqrt(2.0 * spread))
    return result
