"""Calls of several threads that wait at the same time share one transaction; each gets an answer of its own.

A transaction costs several syncs of the disk, whether it holds one call or many. While one is being written,
whoever comes next waits; the first of them then writes for all of them. A server with many clients
is so kept from doing for each of them what the disk can do only so many times a second. A call that is refused
is undone alone, and the others keep their transaction. Calls of an event loop wait without a thread: a thread of
their own writes for all of them, and wakes the loop once. It waits a moment for those whom it has just answered, if
there were several: clients that tell one result after another share one transaction then, instead of two in turn.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from bestmix.experiments.errors import StorageError
from bestmix.experiments.store import Prefetch

if TYPE_CHECKING:  # which only servers load
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")
MOST_TRIALS = 1000  # trials whose results one transaction takes, unless a single call brings more
LONGEST_WAIT = 0.01  # seconds that a transaction waits for calls, and no longer than the one before it took
MOST_WRITERS = 4  # threads that write for event loops, each for one experiment at a time


@dataclass(eq=False)
class Call:
    """One caller's work, and what became of it; one of an event loop has a future that it waits for."""

    work: Callable[[Any], Any]
    prefetch: Prefetch
    result: Any = None
    error: BaseException | None = None
    leads: bool = False  # when it is woken: whether it is its turn to write, or all is done
    woken: threading.Event | None = None  # of a thread that waits
    future: "asyncio.Future[Any] | None" = None


@dataclass(frozen=True)
class Refusal:
    """What ``write`` answers for a call that was refused and undone, while the others were written."""

    error: Exception


class NotUndoneError(Exception):
    """A refused call had changed the database already, so that it cannot be undone alone."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self.call = call


@dataclass
class PendingCalls:
    """Those who wait for one experiment while somebody writes."""

    waiting: list[Call] = field(default_factory=list)
    wanted: int = 0  # calls that a writer waits for
    enough: threading.Event | None = None  # set when they are there

    def take(self) -> list[Call]:
        """The first ones, as many as fit into one transaction."""
        count, trials = 1, len(self.waiting[0].prefetch.trials)
        while count < len(self.waiting) and trials + len(self.waiting[count].prefetch.trials) <= MOST_TRIALS:
            trials += len(self.waiting[count].prefetch.trials)
            count += 1
        taken, self.waiting = self.waiting[:count], self.waiting[count:]
        return taken


@dataclass(frozen=True)
class LastWrite:
    """A transaction that ended: who took part in it or came meanwhile, and until when they are expected back."""

    calls: int
    until: float


class GroupCommit:
    """Runs calls through ``write``, which does several of them in one transaction or none, save those refused.

    Examples
    --------
    >>> calls = GroupCommit(lambda key, calls: [call.work(None) for call in calls])
    >>> calls.run("an experiment", lambda transaction: 7, Prefetch())
    7
    """

    def __init__(self, write: Callable[[str, Sequence[Call]], Sequence[Any]]) -> None:
        self._write = write
        self._pending: dict[str, PendingCalls] = {}  # of experiments that somebody writes for
        self._last: dict[str, LastWrite] = {}  # of experiments whose callers are expected back
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._writers: ThreadPoolExecutor | None = None  # threads that write for event loops

    def run(self, key: str, work: Callable[[Any], T], prefetch: Prefetch) -> T:
        """The call's result, or its error."""
        call = Call(work, prefetch, woken=threading.Event())
        pending = self._enter(key, call)
        if not call.leads:
            self._wait(key, pending, call)
        if call.leads:
            self._lead(key, pending)
        if call.error is not None:
            raise call.error
        result: T = call.result
        return result

    def submit(self, key: str, work: Callable[[Any], T], prefetch: Prefetch) -> "asyncio.Future[T]":
        """As ``run``, for a caller in an event loop."""
        import asyncio

        loop = asyncio.get_running_loop()
        call = Call(work, prefetch, future=loop.create_future())
        pending = self._enter(key, call)
        if call.leads:
            # After whatever else the loop has at hand: calls that came at the same moment are written together.
            loop.call_soon(self._start, key, pending)
        assert call.future is not None
        return call.future

    def close(self) -> None:
        """Let go of the threads, after what they write."""
        with self._lock:
            writers, self._writers = self._writers, None
        if writers is not None:
            writers.shutdown()

    def _enter(self, key: str, call: Call) -> PendingCalls:
        """Stand in line; whoever finds nobody there leads."""
        if self._owner != os.getpid():  # those who wrote in the parent of a forked child are not here
            self._pending, self._last, self._writers = {}, {}, None
            self._lock, self._owner = threading.Lock(), os.getpid()
        with self._lock:
            pending = self._pending.get(key)
            if pending is None:
                pending = self._pending[key] = PendingCalls()
                call.leads = True
            pending.waiting.append(call)
            if pending.enough is not None and len(pending.waiting) >= pending.wanted:
                pending.enough.set()
        return pending

    def _wait(self, key: str, pending: PendingCalls, call: Call) -> None:
        """Until the call is done or leads; one that is interrupted leaves the others in order."""
        assert call.woken is not None
        try:
            call.woken.wait()
        except BaseException:
            with self._lock:
                if call in pending.waiting and not call.leads:
                    pending.waiting.remove(call)
                    raise
            if call.leads:
                self._lead(key, pending)
            raise

    def _lead(self, key: str, pending: PendingCalls) -> None:
        """Write for those who wait, oneself first, and let the next one lead."""
        following = self._write_some(key, pending)
        if following is not None and following.future is not None:
            self._start(key, pending)

    def _start(self, key: str, pending: PendingCalls) -> None:
        """Have a thread write for calls that have none."""
        from concurrent.futures import ThreadPoolExecutor

        with self._lock:
            if self._writers is None:
                self._writers = ThreadPoolExecutor(MOST_WRITERS, "bestmix-writer")
            self._writers.submit(self._lead_for_loops, key, pending)

    def _lead_for_loops(self, key: str, pending: PendingCalls) -> None:
        """Write for those who wait, until nobody does or the next one is a thread that can lead."""
        self._gather(key, pending)
        following = self._write_some(key, pending)
        while following is not None and following.future is not None:
            self._gather(key, pending)
            following = self._write_some(key, pending)

    def _gather(self, key: str, pending: PendingCalls) -> None:
        """Wait a little for those who were answered a moment ago and come back with their next call.

        Else the first of them would be written alone while the others wait, and then the others without it, for ever.
        """
        with self._lock:
            last = self._last.get(key)
            left = 0.0 if last is None else last.until - time.monotonic()
            if last is None or left <= 0 or len(pending.waiting) >= last.calls:
                return
            pending.wanted, pending.enough = last.calls, threading.Event()
        pending.enough.wait(left)
        with self._lock:
            pending.enough = None

    def _write_some(self, key: str, pending: PendingCalls) -> Call | None:
        """Write for those who wait; who is to lead next."""
        with self._lock:
            calls = pending.take()
        began = time.monotonic()
        try:
            self._settle(key, calls)
        finally:
            with self._lock:
                now = time.monotonic()
                self._last = {other: last for other, last in self._last.items() if last.until > now}
                self._last[key] = LastWrite(len(calls) + len(pending.waiting), now + min(now - began, LONGEST_WAIT))
                following = pending.waiting[0] if pending.waiting else None
                if following is None:
                    del self._pending[key]
                else:
                    following.leads = True
            for call in calls:
                call.leads = False
            for call in [*calls, following] if following else calls:
                if call.woken is not None:
                    call.woken.set()
            _answer([call for call in calls if call.future is not None])
        return following

    def _settle(self, key: str, calls: Sequence[Call]) -> None:
        """Write all in one transaction; a refused call that could not be undone alone is repeated after the others."""
        left = [list(calls)]
        while left:
            group = left.pop(0)
            try:
                for call, result in zip(group, self._write(key, group), strict=True):
                    if isinstance(result, Refusal):
                        call.error = result.error
                    else:
                        call.result = result
            except StorageError as error:  # the database's trouble is everybody's
                for call in group:
                    call.error = error
            except NotUndoneError as refused:
                left = [[call for call in group if call is not refused.call], [refused.call], *left]
            except Exception as error:
                if len(group) == 1:
                    group[0].error = error
                else:
                    left = [[call] for call in group] + left
            except BaseException as interrupt:  # that of this thread, whose call is the first of all
                calls[0].error = interrupt
                others = [call for call in group if call is not calls[0]]
                left = [[call] for call in others] + left


def _answer(calls: Sequence[Call]) -> None:
    """Wake each event loop once, with all that became of its calls."""
    loops = {call.future.get_loop() for call in calls if call.future is not None}
    for loop in loops:
        mine = [call for call in calls if call.future is not None and call.future.get_loop() is loop]
        with suppress(RuntimeError):  # a loop that is closed waits for nothing
            loop.call_soon_threadsafe(_resolve, mine)


def _resolve(calls: Sequence[Call]) -> None:
    for call in calls:
        if call.future is None or call.future.done():
            continue  # its caller has gone
        if call.error is not None:
            call.future.set_exception(call.error)
        else:
            call.future.set_result(call.result)
