"""The service's log: lines of JSON, of which a flood by strangers leaves only some."""

import asyncio
import json
import logging
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache
from typing import Any, TextIO

MOST_LINES = 20  # a second of one kind that strangers can cause
ENCODER = json.JSONEncoder(default=str)  # ``json.dumps`` would make one for every line


class JsonLines(logging.Formatter):
    """Log records as lines of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        at = f"{_second(int(record.created))}.{record.msecs:03.0f}Z"
        line: dict[str, Any] = {"at": at, "level": record.levelname.lower(), "logger": record.name}
        line |= {"message": record.getMessage(), **getattr(record, "data", {})}
        if left_out := getattr(record, "left_out", 0):
            line["left_out"] = left_out
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return ENCODER.encode(line)


@lru_cache(maxsize=4)
def _second(at: int) -> str:
    """A time in whole seconds since 1970; most lines are of the second of the line before."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))


def request_record(data: dict[str, Any]) -> logging.LogRecord:
    """As ``log.info("request", extra=...)`` makes one; what is the same for all requests is found out once.

    >>> request_record({"status": 200}).getMessage(), request_record({"status": 404}).data["status"]
    ('request', 404)
    """
    record = logging.LogRecord.__new__(logging.LogRecord)
    now = time.time()
    passed = now - REQUEST.created
    record.__dict__ = {
        **REQUEST.__dict__,
        "created": now,
        "msecs": now % 1 * 1000 // 1,
        "relativeCreated": REQUEST.relativeCreated + 1000 * passed,
        "data": data,
    }
    return record


REQUEST = logging.LogRecord("bestmix.service", logging.INFO, "", 0, "request", (), None)
for name in ("thread", "threadName", "process", "processName"):  # which may be others then
    setattr(REQUEST, name, None)


class GatheredLines(logging.StreamHandler[TextIO]):
    """Writes the lines of one turn of the event loop at once; those of other threads, and warnings, as they come."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._lines: list[str] = []
        self._writer: asyncio.AbstractEventLoop | None = None  # which will write them

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or keep it for a moment."""
        try:
            self._lines.append(self.format(record) + self.terminator)
            loop = None if record.levelno >= logging.WARNING else _running_loop()
            if loop is None:
                self.flush()
            elif loop is not self._writer:
                self._writer = loop
                loop.call_soon(self.flush)
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        """Write what is kept."""
        with self.lock or nullcontext():
            lines, self._lines, self._writer = self._lines, [], None
            if lines:
                self.stream.write("".join(lines))
            super().flush()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class Sampled(logging.Filter):
    """At most so many lines a second of each kind; lines of requests with a valid token are all kept.

    >>> sampled = Sampled(most=1, tick=lambda: 5.0)
    >>> line = logging.LogRecord("x", logging.INFO, "", 0, "request", None, None)
    >>> sampled.filter(line), sampled.filter(line)
    (True, False)
    """

    def __init__(self, most: int = MOST_LINES, tick: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._most = most
        self._tick = tick
        self._kinds: dict[tuple[str, str], tuple[int, int]] = {}  # the second it was, lines in it

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written; the first one after a gap says how many were left out."""
        if getattr(record, "data", {}).get("token") is not None:
            return True
        now, kind = int(self._tick()), (record.name, str(record.msg))
        second, lines = self._kinds.get(kind, (now, 0))
        if second != now:
            record.left_out = max(lines - self._most, 0)
            lines = 0
        self._kinds[kind] = now, lines + 1
        return lines < self._most
