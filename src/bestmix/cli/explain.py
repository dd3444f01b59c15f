"""``bestmix explain``: one page on an instance: its best mix, its bounds, its closest rival."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from bestmix.cli import common, problems
from bestmix.cli.plan import LogArm, LogBound, LogDrop, LogReward, LogSegment, find_guess
from bestmix.cli.solve import DROP


def explain(
    instance: Annotated[
        str,
        typer.Argument(
            metavar="INSTANCE",
            help="A name from the catalog, or a file; or a log of trials (.csv, .csv.gz, .jsonl, .parquet or -), whose "
            "estimates are taken for the truth.",
            show_default=False,
        ),
    ],
    bound: LogBound = None,
    goal: problems.Goal = None,
    limit: problems.Limits = None,
    arm: LogArm = "arm",
    reward: LogReward = "reward",
    segment: LogSegment = None,
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
        columns = {"arm": arm, "reward": reward, "drop_missing": drop_missing}
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
