"""Turns for calls that only read, so that workers' calls always find a thread and a processor."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bestmix.service.errors import Refusal


class Pool:
    """So many calls at once, fewer of one caller; the others wait, each caller's in a line of their own."""

    def __init__(self, most: int, of_caller: int, waiting: int) -> None:
        self._turns = asyncio.Semaphore(most)
        self._of_caller = of_caller
        self._waiting = waiting
        self._callers: dict[str, asyncio.Semaphore] = {}
        self._count: Counter[str] = Counter()  # of calls at work or waiting

    @asynccontextmanager
    async def turn(self, caller: str) -> AsyncIterator[None]:
        """Wait for a turn; refuse a caller who has too many calls waiting already."""
        if self._count[caller] >= self._of_caller + self._waiting:
            raise Refusal("too_many", f"{self._waiting} calls of this token wait already; ask less often", retry=1)
        own = self._callers.setdefault(caller, asyncio.Semaphore(self._of_caller))
        self._count[caller] += 1
        try:
            async with own, self._turns:
                yield
        finally:
            self._count[caller] -= 1
            if not self._count[caller]:
                del self._count[caller], self._callers[caller]


class Slots:
    """So many things open at once, fewer of one caller."""

    def __init__(self, most: int, of_caller: int) -> None:
        self.most = most
        self.of_caller = of_caller
        self._count: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._count.total()

    def take(self, caller: str) -> bool:
        """Whether there was room for one more; it is to be given back.

        >>> slots = Slots(most=2, of_caller=1)
        >>> slots.take("a"), slots.take("a"), slots.take("b"), slots.take("c"), len(slots)
        (True, False, True, False, 2)
        """
        if len(self) >= self.most or self._count[caller] >= self.of_caller:
            return False
        self._count[caller] += 1
        return True

    def give_back(self, caller: str) -> None:
        """One of a caller's is closed."""
        self._count[caller] -= 1
        if not self._count[caller]:
            del self._count[caller]
