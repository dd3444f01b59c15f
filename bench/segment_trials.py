"""Trials that uniform sampling, SFSR-L and Challenger need on problems of segments, chosen or as users arrive."""

from collections.abc import Callable, Sequence

import numpy as np

from bench.timing import Figure
from bestmix.kernels import jit, segment_runs
from bestmix.kernels.segment_runs import ARRIVING, CHOSEN, Answers
from bestmix.problems.segment_families import random_segments
from bestmix.problems.segment_instance import SegmentInstance
from bestmix.strategies.schedule import round_ends

TITLE = "Segments: trials per column for 10% wrong answers, of uniform trials over others (6 arms, 16 random instances)"
ARMS, INSTANCES, WRONG = 6, 16, 0.1
STEP = 2**0.5  # between numbers of trials
SIZES = ((3, 1), (3, 2), (8, 1), (8, 2))  # segments and limits
FEWER = {CHOSEN: 3.0, ARRIVING: 2.0}  # times as many trials that uniform sampling needs, at least

Strategy = Callable[[SegmentInstance, int, int, np.random.Generator, Answers], None]


def measure(quick: bool) -> list[Figure]:
    runs, sizes = (20, SIZES[:1]) if quick else (80, SIZES)
    return [figure for segments, costs in sizes for figure in compared(segments, costs, runs)]


def compared(segments: int, costs: int, runs: int) -> list[Figure]:
    """Both ways on the same instances."""
    instances = [random_segments(segments, ARMS, costs, seed=seed) for seed in range(INSTANCES)]
    what = f"{segments} segments, {costs} limit{'s' if costs > 1 else ''}"
    return [
        ratio(instances, f"{what}, trials chosen", CHOSEN, {"Challenger": challenger, "SFSR-L": rejects}, runs),
        ratio(instances, f"{what}, users arrive", ARRIVING, {"Challenger": challenger}, runs),
    ]


def ratio(instances: Sequence[SegmentInstance], what: str, way: int, others: dict[str, Strategy], runs: int) -> Figure:
    even, loss = needed(instances, uniform, way, runs)
    found = {name: needed(instances, strategy, way, runs) for name, strategy in others.items()}
    note = ", ".join(f"{name} {n:.0f} (loss {l:.4f})" for name, (n, l) in {"uniform": (even, loss), **found}.items())
    return Figure(f"{what}: uniform / Challenger", even / found["Challenger"][0], target=FEWER[way], note=note)


def needed(instances: Sequence[SegmentInstance], strategy: Strategy, way: int, runs: int) -> tuple[float, float]:
    """Trials per column at which WRONG of all runs are, by a straight line through logarithms, and the mean loss."""
    trials, before = 20.0, None
    while True:
        wrong, loss = np.mean(
            [judged(i, strategy, way, trials, runs, seed) for seed, i in enumerate(instances)], axis=0
        )
        if wrong <= WRONG:
            break
        trials, before = trials * STEP, (trials, wrong)
    if before is None:
        return trials, float(loss)
    low, high = np.log(before[1]), np.log(max(wrong, 0.2 / runs))
    return float(before[0] * STEP ** ((low - np.log(WRONG)) / (low - high))), float(loss)


def judged(
    instance: SegmentInstance, strategy: Strategy, way: int, trials: float, runs: int, seed: int
) -> tuple[float, float]:
    """Share of wrong answers, and their mean loss."""
    n, limits = instance.layout.constant.shape
    answers = Answers(
        np.empty((runs, n)),
        np.empty((runs, n + limits), dtype=np.bool_),
        np.empty(runs, dtype=np.bool_),
        np.empty(runs, dtype=np.int64),
    )
    strategy(instance, int(trials * n), way, np.random.default_rng([seed, int(trials)]), answers)
    return float(instance.wrong(answers.basic, answers.feasible).mean()), float(instance.losses(answers.mix).mean())


def run(kernel: Callable[..., None], instance: SegmentInstance, rng: np.random.Generator, *options: object) -> None:
    model = instance.noise.compiled(instance.means)
    jit.machine(kernel)(
        rng, model, np.array(instance.means), instance.layout, instance.weight, instance.known, *options
    )


def uniform(instance: SegmentInstance, budget: int, way: int, rng: np.random.Generator, answers: Answers) -> None:
    run(segment_runs.uniform, instance, rng, budget, way, answers)


def challenger(instance: SegmentInstance, budget: int, way: int, rng: np.random.Generator, answers: Answers) -> None:
    settings = (0.1, max(30, len(instance.means) // 2), 0.0, 0.0)
    run(segment_runs.challenger, instance, rng, budget, way, settings, answers)


def rejects(instance: SegmentInstance, budget: int, way: int, rng: np.random.Generator, answers: Answers) -> None:
    n, limits = instance.layout.constant.shape
    ends = np.array(round_ends(n, n, limits, budget, len(instance.weight)))
    run(segment_runs.rejects, instance, rng, ends, way, answers)
