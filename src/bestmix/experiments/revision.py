"""An experiment's problem as it is now: bounds, limits and arms may change while it runs.

Sums do not depend on bounds, so a change loses nothing. What can be tried has a number in the store that never changes:
what comes new gets the next ones, and what is retired keeps its own, with its trials.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bestmix import checks
from bestmix.experiments.model import LONGEST_ARM, Record, check_label
from bestmix.problems.limits import Limit
from bestmix.problems.problem import Cell, Problem
from bestmix.strategies.protocol import Strategy
from bestmix.strategies.rounds import Recipe


@dataclass(frozen=True)
class Wish:
    """What is to change; None stays as it is."""

    bounds: Mapping[str, float] | None = None  # by cost, others stay
    limits: Sequence[str | Limit] | None = None  # all that are no bounds
    arms: Iterable[str] | None = None  # all that are to be tried from now on
    budget: int | None = None


@dataclass(frozen=True)
class Revision:
    """The problem as it is now, what was ever tried in the order of its numbers, and what was changed when."""

    problem: Problem
    cells: tuple[Cell, ...]
    history: tuple[Mapping[str, Any], ...] = ()

    @cached_property
    def places(self) -> list[int]:
        """The store's number of each thing that can be tried, in the problem's order."""
        numbers = {cell: number for number, cell in enumerate(self.cells)}
        return [numbers[cell] for cell in self.problem.cells]

    def chosen(self, values: Sequence[Any]) -> list[Any]:
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
        return Revision(problem, (*self.cells, *new), (*self.history, note))

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
        problem = Problem.from_dict(record.problem)
        return Revision(problem, problem.cells)
    data = json.loads(changed)
    cells = tuple(Cell(arm, segment) for arm, segment in data["cells"])
    return Revision(Problem.from_dict(data["problem"]), cells, tuple(data["history"]))


def amended(problem: Problem, wish: Wish) -> Problem:
    """The problem with what is wished for; a change that earlier trials cannot speak to is refused.

    >>> amended(Problem(["a", "b"], {"dollars": 5.0}), Wish(bounds={"dollars": 4.0})).bounds
    {'dollars': 4.0}
    """
    data = problem.to_dict()
    if wish.arms is not None:
        data["arms"] = [check_label("arms", name, LONGEST_ARM) for name in checks.names("arms", wish.arms, "arm")]
        data["known"] = {arm: known for arm, known in data["known"].items() if _stays(problem, arm, data["arms"])}
    bounds = checks.mapping("bounds", wish.bounds or {}, "of cost names to bounds")
    strange = [name for name in bounds if name not in data["bounds"]]
    if strange:
        raise checks.InvalidInput(
            "bounds",
            expected=f"some of {checks.shown(list(data['bounds']))}",
            got=checks.shown(strange[0]),
            remedy="a limit of another kind is changed by limits=[...]",
        )
    data["bounds"] |= {name: checks.number(f"bounds[{name!r}]", bound) for name, bound in bounds.items()}
    if wish.limits is not None:
        data["limits"] = _in_order(problem, wish.limits)
    new = Problem.from_dict(data)
    if new.measures != problem.measures:
        raise checks.InvalidInput(
            "limits",
            expected=f"limits on what the trials so far tell ({', '.join(problem.measures)})",
            got=", ".join(new.measures),
            remedy="keep a limit on each, if only one that never binds; or create another experiment",
        )
    return new


def _stays(problem: Problem, arm: str, arms: Sequence[str]) -> bool:
    """Whether what is known of an arm still has one: it is tried, or was known as a whole."""
    return arm in arms or arm not in problem.arms


def _in_order(problem: Problem, limits: Sequence[str | Limit]) -> list[str]:
    """Limits in an order in which the metrics come as they came before."""
    if isinstance(limits, str) or not isinstance(limits, Sequence):
        raise checks.InvalidInput("limits", expected="a list of limits", got=checks.shown(limits), remedy="write one")
    found = [limit if isinstance(limit, Limit) else Limit.parse(limit) for limit in limits]
    order = list(problem.rows.measures)
    ranks = {limit: min([order.index(c) for c in limit.columns if c in order], default=len(order)) for limit in found}
    return [str(limit) for limit in sorted(found, key=ranks.__getitem__)]


def same_shape(old: Problem, new: Problem) -> bool:
    """Whether the same columns are weighed: another bound, or another limit in the place of one.

    >>> same_shape(Problem(["a"], {"x": 1.0}), Problem(["a"], {"x": 2.0}))
    True
    """
    sizes = [(p.names, len(p.limits), p.plain, [limit.equality for limit in p.limits]) for p in (old, new)]
    return sizes[0] == sizes[1]


def changes(old: Problem, new: Problem, before: int, budget: int) -> str:
    """What has changed, in words.

    >>> changes(Problem(["a", "b"], {"x": 1.0}), Problem(["b", "c"], {"x": 2.0}), 90, 90)
    'x <= 2 instead of x <= 1; c is new; a is retired'
    """
    parts = []
    was, now = ([str(limit) for limit in p.limits] for p in (old, new))
    gone, come = [t for t in was if t not in now], [t for t in now if t not in was]
    if gone or come:
        parts.append(" and ".join(come) + (" instead of " if come else "without ") * bool(gone) + " and ".join(gone))
    parts += [f"{arm} is new" for arm in new.arms if arm not in old.arms]
    parts += [f"{arm} is retired" for arm in old.arms if arm not in new.arms]
    parts += [f"a budget of {budget} instead of {before}"] if budget != before else []
    return "; ".join(parts)
