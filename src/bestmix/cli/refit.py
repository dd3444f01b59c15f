"""``bestmix refit``: fresh weights for a policy that is deployed."""

from pathlib import Path
from typing import Annotated

import typer

from bestmix.cli import common
from bestmix.cli.solve import DROP


def refit(
    policy: Annotated[
        Path, typer.Argument(metavar="POLICY", help="What --policy has saved (.json or .toml).", show_default=False)
    ],
    trials: Annotated[
        Path, typer.Argument(metavar="TRIALS", help="Fresh trials of its arms (.csv, .parquet).", show_default=False)
    ],
    before: Annotated[
        Path | None,
        typer.Option(help="Trials of the experiment before, to count as well.", show_default="the fresh ones alone"),
    ] = None,
    reward: Annotated[str, typer.Option(help="Column of the reward.")] = "reward",
    arm: Annotated[str, typer.Option(help="Column of the arm.")] = "arm",
    segment: Annotated[str, typer.Option(help="Column of the segment, where the policy has segments.")] = "segment",
    drop_missing: Annotated[bool, typer.Option("--drop-missing", help="Leave out rows that miss a value.")] = False,
    safety: Annotated[
        str | None,
        typer.Option(
            metavar="CERTAINTY",
            help="How certain the mix must keep all limits; none: the best guess.",
            show_default="the policy's own",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The new policy (.json or .toml).", show_default="in place of the old"),
    ] = None,
    figure: common.Figure = None,
    report: common.Report = None,
    as_json: common.Json = False,
) -> None:
    """Find new weights for a policy from fresh trials of its arms; no other arm comes in.

    Example: [bold]bestmix refit policy.json fresh.csv --arm model --reward quality -o fresh-policy.json[/bold]
    """
    outputs = common.Outputs(figure, report, output or policy)
    outputs.check()
    with common.messages().status("Loading ..."), common.missing_values(DROP):
        from bestmix.answers.policy import Policy
        from bestmix.answers.refit import refit as refit_policy

        old = Policy.load(policy)
        wanted = old.safety if safety is None else common.parse_safety(safety)
        asked = old.wanting(wanted)
        rec = refit_policy(
            asked, trials, arm=arm, reward=reward, segment=segment, drop_missing=drop_missing, before=before
        )
    asked.refitted(rec).save(output or policy)
    common.conclude(rec, common.Outputs(figure, report), f"{policy.name}, fitted to {trials.name}", as_json)
    if not as_json:
        common.output().print(f"Saved {output or policy}", markup=False, soft_wrap=True)
