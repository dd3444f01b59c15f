"""An experiment's problem as it is now: bounds, limits and arms may change while it runs.

Sums do not depend on bounds, so a change loses nothing. What can be tried has a number in the store that never changes:
what comes new gets the next ones, and what is retired keeps its own, with its trials.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bestmix.experiments.model import Record
from bestmix.problems.problem import Cell, Problem
from bestmix.strategies.protocol import Strategy
from bestmix.strategies.rounds import Recipe


@dataclass(frozen=True)
class Revision:
    """The problem as it is now, what was ever tried in the order of its numbers, and what was changed when.

    ``first`` of what was ever tried was there from the beginning.
    """

    problem: Problem
    cells: tuple[Cell, ...]
    first: int
    history: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def beginning(cls, problem: Problem) -> "Revision":
        """The problem from the beginning."""
        return cls(problem, problem.cells, len(problem.cells))

    @cached_property
    def served(self) -> tuple[Cell, ...]:
        """What requests of live traffic can ever have been given: those of the beginning, what is known, new ones.

        >>> from bestmix import Known
        >>> now = Revision.beginning(Problem(["a"], known={"off": Known(0.0)}))
        >>> now.becoming(Problem(["b"], known={"off": Known(0.0)}), {}).served
        (Cell(arm='a', segment=None), Cell(arm='off', segment=None), Cell(arm='b', segment=None))
        """
        return (*self.cells[: self.first], *self.problem.known_cells, *self.cells[self.first :])

    @cached_property
    def served_places(self) -> dict[Cell, int]:
        """Where each of them stands."""
        return {cell: place for place, cell in enumerate(self.served)}

    @property
    def newcomers(self) -> frozenset[str]:
        """Arms that were not there from the beginning."""
        return frozenset(cell.arm for cell in self.cells[self.first :])

    @cached_property
    def places(self) -> list[int]:
        """The store's number of each thing that can be tried, in the problem's order."""
        numbers = {cell: number for number, cell in enumerate(self.cells)}
        return [numbers[cell] for cell in self.problem.cells]

    def chosen(self, values: Sequence[Any] | Mapping[int, Any]) -> list[Any]:
        """Those of what can be tried, of values in the store's order."""
        return [values[place] for place in self.places]

    def spread(self, values: Sequence[int]) -> list[int]:
        """Numbers in the problem's order as the store keeps them, with zeros for what is retired."""
        result = [0] * len(self.cells)
        for place, value in zip(self.places, values, strict=True):
            result[place] = value
        return result

    @property
    def retired(self) -> list[int]:
        """The store's numbers of what is no longer tried."""
        return [number for number, cell in enumerate(self.cells) if cell not in self.problem.cells]

    def becoming(self, problem: Problem, note: Mapping[str, Any]) -> "Revision":
        """The next revision."""
        new = [cell for cell in problem.cells if cell not in self.cells]
        return Revision(problem, (*self.cells, *new), self.first, (*self.history, note))

    def to_text(self) -> str:
        """As stores keep it."""
        return json.dumps({"problem": self.problem.to_dict(), "cells": self.cells, "history": self.history})


@dataclass(frozen=True)
class Setup:
    """What an experiment runs by now."""

    revision: Revision
    strategy: Strategy

    @property
    def problem(self) -> Problem:
        """The problem as it is now."""
        return self.revision.problem

    @property
    def recipe(self) -> Recipe:
        """What decides."""
        return Recipe(self.revision.problem, self.strategy)


def revision(record: Record, changed: str | None) -> Revision:
    """The revision that a store's text tells of; without one, the problem is the one from the beginning.

    >>> record = Record("0123456789ab", "a", {"arms": ["x", "y"]}, {"kind": "Uniform"}, 9, 60.0, 100)
    >>> first = revision(record, None)
    >>> later = first.becoming(Problem(["y", "z"]), {"text": "x is retired; z is new"})
    >>> later.places, revision(record, later.to_text()) == later
    ([1, 2], True)
    """
    if changed is None:
        return Revision.beginning(Problem.from_dict(record.problem))
    data = json.loads(changed)
    cells = tuple(Cell(arm, segment) for arm, segment in data["cells"])
    first = len(Problem.from_dict(record.problem).cells)
    return Revision(Problem.from_dict(data["problem"]), cells, first, tuple(data["history"]))
