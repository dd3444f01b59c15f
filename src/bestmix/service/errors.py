"""One shape for every error: ``{"error": {"code", "message", "field"}}``, with codes that never change."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse

from bestmix.checks import InvalidInput
from bestmix.experiments import Closed, Conflict, StorageError
from bestmix.experiments.errors import OutOfOrder

CODES = {
    "bad_request": (400, "The request is not valid HTTP or JSON."),
    "unauthorized": (401, "A token is missing, unknown, expired or revoked."),
    "forbidden": (403, "The token does not allow this."),
    "not_found": (404, "There is no such thing."),
    "method_not_allowed": (405, "The address does not take this method."),
    "too_slow": (408, "The request did not come in time."),
    "conflict": (409, "It is there already, with other values."),
    "closed": (409, "The experiment takes no such call any more, or not now."),
    "too_large": (413, "The body is larger than the server takes."),
    "invalid": (422, "A value is not what was expected."),
    "too_many": (429, "Too many requests; Retry-After says when to try again."),
    "internal": (500, "The server made a mistake; its log has more under the request's id."),
    "unavailable": (503, "The database is out of reach, or the server is full; try again later."),
}


class Detail(BaseModel):
    """What went wrong."""

    model_config = ConfigDict(json_schema_extra={"additionalProperties": False})

    code: str = Field(description="Stable, for programs.", json_schema_extra={"enum": list(CODES)})
    message: str = Field(description="A sentence, for people.")
    field: str | None = Field(None, description="The offending field of the request, where there is one.")


class ErrorBody(BaseModel):
    """The body of every answer that is not a success."""

    error: Detail


class Refusal(Exception):
    """Ends a request with one of the codes."""

    def __init__(self, code: str, message: str, field: str | None = None, retry: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.field = field
        self.retry = retry


def answer(code: str, message: str, field: str | None = None, retry: float | None = None) -> JSONResponse:
    """The error as a response."""
    headers = {} if retry is None else {"Retry-After": str(max(1, round(retry)))}
    if code == "unauthorized":
        headers["WWW-Authenticate"] = "Bearer"
    body = {"error": {"code": code, "message": message, "field": field}}
    return JSONResponse(body, CODES[code][0], headers)


def refuse(error: Exception) -> Refusal | None:
    """What an error of a call means to the one who called; None when it is a mistake of ours."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, StorageError):
        return Refusal("unavailable", "the database did not do its work; nothing was acknowledged, try again", retry=1)
    if isinstance(error, (InvalidInput, Conflict, Closed, OutOfOrder)):
        return Refusal(error.code, str(error), error.field)
    return Refusal("invalid", str(error)) if isinstance(error, ValueError) else None


def explain_validation(errors: Any) -> Refusal:
    """The first thing that is wrong with a request, without the value, which may be no JSON at all."""
    first = errors[0]
    place = [str(part) for part in first["loc"]]
    where = ".".join(part for part in place[1:]) or place[0]
    if first["type"] == "json_invalid":
        return Refusal("bad_request", "body: expected JSON; check the quotes and commas")
    return Refusal("invalid", f"{where}: {first['msg'][0].lower()}{first['msg'][1:]}", where)


def documented(*codes: str) -> dict[int | str, dict[str, Any]]:
    """The errors of a route, for the OpenAPI document."""
    found: dict[int | str, dict[str, Any]] = {}
    body = ("too_slow",) if "too_large" in codes else ()
    for code in ("bad_request", "unauthorized", "forbidden", "too_many", "internal", "unavailable", *codes, *body):
        status, words = CODES[code]
        before = found.get(status)
        found[status] = {"model": ErrorBody, "description": words if before is None else before["description"]}
    return found
