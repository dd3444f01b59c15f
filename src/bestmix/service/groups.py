"""Results that arrive at the same time are written in one transaction; each caller gets an answer of its own.

A transaction costs a sync of the disk and several statements, whether it holds one result or many. While one
is being written, whoever comes next waits in line; the first of the line then writes for all of it.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from bestmix.experiments import Experiment, Outcome

Result = tuple[str, float, Any]  # a trial's id, reward and costs


@dataclass
class Entry:
    """One caller's results, and what became of them."""

    results: Sequence[Result]
    outcomes: list[Outcome] | None = None
    error: Exception | None = None

    @property
    def done(self) -> bool:
        """Whether there is an answer."""
        return self.outcomes is not None or self.error is not None


@dataclass
class Line:
    """Those who wait for one experiment."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: list[Entry] = field(default_factory=list)

    def take(self) -> list[Entry]:
        """All who wait."""
        with self.lock:
            taken, self.waiting = self.waiting, []
        return taken


class Groups:
    """Tells results, those of many callers together.

    Examples
    --------
    >>> from bestmix import Problem, Uniform, open_experiment
    >>> exp = open_experiment("memory://", "a", Problem(["a", "b"]), 4, Uniform())
    >>> [outcome.value for outcome in Groups().tell(exp, [(exp.ask()[0].id, 1.0, {})])]
    ['counted']
    """

    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}
        self._lock = threading.Lock()

    def tell(self, experiment: Experiment, results: Sequence[Result]) -> list[Outcome]:
        """What became of the results; when this returns they are on disk."""
        entry = Entry(results)
        with self._lock:
            line = self._lines.setdefault(experiment.record.key, Line())
        with line.lock:
            line.waiting.append(entry)
        with line.turn:
            if not entry.done:
                write(experiment, line.take())
        if entry.error is not None:
            raise entry.error
        return entry.outcomes or []


def write(experiment: Experiment, entries: list[Entry]) -> None:
    """Tell all together or, when one of them is refused, each alone, so that nobody pays for another's mistake."""
    try:
        outcomes = iter(experiment.tell_many(chain.from_iterable(entry.results for entry in entries)))
        for entry in entries:
            entry.outcomes = [next(outcomes) for _ in entry.results]
    except Exception as error:  # whatever it is, it is raised again for the caller that it belongs to
        if len(entries) == 1:
            entries[0].error = error
            return
        for entry in entries:
            write(experiment, [entry])
