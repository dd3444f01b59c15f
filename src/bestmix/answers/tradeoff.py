"""What another limit would earn: the value of the best mix against one bound that moves."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bestmix import checks
from bestmix.answers import certainty, noisy_program
from bestmix.answers.certificate import reward_interval
from bestmix.answers.evidence import Evidence
from bestmix.answers.logs.feature_columns import log_features
from bestmix.answers.logs.from_log import log_evidence
from bestmix.answers.markov import seen_along
from bestmix.answers.noisy_program import NoisyProgram
from bestmix.answers.program_certificate import value_interval
from bestmix.answers.program_safety import safe_program_mix
from bestmix.answers.programs import program_of
from bestmix.answers.recommend import LEVEL, recommend
from bestmix.answers.recommendation import Recommendation, finite
from bestmix.answers.safety import Estimates, chosen, estimates, safe_mix, usable
from bestmix.answers.tradeoff_program import walk_limit
from bestmix.answers.tradeoff_sources import chosen_cost, is_simple, moved_limit, of_log, of_recommendation
from bestmix.arrays import Flags, Floats
from bestmix.problems.goals import Goal
from bestmix.problems.instance import Instance
from bestmix.problems.layouts import places
from bestmix.problems.limits import Limit
from bestmix.problems.parametric import Knot, walk_bound
from bestmix.problems.problem import Known, Problem
from bestmix.problems.quantities import Ratio, Share, Tail
from bestmix.problems.rows import is_bound
from bestmix.problems.segment_instance import SegmentInstance
from bestmix.problems.solution import solve_means

POINTS = 25  # of the curve of the safe mix
BEYOND = 0.25  # of the range in which the bound binds: the safe mix goes on to gain above it
FAR = 4.0  # ranges above the one in which the bound binds: a bound beyond is not shown
DOUBLINGS, HALVINGS = 7, 4  # of the way beyond the bounds shown, to the first that has a safe mix
ORDERS = 100.0  # of costs: from here on bounds are spaced by factors
CHANGES = (0.2, -0.2)  # of the bound, that sentences are about
REWARD = Goal()  # what is aimed at where nothing else is asked


@dataclass(frozen=True)
class Piece:
    """A range of the bound on which the same arms are mixed: value and shares are linear in the bound.

    ``slope`` is the shadow price: what the value gains per unit of the bound. Where the limit no longer binds the piece
    has no end: no upper one, or for a limit of the form "at least" no lower one.
    """

    low: float
    high: float
    low_value: float
    high_value: float
    slope: float
    support: tuple[str, ...]
    low_mixture: Mapping[str, float]
    high_mixture: Mapping[str, float]

    def value(self, bound: float) -> float:
        """The value at a bound within the piece."""
        if math.isinf(self.low):
            return self.high_value + self.slope * (bound - self.high)
        return self.low_value + self.slope * (bound - self.low)

    def mixture(self, bound: float) -> dict[str, float]:
        """The mix at a bound within the piece."""
        finite = math.isfinite(self.high - self.low)
        share = (bound - self.low) / (self.high - self.low) if finite else 0.0
        ends = [(arm, self.low_mixture.get(arm, 0.0), self.high_mixture.get(arm, 0.0)) for arm in self.support]
        mixture = {arm: (1 - share) * low + share * high for arm, low, high in ends}
        return {arm: p for arm, p in mixture.items() if p > 0}

    def to_dict(self) -> dict[str, Any]:
        """Plain data; no end is None."""
        plain: dict[str, Any] = finite(vars(self))
        return plain


@dataclass(frozen=True)
class SafePoint:
    """The mix that keeps all limits with the wanted certainty at one bound, and the 95% interval of its value."""

    bound: float
    value: float
    interval: tuple[float, float]
    mixture: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain: dict[str, Any] = finite(vars(self))
        return plain


class Outcome(NamedTuple):
    """The best mix at one bound; without a mix, and with a value of NaN, where none keeps the limits."""

    bound: float
    feasible: bool
    value: float
    mixture: Mapping[str, float]
    price: float


@dataclass(frozen=True)
class TradeOff:
    """Value of the best mix against the bound of one limit, all others as they are, in the units of goal and limit.

    Attributes
    ----------
    cost, bound
        Which bound moves, and where it stands.
    pieces
        Ranges of the bound, ascending, with exact ends: the support changes there. Empty when the other limits cannot
        be kept, whatever this one is.
    safe
        The safe mix at bounds for which there is one; empty where means are given rather than estimated.
    safety
        Its certainty to keep all limits; None when it was not asked for.
    goal
        What is to be as large, or as small, as possible.
    limit
        The limit as it stands.
    estimated
        Whether the means are estimates, or given.
    note
        What else is to be said of the estimates.
    """

    cost: str
    bound: float
    pieces: tuple[Piece, ...]
    safe: tuple[SafePoint, ...] = ()
    safety: float | None = None
    goal: Goal = REWARD
    limit: Limit | None = None
    estimated: bool = True
    note: str = ""

    @property
    def label(self) -> str:
        """What is limited."""
        if self.limit is None or is_bound(self.limit):
            return self.cost
        quantity, arm, segment = self.limit.quantity, self.limit.arm, self.limit.segment
        relative = "" if arm is None else f" / {quantity}({arm})"
        return f"{quantity}{relative}{'' if segment is None else f' in {segment}'}"

    @property
    def at_least(self) -> bool:
        """Whether the limit is of the form "at least": a larger bound is the tighter one."""
        return self.limit is not None and self.limit.relation == ">="

    @property
    def tightest(self) -> float:
        """The tightest bound that some mix keeps; NaN when there is none."""
        if not self.pieces:
            return math.nan
        return self.pieces[-1].high if self.at_least else self.pieces[0].low

    @property
    def loosest(self) -> float:
        """The bound from which on it no longer binds; NaN when there is none."""
        if not self.pieces:
            return math.nan
        return self.pieces[0].high if self.at_least else self.pieces[-1].low

    @property
    def least(self) -> float:
        """The smallest bound of the range in which it binds and can be kept; NaN when there is none."""
        return self.loosest if self.at_least else self.tightest

    @property
    def most(self) -> float:
        """The largest bound of the range in which it binds and can be kept; NaN when there is none."""
        return self.tightest if self.at_least else self.loosest

    @property
    def knots(self) -> list[tuple[float, float]]:
        """Bounds at which the arms of the mix change, with the value there; one for each piece, at its tight end."""
        if self.at_least:
            return [(piece.high, piece.high_value) for piece in self.pieces]
        return [(piece.low, piece.low_value) for piece in self.pieces]

    def stands_in(self, piece: Piece) -> bool:
        """Whether the bound as it is lies in this piece."""
        inside = piece.low < self.bound <= piece.high, piece.low <= self.bound < piece.high
        return inside[0] if self.at_least else inside[1]

    def keepable(self, bound: float) -> bool:
        """Whether some mix keeps this bound."""
        return bound <= self.tightest if self.at_least else bound >= self.tightest

    def at(self, bound: float) -> Outcome:
        """The best mix at another bound.

        >>> found = tradeoff(Instance([1.0, 1.75, 2.0], [[0.0, 1.0, 2.0]], [1.0]))
        >>> found.at(1.5).value, found.at(1.5).mixture, found.at(-1.0).feasible
        (1.875, {'arm1': 0.5, 'arm2': 0.5}, False)
        """
        if not isinstance(bound, (int, float)) or not math.isfinite(bound):
            raise checks.InvalidInput("bound", expected="a finite number", got=checks.shown(bound))
        inside = [piece for piece in self.pieces if piece.low <= bound <= piece.high]
        if not inside:
            return Outcome(bound, False, math.nan, {}, math.nan)
        piece = inside[0 if self.at_least else -1]
        return Outcome(bound, True, piece.value(bound), piece.mixture(bound), piece.slope)

    def safe_at(self, bound: float) -> SafePoint | None:
        """The safe mix at one of the bounds that were looked at; None for another, or where there is none."""
        return next((point for point in self.safe if point.bound == bound), None)

    @property
    def changed_bounds(self) -> tuple[float, ...]:
        """The bound 20% higher, and 20% lower, as far as a mix keeps it; one of zero moves by 20% of its range."""
        size = abs(self.bound) or self.most - self.least or 1.0
        moved = [self.possible(self.bound + change * size) for change in CHANGES]
        return tuple(bound for bound in moved if bound != self.bound)

    def possible(self, bound: float) -> float:
        """A bound, or the tightest that some mix keeps where none keeps it; shares and chances are from 0 to 1."""
        if self.keepable(self.bound) and not self.keepable(bound):
            bound = self.tightest
        chance = self.limit is not None and isinstance(self.limit.quantity, Tail | Share)
        return min(max(bound, 0.0), 1.0) if chance and 0.0 <= self.bound <= 1.0 else bound

    def sentences(self) -> list[str]:
        """What the limit costs, and what another would earn."""
        from bestmix.answers.tradeoff_wording import sentences

        return sentences(self)

    def __str__(self) -> str:
        from bestmix.answers.tradeoff_wording import text

        return text(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without NaN or infinities."""
        now = self.at(self.bound)
        data = {
            "cost": self.cost,
            "bound": self.bound,
            "goal": str(self.goal),
            "limit": None if self.limit is None else str(self.limit),
            "feasible": now.feasible,
            "value": now.value,
            "price": now.price,
            "least": self.least,
            "most": self.most,
            "pieces": [piece.to_dict() for piece in self.pieces],
            "safety": self.safety,
            "safe": [point.to_dict() for point in self.safe],
            "sentences": self.sentences(),
        }
        plain: dict[str, Any] = finite(data)
        return plain


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
    arm, reward, bounds, known, drop_missing, goal, limits, segment, segments, features
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
        evidence, binary = of_recommendation(source)
        return _with_own(_of_evidence(evidence, binary, cost, safety, points), source)
    if segment is not None:
        asked: dict[str, Any] = {"bounds": bounds, "known": known, "goal": goal, "limits": limits}
        evidence, _ = log_evidence(source, arm, reward, drop_missing, segment, segments=segments, **asked)
        return _of_evidence(evidence, None, cost, safety, points)
    asked = {"bounds": bounds, "known": known, "goal": goal, "limits": limits}
    if features is not None:
        asked["features"] = log_features(source, arm, features)
    return _of_evidence(*of_log(source, arm, reward, drop_missing, None, **asked), cost, safety, points)


def _with_own(found: TradeOff, rec: Recommendation) -> TradeOff:
    """With the recommendation's own mix at its own bound, and its interval, which knows more than means and errors."""
    if not rec.certified or rec.safety != found.safety or not found.safe or _more_certain(found, rec):
        return found
    own = SafePoint(found.bound, rec.value, rec.value_interval, dict(rec.mixture))
    others = [point for point in found.safe if point.bound != found.bound]
    return replace(found, safe=_rising(found, [own, *others], own))


def _more_certain(found: TradeOff, rec: Recommendation) -> bool:
    """Whether the recommended mix earns less because it is more certain than the line; its strategy asked for that."""
    point, surplus = found.safe_at(found.bound), (rec.certainty or 0.0) - (rec.safety or 0.0)
    return point is not None and surplus > 0 and rec.problem.goal.sign * (point.value - rec.value) > 0


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
            else replace(result, safe=_safe_program(result, evidence, safety, points), safety=safety)
        )
    problem, arms = evidence.problem, evidence.tried[evidence.tried < len(evidence.means)]
    names = [problem.names[a] for a in arms]
    result = _estimated(problem, names, evidence.means[arms], problem.bound, cost)
    return (
        result
        if safety is None
        else replace(result, safe=_safe(result, evidence, binary, safety, points), safety=safety)
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


# --- the safe mix ------------------------------------------------------------------------------------------------


def _safe(found: TradeOff, evidence: Evidence, binary: Flags, safety: float, points: int) -> tuple[SafePoint, ...]:
    if not found.pieces or evidence.pooled is None or evidence.vanishing.any():
        return ()
    data = _data(evidence, binary)
    return _curve(found, points, lambda bound: _safe_point(evidence, data, found.cost, bound, safety))


def _curve(found: TradeOff, points: int, find: Callable[[float], SafePoint | None]) -> tuple[SafePoint, ...]:
    """The safe mixes at the bounds to show; where none has one, the first looser bound that has."""
    curve = [point for bound in _bounds(found, points) if (point := find(bound)) is not None]
    return _rising(found, curve or _first_beyond(found, find))


def _first_beyond(found: TradeOff, find: Callable[[float], SafePoint | None]) -> list[SafePoint]:
    """The tightest bound beyond those shown that has a safe mix, to a few per cent; none where that is far away."""
    low, high = shown_range(found)
    start, step = (low, low - high) if found.at_least else (high, high - low)
    shares = found.limit is not None and isinstance(found.limit.quantity, Tail | Share)
    near, far, point = 0.0, 0.0, None
    for k in range(DOUBLINGS):
        near, far = far, 2.0**k / 4.0
        bound = start + far * step
        if abs(bound) > checks.LARGEST or (shares and not 0.0 <= bound <= 1.0) or (point := find(bound)):
            break
    for _ in range(HALVINGS if point else 0):
        middle = (near + far) / 2.0
        closer = find(start + middle * step)
        near, far, point = (middle, far, point) if closer is None else (near, middle, closer)
    return [point] if point else []


def _rising(found: TradeOff, points: Iterable[SafePoint], own: SafePoint | None = None) -> tuple[SafePoint, ...]:
    """Points by bound; a mix that is certain of a tighter bound is so of a looser one, where the own one earns less.

    Another support is in doubt at another bound, and asks for other margins: by itself the line may fall a little. What
    was recommended, ``own``, stays.
    """
    result: list[SafePoint] = []
    best: SafePoint | None = None
    for point in sorted(points, key=lambda point: point.bound, reverse=found.at_least):
        if best is None or found.goal.sign * (point.value - best.value) >= 0:
            best = point
        result.append(point if point is own else replace(best, bound=point.bound))
    return tuple(sorted(result, key=lambda point: point.bound))


def _bounds(found: TradeOff, points: int) -> list[float]:
    """Bounds to look at: evenly over those shown, where arms change, the bound itself and those that sentences tell."""
    low, high = shown_range(found)
    low, high = (low, min(high, found.tightest)) if found.at_least else (max(low, found.tightest), high)
    spaced = np.geomspace if low > 0 and high / low >= ORDERS else np.linspace
    known = (found.bound, *found.changed_bounds, *(bound for bound, _ in found.knots))
    own = [b for b in known if found.keepable(b) and abs(b) <= checks.LARGEST]
    wanted = sorted({*map(float, spaced(low, high, points)), *own})
    chances = found.limit is not None and isinstance(found.limit.quantity, Tail | Share)
    return [bound for bound in wanted if not chances or 0.0 <= bound <= 1.0]


def shown_range(found: TradeOff) -> tuple[float, float]:
    """Bounds to show: those that bind, a little beyond, and if that is near the bound as it is, 20% looser too."""
    span = (found.most - found.least) or abs(found.loosest) or 1.0
    loose = found.loosest + (-BEYOND if found.at_least else BEYOND) * span
    ends = [found.tightest, max(min(loose, checks.LARGEST), -checks.LARGEST)]
    if not found.keepable(found.bound):
        ends.append(min(max(found.bound, found.least - FAR * span), found.most + FAR * span))
    elif abs(found.bound - found.loosest) <= FAR * span:
        ends += [found.bound, *found.changed_bounds]
    return min(ends), max(ends)


def _safe_point(evidence: Evidence, data: Estimates, cost: str, bound: float, safety: float) -> SafePoint | None:
    """The safe mix at one bound; None when none is certain enough."""
    problem = evidence.problem
    moved = Evidence(moved_limit(problem, problem.costs.index(cost), bound), evidence.moments)
    solution = solve_means(moved.means, moved.problem.bound, moved.tried)
    chance = certainty.support_probability(certainty.z_scores(moved, solution)) if solution.feasible else None
    safe = safe_mix(data, moved.problem.bound, chance, safety)
    if not safe.certified:
        return None
    tried, sign = usable(data), problem.goal.sign
    low, high = reward_interval(chosen(data, tried), safe.mixture[tried], 1.0 - LEVEL)
    mixture = {name: float(p) for name, p in zip(problem.names, safe.mixture, strict=True) if p > 0}
    value = sign * float(safe.mixture[tried] @ data.means[tried, 0])
    return SafePoint(bound, value, (low, high) if sign > 0 else (-high, -low), mixture)


def _safe_program(found: TradeOff, evidence: Evidence, safety: float, points: int) -> tuple[SafePoint, ...]:
    if not found.pieces or not program_of(evidence).judgeable or evidence.vanishing.any():
        return ()
    if evidence.fit is not None:
        return _curve(found, points, lambda bound: _safe_fitted_point(evidence, found.cost, bound, safety))
    return _curve(found, points, lambda bound: _safe_program_point(evidence, found.cost, bound, safety))


def _safe_fitted_point(evidence: Evidence, cost: str, bound: float, safety: float) -> SafePoint | None:
    """``_safe_point`` where means are of one fit, and a bound is more than a right side: that of a ratio."""
    problem = moved_limit(evidence.problem, evidence.problem.costs.index(cost), bound)
    rec = recommend(Evidence(problem, evidence.moments), evidence.tried, strategy="", safety=safety)
    return SafePoint(bound, rec.value, rec.value_interval, dict(rec.mixture)) if rec.certified else None


def _safe_program_point(evidence: Evidence, cost: str, bound: float, safety: float) -> SafePoint | None:
    """``_safe_point`` on the program of a problem."""
    problem = evidence.problem
    program = program_of(Evidence(moved_limit(problem, problem.costs.index(cost), bound), evidence.moments))
    chance = noisy_program.solve(program).chance
    program, safe = seen_along(program, problem, lambda p: safe_program_mix(p, chance, safety))
    if not safe.certified:
        return None
    inner, some = noisy_program.restricted(program)
    low, high = value_interval(inner, safe.mixture[some.columns], 1.0 - LEVEL)
    value, sign = float(safe.mixture[some.columns] @ inner.entries()[0]), problem.goal.sign
    named = zip(places(problem), safe.mixture.tolist(), strict=True)
    mixture = {problem.names[place]: p for place, p in named if p > 0}
    return SafePoint(bound, sign * value, (low, high) if sign > 0 else (-high, -low), mixture)


def _data(evidence: Evidence, binary: Flags) -> Estimates:
    """Estimates of all arms; those that are known have no scatter and infinitely many trials."""
    if evidence.fit is not None:
        return evidence.deployable
    known = len(evidence.means) - len(evidence.moments)
    scatters = np.concatenate([evidence.scatters, np.zeros((known, *evidence.scatters.shape[1:]))])
    flags = np.vstack([binary, np.zeros((known, binary.shape[1]), dtype=np.bool_)])
    events = evidence.problem.rows.events(flags)
    counts = np.r_[evidence.counts, np.full(known, np.inf)]
    return estimates(evidence.means, scatters, counts, events, skew=evidence.row_skew)
