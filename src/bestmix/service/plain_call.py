"""The calls that come most often: where all is as it should be, without the framework's detours.

The route of the API is there as any other, and has the same rule. What is not plainly in order (another type of body,
a value that is refused, no token) goes on to it, so that documents, checks and errors are those of the one route.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bestmix.experiments import Outcome
from bestmix.files import loads
from bestmix.service.access import rules
from bestmix.service.bodies import LARGE, STALL_SECONDS, most_bytes
from bestmix.service.whole_requests import WHOLE

STALLED = "stalled"  # in place of a message that did not come in time
ANSWERS = {outcome: json.dumps({"outcome": outcome}, separators=(",", ":")).encode() for outcome in Outcome}

Read = Callable[[Request, Any], Awaitable[Outcome]]  # the write that a body asks for; an error where it is not in order


class PlainCall:
    """Takes plain calls of a route itself, and hands everything else on to the application.

    Parameters
    ----------
    app
        The application.
    route
        Of the API, whose path has the experiment in it.
    read
        Checks a body, and has its write done; an error, before anything is done, leaves it to the route.
    fail
        The answer to an error of the write.
    largest
        Bytes of the largest body that the service takes.
    """

    def __init__(
        self,
        app: ASGIApp,
        route: APIRoute,
        read: Read,
        fail: Callable[[Request, Exception], Response],
        largest: int,
    ) -> None:
        self._app, self.route, self._read, self.fail = app, route, read, fail
        self._path = re.compile(route.path.replace("{experiment}", "([^/]+)"))
        (self.rule,) = rules(route)
        self._most = min(most_bytes(self.rule, largest), LARGE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        name = self.experiment(scope) if scope["type"] == "http" else None
        if name is None:
            await self._app(scope, receive, send)
            return
        scope["path_params"] = {"experiment": name}
        request = Request(scope)
        message: Message | None = None
        try:
            await self.rule(request)
            message = await (receive() if scope.get(WHOLE) else _receive(receive))
            write = self._read(request, _data(message))
        except Exception:  # the framework's route finds it again, and says so
            await self._app(scope, receive if message is None else _repeated(message, receive), send)
            return
        scope["route"] = self.route
        await self._finish(request, write, send)

    def experiment(self, scope: Scope) -> str | None:
        """The experiment in the path of a plain call; None of any other request."""
        found = self._path.fullmatch(scope["path"]) if scope["method"] == "POST" else None
        return found[1] if found is not None and self._is_plain(scope) else None

    def _is_plain(self, scope: Scope) -> bool:
        """Whether the head tells of JSON of a length that is allowed, and needs no accounting."""
        length, kind = b"", None
        for name, value in scope["headers"]:
            if name == b"content-length":
                length = value
            elif name == b"content-type":
                if kind is not None:  # of two of them the framework has a rule of its own
                    return False
                kind = value
            elif name == b"transfer-encoding":
                return False
        return kind == b"application/json" and length.isdigit() and len(length) < 6 and int(length) <= self._most

    async def _finish(self, request: Request, write: Awaitable[Outcome], send: Send) -> None:
        try:
            outcome = await write
        except Exception as error:
            await self.fail(request, error)(request.scope, request.receive, send)
        else:
            await _answer(send, ANSWERS[outcome])


async def _receive(receive: Receive) -> Message:
    """The body, or the first part of it; one that does not come is as good as no body that was promised."""
    try:
        async with asyncio.timeout(STALL_SECONDS):
            return await receive()
    except TimeoutError:
        return {"type": STALLED}


def _data(message: Message) -> Any:
    """What a body says."""
    if message["type"] != "http.request" or message.get("more_body"):
        raise ValueError("the body comes in parts")
    return loads(str(message["body"], "utf-8"))


def _repeated(message: Message, receive: Receive) -> Receive:
    """As ``receive``, with what has been received once more."""
    left = [message]

    async def again() -> Message:
        if message["type"] == STALLED:
            raise TimeoutError
        return left.pop() if left else await receive()

    return again


def answer_headers(body: bytes) -> list[tuple[bytes, bytes]]:
    """The headers of an answer that is JSON."""
    return [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]


async def _answer(send: Send, body: bytes) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": answer_headers(body)})
    await send({"type": "http.response.body", "body": body})
