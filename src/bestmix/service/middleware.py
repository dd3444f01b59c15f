"""Around every request: an id, limits, safe headers, a line in the log and a count in the metrics."""

import json
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bestmix.service import errors
from bestmix.service.metrics import Metrics
from bestmix.service.tokens import Token

log = logging.getLogger("bestmix.service")

# Nothing from elsewhere, no inline script, no frame around it.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
MOST_CALLERS = 10_000  # whose rate is remembered
HARMLESS = ("/healthz", "/readyz", "/static/")  # what anybody may ask for at any rate


class Rates:
    """So many requests a second for each caller, with room for a burst of as many."""

    def __init__(self, rate: float, tick: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._tick = tick
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, caller: str) -> float:
        """Zero, or the seconds until the caller may come again.

        >>> rates = Rates(1.0, tick=lambda: 5.0)
        >>> rates.wait("a"), rates.wait("a"), rates.wait("b")
        (0.0, 1.0, 0.0)
        """
        now = self._tick()
        left, seen = self._left.pop(caller, (self._rate, now))
        left = min(left + (now - seen) * self._rate, self._rate)
        granted = left >= 1.0
        self._left[caller] = (left - 1.0 if granted else left), now
        while len(self._left) > MOST_CALLERS:
            self._left.popitem(last=False)
        return 0.0 if granted else (1.0 - left) / self._rate


class TooLarge(Exception):
    """A body grew beyond the limit while it was read."""


class Gate:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, metrics: Metrics, rate: float, strangers: float, largest: int) -> None:
        self.app = app
        self.metrics = metrics
        self.largest = largest
        self._rates = Rates(rate)
        self._strangers = Rates(strangers)  # by address, for those who are not known
        self._known: OrderedDict[int, None] = OrderedDict()  # whose token was good the last time

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, and see to what it leaves behind."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        visit = Visit(scope, receive, send, self.largest)
        refusal = self._refusal(visit)
        try:
            if refusal is not None:
                await refusal(scope, receive, visit.send)
            else:
                await self.app(scope, visit.receive, visit.send)
        finally:
            self._remember(visit)
            self.metrics.count(visit.method, visit.route, visit.status, visit.seconds)
            visit.write()

    def _refusal(self, visit: "Visit") -> ASGIApp | None:
        if visit.who in self._known:
            wait = self._rates.wait(visit.caller)
            if wait:
                return errors.answer("too_many", "too many requests; slow down, or raise --rate", retry=wait)
        elif not visit.harmless and self._strangers.wait(visit.address):
            return errors.answer("too_many", "too many requests without a valid token; wait a little", retry=1.0)
        return errors.answer("too_large", large(self.largest)) if visit.length > self.largest else None

    def _remember(self, visit: "Visit") -> None:
        """Whether the caller's token was good."""
        if visit.status == 401:
            self._known.pop(visit.who, None)
        elif visit.token is not None:
            self._known[visit.who] = None
            self._known.move_to_end(visit.who)
            while len(self._known) > MOST_CALLERS:
                self._known.popitem(last=False)


def large(largest: int) -> str:
    """What to tell someone who sends too much."""
    return f"the body is larger than {largest:,} bytes; send it in parts, or raise --body-limit"


class Visit:
    """One request: what is known of it, and its answer's headers."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, largest: int) -> None:
        headers = Headers(scope=scope)
        self.method: str = scope["method"]
        self.id = secrets.token_hex(8)
        self.status = 0
        self.address = (scope.get("client") or ("unknown", 0))[0]
        self.harmless = scope["path"].startswith(HARMLESS)
        # A number that stands for the whole token, which is kept nowhere.
        self.who = hash((headers.get("authorization", ""), headers.get("cookie", "")))
        # The rate is that of the token, of which only the part that may be shown is looked at.
        self.caller = headers.get("authorization", "")[:18] or self.address
        length = headers.get("content-length", "0")
        self.length = int(length) if length.isdigit() and len(length) < 20 else 0
        self._scope, self._receive, self._send = scope, receive, send
        self._began = time.perf_counter()
        self._largest, self._read = largest, 0

    @property
    def token(self) -> Token | None:
        """The token that it was admitted with."""
        found: Token | None = self._scope.get("bestmix.token")
        return found

    @property
    def seconds(self) -> float:
        """Since it came in."""
        return time.perf_counter() - self._began

    @property
    def route(self) -> str:
        """The route's pattern, so that there are few different ones."""
        return getattr(self._scope.get("route"), "path", "unknown")

    async def receive(self) -> Message:
        """The next part of the body, as long as it is not too large."""
        message = await self._receive()
        self._read += len(message.get("body", b""))
        if self._read > self._largest:
            raise TooLarge(large(self._largest))
        return message

    async def send(self, message: Message) -> None:
        """Part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers["X-Request-Id"] = self.id
            if "cache-control" not in headers:
                headers["Cache-Control"] = "no-store"
        await self._send(message)

    def write(self) -> None:
        """A line in the log; the query is left out, for it may hold a token."""
        line = {"request": self.id, "method": self.method, "path": self._scope["path"], "status": self.status}
        line |= {"ms": round(1e3 * self.seconds, 1), "token": None if self.token is None else self.token.prefix}
        log.info("request", extra={"data": line | {"from": self.address}})


class JsonLines(logging.Formatter):
    """Log records as lines of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z"
        line: dict[str, Any] = {"at": at, "level": record.levelname.lower(), "logger": record.name}
        line |= {"message": record.getMessage(), **getattr(record, "data", {})}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)
