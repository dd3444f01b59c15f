"""The paper's experiments as functions: each makes a figure, its data and its caption.

The paper prints the means of its D instances, and those are used. It does not print the means of A and
H: those of the catalog were designed for this package, to show what the paper says of its own.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bestmix import checks, files, plots
from bestmix.arrays import Floats
from bestmix.problems import catalog
from bestmix.problems.instance import Instance
from bestmix.problems.solution import solve
from bestmix.reproduction.outcome import KEPT, Drawing
from bestmix.simulation import SweepResult, sweep
from bestmix.strategies import SFSR, Search, Strategy, Uniform

GROUPS = {
    "A": ("A1", "A2", "A3"),
    "H": ("H1", "H2", "H3"),
    "D": ("D1P", "D2P", "D3P", "D1I", "D2I", "D3I"),
}
RUNS = {"A": 10_000, "H": 10_000, "D": 5_000}
HARD = "H2"  # on which SFSR-L fails
MOST_TRIES = 5_000


def error_curves(
    group: str,
    runs: int | None = None,
    seed: int = 0,
    *,
    output: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> SweepResult:
    """SFSR, SFSR-L and USLP on the instances of a group, over each one's budgets.

    >>> len(error_curves("D", runs=1)) == 3 * sum(len(catalog.budgets(name)) for name in GROUPS["D"])
    True
    """
    names = GROUPS[checks.choice("group", group, list(GROUPS))]
    recipes: list[Strategy] = [SFSR(), SFSR(score="lagrangian"), Uniform()]
    budgets = {name: catalog.budgets(name) for name in names}
    count = RUNS[group] if runs is None else runs
    return sweep(list(names), recipes, budgets, count, seed, output=output, threads=threads, progress=progress)


def draw_errors(group: str, folder: Path, runs: int | None, seed: int, threads: int | None, progress: bool) -> Drawing:
    """The figure of a group: its instances, and the error curves below them."""
    runs = RUNS[group] if runs is None else runs
    result = error_curves(group, runs, seed, output=folder / KEPT, threads=threads, progress=progress)
    shown = {name: catalog.load(name) for name in GROUPS[group]}
    caption = _errors_caption(group, runs, seed)
    return Drawing({group: plots.sweep_figure(result, shown)}, {f"{group}.csv": files.csv_text(result.rows())}, caption)


def _errors_caption(group: str, runs: int, seed: int) -> str:
    what = {
        "A": "Three ordinary instances with 16 arms and one cost. Their means were designed for this package; "
        "the paper does not print those of its own A1 to A3.",
        "H": "Three hard instances with 16 arms and one cost. Their means were designed for this package, to show "
        "what the paper reports of its own H1 to H3, which it does not print.",
        "D": "Six instances with 24 arms and two costs, with the means of the paper's table.",
    }[group]
    sizes = "; the larger a marker, the larger the mean reward" if group == "D" else ""
    return (
        f"{what} Above: the arms, those of the best mix as triangles{sizes}. Below: share of {runs:,} runs with "
        "a wrong support, "
        f"with 95% intervals (Wilson); seed {seed}. An arrow marks a cell without an error, from the end of its "
        "interval."
    )


def five_arms() -> Instance:
    """The five arms of the picture that explains the intersection value score.

    >>> five_arms().arms
    ('1', '2', '3', '4', '5')
    """
    costs, rewards = [0.0, 1.8, 0.8, 1.3, 2.0], [1.7, 2.6, 0.5, 2.1, 1.2]
    return Instance(rewards, [costs], [1.0], arms=list("12345"), costs=["cost"])


def draw_scores() -> Drawing:
    """The figure that explains the intersection value score."""
    instance = five_arms()
    label = (*instance.arms, "slack")
    rows = []
    for segment in plots.best_segments(instance.means, float(instance.bound[0])):
        reward, cost = ("", "") if segment.column == len(instance.arms) else instance.means[segment.column].tolist()
        rows.append({"column": label[segment.column], "reward": reward, "cost": cost})
        rows[-1] |= {"partner": label[segment.partner], "score": segment.score}
    caption = (
        "Intersection value scores of five arms with one cost, bounded by 1. A solid or broken line joins each arm to "
        "the partner with which it makes its best feasible mix; its score is the height at which the line meets "
        "the bound, read off on the left."
    )
    return Drawing({"score": plots.scores_figure(instance)}, {"score.csv": files.csv_text(rows)}, caption)


@dataclass(frozen=True, eq=False)
class Failure:
    """The first round of a run in which SFSR-L rejects an arm of the best mix.

    Attributes
    ----------
    instance, budget, seed, run
        Which run it is: ``numpy.random.default_rng([seed, run])`` draws its trials.
    pulls
        Trials of each arm in the round.
    means
        Estimated reward and cost of each arm (K, 2).
    rejected
        The arm that SFSR-L rejects.
    spared
        The column that SFSR rejects after the same trials.
    scores
        The Lagrangian scores, by column.
    """

    instance: str
    budget: int
    seed: int
    run: int
    pulls: int
    means: Floats
    rejected: str
    spared: str
    scores: Mapping[str, float]


def find_failure(seed: int = 0) -> Failure:
    """The first run on H2 in which SFSR-L loses the cheapest arm of the best mix though it did well.

    Did well: its estimated reward is not below its true one, nor its estimated cost above.
    """
    instance, listed = catalog.load(HARD), catalog.budgets(HARD)
    budget = listed[len(listed) // 2]
    best = np.flatnonzero(solve(instance).mixture > 0)
    victim = int(best[np.argmin(instance.cost[0, best])])
    for run in range(MOST_TRIES):
        search = _first_round(instance, SFSR(score="lagrangian"), budget, seed, run)
        told, means = search.history[0], search.evidence.means
        good = means[victim, 0] >= instance.reward[victim] and means[victim, 1] <= instance.cost[0, victim]
        if told.rejected == instance.arms[victim] and good:
            other = _first_round(instance, SFSR(), budget, seed, run).history[0].rejected
            pulls = next(iter(told.pulls.values()))
            found = HARD, budget, seed, run, pulls, np.array(means), told.rejected, str(other), told.scores
            return Failure(*found)
    raise RuntimeError(f"failure: none in {MOST_TRIES} runs of {HARD} with budget {budget}; try another seed")


def _first_round(instance: Instance, strategy: SFSR, budget: int, seed: int, run: int) -> Search:
    """A search after its first round; strategies with the same schedule see the same trials."""
    search = strategy.start(instance.problem, budget)
    rng = np.random.default_rng([seed, run])
    for arm, count in search.ask().items():
        rows = instance.draw(instance.problem.index(arm), count, rng)
        search.tell(arm, rows[:, 0], rows[:, 1:])
    return search


def draw_failure(seed: int) -> Drawing:
    """The figure of a run in which SFSR-L loses an arm of the best mix."""
    found = find_failure(seed=seed)
    instance = catalog.load(found.instance)
    best = [arm for arm, share in zip(instance.arms, solve(instance).mixture, strict=True) if share > 0]
    rows = _failure_rows(found, instance, best)
    caption = (
        f"How SFSR-L loses an arm of the best mix: run {found.run} with seed {found.seed} on {found.instance}, budget "
        f"{found.budget:,}. Left: true means and their frontier. Right: estimates after the first round, "
        f"{found.pulls} trials an arm. {found.rejected} did no worse than its means, yet it is farthest below the "
        f"estimated frontier, and SFSR-L rejects it; SFSR, after the same trials, rejects {found.spared}. The means of "
        f"{found.instance} were designed for this package."
    )
    figure = plots.frontier_figure(instance, found.means, found.rejected)
    return Drawing({"failure": figure}, {"failure.csv": files.csv_text(rows)}, caption)


def _failure_rows(found: Failure, instance: Instance, best: Sequence[str]) -> list[dict[str, Any]]:
    line = plots.frontier(found.means, float(instance.bound[0]))
    return [
        {
            "instance": found.instance,
            "budget": found.budget,
            "seed": found.seed,
            "run": found.run,
            "pulls": found.pulls,
            "arm": arm,
            "in_best_mix": arm in best,
            "reward": float(instance.reward[a]),
            "cost": float(instance.cost[0, a]),
            "estimated_reward": float(found.means[a, 0]),
            "estimated_cost": float(found.means[a, 1]),
            "distance": float(line.height(found.means[a, 1]) - found.means[a, 0]),
            "rejected": arm == found.rejected,
        }
        for a, arm in enumerate(instance.arms)
    ]
