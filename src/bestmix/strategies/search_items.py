"""The items of a run: which of them each arm has had, which are owed to it, and what came of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any

from bestmix import checks
from bestmix.answers.blocks import Blocks
from bestmix.answers.evidence import Evidence
from bestmix.answers.item_sums import ItemSum, evidence_on_items, item_blocks
from bestmix.answers.moments import Moments
from bestmix.arrays import Floats
from bestmix.problems.items import Items, check_chosen_trials
from bestmix.problems.problem import Cell, Problem
from bestmix.strategies.protocol import Strategy

STOPPING = ("confidence", "delta", "heuristic_stop")  # settings of a strategy that stops when it is sure enough


@dataclass
class Told:
    """What was told of an arm: trials number 0 to ``first`` - 1, those ``beyond``, and sums by item."""

    first: int = 0
    beyond: set[int] = field(default_factory=set)
    sums: dict[int, ItemSum] = field(default_factory=dict)

    def mark(self, place: int) -> None:
        """A trial by its number is made."""
        self.beyond.add(place)
        while self.first in self.beyond:
            self.beyond.discard(self.first)
            self.first += 1

    def add(self, place: int, item: int, row: Sequence[float]) -> None:
        """A trial by its number, the item that it was made on and what was measured."""
        self.mark(place)
        new = ItemSum.of(row)
        self.sums[item] = self.sums[item].plus(new) if item in self.sums else new

    def has(self, place: int) -> bool:
        """Whether a trial was told."""
        return place < self.first or place in self.beyond

    def missing(self, before: int) -> int:
        """Trials with smaller numbers that were not told."""
        return max(before - self.first, 0) - sum(place < before for place in self.beyond)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, exact."""
        sums = [[item, *found.to_list()] for item, found in sorted(self.sums.items())]
        return {"first": self.first, "beyond": sorted(self.beyond), "sums": sums}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Told":
        """Inverse of ``to_dict``."""
        sums = {item: ItemSum.from_list(found) for item, *found in data["sums"]}
        return cls(data["first"], set(data["beyond"]), sums)


class ItemTrials:
    """The trials of a run by the items that they are made on."""

    def __init__(self, items: Items) -> None:
        self.items = items
        self._told: dict[Cell, Told] = {}
        self._without: dict[Cell, Moments] | None = None  # sums of a log's trials that have no item, if others have one

    def owed(self, cell: Cell, most: int) -> list[int]:
        """Numbers of the first trials of an arm that were not told."""
        told = self._of(cell)
        return list(islice((place for place in count(told.first) if place not in told.beyond), most))

    def name(self, cell: Cell, place: int) -> str | int:
        """The item of an arm's trial, as users know it."""
        return self.items.name(self.items.at(place, str(cell)))

    def places(self, cell: Cell, owed: int, item: Any, trials: int) -> list[int]:
        """Numbers of the trials that are told: those on these items, or the first that are owed."""
        if item is None:
            return self.owed(cell, trials)
        given = [item] if trials == 1 and not isinstance(item, (list, tuple)) else list(item)
        if len(given) != trials:
            raise checks.InvalidInput("item", expected=f"the items of {trials} trials", got=f"{len(given)} items")
        found: list[int] = []
        for one in given:
            found.append(self._place(cell, owed, one, found))
        return found

    def _place(self, cell: Cell, owed: int, item: Any, taken: Sequence[int]) -> int:
        """The first trial of an arm on an item that was not told, which must be among those owed."""
        told, place = self._of(cell), self.items.place(self.items.index(item), str(cell))
        while told.has(place) or place in taken:
            place += len(self.items)
        if told.missing(before=place) >= owed:
            raise checks.InvalidInput(
                "item",
                f"no trial of {str(cell)!r} on {checks.shown(item)} is owed now",
                "call items() to see which are",
            )
        return place

    def start_from(self, cells: Sequence[Cell], on: Sequence[Sequence[int | None]], tables: Sequence[Floats]) -> None:
        """Take a log's trials on items that the run has as well: they are told, and are not owed again."""
        self._without = {cell: Moments(table.shape[1]) for cell, table in zip(cells, tables, strict=True)}
        for cell, own, table in zip(cells, on, tables, strict=True):
            for number, index, row in zip(self.items.places_of(own, str(cell)), own, table, strict=True):
                if number is None or index is None:
                    self._without[cell] = self._without[cell].plus(row[None, :])
                else:
                    self._of(cell).add(number, index, row.tolist())

    def pass_over(self, cells: Sequence[Cell], on: Sequence[Sequence[int | None]]) -> None:
        """Do not hand out items that a log's trials were made on, which count as if they had none."""
        for cell, own in zip(cells, on, strict=True):
            for number in self.items.places_of(own, str(cell)):
                if number is not None:
                    self._of(cell).mark(number)

    def copied(self, without: Mapping[Cell, Moments]) -> "ItemTrials":
        """The same for another run; ``without`` are the sums of trials that have no item, if it does not know them."""
        made = ItemTrials.from_dict(self.to_dict())
        made._without = dict(without) if made._without is None else made._without
        return made

    def tell(self, cell: Cell, places: Sequence[int], rows: Floats) -> None:
        """Take what was measured in trials."""
        told = self._of(cell)
        for place, row in zip(places, rows.tolist(), strict=True):
            told.add(place, self.items.at(place, str(cell)), row)

    def _of(self, cell: Cell) -> Told:
        return self._told.setdefault(cell, Told())

    def evidence(self, problem: Problem, moments: list[Moments], log: Sequence[Moments] = ()) -> Evidence:
        """What trials tell; ``log`` are the sums of a log, which have no items unless it told them."""
        without = log if self._without is None else [self._without.get(cell) for cell in problem.cells]
        return evidence_on_items(problem, moments, self._blocks(problem), without)

    def _blocks(self, problem: Problem) -> Blocks:
        cells = problem.cells
        found = {(item, arm): one for arm, cell in enumerate(cells) for item, one in self._of(cell).sums.items()}
        return item_blocks(found, range(len(cells)), len(problem.measures))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, exact."""
        cells = sorted((cell for cell, found in self._told.items() if found != Told()), key=str)
        told = [[*cell, self._told[cell].to_dict()] for cell in cells]
        found = {**self.items.to_dict(), "told": told}
        if self._without is not None:
            found["without"] = [[*cell, sums.to_dict()] for cell, sums in self._without.items()]
        return found

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "ItemTrials":
        """Inverse of ``to_dict``."""
        made = cls(Items.from_dict(data))
        made._told = {Cell(*cell): Told.from_dict(found) for *cell, found in data["told"]}
        if "without" in data:
            made._without = {Cell(*cell): Moments.from_dict(sums) for *cell, sums in data["without"]}
        return made


def check_items(items: Items, problem: Problem, strategy: Strategy) -> Items:
    """Refuse items that a run cannot be made on.

    >>> from bestmix import Challenger
    >>> check_items(Items(9), Problem(["a", "b"]), Challenger(confidence=0.95))
    Traceback (most recent call last):
    bestmix.checks.InvalidInput: items: Challenger[0.95] stops by the errors of arms that share no items, ...
    """
    check_chosen_trials(problem.segments)
    if problem.flows:
        raise checks.InvalidInput("items", "with states a step leads to another, and has no item", "leave them out")
    if problem.features:
        raise checks.InvalidInput(
            "items", "with features all arms have one fit, which knows no items", "leave them out"
        )
    inner = getattr(strategy, "strategy", strategy)  # that of a budget of money
    if getattr(inner, "proven", False):
        raise checks.InvalidInput(
            "items",
            f"{strategy.name} is proven of trials that are independent given the past, and a list of items comes round",
            "leave out the items, or proven",
        )
    if items.shared and any(getattr(inner, setting, None) for setting in STOPPING):
        raise checks.InvalidInput(
            "items",
            f"{strategy.name} stops by the errors of arms that share no items, and limits are less certain than these "
            "say where they do",
            "give a budget without a confidence, or shared=False",
        )
    return items
