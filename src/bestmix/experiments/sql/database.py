"""A database by its URL: connections, transactions, what to try again, errors in plain words."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy import event, exc

from bestmix.checks import InvalidInput
from bestmix.experiments.errors import StorageError
from bestmix.experiments.sql import postgres, sqlite
from bestmix.experiments.sql.driver import driver

T = TypeVar("T")

PATIENCE = 60.0  # seconds that a call keeps trying when the database is out of reach
FIRST_PATIENCE = 10.0  # the same, before it was ever reached
LONGEST_PAUSE = 1.0  # seconds between two attempts

# Writers lock at once: a transaction that reads first and then writes could be refused half-way.
BEGIN_WRITING = "BEGIN IMMEDIATE"

# PostgreSQL's classes of errors that pass: connection, a name taken meanwhile, conflicts, resources, restarts.
PASSING = ("08", "23505", "40", "53300", "57", "58030")


class Database:
    """Transactions on one database, any number of threads and processes at once."""

    def __init__(self, url: sa.URL, patience: float = PATIENCE, journal: str | None = None) -> None:
        self.url = url
        self.patience = patience
        self.reached = False
        self.sqlite = url.get_backend_name() == "sqlite"
        self._journal = journal
        self._queue = sqlite.WriterQueue(Path(url.database or "")) if self.sqlite else None
        self._owner = os.getpid()
        self._writer: sa.Connection | None = None
        self._engine = self._connect()

    def write(self, work: Callable[[sa.Connection], T]) -> T:
        """Do work in a transaction that is on disk when this returns."""
        return self._insist(work, writing=True)

    def read(self, work: Callable[[sa.Connection], T], patience: float | None = None) -> T:
        """Do work that sees one moment of the database."""
        return self._insist(work, writing=False, patience=patience)

    def close(self) -> None:
        """Let go of connections and files."""
        writer, self._writer = self._writer, None
        if writer is not None and self._owner == os.getpid():
            writer.close()
        self._engine.dispose()
        if self._queue is not None:
            self._queue.close()

    def _insist(self, work: Callable[[sa.Connection], T], writing: bool, patience: float | None = None) -> T:
        """Try again while the trouble is one that passes, as long as patience lasts."""
        patience = self.patience if patience is None else patience
        limit = time.monotonic() + (patience if self.reached else min(patience, FIRST_PATIENCE))
        pause = 0.01
        while True:
            try:
                with self._transaction(writing) as connection:
                    result = work(connection)
                self.reached = True
                return result
            except exc.DBAPIError as error:
                if not passes(error) or time.monotonic() + pause > limit:
                    raise explain(error, self.url, writing) from error
            except exc.TimeoutError as error:  # all connections are taken
                if time.monotonic() + pause > limit:
                    said = "all connections to the database are in use; try again later"
                    raise StorageError(f"{self.url.render_as_string(hide_password=True)}: {said}") from error
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    @contextmanager
    def _transaction(self, writing: bool) -> Iterator[sa.Connection]:
        if self._owner != os.getpid():  # a forked child must not speak on its parent's connections
            self._engine.dispose(close=False)
            self._owner, self._writer = os.getpid(), None
        if writing and self._queue is not None:
            with self._queue.turn(), self._own_writer() as connection:
                yield connection
            return
        options = {"writing": writing} if self.sqlite or writing else {"isolation_level": "REPEATABLE READ"}
        with self._engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection
            if not writing and not self.sqlite:
                connection.exec_driver_sql(postgres.SETTLE)

    @contextmanager
    def _own_writer(self) -> Iterator[sa.Connection]:
        """A transaction of whoever's turn it is to write to SQLite; the connection is kept, with the pages it has read.

        The driver begins and ends it: SQLAlchemy, whose part of it begins with the first statement of its own, takes
        as long for that as a good part of the statements.
        """
        writer, self._writer = self._writer, None
        if writer is None:
            writer = self._engine.connect().execution_options(writing=True)
        try:
            with driver(writer) as own:
                own.execute(BEGIN_WRITING)
            yield writer
            # By the driver first: where SQLAlchemy's own commit fails, nothing is undone when the connection is closed.
            with driver(writer) as own:
                own.commit()
            if writer.in_transaction():
                writer.commit()
        except BaseException:
            writer.close()  # which undoes what was not committed
            raise
        self._writer = writer

    def _connect(self) -> sa.Engine:
        if not self.sqlite:
            return postgres.engine(self.url)
        arguments = {"timeout": sqlite.BUSY, "check_same_thread": False}
        engine = sa.create_engine(self.url, connect_args=arguments, pool_size=4, max_overflow=32)
        event.listen(engine, "connect", lambda connection, _: sqlite.prepare(connection, self._journal))
        event.listen(engine, "begin", _begin)
        return engine


def _begin(connection: sa.Connection) -> None:
    """Begin, unless the driver has for a writer: SQLAlchemy begins with the first statement that it is given."""
    own: sqlite3.Connection = connection.connection.driver_connection  # type: ignore[assignment]
    writing = connection.get_execution_options().get("writing")
    if not (writing and own.in_transaction):
        connection.exec_driver_sql(BEGIN_WRITING if writing else "BEGIN")


def parse_url(url: str | os.PathLike[str]) -> sa.URL:
    """The URL of a storage; a path alone is a file of SQLite.

    >>> str(parse_url("router.db")), parse_url("postgresql://host/db").drivername
    ('sqlite:///router.db', 'postgresql+psycopg')
    """
    text = os.fspath(url)
    if "://" not in text and text.strip():
        text = f"sqlite:///{text}"
    try:
        parsed = sa.make_url(text)
    except (exc.ArgumentError, ValueError):
        raise InvalidInput("url", f"{HOW}, got {text!r}") from None
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        return _check_file(parsed)
    if backend not in ("postgresql", "postgres"):
        raise InvalidInput("url", f"{HOW}, got {text!r}")
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise InvalidInput("url", "PostgreSQL needs psycopg", "install bestmix[postgres]") from None
    return parsed.set(drivername="postgresql+psycopg")


HOW = "expected sqlite:///FILE, postgresql://USER@HOST/DATABASE or a file's path"


def _check_file(url: sa.URL) -> sa.URL:
    if not url.database or url.database == ":memory:":
        raise InvalidInput("url", "expected the name of a file after sqlite:///", "for a store in memory use memory://")
    path = Path(url.database)
    if path.is_dir():
        raise InvalidInput("url", f"{path} is a folder", "give the name of a file in it")
    if not path.absolute().parent.is_dir():
        raise InvalidInput("url", f"there is no folder {path.absolute().parent}", "create it, or choose another file")
    return url.set(drivername="sqlite")


def passes(error: exc.DBAPIError) -> bool:
    """Whether the same call may succeed a little later."""
    original = error.orig
    if isinstance(original, sqlite3.Error):
        return getattr(original, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
    state = getattr(original, "sqlstate", None)
    return error.connection_invalidated or (
        isinstance(error, exc.OperationalError | exc.IntegrityError) and (state is None or state.startswith(PASSING))
    )


def explain(error: exc.DBAPIError, url: sa.URL, writing: bool = False) -> StorageError:
    """The error in plain words, with the remedy."""
    where, said = url.render_as_string(hide_password=True), " ".join(str(error.orig).split())
    kind = getattr(error.orig, "sqlite_errorname", "") or getattr(error.orig, "sqlstate", None) or ""
    for start, words in WORDS.items():
        if kind.startswith(start):
            return StorageError(f"{where}: {words} ({said})")
    if isinstance(error.orig, sqlite3.Error) or not passes(error):
        return StorageError(f"{where}: {said}")
    unknown = "; whether the call had its effect is unknown, so repeat it" if writing else ""
    return StorageError(
        f"{where}: the database cannot be reached; check that it runs and the address{unknown} ({said})"
    )


WORDS = {
    "SQLITE_FULL": "the disk is full, so nothing was written; free some space and try again",
    "53100": "the server's disk is full, so nothing was written; free some space and try again",
    "SQLITE_IOERR": "the file cannot be read or written; check the disk, nothing was acknowledged",
    "SQLITE_CANTOPEN": "the file cannot be opened; check the path and the rights",
    "SQLITE_READONLY": "the file or its folder is read-only; change the rights",
    "SQLITE_NOTADB": "the file is not an SQLite database; choose another",
    "SQLITE_CORRUPT": "the file is damaged; restore it from a copy",
    "SQLITE_BUSY": "another process keeps the file locked; end it, or try again later",
    "SQLITE_LOCKED": "another process keeps the file locked; end it, or try again later",
    "28": "the server refused the user or the password; check them",
    "3D000": "there is no such database on the server; create it first",
}
