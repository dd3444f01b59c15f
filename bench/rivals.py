"""Published algorithms beside Challenger: trials until sure, and wrong answers with a budget.

Cells are kept in bench/results as they come: what was interrupted goes on.
"""

from collections.abc import Sequence

from bench.timing import RESULTS, Figure, console
from bestmix.reproduction.rival_instances import Subject, subjects
from bestmix.reproduction.rivals import SINGLE, Comparison, compare, is_trusted
from bestmix.simulation import CellResult

TITLE = "Published algorithms beside Challenger"
RUNS, SEED = 500, 0
QUICK = ("D2P", "A1", "H3")


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    figures = []
    for subject in chosen(quick):
        one = compare([subject], RESULTS / "rivals", runs or (50 if quick else RUNS), SEED, threads=1)[0]
        for figure in (sure(one), *([spent(one)] if subject.has_support else [])):
            console.print(f"{figure.what}: {figure.measured}; {figure.note}", highlight=False)
            figures.append(figure)
    return figures


def chosen(quick: bool) -> list[Subject]:
    """All instances, or a few."""
    return [subject for subject in subjects() if not quick or subject.name in QUICK]


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


def split(cells: Sequence[CellResult]) -> tuple[CellResult, list[CellResult]]:
    """Challenger's cell, and the others."""
    return cells[0], list(cells[1:])
