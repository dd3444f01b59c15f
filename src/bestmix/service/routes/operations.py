"""For those who run the server: is it alive, is it ready, what has it done."""

from collections import Counter
from typing import Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from bestmix import __version__
from bestmix.experiments import StorageError
from bestmix.service import schemas
from bestmix.service.access import PUBLIC, READ_ALL
from bestmix.service.errors import documented

READY = 1.0  # seconds in which the database has to answer
router = APIRouter(tags=["operations"])
NOT_READY: dict[int | str, dict[str, Any]] = {
    503: {"model": schemas.Health, "description": "The database is out of reach, or the server stops."}
}


@router.get("/healthz", response_model=schemas.Health, dependencies=[Depends(PUBLIC)])
async def healthz() -> Response:
    """Whether the process answers at all."""
    return JSONResponse({"status": "ok", "version": __version__})


@router.get("/readyz", response_model=schemas.Health, responses=NOT_READY, dependencies=[Depends(PUBLIC)])
def readyz(request: Request) -> Response:
    """Whether it can serve: the database answers, and nobody has told it to stop."""
    try:
        request.app.state.storage.store.ping(READY)
        ready = not request.app.state.stopping.is_set()
    except StorageError:
        ready = False
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
    text = request.app.state.metrics.text(dict(statuses))
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")
