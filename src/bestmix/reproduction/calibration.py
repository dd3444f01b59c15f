"""Is the chance that a support is right, as a recommendation claims it, true?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from bestmix import files, plots
from bestmix.arrays import Flags, Floats
from bestmix.plots.calibration import Claims
from bestmix.problems import catalog, families
from bestmix.problems.instance import Instance
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
# Models whose prices differ 500-fold: here what is claimed is not what Challenger decides by, so that runs are live.
PRICED = {f"P{k}": 40_000 + k for k in (1, 2, 3)}  # seeds
PRICED_ARMS, PRICED_BUDGETS = 5, (60, 120, 300, 900)


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
    return list(PRICED_BUDGETS) if name in PRICED else catalog.budgets(name)[1::2]


def load(name: str) -> Instance:
    """An instance of the catalog, or one whose prices differ 500-fold.

    >>> load("P1").means.shape, len(load("A1").arms)
    ((5, 2), 16)
    """
    return families.priced_instance(PRICED_ARMS, PRICED[name]) if name in PRICED else catalog.load(name)


def live_runs(runs: int) -> int:
    """Runs of a cell that is not compiled: a live search takes a hundred times as long.

    >>> live_runs(2000)
    300
    """
    return max(1, runs * 3 // 20)


def judge(sampling: str, name: str, budget: int, runs: int, seed: int) -> ClaimCounts:
    """Simulate, and compare what was claimed with what was right.

    >>> cell = judge("Challenger", "A1", 2000, runs=100, seed=0)
    >>> sum(cell.runs) + cell.unclaimed, 0 < sum(cell.right) <= 100
    (100, True)
    """
    cell = Cell(load(name), SAMPLING[sampling], budget, seed)
    chance, right = live_claims(cell, live_runs(runs)) if name in PRICED else compiled_claims(cell, runs)
    said = ~np.isnan(chance)
    chance, right, unclaimed = chance[said], right[said], int((~said).sum())
    place = np.digitize(chance, EDGES[1:-1])
    count = [np.bincount(place, weights, len(EDGES) - 1) for weights in (None, chance, right)]
    whole = [tuple(int(n) for n in count[k]) for k in (0, 2)]
    return ClaimCounts(sampling, name, budget, whole[0], tuple(map(float, count[1])), whole[1], unclaimed)


def compiled_claims(cell: Cell, runs: int) -> tuple[Floats, Flags]:
    """Claimed chance of each run, NaN for none, and whether its support was right."""
    width = 1 + len(cell.instance.costs)
    answer, weight = np.zeros((runs, width), dtype=np.int64), np.zeros((runs, width))
    pulls, chance = np.zeros(runs, dtype=np.int64), np.zeros(runs)
    assert isinstance(cell.strategy, Challenger)
    simulated = cell.strategy.with_chances(cell.instance, cell.budget)
    assert simulated is not None  # the catalog's noise is Gaussian, which is compiled
    simulated(cell.generator(0), answer, weight, pulls, chance)
    right = (answer == np.array(solve(cell.instance).basis)).all(axis=1)
    return np.where(answer[:, 0] >= 0, chance, np.nan), np.asarray(right)


def live_claims(cell: Cell, runs: int) -> tuple[Floats, Flags]:
    """The same as recommendations claim it, from searches by ask and tell."""
    problem, best, rng = cell.instance.problem, solve(cell.instance), cell.generator(0)
    truth = {problem.columns[j] for j in best.basis}
    chance, right = np.full(runs, np.nan), np.zeros(runs, dtype=np.bool_)
    for k in range(runs):
        search = cell.strategy.start(problem, cell.budget)
        while owed := search.ask():
            for arm, n in owed.items():
                rows = cell.instance.draw(problem.names.index(arm), n, rng)
                search.tell(arm, rows[:, 0], rows[:, 1:])
        said = search.recommend(safety=None)
        if said.feasible and said.support_probability is not None:
            chance[k], right[k] = said.support_probability, set(said.basis) == truth
    return chance, right


def judge_all(folder: Path, runs: int, seed: int, threads: int | None, progress: bool) -> list[ClaimCounts]:
    """All instances of the catalog and those of ``PRICED``; what is already in the folder is not computed again."""
    stored = ResultFolder(folder / KEPT / "calibration")

    def one(item: tuple[str, str, int], _: Event) -> ClaimCounts:
        sampling, name, budget = item
        cell = Cell(load(name), SAMPLING[sampling], budget, seed)
        key = f"{cell.digest}-{runs}"
        kept = stored.get(key)
        if kept.get("edges") != list(EDGES):
            stored.put(key, {"edges": EDGES, **vars(judge(sampling, name, budget, runs, seed))})
            kept = stored.get(key)
        bins = tuple(kept["runs"]), tuple(kept["claimed"]), tuple(kept["right"])
        return ClaimCounts(sampling, name, budget, *bins, kept["unclaimed"])

    items = [
        (sampling, name, n) for sampling in SAMPLING for name in (*catalog.names(), *PRICED) for n in budgets(name)
    ]
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
        f"with four budgets each, {runs:,} runs a cell, and on three with prices 500-fold apart, {live_runs(runs):,} "
        "runs a cell, after Challenger and after uniform sampling. Left: all runs, "
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
