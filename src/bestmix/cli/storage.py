"""``bestmix storage`` and ``bestmix doctor``: the database behind experiments, and what is sound here."""

import json
import platform
import sqlite3
from importlib import metadata, util
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from bestmix import __version__
from bestmix.cli import common
from bestmix.cli.experiment import Url, check_there

app = typer.Typer(no_args_is_help=True, help="The database that experiments are kept in.")


@app.callback()
def storage() -> None:
    """The database that experiments are kept in."""


@app.command()
def upgrade(url: Url, as_json: common.Json = False) -> None:
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
    audit: Annotated[bool, typer.Option("--audit", help="Count every trial of every experiment again.")] = False,
    as_json: common.Json = False,
) -> None:
    """Say what is installed and sound here, and look at a database.

    Exit code 1 means that something should be mended.

    Example: [bold]bestmix doctor router.db --audit[/bold]
    """
    findings = [*look_here(), *([] if url is None else look_at(url, audit))]
    if as_json:
        data = [{"what": what, "found": found, "good": good} for what, found, good in findings]
        typer.echo(json.dumps(data, indent=1))
    else:
        table = Table("", "found", "")
        for what, found, good in findings:
            mark = Text("ok", "green") if good else Text("mend this", "bold red")
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
        else "has the WAL-reset error that 3.51.3 mends, so new files use a rollback journal, which is sound"
    )
    found = [
        ("bestmix", __version__, True),
        ("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}", True),
        ("SQLite", f"{sqlite3.sqlite_version}: {journal}", sqlite3.sqlite_version_info >= (3, 35)),
    ]
    for package, why in (("psycopg", "PostgreSQL"), ("pyarrow", "Parquet"), ("matplotlib", "figures")):
        here = util.find_spec(package) is not None
        found.append((why, f"{package} {metadata.version(package)}" if here else f"not installed ({package})", True))
    return found


def look_at(url: str, audit: bool) -> list[Finding]:
    """What a database is like."""
    from bestmix.experiments.errors import StorageError
    from bestmix.experiments.sql import schema, tables
    from bestmix.experiments.sql.database import Database, parse_url

    check_there(url)
    database = Database(parse_url(url))
    try:
        found = database.read(_sqlite_facts if database.sqlite else _postgres_facts)
        version = database.read(schema.version)
        good = version == tables.VERSION
        words = "none yet" if version is None else f"version {version}" + ("" if good else f", not {tables.VERSION}")
        found.append(("tables", words, good or version is None))
        if good:
            found += _experiments(url, audit)
        return found
    except StorageError as error:
        return [("database", str(error), False)]
    finally:
        database.close()


def _sqlite_facts(connection: Any) -> list[Finding]:
    from bestmix.experiments.sql import sqlite

    def one(pragma: str) -> str:
        return str(connection.exec_driver_sql(f"PRAGMA {pragma}").scalar())

    journal, check = one("journal_mode"), one("quick_check")
    risky = journal == "wal" and not sqlite.wal_is_sound(sqlite.linked())
    advice = "; it is left so, but use it with SQLite 3.51.3 or newer" if risky else ""
    return [
        ("journal", f"{journal}{advice}", not risky),
        ("commits", {"2": "full", "3": "extra"}.get(one("synchronous"), "not on disk"), one("synchronous") in "23"),
        ("pages", check, check == "ok"),
    ]


def _postgres_facts(connection: Any) -> list[Finding]:
    def one(setting: str) -> str:
        return str(connection.exec_driver_sql(f"SHOW {setting}").scalar())

    fsync = one("fsync")
    return [
        ("server", f"PostgreSQL {one('server_version')}", True),
        ("commits", f"fsync {fsync}, synchronous_commit {one('synchronous_commit')}", fsync == "on"),
    ]


def _experiments(url: str, audit: bool) -> list[Finding]:
    from bestmix.experiments import open_storage
    from bestmix.experiments.audit import audit as count_again

    with open_storage(url) as storage:
        states = storage.experiments()
        found: list[Finding] = [("experiments", str(len(states)), True)]
        for state in states if audit else []:
            try:
                wrong = count_again(storage.open(state.name))
            except ValueError as error:  # a strategy with a user's own function
                wrong, note = [], f"{state.complete} results; not replayed: {error}"
            else:
                note = f"{state.complete} results, counted again and replayed"
            found.append((state.name, "; ".join(wrong) or note, not wrong))
    return found
