"""Bodies of requests: read after the rule has let the request in, within limits of bytes, values and time."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from bestmix.files import Repeated, loads
from bestmix.service.access import SAFE, Rule, rules
from bestmix.service.errors import Refusal
from bestmix.service.tokens import Scope

T = TypeVar("T")

BODY_SECONDS = 60.0  # in which a body must have come
STALL_SECONDS = 10.0  # that may pass without a byte of it
LARGE = 64 * 1024  # bytes; larger bodies are counted, and parsed outside of the event loop
MOST_BUFFERED = 256_000_000  # bytes of all large bodies
MOST_OF_CALLER = 64_000_000  # bytes of one caller's
MOST_VALUES = 1_000_000  # in one body; parsing more would keep everybody waiting
MOST_FIELDS = 20  # of a form


class Buffers:
    """The bytes of large bodies that are in memory."""

    def __init__(self, most: int = MOST_BUFFERED, of_caller: int = MOST_OF_CALLER) -> None:
        self.total = 0
        self._most = most
        self._of_caller = of_caller
        self._count: Counter[str] = Counter()

    @contextmanager
    def share(self, caller: str) -> Iterator[Callable[[int], None]]:
        """A function that is told of bytes as they come, and refuses those for which there is no room."""
        mine = 0

        def add(size: int) -> None:
            nonlocal mine
            mine += size
            self._change(caller, size)
            if self.total > self._most or self._count[caller] > self._of_caller:
                raise Refusal("unavailable", "the server reads too much at once; try again later", retry=1)

        try:
            yield add
        finally:
            self._change(caller, -mine)

    def _change(self, caller: str, size: int) -> None:
        self.total += size
        self._count[caller] += size
        if not self._count[caller]:
            del self._count[caller]


class Received(Request):
    """A request whose body is there."""

    content: bytes = b""

    async def body(self) -> bytes:
        """All of it."""
        return self.content

    async def json(self) -> Any:
        """The body as data."""
        try:
            return await parse(loads, self.content)
        except Repeated as error:
            raise HTTPException(400, f"body: {error}") from None


class GuardedRoute(APIRoute):
    """A route that checks its rule first, then reads the body, then waits for its turn if it only reads."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What is done with a request."""
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            (rule,) = rules(self)
            await rule(request)
            state, caller = request.app.state, caller_of(request)
            with state.buffers.share(caller) as add:
                if request.method not in SAFE:
                    request = await receive(request, most_bytes(rule, state.largest), add)
                async with _turn(rule, request, caller):
                    return await handle(request)

        return guarded


@asynccontextmanager
async def _turn(rule: Rule, request: Request, caller: str) -> AsyncIterator[None]:
    """Workers' calls have no others to wait for; reading, which anybody may do, is done a few at a time."""
    if rule.scope is not Scope.read:
        yield
        return
    pool = request.app.state.slow if rule.slow else request.app.state.reads
    async with pool.turn(caller):
        yield


def caller_of(request: Request) -> str:
    """The token's prefix, or else the address."""
    token = request.scope.get("bestmix.token")
    return token.prefix if token is not None else (request.client.host if request.client else "")


def most_bytes(rule: Rule, largest: int) -> int:
    """How large a body may be."""
    return largest if rule.body is None else min(rule.body, largest)


async def receive(request: Request, most: int, add: Callable[[int], None]) -> Received:
    """The request with its body; a refusal when it is too large, too slow or too intricate."""
    length = request.headers.get("content-length", "0")
    if not length.isdigit() or len(length) > 18 or int(length) > most:
        raise _too_large(most)
    received = Received(request.scope, request.receive)
    received.content = content = await _read(request, most, add)
    if len(content) > LARGE and sum(map(content.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise Refusal("too_large", f"the body has more than {MOST_VALUES:,} values; send it in parts")
    return received


async def _read(request: Request, most: int, add: Callable[[int], None]) -> bytes:
    parts: list[bytes] = []
    size, now = 0, asyncio.get_running_loop().time
    end = now() + BODY_SECONDS
    try:
        async with asyncio.timeout(STALL_SECONDS) as limit:
            async for part in request.stream():
                parts.append(part)
                size += len(part)
                if size > most:
                    raise _too_large(most)
                if size > LARGE:
                    add(size if size - len(part) <= LARGE else len(part))
                limit.reschedule(min(now() + STALL_SECONDS, end))
    except TimeoutError:
        raise Refusal("too_slow", "the body did not come in time; send it again") from None
    except ClientDisconnect:
        raise Refusal("bad_request", "the connection was closed before the body had come; send it again") from None
    return b"".join(parts)


def _too_large(most: int) -> Refusal:
    return Refusal("too_large", f"the body is larger than {most:,} bytes; send it in parts, or raise --body-limit")


async def parse(parser: Callable[[bytes], T], content: bytes) -> T:
    """What a parser makes of a body; a large one is parsed while others are served."""
    return await run_in_threadpool(parser, content) if len(content) > LARGE else parser(content)


async def form(request: Request) -> dict[str, str]:
    """The fields of a form."""
    return await parse(_fields, await request.body())


def _fields(content: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(content.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise Refusal("invalid", f"form: expected at most {MOST_FIELDS} fields; use the page of this server") from None
