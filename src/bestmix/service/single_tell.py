"""A single result, the call that live traffic makes: where all is as it should be, without the framework's detours.

The route of the API is there as any other, and has the same rule. What is not plainly in order (another type of body,
a value that is refused, no token) goes on to it, so that documents, checks and errors are those of the one route.
"""

import asyncio
import json
import math
import re
from collections.abc import Callable
from typing import Any, cast

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bestmix.experiments import Experiment, Outcome
from bestmix.experiments.experiment import tell_work
from bestmix.experiments.sql.store import SqlStore
from bestmix.service.access import rules
from bestmix.service.bodies import LARGE, STALL_SECONDS

PATH = re.compile(r"/v1/experiments/([^/]+)/tell")
PATTERN = "/v1/experiments/{experiment}/tell"
LONGEST_ID = 40  # characters of a trial's id
STALLED = "stalled"  # in place of a message that did not come in time
COSTS, METRICS = {"trial", "reward", "costs"}, {"trial", "metrics"}  # the entries of a result's two forms
ANSWERS = {outcome: json.dumps({"outcome": outcome}, separators=(",", ":")).encode() for outcome in Outcome}


class SingleTell:
    """Takes plain tells itself, and hands everything else on to the application."""

    def __init__(self, app: ASGIApp, route: APIRoute, fail: Callable[[Request, Exception], Response]) -> None:
        self._app = app
        self._route = route
        (self._rule,) = rules(route)
        self._fail = fail

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        found = PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if found is None or not _is_plain(scope):
            await self._app(scope, receive, send)
            return
        scope["path_params"] = {"experiment": found[1]}
        request = Request(scope)
        message: Message | None = None
        try:
            await self._rule(request)
            message = await _receive(receive)
            write = _read(request.state.experiment, message)
        except Exception:  # the framework's route finds it again, and says so
            await self._app(scope, receive if message is None else _repeated(message, receive), send)
            return
        scope["route"] = self._route
        await self._finish(request, write, send)

    async def _finish(self, request: Request, write: "asyncio.Future[list[Outcome]]", send: Send) -> None:
        try:
            (outcome,) = await write
        except Exception as error:
            await self._fail(request, error)(request.scope, request.receive, send)
        else:
            await _answer(send, ANSWERS[outcome])


def _is_plain(scope: Scope) -> bool:
    """Whether the head tells of JSON of a length that needs no accounting."""
    length, kind = b"", b""
    for name, value in scope["headers"]:
        if name == b"content-length":
            length = value
        elif name == b"content-type":
            kind = value
        elif name == b"transfer-encoding":
            return False
    return kind == b"application/json" and length.isdigit() and len(length) < 6 and int(length) <= LARGE


async def _receive(receive: Receive) -> Message:
    """The body, or the first part of it; one that does not come is as good as no body that was promised."""
    try:
        async with asyncio.timeout(STALL_SECONDS):
            return await receive()
    except TimeoutError:
        return {"type": STALLED}


def _read(experiment: Experiment, message: Message) -> "asyncio.Future[list[Outcome]]":
    """The write that a body asks for; an error when it is not plainly in order, before anything is done."""
    if message["type"] != "http.request" or message.get("more_body"):
        raise ValueError("the body comes in parts")
    data = json.loads(str(message["body"], "utf-8"))
    if type(data) is not dict or type(data.get("trial")) is not str or len(data["trial"]) > LONGEST_ID:
        raise ValueError("no id of a trial")
    result: tuple[Any, ...]
    if data.keys() == COSTS:
        result = data["trial"], _number(data["reward"]), _numbers(data["costs"])
    elif data.keys() == METRICS:
        result = data["trial"], _numbers(data["metrics"]), None
    else:
        raise ValueError("other entries than those of a result")
    prefetch, work = tell_work(experiment, [result])
    return cast(SqlStore, experiment.storage.store).submit(experiment.record.key, work, prefetch)


def _numbers(values: Any) -> dict[str, float]:
    if type(values) is not dict:
        raise ValueError("no values by name")
    return {name: _number(value) for name, value in values.items()}


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError("no finite number")
    return float(value)


def _repeated(message: Message, receive: Receive) -> Receive:
    """As ``receive``, with what has been received once more."""
    left = [message]

    async def again() -> Message:
        if message["type"] == STALLED:
            raise TimeoutError
        return left.pop() if left else await receive()

    return again


async def _answer(send: Send, body: bytes) -> None:
    headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
