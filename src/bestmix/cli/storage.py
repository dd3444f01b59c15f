"""``bestmix storage`` and ``bestmix doctor``: the database behind experiments, and what is sound here."""

import json
import platform
import sqlite3
from importlib import metadata, util
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from bestmix import __version__
from bestmix.cli import common
from bestmix.cli.opening import DatabaseUrl, check_there

app = typer.Typer(no_args_is_help=True, help="The database that experiments are kept in.")


@app.callback()
def storage() -> None:
    """The database that experiments are kept in."""


@app.command()
def upgrade(url: DatabaseUrl, as_json: common.Json = False) -> None:
    """Bring a database of an older bestmix up to date; an SQLite file is copied first.

    Example: [bold]bestmix storage upgrade router.db[/bold]
    """
    from bestmix.experiments.sql import schema
    from bestmix.experiments.sql.database import Database, parse_url

    check_there(url)
    database = Database(parse_url(url))
    try:
        before, after, copy = schema.upgrade(database)
    finally:
        database.close()
    if as_json:
        typer.echo(json.dumps({"before": before, "after": after, "copy": None if copy is None else str(copy)}))
    elif before == after:
        typer.echo(f"Nothing to do: the tables are of version {after}, the newest.")
    else:
        kept = "" if copy is None else f" The file as it was is kept in {copy}."
        typer.echo(f"Upgraded the tables from version {before or 'none'} to {after}.{kept}")


def doctor(
    url: Annotated[str | None, typer.Argument(metavar="URL", help="A database to look at.", show_default=False)] = None,
    audit: Annotated[
        bool, typer.Option("--audit", help="Derive every figure of every experiment from its trials again.")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Write figures anew that differ from the trials, after a backup.")
    ] = False,
    as_json: common.Json = False,
) -> None:
    """Say what is installed and sound here, and look at a database.

    Exit code 1 means that something needs repair.

    Example: [bold]bestmix doctor router.db --audit[/bold]
    """
    if repair and url is None:
        raise ValueError("--repair: expected the URL of a database to repair, got none; give it")
    done = [] if url is None or not repair else repair_all(url)
    findings = [*look_here(), *done, *([] if url is None else look_at(url, audit or repair))]
    if as_json:
        data = [{"what": what, "found": found, "good": good} for what, found, good in findings]
        typer.echo(json.dumps(data, indent=1))
    else:
        table = Table("", "found", "")
        for what, found, good in findings:
            mark = Text("ok", "green") if good else Text("needs repair", "bold red")
            table.add_row(Text(what), Text(found), mark)
        common.output().print(table)
    if not all(good for _, _, good in findings):
        raise typer.Exit(1)


Finding = tuple[str, str, bool]


def look_here() -> list[Finding]:
    """What is installed."""
    from bestmix.experiments.sql import sqlite

    sound = sqlite.wal_is_sound(sqlite.linked())
    journal = (
        "free of the WAL-reset error, so files use WAL"
        if sound
        else "has the WAL-reset error that 3.51.3 corrects, so new files use a rollback journal, which is sound"
    )
    found = [
        ("bestmix", __version__, True),
        ("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}", True),
        ("SQLite", f"{sqlite3.sqlite_version}: {journal}", sqlite3.sqlite_version_info >= (3, 35)),
    ]
    extras = {
        "psycopg": ("PostgreSQL", "postgres"),
        "pyarrow": ("Parquet", "frames"),
        "matplotlib": ("figures", "plots"),
        "numba": ("speed of simulations", "fast"),
    }
    for package, (why, extra) in extras.items():
        here = util.find_spec(package) is not None
        missing = f"{package} is not installed; install bestmix[{extra}] where it is needed"
        found.append((why, f"{package} {metadata.version(package)}" if here else missing, True))
    return found


def look_at(url: str, audit: bool) -> list[Finding]:
    """What a database is like."""
    from bestmix.experiments.errors import StorageError
    from bestmix.experiments.sql import checkup
    from bestmix.experiments.sql.database import Database, parse_url

    check_there(url)
    database = Database(parse_url(url))
    try:
        return [(f.what, f.found, f.good) for f in checkup.look_at(database, audit)]
    except StorageError as error:
        return [("database", str(error), False)]
    except Exception as error:  # a damaged file may break anything, and that is the finding
        return [("database", f"it cannot be read: {type(error).__name__}: {error}", False)]
    finally:
        database.close()


def repair_all(url: str) -> list[Finding]:
    """Write the figures of a database anew that differ from its trials, and say so."""
    from bestmix.experiments.errors import StorageError
    from bestmix.experiments.sql import checkup
    from bestmix.experiments.sql.database import Database, parse_url

    check_there(url)
    database = Database(parse_url(url))
    try:
        return [(f.what, f.found, f.good) for f in checkup.repair(database)]
    except StorageError as error:
        return [("repair", str(error), False)]
    finally:
        database.close()
