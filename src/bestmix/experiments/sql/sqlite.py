"""SQLite: which journal is safe with the linked version, and the settings of a connection.

Versions 3.7.0 to 3.51.2 can corrupt a database in WAL mode when two connections write and checkpoint
at once; 3.51.3 corrects it, and so do 3.50.7 and 3.44.6 of the older series. On an affected version a
file gets a rollback journal. A file that is in WAL mode already stays in it: others may be using it.

What a commit costs: in WAL mode one sync. With a rollback journal five: its pages, its folder, its header that makes
them count, then the file, then the header again that ends the transaction. That of the folder is there because SQLite
opens the journal anew for every transaction, one that is kept as well, and it cannot be left out; each of the others
is what a power cut at some point needs. So calls which wait at the same time share a commit instead
(``group_commit.py``).
"""

import os
import shutil
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Version = tuple[int, ...]

FIRST, MENDED = (3, 7, 0), (3, 51, 3)
MENDED_SERIES: dict[Version, Version] = {(3, 50): (3, 50, 7), (3, 44): (3, 44, 6)}
BUSY = 60.0  # seconds that a connection waits for another one's lock


def linked() -> Version:
    """The version of SQLite that Python is linked with."""
    return sqlite3.sqlite_version_info


def wal_is_sound(version: Version) -> bool:
    """Whether a version is free of the error in WAL mode.

    >>> wal_is_sound((3, 40, 1)), wal_is_sound((3, 44, 6)), wal_is_sound((3, 50, 6)), wal_is_sound((3, 51, 3))
    (False, True, False, True)
    """
    series = MENDED_SERIES.get(version[:2])
    return version < FIRST or version >= MENDED or (series is not None and version >= series)


def prepare(connection: sqlite3.Connection, journal: str | None = None) -> None:
    """Set a new connection up: transactions by hand, commits that are on disk, a safe journal."""
    connection.isolation_level = None
    held = connection.execute("PRAGMA journal_mode").fetchone()[0]
    if held != "wal":
        wanted = journal or ("wal" if wal_is_sound(linked()) else "persist")
        # What ends a transaction is that its journal is deleted, or zeroed where it is kept. A deletion would be safe
        # from a power cut only after a second sync of the folder, which SQLite leaves out with synchronous = FULL;
        # zeros are synced with the file that they are in.
        if held != wanted:
            connection.execute(f"PRAGMA journal_mode = {wanted}")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA journal_size_limit = 4194304")


def backup(path: Path) -> Path:
    """A copy of a database's file next to it, whole although others may write to it; no file is overwritten."""
    stamp, number = time.strftime("%Y%m%d-%H%M%S"), 1
    while True:
        copy = path.with_name(f"{path.name}.{stamp}{'' if number == 1 else f'-{number}'}.copy")
        try:
            os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            break
        except FileExistsError:
            number += 1
    source, target = sqlite3.connect(path, timeout=BUSY), sqlite3.connect(copy)
    try:
        source.backup(target)
    except BaseException:
        copy.unlink()
        raise
    finally:
        source.close()
        target.close()
    shutil.copymode(path, copy)
    return copy


class WriterQueue:
    """A line for the writers of one file, so that they wait without polling and in turn.

    SQLite's own locks are what keeps the file whole; without this queue they would still, only more
    slowly. The lock ends with the process that holds it, however that ends.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(f"{path.name}-queue")
        self._turn = threading.Lock()
        self._file: int | None = None
        self._owner = 0
        self._release: Callable[[], object] = lambda: None

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for one's turn; let the next in at the end."""
        with self._turn:
            lock = self._open()
            if lock is None:
                yield
                return
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(lock, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the file; the next turn opens it again."""
        self._release()
        self._file, self._owner = None, 0

    def _open(self) -> int | None:
        """The file to lock, this process's own; None where the system or the folder has no locks."""
        if self._owner != os.getpid():
            try:
                import fcntl  # noqa: F401

                self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                self._release = weakref.finalize(self, os.close, self._file)
            except (ImportError, OSError):
                self._file = None
            self._owner = os.getpid()
        return self._file
