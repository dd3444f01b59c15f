"""The safe mix of a trade-off: what keeps all limits with certainty, at bounds that are shown and where arms change."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from bestmix import checks
from bestmix.answers import certainty, noisy_program
from bestmix.answers.certificate import reward_interval
from bestmix.answers.evidence import Evidence
from bestmix.answers.markov import seen_along
from bestmix.answers.program_certificate import value_interval
from bestmix.answers.program_safety import safe_program_mix
from bestmix.answers.programs import program_of
from bestmix.answers.recommend import recommend
from bestmix.answers.recommendation import LEVEL
from bestmix.answers.safety import Estimates, chosen, estimates, safe_mix, usable
from bestmix.answers.tradeoff_curve import SafePoint, TradeOff
from bestmix.answers.tradeoff_sources import moved_limit
from bestmix.arrays import Flags
from bestmix.problems.layouts import places
from bestmix.problems.quantities import Share, Tail
from bestmix.problems.solution import solve_means

BEYOND = 0.25  # of the range in which the bound binds: the safe mix goes on to gain above it
FAR = 4.0  # ranges above the one in which the bound binds: a bound beyond is not shown
DOUBLINGS, HALVINGS = 7, 4  # of the way beyond the bounds shown, to the first that has a safe mix
ORDERS = 100.0  # of costs: from here on bounds are spaced by factors


def safe_points(
    found: TradeOff, evidence: Evidence, binary: Flags, safety: float, points: int
) -> tuple[SafePoint, ...]:
    """The safe mix at about so many bounds, of limits on means; none where its certainty cannot be judged."""
    if not found.pieces or evidence.pooled is None or evidence.vanishing.any():
        return ()
    data = _data(evidence, binary)
    return _curve(found, points, lambda bound: _safe_point(evidence, data, found.cost, bound, safety))


def _curve(found: TradeOff, points: int, find: Callable[[float], SafePoint | None]) -> tuple[SafePoint, ...]:
    """The safe mixes at the bounds to show; where none has one, the first looser bound that has."""
    curve = [point for bound in _bounds(found, points) if (point := find(bound)) is not None]
    own = next((point for point in curve if point.bound == found.bound), None)
    return rising(found, curve or _first_beyond(found, find), own)


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


def rising(found: TradeOff, points: Iterable[SafePoint], own: SafePoint | None = None) -> tuple[SafePoint, ...]:
    """Points by bound; a mix that is certain of a tighter bound is so of a looser one, where the own one earns less.

    Another support is in doubt at another bound, and asks for other margins: by itself the line may fall a little. What
    is recommended at the bound as it is, ``own``, stays: a question has one answer.
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


def safe_program_points(found: TradeOff, evidence: Evidence, safety: float, points: int) -> tuple[SafePoint, ...]:
    """``safe_points`` on the program of a problem, with segments or limits of other kinds."""
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
