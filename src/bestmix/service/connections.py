"""All connections of a server, under limits: of one address, and of the descriptors that the system allows."""

import asyncio
import contextlib
import ipaddress
import resource
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from http import HTTPStatus
from typing import Protocol

from bestmix.checks import InvalidInput
from bestmix.service.held_reports import HeldReports

MOST_OF_ADDRESS = 1024  # connections of one address that is no proxy of ours
MOST_DESCRIPTORS = 65_536  # asked of the system, where it allows more
RESERVED = 512  # descriptors for the database, files and logs
FEWEST = 64  # connections below which it is not worth starting
SWEEP = 0.5  # seconds between two looks at the clock


def ceiling() -> int:
    """How many connections fit into the descriptors of this process, after asking the system for more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    room = (wanted if soft == resource.RLIM_INFINITY else min(soft, MOST_DESCRIPTORS)) - RESERVED
    if room < FEWEST:
        fault = f"the system allows {soft}, and the service needs {RESERVED + FEWEST}"
        raise InvalidInput("open files", fault, "raise it with ulimit -n")
    return room


def is_among(proxies: str | None) -> Callable[[str], bool]:
    """Whether an address is one of the proxies, given as on the command line.

    >>> ours = is_among("127.0.0.1, 10.0.0.0/8")
    >>> ours("10.1.2.3"), ours("11.1.2.3"), is_among(None)("127.0.0.1")
    (True, False, False)
    """
    words = [word.strip() for word in (proxies or "").split(",") if word.strip()]
    networks = []
    for word in words:
        with contextlib.suppress(ValueError):
            networks.append(ipaddress.ip_network(word, strict=False))

    def among(address: str) -> bool:
        if "*" in words or address in words:
            return True
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in networks)

    return among


class Connection(Protocol):
    """What a connection has, so that it can be told to end."""

    loop: asyncio.AbstractEventLoop
    address: str
    deadline: float

    def give_up(self, status: HTTPStatus) -> None:
        """Close, with a word of why."""

    def expire(self) -> None:
        """The deadline is over."""


class Connections:
    """All connections of a server; those that wait for their client make room for new ones, the oldest first."""

    def __init__(self, most: int, proxies: str | None = None, of_address: int = MOST_OF_ADDRESS) -> None:
        self.most = most
        self.of_address = of_address
        self.heads = 0  # bytes of unfinished heads
        self.reports = HeldReports()
        self._is_proxy = is_among(proxies)
        self._all: set[Connection] = set()
        self._count: Counter[str] = Counter()
        self._waiting: OrderedDict[Connection, None] = OrderedDict()
        self._waiting_of: dict[str, OrderedDict[Connection, None]] = {}

    def __len__(self) -> int:
        return len(self._all)

    def add(self, one: Connection) -> bool:
        """Let a connection in, if need be in the place of one that waits; False when all are at work."""
        if not self._all:
            one.loop.call_later(SWEEP, self._sweep, one.loop)
        room = True
        if len(self._all) >= self.most:
            room = self._evict(self._waiting)
        elif self._count[one.address] >= self.of_address and not self._is_proxy(one.address):
            room = self._evict(self._waiting_of.get(one.address, OrderedDict()))
        if room:
            self._all.add(one)
            self._count[one.address] += 1
            self.wait(one)
        return room

    def remove(self, one: Connection) -> None:
        """A connection is gone."""
        if one in self._all:
            self.work(one)
            self._all.discard(one)
            self._count[one.address] -= 1
            if not self._count[one.address]:
                del self._count[one.address]

    def wait(self, one: Connection) -> None:
        """It waits for its client, and may be closed when there is need."""
        if one in self._all:
            self._waiting[one] = None
            self._waiting_of.setdefault(one.address, OrderedDict())[one] = None

    def work(self, one: Connection) -> None:
        """A call of it is at work, and is left in peace."""
        self._waiting.pop(one, None)
        if one.address in self._waiting_of:
            self._waiting_of[one.address].pop(one, None)
            if not self._waiting_of[one.address]:
                del self._waiting_of[one.address]

    def _evict(self, waiting: OrderedDict[Connection, None]) -> bool:
        for oldest in waiting:
            self.work(oldest)  # counted until it is gone
            oldest.give_up(HTTPStatus.REQUEST_TIMEOUT)
            return True
        return False

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = time.monotonic()
        for one in [one for one in self._all if now > one.deadline]:
            one.expire()
        if self._all:
            loop.call_later(SWEEP, self._sweep, loop)
