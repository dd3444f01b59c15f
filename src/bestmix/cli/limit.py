"""``bestmix limit``: the fewest trials on average that any algorithm needs on an instance, and the best shares."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from bestmix.cli import common, problems, stopping
from bestmix.cli.plan import InstanceOrLog, LogArm, LogBound, LogDrop, LogReward, LogSegment, find_guess
from bestmix.cli.solve import DROP

if TYPE_CHECKING:
    from bestmix.arrays import Floats
    from bestmix.theory import LowerBound

LEAST_SHARE = 0.0005  # of an arm that the table shows


def limit(
    instance: InstanceOrLog,
    delta: Annotated[
        float,
        typer.Option(
            parser=common.parse_fraction,
            metavar="CHANCE",
            help="Chance of a wrong answer that is allowed, as 0.05 or 5%.",
        ),
    ] = 0.05,
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNT",
            help="A mix that earns this much less is as good, as 0.01 or 1%.",
            show_default="the best alone",
        ),
    ] = None,
    limit_tolerance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AMOUNT",
            help="And one that exceeds the limits by this much, as 0.01, or dollars=0.01 for each.",
            show_default="none",
        ),
    ] = None,
    bound: LogBound = None,
    goal: problems.Goal = None,
    limits: problems.Limits = None,
    arm: LogArm = "arm",
    reward: LogReward = "reward",
    segment: LogSegment = None,
    drop_missing: LogDrop = False,
    figure: common.Figure = None,
    runs: Annotated[
        int, typer.Option(min=0, help="Runs of Challenger whose shares are shown beside the best ones.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of these runs.")] = 0,
    as_json: common.Json = False,
) -> None:
    """The bound on expected trials that every algorithm obeys, and the shares of trials that attain it.

    With --tolerance or --limit-tolerance there are two: what every algorithm needs, and what is enough for one.

    Example: [bold]bestmix limit D2P --runs 4 --figure d2p.png[/bold]

    Example: [bold]bestmix limit pilot.csv --arm model --reward quality --bound dollars=5[/bold]
    """
    common.Outputs(figure).check()
    with common.messages().status("Loading ...") as status, common.missing_values(DROP):
        columns = {"arm": arm, "reward": reward, "drop_missing": drop_missing}
        source, log = find_guess(instance, bound, goal, limits, segment, columns)
        from bestmix.theory import limit as measure
        from bestmix.theory.planning.guesses import read_log

        chosen = read_log(source, **log)[0] if log else source
        status.update("Looking for alternatives ...")
        found = measure(chosen, delta, tolerance, stopping.parse_scales(limit_tolerance or [], "--limit-tolerance"))
        spent = None
        if runs and not found.note:
            from bestmix.theory.limit.spending import spent_shares

            status.update("Running Challenger ...")
            spent = spent_shares(found.instance, delta, runs, seed, tolerance)
    saved = [draw(found, spent, figure)] if figure else []
    if as_json:
        data = found.to_dict() | {"challenger": None if spent is None else _mean(found, spent)}
        typer.echo(json.dumps(data | {"files": list(map(str, saved))}, indent=1, allow_nan=False))
        return
    console = common.output()
    console.print(found.sentence(), markup=False)
    if not found.note:
        console.print(_title(found), style="bold", markup=False, soft_wrap=True)
        console.print(share_table(found, spent))
    for path in saved:
        console.print(f"Saved {path}", markup=False, soft_wrap=True)


def draw(found: "LowerBound", spent: "Floats | None", path: Path) -> Path:
    """The figure."""
    from bestmix import plots

    return plots.save(plots.limit_figure(found, spent), path)


def share_table(found: "LowerBound", spent: "Floats | None") -> Table:
    """Arms with a share that shows, the largest first."""
    table = Table()
    names = ("arm", "best share", *(("Challenger's share",) if spent is not None else ()))
    for name in names:
        table.add_column(name, justify="left" if name == "arm" else "right", overflow="fold")
    challenger = {} if spent is None else _mean(found, spent)
    for arm, share in found.shares.items():
        if share >= LEAST_SHARE:
            table.add_row(Text(arm), f"{share:.1%}", *([f"{challenger[arm]:.1%}"] if challenger else []))
    return table


def _title(found: "LowerBound") -> str:
    from bestmix.theory import TolerantBound

    if isinstance(found, TolerantBound):
        known = "" if found.proven else ", the best found"
        between = f"characteristic time between {found.time:,.5g} and {found.time_upper:,.5g}{known}"
        return f"Shares of trials that attain the second; {between}; answers that are right: {found.answers:,}"
    known = f"proven up to {found.time_upper / found.time - 1:.1g}" if found.proven else "the best found"
    return f"Shares of trials that attain it; characteristic time {found.time:,.5g}, {known}"


def _mean(found: "LowerBound", spent: "Floats") -> dict[str, float]:
    return dict(zip(found.instance.arms, map(float, spent.mean(axis=0)), strict=True))
