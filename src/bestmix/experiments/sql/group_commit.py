"""Calls of several threads that wait at the same time share one transaction; each gets an answer of its own.

A transaction costs several syncs of the disk, whether it holds one call or many. While one is being written,
whoever comes next waits in line; the first of the line then writes for all of it. A server with many clients
is so kept from doing for each of them what the disk can do only so many times a second.
"""

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bestmix.experiments.errors import StorageError
from bestmix.experiments.store import Ahead

T = TypeVar("T")
MOST = 1000  # trials whose results one transaction takes, unless a single call brings more


@dataclass(eq=False)
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
    """Those who wait for one experiment while somebody writes."""

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
        self._lines: dict[str, Line] = {}  # of experiments that somebody writes for
        self._lock = threading.Lock()
        self._owner = os.getpid()

    def run(self, key: str, work: Callable[[Any], T], ahead: Ahead) -> T:
        """The call's result, or its error."""
        if self._owner != os.getpid():  # those who wrote in the parent of a forked child are not here
            self._lines, self._lock, self._owner = {}, threading.Lock(), os.getpid()
        call = Call(work, ahead)
        with self._lock:
            line = self._lines.get(key)
            if line is None:
                line = self._lines[key] = Line()
                call.leads = True
            line.waiting.append(call)
        if not call.leads:
            self._wait(key, line, call)
        if call.leads:
            self._lead(key, line)
        if call.error is not None:
            raise call.error
        result: T = call.result
        return result

    def _wait(self, key: str, line: Line, call: Call) -> None:
        """Until the call is done or leads; one that is interrupted leaves the line in order."""
        try:
            call.woken.wait()
        except BaseException:
            with self._lock:
                if call in line.waiting and not call.leads:
                    line.waiting.remove(call)
                    raise
            if call.leads:
                self._lead(key, line)
            raise

    def _lead(self, key: str, line: Line) -> None:
        """Write for those who wait, oneself first, and let the next one lead."""
        with self._lock:
            calls = line.take()
        try:
            self._settle(key, calls)
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

    def _settle(self, key: str, calls: Sequence[Call]) -> None:
        """Write all together or, when one is refused, each alone, so that nobody pays for another's mistake."""
        left = [list(calls)]
        while left:
            group = left.pop(0)
            try:
                for call, result in zip(group, self._write(key, group), strict=True):
                    call.result = result
            except StorageError as error:  # the database's trouble is everybody's
                for call in group:
                    call.error = error
            except Exception as error:
                if len(group) == 1:
                    group[0].error = error
                else:
                    left = [[call] for call in group] + left
            except BaseException as interrupt:  # that of this thread, whose call is the first of all
                calls[0].error = interrupt
                others = [call for call in group if call is not calls[0]]
                left = [[call] for call in others] + left
