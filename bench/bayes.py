"""The fewest broken limits that any rule can have: those of one that knows how the instances were drawn.

A rule that sees the trials and knows the distribution of the instances, their noise and that they have a solution,
and wants nothing but to keep the limits, deploys the mix that keeps them in the most of the instances that fit the
trials. Averaged over instances no rule breaks fewer. The mix is chosen and judged on the same sample of such
instances, which flatters it: the share is a lower bound, as far as the search finds the best mix.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rich.progress import track
from scipy.special import ndtr, ndtri

from bench.deploy_cases import Case, drawn, groups
from bench.timing import Figure, console
from bestmix.answers.cone import widest_mix
from bestmix.arrays import Floats
from bestmix.kernels import jit
from bestmix.problems.solution import solve_means

TITLE = "Limits broken: the fewest that any rule can have"
RUNS, WORLDS, GRID = 200, 600, 200
ROUNDS, BEST = 12, 4  # of the search for a mix, and those kept in each
STEPS = (0.5, 0.2, 0.08)
CELLS = {
    "uniform3": (4,),
    "unequal3": (4,),
    "binary1": (4,),
    "binary2": (4, 10, 30),
    "binary3": (4, 10, 30, 100),
    "rare1": (4, 10, 30, 100),
    "rare2": (4, 10, 30, 100, 400),
    "rare3": (4, 10, 30, 100, 400),
}


class Share(NamedTuple):
    """Of the instances that fit the trials, those in which the best mix breaks a limit; and whether it truly does."""

    broken: float
    truly: bool


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    jit.ENOUGH_WORK = 0  # thousands of small programs: machine code pays
    families, runs = dict(groups(100)), runs or (10 if quick else RUNS)
    cells = [(name, n) for name, trials in CELLS.items() for n in (trials[:1] if quick else trials)]
    listed = track(cells, "cells", console=console, transient=True)
    return [judge(name, n, families[name], runs) for name, n in listed]


def judge(name: str, n: int, cases: Sequence[Case], runs: int) -> Figure:
    found = [run(cases[k % len(cases)], n, np.random.default_rng([k, n])) for k in range(runs)]
    share, truly = (100 * np.array(column, dtype=np.float64) for column in zip(*found, strict=True))
    note = f"+- {1.96 * share.std() / np.sqrt(runs):.1f}; its mixes truly break {truly.mean():.1f}% of {runs} runs"
    figure = Figure(f"{name}, {n} trials an arm", float(share.mean()), "%", note=note)
    console.print(f"{figure.what}: {figure.measured:.1f}% {figure.note}", highlight=False)
    return figure


def run(case: Case, n: int, rng: np.random.Generator) -> Share:
    means, _ = drawn(case, n, rng)
    fitting = worlds(case, means[:, 1:], n, rng)
    mix, kept = best_mix(fitting, rng)
    return Share(1.0 - kept, bool((mix @ case.means[:, 1:] > case.bound + 1e-9).any()))


# --- instances that fit the trials ---------------------------------------------------------------------------


def worlds(case: Case, costs: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Mean costs above the bounds (worlds, K, L): uniform from 0 to twice the bound, given their estimates."""
    u = rng.random((WORLDS, *costs.shape))
    some = (gaussian(case, costs, n, u) if case.sigma is not None else zero_one(case, costs, n, u)) - case.bound
    solvable = np.array([feasible(excess) for excess in some])
    return some[solvable] if solvable.any() else some


def gaussian(case: Case, costs: Floats, n: int, u: Floats) -> Floats:
    assert case.sigma is not None
    error = case.sigma[:, 1:] / np.sqrt(n)
    low, high = ndtr(-costs / error), ndtr((2.0 * case.bound - costs) / error)
    return np.asarray(costs + error * ndtri(np.clip(low + u * (high - low), 1e-300, 1.0 - 1e-16)))


def zero_one(case: Case, costs: Floats, n: int, u: Floats) -> Floats:
    """By the likelihood on a grid; means are at least a fiftieth of the bound."""
    grid = np.maximum(np.linspace(0.0, 2.0, GRID)[:, None] * case.bound, case.bound / 50.0)
    events = n * costs[:, None]  # (K, 1, L)
    weight = events * np.log(grid) + (n - events) * np.log1p(-grid)
    chance = np.exp(weight - weight.max(axis=1, keepdims=True)).cumsum(axis=1)
    place = (chance / chance[:, -1:] < u[:, :, None]).sum(axis=2)  # (worlds, K, L)
    return np.asarray(grid[place, np.arange(costs.shape[1])])


def feasible(excess: Floats) -> bool:
    if (excess <= 0).all(axis=1).any():
        return True
    return solve_means(np.column_stack([np.zeros(len(excess)), excess]), np.zeros(excess.shape[1])).feasible


# --- the best mix --------------------------------------------------------------------------------------------


def best_mix(fitting: Floats, rng: np.random.Generator) -> tuple[Floats, float]:
    """The mix that keeps all limits in the most instances, by random search from several starts; and in how many."""
    mixes = starts(fitting)
    shares = kept(fitting, mixes)
    for _ in range(ROUNDS):
        order = np.argsort(-shares, kind="stable")[:BEST]
        mixes, shares = mixes[order], shares[order]
        near = np.vstack([neighbours(mix, rng) for mix in mixes])
        mixes, shares = np.vstack([mixes, near]), np.r_[shares, kept(fitting, near)]
    return mixes[np.argmax(shares)], float(shares.max())


def starts(fitting: Floats) -> Floats:
    """Every arm, all arms, the least mean violation, and the most room in standard deviations."""
    arms, costs = fitting.shape[1:]
    table, zero = np.column_stack([np.zeros(arms), fitting.mean(axis=0)]), np.zeros(costs)
    widest = widest_mix(table, zero, 9.0 * fitting.std(axis=0) + 1e-9, 8)[1]
    some = [np.full(arms, 1.0 / arms), solve_means(table, zero).mixture]
    return np.vstack([np.eye(arms), *some, *([] if widest is None else [widest])])


def neighbours(mix: Floats, rng: np.random.Generator) -> Floats:
    steps = np.repeat(STEPS, 6)[:, None]
    return np.asarray((1.0 - steps) * mix + steps * rng.dirichlet(np.full(len(mix), 0.3), len(steps)))


def kept(fitting: Floats, mixes: Floats) -> Floats:
    """Share of the instances in which each mix keeps all limits."""
    arms, costs = fitting.shape[1:]
    excess = mixes @ fitting.transpose(1, 0, 2).reshape(arms, -1)
    return np.asarray((excess.reshape(len(mixes), -1, costs) <= 1e-12).all(axis=2).mean(axis=1))
