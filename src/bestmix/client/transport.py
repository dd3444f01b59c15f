"""Requests that are repeated until they are answered: every call of the API can be."""

import json
import os
import random
import ssl
import threading
import time
from typing import Any
from urllib.parse import quote, urlencode

from bestmix import checks
from bestmix.checks import AlreadyExists, InvalidInput, Missing
from bestmix.client.address import TOKEN_REMEDY, VARIABLE, Address, parse_address
from bestmix.client.connection import Answer as RawAnswer
from bestmix.client.connection import Connection
from bestmix.experiments.errors import Closed, Conflict, OutOfOrder, StorageError, UnknownTrial

LONGEST_PAUSE = 2.0  # seconds between two attempts
TIMEOUT = 300.0  # seconds that an answer may take
UNAUTHORIZED = 401
PASSING = (408, 429, 502, 503, 504)  # statuses of answers that may be better a little later
REFUSALS = {  # what a server says of a value, and the error that says the same here
    "invalid": InvalidInput,
    "conflict": AlreadyExists,
    "not_found": Missing,
    "forbidden": InvalidInput,
    "too_large": InvalidInput,
}


class Transport:
    """A server's address, a token, and one connection a thread."""

    def __init__(self, url: str, token: str | None, patience: float) -> None:
        self._address = _address(url)
        self.url = self._address.url
        self._base = quote(self._address.path, safe="/%~!$&'()*+,;=:@")
        self._token = token or os.environ.get(VARIABLE, "")
        if not self._token.isascii() or any(c.isspace() for c in self._token):
            raise checks.InvalidInput(
                "token", "expected one line of text without spaces", "bestmix token create makes one"
            )
        identity = f"Authorization: Bearer {self._token}\r\n" if self._token else ""
        self._headers = identity, f"Content-Type: application/json\r\n{identity}"  # without a body, and with one
        self._patience = checks.number("patience", patience)
        self._local = threading.local()

    def call(self, method: str, path: str, body: Any = None, **query: Any) -> tuple[int, Any]:
        """Status and body of an answer that is a success; errors are raised as local experiments raise them."""
        status, content = self._send(method, path, body, query)
        return status, read_answer(content) if content else None

    def fetch(self, path: str, **query: Any) -> bytes:
        """The body of an answer as it came."""
        return self._send("GET", path, None, query)[1]

    def post(self, path: str, body: Any) -> bytes:
        """The same of a call that changes something."""
        return self._send("POST", path, body, {})[1]

    def close(self) -> None:
        """Let go of this thread's connection."""
        own: Connection | None = self._local.__dict__.pop("connection", None)
        if own is not None:
            own.close()

    def _send(self, method: str, path: str, body: Any, query: dict[str, Any]) -> tuple[int, bytes]:
        given = query and {name: value for name, value in query.items() if value is not None}
        target = f"{self._base}{path}?{urlencode(given)}" if given else f"{self._base}{path}"
        status, content = self._insist(method, target, None if body is None else json.dumps(body).encode())
        if status == UNAUTHORIZED and not self._token:
            raise InvalidInput.quoted(f"token: {self.url} wants one; {TOKEN_REMEDY}", "unauthorized", "token")
        if status >= 400:
            raise failure(status, content)
        return status, content

    def _insist(self, method: str, target: str, body: bytes | None) -> tuple[int, bytes]:
        """Try again while the trouble is one that passes, as long as patience lasts."""
        limit, pause = time.monotonic() + self._patience, 0.02
        while True:
            try:
                status, content, after = self._attempt(method, target, body)
                if status not in PASSING:
                    return status, content
                wait = max(_jitter(pause), after)
                if time.monotonic() + wait > limit:
                    return status, content
            except ssl.SSLCertVerificationError as error:
                raise StorageError(
                    f"{self.url}: its certificate is not trusted here ({error.verify_message})"
                ) from None
            except OSError as error:
                self.close()
                wait = _jitter(pause)
                if time.monotonic() + wait > limit:
                    reason = str(error) or type(error).__name__
                    raise StorageError(
                        f"{self.url}: the server cannot be reached; check the address and that it runs ({reason})"
                    ) from error
            time.sleep(wait)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _attempt(self, method: str, target: str, body: bytes | None) -> tuple[int, bytes, float]:
        """Status and body of an answer, and in how many seconds it may be a better one."""
        answer = self._call(method, target, self._headers[body is not None], body)
        after = answer.header(b"retry-after") if answer.status in PASSING else b""
        return answer.status, answer.content, float(after) if after.isdigit() else 0.0

    def _call(self, *request: Any) -> RawAnswer:
        """The answer; where the kept connection fails, as servers close one that was idle, that of a new one."""
        own = self._connection()
        try:
            return own.call(*request)
        except OSError as error:
            if not own.used or isinstance(error, TimeoutError):
                raise
            self.close()
            return self._connection().call(*request)

    def _connection(self) -> Connection:
        """A connection of this thread and process; a forked child must not speak on its parent's."""
        own: Connection | None = getattr(self._local, "connection", None)
        if own is None or own.owner != os.getpid() or not own.open:
            where = self._address
            own = self._local.connection = Connection(where.host, where.port, where.secure, TIMEOUT)
        return own


def _jitter(pause: float) -> float:
    """About as long, so that those who were turned away together do not come back together."""
    return pause * (0.5 + random.random())


def _address(url: str) -> Address:
    try:
        return parse_address(url)
    except ValueError:
        raise checks.InvalidInput(
            "url", expected="http://HOST:PORT", got=checks.shown(url), remedy="give a server's address"
        ) from None


class Answer(dict[str, Any]):
    """An object of a server's answer; an entry that is missing means that it is no server of ours."""

    def __missing__(self, name: str) -> Any:
        raise StorageError(f"the server's answer has no {name!r}; check that it is one of bestmix, of this version")


DECODER = json.JSONDecoder(object_hook=Answer)  # ``json.loads`` would make one for every answer


def read_answer(content: bytes) -> Answer:
    """An answer as data.

    >>> read_answer(b'{"outcome": "counted"}')["outcome"]
    'counted'
    """
    try:
        data = DECODER.decode(content.decode())
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, Answer):
        raise StorageError("the server's answer is no JSON object; check that it is one of bestmix")
    return data


def failure(status: int, content: bytes) -> Exception:
    """The error that a local experiment would have raised."""
    try:
        error = json.loads(content)["error"]
        code, message, field = str(error["code"]), str(error["message"]), error.get("field")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return StorageError(f"the server answered with status {status}; check that it is one of bestmix")
    if code == "closed":
        return Closed(message)
    if code == "conflict" and field == "trial":
        return Conflict(message)
    if code == "conflict" and field == "key":
        return OutOfOrder(message)
    if code == "unauthorized":
        return InvalidInput.quoted(f"token: {message}", code, "token")
    if code not in REFUSALS:
        return StorageError(message)
    kind = UnknownTrial if code == "not_found" and field == "trial" else REFUSALS[code]
    return kind.quoted(message, code, field)
