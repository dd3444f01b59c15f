"""``bestmix report``: an experiment as one file for a colleague."""

import json
from pathlib import Path
from typing import Annotated

import typer

from bestmix.cli import common
from bestmix.cli.opening import Name, open_named


def report(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="http://HOST:PORT of a server, or a database.", show_default=False)
    ],
    name: Name,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to save it (.html).")] = Path("report.html"),
    safety: common.Safety = "0.95",
    as_json: common.Json = False,
) -> None:
    """Save an experiment as one page that needs nothing else: the answer, and how the trials went.

    The token of a server is read from the variable BESTMIX_TOKEN.

    Example: [bold]bestmix report http://127.0.0.1:8765 router -o report.html[/bold]
    """
    from bestmix.pages.experiment import save_experiment_report
    from bestmix.pages.report import check_path

    check_path(output)
    saved = save_experiment_report(open_named(url, name), output, common.parse_safety(safety))
    typer.echo(json.dumps({"saved": str(saved)}) if as_json else f"Saved {saved}")
