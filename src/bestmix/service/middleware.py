"""Around every request: an id, limits, safe headers, a line in the log and a count in the metrics."""

import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bestmix.service import errors
from bestmix.service.access import Authenticator, Identity
from bestmix.service.logs import request_record
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
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers do not say that a form is of this site
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
MOST_CALLERS = 10_000  # whose rate is remembered
HARMLESS = ("/healthz", "/readyz", "/static/")  # what anybody may ask for at any rate


def _ids() -> Iterator[str]:
    """Ids of requests; a call of the system for each would take longer than the rest of it."""
    while True:
        drawn = secrets.token_hex(8 * 64)
        yield from [drawn[start : start + 16] for start in range(0, len(drawn), 16)]


IDS = _ids()


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


class RequestMiddleware:
    """The outermost layer of the application."""

    def __init__(
        self, app: ASGIApp, metrics: Metrics, authenticator: Authenticator, rate: float, strangers: float
    ) -> None:
        self.app = app
        self.metrics = metrics
        self._authenticator = authenticator
        self.rates = Rates(rate)  # by token
        self._strangers = Rates(strangers)  # by address, for those without a valid token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, and see to what it leaves behind."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        visit = Visit(scope, send)
        try:
            refusal = await self._refusal(visit, scope)
            await (refusal or self.app)(scope, receive, visit.send)
        finally:
            self.leave(visit)

    def leave(self, visit: "Visit") -> None:
        """See to what a request leaves behind."""
        self.metrics.count(visit.method, visit.route, visit.status, visit.seconds)
        visit.write()

    async def _refusal(self, visit: "Visit", scope: Scope) -> ASGIApp | None:
        """Find out whose request it is; too many of one token, or of an address without one, are refused."""
        if visit.harmless:
            scope["bestmix.identity"] = Identity(None)
            return None
        identity = scope["bestmix.identity"] = await self._authenticator.identify(scope)
        scope["bestmix.token"] = identity.token
        if identity.token is not None:
            if wait := self.rates.wait(identity.token.prefix):
                return errors.answer("too_many", "too many requests; slow down, or raise --rate", retry=wait)
        elif not visit.login and self._strangers.wait(visit.address):
            return errors.answer("too_many", "too many requests without a valid token; wait a little", retry=1.0)
        return None


class Visit:
    """One request: what is known of it, and its answer's headers."""

    def __init__(self, scope: Scope, send: Send | None = None) -> None:
        self.method: str = scope["method"]
        self.id = next(IDS)
        self.status = 0
        self.address = (scope.get("client") or ("unknown", 0))[0]
        self.harmless = scope["path"].startswith(HARMLESS)
        self.login = scope["path"] == "/login"  # whose token is in the body
        self.scope, self._send = scope, send
        self._began = time.perf_counter()

    @property
    def token(self) -> Token | None:
        """The token that it was admitted with."""
        found: Token | None = self.scope.get("bestmix.token")
        return found

    @property
    def seconds(self) -> float:
        """Since it came in."""
        return time.perf_counter() - self._began

    @property
    def route(self) -> str:
        """The route's pattern, so that there are few different ones."""
        return getattr(self.scope.get("route"), "path", "unknown")

    async def send(self, message: Message) -> None:
        """Part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = self.headers(message["headers"])
        assert self._send is not None
        await self._send(message)

    def headers(self, given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """The answer's own headers, and those of every answer."""
        headers = list(given)
        names = {name for name, _ in headers}
        headers += [header for header in RAW_HEADERS if header[0] not in names]
        headers.append((b"x-request-id", self.id.encode()))
        if self.status == 408 and b"connection" not in names:
            headers.append((b"connection", b"close"))
        return headers

    def write(self) -> None:
        """A line in the log; the query is left out, for it may hold a token."""
        if not log.isEnabledFor(logging.INFO):
            return
        line = {"request": self.id, "method": self.method, "path": self.scope["path"], "status": self.status}
        line |= {"ms": round(1e3 * self.seconds, 1), "token": None if self.token is None else self.token.prefix}
        log.handle(request_record(line | {"from": self.address}))
