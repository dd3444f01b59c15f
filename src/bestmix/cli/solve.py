"""``bestmix solve``: the best mix from a log of trials."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bestmix.cli import common

DROP = "fill them in, or pass --drop-missing to leave them out"


class Uncertainty(StrEnum):
    """Ways to say how sure the support is."""

    delta = "delta"
    bootstrap = "bootstrap"


def solve(
    trials: Annotated[
        Path, typer.Argument(metavar="TRIALS", help="A .csv or .parquet file, one trial a row.", show_default=False)
    ],
    reward: Annotated[str, typer.Option(help="Column of the reward.")] = "reward",
    bound: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=NUMBER", help="Largest acceptable mean of a cost; repeat it.", show_default=False),
    ] = None,
    arm: Annotated[str, typer.Option(help="Column of the arm.")] = "arm",
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

    Example: [bold]bestmix solve trials.csv --arm model --reward quality --bound dollars=5 --bound seconds=1.2[/bold]
    """
    bounds, wanted = common.parse_bounds(bound or []), common.parse_safety(safety)
    outputs = common.Outputs(figure, report, policy)
    outputs.check()
    with common.messages().status("Loading ..."), common.missing_values(DROP):
        from bestmix.answers.logs import from_log

        rec = from_log(
            trials,
            arm,
            reward,
            bounds,
            uncertainty=uncertainty.value,
            seed=seed,
            drop_missing=drop_missing,
            safety=wanted,
        )
    common.conclude(rec, outputs, f"The best mix in {trials.name}", as_json)
