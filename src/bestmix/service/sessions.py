"""Sessions of browsers: a random id, bound to a token and signed, so that any server of the database knows it."""

import hashlib
import hmac
import secrets
import time

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import Scope

from bestmix.service.tokens import Token

LASTS = 30 * 86400  # seconds
OLD_COOKIE = "bestmix"  # of 0.1, which held the token itself
BYTES = 16  # of the random part


def new_session(token: Token, now: float | None = None) -> str:
    """The text of a new session; it ends when the token is revoked or expires."""
    until = int(time.time() if now is None else now) + LASTS
    body = f"{token.prefix}.{until}.{secrets.token_urlsafe(BYTES)}"
    return f"{body}.{_signature(token, body)}"


def prefix_of(session: str) -> str:
    """The prefix of the token that a session says it is of.

    >>> prefix_of("bm_0123abcd.1900000000.random.signature"), prefix_of("nonsense")
    ('bm_0123abcd', '')
    """
    parts = session.split(".")
    return parts[0] if len(parts) == 4 else ""


def is_of(session: str, token: Token, now: float) -> bool:
    """Whether a session is one of the token's, and is not over."""
    body, _, signature = session.rpartition(".")
    until = body.split(".")[1] if body.count(".") == 2 else ""
    genuine = hmac.compare_digest(signature.encode(), _signature(token, body).encode())
    return genuine and until.isdigit() and now < int(until)


def _signature(token: Token, body: str) -> str:
    # The digest of a token never leaves the database, all of whose servers have it.
    return hmac.new(token.digest.encode(), f"session {body}".encode(), hashlib.sha256).hexdigest()


def cookie_name(scope: Scope) -> str:
    """The cookie's name has the port, for browsers send cookies to every port of a host.

    >>> cookie_name({"type": "http", "scheme": "http", "headers": [(b"host", b"127.0.0.1:8765")]})
    'bestmix-8765'
    >>> cookie_name({"type": "http", "scheme": "https", "headers": [(b"host", b"bestmix.example")]})
    '__Host-bestmix-443'
    """
    secure = scope.get("scheme") == "https"
    _, colon, port = Headers(scope=scope).get("host", "").rpartition(":")
    known = colon and port.isascii() and port.isdigit() and len(port) <= 5
    return f"{'__Host-' if secure else ''}bestmix-{port if known else 443 if secure else 80}"


def read_cookie(scope: Scope) -> str:
    """The session of a request; empty when it has none."""
    return cookie_parser(Headers(scope=scope).get("cookie", "")).get(cookie_name(scope), "")


def write_cookie(response: Response, scope: Scope, session: str) -> None:
    """Have the browser keep a session; an empty one is forgotten. The cookie of 0.1 goes in any case."""
    secure = scope.get("scheme") == "https"
    name, lasts = cookie_name(scope), LASTS if session else 0
    response.set_cookie(name, session, httponly=True, samesite="strict", secure=secure, path="/", max_age=lasts)
    if OLD_COOKIE in cookie_parser(Headers(scope=scope).get("cookie", "")):
        response.delete_cookie(OLD_COOKIE)
