"""What another limit would earn: the value of the best mix against one bound that moves."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bestmix import checks
from bestmix.answers import certainty
from bestmix.answers.certificate import reward_interval
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.recommend import LEVEL
from bestmix.answers.recommendation import Estimate, Recommendation, finite
from bestmix.answers.safety import Estimates, chosen, estimates, safe_mix, usable
from bestmix.answers.tables import read_trials
from bestmix.arrays import Flags, Floats
from bestmix.problems.instance import Instance
from bestmix.problems.parametric import Knot, walk_bound
from bestmix.problems.problem import Known, Problem
from bestmix.problems.solution import solve_means

POINTS = 25  # of the curve of the safe mix
BEYOND = 0.25  # of the range in which the bound binds: the safe mix goes on to gain above it
ORDERS = 100.0  # of costs: from here on bounds are spaced by factors
CHANGES = (0.2, -0.2)  # of the bound, that sentences are about
EXACT = 1e-9  # relative rounding of a variance that was read back from an interval


@dataclass(frozen=True)
class Piece:
    """A range of the bound on which the same arms are mixed: value and shares are linear in the bound.

    ``slope`` is the shadow price: what the value gains per unit of the bound. The last piece has no upper end; there
    the limit no longer binds.
    """

    low: float
    high: float
    low_value: float
    high_value: float
    slope: float
    support: tuple[str, ...]
    low_mixture: Mapping[str, float]
    high_mixture: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Plain data; no upper end is None."""
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
    """Value of the best mix against the bound on one cost, all other limits as they are.

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
    """

    cost: str
    bound: float
    pieces: tuple[Piece, ...]
    safe: tuple[SafePoint, ...] = ()
    safety: float | None = None

    @property
    def least(self) -> float:
        """The smallest bound that some mix keeps; NaN when there is none."""
        return self.pieces[0].low if self.pieces else math.nan

    @property
    def most(self) -> float:
        """The bound from which on it no longer binds; NaN when there is none."""
        return self.pieces[-1].low if self.pieces else math.nan

    def at(self, bound: float) -> Outcome:
        """The best mix at another bound.

        >>> found = tradeoff(Instance([1.0, 1.75, 2.0], [[0.0, 1.0, 2.0]], [1.0]))
        >>> found.at(1.5).value, found.at(1.5).mixture, found.at(-1.0).feasible
        (1.875, {'arm1': 0.5, 'arm2': 0.5}, False)
        """
        piece = next((p for p in reversed(self.pieces) if p.low <= bound), None)
        if piece is None:
            return Outcome(bound, False, math.nan, {}, math.nan)
        share = (bound - piece.low) / (piece.high - piece.low) if math.isfinite(piece.high) else 0.0
        value = (1 - share) * piece.low_value + share * piece.high_value
        ends = [(arm, piece.low_mixture.get(arm, 0.0), piece.high_mixture.get(arm, 0.0)) for arm in piece.support]
        mixture = {arm: (1 - share) * low + share * high for arm, low, high in ends}
        return Outcome(bound, True, value, {arm: p for arm, p in mixture.items() if p > 0}, piece.slope)

    def safe_at(self, bound: float) -> SafePoint | None:
        """The safe mix at one of the bounds that were looked at; None for another, or where there is none."""
        return next((point for point in self.safe if point.bound == bound), None)

    @property
    def changed_bounds(self) -> tuple[float, ...]:
        """The bound 20% higher, and 20% lower; one of zero moves by 20% of its range."""
        size = abs(self.bound) or self.most - self.least or 1.0
        return tuple(self.bound + change * size for change in CHANGES)

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
) -> TradeOff:
    """Value of the best mix against the bound on one cost.

    Parameters
    ----------
    source
        A recommendation, an instance, or a log as in ``from_log``.
    cost
        Whose bound moves; the first by default.
    arm, reward, bounds, known, drop_missing
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
    if safety is not None and not 0 < checks.number("safety", safety) < 1:
        raise checks.InvalidInput("safety", expected="between 0 and 1", got=safety, remedy="0.95 is usual")
    checks.whole("points", points, 2, f"{POINTS} is a good number")
    if isinstance(source, Instance):
        return _estimated(source.problem, source.arms, source.means, source.bound, cost)
    if isinstance(source, Recommendation):
        evidence, binary = _from_recommendation(source)
    else:
        costs = dict(checks.mapping("bounds", bounds or {}, "of cost columns to bounds"))
        rows = read_trials(source, arm, reward, list(costs), drop_missing)
        evidence = Evidence(Problem(list(rows), costs, known), [Moments(1 + len(costs)).plus(t) for t in rows.values()])
        binary = np.array([np.isin(table, (0.0, 1.0)).all(axis=0) for table in rows.values()])
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
    cost = _chosen_cost(problem, cost)
    knots = walk_bound(means, bound, problem.costs.index(cost)) if len(means) else []
    return TradeOff(cost, problem.bounds[cost], tuple(_pieces(knots[::-1], names)))


def _chosen_cost(problem: Problem, cost: str | None) -> str:
    if not problem.costs or (cost is not None and cost not in problem.costs):
        choices = f"one of {', '.join(problem.costs)}" if problem.costs else "a problem with a bound"
        raise checks.InvalidInput("cost", expected=choices, got=checks.shown(cost), remedy="check the spelling")
    return problem.costs[0] if cost is None else cost


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
    if not found.pieces or evidence.pooled is None:
        return ()
    data = _data(evidence, binary)
    curve = [_safe_point(evidence, data, found.cost, bound, safety) for bound in _bounds(found, points)]
    return tuple(point for point in curve if point is not None)


def _bounds(found: TradeOff, points: int) -> list[float]:
    """Bounds to look at: evenly over the range and a little beyond, the bound itself and those that sentences tell."""
    least, most = found.least, found.most
    end = min(most + BEYOND * ((most - least) or abs(most) or 1.0), checks.LARGEST)
    spaced = np.geomspace if least > 0 and end / least >= ORDERS else np.linspace
    own = [b for b in (found.bound, *found.changed_bounds) if least <= b <= checks.LARGEST]
    return sorted({*map(float, spaced(least, end, points)), *own})


def _safe_point(evidence: Evidence, data: Estimates, cost: str, bound: float, safety: float) -> SafePoint | None:
    """The safe mix at one bound; None when none is certain enough."""
    problem = evidence.problem
    moved = Evidence(Problem(problem.arms, problem.bounds | {cost: bound}, problem.known), evidence.moments)
    solution = solve_means(moved.means, moved.problem.bound, moved.tried)
    chance = certainty.support_probability(certainty.z_scores(moved, solution)) if solution.feasible else None
    safe = safe_mix(data, moved.problem.bound, chance, safety)
    if not safe.certified:
        return None
    tried = usable(data)
    interval = reward_interval(chosen(data, tried), safe.mixture[tried], 1.0 - LEVEL)
    mixture = {name: float(p) for name, p in zip(problem.names, safe.mixture, strict=True) if p > 0}
    return SafePoint(bound, float(safe.mixture[tried] @ data.means[tried, 0]), interval, mixture)


def _data(evidence: Evidence, binary: Flags) -> Estimates:
    """Estimates of all arms; those that are known have no scatter and infinitely many trials."""
    known = len(evidence.means) - len(evidence.moments)
    scatters = np.concatenate([evidence.scatters, np.zeros((known, *evidence.scatters.shape[1:]))])
    flags = np.vstack([binary, np.zeros((known, evidence.means.shape[1]), dtype=np.bool_)])
    return estimates(evidence.means, scatters, np.r_[evidence.counts, np.full(known, np.inf)], flags)


# --- from a recommendation -----------------------------------------------------------------------------------------


def _from_recommendation(rec: Recommendation) -> tuple[Evidence, Flags]:
    """Sums that have the recommendation's means and intervals; correlations of reward and costs are not known."""
    found = [rec.estimates[arm] for arm in rec.problem.arms]
    moments = [_moments(e, rec.problem.costs) for e in found]
    evidence = Evidence(rec.problem, moments)
    return evidence, _look_binary(evidence)


def _moments(e: Estimate, costs: Sequence[str]) -> Moments:
    if not e.trials:
        return Moments(1 + len(costs))
    from scipy.special import stdtrit

    half = np.array([(high - low) / 2 for low, high in (e.reward_interval, *(e.cost_intervals[c] for c in costs))])
    # half = t sqrt(scatter / (n - 1) / n)
    n = e.trials
    spread = half / stdtrit(n - 1, 0.5 + LEVEL / 2) if n > 1 else np.zeros_like(half)
    return Moments.from_statistics(
        n, np.array([e.reward, *(e.costs[c] for c in costs)]), np.diag(spread**2 * n * (n - 1))
    )


def _look_binary(evidence: Evidence) -> Flags:
    """Metrics (K0, 1 + L) whose means and variances are those of zeros and ones, in all arms; some of both kinds."""
    n, shares = evidence.counts[:, None], evidence.means[: len(evidence.moments)]
    own = np.diagonal(evidence.scatters, axis1=1, axis2=2)
    fits = np.abs(own - n * shares * (1.0 - shares)) <= EXACT * np.maximum(n * np.abs(shares), 1.0)
    fits &= np.abs(n * shares - np.round(n * shares)) <= EXACT * np.maximum(n, 1.0)
    inner = (shares > 0) & (shares < 1)
    whole = np.where(n > 0, fits, True).all(axis=0) & inner.any(axis=0)
    return np.broadcast_to(whole, shares.shape).copy()
