"""``bestmix explain``: one page on an instance: its best mix, its bounds, its closest rival."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from bestmix.cli import common, problems
from bestmix.cli.plan import InstanceOrLog, LogArm, LogBound, LogDrop, LogReward, LogSegment, find_guess
from bestmix.cli.solve import DROP


def explain(
    instance: InstanceOrLog,
    bound: LogBound = None,
    goal: problems.Goal = None,
    limit: problems.Limits = None,
    arm: LogArm = "arm",
    reward: LogReward = "reward",
    segment: LogSegment = None,
    discount: problems.Discount = None,
    start: problems.Start = None,
    next_state: problems.NextState = "next",
    feature: problems.Features = None,
    drop_missing: LogDrop = False,
    figure: common.Figure = None,
    report: Annotated[
        Path | None, typer.Option(help="Save text and picture as a page (.html).", show_default=False)
    ] = None,
    as_json: common.Json = False,
) -> None:
    """Explain an instance: optimum, shadow prices, binding bounds, the closest rival, what can be dropped at once.

    Example: [bold]bestmix explain D2P --report d2p.html[/bold]

    Example: [bold]bestmix explain trials.csv --arm model --reward quality --bound dollars=5[/bold]
    """
    common.Outputs(figure, report).check()
    with common.messages().status("Loading ..."), common.missing_values(DROP):
        columns: dict[str, Any] = {"arm": arm, "reward": reward, "drop_missing": drop_missing}
        columns |= problems.parse_steps(discount, start, next_state) | ({"features": feature} if feature else {})
        source, log = find_guess(instance, bound, goal, limit, segment, columns)
        from bestmix.theory import explain as make

        explained = make(source, **log)
    saved = []
    if figure:
        from bestmix import plots

        saved.append(plots.save(plots.explanation_figure(explained), figure))
    if report:
        from bestmix import plots
        from bestmix.pages.explanation import save_explanation

        title = f"{Path(instance).stem} explained"
        saved.append(save_explanation(explained, report, title, figure=plots.available()))
    if as_json:
        typer.echo(json.dumps({**explained.to_dict(), "files": list(map(str, saved))}, indent=1, allow_nan=False))
        return
    console = common.output()
    for head, lines in explained.paragraphs().items():
        console.print(Text(head, style="bold"))
        for line in lines:
            console.print(line, markup=False)
        console.print()
    for path in saved:
        console.print(f"Saved {path}", markup=False, soft_wrap=True)
