"""Calls of several threads that wait at the same time share one transaction; each gets an answer of its own.

A transaction costs several syncs of the disk, whether it holds one call or many. While one is being written,
whoever comes next waits in line; the first of the line then writes for all of it. A server with many clients
is so kept from doing for each of them what the disk can do only so many times a second.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bestmix.experiments.store import Ahead

T = TypeVar("T")
MOST = 1000  # trials that one transaction is about, unless a single call is about more


@dataclass
class Call:
    """One thread's work, and what became of it."""

    work: Callable[[Any], Any]
    ahead: Ahead
    result: Any = None
    error: BaseException | None = None
    leads: bool = False  # when it is woken: whether it is its turn to write, or all is done
    woken: threading.Event = field(default_factory=threading.Event)


@dataclass
class Line:
    """Those who wait for one experiment."""

    busy: bool = False
    waiting: list[Call] = field(default_factory=list)

    def take(self) -> list[Call]:
        """The first ones, as many as fit into one transaction."""
        count, trials = 1, len(self.waiting[0].ahead.trials)
        while count < len(self.waiting) and trials + len(self.waiting[count].ahead.trials) <= MOST:
            trials += len(self.waiting[count].ahead.trials)
            count += 1
        taken, self.waiting = self.waiting[:count], self.waiting[count:]
        return taken


class Together:
    """Runs calls through ``write``, which does several of them in one transaction or none.

    Examples
    --------
    >>> calls = Together(lambda key, calls: [call.work(None) for call in calls])
    >>> calls.run("an experiment", lambda books: 7, Ahead())
    7
    """

    def __init__(self, write: Callable[[str, Sequence[Call]], Sequence[Any]]) -> None:
        self._write = write
        self._lines: dict[str, Line] = {}
        self._lock = threading.Lock()

    def run(self, key: str, work: Callable[[Any], T], ahead: Ahead) -> T:
        """The call's result, or its error."""
        call = Call(work, ahead)
        with self._lock:
            line = self._lines.setdefault(key, Line())
            line.waiting.append(call)
            call.leads, line.busy = not line.busy, True
        if not call.leads:
            call.woken.wait()
        if call.leads:
            self._lead(key, line)
        if call.error is not None:
            raise call.error
        result: T = call.result
        return result

    def _lead(self, key: str, line: Line) -> None:
        """Write for those who wait, and let the next one lead."""
        with self._lock:
            calls = line.take()
        try:
            self._attempt(key, calls)
        finally:
            with self._lock:
                following = line.waiting[0] if line.waiting else None
                if following is None:
                    del self._lines[key]
                else:
                    following.leads = True
            for call in calls:
                call.leads = False
            for call in [*calls, following] if following else calls:
                call.woken.set()

    def _attempt(self, key: str, calls: Sequence[Call]) -> None:
        """All together or, when one of them is refused, each alone, so that nobody pays for another's mistake."""
        try:
            for call, result in zip(calls, self._write(key, calls), strict=True):
                call.result = result
            return
        except BaseException as error:  # raised again by the thread that it belongs to
            alone = calls[1:] if not isinstance(error, Exception) else calls if len(calls) > 1 else []
            if alone != calls:
                calls[0].error = error  # an interrupt is that of the thread that writes
        for call in alone:
            self._attempt(key, [call])
