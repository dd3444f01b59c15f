"""Reports of live traffic, held for a moment where there are many of them: so that many edges cost what a few would."""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

GATHER = 0.4  # seconds in which reports of live traffic are gathered, to be read and written together
MANY = 10  # of them in a second, from which on they are gathered
MOST_HELD = 16 * 1024 * 1024  # bytes of reports that are gathered
MOST_OF_CONNECTION = 64 * 1024  # bytes of them that one connection may have
LONGEST_LINE = 1024  # of a report's first line
REPORT, REPORTED = b"POST /v1/experiments/", b"/sums HTTP/1."  # how the first line of a report begins and ends


class Connection(Protocol):
    """Where reports come in."""

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport

    def read(self, data: bytes) -> None:
        """Parse what has come in."""


class HeldReports:
    """Reports of live traffic, as they come in: those of many edges are read together, each a little later.

    A process that wakes up for each of them spends most of its time on waking up, and a transaction costs several
    times what a report adds to it. Few do not wait for each other.
    """

    def __init__(self, many: int = MANY, tick: Callable[[], float] = time.monotonic) -> None:
        self._many, self._tick = many, tick
        self._began, self._came, self._before = 0.0, 0, 0  # reports in this second, and in the one before
        self._held: dict[Connection, list[bytes]] = {}
        self._size = 0

    def holds(self, one: Connection, data: bytes) -> bool:
        """Whether the data of a connection are kept for now: a report of many, or what follows on it."""
        held = self._held.get(one)
        if held is None:
            if not (data.startswith(REPORT) and data.find(REPORTED, 0, LONGEST_LINE) > 0 and self._are_many()):
                return False
            if not self._held:
                one.loop.call_later(GATHER, self.release)
            held = self._held[one] = []
        held.append(data)
        self._size += len(data)
        if self._size > MOST_HELD or sum(map(len, held)) > MOST_OF_CONNECTION:
            self.release()
        return True

    def has(self, one: Connection) -> bool:
        """Whether data of a connection are kept, so that whatever follows on it waits for its turn."""
        return one in self._held

    def drop(self, one: Connection) -> None:
        """A connection is gone; whoever reported has no answer, and reports again."""
        self._size -= sum(map(len, self._held.pop(one, [])))

    def release(self) -> None:
        """Have all of them read."""
        held, self._held, self._size = self._held, {}, 0
        for one, parts in held.items():
            if not one.transport.is_closing():
                one.read(b"".join(parts))

    def _are_many(self) -> bool:
        now = self._tick()
        if now - self._began >= 1.0:
            self._before = self._came if now - self._began < 2.0 else 0
            self._began, self._came = now, 0
        self._came += 1
        return max(self._came, self._before) >= self._many
