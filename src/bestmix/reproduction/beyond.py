"""Challenger beside the paper's algorithms: error curves, and the trials that each needs for an error.

On D, A and H, and on random instances of two families. It takes hours; every error rate that is
finished is kept, and the same call goes on.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bestmix import files, plots
from bestmix.plots.gains import geometric_mean
from bestmix.problems import catalog, families
from bestmix.problems.instance import Instance
from bestmix.reproduction.outcome import KEPT, Drawing, as_markdown
from bestmix.reproduction.trials import ENOUGH, LARGEST_BUDGET, STRATEGIES, TARGETS, error_curves, gain
from bestmix.simulation import sweep
from bestmix.simulation.cells import BLOCK
from bestmix.theory.planning.error_rates import HOPELESS, ErrorRates, trials_for

RUNS = 5000  # of each cell
FIRST_SEED = 1000  # of the random instances


@dataclass(frozen=True)
class Family:
    """Random instances of one shape: seeds ``FIRST_SEED`` and up."""

    name: str
    make: Callable[[int, int, int], Instance]
    arms: int
    costs: int
    count: int

    @property
    def label(self) -> str:
        """The name with the shape."""
        return f"{self.name}, {self.arms} arms, {self.costs} cost{'' if self.costs == 1 else 's'}"


SHAPES = ((16, 1, 100), (24, 2, 100), (24, 3, 100))  # arms, costs, instances
FAMILIES = (
    *(Family("uniform", families.uniform_instance, *shape) for shape in SHAPES),
    *(Family("designed", families.random_instance, *shape) for shape in SHAPES),
)


@dataclass(frozen=True, eq=False)
class Need:
    """Trials that each strategy needs on an instance for an error; infinite if more than ``LARGEST_BUDGET``."""

    group: str
    instance: str
    arms: int
    costs: int
    runs: int
    target: float
    pulls: dict[str, float]

    @property
    def gain(self) -> float:
        """The better of SFSR and SFSR-L against Challenger."""
        return gain(self.pulls)


@dataclass(frozen=True, eq=False)
class Subject:
    """An instance to be measured, in its group."""

    group: str
    name: str
    instance: Instance
    runs: int


def subjects(runs: int | None = None, instances: int | None = None) -> list[Subject]:
    """D, A and H, then the random instances, a bit of each family in turn, so that the time left can be foretold.

    >>> [subject.name for subject in subjects(instances=1)[10:14]]
    ['H2', 'H3', '1000', '1000']
    """
    found = [Subject(name[0], name, catalog.load(name), runs or RUNS) for name in catalog.names()]
    counts = [family.count if instances is None else instances for family in FAMILIES]
    for k in range(max(counts)):
        for family, count in zip(FAMILIES, counts, strict=True):
            if k < count:
                seed = FIRST_SEED + k
                instance = family.make(family.arms, family.costs, seed)
                found.append(Subject(family.label, str(seed), instance, runs or RUNS))
    return found


def measure(
    asked: Sequence[Subject], folder: Path, seed: int = 0, threads: int | None = None, progress: bool = False
) -> list[Need]:
    """The trials that all strategies need on those instances, for each of ``TARGETS``."""
    each = [(ErrorRates(s.instance, strategy, seed, threads=1), s.runs) for s in asked for strategy in STRATEGIES]
    curves = error_curves(each, folder, threads, progress)
    needs = []
    for k, subject in enumerate(asked):
        points = dict(zip((s.name for s in STRATEGIES), curves[k * len(STRATEGIES) :], strict=False))
        shape = len(subject.instance.arms), len(subject.instance.costs), subject.runs
        for target in TARGETS:
            pulls = {name: trials_for(target, found, subject.runs) for name, found in points.items()}
            needs.append(Need(subject.group, subject.name, *shape, target, pulls))
    return needs


def gains(needs: Sequence[Need], group: str, target: float) -> dict[str, float]:
    """The gain on each instance of a group, where there is one to speak of."""
    return {n.instance: n.gain for n in needs if (n.group, n.target) == (group, target) and not math.isnan(n.gain)}


def draw_beyond(
    folder: Path, runs: int | None, seed: int, instances: int | None, threads: int | None, progress: bool
) -> Drawing:
    """Error curves, the table of trials, and the distribution of the gains."""
    budgets = {name: catalog.budgets(name) for name in catalog.names()}
    options: dict[str, Any] = {"output": folder / KEPT, "threads": threads, "progress": progress}
    curves = sweep(catalog.names(), STRATEGIES, budgets, runs or RUNS, seed, **options)
    asked = subjects(runs, instances)
    needs = measure(asked, folder / KEPT / "walks", seed, threads, progress)
    groups = list(dict.fromkeys(need.group for need in needs))
    panels = {f"{target:.0%} error": {group: gains(needs, group, target) for group in groups} for target in TARGETS}
    figures = {"beyond": plots.sweep_figure(curves), "beyond-gains": plots.gains_figure(panels)}
    table = as_markdown(_listed(needs)) + "\n" + as_markdown(_summed_up(needs, groups))
    texts = {"beyond.csv": files.csv_text(curves.rows()), "beyond-pulls.csv": files.csv_text([_row(n) for n in needs])}
    caption = _caption(needs, seed)
    return Drawing(figures, texts | {"beyond-pulls.md": f"{table}\n{caption}\n"}, caption, table)


def _row(need: Need) -> dict[str, Any]:
    found = {f"pulls of {name}": None if math.isinf(n) else round(n, 1) for name, n in need.pulls.items()}
    where = {name: getattr(need, name) for name in ("group", "instance", "arms", "costs", "runs", "target")}
    return where | found | {"ratio": None if math.isnan(need.gain) else need.gain}


def _listed(needs: Sequence[Need]) -> list[dict[str, str]]:
    """Trials on D, A and H, a row for each instance."""
    rows = []
    for name in catalog.names():
        row = {"instance": name}
        for need in (n for n in needs if n.instance == name):
            for strategy, pulls in need.pulls.items():
                said = f"over {LARGEST_BUDGET:,}" if math.isinf(pulls) else f"{pulls:,.0f}"
                row[f"{strategy}, {need.target:.0%}"] = said
            row[f"ratio, {need.target:.0%}"] = f"{need.gain:.2f}"
        rows.append(row)
    return rows


def _summed_up(needs: Sequence[Need], groups: Sequence[str]) -> list[dict[str, str]]:
    """Ratios by group: geometric mean, median and the smallest."""
    rows = []
    for group in groups:
        row = {"ratio to the better of SFSR and SFSR-L": group}
        for target in TARGETS:
            found = gains(needs, group, target)
            row.setdefault("instances", str(len(found)))
            worst = min(found, key=lambda name: found[name], default=None)
            said = ["none"] * 3
            if worst is not None:
                values = list(found.values())
                said = [f"{mean:.2f}" for mean in (geometric_mean(values), statistics.median(values), found[worst])]
                said[2] += f" ({worst})"
            row |= {
                f"{what}, {target:.0%}": s for what, s in zip(("geometric mean", "median", "worst"), said, strict=True)
            }
        rows.append(row)
    return rows


def _caption(needs: Sequence[Need], seed: int) -> str:
    random = [need for need in needs if need.instance not in catalog.names()]
    runs = needs[0].runs
    return (
        f"Error curves (beyond.png): Challenger beside SFSR, SFSR-L and USLP on D, A and H; share of {runs:,} "
        "runs with a wrong support, with 95% intervals (Wilson). D has the means of the paper's table, A and H were "
        "designed for this package. Gains (beyond-gains.png): trials that the better of SFSR and SFSR-L needs for an "
        "error, over those of Challenger; every instance a dot, the one with the smallest gain named. Uniform: means "
        "uniform on [0, 2], bounds 1. Designed: all rivals are about equally close to the best mix, so that it matters "
        f"less where the trials go{_by_design(random)}. Random instances have the seeds {FIRST_SEED} and up. "
        "Trials for an error: budgets grow by 1.41 until it is below "
        f"{100 * ENOUGH:.1f}%, {runs:,} runs each ({BLOCK} where more than {HOPELESS:.0%} of those are wrong), "
        f"with a straight line in logarithms between budgets. {_exactness(runs)}{_unreached(needs)} Seed {seed}."
    )


def _by_design(needs: Sequence[Need]) -> str:
    """How much less is gained on designed instances, in the plainest case: one cost, 10% error."""
    shape = next((f"{n.arms} arms, 1 cost" for n in needs if n.costs == 1), "")
    found = {name: gains(needs, f"{name}, {shape}", 0.1).values() for name in ("designed", "uniform")}
    means = {name: geometric_mean(list(values)) for name, values in found.items() if values}
    said = ", ".join(f"{mean:.2f} on {name} ones" for name, mean in means.items())
    return f" (geometric mean of the gains with one cost at 10% error: {said})" if len(means) == 2 else ""


def _exactness(runs: int) -> str:
    """What chance alone does to a ratio: errors at 1% as a count, and a fall of the error by N to the power -3."""
    noise = math.sqrt(2.0) / (3.0 * math.sqrt(min(TARGETS) * runs))
    return f"At 1% error chance moves a single ratio by about {noise:.0%}, so that the smallest of many looks worse."


def _unreached(needs: Sequence[Need]) -> str:
    lost = sum(any(math.isinf(pulls) for pulls in need.pulls.values()) for need in needs)
    return (
        f" {lost} times a strategy needs more than {LARGEST_BUDGET:,} trials, and is taken to need that many."
        if lost
        else ""
    )
