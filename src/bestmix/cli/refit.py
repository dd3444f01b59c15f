"""``bestmix refit``: fresh weights for a policy that is deployed."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from bestmix.cli import common
from bestmix.cli.solve import DROP

if TYPE_CHECKING:
    from bestmix.answers.policy import Policy
    from bestmix.answers.recommendation import MeanCost
    from bestmix.answers.refit import Refit
    from bestmix.problems.limits import Limit


def refit(
    policy: Annotated[
        Path, typer.Argument(metavar="POLICY", help="What --policy has saved (.json or .toml).", show_default=False)
    ],
    trials: Annotated[
        Path, typer.Argument(metavar="TRIALS", help="Fresh trials of its arms (.csv, .parquet).", show_default=False)
    ],
    before: Annotated[
        Path | None,
        typer.Option(help="All trials of the experiment, to count as well.", show_default="the fresh ones alone"),
    ] = None,
    reward: Annotated[str, typer.Option(help="Column of the reward.")] = "reward",
    arm: Annotated[str, typer.Option(help="Column of the arm.")] = "arm",
    segment: Annotated[str, typer.Option(help="Column of the segment, where the policy has segments.")] = "segment",
    drop_missing: Annotated[bool, typer.Option("--drop-missing", help="Leave out rows that miss a value.")] = False,
    safety: Annotated[
        str | None,
        typer.Option(
            metavar="CERTAINTY",
            help="How certain the mix must keep all limits, as 0.95 or 95%; none: the best guess.",
            show_default="the policy's own",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The new policy (.json or .toml).", show_default="in place of the old"),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a certified policy by one that is not, in place.")
    ] = False,
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
        from bestmix.answers.refit import refit_whole

        old = Policy.load(policy)
        wanted = old.safety if safety is None else common.parse_safety(safety)
        asked = old.wanting(wanted)
        found = refit_whole(
            asked, trials, arm=arm, reward=reward, segment=segment, drop_missing=drop_missing, before=before
        )
    new = asked.refitted(found.answer)
    kept = output is None and not force and wanted is not None and _certified(old) and not found.answer.certified
    if not kept:
        new.save(output or policy)
    outputs = common.Outputs(figure, report)
    title = f"{policy.name}, fitted to {trials.name}"
    if as_json:
        outputs.save(found.answer, title)
        data = {"old_weights": _weights(old), "deployed": {c: m.to_dict() for c, m in found.deployed.items()}}
        data |= {"left_out": dict(found.left_out), "idle": list(found.idle), "saved": not kept}
        typer.echo(json.dumps(found.answer.to_dict() | data, indent=1, allow_nan=False))
        _end(policy, kept)
        return
    common.conclude(found.answer, outputs, title, as_json)
    show_change(old, new, found)
    if not kept:
        common.output().print(f"Saved {output or policy}", markup=False, soft_wrap=True)
    _end(policy, kept)


def _certified(policy: "Policy") -> bool:
    """Whether a policy was certified to keep its limits."""
    return policy.certainty is not None and policy.safety is not None and policy.certainty >= policy.safety


def _end(policy: Path, kept: bool) -> None:
    """Exit with a sentence where a certified policy was not replaced."""
    if kept:
        fault = f"{policy} is certified to keep its limits, the new weights are not: it was left as it is"
        common.messages().print(f"{fault}. Give --force to replace it, or -o for another file.", soft_wrap=True)
        raise typer.Exit(1)


def show_change(old: "Policy", new: "Policy", found: "Refit") -> None:
    """Old against new weights, what the old ones cost on the fresh trials, and which rows were left out."""
    from bestmix.answers.number_text import exact_share

    console, now, before = common.output(), _weights(new), _weights(old)
    table = Table(title="What changes", title_justify="left", title_style="bold")
    for name in ("arm", "old weight", "new weight"):
        table.add_column(name, justify="left" if name == "arm" else "right", overflow="fold")
    for arm in dict.fromkeys([*before, *now]):
        old_weight, new_weight = before.get(arm, 0.0), now.get(arm, 0.0)
        if old_weight or new_weight or arm in before:
            table.add_row(Text(arm), exact_share(old_weight), exact_share(new_weight))
    console.print(table)
    for cost, limit in zip(found.answer.problem.costs, found.answer.problem.limits, strict=True):
        if cost in found.deployed:
            console.print(_would_have(found.deployed[cost], limit), markup=False)
    if found.idle:
        console.print(f"Without weight and without trials, so it stays out: {', '.join(found.idle)}.", markup=False)
    if found.left_out:
        rows = ", ".join(f"{n:,} of {arm!r}" for arm, n in found.left_out.items())
        console.print(f"Left out, because the policy has no such arm: {rows} (rows of the fresh trials).", markup=False)


def _would_have(found: "MeanCost", limit: "Limit") -> str:
    """Whether the policy as it was deployed kept a limit on the fresh trials."""
    from bestmix.answers.number_text import measured, reach
    from bestmix.answers.table_text import kept_text

    if math.isnan(found.mean):
        return f"'{limit}' cannot be judged on the fresh trials: what it divides by is not above zero."
    told = measured(found.mean, reach(found.mean, found.interval))
    if limit.equality:
        return f"With the old weights {limit.quantity} is {told} on the fresh trials, where '{limit}' was asked for."
    beyond = limit.sign * (found.mean - found.bound) > 0
    kept = "would not have kept" if beyond else "would have kept"
    chance = "" if math.isnan(found.chance) else f"; chance of keeping it: {kept_text(found)}"
    return f"At the estimates the old weights {kept} '{limit}' on the fresh trials: {limit.quantity} {told}{chance}."


def _weights(policy: "Policy") -> dict[str, float]:
    """Of all arms, in each segment where there are any."""
    if not policy.segments:
        return dict(policy.weights)
    return {f"{arm} in {name}": w for name, part in policy.by_segment.items() for arm, w in part.items()}
