"""Middleware for ASGI applications (Starlette, FastAPI, Django): an arm for each request, and what came of it."""

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from bestmix.client.edge import Edge

Scope = MutableMapping[str, Any]
Application = Callable[[Scope, Any, Any], Awaitable[None]]
SECONDS = "seconds"  # the metric that the middleware measures itself, where the experiment has it


class EdgeMiddleware:
    """Chooses an arm for each HTTP request, and records its metrics when the answer was sent.

    The application finds the choice in ``scope["bestmix.choice"]``, and puts metrics into ``scope["bestmix.metrics"]``.
    The time until the answer was sent is added as the metric ``seconds``, where the experiment has one and the
    application has not given it. A request that ends without all metrics is not recorded: it may be later, by
    ``choice.id``.

    Parameters
    ----------
    app
        The application.
    edge
        Of the experiment.
    segment, unit
        Functions of a request's scope that tell its segment and its unit.
    """

    def __init__(
        self,
        app: Application,
        edge: Edge,
        segment: Callable[[Scope], str | None] | None = None,
        unit: Callable[[Scope], Any] | None = None,
    ) -> None:
        self._app, self._edge = app, edge
        self._segment = segment or _nothing
        self._unit = unit or _nothing

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        choice = self._edge.choose(self._segment(scope), self._unit(scope))
        metrics: dict[str, float] = {}
        scope["bestmix.choice"], scope["bestmix.metrics"] = choice, metrics
        began = time.perf_counter()
        await self._app(scope, receive, send)
        if SECONDS in self._edge.metrics:
            metrics.setdefault(SECONDS, time.perf_counter() - began)
        if all(name in metrics for name in self._edge.metrics):
            self._edge.record(choice, metrics)


def _nothing(scope: Scope) -> None:
    """No segment, or no unit."""
    return
