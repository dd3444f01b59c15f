"""HTTP on one connection: slow heads, endless trailers and answers that nobody reads come to an end."""

import asyncio
import math
import sys
import time
from functools import partial
from http import HTTPStatus
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from bestmix.service import errors
from bestmix.service.connections import Connections
from bestmix.service.pipelines import PipelineFlow, UnreadBytes, is_full
from bestmix.service.transport import Gathered
from bestmix.service.upgrades import new_parser, without_offer
from bestmix.service.whole_requests import LONGEST_KNOWN, WHOLE, KnownHead, Take

LONGEST_HEAD = 64 * 1024  # bytes of a request's first line and headers, or of its trailers
MOST_HEADS = 64 * 1024 * 1024  # bytes of all unfinished heads
HEAD_SECONDS = 10.0  # in which the head of a request must have come
REST_SECONDS = 10.0  # in which the rest of a body must have come that is no longer wanted
WRITE_SECONDS = 60.0  # that somebody may leave an answer unread
CLOSE_SECONDS = 2.0  # in which the last words must have been taken
STATUS_CODES = {
    HTTPStatus.BAD_REQUEST: "bad_request",
    HTTPStatus.REQUEST_TIMEOUT: "too_slow",
    HTTPStatus.SERVICE_UNAVAILABLE: "unavailable",
}


def last_words(status: HTTPStatus, message: str) -> bytes:
    """An answer before the connection is closed, with the body that every error has."""
    said = errors.answer(STATUS_CODES[status], message).body
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
    return head.encode() + b"content-length: %d\r\nconnection: close\r\n\r\n" % len(said) + bytes(said)


class Limited(HttpToolsProtocol):
    """HTTP by httptools, which alone would wait and collect without end."""

    def __init__(self, registry: Connections, take: Take | None, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.registry = registry
        self._take = take
        self._answering: RequestResponseCycle | None = None  # a request behind which others may wait
        self._begun: tuple[RequestResponseCycle, Any] | None = None  # a request that may be taken as a whole
        self._data = b""  # as it came in, where a request begins with it
        self._piece = b""  # what is being parsed
        self._unread = UnreadBytes()
        self._known: KnownHead | None = None  # of the last request that was taken as a whole
        self.address = ""
        self.deadline = time.monotonic() + HEAD_SECONDS
        self._head = 0  # bytes of a head, or of trailers, that are being read
        self._moved = False  # whether the data at hand ended a head, or had some of a body
        self._reading_head = True
        self._whole = True  # whether no request is half read
        self._offers = False  # whether the request being read offers a protocol that is not spoken here

    @property
    def _is_full(self) -> bool:
        """Whether enough requests wait for their turn."""
        return bool(self.pipeline) and is_full(len(self.pipeline), len(self.cycle.body))

    @property
    def _at_work(self) -> bool:
        """Whether a request is not answered yet."""
        return self.cycle is not None and (not self.cycle.response_complete or bool(self.pipeline))

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody calls."""
        super().connection_made(cast(asyncio.Transport, Gathered(transport, self.loop)))
        self.flow = PipelineFlow(self.transport, lambda: bool(self._unread) or self._is_full)
        self.address = self.client[0] if self.client else ""
        if not self.registry.add(self):
            self.give_up(HTTPStatus.SERVICE_UNAVAILABLE)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self.registry.reports.drop(self)
        self._unread.clear()
        self._count_head(0)
        self.registry.remove(self)
        if self._answering is not None and not self._answering.response_complete:  # uvicorn tells the last one alone
            self._answering.disconnected = True
            self._answering.message_event.set()
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
        """Read on, as far as there is room for what comes."""
        self._data = data if self._whole and not self._unread else b""
        self._unread.add(data)
        self._read_on()

    def _read_on(self) -> None:
        while self._unread and not (self._is_full or self.transport.is_closing()):
            self._parse(self._unread.take())
        if self.transport.is_closing():
            self._unread.clear()
        elif self._unread:
            self.flow.pause_reading()
        self._data = b""
        if self._begun is not None:  # the rest is waited for as usual
            self._start()

    def _parse(self, piece: bytes) -> None:
        """Go on with the next piece, unless the head or the trailers are too long."""
        self._moved, self._piece = False, piece
        super().data_received(piece)
        self._count_head(0 if self._moved else self._head + len(piece))
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
        head = without_offer(self.parser.get_method(), self.url, self.parser.get_http_version(), self.headers)
        self._unread.put_back(head + self._piece[stopped.args[0] :])
        self.parser = new_parser(self)
        self._moved = True  # the bytes of the head count when it is read again

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Have a request answered: after its head, or after the whole of it where that may be had without a task."""
        self._answering = cycle
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
        if not self.transport.is_closing():
            self._read_on()
            self.flow.resume_reading()
        if not (self._at_work and (self._whole or self._unread)):
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
            self.transport.write(last_words(status, message or f"{status.phrase}."))
        self.deadline = time.monotonic() + CLOSE_SECONDS
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """What is not HTTP is refused as any other request is."""
        self.transport.write(last_words(HTTPStatus.BAD_REQUEST, msg))
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
