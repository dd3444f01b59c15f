"""Connections under limits: slow heads, endless trailers, too many of one address, more than there are descriptors."""

import asyncio
import contextlib
import ipaddress
import math
import resource
import sys
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from bestmix.checks import InvalidInput

LONGEST_HEAD = 64 * 1024  # bytes of a request's first line and headers, or of its trailers
LONGEST_LINE = 1024  # of a report's first line
LONGEST_KNOWN = 4 * 1024  # bytes of a head that is remembered
HEAD_SECONDS = 10.0  # in which the head of a request must have come
REST_SECONDS = 10.0  # in which the rest of a body must have come that is no longer wanted
WRITE_SECONDS = 60.0  # that somebody may leave an answer unread
MOST_HEADS = 64 * 1024 * 1024  # bytes of all unfinished heads
MOST_OF_ADDRESS = 1024  # connections of one address that is no proxy of ours
MOST_DESCRIPTORS = 65_536  # asked of the system, where it allows more
RESERVED = 512  # descriptors for the database, files and logs
FEWEST = 64  # connections below which it is not worth starting
CLOSE_SECONDS = 2.0  # in which the last words must have been taken
SWEEP = 0.5  # seconds between two looks at the clock
GATHER = 0.4  # seconds in which reports of live traffic are gathered, to be read and written together
MANY = 10  # of them in a second, from which on they are gathered
MOST_HELD = 16 * 1024 * 1024  # bytes of reports that are gathered
WHOLE = "bestmix.whole"  # where a request says that its body is there as a whole
MOST_GATHERED = 64 * 1024  # bytes of an answer that are sent at once
Reply = Callable[[int, bytes, bytes], None]  # sends an answer: its status, its headers as lines, its body
TakeBody = Callable[[bytes, Reply], bool]  # whether a request with this body, which is there as a whole, is answered so
Take = Callable[[Any], TakeBody | None]  # what takes the bodies of requests with such a head, if there is anything
OFFER = b"upgrade", b"http2-settings"  # headers, and words of the header "connection", that offer another protocol
REPORT, REPORTED = b"POST /v1/experiments/", b"/sums HTTP/1."  # how the first line of a report begins and ends


def ceiling(most: int = MOST_DESCRIPTORS) -> int:
    """How many connections fit into the descriptors of this process, after asking the system for more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(hard, most)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    room = (wanted if soft == resource.RLIM_INFINITY else min(soft, most)) - RESERVED
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


class Connections:
    """All connections of a server; those that wait for their client make room for new ones, the oldest first."""

    def __init__(self, most: int, proxies: str | None = None, of_address: int = MOST_OF_ADDRESS) -> None:
        self.most = most
        self.of_address = of_address
        self.heads = 0  # bytes of unfinished heads
        self.reports = HeldReports()
        self._is_proxy = is_among(proxies)
        self._all: set[Limited] = set()
        self._count: Counter[str] = Counter()
        self._waiting: OrderedDict[Limited, None] = OrderedDict()
        self._waiting_of: dict[str, OrderedDict[Limited, None]] = {}

    def __len__(self) -> int:
        return len(self._all)

    def add(self, one: "Limited") -> bool:
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

    def remove(self, one: "Limited") -> None:
        """A connection is gone."""
        if one in self._all:
            self.work(one)
            self._all.discard(one)
            self._count[one.address] -= 1
            if not self._count[one.address]:
                del self._count[one.address]

    def wait(self, one: "Limited") -> None:
        """It waits for its client, and may be closed when there is need."""
        if one in self._all:
            self._waiting[one] = None
            self._waiting_of.setdefault(one.address, OrderedDict())[one] = None

    def work(self, one: "Limited") -> None:
        """A call of it is at work, and is left in peace."""
        self._waiting.pop(one, None)
        if one.address in self._waiting_of:
            self._waiting_of[one.address].pop(one, None)
            if not self._waiting_of[one.address]:
                del self._waiting_of[one.address]

    def _evict(self, waiting: "OrderedDict[Limited, None]") -> bool:
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


class HeldReports:
    """Reports of live traffic, as they come in: those of many edges are read together, each a little later.

    A process that wakes up for each of them spends most of its time on waking up, and a transaction costs several
    times what a report adds to it. Few do not wait for each other.
    """

    def __init__(self, many: int = MANY, tick: Callable[[], float] = time.monotonic) -> None:
        self._many, self._tick = many, tick
        self._began, self._came, self._before = 0.0, 0, 0  # reports in this second, and in the one before
        self._held: dict[Limited, list[bytes]] = {}
        self._size = 0

    def holds(self, one: "Limited", data: bytes) -> bool:
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
        if self._size > MOST_HELD or sum(map(len, held)) > LONGEST_HEAD:
            self.release()
        return True

    def has(self, one: "Limited") -> bool:
        """Whether data of a connection are kept, so that whatever follows on it waits for its turn."""
        return one in self._held

    def drop(self, one: "Limited") -> None:
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


class Gathered:
    """A transport that sends what is written in one turn of the loop at once: the head of an answer and its body.

    In two packets they would wake the client twice, and cost the server two calls of the system.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []
        self._size = 0
        self.is_closing, self.get_extra_info = transport.is_closing, transport.get_extra_info
        self.pause_reading, self.resume_reading = transport.pause_reading, transport.resume_reading

    def write(self, data: bytes) -> None:
        """Send, a little later."""
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(data)
        self._size += len(data)
        if self._size > MOST_GATHERED:
            self._send()

    def write_at_once(self, data: bytes) -> None:
        """Send what is whole."""
        self._parts.append(data)
        self._send()

    def close(self) -> None:
        """Send what there is, and close."""
        self._send()
        self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._parts, self._size = [], 0
        self._transport.abort()

    def _send(self) -> None:
        parts, self._parts, self._size = self._parts, [], 0
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))


class KnownHead(NamedTuple):
    """The head of a request that was taken as a whole. The same bytes say the same, so that they are not read again."""

    head: bytes
    length: int  # of head and body
    take: TakeBody
    cycle: RequestResponseCycle  # which is over, and may begin again


class Limited(HttpToolsProtocol):
    """HTTP by httptools, which alone would wait and collect without end."""

    def __init__(self, registry: Connections, take: Take | None, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.registry = registry
        self._take = take
        self._begun: tuple[RequestResponseCycle, Any] | None = None  # a request that may be taken as a whole
        self._data = b""  # as it came in, where a request begins with it
        self._piece = b""  # what is being read
        self._known: KnownHead | None = None  # of the last request that was taken as a whole
        self.address = ""
        self.deadline = time.monotonic() + HEAD_SECONDS
        self._head = 0  # bytes of a head, or of trailers, that are being read
        self._moved = False  # whether the data at hand ended a head, or had some of a body
        self._reading_head = True
        self._whole = True  # whether no request is half read
        self._offers = False  # whether the request being read offers a protocol that is not spoken here

    @property
    def _at_work(self) -> bool:
        """Whether a request is not answered yet."""
        return self.cycle is not None and (not self.cycle.response_complete or bool(self.pipeline))

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody calls."""
        super().connection_made(cast(asyncio.Transport, Gathered(transport, self.loop)))
        self.address = self.client[0] if self.client else ""
        if not self.registry.add(self):
            self.give_up(HTTPStatus.SERVICE_UNAVAILABLE)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self.registry.reports.drop(self)
        self._count_head(0)
        self.registry.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; a report of many edges a little later."""
        if self.transport.is_closing() or self._took_again(data):
            return
        if self._whole and self.registry.reports.holds(self, data):
            self._unset_keepalive_if_required()
        else:
            self.read(data)

    def read(self, data: bytes) -> None:
        """Read on, unless the head or the trailers are too long."""
        self._moved, self._data, self._piece = False, data if self._whole else b"", data
        super().data_received(data)
        self._data = self._piece = b""
        if self._begun is not None:  # the rest is waited for as usual
            self._start()
        self._count_head(0 if self._moved else self._head + len(data))
        if self._head > LONGEST_HEAD:
            self.give_up(HTTPStatus.BAD_REQUEST, "The head of the request is too long.")
        elif self.registry.heads > MOST_HEADS and self._head:
            self.give_up(HTTPStatus.SERVICE_UNAVAILABLE)

    def on_message_begin(self) -> None:
        """A request begins."""
        self._reading_head, self._whole, self._offers = True, False, False
        self._set_deadline()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; a trailer is dropped, for what is asked was decided by the head."""
        if self._reading_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Its head is over; how long the body may take is decided by whoever reads it."""
        if self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT" and not self._should_upgrade():
            self._offers = True
            return
        self._reading_head, self._moved = False, True
        super().on_headers_complete()
        self._set_deadline()

    def _unsupported_upgrade_warning(self) -> None:
        """A protocol such as HTTP 2 was offered, after which nothing is parsed: read the request without the offer."""
        stopped = sys.exc_info()[1]
        if not self._offers or stopped is None:
            super()._unsupported_upgrade_warning()
            return
        version, rest = self.parser.get_http_version().encode(), self._piece[stopped.args[0] :]
        head = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
        for name, value in self.headers:
            words = [word.strip() for word in value.split(b",")] if name == b"connection" else [value]
            kept = [word for word in words if word.lower() not in OFFER]
            if kept and name not in OFFER:
                head.append(b"%b: %b" % (name, b", ".join(kept)))
        self._piece = b"\r\n".join([*head, b"", rest])
        super().data_received(self._piece)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Have a request answered: after its head, or after the whole of it where that may be had without a task."""
        if self._take is None or self._whole or self.expect_100_continue or self.flow.write_paused:
            super()._start_asgi_task(cycle, app)
        else:
            self._begun = cycle, app

    def _start(self) -> None:
        assert self._begun is not None
        begun, self._begun = self._begun, None
        super()._start_asgi_task(*begun)

    def _took(self, cycle: RequestResponseCycle) -> bool:
        """Whether a request is taken as a whole; its head is remembered if nothing else came with it."""
        body, take = bytes(cycle.body), None if self._take is None else self._take(self.scope)
        if take is None or not take(body, partial(self._reply, cycle)):
            return False
        head, end, rest = self._data.partition(b"\r\n\r\n")
        if end and rest == body and cycle.keep_alive and len(head) <= LONGEST_KNOWN:
            self._known = KnownHead(head + end, len(self._data), take, cycle)
            cycle.body = bytearray()  # nobody reads it any more, and the head is known as long as the connection
        return True

    def _took_again(self, data: bytes) -> bool:
        """Whether a request is taken whose head was taken before."""
        known = self._known
        if known is None or len(data) != known.length or not data.startswith(known.head):
            return False
        if self._at_work or not self._whole or self.flow.write_paused or self.registry.reports.has(self):
            return False
        cycle = known.cycle
        if not known.take(data[len(known.head) :], partial(self._reply, cycle)):
            return False
        self._unset_keepalive_if_required()
        self.cycle = cycle
        cycle.response_started = cycle.response_complete = False
        self.registry.work(self)
        self._count_head(0)
        self._set_deadline()
        return True

    def _reply(self, cycle: RequestResponseCycle, status: int, headers: bytes, body: bytes) -> None:
        """Answer a request that was taken as a whole."""
        if cycle.disconnected:
            return
        usual = [b"%b: %b\r\n" % header for header in self.server_state.default_headers]
        last = b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n"
        cycle.response_started = cycle.response_complete = True
        cast(Gathered, self.transport).write_at_once(b"".join([STATUS_LINE[status], *usual, headers, last, body]))
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()

    def on_body(self, body: bytes) -> None:
        """A part of its body."""
        self._moved = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """It is there as a whole."""
        if self._offers:
            return
        self._moved = self._whole = True
        cast(dict[str, Any], self.scope)[WHOLE] = True
        if self._at_work:
            self.registry.work(self)
        super().on_message_complete()
        if self._begun is not None:
            if self._took(self._begun[0]):
                self._begun = None
            else:
                self._start()
        self._set_deadline()

    def on_response_complete(self) -> None:
        """It was answered; what else comes of it is thrown away, for a while."""
        super().on_response_complete()
        if self._begun is not None:  # the next one, which is not whole: whoever reads it decides how long that may take
            self._start()
        if not (self._at_work and self._whole):
            self.registry.wait(self)
        self._set_deadline()

    def pause_writing(self) -> None:
        """The client leaves the answer unread."""
        super().pause_writing()
        self._set_deadline()

    def resume_writing(self) -> None:
        """It reads on."""
        super().resume_writing()
        self._set_deadline()

    def shutdown(self) -> None:
        """The server stops: only calls that are there as a whole are waited for."""
        self.registry.reports.release()
        if self._at_work and self._whole and not self.flow.write_paused:
            super().shutdown()
        elif self.flow.write_paused:
            self.transport.abort()
        else:
            self.give_up(HTTPStatus.SERVICE_UNAVAILABLE)

    def expire(self) -> None:
        """The time for what the client should have done is over."""
        if self.flow.write_paused or self.transport.is_closing():
            self.transport.abort()
        else:
            self.give_up(HTTPStatus.REQUEST_TIMEOUT)

    def give_up(self, status: HTTPStatus, message: str = "") -> None:
        """Close, with a word of why where a request has begun and nothing of an answer was sent."""
        if self.transport.is_closing():
            return
        answered = self.cycle is not None and self.cycle.response_started and not self._reading_head
        if not (self._whole or answered or self.pipeline or (self._reading_head and self._at_work)):
            said = (message or f"{status.phrase}.").encode()
            head = f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: text/plain; charset=utf-8\r\n"
            self.transport.write(head.encode() + b"content-length: %d\r\nconnection: close\r\n\r\n" % len(said) + said)
        self.deadline = time.monotonic() + CLOSE_SECONDS
        self.transport.close()

    def _set_deadline(self) -> None:
        """When the client will have taken too long over what it has to do next."""
        if self.flow.write_paused:
            seconds = WRITE_SECONDS
        elif self._at_work:
            seconds = math.inf
        elif self._whole:
            seconds = self.timeout_keep_alive + HEAD_SECONDS
        else:
            seconds = HEAD_SECONDS if self._reading_head else REST_SECONDS
        self.deadline = time.monotonic() + seconds

    def _count_head(self, length: int) -> None:
        self.registry.heads += length - self._head
        self._head = length
