"""Calls of several threads that wait at the same time share one transaction; each gets an answer of its own.

A transaction costs several syncs of the disk, whether it holds one call or many. While one is being written,
whoever comes next waits; the first of them then writes for all of them. A server with many clients
is so kept from doing for each of them what the disk can do only so many times a second. A call that is refused
is undone alone, and the others keep their transaction.
"""

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bestmix.experiments.errors import StorageError
from bestmix.experiments.store import Prefetch

T = TypeVar("T")
MOST_TRIALS = 1000  # trials whose results one transaction takes, unless a single call brings more


@dataclass(eq=False)
class Call:
    """One thread's work, and what became of it."""

    work: Callable[[Any], Any]
    prefetch: Prefetch
    result: Any = None
    error: BaseException | None = None
    leads: bool = False  # when it is woken: whether it is its turn to write, or all is done
    woken: threading.Event = field(default_factory=threading.Event)


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

    def take(self) -> list[Call]:
        """The first ones, as many as fit into one transaction."""
        count, trials = 1, len(self.waiting[0].prefetch.trials)
        while count < len(self.waiting) and trials + len(self.waiting[count].prefetch.trials) <= MOST_TRIALS:
            trials += len(self.waiting[count].prefetch.trials)
            count += 1
        taken, self.waiting = self.waiting[:count], self.waiting[count:]
        return taken


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
        self._lock = threading.Lock()
        self._owner = os.getpid()

    def run(self, key: str, work: Callable[[Any], T], prefetch: Prefetch) -> T:
        """The call's result, or its error."""
        if self._owner != os.getpid():  # those who wrote in the parent of a forked child are not here
            self._pending, self._lock, self._owner = {}, threading.Lock(), os.getpid()
        call = Call(work, prefetch)
        with self._lock:
            pending = self._pending.get(key)
            if pending is None:
                pending = self._pending[key] = PendingCalls()
                call.leads = True
            pending.waiting.append(call)
        if not call.leads:
            self._wait(key, pending, call)
        if call.leads:
            self._lead(key, pending)
        if call.error is not None:
            raise call.error
        result: T = call.result
        return result

    def _wait(self, key: str, pending: PendingCalls, call: Call) -> None:
        """Until the call is done or leads; one that is interrupted leaves the others in order."""
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
        with self._lock:
            calls = pending.take()
        try:
            self._settle(key, calls)
        finally:
            with self._lock:
                following = pending.waiting[0] if pending.waiting else None
                if following is None:
                    del self._pending[key]
                else:
                    following.leads = True
            for call in calls:
                call.leads = False
            for call in [*calls, following] if following else calls:
                call.woken.set()

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
