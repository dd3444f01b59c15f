"""Open an experiment by its address and name: what commands for experiments have in common."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bestmix.client import RemoteExperiment, Server
    from bestmix.experiments import Experiment, Storage

PATIENCE = 10.0  # seconds that a command keeps trying: somebody waits for it

Url = Annotated[
    str,
    typer.Argument(metavar="URL", help="A file, sqlite:///FILE, postgresql://... or http://...", show_default=False),
]
DatabaseUrl = Annotated[
    str, typer.Argument(metavar="URL", help="A file, sqlite:///FILE or postgresql://...", show_default=False)
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

    (check_own if new else check_there)(url)
    return open_storage(url, patience=patience)


def check_there(url: str) -> None:
    """Complain about a file that is not there or another program's, rather than make an empty one or tables in it."""
    if (file := new_file(url)) is not None:
        raise ValueError(f"there is no file {file}; check the URL, or run: bestmix experiment create")
    check_own(url)


def check_own(url: str) -> None:
    """Complain about a file of another program; a database of PostgreSQL may well be shared with others."""
    from bestmix.experiments.sql.schema import VERSIONS

    file = _file(url)
    names = [] if file is None or not file.exists() else _tables(file)
    if names and VERSIONS.name not in names:
        raise ValueError(
            f"{file} has no experiments, but another program's tables, such as {names[0]!r}; check the URL, or give "
            "the name of a new file"
        )


def new_file(url: str) -> Path | None:
    """The file that would be made for a database; None where it is there, or where it is no file."""
    file = _file(url)
    return file if file is not None and not file.exists() else None


def _file(url: str) -> Path | None:
    """The file of an SQLite database; None of any other."""
    from bestmix.experiments.sql.database import parse_url

    parsed = None if url.startswith("memory:") else parse_url(url)
    return None if parsed is None or parsed.get_backend_name() != "sqlite" else Path(parsed.database or "")


def _tables(file: Path) -> list[str]:
    """Names of the tables of a SQLite file, without writing to it; none where it cannot be read."""
    import sqlite3
    from contextlib import closing

    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, timeout=PATIENCE)) as connection:
            return [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    except (sqlite3.Error, UnicodeDecodeError):  # whoever opens it says what is wrong
        return []
