"""Rounds where there are segments, states, limits on shares, relative limits or partly known arms.

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
from bestmix.kernels import (
    jit,
    segment_allocation,
    segment_conditions,
    segment_feasibility,
    segment_rejects,
    segment_state,
    simplex,
)
from bestmix.kernels.conditions import RESERVE, Settings
from bestmix.kernels.layout import Layout
from bestmix.problems.layouts import layout_of, places
from bestmix.problems.problem import Problem
from bestmix.problems.solution import check_settled
from bestmix.strategies import money
from bestmix.strategies.purse import Purse

STEPS = 50  # of innermost loops in a decision, for each entry of the program, about


class Decision(NamedTuple):
    """What a round's end decides: z-scores by name, whether the run may stop, and the next round's trials.

    ``least`` is the smallest z-score of the conditions whose failure would change the answer.
    """

    scores: dict[str, float]
    least: float
    over: bool
    quota: list[int]
    reasons: dict[str, dict[str, int]]


class Sight(NamedTuple):
    """A solved program with its conditions: how to call kernels, its layout, the counts of columns, and the state."""

    speed: jit.Speed
    rows: Layout
    shares: Floats
    counts: Floats
    tried: segment_state.TriedState
    scores: dict[str, float]
    least: float


def look(evidence: Evidence) -> Sight:
    """Solve the program at the estimates."""
    problem, at = evidence.problem, places(evidence.problem)
    rows, (shares, arrivals) = layout_of(problem), segment_shares(evidence)
    known = len(at) - len(evidence.moments)
    counts = _counts(evidence)
    measures = len(problem.measures)
    scatters = np.concatenate([evidence.measured_scatters, np.zeros((known, measures, measures))])[at]
    means = np.nan_to_num(evidence.measured[at])
    speed = jit.speed_for(STEPS * len(at) * (1 + len(problem.limits)))
    tried = speed(segment_state.tried_state)(rows, shares, arrivals, counts, means, scatters)
    check_settled(simplex.STALLED if tried.state.status == simplex.STALLED else simplex.OPTIMAL)
    state = tried.state
    z = speed(segment_conditions.z_scores)(state.program, state.conditions, state.counts)
    least = float(np.min(z[~state.conditions.harmless], initial=np.inf))
    return Sight(speed, rows, shares, counts, tried, _scores(problem, tried.columns, z), least)


def decide(
    evidence: Evidence, settings: Settings, size: int, arriving: bool, under_way: Sequence[int] = ()
) -> Decision:
    """Find the conditions in doubt and decide on the next round of ``size`` trials.

    Trials ``under_way`` of each arm count for what is planned, not for what is known.
    """
    problem, at = evidence.problem, places(evidence.problem)
    seen = look(evidence)
    found = seen.scores, seen.least
    if size <= 0 or seen.speed(segment_allocation.stops)(settings, seen.tried.state):
        return Decision(*found, True, [], {})
    room = segment_allocation.capacities(seen.shares, size) if arriving else np.full(len(seen.shares), size)
    ahead = np.zeros(len(at))
    ahead[: len(under_way)] = under_way
    plan = _planned(seen, ahead[at], size, settings.reserve.share, room, fill=True)
    quota = np.zeros(len(at), dtype=np.int64)
    quota[at] = plan.trials
    return Decision(*found, False, quota[: len(problem.cells)].tolist(), _reasons(problem, plan))


def plan_ahead(evidence: Evidence, ahead: Floats, size: int, room: Integers) -> Integers:
    """Trials of each column of the program (n,) that help most, at most ``room`` (S,) in each segment.

    ``ahead`` (n,) are trials that are going to be made in any case: they count as if they had been.
    """
    return np.asarray(_planned(look(evidence), ahead, size, RESERVE.share, room, fill=False).trials)


def _planned(
    seen: Sight, ahead: Floats, size: int, reserve: float, room: Integers, fill: bool
) -> segment_allocation.Plan:
    """The next round, with trials ``ahead`` (n,) as if they had been made."""
    state = seen.tried.state._replace(counts=(seen.counts + ahead)[seen.tried.columns])
    tried = seen.tried._replace(state=state)
    return seen.speed(segment_allocation.plan_round)(seen.rows, seen.counts, tried, size, reserve, room, fill)


def decide_paid(evidence: Evidence, settings: Settings, purse: Purse, amount: float) -> Decision:
    """The same for an amount of money; every arm has trials."""
    problem, at = evidence.problem, places(evidence.problem)
    seen = look(evidence)
    state, found = seen.tried.state, (seen.scores, seen.least)
    if amount <= 0 or seen.speed(segment_allocation.stops)(settings, state):
        return Decision(*found, True, [], {})
    cells, columns = len(problem.cells), at[seen.tried.columns]
    plan = money.plan_round(money.condition_gains(_doubts(seen, columns, cells), settings.reserve), purse, amount)
    # Conditions of the tried columns, then those of slacks: their numbers among all columns of the program.
    places_of = np.r_[seen.tried.columns, np.arange(len(at), len(at) + len(state.conditions.gap) - len(columns) + 1)]
    reasons = {
        problem.names[arm]: {_label(problem, int(places_of[j])): n for j, n in spent.items()}
        for arm, spent in plan.reasons.items()
    }
    return Decision(*found, False, plan.trials.tolist(), reasons)


def _doubts(seen: Sight, columns: Integers, cells: int) -> money.Doubts:
    """The conditions with their terms by what can be tried."""
    state = seen.tried.state
    program, found, inner = state.program, state.conditions, len(columns)
    terms, fixed = np.zeros((len(found.gap), inner)), np.zeros(len(found.gap))
    unit = np.full(inner, np.inf)
    for place in range(inner):  # a variance is linear in 1 / trials: what one trial of each column alone leaves of it
        unit[place] = 1.0
        seen.speed(segment_conditions.variances)(program, found, unit, terms[:, place])
        unit[place] = np.inf
    seen.speed(segment_conditions.variances)(program, found, unit, fixed)
    terms -= fixed[:, None]
    terms[found.harmless], fixed[found.harmless] = 0.0, 0.0
    gain = np.zeros(inner)
    doubt = seen.speed(segment_feasibility.in_doubt)(state, gain)
    by_cell, feasible = np.zeros((len(found.gap), cells)), np.zeros(cells)
    tried = columns < cells
    by_cell[:, columns[tried]], feasible[columns[tried]] = terms[:, tried], gain[tried]
    return money.Doubts(np.array(found.gap), by_cell, fixed, feasible if doubt else None)


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
