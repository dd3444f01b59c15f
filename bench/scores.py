"""One decision of SFSR, which column to reject, against plain enumeration of all bases."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from bench import enumeration
from bench.timing import Figure, growth, in_turns, shown
from bestmix.kernels import bases, jit, scores, simplex
from bestmix.kernels.columns import Program
from bestmix.problems.solution import scaled

TITLE = "One decision of SFSR (lowest intersection value) against compiled enumeration of all bases"
CASES = ((1, 2_000, 50.0), (2, 200, 10.0), (3, 40, 3.0))
SIZES = {1: (500, 1_000, 2_000, 4_000, 8_000), 2: (70, 100, 150, 200, 300, 400), 3: (20, 30, 40, 60, 80)}
FAMILIES = ("rising", "unrelated")


def measure(quick: bool) -> list[Figure]:
    seeds = 3 if quick else 10
    figures = [figure for case in CASES for figure in speedups(*case, seeds, quick)]
    return figures + [figure for costs in SIZES for figure in exponents(costs, seeds, quick)]


def speedups(costs: int, arms: int, target: float, seeds: int, quick: bool) -> list[Figure]:
    figures = []
    for family in FAMILIES:
        seconds = timed(family, arms, costs, seeds, quick)
        ratio = seconds[:, 1] / seconds[:, 0]
        mine, other = np.median(seconds, axis=0)
        note = f"{shown(mine)} against {shown(other)}; worst of {seeds} problems {ratio.min():.3g}x"
        what = f"L = {costs}, K = {arms:,}, {family} rewards"
        figures.append(Figure(what, float(np.median(ratio)), target=target, note=note))
    return figures


def exponents(costs: int, seeds: int, quick: bool) -> list[Figure]:
    """How the time of a decision grows with the number of arms: the aim is about L instead of L + 1."""
    sizes = SIZES[costs][:3] if quick else SIZES[costs]
    figures = []
    for family in FAMILIES:
        median = np.array([np.median(timed(family, arms, costs, seeds, quick), axis=0) for arms in sizes])
        mine, other = growth(sizes, median[:, 0]), growth(sizes, median[:, 1])
        note = f"enumeration {other:.2f}; K = {sizes[0]:,} to {sizes[-1]:,}"
        what = f"L = {costs}, exponent of K, {family} rewards"
        figures.append(Figure(what, mine, "", costs + 0.5, at_most=True, note=note))
    return figures


def timed(family: str, arms: int, costs: int, seeds: int, quick: bool) -> np.ndarray:
    """Seconds of our decision and of the enumeration's on each problem (seeds, 2); they must agree.

    A round goes through all problems, because a processor learns the branches of one that is repeated.
    """
    actions: list[Callable[[], int]] = []
    for seed in range(seeds):
        problem = columns(family, arms, costs, seed)
        pair = decision(problem), partial(by_enumeration, problem)
        ours, plain = (decide() for decide in pair)
        assert ours == plain, f"{family}, K = {arms}, L = {costs}, seed {seed}: {ours} rejected instead of {plain}"
        actions += pair
    seconds = in_turns(actions, 3 if quick else 9, time.thread_time)
    return np.median(seconds, axis=0).reshape(seeds, 2)


def columns(family: str, arms: int, costs: int, seed: int) -> Program:
    """Scaled columns of a random problem: costs on both sides of their bounds."""
    rng = np.random.default_rng([seed, arms, costs])
    cost = rng.uniform(0.4, 1.6, (arms, costs))
    reward = rng.uniform(0.0, 1.0, arms)
    if family == "rising":
        reward = cost.mean(axis=1) + 0.2 * rng.standard_normal(arms)
    return scaled(np.column_stack([reward, cost]), np.ones(costs), np.arange(arms + costs))[0]


def decision(problem: Program) -> Callable[[], int]:
    """Our choice of the column to reject, in buffers that are there already, as in a simulated run."""
    size, costs = problem.u.shape
    basis, tableau = simplex.new_basis(costs), bases.workspace(costs, size)
    score, state = np.empty(size), np.empty(size, dtype=np.int64)

    def decide() -> int:
        simplex.forget(basis)
        status = scores.intersection_values(problem, basis, tableau, 1, score, state)
        assert status == simplex.OPTIMAL
        return int(scores.last_lowest(score, scores.TIE))

    return jit.machine(decide)


def by_enumeration(problem: Program) -> int:
    return int(scores.last_lowest(enumeration.scores(*problem), scores.TIE))
