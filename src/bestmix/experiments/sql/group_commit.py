"""Calls of several threads that wait at the same time share one transaction; each gets an answer of its own.

A transaction costs several syncs of the disk, whether it holds one call or many. While one is being written,
whoever comes next waits; the first of them then writes for all of them. A server with many clients
is so kept from doing for each of them what the disk can do only so many times a second. A call that is refused
is undone alone, and the others keep their transaction. Calls of an event loop wait without a thread: a thread of
their own writes for all of them, and wakes the loop once. The loop waits a moment for those who were just answered, if
there were several: clients that tell one result after another share one transaction then, instead of two in turn. The
thread is woken when all are there: else it and the loop, which reads their calls, would keep each other from going on.
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
LONGEST_WAIT = 0.01  # seconds that a transaction waits for calls, and no longer than two like the one before it
MOST_WRITERS = 4  # threads that write for event loops, each for one experiment at a time
STUCK = 1.0  # seconds after which a thread sees to it that somebody writes, for an event loop may have been closed


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
    """Those who wait for one experiment while somebody writes, or until somebody does."""

    waiting: list[Call] = field(default_factory=list)
    started: bool = False  # whether somebody writes
    wanted: int = 0  # calls that an event loop waits for before it has them written
    timer: "tuple[asyncio.AbstractEventLoop, asyncio.TimerHandle] | None" = None  # which ends that

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
        future: asyncio.Future[T] = loop.create_future()
        call = Call(work, prefetch, future=future)
        pending = self._enter(key, call)
        if call.leads:
            # After whatever else the loop has at hand: calls that came at the same moment are written together.
            loop.call_soon(self._gather, key, pending, loop)
        elif pending.started and pending.timer is not None and pending.timer[0] is loop:
            pending.timer[1].cancel()
            pending.timer = None
        return future

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
                pending = self._pending[key] = PendingCalls(started=call.woken is not None)
                call.leads = True
            pending.waiting.append(call)
            enough = 0 < pending.wanted <= len(pending.waiting)
        if enough:
            self._start(key, pending)
        return pending

    def _wait(self, key: str, pending: PendingCalls, call: Call) -> None:
        """Until the call is done or leads; one that is interrupted leaves the others in order."""
        assert call.woken is not None
        try:
            while not call.woken.wait(STUCK):
                self._start(key, pending)
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
        if not self._hand_over(key, pending, self._write_some(key, pending)):
            self._start(key, pending)

    def _start(self, key: str, pending: PendingCalls) -> None:
        """Have a thread write for calls that have none, unless somebody does."""
        from concurrent.futures import ThreadPoolExecutor

        if self._claim(pending):
            with self._lock:
                if self._writers is None:
                    self._writers = ThreadPoolExecutor(MOST_WRITERS, "bestmix-writer")
                self._writers.submit(self._lead_for_loops, key, pending)

    def _claim(self, pending: PendingCalls) -> bool:
        """Whether it is one's own turn to write, because nobody else does."""
        with self._lock:
            free, pending.started, pending.wanted = not pending.started, True, 0
        return free

    def _lead_for_loops(self, key: str, pending: PendingCalls) -> None:
        """Write for those who wait, until nobody does, or more are waited for, or the next one is a thread."""
        over = False
        while not over:
            over = self._hand_over(key, pending, self._write_some(key, pending)) or not self._claim(pending)

    def _hand_over(self, key: str, pending: PendingCalls, following: Call | None) -> bool:
        """Whether others see to those who wait next: a thread that leads, or an event loop that waits for more."""
        if following is None or following.future is None:
            return True
        if self._time_to_gather(key, pending) <= 0:
            return False
        loop = following.future.get_loop()
        try:
            loop.call_soon_threadsafe(self._gather, key, pending, loop)
        except RuntimeError:  # it is closed
            return False
        return True

    def _gather(self, key: str, pending: PendingCalls, loop: "asyncio.AbstractEventLoop") -> None:
        """Have calls of an event loop written, when those are back who were answered a moment ago, or a little later.

        Else the first of them would be written alone while the others wait, and then the others without it, for ever.
        """
        left = self._time_to_gather(key, pending)
        if left <= 0:
            self._start(key, pending)
        else:
            # When the time is over, what has come in meanwhile is read first: hence two more turns of the loop.
            pending.timer = loop, loop.call_later(left, loop.call_soon, loop.call_soon, self._start, key, pending)

    def _time_to_gather(self, key: str, pending: PendingCalls) -> float:
        """Seconds for which those who were answered a moment ago are still expected; none when they are all back."""
        with self._lock:
            last = self._last.get(key)
            if last is None or len(pending.waiting) >= last.calls:
                return 0.0
            pending.wanted = last.calls
            return last.until - time.monotonic()

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
                self._last[key] = LastWrite(
                    len(calls) + len(pending.waiting), now + min(2 * (now - began), LONGEST_WAIT)
                )
                following = pending.waiting[0] if pending.waiting else None
                if following is None:
                    del self._pending[key]
                elif following.future is None:
                    following.leads = True
                else:
                    pending.started = False
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
