"""A log of steps between states: each row has a state, an action, the metrics, and the state that came next."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.answers.logs.tables import Group, read_groups_on_items
from bestmix.answers.moments import Moments
from bestmix.arrays import Floats
from bestmix.problems.goals import Goal
from bestmix.problems.limits import Limit
from bestmix.problems.markov import NEXT, MarkovProblem
from bestmix.problems.problem import Problem
from bestmix.problems.rows import log_rows

Steps = dict[Group, tuple[Floats, list[str]]]  # metrics of an action in a state, and the states that came next


def steps_evidence(
    frame: Any,
    action: str,
    reward: str,
    state: str | None,
    following: str,
    discount: float,
    start: str | Mapping[str, float] | None,
    drop_missing: bool = False,
    *,
    bounds: Mapping[str, float] | None = None,
    goal: str | Goal = "maximise reward",
    limits: Sequence[str | Limit] = (),
) -> Evidence:
    """What a log tells of the problem that it makes; the first ones are names of its columns.

    >>> log = {"state": ["on", "on", "off"], "action": ["stay", "go", "go"], "reward": [1.0, 0.0, 0.5]}
    >>> found = steps_evidence(log | {"next": ["on", "off", "on"]}, "action", "reward", "state", "next", 0.9, "on")
    >>> found.problem.names, found.measured[:, 1]
    (('stay in on', 'go in on', 'go in off'), array([1., 0., 1.]))
    """
    if state is None or start is None:
        what, form = ("column with the state", "segment") if state is None else ("start", "the first state as start")
        raise checks.InvalidInput("discount", expected=f"the {what} with it", got="none", remedy=f"add {form}")
    asked = log_rows(goal, limits, bounds, reward)
    first, *rest = asked.metrics
    steps = _read(frame, action, [reward if first == "reward" else first, *rest], state, following, drop_missing)
    states = list(dict.fromkeys(name or "" for _, name in steps))
    nowhere = [name for _, names in steps.values() for name in names if name not in states]
    if nowhere:
        raise checks.InvalidInput(
            following,
            expected=f"states that rows begin in: {checks.shown(states)}",
            got=checks.shown(nowhere[0]),
            remedy="add steps from there, if only one that stays",
        )
    actions = {name: [one for one, where in steps if where == name] for name in states}
    problem = MarkovProblem(states, actions, discount, start, limits, bounds=bounds, goal=asked.goal)
    return Evidence(problem, [_moments(problem, table) for table in _tables(problem, steps)])


def check_steps(discount: float | None, start: Any, next_state: str, beside: Mapping[str, Any]) -> None:
    """Raise where a log of trials has what is of steps, or one of steps what is ``beside`` them.

    >>> check_steps(None, "on", NEXT, {})
    Traceback (most recent call last):
    ...
    bestmix.checks.InvalidInput: start: it is of steps between states; give their discount, such as 0.9, as well
    """
    if discount is None and (start is not None or next_state != NEXT):
        name = "start" if start is not None else "next_state"
        raise checks.InvalidInput(name, "it is of steps between states", "give their discount, such as 0.9, as well")
    for name, value in beside.items() if discount is not None else ():
        if value is not None:
            raise checks.InvalidInput(name, "a log of steps between states does without it", "leave it out")


def read_steps(problem: Problem, frame: Any, action: str, reward: str, state: str | None) -> list[Floats]:
    """Metrics of the steps in a log, for each action in each state of a problem: (trials, metrics)."""
    first, *rest = problem.metrics[:-1]
    return _tables(problem, _read(frame, action, [reward if first == "reward" else first, *rest], state, NEXT))


def _read(
    frame: Any, action: str, metrics: list[str], state: str | None, following: str, drop_missing: bool = False
) -> Steps:
    found = read_groups_on_items(frame, action, metrics, state, following, drop_missing)
    result: Steps = {}
    for group, (table, names) in found.items():
        kept = [place for place, name in enumerate(names) if name is not None]
        if len(kept) < len(names) and not drop_missing:
            expected = "the state that came next in every row"
            raise checks.InvalidInput(
                following, expected=expected, got="none in some", remedy="pass drop_missing=True to leave these out"
            )
        result[group] = table[kept], [str(names[place]) for place in kept]
    return result


def _tables(problem: Problem, steps: Steps) -> list[Floats]:
    """By place in the problem."""
    tables = [np.empty((0, len(problem.metrics))) for _ in problem.cells]
    for group, (table, names) in steps.items():
        told = dict(zip(problem.metrics, [*table.T.tolist(), names], strict=True))
        tables[problem.index(*group)] = problem.trial_rows(told)
    return tables


def _moments(problem: Problem, table: Floats) -> Moments:
    moments = Moments(len(problem.measures))
    moments.add(problem.rows.measure(table))
    return moments
