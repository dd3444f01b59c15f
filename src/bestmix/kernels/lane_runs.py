"""Simulated runs of Challenger with a fixed budget, several side by side.

All of them have as many rounds, of as many trials: so what is reckoned from the trials, and where the next ones go, is
worked on in all lanes at once (``lanes.py``). Trials are drawn, and programs solved, for one run after the other.

The runs of a group take turns with the random numbers, round by round. So a group is always whole: a run then does not
depend on how many there are.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import allocation, columns, conditions, sampling, simplex
from bestmix.kernels.chunks import TRIALS, narrow
from bestmix.kernels.columns import Program, fixed, fixed_rows
from bestmix.kernels.conditions import State
from bestmix.kernels.feasibility import beyond_doubt
from bestmix.kernels.jit import borrowing, compiled, inlined, view
from bestmix.kernels.lanes import LANES, either, new_lanes, side_by_side
from bestmix.kernels.rejects import INFEASIBLE, finish
from bestmix.kernels.simplex import Basis

UNSOLVED = -1  # instead of the columns of a basis


class Group(NamedTuple):
    """What is known of the trials of some runs, and what the next are. The last axis of most arrays are the lanes.

    Attributes
    ----------
    start
        Where the sums of each unknown arm's trials count from (unknown, 1 + L).
    sums, squares
        The sums of each arm's trials (unknown, 1 + L, LANES).
    estimate
        Means of all arms (K, 1 + L, LANES).
    owed
        Trials of each arm in the next round (unknown, LANES).
    flag
        A number of each run (1, LANES).
    turn
        Space for the arms of a run that are owed trials (unknown,).
    settled, arm
        Trials of each arm (unknown,), and arms of chunks, that settle whether any mix is feasible.
    everything, space
        The numbers of all columns (K + L,), and space of the noise (4, 1 + L, 1 + L).
    single
        What decisions of one run work on; the first axis are the runs.
    wide
        What decisions of all runs work on.
    """

    start: Floats
    sums: Floats
    squares: Floats
    estimate: Floats
    owed: Floats
    flag: Floats
    turn: Integers
    settled: Integers
    arm: Integers
    everything: Integers
    space: Floats
    single: State
    wide: State


def new_group(model: sampling.Model, means: Floats, bound: Floats, unknown: int, most: int) -> tuple[Group]:
    """Nothing is known yet but the means of the known arms. Python makes it: that compiles sooner."""
    (arms, d), costs, estimate = means.shape, bound.shape[0], new_lanes(*means.shape)
    estimate[:] = means[:, :, None]
    one = conditions.new_state(unknown, arms, costs)
    group = Group(
        sampling.origin(model, means, unknown),
        new_lanes(unknown, d),
        new_lanes(unknown, d, d),
        estimate,
        new_lanes(unknown),
        new_lanes(1),
        np.empty(unknown, dtype=np.int64),
        np.empty(unknown, dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.arange(arms + costs),
        np.empty((4, d, d)),
        _each(one, lambda array: np.repeat(array[None], LANES, axis=0)),
        _each(one, lambda array: new_lanes(*array.shape)),
    )
    return (group,)


def _each(state: State, change: Callable[[Any], Any]) -> State:
    program, scale, basis, *rest = state
    return State(Program(*map(change, program)), change(scale), Basis(*map(change, basis)), *map(change, rest))


@view
def lane(single: State, r: int) -> State:
    """The arrays of one run."""
    return State(
        Program(single.program.mu[r], single.program.u[r], single.program.e[r]),
        single.scale[r],
        Basis(single.basis.column[r], single.basis.work[r]),
        single.counts[r],
        single.scatter[r],
        single.pooled[r],
        single.gap[r],
        single.own[r],
        single.coefficient[r],
        single.space[r],
    )


@view
def together(wide: State) -> State:
    """The arrays of all runs, as entries with lanes."""
    return State(
        Program(side_by_side(wide.program.mu), side_by_side(wide.program.u), side_by_side(wide.program.e)),
        side_by_side(wide.scale),
        Basis(side_by_side(wide.basis.column), side_by_side(wide.basis.work)),
        side_by_side(wide.counts),
        side_by_side(wide.scatter),
        side_by_side(wide.pooled),
        side_by_side(wide.gap),
        side_by_side(wide.own),
        side_by_side(wide.coefficient),
        side_by_side(wide.space),
    )


@compiled
def challenger(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    bound: Floats,
    budget: int,
    settings: conditions.Settings,
    least: Floats | None,
    group: Group,
    answer: Integers,
    weight: Floats,
    pulls: Integers,
    chance: Floats | None,
) -> None:
    """Spend each round's trials on the conditions that are most in doubt, then solve the program.

    A run needs the trials only through each arm's count, mean and scatter, so that Gaussian noise costs a draw for
    each arm and round. ``least`` (1 + L,) is what the scatter of each metric counts as at least. ``chance`` (runs,)
    receives the estimated chance that the answer is right, where somebody asks for it.
    """
    run_groups(rng, model, means, bound, budget, settings, least, group, answer, weight, pulls, chance)


@borrowing
def run_groups(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    bound: Floats,
    budget: int,
    settings: conditions.Settings,
    least: Floats | None,
    group: Group,
    answer: Integers,
    weight: Floats,
    pulls: Integers,
    chance: Floats | None,
) -> None:
    """``challenger`` without a count of references to arrays."""
    owed, single, wide, state = group.owed, group.single, group.wide, together(group.wide)
    unknown = owed.shape[0]
    for first in range(0, answer.shape[0], LANES):
        group.sums[:], group.squares[:], wide.basis.column[:], single.basis.column[:] = 0.0, 0.0, 0.0, UNSOLVED
        first_pulls = allocation.first_pulls(budget, unknown, settings)
        owed[:], wide.counts[:], spent = first_pulls, first_pulls, unknown * first_pulls
        while True:
            draw(rng, model, means, group)
            settle(bound, least, group, state)
            size = allocation.round_size(budget, unknown, spent, settings)
            if size == 0:
                break
            plan(size, settings.reserve, group, state)
            spent += size
        for r in range(min(LANES, answer.shape[0] - first)):
            run = first + r
            pulls[run] = made(wide.counts[:, r])
            if chance is not None:
                chance[run] = sureness(group, r)
            conclude(bound, group, r, answer[run], weight[run])


@inlined
def draw(rng: np.random.Generator, model: sampling.Model, means: Floats, group: Group) -> None:
    """Draw the trials that each run is owed."""
    owed, turn = group.owed, group.turn
    for r in range(LANES):
        sums, squares, some = group.sums[:, :, r], group.squares[:, :, :, r], 0
        for a in range(owed.shape[0]):  # without a branch, which a processor cannot guess
            turn[some] = a
            some += 1 if owed[a, r] > 0.0 else 0
        for k in range(some):
            sampling.add_arm(rng, model, means, turn[k], int(owed[turn[k], r]), sums, squares, group.space)


@inlined
def settle(bound: Floats, least: Floats | None, group: Group, state: State) -> None:
    """The programs of the estimates, their solutions, and the conditions that keep these.

    A program that cannot be solved, which only broken numbers cause, is marked as such.
    """
    estimate, single, wide, flag = side_by_side(group.estimate), group.single, group.wide, group.flag
    sums, squares, owed = side_by_side(group.sums), side_by_side(group.squares), side_by_side(group.owed)
    sampling.summarise(group.start, owed, state.counts, sums, squares, estimate, state.scatter)
    sampling.raise_scatter(least, state.scatter)
    conditions.load_elastic(estimate, bound, group.everything, state.program)
    columns.rescale(state.program, state.scale)
    flag[:] = 0.0
    if simplex.of_few_pairs(state.program):
        side_by_side(flag)[0] = either(simplex.climb(state.program, state.basis), 1.0, 0.0)
    for r in range(LANES):
        if flag[0, r] == 0.0:
            one = lane(single, r)
            hand_over(wide.program, r, one.program)
            if conditions.maximise(one.program, one.basis) != simplex.OPTIMAL:
                one.basis.column[:] = UNSOLVED
            take_over(one.basis, r, wide.basis)
    conditions.pool(state)
    conditions.conditions(state)


@inlined
def hand_over(wide: Program, r: int, one: Program) -> None:
    """Copy the program of a lane."""
    n, costs = one.u.shape[0], fixed(one.u.shape[1])
    for j in range(n):
        one.mu[j], one.e[j] = wide.mu[j, r], wide.e[j, r]
        for l in range(costs):
            one.u[j, l] = wide.u[j, l, r]


@inlined
def take_over(one: Basis, r: int, wide: Basis) -> None:
    """Copy a solution to its lane."""
    m = fixed_rows(one.column.shape[0])
    for i in range(m):
        wide.column[i, r] = max(one.column[i], 0)
        for k in range(m + 2):
            wide.work[k, i, r] = one.work[k, i]


@inlined
def plan(size: int, reserve: conditions.Reserve, group: Group, state: State) -> None:
    """The trials of the next round of every run; there are none for one whose program is not solved."""
    wide, owed, settled, flag = group.wide, side_by_side(group.owed), group.settled, group.flag
    for a in range(owed.shape[0]):
        state.space[TRIALS, a] = state.counts[a]
    side_by_side(flag)[0] = either(beyond_doubt(state), 0.0, 1.0)
    for r in range(LANES):
        one = lane(group.single, r)
        if one.basis.column[0] == UNSOLVED:
            flag[0, r] = group.arm.shape[0]
        elif flag[0, r] > 0.0:
            fill(one, wide, r)
            settled[:] = 0
            flag[0, r] = allocation.settle_feasibility(one, size, group.arm, None, settled)
            for a in range(settled.shape[0]):
                wide.space[TRIALS, a, r] += settled[a]
    narrow(state, size, reserve, side_by_side(flag)[0], None, None)
    for a in range(owed.shape[0]):
        owed[a] = state.space[TRIALS, a] - state.counts[a]
        state.counts[a] = state.space[TRIALS, a]


@compiled
def fill(one: State, wide: State, r: int) -> None:
    """Copy the solved program of a lane, and what is known of its arms."""
    hand_over(wide.program, r, one.program)
    for i in range(one.basis.column.shape[0]):
        one.basis.column[i] = int(wide.basis.column[i, r])
    one.scale[:], one.pooled[:], one.scatter[:] = wide.scale[:, r], wide.pooled[:, :, r], wide.scatter[:, :, :, r]
    for a in range(one.counts.shape[0]):
        one.counts[a] = int(wide.counts[a, r])


@borrowing
def made(counts: Floats | Integers) -> int:
    """Trials of all arms."""
    total = 0.0
    for a in range(counts.shape[0]):
        total += counts[a]
    return int(total)


@compiled
def sureness(group: Group, r: int) -> float:
    """The estimated chance that the answer of a run is right."""
    one, wide = lane(group.single, r), group.wide
    if one.basis.column[0] == UNSOLVED:
        return 0.0
    fill(one, wide, r)
    one.gap[:], one.own[:], one.coefficient[:] = wide.gap[:, r], wide.own[:, r], wide.coefficient[:, :, r]
    return conditions.chance(one)


@borrowing
def conclude(bound: Floats, group: Group, r: int, answer: Integers, weight: Floats) -> None:
    """The best mix by all trials of a run."""
    one = lane(group.single, r)
    some = columns.part(one.program, 0, group.everything.shape[0])
    columns.load(group.estimate[:, :, r], bound, group.everything, some)
    if finish(group.everything, some, one.scale, one.basis, answer, weight) != simplex.OPTIMAL:
        answer[0] = INFEASIBLE
