"""``bestmix compare --rivals``: published algorithms beside those of this package, strategies downwards."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from bestmix.cli import common

if TYPE_CHECKING:
    from bestmix.cli.grid import Grid
    from bestmix.problems.instance import Instance
    from bestmix.simulation import CellResult, SweepResult

RUNS = 1000  # of each strategy, by default
CAP = 32  # times the largest budget: where strategies that stop by themselves are cut off
NOTE = (
    "single arm, Constrained-SR and OCBA answer with one arm, which is compared with the best mix. CTnS and CGE take "
    "estimated costs for known ones."
)

CUT_OFF = (
    "The strategies of the last table stop when they are sure, whatever the budget; at {cap:,} trials, {times} times "
    "the largest one, they are cut off."
)
UNPACED = "Paced Thompson is left out: it divides by the bounds, which have to be positive."
WITHOUT_MIX = "Without a mix: runs that wrongly said that no mix keeps the limits. They have no part in the mean loss."


def check(
    strategy: Sequence[str] | None, stop: Mapping[str, Any], arriving: bool = False, by: str = common.Measure.error
) -> None:
    """Refuse options that the comparison has no use for: it has strategies of its own, and shows every measure.

    >>> check(["sfsr"], {})
    Traceback (most recent call last):
    ValueError: --rivals: expected no --strategy with it, got one; leave one out
    """
    useless = {
        "--strategy": bool(strategy),
        "other stop than --confidence": bool(set(stop) - {"confidence"}),
        "--arriving": arriving,
        "--by": by != common.Measure.error,
    }
    for option in (name for name, given in useless.items() if given):
        raise ValueError(f"--rivals: expected no {option} with it, got one; leave one out")


def check_plain(instance: "Instance") -> None:
    """Refuse an instance that published algorithms do not know."""
    if not instance.problem.plain:
        raise ValueError(
            "--rivals: expected an instance with one segment and limits on means alone, which is all that published "
            "algorithms know; leave it out"
        )


def grids(
    name: str, instance: "Instance", budgets: list[int], confidence: float | None, runs: int, seed: int
) -> "list[Grid]":
    """What to simulate: strategies that spend each budget, and those that stop by themselves.

    >>> from bestmix import catalog
    >>> [grid.cells for grid in grids("D2P", catalog.load("D2P"), [4000, 8000], None, runs=10, seed=0)]
    [18, 6]
    """
    from bestmix.cli.grid import Grid
    from bestmix.strategies.rivals import comparison

    sure = comparison.CONFIDENCE if confidence is None else confidence
    groups = [
        (comparison.with_budget(instance), budgets),
        (comparison.with_confidence(sure), [CAP * max(budgets)]),
    ]
    return [
        Grid({name: instance}, {s.name: s for s in strategies}, {name: trials}, runs, seed)
        for strategies, trials in groups
    ]


def rivals_table(result: "SweepResult") -> Table:
    """Strategies downwards, for each budget: wrong answers, loss, kept limits and trials; the best of each in bold.

    Where runs wrongly said infeasible, which have no mix and no loss, a column tells their share.
    """
    cells = list(result)
    some = any(cell.wrongly_infeasible for cell in cells)
    title = f"{cells[0].instance}: {cells[0].runs:,} runs (95% intervals)"
    table = Table(title=Text(title), title_justify="left", title_style="bold")
    left_out = ("without a mix in %",) if some else ()
    for heading in ("budget", "strategy", "wrong answers in %", "mean loss", "limits kept in %", *left_out, "trials"):
        table.add_column(heading, justify="left" if heading == "strategy" else "right", overflow="fold")
    for budget in dict.fromkeys(cell.budget for cell in cells):
        group = [cell for cell in cells if cell.budget == budget]
        fewest = min(cell.error_rate for cell in group)
        least = min((cell.loss for cell in group if not math.isnan(cell.loss)), default=math.nan)
        for cell in group:
            table.add_row(
                f"{budget:,}",
                Text(cell.strategy),
                _marked(_percent(cell.error_rate, cell.interval), cell.error_rate == fewest),
                *_deployed(cell, least),
                *([_left_out(cell)] if some else []),
                _trials(cell),
            )
        table.add_section()
    return table


def conclude(results: "Sequence[SweepResult]", saved: list[Path]) -> None:
    """Print the tables."""
    console = common.output()
    for result in results:
        console.print(rivals_table(result))
    cap = max(cell.budget for cell in results[-1])
    console.print(CUT_OFF.format(cap=cap, times=CAP), markup=False, soft_wrap=True)
    console.print(NOTE, markup=False, soft_wrap=True)
    if not any(cell.strategy == "paced Thompson" for result in results for cell in result):
        console.print(UNPACED, markup=False, soft_wrap=True)
    if any(cell.wrongly_infeasible for result in results for cell in result):
        console.print(WITHOUT_MIX, markup=False, soft_wrap=True)
    for path in saved:
        console.print(f"Saved {path}", markup=False, soft_wrap=True)


def _deployed(cell: "CellResult", least: float) -> tuple[Text, str]:
    """Loss of the mixes and how many keep the limits; none where every verdict was that no mix does."""
    if math.isnan(cell.loss):
        return Text("no mix"), "no mix"
    return _marked(f"{cell.loss:.4f}", cell.loss == least), _percent(cell.kept, cell.kept_interval)


def _left_out(cell: "CellResult") -> str:
    """Share of the runs that wrongly said infeasible, where there are any."""
    return f"{100 * cell.wrongly_infeasible / cell.runs:.1f}" if cell.wrongly_infeasible else ""


def _trials(cell: "CellResult") -> str:
    """Mean number of trials; at least that many where runs were cut off."""
    from bestmix.strategies.rivals.comparison import cut_off

    cut = cell.strategy.endswith("]") and cut_off(cell.outcomes.pulls, cell.budget) > 0
    return f"{'≥ ' if cut else ''}{cell.mean_pulls:,.0f}"


def _percent(value: float, interval: tuple[float, float]) -> str:
    return f"{100 * value:.1f} ({100 * interval[0]:.1f}–{100 * interval[1]:.1f})"


def _marked(text: str, best: bool) -> Text:
    return Text(text, style="bold cyan" if best else "")
