"""``bestmix tradeoff``: what another limit would earn."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from bestmix.cli import common, problems
from bestmix.cli.solve import DROP

if TYPE_CHECKING:
    from bestmix.answers.tradeoff_curve import TradeOff


def tradeoff(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A .csv or .parquet file, one trial a row; or an instance: a name from the catalog, or a file.",
            show_default=False,
        ),
    ],
    cost: Annotated[
        str | None, typer.Option(help="The cost, or the limit, whose bound moves.", show_default="the first")
    ] = None,
    reward: Annotated[str, typer.Option(help="Column of the reward.")] = "reward",
    bound: problems.Bound = None,
    goal: problems.Goal = None,
    limit: problems.Limits = None,
    arm: Annotated[str, typer.Option(help="Column of the arm.")] = "arm",
    segment: Annotated[
        str | None, typer.Option(help="Column of the segment.", show_default="one mix for all rows")
    ] = None,
    segments: problems.Segments = None,
    discount: problems.Discount = None,
    start: problems.Start = None,
    next_state: problems.NextState = "next",
    feature: problems.Features = None,
    safety: common.Safety = "0.95",
    drop_missing: Annotated[bool, typer.Option("--drop-missing", help="Leave out rows that miss a value.")] = False,
    figure: common.Figure = None,
    as_json: common.Json = False,
) -> None:
    """What if a limit were different: the value of the best mix against it, and where the arms of the mix change.

    Example: [bold]bestmix tradeoff trials.csv --reward quality --bound dollars=5 --cost dollars --figure f.png[/bold]

    Example: [bold]bestmix tradeoff trials.csv --goal 'minimise dollars' --limit 'quality >= 0.9'[/bold]
    """
    bounds, wanted = common.parse_bounds(bound or []), common.parse_safety(safety)
    steps = problems.parse_steps(discount, start, next_state)
    common.Outputs(figure).check()
    with common.messages().status("Loading ..."), common.missing_values(DROP):
        from bestmix.answers.logs.files import is_log
        from bestmix.answers.tradeoff import tradeoff as find

        if is_log(source):
            columns = {"arm": arm, "reward": reward, "bounds": bounds, "drop_missing": drop_missing}
            shares = None if segments is None else problems.parse_segments(segments)
            asked = {"goal": goal or "maximise reward", "limits": limit or (), "segment": segment, "segments": shares}
            asked |= steps | ({"features": feature} if feature else {})
            found = find(Path(source), cost, safety=wanted, **columns, **asked)  # type: ignore[arg-type]
        else:
            if limit or goal or segment or segments or feature or steps:
                raise ValueError(
                    "--limit, --goal, --segment, --discount, --feature: an instance has its own, got others; "
                    "leave them out"
                )
            found = _of_instance(source, bounds, cost)
    saved = _save(found, figure)
    if as_json:
        typer.echo(json.dumps(found.to_dict() | {"files": list(map(str, saved))}, indent=1, allow_nan=False))
        return
    show(found)
    for path in saved:
        common.output().print(f"Saved {path}", markup=False, soft_wrap=True)


def _of_instance(source: str, bounds: dict[str, float], cost: str | None) -> "TradeOff":
    from bestmix.answers.tradeoff import tradeoff as find
    from bestmix.cli.grid import find_instance

    if bounds:
        raise ValueError(f"--bound: an instance has its own bounds, got {', '.join(bounds)}; leave it out")
    return find(find_instance(source, Path.cwd(), f"source {source}"), cost)


def _save(found: "TradeOff", figure: Path | None) -> list[Path]:
    from bestmix import plots

    return [plots.save(plots.tradeoff_figure(found), figure)] if figure else []


def show(found: "TradeOff") -> None:
    """The sentences, and the table of ranges with the one of today marked."""
    console = common.output()
    first, *others = found.sentences()
    console.print(Text(first, style="bold" if found.at(found.bound).feasible else "bold yellow"))
    for line in others:
        console.print(line, markup=False)
    if found.pieces:
        console.print(_table(found))


def _table(found: "TradeOff") -> Table:
    from bestmix.answers.tradeoff_wording import rows

    header, *body = rows(found)
    table = Table(caption=f"at the {'estimated' if found.estimated else 'given'} means", caption_justify="left")
    for name in header:
        table.add_column(Text(name), overflow="fold")
    for row, piece in zip(body, found.pieces, strict=True):
        table.add_row(*map(Text, row), style="bold cyan" if found.stands_in(piece) else "")
    return table
