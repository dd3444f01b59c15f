"""``bestmix gaps``: the paper's hardness constants of an instance, and its bounds beside simulated error."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from bestmix.cli import common, problems
from bestmix.cli.plan import InstanceOrLog, LogArm, LogBound, LogDrop, LogReward, LogSegment, find_guess
from bestmix.cli.solve import DROP

if TYPE_CHECKING:
    from bestmix.theory import ErrorBounds, Gaps, LowerBound

MOST_ROWS = 40  # bases in a printed table


def gaps(
    instance: InstanceOrLog,
    bases: Annotated[bool, typer.Option("--bases", help="The gap of every basis too.")] = False,
    budget: Annotated[
        int | None, typer.Option(min=1, help="Bounds on the error with so many trials.", show_default=False)
    ] = None,
    bound: LogBound = None,
    goal: problems.Goal = None,
    limit: problems.Limits = None,
    arm: LogArm = "arm",
    reward: LogReward = "reward",
    segment: LogSegment = None,
    drop_missing: LogDrop = False,
    figure: Annotated[
        Path | None,
        typer.Option(help="Save a figure: bounds beside simulated error (.png, .svg or .pdf).", show_default=False),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Of each point in the figure.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Of the figure's runs.")] = 0,
    threads: common.Threads = None,
    as_json: common.Json = False,
) -> None:
    """How hard an instance is: the distance to the nearest instances with another answer.

    Example: [bold]bestmix gaps A2 --budget 100000 --figure a2.png[/bold]

    Example: [bold]bestmix gaps pilot.csv --arm model --reward quality --bound dollars=5[/bold]
    """
    common.Outputs(figure).check()
    with common.messages().status("Loading ...") as status, common.missing_values(DROP):
        from bestmix.theory import error_bounds
        from bestmix.theory import gaps as measure
        from bestmix.theory.explain import ERROR
        from bestmix.theory.limit.measure import limit_at_once
        from bestmix.theory.planning.guesses import read_log

        columns = {"arm": arm, "reward": reward, "drop_missing": drop_missing}
        source, log = find_guess(instance, bound, goal, limit, segment, columns)
        found = measure(read_log(source, **log)[0] if log else source, bases=bases)
        known = error_bounds(found, budget) if budget is not None else None
        least = limit_at_once(found.instance, ERROR)
        status.update("Simulating; the first time the arithmetic is compiled ...")
        saved = [draw(found, instance, figure, runs, seed, threads)] if figure else []
    if as_json:
        typer.echo(json.dumps(plain(found, known, least) | {"files": list(map(str, saved))}, indent=1, allow_nan=False))
        return
    console = common.output()
    console.print(column_table(found))
    if bases:
        console.print(basis_table(found))
    if known:
        console.print(_bounds(known, all(gap.proven for gap in (found.support, *found.rivals.values()))), markup=False)
    if least:
        console.print(least.sentence(), markup=False)
    for path in saved:
        console.print(f"Saved {path}", markup=False, soft_wrap=True)


def draw(found: "Gaps", name: str, path: Path, runs: int, seed: int, threads: int | None) -> Path:
    """Simulate, and put the bounds beside it."""
    from bestmix import plots
    from bestmix.cli.grid import default_budgets
    from bestmix.simulation import sweep
    from bestmix.theory import built_in

    budgets = default_budgets(name, found.instance)
    recipes = [s for s in built_in() if s.name != "single arm"]
    result = sweep({Path(name).stem: found.instance}, recipes, budgets, runs, seed, threads=threads)
    return plots.save(plots.bounds_figure(found, result), path)


def column_table(found: "Gaps") -> Table:
    """The columns outside of the basis, the smallest gap first."""
    names = found.instance.problem.columns
    basis = ", ".join(names[j] for j in found.basis)
    table = Table(title=Text(f"Gaps, in standard deviations of one trial; optimal basis: {basis}"))
    table.title_justify, table.title_style = "left", "bold"
    for name in ("column", "gap", "", "caught up by", "margin"):
        table.add_column(name, justify="right" if name in ("gap", "margin") else "left", overflow="fold")
    table.add_row("support infeasible", *_gap(found.support), "", "")
    for j in found.order:
        if j in found.rivals:
            rival = ", ".join(names[k] for k in found.rivals[j].basis)
            table.add_row(Text(names[j]), *_gap(found.rivals[j]), Text(rival), f"{found.margin[j]:.4f}")
    return table


def basis_table(found: "Gaps") -> Table:
    """Every basis, the smallest gap first, as far as a screen is long."""
    names = found.instance.problem.columns
    order = sorted((b for b in found.bases or {} if b != found.basis), key=lambda b: (found.bases or {})[b])
    shown = f"the {MOST_ROWS} nearest of {len(order):,}; --json has all" if len(order) > MOST_ROWS else "all"
    table = Table("basis", "gap", "", title=f"Bases: {shown}", title_justify="left", title_style="bold")
    for basis in order[:MOST_ROWS]:
        table.add_row(Text(", ".join(names[j] for j in basis)), *_gap(found.alternative(basis)))
    return table


def _gap(alternative: Any) -> tuple[str, str]:
    return f"{alternative.gap:.4f}", "proven" if alternative.proven else "best found"


def _bounds(known: "ErrorBounds", gaps_proven: bool) -> str:
    sure = "" if known.proven or gaps_proven else " (with gaps that are the best found)"
    most = f"at most {known.upper:.3g}" if known.upper > 0 else "fewer than 1e-300"
    says = f"is wrong in {most} of all cases" if known.upper < 1 else "may err: the bound is one"
    lines = [f"With {known.budget:,} trials SFSR {says}{sure}; {known.noise}."]
    if known.sfsr_exponent:
        lines.append(f"In the long run SFSR's error falls at least like exp(-{known.sfsr_exponent:.3g} N).")
    if math.isfinite(known.any_exponent):
        lines.append(
            f"No consistent algorithm's falls faster than exp(-{known.any_exponent:.3g} N), "
            f"USLP's not faster than exp(-{known.uniform_exponent:.3g} N)."
        )
    return "\n".join(lines)


def plain(found: "Gaps", known: "ErrorBounds | None", least: "LowerBound | None") -> dict[str, Any]:
    """Everything as plain data."""
    names, data = found.instance.problem.columns, found.to_dict()
    if found.bases is not None:
        data["bases"] = [
            {"basis": [names[j] for j in basis], "gap": gap if gap < float("inf") else None}
            | {"proven": basis == found.basis or found.found[basis].proven}
            for basis, gap in found.bases.items()
        ]
    data["limit"] = None if least is None else least.to_dict()
    return data | ({} if known is None else {"bounds": known.to_dict()})
