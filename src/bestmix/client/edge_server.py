"""The two calls of an edge, over HTTP with the standard library alone: get the weights, report sums."""

import http.client
import json
import socket
import ssl
from typing import Any
from urllib.parse import quote

from bestmix.client.address import Address, parse_address
from bestmix.client.edge_choices import EdgeError

TIMEOUT = 10.0  # seconds that an answer may take, beyond what was asked to be waited for


class Refused(Exception):
    """The server answered, and said no; ``code`` is that of its error."""

    def __init__(self, status: int, content: bytes) -> None:
        try:
            error = json.loads(content)["error"]
            self.code, message = str(error["code"]), str(error["message"])
            self.field = error.get("field")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.code, message, self.field = "internal", f"status {status}", None
        super().__init__(message)


class AwayError(Exception):
    """The server cannot be reached, or has trouble that passes."""


class EdgeServer:
    """An experiment of a server; for one thread."""

    def __init__(self, url: str, experiment: str, token: str) -> None:
        self._address = _address(url)
        self._path = f"{self._address.path}/v1/experiments/{quote(experiment, safe='')}"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._connection: http.client.HTTPConnection | None = None

    def weights(self, tag: str | None, wait: float) -> tuple[str, dict[str, Any]] | None:
        """Tag and document of the weights; None when they are still those of the tag."""
        headers = {} if tag is None else {"If-None-Match": tag}
        status, found, content = self._call("GET", f"/weights?wait={wait:g}", None, headers, wait + TIMEOUT)
        if status == 304:
            return None
        return found.get("ETag", ""), dict(json.loads(content))

    def report(self, body: dict[str, Any]) -> None:
        """Report sums; on return they are safely on the server's disk."""
        content = json.dumps(body).encode()
        self._call("POST", "/sums", content, {"Content-Type": "application/json"}, TIMEOUT)

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _call(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], timeout: float
    ) -> tuple[int, Any, bytes]:
        try:
            status, found, content = self._attempt(method, path, body, headers, timeout)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise AwayError(str(error) or type(error).__name__) from error
        if status >= 500 or status in (408, 429):
            raise AwayError(f"the server answered with status {status}")
        if status >= 400:
            raise Refused(status, content)
        return status, found, content

    def _attempt(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], timeout: float
    ) -> tuple[int, Any, bytes]:
        fresh = self._connection is None
        connection = self._connection or self._connect(timeout)
        try:
            if connection.sock is not None:
                connection.sock.settimeout(timeout)
            connection.request(method, self._path + path, body, self._headers | headers)
            answer = connection.getresponse()
        except (OSError, http.client.BadStatusLine) as error:
            if fresh or isinstance(
                error, TimeoutError
            ):  # an old connection may have been closed while nobody spoke; every call can be repeated
                raise
            self.close()
            return self._attempt(method, path, body, headers, timeout)
        return answer.status, answer.headers, answer.read()

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        host, port = self._address.host, self._address.port
        if self._address.secure:
            context = ssl.create_default_context()
            made: http.client.HTTPConnection = http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
        else:
            made = http.client.HTTPConnection(host, port, timeout=timeout)
        made.connect()
        made.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection = made
        return made


def _address(url: str) -> Address:
    try:
        return parse_address(url)
    except ValueError:
        raise EdgeError(f"url: expected http://HOST:PORT, got {url!r:.80}; give a server's address") from None
