"""What was made a moment ago, made once for all who ask at the same time."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass
class Entry(Generic[T]):
    """A value with the version that it was made of; whoever makes it holds the lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    at: float = float("-inf")
    version: Any = None
    value: T | None = None


class Cache(Generic[T]):
    """Values by key: good for ``lasts`` seconds while the version is the same, for ``fresh`` whatever it is."""

    def __init__(self, lasts: float, fresh: float = 0.0, most: int = 100) -> None:
        self._lasts = lasts
        self._fresh = fresh
        self._most = most
        self._entries: OrderedDict[str, Entry[T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str, version: Callable[[], Any], make: Callable[[], T]) -> T:
        """The value of a key; while one thread makes it, others wait for it.

        >>> cache = Cache(lasts=60.0)
        >>> cache.get("x", lambda: 1, lambda: "made"), cache.get("x", lambda: 1, lambda: "made again")
        ('made', 'made')
        >>> cache.get("x", lambda: 2, lambda: "made again")
        'made again'
        """
        entry = self._entry(key)
        with entry.lock:
            if entry.value is not None and time.monotonic() < entry.at + self._fresh:
                return entry.value
            now = version()
            if entry.value is None or time.monotonic() >= entry.at + self._lasts or entry.version != now:
                entry.value, entry.version, entry.at = make(), now, time.monotonic()
            return entry.value

    def _entry(self, key: str) -> Entry[T]:
        with self._lock:
            entry = self._entries.setdefault(key, Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)
            return entry
