"""``bestmix compare --rivals``: published algorithms beside those of this package, strategies downwards."""

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
CONFIDENCE = 0.95
CAP = 32  # times the largest budget: where strategies that stop by themselves are cut off
CUT = 0.999  # of the cap: a run that made so many trials did not stop by itself
NOTE = (
    "single arm, Constrained-SR and OCBA answer with one arm, which is compared with the best mix. CTnS and CGE take "
    "estimated costs for known ones."
)


def check(strategy: Sequence[str] | None, stop: Mapping[str, Any]) -> None:
    """Refuse options that the comparison has no use for.

    >>> check(["sfsr"], {})
    Traceback (most recent call last):
    ValueError: --rivals: expected no --strategy, and no other stop than --confidence, with it; leave one out
    """
    if strategy or set(stop) - {"confidence"}:
        raise ValueError(
            "--rivals: expected no --strategy, and no other stop than --confidence, with it; leave one out"
        )


def middle(budgets: Sequence[int]) -> list[int]:
    """The one in the middle: both kinds of strategies are some way from either end there.

    >>> middle([250, 500, 1000])
    [500]
    """
    return [budgets[len(budgets) // 2]]


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

    groups = [
        (comparison.with_budget(instance), budgets),
        (comparison.with_confidence(CONFIDENCE if confidence is None else confidence), [CAP * max(budgets)]),
    ]
    return [
        Grid({name: instance}, {s.name: s for s in strategies}, {name: trials}, runs, seed)
        for strategies, trials in groups
    ]


def rivals_table(result: "SweepResult") -> Table:
    """Strategies downwards, for each budget: wrong answers, loss, kept limits and trials; the best of each in bold."""
    cells = list(result)
    title = f"{cells[0].instance}: {cells[0].runs:,} runs (95% intervals)"
    table = Table(title=Text(title), title_justify="left", title_style="bold")
    for heading in ("budget", "strategy", "wrong answers in %", "mean loss", "limits kept in %", "trials"):
        table.add_column(heading, justify="left" if heading == "strategy" else "right", overflow="fold")
    for budget in dict.fromkeys(cell.budget for cell in cells):
        group = [cell for cell in cells if cell.budget == budget]
        fewest, least = min(cell.error_rate for cell in group), min(cell.loss for cell in group)
        for cell in group:
            table.add_row(
                f"{budget:,}",
                Text(cell.strategy),
                _marked(_percent(cell.error_rate, cell.interval), cell.error_rate == fewest),
                _marked(f"{cell.loss:.4f}", cell.loss == least),
                _percent(cell.kept, cell.kept_interval),
                _trials(cell),
            )
        table.add_section()
    return table


def conclude(results: "Sequence[SweepResult]", saved: list[Path]) -> None:
    """Print the tables."""
    console = common.output()
    for result in results:
        console.print(rivals_table(result))
    console.print(NOTE, markup=False, soft_wrap=True)
    for path in saved:
        console.print(f"Saved {path}", markup=False, soft_wrap=True)


def _trials(cell: "CellResult") -> str:
    """Mean number of trials; at least that many where runs were cut off."""
    stops = cell.strategy.endswith("]")
    cut = stops and (cell.outcomes.pulls >= CUT * cell.budget).any()
    return f"{'≥ ' if cut else ''}{cell.mean_pulls:,.0f}"


def _percent(value: float, interval: tuple[float, float]) -> str:
    return f"{100 * value:.1f} ({100 * interval[0]:.1f}–{100 * interval[1]:.1f})"


def _marked(text: str, best: bool) -> Text:
    return Text(text, style="bold cyan" if best else "")
