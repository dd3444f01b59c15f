"""Server-sent events: an experiment's figures whenever they change, and what happened."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from bestmix.experiments import Closed, Experiment, State, StorageError
from bestmix.service.access import READ
from bestmix.service.bodies import GuardedRoute, caller_of
from bestmix.service.caches import Cache
from bestmix.service.errors import Refusal, documented
from bestmix.service.routes.experiments import Current, figures

PACE = 0.5  # seconds between two looks
CHECK = 0.25  # seconds between two looks at the stream's token, each of which is good for as long
BEAT = 15.0  # seconds without news after which a comment is sent, so that nobody in between hangs up
LONGEST = 3600.0  # seconds after which a stream ends; browsers come back by themselves
PAGE = 500  # events read at a time

router = APIRouter(route_class=GuardedRoute, prefix="/v1/experiments", tags=["experiments"])


@router.get(
    "/{experiment}/stream",
    response_class=Response,
    responses=documented("not_found", "invalid")
    | {200: {"description": "Server-sent events.", "content": {"text/event-stream": {}}}},
    dependencies=[Depends(READ)],
)
async def stream(
    experiment: Current,
    request: Request,
    after: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    events: bool = True,
    seconds: Annotated[float, Query(gt=0, le=LONGEST)] = LONGEST,
    last: Annotated[str | None, Header(alias="Last-Event-ID")] = None,
) -> Response:
    """Events after one (by default from now on) and, as events of kind state, figures when they change."""
    if last is not None and last.isascii() and last.isdigit() and len(last) < 19:
        after = int(last)
    return open_stream(request, [Feed(experiment, request.app.state.figures, after, events)], seconds)


def open_stream(request: Request, feeds: list["Feed"], seconds: float = LONGEST) -> Response:
    """A stream of what is new, if there is room for one more."""
    slots, caller = request.app.state.streams, caller_of(request)
    if not slots.take(caller):
        raise Refusal("unavailable", "as many streams are open as this server or token may have; close one", retry=10)
    return Stream(_lines(feeds, request, seconds), lambda: slots.give_back(caller))


class Stream(StreamingResponse):
    """Gives its place back however it ends, even before it began."""

    def __init__(self, lines: AsyncIterator[str], over: Callable[[], None]) -> None:
        super().__init__(lines, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
        self._over = over

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._over()


class Feed:
    """What is new of an experiment since the last look."""

    def __init__(
        self, experiment: Experiment, figures: Cache[State], after: int | None = None, events: bool = False
    ) -> None:
        self.key = experiment.record.key
        self._experiment = experiment
        self._figures = figures
        self._after = after
        self._events = events
        self._opened = time.monotonic()
        self._state: dict[str, Any] | None = None

    def look(self) -> list[str]:
        """Messages in the format of server-sent events."""
        # Figures are shared between streams for a moment, but never older than the stream: whoever stops an experiment
        # and then opens a stream sees that it stopped.
        found = self._figures.get(self.key, lambda: None, lambda: self._experiment.state, self._opened)
        state = figures(found, self.key)
        new = self._new() if self._events else []
        # All is read by now, so that what is remembered as sent is sent.
        messages = [f"event: state\ndata: {json.dumps(state)}\n\n"] if state != self._state else []
        self._state = state
        for event in new:
            self._after = event.number
            data = json.dumps(event.to_dict())
            messages.append(f"id: {event.number}\nevent: {event.kind}\ndata: {data}\n\n")
        return messages

    def _new(self) -> list[Any]:
        if self._after is None:
            self._after = newest(self._experiment)
        return self._experiment.events(self._after, PAGE)


def newest(experiment: Experiment) -> int:
    """Number of the last event, found by doubling and halving, so that few are read."""
    low, high = 0, 1
    while experiment.events(high, 1):
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if experiment.events(middle, 1) else (low, middle)
    return low


async def _lines(feeds: list[Feed], request: Request, seconds: float) -> AsyncIterator[str]:
    end, beat = time.monotonic() + seconds, time.monotonic() + BEAT
    yield "retry: 1000\n\n"
    over = asyncio.ensure_future(_over(request))
    try:
        while not over.done():  # the first look is due to every stream, however short its time
            look = asyncio.ensure_future(_look_at_all(feeds, request))
            # A look can take long, with a busy database or behind others: what ends a stream does not wait for it.
            await asyncio.wait({look, over}, return_when=asyncio.FIRST_COMPLETED)
            if over.done():
                return
            if messages := look.result():
                yield "".join(messages)
            elif time.monotonic() >= beat:
                yield ": still here\n\n"
            if messages or time.monotonic() >= beat:
                beat = time.monotonic() + BEAT
            left = end - time.monotonic()
            if not feeds or left <= 0:
                return
            await asyncio.wait({over}, timeout=min(PACE, left))
    finally:
        over.cancel()


async def _look_at_all(feeds: list[Feed], request: Request) -> list[str]:
    """What is new of the experiments; one that was deleted is looked at no more."""
    messages: list[str] = []
    for feed in list(feeds):
        try:
            messages += await anyio.to_thread.run_sync(feed.look, limiter=request.app.state.looks)
        except Closed:
            feeds.remove(feed)
            messages.append(f"event: deleted\ndata: {json.dumps({'id': feed.key})}\n\n")
        except StorageError:
            pass  # out of reach for a moment
    return messages


async def _over(request: Request) -> None:
    """Wait until the client listens no more, the server is told to stop, or the token is no longer good."""
    while not (request.app.state.stopping.is_set() or await request.is_disconnected()):
        try:
            if not await request.app.state.authenticator.is_valid(request.scope["bestmix.token"], CHECK):
                return
        except StorageError:
            pass  # out of reach for a moment, and with it all that could be told
        await asyncio.sleep(CHECK)
