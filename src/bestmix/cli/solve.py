"""``bestmix solve``: the best mix from a log of trials."""

from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from bestmix.cli import common, problems
from bestmix.cli.sql import parse_blocks

DROP = "fill them in, or pass --drop-missing to leave them out"
DROP_IN_QUERY = "fill them in, or leave them out of the sums with bestmix sql --drop-missing"


class Uncertainty(StrEnum):
    """Ways to say how sure the support is."""

    delta = "delta"
    bootstrap = "bootstrap"


def solve(
    trials: Annotated[
        Path,
        typer.Argument(
            metavar="TRIALS",
            help="One trial a row: .csv, .csv.gz, .jsonl or .parquet; with --sums, also .json; - is standard input; "
            "'logs/*.parquet' are several files.",
            show_default=False,
        ),
    ],
    reward: Annotated[str, typer.Option(help="Column of the reward.")] = "reward",
    bound: problems.Bound = None,
    goal: problems.Goal = None,
    limit: problems.Limits = None,
    segment: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the segment.", show_default="one group of users")
    ] = None,
    segments: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=SHARE,...",
            help="With --segment: the segments' shares of all users, as in free=0.7,paid=0.3.",
            show_default="those of the rows",
        ),
    ] = None,
    arm: Annotated[str, typer.Option(help="Column of the arm.")] = "arm",
    sums: Annotated[
        bool, typer.Option("--sums", help="The rows have sums of trials, as the query of bestmix sql makes them.")
    ] = False,
    n: Annotated[str, typer.Option("--n", help="With --sums: column of the number of trials.")] = "n",
    block: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of what rows have in common (a user, a day): errors are those of whole blocks.",
            show_default="with --sums, block where there is such a column",
        ),
    ] = None,
    item: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the item (a prompt) that arms were tried on: what they have in common on an item counts.",
            show_default="trials are independent",
        ),
    ] = None,
    blocks: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|day",
            help="With --block: so many blocks, by its hash; or a block for each day of a time.",
            show_default="one for each value",
        ),
    ] = None,
    discount: problems.Discount = None,
    start: problems.Start = None,
    next_state: problems.NextState = "next",
    feature: problems.Features = None,
    uncertainty: Annotated[Uncertainty, typer.Option(help="How to judge the support.")] = Uncertainty.delta,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    drop_missing: Annotated[bool, typer.Option("--drop-missing", help="Leave out rows that miss a value.")] = False,
    safety: common.Safety = "0.95",
    figure: common.Figure = None,
    report: common.Report = None,
    policy: common.PolicyFile = None,
    as_json: common.Json = False,
) -> None:
    """Find the best mix from trials that were made already.

    A limit is an upper bound on a mean, as --bound dollars=5 is, or one of another kind: --limit 'quality >= 0.9',
    'p(seconds > 2) <= 5%', 'complaints / visits <= 1%', 'share(large) <= 40%', 'seconds <= 1.1 * seconds(small)'.
    Every metric that a goal or a limit names is a column.

    Example: [bold]bestmix solve trials.csv --arm model --reward quality --bound dollars=5 --bound seconds=1.2[/bold]

    Example: [bold]bestmix solve trials.csv --goal 'minimise dollars' --limit 'quality >= 0.9'[/bold]

    Example: [bold]bestmix solve steps.csv --arm action --segment state --discount 0.9 --start on --bound euros=5[/bold]

    Example: [bold]bestmix solve trials.csv --arm variant --feature model --feature prompt --bound dollars=5[/bold]

    Example: [bold]bestmix solve --sums sums.csv --arm model --reward quality --bound dollars=5[/bold]
    """
    bounds, wanted = common.parse_bounds(bound or []), common.parse_safety(safety)
    shares = None if segments is None else problems.parse_segments(segments)
    if isinstance(shares, list):
        raise ValueError(f"--segments: expected shares, as in free=0.7,paid=0.3, got {segments!r}; write it so")
    if shares is not None and segment is None:
        raise ValueError("--segments: expected the column that has them, got none; add --segment COLUMN")
    if sums and (drop_missing or blocks is not None):
        option = "--drop-missing" if drop_missing else "--blocks"
        raise ValueError(f"{option}: sums are made already; give it to bestmix sql, which makes them")
    if feature and sums:
        raise ValueError("--feature: sums have no columns of features; give the log of trials")
    if discount is not None and sums:
        raise ValueError("--discount: sums have no steps between states; give the log of steps")
    steps = problems.parse_steps(discount, start, next_state)
    remedy = DROP_IN_QUERY if sums else DROP
    outputs = common.Outputs(figure, report, policy)
    outputs.check()
    redraw = uncertainty is Uncertainty.bootstrap
    asked: dict[str, Any] = {
        "arm": arm,
        "reward": reward,
        "bounds": bounds,
        "goal": goal or "maximise reward",
        "limits": limit or (),
        "segment": segment,
        "segments": shares,
        "safety": wanted,
        "uncertainty": uncertainty.value,
        "seed": seed,
        "progress": redraw,
    }
    with nullcontext() if redraw else common.messages().status("Loading ..."), common.missing_values(remedy):
        from bestmix.answers.logs.files import log_name
        from bestmix.answers.logs.from_log import from_log
        from bestmix.answers.logs.from_sums import from_sums

        if sums:
            rec = from_sums(trials, n=n, block=block or "block", item=item, **asked)
        else:
            blocked: dict[str, Any] = {"block": block, "blocks": parse_blocks(blocks), "item": item}
            if feature:
                asked["features"] = feature
            rec = from_log(trials, drop_missing=drop_missing, **blocked, **steps, **asked)
    common.conclude(rec, outputs, f"The best mix in {log_name(trials)}", as_json)
