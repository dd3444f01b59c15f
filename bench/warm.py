"""What earlier trials are worth: runs that start from a pilot or whose arms change midway, against starting anew.

Instances are those of the catalog, and real model traffic (``bench/spend.py``). The pilot has the same number of trials
of every arm. A run that gets a new arm midway goes on with what it has; the other way is to start over with what is
left of the budget.
"""

from typing import Any

import numpy as np

from bench.spend import BOUND, Prompts, read_prompts, support
from bench.timing import Figure
from bestmix import Challenger, Instance, Problem, catalog
from bestmix.strategies.search import Search

TITLE = "Earlier trials: wrong supports with a pilot, and with a new arm midway, against starting anew"
PILOT = 200  # trials, of all arms together
FRESH = {"A1": 600, "A2": 800, "H1": 800}  # further trials
REAL = 300  # of the real models


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    runs = runs or (4 if quick else 100)
    names = list(FRESH)[: 1 if quick else None]
    cases: dict[str, tuple[Any, int, set[str]]] = {
        name: (catalog.load(name), FRESH[name], support(catalog.load(name))) for name in names
    }
    prompts = read_prompts()
    if prompts is not None:
        cases["real models"] = prompts, REAL, truth_of(prompts)
    found = [figure for name, case in cases.items() for figure in compared(name, *case, runs)]
    return found if prompts is not None else [*found, Figure("real models", None, "%", note="pip install paretobandit")]


def truth_of(prompts: Prompts) -> set[str]:
    means = np.column_stack([prompts.rewards.mean(axis=0), prompts.dollars.mean(axis=0)])
    return support(Instance(means[:, 0], means[:, 1:].T, [BOUND], arms=prompts.models))


def compared(name: str, source: Any, fresh: int, truth: set[str], runs: int) -> list[Figure]:
    """Per cent of wrong supports with and without what was there before."""
    every = (cold, warm, anew, changed)
    ways = {way: 100.0 * sum(way(source, fresh, truth, run) for run in range(runs)) / runs for way in every}
    note = f"without it {ways[cold]:.0f}%; {runs} runs"
    start = Figure(f"{name}, {fresh:,} trials after a pilot of {PILOT}", ways[warm], "%", ways[cold], True, note)
    note = f"starting over {ways[anew]:.0f}%; {runs} runs"
    midway = Figure(f"{name}, {fresh:,} trials, a new arm after half", ways[changed], "%", ways[anew], True, note)
    return [start, midway]


def cold(source: Any, fresh: int, truth: set[str], run: int) -> bool:
    """Without the pilot."""
    return is_wrong(Challenger().start(source.problem, fresh), source, truth, np.random.default_rng([run, 1]))


def warm(source: Any, fresh: int, truth: set[str], run: int) -> bool:
    """From the pilot."""
    rng, problem = np.random.default_rng([run, 1]), source.problem
    search, each = Challenger().start(problem, fresh), PILOT // len(problem.arms)
    rows = np.concatenate([source.draw(a, each, rng) for a in range(len(problem.arms))])
    pilot = {"arm": np.repeat(problem.arms, each).tolist(), "reward": rows[:, 0].tolist()}
    search.start_from(pilot | {cost: rows[:, 1 + l].tolist() for l, cost in enumerate(problem.costs)})
    return is_wrong(search, source, truth, rng)


def changed(source: Any, fresh: int, truth: set[str], run: int) -> bool:
    """The last arm is known of only after half of the trials, which go on to count."""
    rng = np.random.default_rng([run, 2])
    search = Challenger().start(without_last(source.problem), fresh)
    advance(search, source, rng, fresh // 2)
    search.change(arms=list(source.problem.arms))
    return is_wrong(search, source, truth, rng)


def anew(source: Any, fresh: int, truth: set[str], run: int) -> bool:
    """The same with the first half thrown away."""
    return is_wrong(Challenger().start(source.problem, fresh // 2), source, truth, np.random.default_rng([run, 2]))


def without_last(problem: Problem) -> Problem:
    return Problem(problem.arms[:-1], dict(problem.bounds))


def advance(search: Search, source: Any, rng: np.random.Generator, most: int) -> None:
    """Make the trials that a search asks for, up to so many."""
    names = list(source.problem.names)
    while search.trials < most and (owed := search.ask()):
        for arm, count in owed.items():
            rows = source.draw(names.index(arm), min(count, max(most - search.trials, 1)), rng)
            search.tell(arm, rows[:, 0], rows[:, 1:])


def is_wrong(search: Search, source: Any, truth: set[str], rng: np.random.Generator) -> bool:
    advance(search, source, rng, 10**9)
    return set(search.recommend(safety=None).support) != truth
