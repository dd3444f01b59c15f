"""The saved form of a search: what is looked at before a run goes on from it."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bestmix import checks
from bestmix.answers.moments import Moments
from bestmix.problems.problem import Problem
from bestmix.strategies.paid import Paid
from bestmix.strategies.protocol import AHEAD, MOST_TRIALS, Memory, Strategy

FORMAT = "bestmix search 1"
KEYS = ("problem", "strategy", "budget", "memory", "before", "moments", "history")


class Begun(NamedTuple):
    """What a new run begins with that is to become the saved one."""

    strategy: Strategy
    problem: Problem
    budget: int


def check_entries(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Data in the format of this version, with all entries."""
    data = checks.mapping("search", data, "that to_dict made")
    if data.get("format") != FORMAT:
        raise checks.InvalidInput(
            "search", expected=f"data in the format {FORMAT!r}", got=checks.shown(data.get("format"))
        )
    missing = [key for key in KEYS if key not in data]
    if missing:
        raise checks.InvalidInput(
            "search", f"the entry {missing[0]!r} is missing", "the data are not whole, start anew"
        )
    return data


def saved_strategy(data: Mapping[str, Any], strategy: Strategy | None) -> Strategy:
    """The strategy that a search was saved with; one that is given must be the same."""
    from bestmix.strategies.built_in import as_numbered, as_saved, restore_strategy

    saved = as_numbered(checks.mapping("strategy", data["strategy"], "with its kind"))
    strategy = restore_strategy(saved) if strategy is None else as_saved(strategy, saved)
    if isinstance(strategy, Paid):
        strategy = strategy.begun_with(saved, checks.mapping("memory", data["memory"], "of a run"))
    if strategy.to_dict() != saved:
        raise checks.InvalidInput(
            "strategy",
            f"the search was saved with {saved}, got {strategy.to_dict()}",
            "pass the same one",
        )
    return strategy


def begun(strategy: Strategy, data: Mapping[str, Any]) -> Begun:
    """What the run begins with; a change may have left less than a new one needs."""
    problem = Problem.from_dict(checks.mapping("problem", data["problem"], "that to_dict made"))
    budget = checks.whole("budget", data["budget"], 0, "the data are damaged, start anew", MOST_TRIALS)
    if not isinstance(strategy, Paid):
        return Begun(strategy, problem, max(budget, len(problem.cells)) if data.get("changes") else budget)
    return Begun(strategy.for_arms(problem, data["memory"]), problem, budget)


def check_whole(begun: Begun, fresh: Memory, memory: Memory, moments: Sequence[Moments], before: Sequence[int]) -> None:
    """Fail where saved data lack something that a run has, such as what a ``fresh`` one remembers."""
    cells, quota = len(begun.problem.cells), memory.get("quota")
    ours = type(begun.strategy).__module__.startswith("bestmix.")  # one of a user's own may remember what it likes
    sized = {len(m.sums) for m in moments} <= {len(begun.problem.measures)}
    planned = quota if ours and quota is not None else range(cells)
    whole = sized and (fresh.keys() - {AHEAD} <= memory.keys() or not ours)
    if not whole or any(len(part) != cells for part in (moments, before, planned)):
        raise ValueError("entries are missing")


def check_path(path: str | os.PathLike[str]) -> Path:
    """The path of a saved search."""
    if Path(path).suffix != ".json":
        raise checks.InvalidInput(path, "a search is kept in a .json file", "choose a name that ends so")
    return Path(path)
