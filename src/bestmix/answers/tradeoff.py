"""What another limit would earn: the value of the best mix against one bound that moves."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.answers.logs.evidence import evidence_of
from bestmix.answers.noisy_program import NoisyProgram
from bestmix.answers.programs import program_of
from bestmix.answers.recommendation import Recommendation
from bestmix.answers.safety import Estimates
from bestmix.answers.tradeoff_curve import Piece, SafePoint, TradeOff
from bestmix.answers.tradeoff_program import walk_limit
from bestmix.answers.tradeoff_safe import rising, safe_points, safe_program_points
from bestmix.answers.tradeoff_sources import chosen_cost, is_simple, of_recommendation
from bestmix.arrays import Flags, Floats
from bestmix.problems.goals import Goal
from bestmix.problems.instance import Instance
from bestmix.problems.known import Known
from bestmix.problems.layouts import places
from bestmix.problems.limits import Limit
from bestmix.problems.parametric import Knot, walk_bound
from bestmix.problems.problem import Problem
from bestmix.problems.quantities import Ratio
from bestmix.problems.segment_instance import SegmentInstance

POINTS = 25  # of the curve of the safe mix
SEEN = 0.01  # of an interval: a difference below it is none


def tradeoff(
    source: Any,
    cost: str | None = None,
    *,
    arm: str = "arm",
    reward: str = "reward",
    bounds: Mapping[str, float] | None = None,
    known: Mapping[str, Known] | None = None,
    safety: float | None = 0.95,
    points: int = POINTS,
    drop_missing: bool = False,
    goal: str | Goal = "maximise reward",
    limits: Sequence[str | Limit] = (),
    segment: str | None = None,
    segments: Mapping[str, float] | None = None,
    discount: float | None = None,
    start: str | Mapping[str, float] | None = None,
    next_state: str = "next",
    features: Sequence[str] | Mapping[str, Any] | None = None,
) -> TradeOff:
    """Value of the best mix against the bound of one limit, of any kind but an equality.

    Parameters
    ----------
    source
        A recommendation, an instance, or a log as in ``from_log``.
    cost
        Whose bound moves: a cost, or the text of a limit; the first by default. That of a relative limit is its factor;
        between the knots of a ratio the curve is straight to a ten thousandth of its range.
    arm, reward, bounds, known, drop_missing, goal, limits, segment, segments, discount, start, next_state, features
        Of a log, as in ``from_log``.
    safety
        Certainty with which the safe mix keeps all limits; None leaves it out. An instance has none.
    points
        About how many bounds the safe mix is found for.

    Examples
    --------
    >>> found = tradeoff(Instance([1.0, 1.75, 2.0], [[0.0, 1.0, 2.0]], [1.0], costs=["dollars"]), "dollars")
    >>> [(piece.low, piece.high, piece.slope, piece.support) for piece in found.pieces]
    [(0.0, 1.0, 0.75, ('arm0', 'arm1')), (1.0, 2.0, 0.25, ('arm1', 'arm2')), (2.0, inf, 0.0, ('arm2',))]
    >>> print(found.sentences()[1])
    A limit on dollars that is 20% higher (1.2 instead of 1) would earn 0.050 more (1.750 -> 1.800).
    """
    safety = checks.safety(safety)
    checks.whole("points", points, 2, f"{POINTS} is a good number")
    if isinstance(source, SegmentInstance):
        return replace(_of_program(_true_program(source), source.problem, cost), estimated=False)
    if isinstance(source, Instance):
        found = _estimated(source.problem, source.arms, source.means, source.bound, cost)
        return replace(found, estimated=False)
    if isinstance(source, Recommendation):
        own = of_recommendation(source)
        return _with_own(_of_evidence(*own, cost, safety, points), source)
    evidence, binary = evidence_of(
        source,
        arm,
        reward,
        drop_missing,
        segment,
        bounds=bounds,
        known=known,
        goal=goal,
        limits=limits,
        segments=segments,
        discount=discount,
        start=start,
        next_state=next_state,
        features=features,
    )
    return _of_evidence(evidence, binary, cost, safety, points)


def _with_own(found: TradeOff, rec: Recommendation) -> TradeOff:
    """With the recommendation's own mix at its own bound, and its interval, which knows more than means and errors."""
    if not rec.certified or rec.safety != found.safety or not found.safe or _more_certain(found, rec):
        return found
    own = SafePoint(found.bound, rec.value, rec.value_interval, dict(rec.mixture))
    others = [point for point in found.safe if point.bound != found.bound]
    return replace(found, safe=rising(found, [own, *others], own))


def _more_certain(found: TradeOff, rec: Recommendation) -> bool:
    """Whether the recommended mix earns less because it is more certain than the line; its strategy asked for that."""
    point, surplus = found.safe_at(found.bound), (rec.certainty or 0.0) - (rec.safety or 0.0)
    if point is None or surplus <= 0:
        return False
    low, high = point.interval
    return rec.problem.goal.sign * (point.value - rec.value) > SEEN * (high - low)


def _of_evidence(
    evidence: Evidence, binary: Flags | None, cost: str | None, safety: float | None, points: int
) -> TradeOff:
    """The curve at the estimates with the safe mix, and what is to be said of them."""
    return replace(_curve_of(evidence, binary, cost, safety, points), note=evidence.fit_note)


def _curve_of(
    evidence: Evidence, binary: Flags | None, cost: str | None, safety: float | None, points: int
) -> TradeOff:
    """The curve at the estimates with the safe mix; ``binary`` says which measures are 0 or 1, None with segments."""
    ratios = any(isinstance(limit.quantity, Ratio) for limit in evidence.problem.limits)
    if binary is None or ratios or not (is_simple(evidence.problem) or evidence.fit is not None):
        result = _of_program(program_of(evidence), evidence.problem, cost)
        return (
            result
            if safety is None
            else replace(result, safe=safe_program_points(result, evidence, safety, points), safety=safety)
        )
    problem, arms = evidence.problem, evidence.tried[evidence.tried < len(evidence.means)]
    names = [problem.names[a] for a in arms]
    result = _estimated(problem, names, evidence.means[arms], problem.bound, cost)
    return (
        result
        if safety is None
        else replace(result, safe=safe_points(result, evidence, binary, safety, points), safety=safety)
    )


def _estimated(problem: Problem, names: Sequence[str], means: Floats, bound: Floats, cost: str | None) -> TradeOff:
    """The curve at the estimates, or at given means."""
    cost = chosen_cost(problem, cost)
    place = problem.costs.index(cost)
    knots = walk_bound(means, bound, place) if len(means) else []
    pieces = [_in_units(piece, problem.limits[place], problem.goal) for piece in _pieces(knots[::-1], names)]
    ascending = sorted(pieces, key=lambda piece: piece.low)
    return TradeOff(cost, problem.bounds[cost], tuple(ascending), goal=problem.goal, limit=problem.limits[place])


def _of_program(program: NoisyProgram, problem: Problem, cost: str | None) -> TradeOff:
    """The curve of a program with segments, or of limits of other kinds."""
    cost = chosen_cost(problem, cost)
    place = problem.costs.index(cost)
    limit, goal = problem.limits[place], problem.goal
    knots, columns = walk_limit(program, problem, place)
    names = [problem.names[places(problem)[j]] for j in columns]
    pieces = [_in_units(piece, limit, goal) for piece in _pieces(knots[::-1], names)]
    return TradeOff(cost, limit.bound, tuple(sorted(pieces, key=lambda p: p.low)), goal=goal, limit=limit)


def _true_program(instance: SegmentInstance) -> NoisyProgram:
    """The program of an instance: every column is known."""
    n, metrics = instance.columns.shape
    flags = np.zeros((n, metrics), dtype=np.int8)
    data = Estimates(instance.columns, np.zeros((n, metrics, metrics)), np.full(n, np.inf), flags)
    return NoisyProgram(instance.layout, instance.weight, 0.0, data)


def _in_units(piece: Piece, limit: Limit, goal: Goal) -> Piece:
    """A piece of a limit "at most" and of a goal to maximise, in the units of the limit and of the goal."""
    low, high = goal.sign * piece.low_value + 0.0, goal.sign * piece.high_value + 0.0
    slope = goal.sign * limit.sign * piece.slope + 0.0
    if limit.sign > 0:
        return replace(piece, low_value=low, high_value=high, slope=slope)
    ends = -piece.high + 0.0, -piece.low + 0.0
    return Piece(*ends, high, low, slope, piece.support, piece.high_mixture, piece.low_mixture)


def _pieces(knots: Sequence[Knot], names: Sequence[str]) -> Iterable[Piece]:
    """Between neighbours, ascending, and from the last on."""
    mixes = [{name: float(p) for name, p in zip(names, knot.mixture, strict=True) if p > 0} for knot in knots]
    for low, high, below, above in zip(knots, knots[1:], mixes, mixes[1:], strict=False):
        support = tuple(name for name in names if name in below or name in above)
        yield Piece(low.bound, high.bound, low.value, high.value, low.slope, support, below, above)
    for last, mix in zip(knots[-1:], mixes[-1:], strict=True):
        yield Piece(last.bound, math.inf, last.value, last.value, 0.0, tuple(mix), mix, mix)
