"""Trials that uniform sampling, SFSR-L and Challenger need on problems of segments, chosen or as users arrive."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bench.timing import Figure
from bestmix import SFSR, Challenger, Uniform, simulate
from bestmix.problems.segment_families import random_segments
from bestmix.problems.segment_instance import SegmentInstance
from bestmix.strategies import Strategy

TITLE = "Segments: trials per column for 10% wrong answers, of uniform trials over others (6 arms, 16 random instances)"
ARMS, INSTANCES, WRONG = 6, 16, 0.1
STEP = 2**0.5  # between numbers of trials
FIRST = 20.0  # trials per column

# Segments and limits: times as many trials that uniform sampling should need, trials chosen and users arriving.
GOALS = {(3, 1): (3.0, 2.0), (3, 2): (3.1, 2.6), (8, 1): (5.2, 2.0), (8, 2): (4.6, 2.6)}


class Need(NamedTuple):
    """Trials per column for WRONG wrong answers, and the mean loss of the mixes with about so many."""

    trials: float
    loss: float

    def __str__(self) -> str:
        return f"{self.trials:.0f} (loss {self.loss:.4f})"


def measure(quick: bool) -> list[Figure]:
    runs, sizes = (20, list(GOALS)[:1]) if quick else (40, list(GOALS))
    return [figure for size in sizes for figure in compared(*size, runs)]


def compared(segments: int, costs: int, runs: int) -> list[Figure]:
    """Both ways on the same instances."""
    instances = [random_segments(segments, ARMS, costs, seed=seed) for seed in range(INSTANCES)]
    what = f"{segments} segments, {costs} limit{'s' if costs > 1 else ''}"
    chosen, arriving = GOALS[segments, costs]
    return [
        ratio(instances, f"{what}, trials chosen", [Challenger(), SFSR("lagrangian")], runs, chosen, False),
        ratio(instances, f"{what}, users arrive", [Challenger()], runs, arriving, True),
    ]


def ratio(
    instances: Sequence[SegmentInstance], what: str, others: Sequence[Strategy], runs: int, goal: float, arriving: bool
) -> Figure:
    found = {s.name: needed(instances, s, runs, arriving) for s in (Uniform(), *others)}
    note = ", ".join(f"{name} {need}" for name, need in found.items())
    times = found[Uniform().name].trials / found[Challenger().name].trials
    return Figure(f"{what}: USLP / Challenger", times, target=goal, note=note)


def needed(instances: Sequence[SegmentInstance], strategy: Strategy, runs: int, arriving: bool) -> Need:
    """By a straight line through logarithms."""
    trials, before = FIRST, None
    while True:
        wrong, loss = np.mean([judged(i, strategy, trials, runs, arriving) for i in instances], axis=0)
        if wrong <= WRONG:
            break
        trials, before = trials * STEP, wrong
    if before is None:
        return Need(trials, float(loss))
    low, high = np.log(before), np.log(max(wrong, 0.2 / runs))
    return Need(float(trials / STEP * STEP ** ((low - np.log(WRONG)) / (low - high))), float(loss))


def judged(
    instance: SegmentInstance, strategy: Strategy, trials: float, runs: int, arriving: bool
) -> tuple[float, float]:
    """Share of wrong answers, and the mean loss of the mixes."""
    cell = simulate(instance, strategy, int(trials * len(instance.arms)), runs, threads=1, arriving=arriving)
    return cell.error_rate, cell.loss
