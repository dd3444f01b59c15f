"""What a log tells of the problem that it makes: of one group, of segments, of states, of arms with features."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.answers.logs.feature_columns import log_features
from bestmix.answers.logs.steps import check_steps, steps_evidence
from bestmix.answers.logs.tables import Group, read_groups, read_segment
from bestmix.answers.moments import Moments
from bestmix.arrays import Flags, Floats
from bestmix.problems.goals import Goal
from bestmix.problems.known import Known
from bestmix.problems.limits import Limit
from bestmix.problems.problem import Problem
from bestmix.problems.rows import log_rows

CROWD = 50  # so many arms or segments are rarely meant where most have hardly a trial
HARDLY = 2  # trials


def evidence_of(
    log: Any,
    arm: str,
    reward: str,
    drop_missing: bool,
    segment: str | None,
    *,
    discount: float | None,
    start: Any,
    next_state: str,
    features: Any,
    known: Mapping[str, Known] | None,
    segments: Mapping[str, float] | None = None,
    **asked: Any,
) -> tuple[Evidence, Flags | None]:
    """What a log of any kind tells, and which measures (K0, M) were always 0 or 1: None with segments or states.

    ``asked`` are bounds, goal and limits.
    """
    check_steps(discount, start, next_state, {"known": known, "segments": segments, "features": features})
    if discount is not None:
        return steps_evidence(log, arm, reward, segment, next_state, discount, start, drop_missing, **asked), None
    asked["known"] = known
    if segment is None and segments is not None:
        raise checks.InvalidInput(
            "segments", expected="the column that has them", got="none", remedy="add segment, its name"
        )
    if segment is not None:
        if features is not None:
            raise checks.InvalidInput("segment", "arms with features have one mix for all users", "leave it out")
        return log_evidence(log, arm, reward, drop_missing, segment, segments=segments, **asked)[0], None
    if features is not None:
        asked["features"] = log_features(log, arm, features)
    return of_log(log, arm, reward, drop_missing, **asked)


def log_evidence(
    frame: Any,
    arm: str,
    reward: str,
    drop_missing: bool = False,
    segment: str | None = None,
    *,
    bounds: Mapping[str, float] | None = None,
    known: Mapping[str, Known] | None = None,
    goal: str | Goal = "maximise reward",
    limits: Sequence[str | Limit] = (),
    segments: Mapping[str, float] | None = None,
) -> tuple[Evidence, dict[int, Floats]]:
    """What a log tells of the problem that it makes with these limits, and what was measured in each arm's trials.

    >>> log = {"arm": ["a", "b", "b"], "reward": [1.0, 2.0, 4.0]}
    >>> log_evidence(log, "arm", "reward")[0].means
    array([[1.],
           [3.]])
    """
    asked = log_rows(goal, limits, bounds, reward)
    first, *rest = asked.metrics
    rows = read_groups(frame, arm, reward if first == "reward" else first, rest, drop_missing, segment)
    problem = log_problem(list(rows), bounds, known, asked.goal, limits, segments)
    tables = {problem.index(*group): problem.rows.measure(table) for group, table in rows.items()}
    none = np.empty((0, len(problem.measures)))
    return Evidence(problem, [_moments(tables.get(place, none)) for place in range(len(problem.cells))]), tables


def crowd_note(evidence: Evidence, arm: str, segment: str | None) -> str:
    """Asks whether the right column was named, where there are very many arms (or segments) with hardly a trial.

    >>> log = {"price": [k / 7 for k in range(80)], "reward": [1.0] * 80}
    >>> crowd_note(log_evidence(log, "price", "reward")[0], "price", None)
    "There are 80 arms, most with one or two trials: is 'price' the column of arms?"
    """
    problem, counts = evidence.problem, evidence.counts
    trials = Counter[str]()
    for cell, count in zip(problem.cells, counts.tolist(), strict=True):
        trials[cell.arm] += count
    if _crowded(len(trials), list(trials.values())):
        return f"There are {len(trials):,} arms, most with one or two trials: is {arm!r} the column of arms?"
    number = len(problem.segments)
    if _crowded(number, counts.tolist()):
        few = "in most of which an arm has one or two trials"
        return f"There are {number:,} segments, {few}: is {segment!r} the column of segments?"
    return ""


def _crowded(number: int, counts: list[int]) -> bool:
    """Whether there are very many, and most of those that were tried at all have hardly a trial."""
    tried = [count for count in counts if count]
    return number >= CROWD and 2 * sum(count <= HARDLY for count in tried) > len(tried)


def of_log(
    log: Any, arm: str, reward: str, drop_missing: bool, segment: tuple[str, str] | None = None, **asked: Any
) -> tuple[Evidence, Flags]:
    """Sums of a log's trials, and which measures (K0, M) were always 0 or 1; ``asked`` are arguments of ``Problem``.

    Of a segment, which is a column and what it says, only its rows count.
    """
    wanted = log_rows(asked["goal"], asked["limits"], asked["bounds"], reward)
    first, *rest = wanted.metrics
    rows = read_segment(log, arm, reward if first == "reward" else first, rest, drop_missing, segment)
    arms = list(dict.fromkeys([*rows, *(asked.get("features") or ())]))
    problem, none = Problem(arms, **asked | {"goal": wanted.goal}), np.empty((0, len(wanted.metrics)))
    tables = [problem.rows.measure(rows.get(name, none)) for name in arms]
    moments = [Moments(len(problem.measures)).plus(table) for table in tables]
    return Evidence(problem, moments), np.array([np.isin(table, (0.0, 1.0)).all(axis=0) for table in tables])


def log_problem(
    groups: list[Group],
    bounds: Mapping[str, float] | None,
    known: Mapping[str, Known] | None,
    goal: str | Goal,
    limits: Sequence[str | Limit],
    segments: Mapping[str, float] | None,
    features: Mapping[str, Any] | None = None,
) -> Problem:
    """The problem of a log: its arms and segments in order of first appearance, and those that have features alone."""
    arms = list(dict.fromkeys([*(name for name, _ in groups), *(features or ())]))
    found = list(dict.fromkeys(group for _, group in groups if group is not None))
    if segments is None:
        return Problem(arms, bounds, known, goal=goal, limits=limits, segments=found or None, features=features)
    strange = [name for name in found if name not in segments]
    if strange or not found:
        what = f"a share of the segment {strange[0]!r} too" if strange else "a column with the segments, segment=..."
        raise checks.InvalidInput("segments", expected=what, got=checks.shown(dict(segments)), remedy="add it")
    return Problem(arms, bounds, known, goal=goal, limits=limits, segments=segments, features=features)


def _moments(table: Floats) -> Moments:
    moments = Moments(table.shape[1])
    moments.add(table)
    return moments
