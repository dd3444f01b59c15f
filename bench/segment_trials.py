"""Trials that uniform sampling, SFSR-L and Challenger need on problems of segments, chosen or as users arrive."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bench.timing import Figure
from bestmix import SFSR, Challenger, Uniform, simulate
from bestmix.arrays import Floats
from bestmix.kernels import jit
from bestmix.problems.segment_families import random_segments
from bestmix.problems.segment_instance import SegmentInstance
from bestmix.strategies import Strategy

TITLE = "Segments: trials per column for 10% wrong answers, of uniform trials over others (6 arms, 16 random instances)"
ARMS, INSTANCES, WRONG = 6, 16, 0.1
STEP = 2**0.5  # between numbers of trials
FIRST = 20.0  # trials per column

# Segments and limits: times as many trials that uniform sampling should need, trials chosen and users arriving.
GOALS = {(3, 1): (3.0, 2.0), (3, 2): (3.1, 2.6), (8, 1): (5.2, 2.0), (8, 2): (4.6, 2.6)}


class Curve(NamedTuple):
    """Numbers of trials per column (T,), and of each instance the share of wrong answers and the mean loss (T, I)."""

    trials: Floats
    wrong: Floats
    loss: Floats

    def needed(self, without: int | None = None) -> float:
        """Trials for WRONG wrong answers on average, perhaps without one instance; by a straight line of logarithms."""
        kept = np.arange(self.wrong.shape[1]) != without
        rate = np.log(np.maximum(self.wrong[:, kept].mean(axis=1), 1e-4))
        first = max(int(np.argmax(rate <= np.log(WRONG))), 1) if (rate <= np.log(WRONG)).any() else len(rate) - 1
        low, high = rate[first - 1], rate[first]
        return float(self.trials[first - 1] * STEP ** ((low - np.log(WRONG)) / max(low - high, 1e-3)))

    def __str__(self) -> str:
        near = int(np.argmin(np.abs(np.log(self.trials / self.needed()))))
        return f"{self.needed():.0f} (loss {self.loss[near].mean():.4f})"


def measure(quick: bool) -> list[Figure]:
    jit.ENOUGH_WORK_OF_SEGMENT_RUNS = 0  # many thousands of runs: machine code pays
    runs, sizes = (20, list(GOALS)[:1]) if quick else (40, list(GOALS))
    return [figure for size in sizes for figure in compared(*size, runs)]


def compared(segments: int, costs: int, runs: int, first: int = 0) -> list[Figure]:
    """Both ways on the same instances."""
    instances = [random_segments(segments, ARMS, costs, seed=seed) for seed in range(first, first + INSTANCES)]
    what = f"{segments} segments, {costs} limit{'s' if costs > 1 else ''}"
    chosen, arriving = GOALS[segments, costs]
    return [
        ratio(instances, f"{what}, trials chosen", [Challenger(), SFSR("lagrangian")], runs, chosen, False),
        ratio(instances, f"{what}, users arrive", [Challenger()], runs, arriving, True),
    ]


def ratio(
    instances: Sequence[SegmentInstance], what: str, others: Sequence[Strategy], runs: int, goal: float, arriving: bool
) -> Figure:
    found = {s.name: curve(instances, s, runs, arriving) for s in (Uniform(), *others)}
    note = ", ".join(f"{name} {need}" for name, need in found.items())
    even, ours = found[Uniform().name], found[Challenger().name]
    error = jackknife([even.needed(i) / ours.needed(i) for i in range(len(instances))])
    times = even.needed() / ours.needed()
    return Figure(f"{what}: USLP / Challenger", times, target=goal, note=f"standard error {error:.2f}; {note}")


def jackknife(without: Sequence[float]) -> float:
    """Standard error from values that were found without one instance each: other instances, and other runs on them."""
    return float(np.sqrt((len(without) - 1) * np.var(without)))


def curve(instances: Sequence[SegmentInstance], strategy: Strategy, runs: int, arriving: bool) -> Curve:
    """With more and more trials, until twice fewer answers are wrong than that."""
    trials, table, enough = [], [], 0
    while enough < 2:
        trials.append(trials[-1] * STEP if trials else FIRST)
        table.append([judged(instance, strategy, trials[-1], runs, arriving) for instance in instances])
        enough += bool(np.mean(table[-1], axis=0)[0] <= WRONG)
    wrong, loss = np.moveaxis(np.array(table), 2, 0)
    return Curve(np.array(trials), wrong, loss)


def judged(
    instance: SegmentInstance, strategy: Strategy, trials: float, runs: int, arriving: bool
) -> tuple[float, float]:
    """Share of wrong answers, and the mean loss of the mixes."""
    cell = simulate(instance, strategy, int(trials * len(instance.arms)), runs, threads=1, arriving=arriving)
    return cell.error_rate, cell.loss
