"""Rounds where there are segments, limits on shares, relative limits or partly known arms.

The decisions of Challenger and of SFSR-L on the noisy program of the problem. Where users arrive, a segment has as many
trials of a round as it has users.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bestmix.answers.evidence import Evidence
from bestmix.answers.programs import segment_shares
from bestmix.answers.recommendation import ELASTIC
from bestmix.arrays import Floats, Integers
from bestmix.kernels import jit, segment_allocation, segment_conditions, segment_rejects, segment_state, simplex
from bestmix.kernels.conditions import Settings
from bestmix.kernels.segment_state import TriedState
from bestmix.problems.layouts import layout_of, places
from bestmix.problems.problem import Problem
from bestmix.problems.solution import check_settled

STEPS = 50  # of innermost loops in a decision, for each entry of the program, about


class Decision(NamedTuple):
    """What a round's end decides: z-scores by name, whether the run may stop, and the next round's trials."""

    scores: dict[str, float]
    over: bool
    quota: list[int]
    reasons: dict[str, dict[str, int]]


def decide(evidence: Evidence, settings: Settings, size: int, arriving: bool) -> Decision:
    """Find the conditions in doubt and decide on the next round of ``size`` trials."""
    problem, at = evidence.problem, places(evidence.problem)
    tried, speed = _tried(evidence)
    state = tried.state
    z = speed(segment_conditions.z_scores)(state.program, state.conditions, state.counts)
    scores = _scores(problem, tried.columns, z)
    if size <= 0 or speed(segment_allocation.stops)(settings, state):
        return Decision(scores, True, [], {})
    shares = segment_shares(evidence)[0]
    room = capacities(shares, size) if arriving else np.full(len(shares), size)
    rows, counts = layout_of(problem), _counts(evidence)
    plan = speed(segment_allocation.plan_round)(rows, counts, tried, size, room, not arriving)
    quota = np.zeros(len(at), dtype=np.int64)
    quota[at] = plan.trials
    return Decision(scores, False, quota[: len(problem.cells)].tolist(), _reasons(problem, plan))


def plan_ahead(evidence: Evidence, ahead: Floats, size: int, room: Integers) -> Integers:
    """Trials of each column of the program (n,) that help most, at most ``room`` (S,) in each segment.

    ``ahead`` (n,) are trials that are going to be made in any case: they count as if they had been.
    """
    tried, speed = _tried(evidence)
    counts = _counts(evidence)
    tried = tried._replace(state=tried.state._replace(counts=(counts + ahead)[tried.columns]))
    plan = speed(segment_allocation.plan_round)(layout_of(evidence.problem), counts, tried, size, room, False)
    return np.asarray(plan.trials)


def _tried(evidence: Evidence) -> tuple[TriedState, jit.Speed]:
    """The solved program of what was tried or is known, and how to call kernels on it."""
    problem, at = evidence.problem, places(evidence.problem)
    shares, arrivals = segment_shares(evidence)
    known = len(at) - len(evidence.moments)
    measures = len(problem.measures)
    scatters = np.concatenate([evidence.measured_scatters, np.zeros((known, measures, measures))])[at]
    means = np.nan_to_num(evidence.measured[at])
    speed = jit.speed_for(STEPS * len(at) * (1 + len(problem.limits)))
    tried = speed(segment_state.tried_state)(layout_of(problem), shares, arrivals, _counts(evidence), means, scatters)
    check_settled(simplex.STALLED if tried.state.status == simplex.STALLED else simplex.OPTIMAL)
    return tried, speed


def reject(evidence: Evidence, remaining: Sequence[int]) -> tuple[dict[int, float], int | None]:
    """Scores of the problem's columns that could be rejected, and the one to reject; None when a basis is left."""
    problem, at = evidence.problem, places(evidence.problem)
    # Columns of the program in order of segments, and then the slacks: their numbers in the problem.
    order = np.r_[at, np.arange(len(at), len(problem.columns))]
    rows, (shares, _) = layout_of(problem), segment_shares(evidence)
    score, left = np.empty(len(order)), np.isin(order, remaining)
    counts = np.r_[evidence.counts.astype(np.float64), np.full(len(at) - len(evidence.moments), np.inf)][at]
    speed = jit.speed_for(STEPS * len(at) * (1 + len(problem.limits)))
    loser = int(speed(segment_rejects.loser)(rows, shares, counts, np.nan_to_num(evidence.measured[at]), left, score))
    scores = {int(order[j]): float(score[j]) for j in range(len(order)) if np.isfinite(score[j])}
    return scores, None if loser < 0 else int(order[loser])


def _counts(evidence: Evidence) -> Floats:
    """Trials of each column of the program (n,); infinite for known ones."""
    at = places(evidence.problem)
    known = np.full(len(at) - len(evidence.moments), np.inf)
    return np.asarray(np.r_[evidence.counts.astype(np.float64), known][at])


def capacities(shares: Floats, size: int) -> Integers:
    """Trials that each segment has in a round of ``size`` users (S,), rounded up.

    >>> capacities(np.array([0.7, 0.3]), 9)
    array([7, 3])
    """
    return np.ceil(shares * size).astype(np.int64)


def _label(problem: Problem, j: int) -> str:
    """Name of a condition of the program: a column, a slack, or whether any mix is feasible."""
    at, limits = places(problem), len(problem.limits)
    if j < len(at):
        return str(problem.names[at[j]])
    return problem.columns[j] if j < len(at) + limits else ELASTIC


def _scores(problem: Problem, tried: Integers, z: Floats) -> dict[str, float]:
    """z-scores by name; those that are infinite are left out."""
    inner, everything = len(tried), len(places(problem))
    named: dict[str, float] = {}
    for j, score in enumerate(z[: inner + len(problem.limits)].tolist()):
        if abs(score) < np.inf:
            named[_label(problem, int(tried[j]) if j < inner else everything + j - inner)] = score
    return named


def _reasons(problem: Problem, plan: Any) -> dict[str, dict[str, int]]:
    reasons: dict[str, dict[str, int]] = {}
    for k in range(int(plan.used[0])):
        spent = reasons.setdefault(_label(problem, int(plan.column[k])), {})
        what = _label(problem, int(plan.reason[k]))
        spent[what] = spent.get(what, 0) + int(plan.amount[k])
    return reasons
