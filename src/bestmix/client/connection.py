"""A connection that is kept: what the standard library's does, without the e-mail parser that its answers go through.

A worker that tells one result after another makes the same small call again and again. Head and body are sent at once,
for in two packets they would wake the server twice, and of an answer's head only what decides how to go on is read.
"""

import os
import socket
import ssl
from typing import NamedTuple

LONGEST_HEAD = 256 * 1024  # bytes of an answer's head
AT_ONCE = 64 * 1024  # bytes read at a time
HEAD_END = b"\r\n\r\n"
MOST_DIGITS = 16  # of a length
HEX_DIGITS = frozenset(b"0123456789abcdefABCDEF")


class Answer(NamedTuple):
    """What a server said."""

    status: int
    head: bytes  # status and headers, in lower case
    content: bytes

    def header(self, name: bytes) -> bytes:
        r"""A header's value, in lower case; empty where there is none.

        >>> Answer(200, b"http/1.1 200 ok\r\nretry-after: 3", b"").header(b"retry-after")
        b'3'
        """
        return _header(self.head, name)


class Connection:
    """A connection of one thread; a forked child must not use its parent's."""

    def __init__(self, host: str, port: int | None, secure: bool, timeout: float) -> None:
        usual = 443 if secure else 80
        made = socket.create_connection((host, port or usual), timeout)
        try:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket = _secured(made, host) if secure else made
        except BaseException:
            made.close()
            raise
        name = f"[{host}]" if ":" in host else host.encode("idna").decode()
        self._host = name if port in (None, usual) else f"{name}:{port}"
        self.owner = os.getpid()
        self.used = False  # whether a call was answered
        self.open = True  # whether it can be used; not while a call is under way, which may be interrupted

    def call(self, method: str, target: str, headers: str, body: bytes | None) -> Answer:
        """Send a request, each of ``headers`` ending a line, and read the answer; ``OSError`` when that fails."""
        length = "" if body is None and method != "POST" else f"Content-Length: {len(body or b'')}\r\n"
        head = f"{method} {target} HTTP/1.1\r\nHost: {self._host}\r\nAccept-Encoding: identity\r\n{length}{headers}\r\n"
        self.open = False
        self._socket.sendall(head.encode("latin-1") + (body or b""))
        answer, beyond = self._read()  # bytes beyond an answer would be taken for the next one
        self.used = True
        self.open = not (beyond or answer.head.startswith(b"http/1.0") or _closes(answer.head))
        return answer

    def close(self) -> None:
        """Let go of it."""
        self.open = False
        self._socket.close()

    def __del__(self) -> None:
        if hasattr(self, "_socket"):
            self._socket.close()

    def _read(self) -> tuple[Answer, bytes]:
        """An answer, and what was read beyond it."""
        data, status = b"", 100
        while 100 <= status < 200:  # what comes before the answer itself
            while (end := data.find(HEAD_END)) < 0:
                if len(data) > LONGEST_HEAD:
                    raise ConnectionError("the head of the answer is too long")
                data += self._receive()
            head, data = data[:end].lower(), data[end + len(HEAD_END) :]
            status = _status(head)
        length = _header(head, b"content-length")
        if status in (204, 304):
            content = b""
        elif b"chunked" in _header(head, b"transfer-encoding"):
            content, data = self._chunks(data)
        elif length.isdigit():
            if len(length) > MOST_DIGITS:
                raise ConnectionError("the answer's length has too many digits")
            content, data = self._exactly(data, int(length))
        else:  # until it is closed
            content, data, head = self._rest(data), b"", head + b"\r\nconnection: close"
        return Answer(status, head, content), data

    def _receive(self) -> bytes:
        data = self._socket.recv(AT_ONCE)
        if not data:
            raise ConnectionResetError("the server closed the connection before it had answered")
        return data

    def _exactly(self, data: bytes, length: int) -> tuple[bytes, bytes]:
        """So many bytes, and those beyond them."""
        if len(data) < length:
            parts, size = [data], len(data)
            while size < length:
                parts.append(self._receive())
                size += len(parts[-1])
            data = b"".join(parts)
        return data[:length], data[length:]

    def _line(self, data: bytes) -> tuple[bytes, bytes]:
        """A line without its end, and what follows."""
        while (end := data.find(b"\r\n")) < 0:
            if len(data) > LONGEST_HEAD:
                raise ConnectionError("a line of the answer is too long")
            data += self._receive()
        return data[:end], data[end + 2 :]

    def _chunks(self, data: bytes) -> tuple[bytes, bytes]:
        """A body that comes in parts, as some proxies send it, and what follows."""
        parts: list[bytes] = []
        while True:
            line, data = self._line(data)
            size = line.partition(b";")[0].strip()
            if not 0 < len(size) <= MOST_DIGITS or not HEX_DIGITS.issuperset(size):
                raise ConnectionError("the answer's parts have no length")
            length = int(size, 16)
            if not length:
                break
            part, data = self._exactly(data, length + 2)
            if not part.endswith(b"\r\n"):
                raise ConnectionError("a part of the answer is not as long as it says")
            parts.append(part[:-2])
        while line:  # trailers, which say nothing that is needed
            line, data = self._line(data)
        return b"".join(parts), data

    def _rest(self, data: bytes) -> bytes:
        parts = [data]
        while data := self._socket.recv(AT_ONCE):
            parts.append(data)
        return b"".join(parts)


def _status(head: bytes) -> int:
    version, _, rest = head.partition(b" ")
    if not version.startswith(b"http/1.") or not rest[:3].isdigit():
        raise ConnectionError("the answer is not one of HTTP/1.1; check the address")
    return int(rest[:3])


def _header(head: bytes, name: bytes) -> bytes:
    start = head.find(b"\r\n" + name + b":")
    if start < 0:
        return b""
    start += len(name) + 3
    end = head.find(b"\r\n", start)
    return head[start : end if end >= 0 else len(head)].strip()


def _closes(head: bytes) -> bool:
    """Whether the server closes the connection, as one of several headers may say."""
    if b"\r\nconnection:" not in head:
        return False
    return any(b"close" in line for line in head.split(b"\r\n") if line.startswith(b"connection:"))


def _secured(plain: socket.socket, host: str) -> socket.socket:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context.wrap_socket(plain, server_hostname=host)
