"""Open an experiment by its address and name, and say where it is: what commands for experiments have in common."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from bestmix.cli import common, traffic

if TYPE_CHECKING:
    from bestmix.client import RemoteExperiment, Server
    from bestmix.experiments import Experiment, Storage

PATIENCE = 10.0  # seconds that a command keeps trying: somebody waits for it

Url = Annotated[
    str,
    typer.Argument(metavar="URL", help="A file, sqlite:///FILE, postgresql://... or http://...", show_default=False),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The experiment's name.", show_default=False)]
Reason = Annotated[str, typer.Option(help="Why, for people.", show_default=False)]


def open_named(url: str, name: str, patience: float = PATIENCE) -> "Experiment | RemoteExperiment":
    """The experiment, in a database or behind a server; nothing is created."""
    return open_all(url, patience).open(name)


def open_all(url: str, patience: float = PATIENCE, new: bool = False) -> "Storage | Server":
    """The experiments of a database or a server; a file that is not there is made only if a new one is wanted."""
    if url.startswith(("http://", "https://")):
        from bestmix.client import connect

        return connect(url, patience=patience)
    from bestmix.experiments import open_storage

    if not new:
        check_there(url)
    return open_storage(url, patience=patience)


def check_there(url: str) -> None:
    """Complain about a file that is not there or another program's, rather than make an empty one or tables in it."""
    from bestmix.experiments.sql.database import parse_url
    from bestmix.experiments.sql.schema import VERSIONS

    parsed = parse_url(url)
    if parsed.get_backend_name() != "sqlite":
        return
    if not Path(parsed.database or "").exists():
        raise ValueError(f"there is no file {parsed.database}; check the URL, or run: bestmix experiment create")
    names = _tables(Path(parsed.database or ""))
    if names and VERSIONS.name not in names:
        raise ValueError(
            f"{parsed.database} has no experiments, but another program's tables, such as {names[0]!r}; check the URL"
        )


def _tables(file: Path) -> list[str]:
    """Names of the tables of a SQLite file, without writing to it; none where it cannot be read."""
    import sqlite3
    from contextlib import closing

    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, timeout=PATIENCE)) as connection:
            return [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    except sqlite3.Error:  # whoever opens it says what is wrong
        return []


def report(experiment: "Experiment | RemoteExperiment", as_json: bool, money: bool = True) -> None:
    """Where an experiment is, in a line or as JSON; with what is spent, where its budget is one of money."""
    state = experiment.state
    if as_json:
        typer.echo(json.dumps(state.to_dict(), indent=1))
        return
    parts = [f"{state.complete:,} of {state.budget:,} trials", f"{state.leased:,} leased"]
    if state.unlimited:
        made = f"{state.complete:,} {'requests' if traffic.is_live(experiment) else 'trials'}"
        parts = [made, *([f"{state.leased:,} leased"] if state.leased else [])]
    if money and state.unlimited and not traffic.is_live(experiment) and (account := experiment.account) is not None:
        parts.append(str(account))
    beside = (state.extra, "beside the plan"), (state.surplus, "left out"), (state.discounted, "of the log discounted")
    parts += [f"{n:,} {what}" for n, what in ((state.failed, "failed"), *beside) if n]
    where = f"round {state.round}, " if state.open else ""
    reason = f" ({state.reason})" if state.reason else ""
    line = f"{state.name}: {state.status}{reason}, {where}{', '.join(parts)}."
    common.output().print(Text(line, style="bold"), soft_wrap=True)
    for change in state.changes:
        common.output().print(Text(f"Changed in round {change['round']}: {change['text']}."), soft_wrap=True)
    if state.notes:
        common.output().print(Text(state.notes))
