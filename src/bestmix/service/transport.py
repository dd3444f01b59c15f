"""A transport that gathers what is written: uvicorn writes the head of an answer and its body one after the other."""

import asyncio

MOST_GATHERED = 64 * 1024  # bytes of an answer that are sent at once


class Gathered:
    """A transport that sends what is written in one turn of the loop at once: the head of an answer and its body.

    In two packets they would wake the client twice, and cost the server two calls of the system.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []
        self._size = 0
        self.is_closing, self.get_extra_info = transport.is_closing, transport.get_extra_info
        self.pause_reading, self.resume_reading = transport.pause_reading, transport.resume_reading

    def write(self, data: bytes) -> None:
        """Send, a little later."""
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(data)
        self._size += len(data)
        if self._size > MOST_GATHERED:
            self._send()

    def write_at_once(self, data: bytes) -> None:
        """Send what is whole."""
        self._parts.append(data)
        self._send()

    def close(self) -> None:
        """Send what there is, and close."""
        self._send()
        self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._parts, self._size = [], 0
        self._transport.abort()

    def _send(self) -> None:
        parts, self._parts, self._size = self._parts, [], 0
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))
