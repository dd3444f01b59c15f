"""The application: routes, limits and errors, put together."""

import logging
import threading
from dataclasses import dataclass

import anyio
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bestmix import __version__
from bestmix.experiments import Storage
from bestmix.service import dashboard, errors
from bestmix.service.access import Authenticator, rules
from bestmix.service.bodies import Buffers, GuardedRoute
from bestmix.service.caches import Cache, OpenExperiments
from bestmix.service.metrics import Metrics
from bestmix.service.middleware import RequestMiddleware
from bestmix.service.openapi import Service, allowed
from bestmix.service.plain_call import PlainCall
from bestmix.service.pools import Pool, Slots
from bestmix.service.routes import control, experiments, operations, streams, traffic
from bestmix.service.single_tell import PATTERN, WholeTells, read_tell
from bestmix.service.tokens import Token, Tokens

log = logging.getLogger("bestmix.service")
ABOUT = (
    "Ask for trials, make them anywhere, tell what came out. Send a token as `Authorization: Bearer TOKEN`. "
    "Every call can be repeated: nothing is counted twice. Every error has the same shape, with a stable code."
)
STATUSES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed"}


@dataclass(frozen=True)
class Settings:
    """What can be chosen of a server."""

    rate: float = 5000.0  # requests a second of one caller
    strangers: float = 100.0  # requests a second from an address that has no valid token
    largest: int = 8_000_000  # bytes of the largest body; most routes take less
    remember: float = 1.0  # seconds that a token is taken for good without a look at the database


def create_app(storage: Storage, settings: Settings | None = None, session: Token | None = None) -> FastAPI:
    """The service of a storage; ``session`` is a token of this process's own, which is kept nowhere."""
    settings = settings or Settings()
    app = Service(title="bestmix", version=__version__, description=ABOUT, docs_url=None, redoc_url=None)
    app.router.redirect_slashes = False
    app.state.storage = storage
    app.state.experiments = OpenExperiments(storage)
    app.state.authenticator = Authenticator(Tokens(storage), session, settings.remember)
    app.state.views = Cache(lasts=5.0)
    app.state.reports = Cache(lasts=60.0, fresh=2.0, most=20)
    app.state.readiness = operations.Readiness(storage)
    app.state.buffers = Buffers()
    app.state.largest = settings.largest
    app.state.slow = Pool(most=2, of_caller=1, waiting=100)
    app.state.reads = Pool(most=2, of_caller=1, waiting=100)
    app.state.streams = Slots(most=200, of_caller=50)
    app.state.figures = Cache(lasts=0.0, fresh=0.25, most=500)
    app.state.looks = anyio.CapacityLimiter(4)  # threads for streams, so that they take none from workers' calls
    app.state.metrics = Metrics()
    app.state.stopping = threading.Event()
    app.state.documents = traffic.Documents(app.state.looks, app.state.stopping)
    app.state.gathering = traffic.Gathering(app.state.documents)
    for part in (experiments, control, traffic, streams, operations, dashboard):
        app.router.routes.extend(part.router.routes)  # as they are, so that check_rules sees each of them
    check_rules(app)
    routes = {route.path: route for route in app.routes if isinstance(route, APIRoute)}
    sums = PlainCall(app.framework, routes[traffic.PATTERN], traffic.read_sums, _failed, settings.largest)
    tell = PlainCall(sums, routes[PATTERN], read_tell, _failed, settings.largest)
    limits = settings.rate, settings.strangers
    app.around = around = RequestMiddleware(tell, app.state.metrics, app.state.authenticator, *limits)
    app.take = WholeTells(app, around, tell).take
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    for kind in (errors.Refusal, ValueError, RuntimeError, Exception):
        app.add_exception_handler(kind, _failed)
    return app


def check_rules(app: FastAPI) -> None:
    """Refuse to start with a route that nobody has decided about."""
    for route in app.routes:
        if isinstance(route, APIRoute):
            if len(rules(route)) != 1:
                raise RuntimeError(f"{route.path} has {len(rules(route))} rules of access; give it exactly one")
            if not isinstance(route, GuardedRoute):
                raise RuntimeError(
                    f"{route.path} would read bodies before its rule; give its router route_class=GuardedRoute"
                )
        elif getattr(route, "path", "") != app.openapi_url:
            raise RuntimeError(f"{route} is no route whose rule of access can be seen; add it as the others are")


def _invalid(request: Request, error: Exception) -> Response:
    found = errors.explain_validation(error.errors()) if isinstance(error, RequestValidationError) else None
    return _answer(request, found or errors.Refusal("invalid", str(error)))


def _http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = str(error.detail) if isinstance(error, HTTPException) else ""
    code = STATUSES.get(status, "bad_request" if status < 500 else "internal")
    response = _answer(request, errors.Refusal(code, f"{detail}; see /openapi.json for what there is"))
    if status == 405:
        response.headers["Allow"] = ", ".join(allowed(request))
    return response


def _failed(request: Request, error: Exception) -> Response:
    found = errors.refuse(error)
    if found is None:
        log.error("a request failed", exc_info=error)
        found = errors.Refusal("internal", "the server made a mistake; its log has more under the request's id")
    elif found.code == "unavailable" and not isinstance(error, errors.Refusal):
        log.error("the database did not do its work", exc_info=error)
    return _answer(request, found)


def _answer(request: Request, found: errors.Refusal) -> Response:
    if dashboard.wants_page(request):
        return dashboard.error_page(request, found)
    return errors.answer(found.code, str(found), found.field, found.retry)
