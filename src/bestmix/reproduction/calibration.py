"""Is the chance that a support is right, as a recommendation claims it, true?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from bestmix import files, plots
from bestmix.plots.calibration import Claims
from bestmix.problems import catalog
from bestmix.problems.solution import solve
from bestmix.reproduction.outcome import KEPT, Drawing, as_markdown
from bestmix.reproduction.parallel import map_in_threads
from bestmix.reproduction.results import ResultFolder
from bestmix.simulation.cells import Cell
from bestmix.simulation.results import wilson
from bestmix.strategies import Challenger

RUNS = 2000
EDGES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
# A first round with nearly all trials is uniform sampling, and then the linear program.
SAMPLING = {"Challenger": Challenger(), "uniform sampling": Challenger(first_share=0.999)}


@dataclass(frozen=True, eq=False)
class ClaimCounts:
    """One instance with one budget and one way of sampling: claims, by the bin of ``EDGES`` they fall into.

    Attributes
    ----------
    runs, claimed, right
        For each bin: how many runs, the sum of their claimed chances, how many were right.
    unclaimed
        Runs with the verdict infeasible, which claim nothing about a support.
    """

    sampling: str
    instance: str
    budget: int
    runs: tuple[int, ...]
    claimed: tuple[float, ...]
    right: tuple[int, ...]
    unclaimed: int


def budgets(name: str) -> list[int]:
    """Every other budget of the catalog, from mostly wrong to mostly right.

    >>> budgets("A1")
    [500, 2000, 6000, 12000]
    """
    return catalog.budgets(name)[1::2]


def judge(sampling: str, name: str, budget: int, runs: int, seed: int) -> ClaimCounts:
    """Simulate, and compare what was claimed with what was right.

    >>> cell = judge("Challenger", "A1", 2000, runs=100, seed=0)
    >>> sum(cell.runs) + cell.unclaimed, 0 < sum(cell.right) <= 100
    (100, True)
    """
    instance, strategy = catalog.load(name), SAMPLING[sampling]
    width = 1 + len(instance.costs)
    answer, weight = np.zeros((runs, width), dtype=np.int64), np.zeros((runs, width))
    pulls, chance = np.zeros(runs, dtype=np.int64), np.zeros(runs)
    simulated = strategy.with_chances(instance, budget)
    assert simulated is not None  # the catalog's noise is Gaussian, which is compiled
    simulated(Cell(instance, strategy, budget, seed).generator(0), answer, weight, pulls, chance)
    said = answer[:, 0] >= 0
    right = (answer == np.array(solve(instance).basis)).all(axis=1)[said]
    place = np.digitize(chance[said], EDGES[1:-1])
    count = [np.bincount(place, weights, len(EDGES) - 1) for weights in (None, chance[said], right)]
    whole = [tuple(int(n) for n in count[k]) for k in (0, 2)]
    return ClaimCounts(sampling, name, budget, whole[0], tuple(map(float, count[1])), whole[1], int((~said).sum()))


def judge_all(folder: Path, runs: int, seed: int, threads: int | None, progress: bool) -> list[ClaimCounts]:
    """All instances of the catalog; what is already in the folder is not computed again."""
    stored = ResultFolder(folder / KEPT / "calibration")

    def one(item: tuple[str, str, int], _: Event) -> ClaimCounts:
        sampling, name, budget = item
        cell = Cell(catalog.load(name), SAMPLING[sampling], budget, seed)
        key = f"{cell.digest}-{runs}"
        kept = stored.get(key)
        if kept.get("edges") != list(EDGES):
            stored.put(key, {"edges": EDGES, **vars(judge(sampling, name, budget, runs, seed))})
            kept = stored.get(key)
        bins = tuple(kept["runs"]), tuple(kept["claimed"]), tuple(kept["right"])
        return ClaimCounts(sampling, name, budget, *bins, kept["unclaimed"])

    items = [(sampling, name, n) for sampling in SAMPLING for name in catalog.names() for n in budgets(name)]
    return map_in_threads(one, items, "cells", threads, progress)


def draw_calibration(folder: Path, runs: int | None, seed: int, threads: int | None, progress: bool) -> Drawing:
    """The reliability diagram, and every cell's mean claim against its error."""
    runs = RUNS if runs is None else runs
    cells = judge_all(folder, runs, seed, threads, progress)
    bins = {sampling: pool_bins([c for c in cells if c.sampling == sampling]) for sampling in SAMPLING}
    means = {sampling: [mean_claim(c) for c in cells if c.sampling == sampling] for sampling in SAMPLING}
    rows = [_row({"sampling": s, "from": low, "to": high}, b) for s in bins for low, high, b in _binned(bins[s])]
    each = [
        _row({"sampling": c.sampling, "instance": c.instance, "budget": c.budget}, mean_claim(c))
        | {"infeasible": c.unclaimed}
        for c in cells
    ]
    texts = {"calibration.csv": files.csv_text(rows), "calibration-cells.csv": files.csv_text(each)}
    figure = plots.calibration_figure(bins, means, EDGES)
    return Drawing({"calibration": figure}, texts, _caption(cells, runs, seed), _table(bins))


def pool_bins(cells: Sequence[ClaimCounts]) -> list[Claims]:
    """Runs of all cells together, by bin."""
    totals = [np.sum([getattr(c, part) for c in cells], axis=0) for part in ("runs", "claimed", "right")]
    return [Claims(int(n), float(c), int(r)) for n, c, r in zip(*totals, strict=True)]


def mean_claim(cell: ClaimCounts) -> Claims:
    """All runs of a cell together."""
    return Claims(sum(cell.runs), sum(cell.claimed), sum(cell.right))


def _binned(bins: Sequence[Claims]) -> list[tuple[float, float, Claims]]:
    """The bins that hold any run, with their ends."""
    return [(low, high, b) for low, high, b in zip(EDGES, EDGES[1:], bins, strict=False) if b.runs]


def _row(where: dict[str, Any], claims: Claims) -> dict[str, Any]:
    low, high = wilson(claims.right, claims.runs)
    numbers = {"claimed": claims.mean, "true": claims.share} if claims.runs else {"claimed": None, "true": None}
    return where | {"runs": claims.runs, "right": claims.right} | numbers | {"low": low, "high": high}


def _table(bins: Mapping[str, Sequence[Claims]]) -> str:
    rows = [
        {
            "sampling": sampling,
            "claimed from": f"{low:g}",
            "to": f"{high:g}",
            "runs": f"{b.runs:,}",
            "mean claim": f"{b.mean:.3f}",
            "true": f"{b.share:.3f}",
        }
        for sampling in bins
        for low, high, b in _binned(bins[sampling])
    ]
    return as_markdown(rows)


def optimism(cell: ClaimCounts) -> float:
    """By how much the mean claim of a cell exceeds the share that was right; below zero it is modest."""
    claims = mean_claim(cell)
    return claims.mean - claims.share if claims.runs else -1.0


def _caption(cells: Sequence[ClaimCounts], runs: int, seed: int) -> str:
    return (
        "The chance that the support is right, claimed against true, on the six D, three A and three H instances "
        f"with four budgets each, {runs:,} runs a cell, after Challenger and after uniform sampling. Left: all runs, "
        "by what they claim, with 95% intervals (Wilson), and below how many runs make such a claim; above the "
        "diagonal it is more often right than it says. Right: every instance and budget as a dot, mean claimed "
        "chance of a wrong support against the share of wrong ones; an arrow marks a cell without an error, from the "
        f"end of its interval, and claims too small for the axis stand at its edge. {_verdict(cells)} Runs with the "
        f"verdict infeasible claim nothing and are left out ({sum(c.unclaimed for c in cells):,} in all); seed {seed}."
    )


def _verdict(cells: Sequence[ClaimCounts]) -> str:
    """The cell that claims most beyond the truth, in words."""
    worst = max(cells, key=optimism)
    claims = mean_claim(worst)
    low, high = claims.interval()
    return (
        f"{'The most optimistic' if optimism(worst) > 0 else 'No cell claims too much; the closest'} is "
        f"{worst.sampling} on {worst.instance} with budget {worst.budget:,}: it claims {claims.mean:.1%} on average "
        f"where {claims.share:.1%} are right (95% interval {low:.1%} to {high:.1%})."
    )
