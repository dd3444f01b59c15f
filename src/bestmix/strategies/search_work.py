"""A search as work to be driven: the trials that it owes, in order, and a file that it is saved to."""

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bestmix import checks, files
from bestmix.problems.problem import Problem
from bestmix.strategies import rounds
from bestmix.strategies.saved_search import check_path
from bestmix.strategies.search import Search

SAVE_EVERY = 1.0  # seconds between two savings of a checkpoint
AHEAD = 64  # trials that are put in order at a time


class Due:
    """A trial of a search that was handed out."""

    def __init__(self, owed: Hashable, item: str | int | None = None) -> None:
        self.owed = owed  # as ``Search.ask`` names it: the arm, or the segment and the arm
        self.item = item  # that it is made on, where there are any

    @property
    def cell(self) -> tuple[str, ...]:
        """The arm, and with segments the segment."""
        return (self.owed,) if isinstance(self.owed, str) else tuple(reversed(self.owed))  # type: ignore[call-overload]

    @property
    def arguments(self) -> tuple[str | int, ...]:
        """What it is called with: the cell, and with items the item."""
        return self.cell if self.item is None else (*self.cell, self.item)


class SearchWork:
    """The trials that a search owes.

    Parameters
    ----------
    search
        Whose.
    order
        Puts the arms that are due, with their numbers of trials, in the order in which they are pulled.
    record
        Called with the arm (the segment, the item) and the result of every trial that was told.
    """

    def __init__(
        self,
        search: Search,
        order: Callable[[Iterable[tuple[Any, int]], int], list[Any]] = rounds.share_out,
        record: Callable[[tuple[str | int, ...], Any], None] | None = None,
    ) -> None:
        self.search = search
        self._record = record
        self._order = order
        self._queue: deque[Any] = deque()
        self._out: set[Due] = set()

    @property
    def over(self) -> bool:
        """Whether the search is."""
        return self.search.done

    def next(self, most: int) -> list[Due]:
        """Trials that are owed and not yet under way."""
        if most and not self._queue:
            out = Counter(trial.owed for trial in self._out)
            due = [(what, count - out[what]) for what, count in self.search.ask().items()]
            self._queue.extend(self._on_items(self._order(due, AHEAD)))
        trials = [self._queue.popleft() for _ in range(min(most, len(self._queue)))]
        self._out.update(trials)
        return trials

    def _on_items(self, owed: list[Any]) -> list[Due]:
        """Trials, each with the first item that its arm is owed and that is not under way."""
        if self.search.item_list is None:
            return [Due(what) for what in owed]
        under_way = Counter((trial.owed, trial.item) for trial in self._out)
        left = {what: iter(self._free(what, under_way)) for what in dict.fromkeys(owed)}
        return [Due(what, next(left[what])) for what in owed]

    def _free(self, what: Any, under_way: Counter[Any]) -> Iterator[str | int]:
        cell = Due(what).cell
        segment = cell[1] if len(cell) > 1 else None
        for item in self.search.items(cell[0], segment, AHEAD + len(self._out)):
            if under_way[what, item]:
                under_way[what, item] -= 1
            else:
                yield item

    def arguments(self, trial: Due) -> tuple[str | int, ...]:
        """Its arm, with segments its segment, and with items its item."""
        return trial.arguments

    def tell(self, results: Sequence[tuple[Due, Any]]) -> None:
        """Tell each; one that is refused does not keep the others from being told."""
        refused: ValueError | None = None
        for trial, result in results:
            if trial in self._out:
                self._out.discard(trial)
                try:
                    tell(self.search, trial.cell, result, trial.item)
                    if self._record is not None:
                        self._record(trial.arguments, result)
                except ValueError as error:
                    refused = refused or error
        if refused is not None:
            raise refused

    def fail(self, trial: Due, error: BaseException) -> None:
        """Nobody else could make the trial, so the error is raised."""
        self.give_back([trial])
        raise error

    def keep(self, trials: Sequence[Due]) -> None:
        """There are no leases."""

    def give_back(self, trials: Sequence[Due]) -> None:
        """They are owed as before."""
        self._out.difference_update(trials)


def arm_by_arm(due: Iterable[tuple[Any, int]], most: int) -> list[Any]:
    """Up to ``most`` arms from pairs (arm, due), all of the first arm before the second.

    >>> arm_by_arm([("a", 2), ("b", 3)], most=4)
    ['a', 'a', 'b', 'b']
    """
    result: list[Any] = []
    for arm, count in due:
        result += [arm] * min(count, most - len(result))
    return result


def tell(search: Search, cell: tuple[str, ...], result: Any, item: str | int | None = None) -> None:
    """Tell what ``pull`` returned, or say what it should have returned."""
    arm, segment = cell[0], cell[1] if len(cell) > 1 else None
    called = f"pull({', '.join(map(checks.shown, cell if item is None else (*cell, item)))})"
    where: dict[str, Any] = {"segment": segment, "item": item}
    first, *others = search.problem.metrics
    if not others and not isinstance(result, (tuple, list, Mapping)):
        result = (result, None)
    if not isinstance(result, Mapping) and (not isinstance(result, (tuple, list)) or len(result) != 2):
        raise checks.InvalidInput(
            called, expected=_wanted(search.problem), got=checks.shown(result), remedy="return both"
        )
    before = search.trials
    try:
        if isinstance(result, Mapping):
            search.tell(arm, {name: search.problem.value(name, value) for name, value in result.items()}, **where)
        else:
            search.tell(arm, checks.number(first, result[0]), result[1], **where)
    except ValueError as error:
        if search.trials > before:  # it was taken, and the strategy has failed at what to do next
            raise
        raise ValueError(f"{called} returned {checks.shown(result)}: {error}") from None


def _wanted(problem: Problem) -> str:
    """What a trial returns, in words."""
    first, *others = problem.metrics
    example = {metric: problem.shown_value(metric, 0.1) for metric in others} or {"dollars": 0.1}
    return (
        f"a {first} and {len(others)} costs, as in (0.7, {example}), or all by name, as in { ({first: 0.7} | example) }"
    )


class Checkpoint:
    """Saves a search to a file now and then, if there is one; call it after trials were told.

    What ``beside`` returns, if it is given, is saved with the search.
    """

    def __init__(
        self,
        search: Search,
        path: str | os.PathLike[str] | None,
        beside: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self.search, self.path, self.beside = search, path, beside
        self._saved, self._trials = time.monotonic(), search.trials

    def __call__(self) -> None:
        """Save, if there is anything new and that was not done a moment ago."""
        if time.monotonic() - self._saved >= SAVE_EVERY and self.search.trials > self._trials:
            self.save()

    def save(self) -> None:
        """Save now."""
        if self.path is not None:
            files.write(check_path(self.path), {**self.search.to_dict(), **self.beside()})
        self._saved, self._trials = time.monotonic(), self.search.trials
