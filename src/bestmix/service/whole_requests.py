"""Requests that are there as a whole: such a one can be answered without a task, which would cost more than the call.

The protocol asks the application, by ``Take``, whether it wants a request in this way; whatever it does not want goes
the usual way.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

WHOLE = "bestmix.whole"  # where a request says that its body is there as a whole
LONGEST_KNOWN = 4 * 1024  # bytes of a head that is remembered
Reply = Callable[[int, bytes, bytes], None]  # sends an answer: its status, its headers as lines, its body
TakeBody = Callable[[bytes, Reply], bool]  # whether a request with this body, which is there as a whole, is answered so
Take = Callable[[Any], TakeBody | None]  # what takes the bodies of requests with such a head, if there is anything


class KnownHead(NamedTuple):
    """The head of a request that was taken as a whole. The same bytes say the same, so that they are not read again."""

    head: bytes
    length: int  # of head and body
    take: TakeBody
    cycle: RequestResponseCycle  # which is over, and may begin again
