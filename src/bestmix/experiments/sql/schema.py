"""The version of a storage's tables: made when there are none, upgraded, refused when unknown.

Tables of 0.1 are upgraded when they are opened: what came since has defaults, so that nothing that is running is
disturbed. Older ones are upgraded on request.
"""

import shlex
import sqlite3
from importlib import resources
from pathlib import Path

import sqlalchemy as sa

from bestmix.experiments.errors import StorageError
from bestmix.experiments.sql import sqlite, tables
from bestmix.experiments.sql.database import Database

VERSIONS = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
LOCK = 8_130_272_515  # of PostgreSQL's advisory lock that whoever makes or upgrades the tables holds
OLDEST_SQLITE = (3, 35, 0)  # has RETURNING
OLDEST_OPENED = "0003"  # version of the tables of 0.1


def ready(database: Database) -> None:
    """Make the tables if there are none; refuse tables of another version."""
    if database.sqlite and sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StorageError(
            f"SQLite {sqlite3.sqlite_version} is too old: 3.35 or newer is needed; use a newer Python, or PostgreSQL"
        )
    found = database.read(version)
    if found is None:
        found = database.write(_make)
    if OLDEST_OPENED <= found < tables.VERSION:
        _, found, _ = upgrade(database)
    check(found, database)


def check(found: str, database: Database) -> None:
    """Refuse tables of another version, with what to do."""
    where = database.url.render_as_string(hide_password=True)
    if found > tables.VERSION:
        raise StorageError(
            f"{where}: its tables are of version {found}, made by a newer bestmix; this one knows versions up to "
            f"{tables.VERSION}. Install the newer bestmix"
        )
    if found < tables.VERSION:
        raise StorageError(
            f"{where}: its tables are of version {found}, older than {tables.VERSION}; stop all workers, then run: "
            f"bestmix storage upgrade {shlex.quote(where)}"
        )


def version(connection: sa.Connection) -> str | None:
    """The version of the tables; None when there are none."""
    names = sa.inspect(connection).get_table_names()
    if VERSIONS.name not in names:
        foreign = [name for name in names if name in tables.metadata.tables]
        if foreign:
            raise StorageError(f"the database has a table {foreign[0]!r} that bestmix did not make; choose another")
        return None
    found: list[str] = list(connection.execute(sa.select(VERSIONS.c.version_num)).scalars())
    if len(found) != 1:
        raise StorageError(
            f"the table {VERSIONS.name!r} has {len(found)} rows, expected 1: it is damaged; restore the database from "
            "a copy"
        )
    return found[0]


def _make(connection: sa.Connection) -> str:
    """Make the newest tables, unless somebody else just has."""
    _alone(connection)
    found = version(connection)
    if found is None:
        tables.metadata.create_all(connection)
        VERSIONS.create(connection)
        connection.execute(sa.insert(VERSIONS).values(version_num=tables.VERSION))
    return found or tables.VERSION


def _alone(connection: sa.Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:number)"), {"number": LOCK})


def upgrade(database: Database) -> tuple[str | None, str, Path | None]:
    """Bring the tables to the newest version: the version before, the one now, and the copy of an SQLite file.

    All of it is one transaction that no other writer shares, so that of several who upgrade at once one does it.
    """
    return database.write(lambda connection: _upgrade(database, connection))


def _upgrade(database: Database, connection: sa.Connection) -> tuple[str | None, str, Path | None]:
    _alone(connection)
    before = version(connection)
    if before is not None and before > tables.VERSION:
        check(before, database)
    if before == tables.VERSION:
        return before, before, None
    # Another connection reads the file as it was before this transaction.
    copy = _backup(database, before) if database.sqlite and before is not None else None
    try:
        _migrate(connection)
    except BaseException:
        if copy is not None:
            copy.unlink()
        raise
    return before, tables.VERSION, copy


def _backup(database: Database, before: str) -> Path:
    """A copy of an SQLite file, before its tables are changed."""
    file = Path(database.url.database or "")
    try:
        return sqlite.backup(file)
    except OSError as error:
        raise StorageError(
            f"{file}: its tables are of version {before} and have to be brought to {tables.VERSION}. A copy is "
            f"made first, which cannot be written beside it ({error.strerror}); make its folder writable, or copy "
            "the file to one that is"
        ) from error


def _migrate(connection: sa.Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(resources.files("bestmix.experiments.sql") / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, tables.VERSION)
