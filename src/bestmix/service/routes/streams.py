"""Server-sent events: an experiment's figures whenever they change, and what happened."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from bestmix.experiments import Closed, Experiment, StorageError
from bestmix.service.access import READ
from bestmix.service.errors import Refusal, documented
from bestmix.service.routes.experiments import Current, figures

PACE = 0.5  # seconds between two looks
BEAT = 15.0  # seconds without news after which a comment is sent, so that nobody in between hangs up
LONGEST = 3600.0  # seconds after which a stream ends; browsers come back by themselves
MOST = 200  # streams of one server
PAGE = 500  # events read at a time

router = APIRouter(prefix="/v1/experiments", tags=["experiments"])


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
    metrics = request.app.state.metrics
    if metrics.streams >= MOST:
        raise Refusal("unavailable", "the server has as many streams open as it can; try again later", retry=10)
    if last is not None and last.isascii() and last.isdigit() and len(last) < 19:
        after = int(last)
    feed = Feed(experiment, after, events)
    return StreamingResponse(_lines(feed, request, seconds), media_type="text/event-stream")


class Feed:
    """What is new of an experiment since the last look."""

    def __init__(self, experiment: Experiment, after: int | None, events: bool) -> None:
        self._experiment = experiment
        self._after = after
        self._events = events
        self._state: dict[str, Any] | None = None

    def look(self) -> list[str]:
        """Messages in the format of server-sent events."""
        state = figures(self._experiment.state, self._experiment.record.key)
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


async def _lines(feed: Feed, request: Request, seconds: float) -> AsyncIterator[str]:
    metrics, stopping = request.app.state.metrics, request.app.state.stopping
    metrics.streams += 1
    end, beat = time.monotonic() + seconds, time.monotonic() + BEAT
    try:
        yield "retry: 1000\n\n"
        while not stopping.is_set() and time.monotonic() < end and not await request.is_disconnected():
            try:
                messages = await run_in_threadpool(feed.look)
            except Closed:
                yield "event: deleted\ndata: {}\n\n"
                return
            except StorageError:
                messages = []
            if messages:
                yield "".join(messages)
                beat = time.monotonic() + BEAT
            elif time.monotonic() >= beat:
                yield ": still here\n\n"
                beat = time.monotonic() + BEAT
            await asyncio.sleep(min(PACE, max(end - time.monotonic(), 0.0)))
    finally:
        metrics.streams -= 1
