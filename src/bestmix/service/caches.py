"""What a server keeps at hand: experiments that are open, and pages and figures that were made a moment ago."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from bestmix.experiments import Experiment, Storage
from bestmix.experiments.model import KEY, check_text
from bestmix.service.errors import Refusal
from bestmix.service.tokens import Token

T = TypeVar("T")

MOST_OPEN = 500  # experiments kept open


class OpenExperiments:
    """Experiments by id or by name; what is fixed of them is read once, their figures every time."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._open: OrderedDict[str, Experiment] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, name: str) -> Experiment | None:
        """The experiment with that id, if it is open already."""
        return self._open.get(name)

    def open(self, name: str, token: Token | None = None) -> Experiment:
        """The experiment with that id, or of that name."""
        # What looks like an id is never taken for a name: a call on a deleted experiment must not meet another one.
        found = self.storage.open_key(name) if KEY.fullmatch(name) else self._by_name(name)
        if found is None:
            if token is not None and token.experiment is not None:  # it shall not learn which ones there are
                raise Refusal("forbidden", f"the token {token.prefix} is for another experiment")
            raise Refusal("not_found", "there is no such experiment; give the id or the name of one", "experiment")
        return self.keep(found)

    def keep(self, experiment: Experiment) -> Experiment:
        """Remember an experiment under its id."""
        with self._lock:
            self._open[experiment.record.key] = experiment
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
        return experiment

    def forget(self, experiment: Experiment) -> None:
        """Drop an experiment that was deleted."""
        with self._lock:
            self._open.pop(experiment.record.key, None)

    def _by_name(self, name: str) -> Experiment | None:
        try:
            record = self.storage.store.find(check_text("name", name))
        except ValueError:
            return None
        return None if record is None else self.storage.open_key(record.key)


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

    def get(self, key: str, version: Callable[[], Any], make: Callable[[], T], since: float = float("-inf")) -> T:
        """The value of a key, not read before ``since``; while one thread makes it, others wait for it.

        >>> cache = Cache(lasts=60.0)
        >>> cache.get("x", lambda: 1, lambda: "made"), cache.get("x", lambda: 1, lambda: "made again")
        ('made', 'made')
        >>> cache.get("x", lambda: 2, lambda: "made again")
        'made again'
        """
        entry = self._entry(key)
        with entry.lock:
            began = time.monotonic()
            value = entry.value if entry.at >= since else None
            if value is not None and began < entry.at + self._fresh:
                return value
            now = version()
            if value is None or began >= entry.at + self._lasts or entry.version != now:
                value = make()
                entry.value, entry.version, entry.at = value, now, began
            return value

    def _entry(self, key: str) -> Entry[T]:
        with self._lock:
            entry = self._entries.setdefault(key, Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)
            return entry
