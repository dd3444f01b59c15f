"""Sums of an edge on their way to the server, in memory and in a file that outlives the process.

At most one report has been sent and not been answered; it keeps its number and its rows until it is. What comes after
it is added up and goes out as the next report. So the file stays small however long the server is away, and a process
that finds the file of one that was killed can deliver both: what the server has counted it does not count again.
"""

import json
import os
import re
import secrets
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bestmix.client.edge_choices import Place, Sums

try:
    import fcntl
except ImportError:  # there are no locks of files that end with their process: files of others are left alone
    fcntl = None  # type: ignore[assignment]

Rows = dict[Place, Sums]


class Outbox:
    """What one edge has to report; ``folder`` is None for memory alone."""

    def __init__(self, folder: Path | None, experiment: str, names: tuple[list[str], list[str]]) -> None:
        self.edge = _new_name()
        self.sequence = 0  # of the last report that was made by this name
        self.sent: dict[str, Any] | None = None  # the report that was sent and is not answered
        self.waiting: Rows = {}
        self._names = names
        self._path = None if folder is None else folder / f"{experiment}.{self.edge}.json"
        self._lock = None if self._path is None else _held(self._path)

    def add(self, rows: Rows) -> None:
        """Take in further requests."""
        for place, sums in rows.items():
            held = self.waiting.get(place)
            if held is None:
                self.waiting[place] = sums
            else:
                held.add(sums)

    def next(self) -> dict[str, Any] | None:
        """The report to send: the one that is not answered, or a new one; None when there is nothing to report."""
        if self.sent is None and self.waiting:
            self.sequence += 1
            self.sent = report(f"{self.edge}:{self.sequence}", self.waiting, self._names)
            self.waiting = {}
        return self.sent

    def answered(self) -> None:
        """The server has counted it."""
        self.sent = None

    def refused(self) -> None:
        """The server does not count it: go on by another name.

        Whether the server takes this number, the next one or the first is not known: an answer may have been lost.
        """
        self.sent = None
        self.edge, self.sequence = _new_name(), 0

    def renamed(self) -> None:
        """The server does not know the reports before: the same one is the first by another name."""
        self.edge, self.sequence = _new_name(), 1
        if self.sent is not None:
            self.sent = {**self.sent, "key": f"{self.edge}:1"}

    def clear(self) -> None:
        """Forget all that is on its way."""
        self.sent, self.waiting = None, {}

    def save(self) -> None:
        """Write what is on its way to the file, whole or not at all; without any there is no file."""
        if self._path is None:
            return
        reports = [] if self.sent is None else [self.sent]
        if self.waiting:
            reports.append(report(f"{self.edge}:{self.sequence + 1}", self.waiting, self._names))
        if not reports:
            self._path.unlink(missing_ok=True)
            return
        temporary = self._path.with_suffix(".new")
        temporary.write_text(json.dumps(reports))
        os.replace(temporary, self._path)

    def pending(self) -> int:
        """Requests that the server has not confirmed."""
        sent = 0 if self.sent is None else sum(row["n"] for row in self.sent["rows"])
        return sent + sum(sums.count for sums in self.waiting.values())

    def close(self) -> None:
        """Let go of the lock; the file stays if there is something in it."""
        if self._lock is not None and self._path is not None:
            self.leave()
            if not self._path.exists():
                _lock_of(self._path).unlink(missing_ok=True)

    def leave(self) -> None:
        """Let go of the lock in a forked child, whose parent still has it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _new_name() -> str:
    """A name that no other edge has."""
    return f"{re.sub(r'[^0-9A-Za-z_.-]', '-', socket.gethostname())[:60]}-{os.getpid()}-{secrets.token_hex(4)}"


def first_by_another_name(body: Mapping[str, Any]) -> dict[str, Any]:
    """A report as the first one of an edge, whose name is always the same: so it is counted once, however often sent.

    >>> first_by_another_name({"key": "host-7-1a2b:3", "rows": []})
    {'key': 'host-7-1a2b.3:1', 'rows': []}
    """
    return {**body, "key": f"{str(body.get('key')).replace(':', '.')}:1"}


def report(key: str, rows: Mapping[Place, Sums], names: tuple[list[str], list[str]]) -> dict[str, Any]:
    """Sums as the server takes them."""
    measures, products = names
    return {
        "key": key,
        "rows": [
            {"version": place.version, "arm": place.arm, "n": sums.count}
            | ({} if place.segment is None else {"segment": place.segment})
            | {"sums": dict(zip(measures, sums.sums, strict=True))}
            | {"products": dict(zip(products, sums.products, strict=True))}
            for place, sums in rows.items()
        ],
    }


def orphans(folder: Path | None, experiment: str) -> Iterator["Orphan"]:
    """Files of edges of this experiment that are no longer there; each is locked while it is looked at."""
    if folder is None or fcntl is None:
        return
    for path in sorted(folder.glob(f"{experiment}.*.json")):
        lock = _try_lock(path)
        if lock is not None:
            try:
                if path.exists():
                    yield Orphan(path)
            finally:
                os.close(lock)


class Orphan:
    """What an edge that is no longer there had not delivered."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def reports(self) -> list[dict[str, Any]]:
        """Its reports, in order."""
        try:
            found = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return []
        return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []

    def delivered(self) -> None:
        """Remove the file."""
        self._path.unlink(missing_ok=True)
        _lock_of(self._path).unlink(missing_ok=True)


def _lock_of(path: Path) -> Path:
    return path.with_suffix(".lock")


def _held(path: Path) -> int | None:
    """A lock that says that the owner of a file is there."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return _try_lock(path)


def _try_lock(path: Path) -> int | None:
    if fcntl is None:
        return None
    handle = os.open(_lock_of(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
