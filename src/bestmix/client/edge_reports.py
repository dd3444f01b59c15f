"""Reports of an edge: sent about once a second, kept while the server is away, delivered for edges that were killed."""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bestmix.client.edge_outbox import Outbox, first_by_another_name, orphans
from bestmix.client.edge_recorder import Recorder
from bestmix.client.edge_server import AwayError, EdgeServer, Refused

# What a server says that somebody can put right; "internal" is no answer of ours, but of something on the way.
PASSING = ("unauthorized", "forbidden", "not_found", "internal")

log = logging.getLogger("bestmix.edge")


class Reporter:
    """Brings what a recorder has to the server."""

    def __init__(self, terms: tuple[str, str, str], folder: Path, digest: str, recorder: Recorder) -> None:
        self.reported = self.dropped = 0
        self.last: float | None = None  # when a report was confirmed, by the monotonic clock
        self._terms, self._folder, self._digest, self._recorder = terms, folder, digest, recorder
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._outbox = Outbox(folder, digest, recorder.names())

    def begin_anew(self) -> None:
        """Report under a new name, as a forked child does."""
        self._outbox.leave()
        self.__init__(self._terms, self._folder, self._digest, self._recorder)  # type: ignore[misc]

    @property
    def name(self) -> str:
        """What it calls itself in reports."""
        return self._outbox.edge

    def pending(self) -> int:
        """Requests that the server has not confirmed."""
        with self._lock:
            return self._outbox.pending() + self._recorder.waiting()

    def keep(self) -> None:
        """Put what was recorded into the file, whatever becomes of the report that is under way."""
        with self._lock:
            self._outbox.add(self._recorder.gather())
            self._save()

    def report(self, server: EdgeServer | None = None) -> None:
        """Send what was recorded; keep it where the server is away."""
        with self._sending:
            with self._lock:
                self._outbox.add(self._recorder.gather())
                body = self._outbox.next()
                self._save()
            if body is None:
                return
            own = server or EdgeServer(*self._terms)
            try:
                self._send(own, body)
            finally:
                if server is None:
                    own.close()

    def _send(self, server: EdgeServer, body: dict[str, Any]) -> None:
        requests = sum(row["n"] for row in body["rows"])
        try:
            server.report(body)
        except AwayError as error:
            log.info("the server is away, %d requests wait: %s", requests, error)
            return
        except Refused as error:
            if error.code in PASSING:
                log.warning("the server does not take the report: %s", error)
                return
            if _forgotten(error):
                log.warning("the server has lost reports that it had counted; going on by another name: %s", error)
                self._settle(self._outbox.renamed)
                return
            log.warning("the server refused %d requests, which are dropped: %s", requests, error)
            self.dropped += requests
            settle = self._outbox.refused
        else:
            self.reported += requests
            self.last = time.monotonic()
            settle = self._outbox.answered
        self._settle(settle)

    def _settle(self, settle: Callable[[], None]) -> None:
        with self._lock:
            settle()
            self._save()

    def give_up(self) -> int:
        """Drop what was not confirmed, as its experiment is no longer there; how many requests that were."""
        with self._sending, self._lock:
            self._outbox.add(self._recorder.gather())
            self._recorder.give_up()
            lost = self._outbox.pending()
            self._outbox.clear()
            self._save()
            self._outbox.close()
            return lost

    def _save(self) -> None:
        try:
            self._outbox.save()
        except OSError as error:
            log.warning("sums cannot be kept in %s: %s", self._folder, error)

    def adopt(self, server: EdgeServer) -> None:
        """Deliver what edges that were killed have left."""
        for orphan in orphans(self._folder, self._digest):
            alone = False
            try:
                for body in orphan.reports():
                    alone = _deliver(server, body, alone)
            except Refused:
                return
            orphan.delivered()

    def close(self) -> None:
        """Let go of the file, which stays if something is in it."""
        with self._lock:
            self._outbox.close()


def _deliver(server: EdgeServer, body: dict[str, Any], alone: bool) -> bool:
    """Deliver a report that was left behind; returns whether the ones after it would be out of order.

    Those are each sent ``alone``, by a name of its own. What somebody can put right is raised.
    """
    try:
        server.report(first_by_another_name(body) if alone else body)
    except Refused as error:
        if error.code in PASSING:
            raise
        if not alone and _forgotten(error):
            return _deliver(server, body, True)
        log.warning("the server refused a report that was left behind: %s", error)
        return True
    return alone


def _forgotten(error: Refused) -> bool:
    """Whether the server does not know the reports before this one, as after it was restored from a backup."""
    return (error.code, error.field) == ("conflict", "key")
