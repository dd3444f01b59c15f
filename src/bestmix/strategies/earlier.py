"""Trials from before a run: where they come from, what they count, and how they are known again."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from bestmix import checks
from bestmix.answers.moments import Moments
from bestmix.answers.recommendation import Recommendation
from bestmix.arrays import Floats, Integers
from bestmix.problems.problem import Cell, Problem
from bestmix.strategies.exact_values import check_exact, check_exact_sums
from bestmix.strategies.protocol import Checking, Strategy, decides_from_counts


@dataclass(frozen=True)
class Earlier:
    """What a run started from; all is empty where that was nothing.

    Attributes
    ----------
    counts
        Trials of each arm, as far as they count.
    sums
        Of these trials by arm, each counted as one; empty where they filled places of a schedule.
    weight
        What each of them counts.
    marks
        Fingerprints of them, by arm.
    left_out
        Sums, by arm, of those that the strategy's schedule has no place for.
    """

    counts: Integers | None = None
    sums: list[Moments] = field(default_factory=list)
    weight: float = 1.0
    marks: dict[str, str] = field(default_factory=dict)
    left_out: list[Moments] = field(default_factory=list)

    @property
    def any(self) -> bool:
        """Whether there were such trials."""
        return self.counts is not None or bool(self.left_out)

    @property
    def weighted(self) -> list[Moments]:
        """The sums as they count."""
        return [m.weighted(self.weight) for m in self.sums]

    def fault(self, marks: Mapping[str, str], weight: float) -> str:
        """Why trials are not those that the run started from; nothing where they are, or where that is not known."""
        if any(self.marks.get(cell, mark) != mark for cell, mark in marks.items()):
            return "it started from another log"
        if self.any and weight != self.weight:
            return f"a result of its log counts {self.weight:g}, not {weight:g}"
        return ""

    def for_arms(self, old: Problem, new: Problem) -> "Earlier":
        """The same where the arms have changed."""
        if not self.sums:
            return self
        known = dict(zip(old.cells, self.sums, strict=True))
        return replace(self, sums=[known.get(cell, Moments(len(new.measures))) for cell in new.cells])

    def to_dict(self) -> dict[str, Any]:
        """Plain data of what is not empty."""
        found: dict[str, Any] = {} if self.counts is None else {"earlier": self.counts.tolist()}
        found |= {"log_marks": self.marks} if self.marks else {}
        found |= {"log": [m.to_dict() for m in self.sums], "log_weight": self.weight} if self.sums else {}
        return found | ({"left_out": [m.to_dict() for m in self.left_out]} if self.left_out else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Earlier":
        """Inverse of ``to_dict``, from among the other entries of a saved search."""
        return cls(
            np.array(data["earlier"], dtype=np.int64) if "earlier" in data else None,
            [Moments.from_dict(m) for m in data.get("log", ())],
            data.get("log_weight", 1.0),
            dict(data.get("log_marks", {})),
            [Moments.from_dict(m) for m in data.get("left_out", ())],
        )


class Sums(NamedTuple):
    """Sums of trials by arm, of a search or a recommendation."""

    source: str  # in a word
    problem: Problem
    known: Mapping[Cell, Moments]


def from_tables(problem: Problem, strategy: Strategy, tables: Sequence[Floats], weight: float) -> Earlier:
    """A log's trials by arm, as ``read_metrics`` reads them; sums only where a strategy decides from them."""
    if isinstance(strategy, Checking):
        for table in tables:
            strategy.check_trials(problem, table)
    check_tables(problem, strategy, tables)
    marks = marks_of(problem, tables)
    if decides_from_counts(strategy):
        empty = Moments(len(problem.measures))
        return Earlier(None, [empty.plus(problem.rows.measure(table)) for table in tables], weight, marks)
    if weight != 1.0:
        raise checks.InvalidInput(
            "log_weight",
            f"{strategy.name} fills the places of its schedule with whole results",
            "leave it out, or use Challenger() or Uniform()",
        )
    return Earlier(marks=marks)


def check_tables(problem: Problem, strategy: Strategy, tables: Sequence[Floats]) -> None:
    """Refuse trials of an arm that tell several values of what a strategy takes for exact."""
    none = Moments(len(problem.measures))
    for cell, table in zip(problem.cells, tables, strict=True):
        check_exact(strategy, problem, str(cell), none, problem.rows.measure(table))


def from_sums(problem: Problem, strategy: Strategy, sums: Sums, weight: float) -> Earlier:
    """The trials of another search, or those that a recommendation was made from."""
    source, other, known = sums
    strange = [str(cell) for cell, moments in known.items() if moments.count and cell not in problem.cells]
    if strange or other.measures != problem.measures:
        fault = f"the {source} has trials of {strange[0]!r}" if strange else f"it tells {', '.join(other.measures)}"
        raise checks.InvalidInput("start", f"{fault}, which this problem has not", "give one of the same arms")
    if not decides_from_counts(strategy):
        raise checks.InvalidInput(
            "start",
            f"{strategy.name} fills the places of its schedule with single results, a {source} has their sums",
            "give a log of them, or use Challenger() or Uniform()",
        )
    taken = [known.get(cell, Moments(len(problem.measures))) for cell in problem.cells]
    for cell, own in zip(problem.cells, taken, strict=True):
        check_exact_sums(strategy, problem, str(cell), own)
    return Earlier(None, taken, weight, _marks(problem, [json.dumps(m.to_dict()).encode() for m in taken]))


def sums_of_answer(answer: Recommendation, strategy: Strategy) -> Sums:
    """The sums that a recommendation was made from."""
    if answer.told is None:
        raise checks.InvalidInput(
            "start",
            "a recommendation from a file without sums of trials has estimates alone, from which no run can go on",
            "give the log, or the saved search",
        )
    if ranges_of(strategy) is not None:
        raise checks.InvalidInput("start", "a recommendation does not say whether ranges hold", "give the log")
    return Sums("recommendation", answer.problem, dict(zip(answer.problem.cells, answer.told, strict=True)))


def ranges_of(strategy: Strategy) -> Any:
    """The ranges within which a strategy's trials must be, if it has any."""
    return getattr(getattr(strategy, "strategy", strategy), "ranges", None)


def marks_of(problem: Problem, tables: Sequence[Floats]) -> dict[str, str]:
    """Fingerprints of a log's trials, by arm."""
    return _marks(problem, [table.tobytes() for table in tables])


def _marks(problem: Problem, contents: Sequence[bytes]) -> dict[str, str]:
    return {str(cell): hashlib.sha256(c).hexdigest()[:16] for cell, c in zip(problem.cells, contents, strict=True)}
