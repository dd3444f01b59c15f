"""``bestmix compare``: strategies on one instance, to a table and a figure."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bestmix.cli import common, rivals, stopping
from bestmix.cli.sweep import check_table, compute, conclude, save, try_each

if TYPE_CHECKING:
    from bestmix.problems.problem import Problem

DEFAULT = ("challenger", "sfsr", "sfsr-l", "uniform")
SEGMENTS = ("challenger", "sfsr-l", "uniform")  # those that serve segments and limits of every kind
STATES = ("challenger", "uniform")


def compare(
    instance: Annotated[
        str, typer.Argument(metavar="INSTANCE", help="A name from the catalog, or a file.", show_default=False)
    ],
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            help="challenger, sfsr, sfsr-l, uniform, single or module:object; repeat it.",
            show_default="challenger, sfsr, sfsr-l, uniform; of these with segments those that serve them",
        ),
    ] = None,
    budget: Annotated[
        list[int] | None, typer.Option(min=1, help="Number of trials; repeat it.", show_default="some that fit")
    ] = None,
    confidence: stopping.Confidence = None,
    tolerance: stopping.Tolerance = None,
    proven: stopping.Proven = False,
    sigma: stopping.Sigma = None,
    ranges: stopping.Ranges = None,
    margin_share: stopping.MarginShare = None,
    beside: Annotated[
        bool,
        typer.Option("--rivals", help="Published algorithms too, with a budget and until they are --confidence sure."),
    ] = False,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Runs of each strategy with each budget.", show_default="5000; with --rivals 1000"),
    ] = None,
    arriving: common.Arriving = False,
    seed: Annotated[int, typer.Option(min=0, help="Of all runs.")] = 0,
    threads: common.Threads = None,
    table: Annotated[
        Path | None,
        typer.Option("--table", "--csv", help="Save the table (.csv, .json or .parquet).", show_default=False),
    ] = None,
    by: Annotated[
        common.Measure,
        typer.Option(
            help="What to compare: wrong supports, or mean loss or limits kept, both without infeasible verdicts."
        ),
    ] = common.Measure.error,
    figure: common.Figure = None,
    as_json: common.Json = False,
) -> None:
    """Compare strategies on one instance by how often each is wrong, or by what its mix loses.

    The instance may have segments and limits of every kind: these challenger, sfsr-l and uniform serve; and states,
    which challenger and uniform do.
    With --confidence, challenger stops when it is sure, and with --tolerance when a mix is good enough. With --rivals
    published algorithms are put beside it: one table of those that spend the budget, by default the middle one of those
    that fit, and one of those that stop when they are --confidence sure, 0.95 by default: of their own accord, and at
    the latest after 32 times that budget.

    Example: [bold]bestmix compare D2P --strategy sfsr --strategy uniform --budget 4000 --figure d2p.png[/bold]
    """
    from bestmix import checks
    from bestmix.cli.grid import Grid, find_budgets, find_instance, find_strategy
    from bestmix.simulation import SweepResult
    from bestmix.strategies.rivals import comparison

    common.Outputs(figure).check()
    check_table(table)
    here = Path.cwd()
    found = {instance: find_instance(instance, here, f"instance {instance}")}
    usual = usual_strategies(found[instance].problem)
    stop = stopping.options(confidence, tolerance, proven, sigma, ranges, margin_share)
    if beside:
        rivals.check(strategy, stop, arriving, by)
        rivals.check_plain(found[instance])
    written = checks.names("--strategy", strategy or usual, "strategy")
    recipes = {text: find_strategy(text, here, f"--strategy {text}", stop) for text in written}
    name = Path(instance).stem
    budgets = {name: find_budgets(budget or None, found)[instance]}
    if beside:
        some = budgets[name] if budget else [comparison.middle(budgets[name])]
        asked = rivals.grids(name, found[instance], some, stop.get("confidence"), runs or rivals.RUNS, seed)
    else:
        asked = [Grid({name: found[instance]}, recipes, budgets, runs or common.RUNS, seed, arriving)]
    results = []
    for grid in asked:
        try_each(grid)
        results.append(compute(grid, None, None, threads))
    saved = save(joined := SweepResult(tuple(cell for result in results for cell in result)), table)
    if figure:
        from bestmix import plots

        saved.append(plots.save(plots.comparison_figure(results[0], found[instance], by.value), figure))
    if beside and not as_json:
        rivals.conclude(results, saved)
    else:
        conclude(joined, saved, as_json, {"instance": instance}, by)


def usual_strategies(problem: "Problem") -> tuple[str, ...]:
    """Those that are compared where none are named: those that serve the problem."""
    if problem.flows or problem.features:
        return STATES
    return DEFAULT if problem.plain else SEGMENTS
