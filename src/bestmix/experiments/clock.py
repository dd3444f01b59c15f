"""Lease time: seconds that have certainly passed, whatever anyone does to the clock on the wall.

An experiment keeps its own time. It stands still in the database and is moved forward by whoever
writes next, by no more than can be vouched for: a process knows from its monotonic clock how long ago
it looked last, and processes of the same boot of one machine share that clock, so that the reading
the last writer left can be compared with it. A machine that has never looked before and shares no
clock with the last writer moves nothing: from there on it counts. So lease time never runs ahead of
true time: no lease is lost early, by no jump of any wall clock and on no number of machines. It may
lag behind while nobody looks; a slot is then handed out again later, by at most the length of a lease.
"""

import os
import threading
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

BOOT = Path("/proc/sys/kernel/random/boot_id")


class Clock(Protocol):
    """Where time comes from."""

    @property
    def boot(self) -> str:
        """Name of the monotonic clock: the same for all who share it, for nobody else."""

    def tick(self) -> float:
        """Seconds by the monotonic clock."""

    def now(self) -> float:
        """Seconds since 1970 by the wall clock, which may jump; for people to read."""


class SystemClock:
    """The machine's clocks."""

    def __init__(self) -> None:
        self.boot = _boot()

    def tick(self) -> float:
        """Seconds since the machine was started, with the time that it slept where the system counts it."""
        if hasattr(time, "CLOCK_BOOTTIME"):
            return time.clock_gettime(time.CLOCK_BOOTTIME)
        return time.monotonic()

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()


@dataclass(frozen=True)
class Reading:
    """Lease time ``time`` when the clock ``boot`` showed ``tick``."""

    time: float
    boot: str
    tick: float


class LeaseClock:
    """Moves lease time forward; remembers for each experiment when this process looked last."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or SystemClock()
        self._seen: dict[str, Reading] = {}
        self._lock = threading.Lock()

    def read(self, key: str, stored: Reading) -> Reading:
        """Lease time now, from what the last writer stored and what this process saw.

        >>> lease_clock = LeaseClock()
        >>> first = lease_clock.read("a", Reading(5.0, "another machine", 100.0))
        >>> first.time
        5.0
        >>> lease_clock.read("a", first).time >= 5.0
        True
        """
        boot, tick = self.clock.boot, self.clock.tick()
        with self._lock:
            known = [stored, self._seen.get(key, stored)]
            time = max(r.time + (max(tick - r.tick, 0.0) if r.boot == boot else 0.0) for r in known)
            self._seen[key] = Reading(time, boot, tick)
            return self._seen[key]


def _boot() -> str:
    """The boot's id with the time namespace; elsewhere the machine and the minute of its start."""
    try:
        return f"{BOOT.read_text().strip()} {os.readlink('/proc/self/ns/time')}"
    except OSError:
        return f"{uuid.getnode():x} {round((time.time() - time.monotonic()) / 60)}"
