"""What an edge has recorded: choices at hand, and the sums of their requests."""

import logging
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from bestmix.client.edge_choices import Choice, Measure, Place, Sums, add_up, add_up_some, sign, verify
from bestmix.client.edge_outbox import Rows

MOST_CHOICES = 10_000  # kept at hand; those of older versions are put away

log = logging.getLogger("bestmix.edge")


class Recorder:
    """The choices of an edge by place and by id; whoever records appends to ``choice.rows`` without a lock."""

    def __init__(self, secret: bytes, measures: Sequence[Measure]) -> None:
        self.measures = list(measures)
        self.added = self.rejected = 0
        self._secret = secret
        self._lock = threading.RLock()
        self._choices: dict[Place, Choice] = {}
        self._ids: dict[str, Choice] = {}
        self._leaving: list[tuple[Place, list[Any]]] = []

    def choice(self, place: Place) -> Choice:
        """The choice of a place; made if it is not at hand."""
        with self._lock:
            found = self._choices.get(place)
            if found is None:
                found = self._choices[place] = Choice(place, sign(self._secret, place), len(self.measures))
                self._ids[found.id] = found
            return found

    def find(self, choice: Any) -> Choice:
        """The choice of an id, or the one at hand in the place of one that was put away."""
        known = self._ids.get(choice) if isinstance(choice, str) else None
        if known is not None and known.rows is not None:
            return known
        return self.choice(choice.place if isinstance(choice, Choice) else verify(self._secret, choice))

    def put_away(self) -> None:
        """Forget choices of old versions that nothing is recorded for; they are found again if something is."""
        with self._lock:
            if len(self._choices) <= MOST_CHOICES:
                return
            for place, choice in sorted(self._choices.items(), key=lambda pair: pair[0].version)[: -MOST_CHOICES // 2]:
                self.add_up(choice)
                if not choice.sums.count:
                    self._leaving.append((place, choice.rows))
                    choice.rows = None
                    del self._choices[place]
                    self._ids.pop(choice.id, None)

    def add_up(self, choice: Choice) -> None:
        """Add up what was recorded for a choice."""
        with self._lock:
            rows = choice.rows
            count = len(rows or ())
            if not count:
                return
            # Others go on appending: what they append stays.
            batch: list[Mapping[str, Any]] = rows[:count]
            del rows[:count]
            try:
                found, wrong = add_up(self.measures, batch), ""
            except Exception:  # whatever was recorded
                found, wrong = add_up_some(self.measures, batch)
            choice.sums.add(found)
            self.added += found.count
            self.rejected += count - found.count
        if wrong:
            log.warning(
                "%d requests of arm %r are left out, their metrics are not all finite numbers: %s",
                count - found.count,
                choice.arm,
                wrong,
            )

    def gather(self) -> Rows:
        """All sums that were not gathered before."""
        with self._lock:
            rows: Rows = {}
            for place, late in self._leaving:  # what somebody was about to append when they were put away
                if late:
                    self.choice(place).rows.extend(late)
            self._leaving = []
            for choice in list(self._choices.values()):
                self.add_up(choice)
                if choice.sums.count:
                    rows[choice.place] = choice.sums
                    choice.sums = Sums(len(self.measures))
            return rows

    @property
    def recorded(self) -> int:
        """Requests that were recorded, whatever becomes of them."""
        with self._lock:
            return self.added + self.rejected + sum(len(choice.rows or ()) for choice in self._choices.values())

    def waiting(self) -> int:
        """Requests that were not gathered."""
        with self._lock:
            return sum(len(choice.rows or ()) + choice.sums.count for choice in self._choices.values())

    def names(self) -> tuple[list[str], list[str]]:
        """Names of sums and of products."""
        names = [measure.name for measure in self.measures]
        return names, [f"{first}*{second}" for i, first in enumerate(names) for second in names[i:]]

    def give_up(self) -> None:
        """Lead whatever is still recorded for its choices nowhere: their experiment is gone."""
        with self._lock:
            for choice in self._choices.values():
                choice.rows = deque(maxlen=0)

    def begin_anew(self) -> None:
        """Forget everything, as a forked child does: what was recorded before is its parent's to report."""
        self._lock = threading.RLock()
        for choice in self._choices.values():
            choice.rows = None
        self._choices, self._ids, self._leaving = {}, {}, []
        self.added = self.rejected = 0
