"""The OpenAPI document as it is served: what the routes say of themselves, and which token each of them needs."""

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from bestmix.service.access import rules
from bestmix.service.whole_requests import Take

BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token that bestmix token create showed; each operation names the scope that it needs.",
}


class Service(FastAPI):
    """An application whose document says who may call what.

    Attributes
    ----------
    around
        What takes requests first, and hands them on to ``framework``.
    take
        Takes some of those that are there as a whole before that, without a task of their own.
    """

    around: ASGIApp
    take: Take | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http":
            scope["app"] = self
            await self.around(scope, receive, send)
        else:
            await self.framework(scope, receive, send)

    async def framework(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request as the framework does."""
        await super().__call__(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """The document; made once."""
        if self.openapi_schema is None:
            made = super().openapi()
            made["components"]["securitySchemes"] = {"bearer": BEARER}
            for route in self.routes:
                if isinstance(route, APIRoute) and route.include_in_schema:
                    _secure(made["paths"][route.path_format], route)
            self.openapi_schema = made
        return self.openapi_schema


def _secure(operations: dict[str, Any], route: APIRoute) -> None:
    scopes = [rule.scope.value for rule in rules(route) if rule.scope is not None]
    for method in route.methods or ():
        operations[method.lower()]["security"] = [{"bearer": scopes}] if scopes else []


def allowed(request: Request) -> list[str]:
    """Methods that the address of a request takes, whatever its own was."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    fitting = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    return sorted({method for route in fitting for method in route.methods or ()})
