"""Requests that a client sends before the last one was answered: a few wait, and what follows is left unread.

In memory a waiting request takes a hundred times the bytes it had on its way. uvicorn reads on after every answer, so
that whoever sends faster than is answered would fill the memory. Here such a client is slowed down, as one who does
not read its answers is: nothing is read while enough requests wait, and its own system holds the rest back.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl

MOST_PIPELINED = 16  # requests of a connection that wait for their turn, before no more are read
AT_ONCE = 2 * 1024  # bytes that are parsed before it is seen again whether there is room: some dozens of requests


class UnreadBytes:
    r"""What has come in of a connection and was not parsed yet, in pieces.

    >>> unread = UnreadBytes(size=2)
    >>> unread.add(b"abc")
    >>> unread.put_back(b"xyz")
    >>> [unread.take() for _ in range(3)], bool(unread)
    ([b'xyz', b'ab', b'c'], False)
    """

    def __init__(self, size: int = AT_ONCE) -> None:
        self._size = size
        self._pieces: deque[bytes] = deque()

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def add(self, data: bytes) -> None:
        """What came in last."""
        if len(data) <= self._size:
            self._pieces.append(data)
        else:
            self._pieces.extend(data[k : k + self._size] for k in range(0, len(data), self._size))

    def put_back(self, data: bytes) -> None:
        """What is to be parsed before everything else."""
        self._pieces.appendleft(data)

    def take(self) -> bytes:
        """What is to be parsed next."""
        return self._pieces.popleft()

    def clear(self) -> None:
        """Nothing of it is wanted any more."""
        self._pieces.clear()


class PipelineFlow(FlowControl):
    """Reads on when uvicorn wants to, unless the pipeline is full."""

    def __init__(self, transport: Any, is_full: Callable[[], bool]) -> None:
        super().__init__(transport)
        self._is_full = is_full

    def resume_reading(self) -> None:
        """Read on, if there is room."""
        if not self._is_full():
            super().resume_reading()


def is_full(waiting: int, last_body: int) -> bool:
    """Whether so many requests wait, or the last of them has so many bytes of its body, that no more is read.

    >>> is_full(1, 0), is_full(MOST_PIPELINED, 0), is_full(1, HIGH_WATER_LIMIT + 1), is_full(0, HIGH_WATER_LIMIT + 1)
    (False, True, True, False)
    """
    return waiting >= MOST_PIPELINED or (waiting > 0 and last_body > HIGH_WATER_LIMIT)
