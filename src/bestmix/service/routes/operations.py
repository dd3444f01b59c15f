"""For those who run the server: is it alive, is it ready, what has it done."""

import asyncio
import time
from collections import Counter
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from bestmix import __version__
from bestmix.experiments import Storage, StorageError
from bestmix.service import schemas
from bestmix.service.access import PUBLIC, READ_ALL
from bestmix.service.bodies import GuardedRoute
from bestmix.service.errors import documented

READY = 1.0  # seconds in which the database has to answer
LASTS = 0.5  # seconds that its answer is good for
router = APIRouter(route_class=GuardedRoute, tags=["operations"])
NOT_READY: dict[int | str, dict[str, Any]] = {
    503: {"model": schemas.Health, "description": "The database is out of reach, or the server stops."}
}


@router.get("/healthz", response_model=schemas.Health, dependencies=[Depends(PUBLIC)])
async def healthz() -> Response:
    """Whether the process answers at all."""
    return JSONResponse({"status": "ok", "version": __version__})


class Readiness:
    """Whether the database answers; looked at once for all who ask within a moment, in a thread of its own."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._ready = False
        self._until = 0.0
        self._turn = asyncio.Lock()
        self._thread = anyio.CapacityLimiter(1)

    async def look(self) -> bool:
        """Look, unless somebody has just done so."""
        async with self._turn:
            if time.monotonic() >= self._until:
                self._ready = await anyio.to_thread.run_sync(self._ping, limiter=self._thread)
                self._until = time.monotonic() + LASTS
            return self._ready

    def _ping(self) -> bool:
        try:
            self._storage.store.ping(READY)
        except StorageError:
            return False
        return True


@router.get("/readyz", response_model=schemas.Health, responses=NOT_READY, dependencies=[Depends(PUBLIC)])
async def readyz(request: Request) -> Response:
    """Whether it can serve: the database answers, and nobody has told it to stop."""
    ready = await request.app.state.readiness.look() and not request.app.state.stopping.is_set()
    words = {"status": "ok" if ready else "not ready", "version": __version__}
    return JSONResponse(words, 200 if ready else 503)


@router.get(
    "/metrics",
    response_class=Response,  # errors are JSON here, too
    responses=documented() | {200: {"description": "Prometheus text.", "content": {"text/plain": {}}}},
    dependencies=[Depends(READ_ALL)],
)
def metrics(request: Request) -> Response:
    """Counts and times for Prometheus."""
    statuses = Counter(state.status.value for state in request.app.state.storage.experiments())
    text = request.app.state.metrics.text(dict(statuses), len(request.app.state.streams))
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")
