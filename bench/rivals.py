"""Published algorithms beside Challenger: trials until sure, and wrong answers with a budget.

Where the best mix has two bases, so that no number of trials settles the support, what rivals lose when they stop is
compared with what Challenger loses with as many trials. On easy instances rivals may stop sooner, since they leave out
the noise of the costs: there Challenger gets as many trials as each of them makes. Cells are kept in bench/results as
they come: what was interrupted goes on.
"""

from collections.abc import Sequence

import numpy as np

from bench.timing import RESULTS, Figure, console
from bestmix import Challenger, Instance, families, simulate, sweep
from bestmix.reproduction.rival_instances import Subject, subjects
from bestmix.reproduction.rivals import SINGLE, Comparison, compare, cut_off, is_trusted
from bestmix.simulation import CellResult
from bestmix.strategies.rivals.comparison import CONFIDENCE, with_confidence

TITLE = "Published algorithms beside Challenger"
RUNS, SEED = 500, 0
RISK = 1 - CONFIDENCE
EASY_CAP = 100_000  # trials
MATCHED = 10  # runs of Challenger for each of a rival, which take longer
QUICK = ("D2P", "A1", "H3")


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    figures = []
    for subject in chosen(quick):
        one = compare([subject], RESULTS / "rivals", runs or (50 if quick else RUNS), SEED, threads=1)[0]
        for figure in judged(one):
            console.print(f"{figure.what}: {figure.measured}; {figure.note}", highlight=False)
            figures.append(figure)
    return figures + [figure for name, instance in easy().items() for figure in with_as_many(name, instance, quick)]


def easy() -> dict[str, Instance]:
    """Instances on which some tens of trials are enough."""
    found = {"three arms far apart": Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=0.5)}
    for seed in range(4300, 4304):
        arms = int(np.random.default_rng(seed).integers(3, 9))
        means = families.random_instance(arms, 1, seed, difficulty=0.2)
        noise = {"sigma_reward": 0.3, "sigma_cost": 0.2}
        found[f"easy, {arms} arms, seed {seed}"] = Instance(means.reward, means.cost, means.bound, **noise)
    return found


def with_as_many(name: str, instance: Instance, quick: bool) -> list[Figure]:
    """Wrong answers of Challenger whose budget is the mean trials of a rival that is as sure as it says."""
    figures, runs = [], 100 if quick else RUNS
    ours, *others = sweep({name: instance}, with_confidence(), [EASY_CAP], runs=runs, seed=SEED, threads=1)
    for cell in others:
        if cell.interval[0] > RISK:
            continue
        budget = round(cell.mean_pulls)
        spent = simulate(instance, Challenger(), budget, MATCHED * runs, SEED, threads=1)
        note = f"{cell.strategy} {cell.error_rate:.1%} wrong with {cell.mean_pulls:.1f} trials; until sure "
        note += f"{ours.mean_pulls:.1f} and {ours.error_rate:.1%}"
        what = f"{name}: Challenger wrong with the trials of {cell.strategy}"
        figures.append(Figure(what, 100 * spent.error_rate, "%", 100 * RISK, at_most=True, note=note))
        console.print(f"{what}: {spent.error_rate:.2%}; {note}", highlight=False)
    return figures


def chosen(quick: bool) -> list[Subject]:
    """All instances, or a few."""
    return [subject for subject in subjects() if not quick or subject.name in QUICK]


def judged(one: Comparison) -> list[Figure]:
    """The figures of an instance."""
    if one.subject.has_support:
        return [sure(one), spent(one)]
    return matched(one) if cut_off(next(iter(one.sure))) else [sure(one)]


def sure(one: Comparison) -> Figure:
    """Fewest trials of a rival that is as sure as it says, over those of Challenger; none where none is."""
    ours, others = split(list(one.sure))
    best = min((cell for cell in others if is_trusted(one, cell)), key=lambda cell: cell.mean_pulls, default=None)
    note = f"Challenger {ours.mean_pulls:,.0f}, wrong {ours.error_rate:.1%}"
    for cell in others:
        note += f"; {cell.strategy} {cell.mean_pulls:,.0f}, {cell.error_rate:.1%}"
    ratio = None if best is None else best.mean_pulls / ours.mean_pulls
    return Figure(f"{one.subject.name}: trials of the best rival", ratio, target=1.0, note=note)


def spent(one: Comparison) -> Figure:
    """Wrong answers of the best other strategy with the same budget, minus those of Challenger, in points."""
    ours, others = split([cell for cell in one.spent if cell.strategy not in SINGLE])
    best = min(others, key=lambda cell: cell.error_rate)
    note = f"Challenger {ours.error_rate:.1%}, {best.strategy} {best.error_rate:.1%}, {one.subject.budget:,} trials"
    difference = 100 * (best.error_rate - ours.error_rate)
    return Figure(f"{one.subject.name}: wrong answers of the best rival, more", difference, "points", 0.0, note=note)


def matched(one: Comparison) -> list[Figure]:
    """What each rival loses when it stops, over what Challenger loses whose budget is the rival's mean trials."""
    figures = []
    for cell in one.sure:
        if not is_trusted(one, cell):
            continue
        budget, runs = round(cell.mean_pulls), MATCHED * cell.runs
        named = {one.subject.name: one.subject.instance}
        [ours] = sweep(named, [Challenger()], [budget], runs=runs, seed=SEED, output=RESULTS / "rivals", threads=1)
        note = f"{cell.strategy} {lost(cell)}, limits kept {cell.kept:.0%}; Challenger with {budget:,} trials "
        note += f"{lost(ours)}, {ours.kept:.0%}"
        what = f"{one.subject.name}: loss of {cell.strategy}, over Challenger's"
        figures.append(Figure(what, cell.loss / ours.loss, target=1.0, note=note))
    return figures


def lost(cell: CellResult) -> str:
    """The mean loss, with half of its 95% interval."""
    return f"{cell.loss:.4f} +- {cell.loss_interval[1] - cell.loss:.4f}"


def split(cells: Sequence[CellResult]) -> tuple[CellResult, list[CellResult]]:
    """Challenger's cell, and the others."""
    return cells[0], list(cells[1:])
