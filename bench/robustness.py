"""Errors of Challenger beside the paper's algorithms where noise, bounds or sizes are awkward.

The rule: Challenger's error rate is at most that of the better of SFSR and SFSR-L, plus 3.5 standard errors
of the difference between two equal rates. Where they are equal, chance breaks it in one of 4,000 cells.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from rich.progress import track

from bench import cases
from bench.cases import Case
from bench.timing import Figure, console
from bestmix import SFSR, Challenger, Strategy, Uniform, catalog, simulate
from bestmix.simulation.cells import Cell

TITLE = "Robustness: Challenger's errors, at most those of the better of SFSR and SFSR-L (and 3.5 standard errors)"
SEED = 4_000_037
NOISE = 3.5  # standard errors
PAPER: tuple[Strategy, ...] = (SFSR(), SFSR("lagrangian"), Uniform())
DOUBLINGS = 8
LARGEST_SHARE = 80.0  # per cent of the trials after the first round: the rest keeps a fifth


def measure(quick: bool) -> list[Figure]:
    runs = 500 if quick else 5_000
    everything, names = cases.cases(), catalog.names()[::4] if quick else catalog.names()
    jobs: list[Callable[[], Iterator[Figure]]] = [partial(compare, case, runs) for case in everything]
    jobs += [partial(share, case, 10 if quick else 200) for case in everything if case.tied]
    jobs += [partial(floor, name, 1_000 if quick else 20_000) for name in names]
    return [figure for job in track(jobs, "cells", console=console, transient=True) for figure in job()]


def compare(case: Case, runs: int) -> Iterator[Figure]:
    """A figure for each budget."""
    for budget in case.budgets:
        wrong = errors(case, case.challenger, budget, runs)
        paper = [errors(case, strategy, budget, runs) for strategy in PAPER]
        others = ", ".join(f"{s.name} {100 * n / runs:.3g}" for s, n in zip(PAPER, paper, strict=True))
        what = f"{case.name}, N = {budget:,}"
        yield Figure(what, 100 * wrong / runs, "%", 100 * limit(min(paper[:2]), runs), at_most=True, note=others)


def limit(wrong: int, runs: int) -> float:
    """Largest error rate that is not above ``wrong`` of ``runs`` beyond the noise.

    Two runs and two errors more: a rate of zero is not known without error either.
    """
    rate = (wrong + 2) / (runs + 4)
    return wrong / runs + NOISE * math.sqrt(2 * rate * (1 - rate) / runs)


def errors(case: Case, strategy: Strategy, budget: int, runs: int) -> int:
    """Wrong answers."""
    if not case.right:
        return simulate(case.instance, strategy, budget, runs, SEED).errors
    cell = Cell(case.instance, strategy, budget, SEED)
    size = runs, 1 + len(case.instance.bound)
    answer = np.zeros(size, dtype=np.int64)
    cell.fast(cell.generator(0), answer, np.zeros(size), np.zeros(runs, dtype=np.int64))
    return sum(tuple(said) not in case.right for said in answer.tolist())


def share(case: Case, runs: int) -> Iterator[Figure]:
    """What tied arms take, on average over live runs, of the trials after the first round, which is even."""
    rng, instance, budget = np.random.default_rng(SEED), case.instance, case.budgets[0]
    index, tied = {name: a for a, name in enumerate(instance.arms)}, {instance.arms[a] for a in case.tied}
    percent = np.empty(runs)
    for run in range(runs):
        search, rounds = Challenger().start(instance.problem, budget), []
        while owed := search.ask():
            rounds.append(owed)
            for arm, n in owed.items():
                rows = instance.draw(index[arm], n, rng)
                search.tell(arm, rows[:, 0], rows[:, 1:])
        later = [(arm, n) for owed in rounds[1:] for arm, n in owed.items()]
        percent[run] = 100 * sum(n for arm, n in later if arm in tied) / sum(n for _, n in later)
    note = f"of the later trials, N = {budget:,}; of {runs} runs at most {percent.max():.0f} %"
    what = f"{case.name}: share of the tied arms"
    yield Figure(what, float(percent.mean()), "%", LARGEST_SHARE, at_most=True, note=note)


def floor(name: str, runs: int) -> Iterator[Figure]:
    """Errors with a budget that is doubled until there are none."""
    budget, seen = catalog.budgets(name)[-3], []
    for _ in range(DOUBLINGS):
        wrong = simulate(name, Challenger(), budget, runs, SEED).errors
        seen.append(f"{wrong} at {budget:,}")
        if not wrong:
            break
        budget *= 2
    yield Figure(f"{name}: errors left of {runs:,} runs", wrong, "", 0.0, at_most=True, note=", ".join(seen))
