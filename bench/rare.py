"""Rare events: errors of Challenger that is told the range of the rewards, and what the range costs elsewhere."""

from collections.abc import Iterator

import numpy as np
from rich.progress import track

from bench import cases
from bench.robustness import limit
from bench.timing import Figure, console
from bestmix import SFSR, Challenger, Instance, Uniform, noise, simulate

TITLE = "Rare events: Challenger with ranges, at most the errors of the best other (and 3.5 standard errors)"
SEED = 21_000_101
MOST = 4_000
CONFIDENCE = 0.95
CAP = 200_000  # trials of a run that stops by itself, at most


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    most = min(runs or MOST, 200 if quick else MOST)
    budgets = {10: (1_000, 4_000), 50: (1_000, 2_000, 4_000, 8_000, 16_000, 32_000), 200: (8_000, 32_000)}
    events, exact = cases.binary("A2", 0.01), cases.varied("A2", noise.Gaussian(1.0, 0.0))
    jobs = [(f"pays 1 time in {n}, A2", cases.jackpot("A2", n), budget) for n in budgets for budget in budgets[n]]
    jobs += [("costs are events of 0.3% to 2%, A2", events, budget) for budget in (1_000, 3_000, 8_000)]
    jobs += [("costs without noise, A2", exact, budget) for budget in (1_000, 2_000)]
    done = [figure for job in track(jobs, "cells", console=console, transient=True) for figure in compare(*job, most)]
    return done + list(until_sure(cases.jackpot("A2", 50), min(most, 1_000)))


def ranges(instance: Instance) -> dict[str, tuple[float, float]]:
    """Of the metrics that are rare, or exact: from the lowest to the highest value there is."""
    if isinstance(instance.noise, noise.Empirical):
        values = np.concatenate([table[:, 0] for table in instance.noise.tables])
        return {"reward": (float(values.min()), float(values.max()))}
    return {"cost0": (0.0, 1.0) if isinstance(instance.noise, noise.Bernoulli) else (0.0, 2.0)}


def compare(name: str, instance: Instance, budget: int, runs: int) -> Iterator[Figure]:
    """Errors with the range, and without."""
    wrong = simulate(instance, Challenger(ranges=ranges(instance)), budget, runs, SEED).errors
    others = {s.name: simulate(instance, s, budget, runs, SEED).errors for s in (Challenger(), Uniform(), SFSR())}
    note = ", ".join(f"{name} {100 * errors / runs:.3g}" for name, errors in others.items())
    target = 100 * limit(min(others.values()), runs)
    yield Figure(f"{name}, N = {budget:,}", 100 * wrong / runs, "%", target, at_most=True, note=note)


def until_sure(instance: Instance, runs: int) -> Iterator[Figure]:
    """Errors of runs that stop when they are sure."""
    for options in ({}, {"ranges": ranges(instance)}):
        strategy = Challenger(confidence=CONFIDENCE, **options)
        found = simulate(instance, strategy, CAP, runs, SEED)
        note = f"{found.mean_pulls:,.0f} trials on average"
        what = f"pays 1 time in 50, A2, until 95% sure, {'with its range' if options else 'without'}"
        yield Figure(what, 100 * found.error_rate, "%", 100 * limit(int(0.05 * runs), runs), at_most=True, note=note)
