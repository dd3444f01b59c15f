"""The API's calls of live traffic: weights go out, sums come back."""

import asyncio
import json
import time
from typing import Annotated, NamedTuple, cast

import anyio.to_thread
from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import JSONResponse, Response

from bestmix.experiments import Experiment, Outcome
from bestmix.experiments.experiment import sums_work
from bestmix.experiments.sql.store import SqlStore
from bestmix.experiments.store import Transaction
from bestmix.service import schemas
from bestmix.service.access import READ, WORK
from bestmix.service.bodies import GuardedRoute
from bestmix.service.errors import documented
from bestmix.service.routes.experiments import CALL, ONE, Current

FRESH = 0.25  # seconds that a document may be old
PACE = 0.5  # seconds between two looks of one who waits
LONGEST_WAIT = 60.0  # seconds

router = APIRouter(route_class=GuardedRoute, prefix="/v1/experiments", tags=["traffic"])


class Document(NamedTuple):
    """Weights as they are sent, with what changes when they do, and when they were read."""

    version: int
    tag: str
    content: bytes
    at: float


class Documents:
    """The weights of experiments, read at most a few times a second however many edges ask."""

    def __init__(self) -> None:
        self._known: dict[str, Document] = {}
        self._turns: dict[str, asyncio.Lock] = {}

    async def get(self, experiment: Experiment, limiter: anyio.CapacityLimiter, since: float) -> Document:
        """The weights, as they were not before ``since``."""
        key = experiment.record.key
        known = self._known.get(key)
        if known is not None and known.at >= since:
            return known
        async with self._turns.setdefault(key, asyncio.Lock()):
            known = self._known.get(key)
            if known is None or known.at < since:
                began = time.monotonic()
                found = await anyio.to_thread.run_sync(experiment.published, limiter=limiter)
                known = Document(found.version, f'"{found.tag}"', json.dumps(found.to_dict()).encode(), began)
                self._known[key] = known
            return known

    def forget(self, key: str, version: int) -> None:
        """Drop weights that are no longer the newest."""
        known = self._known.get(key)
        if known is not None and known.version != version:
            self._known.pop(key, None)


@router.get(
    "/{experiment}/weights",
    response_model=schemas.Published,
    responses=documented("not_found", "invalid") | {304: {"description": "Still the same weights."}},
    dependencies=[Depends(WORK)],
)
async def weights(
    experiment: Current,
    request: Request,
    wait: Annotated[
        float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for others than those of If-None-Match.")
    ] = 0.0,
    tag: Annotated[str | None, Header(alias="If-None-Match", max_length=200)] = None,
) -> Response:
    """What requests follow now, in each segment; with If-None-Match only if that has changed, or as soon as it does."""
    state, end = request.app.state, time.monotonic() + wait
    since = time.monotonic() - FRESH
    while True:
        found = await state.documents.get(experiment, state.looks, since)
        left = end - time.monotonic()
        if found.tag != tag or left <= 0 or state.stopping.is_set():
            break
        await asyncio.sleep(min(PACE, left))
        since = time.monotonic() - PACE
    headers = {"ETag": found.tag, "Cache-Control": "no-cache"}
    if found.tag == tag:
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type="application/json", headers=headers)


@router.post(
    "/{experiment}/sums",
    response_model=schemas.OneOutcome,
    responses=CALL,
    dependencies=[Depends(WORK.taking(None))],
)
async def sums(experiment: Current, body: schemas.Sums, request: Request) -> Response:
    """Report requests as sums; the answer means that they are safely on disk. The same report again changes nothing."""
    rows = [row.model_dump(exclude_none=True) for row in body.rows]
    prefetch, work = sums_work(experiment, rows, body.key)
    store, key = cast(SqlStore, experiment.storage.store), experiment.record.key

    def write(transaction: Transaction) -> tuple[Outcome, int]:
        return work(transaction), transaction.head.round + 1

    outcome, version = await store.submit(key, write, prefetch)
    request.app.state.documents.forget(key, version)
    return JSONResponse({"outcome": outcome})


@router.get("/{experiment}/traffic", response_model=schemas.Traffic, responses=ONE, dependencies=[Depends(READ)])
def traffic(experiment: Current, last: Annotated[int | None, Query(ge=1, le=2**53)] = None) -> Response:
    """Versions of the weights, or the last of them, with the requests of each, and who reports them."""
    return JSONResponse(experiment.traffic(last).to_dict())
