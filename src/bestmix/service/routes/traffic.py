"""The API's calls of live traffic: weights go out, sums come back."""

import asyncio
import json
import threading
import time
from collections.abc import Awaitable
from typing import Annotated, Any, NamedTuple, cast

import anyio.to_thread
from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import JSONResponse, Response

from bestmix.experiments import Experiment, Outcome
from bestmix.experiments.experiment import count_reports, read_report
from bestmix.experiments.sql.store import SqlStore
from bestmix.experiments.store import Transaction
from bestmix.experiments.traffic import Report
from bestmix.service import schemas
from bestmix.service.access import READ, WORK
from bestmix.service.bodies import GuardedRoute
from bestmix.service.errors import documented
from bestmix.service.routes.experiments import CALL, ONE, Current

PATTERN = "/v1/experiments/{experiment}/sums"
FRESH = 0.25  # seconds that a document may be old
PACE = 0.5  # seconds between two looks for those who wait
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

    def __init__(self, limiter: anyio.CapacityLimiter, stopping: threading.Event) -> None:
        self._limiter, self._stopping = limiter, stopping
        self._known: dict[str, Document] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._waiting: dict[str, asyncio.Task[None]] = {}  # which end when others than the known ones are there

    async def get(self, experiment: Experiment, since: float) -> Document:
        """The weights, as they were not before ``since``."""
        key = experiment.record.key
        known = self._known.get(key)
        if known is not None and known.at >= since:
            return known
        async with self._turns.setdefault(key, asyncio.Lock()):
            known = self._known.get(key)
            if known is None or known.at < since:
                began = time.monotonic()
                found = await anyio.to_thread.run_sync(experiment.published, limiter=self._limiter)
                known = Document(found.version, f'"{found.tag}"', json.dumps(found.to_dict()).encode(), began)
                self._known[key] = known
            return known

    async def other(self, experiment: Experiment, tag: str | None, wait: float) -> Document:
        """The weights as soon as they are others than those with a tag, or after so many seconds.

        One look serves all who wait.
        """
        end, key = time.monotonic() + wait, experiment.record.key
        found = await self.get(experiment, time.monotonic() - FRESH)
        while found.tag == tag and (left := end - time.monotonic()) > 0 and not self._stopping.is_set():
            look = self._waiting.get(key)
            if look is None or look.done():
                look = self._waiting[key] = asyncio.create_task(self._look(experiment, found.tag, end))
            await asyncio.wait([look], timeout=left)
            found = await self.get(experiment, time.monotonic() - PACE)
        return found

    async def _look(self, experiment: Experiment, tag: str, end: float) -> None:
        """Until there are weights with another tag, or the one who began to wait has given up."""
        while time.monotonic() < end and not self._stopping.is_set():
            await asyncio.sleep(PACE)
            try:
                found = await self.get(experiment, time.monotonic() - PACE / 2)
            except Exception:  # those who wait find it themselves
                return
            if found.tag != tag:
                return

    def forget(self, key: str, version: int) -> None:
        """Drop weights that are no longer the newest."""
        known = self._known.get(key)
        if known is not None and known.version != version:
            self._known.pop(key, None)


class Gathering:
    """Has reports that were read at the same moment counted in one transaction."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._gathered: dict[str, tuple[Experiment, list[tuple[Report, asyncio.Future[Outcome]]]]] = {}

    def count(self, experiment: Experiment, report: Report) -> "asyncio.Future[Outcome]":
        """Have a report counted, with those that are at hand."""
        loop = asyncio.get_running_loop()
        key, told = experiment.record.key, loop.create_future()
        if key not in self._gathered:
            self._gathered[key] = experiment, []
            loop.call_soon(self._write, key)
        self._gathered[key][1].append((report, told))
        return told

    def _write(self, key: str) -> None:
        """Have all that was gathered for an experiment written."""
        experiment, gathered = self._gathered.pop(key)
        reports = [report for report, _ in gathered]

        def write(transaction: Transaction) -> tuple[list[Outcome | Exception], int]:
            return count_reports(experiment, transaction, reports), transaction.head.round + 1

        def answer(done: "asyncio.Future[tuple[list[Outcome | Exception], int]]") -> None:
            error = done.exception()
            told = [error] * len(gathered) if error is not None else done.result()[0]
            if error is None:
                self._documents.forget(key, done.result()[1])
            for (_, future), outcome in zip(gathered, told, strict=True):
                if future.done():
                    continue  # its caller has gone
                if isinstance(outcome, BaseException):
                    future.set_exception(outcome)
                else:
                    future.set_result(outcome)

        cast(SqlStore, experiment.storage.store).submit(key, write).add_done_callback(answer)


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
    found = await request.app.state.documents.other(experiment, tag, wait)
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
    report = read_report(experiment, [row.model_dump(exclude_none=True) for row in body.rows], body.key)
    return JSONResponse({"outcome": await request.app.state.gathering.count(experiment, report)})


def read_sums(request: Request, data: Any) -> Awaitable[Outcome]:
    """The write that a report asks for; an error when it is not plainly in order, before anything is done."""
    if type(data) is not dict or data.keys() != {"key", "rows"} or type(data["key"]) is not str:
        raise ValueError("other entries than those of a report")
    rows, experiment = data["rows"], request.state.experiment
    if type(rows) is not list or any(type(row) is not dict or type(row.get("n")) is not int for row in rows):
        raise ValueError("no list of rows with whole numbers")
    counted: Awaitable[Outcome] = request.app.state.gathering.count(
        experiment, read_report(experiment, rows, data["key"])
    )
    return counted


@router.get("/{experiment}/traffic", response_model=schemas.Traffic, responses=ONE, dependencies=[Depends(READ)])
def traffic(experiment: Current, last: Annotated[int | None, Query(ge=1, le=2**53)] = None) -> Response:
    """Versions of the weights, or the last of them, with the requests of each, and who reports them."""
    return JSONResponse(experiment.traffic(last).to_dict())
