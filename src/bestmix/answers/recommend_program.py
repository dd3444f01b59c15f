"""The recommendation where there are segments, states, limits on shares, relative limits or partly known arms.

As ``recommend.py`` makes it for one segment and limits on means alone, on the noisy program of the problem.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bestmix.answers import noisy_program, program_safety
from bestmix.answers.certificate import possible
from bestmix.answers.evidence import Evidence
from bestmix.answers.markov import policy_of, seen_along
from bestmix.answers.noisy_program import NoisyProgram, Optimum
from bestmix.answers.program_certificate import certify_program
from bestmix.answers.program_safety import ProgramLimits, program_odds
from bestmix.answers.programs import program_of, segment_shares
from bestmix.answers.recommendation import LEVEL, Estimate, MeanCost, Recommendation, claimed
from bestmix.answers.safe_search import Selection
from bestmix.answers.safety import SafeMix
from bestmix.answers.skewness import skew_note
from bestmix.arrays import Floats, Integers
from bestmix.problems.layouts import places, segments_of
from bestmix.problems.limits import Limit
from bestmix.problems.problem import Problem
from bestmix.problems.quantities import Mean, Ratio

ROUNDING = 1e-14  # of the largest entry of a limit
DUST = 1e-14  # of a bound: what is nearer to zero is zero
BEST = ("prices", "slack", "excess", "contradicts")  # of an optimum, by row
FOUND = ("mean", "error", "kept", "short")  # of a safe mix, by row


def recommend_program(
    evidence: Evidence,
    columns: Integers,
    estimates: dict[str, Estimate],
    common: dict[str, Any],
    certified: Floats | None = None,
    selection: Selection | None = None,
) -> Recommendation:
    """Recommendation from what is known; ``common`` are the fields that say what was asked.

    The mix to deploy is the one that the strategy has ``certified`` (K,), if it is as certain as wanted. ``selection``
    is for arms that the same trials chose out of others.

    The optimum at the estimates is that of the problem's ``columns``, where these have a feasible one.
    """
    problem, program = evidence.problem, program_of(evidence)
    judged = program_of(evidence, as_possible=True)
    best = noisy_program.solve(judged, np.isin(places(problem), columns))
    if not best.feasible:
        best = noisy_program.solve(judged)
    wanted = None if certified is None else certified[places(problem)]
    spread = program.judgeable and not evidence.vanishing.any()
    trusted = best
    if selection is not None:
        trusted = best._replace(chance=selection.chance)
        program = program._replace(data=program.data._replace(rivals=selection.rivals))
    found = _unjudged(program, best)
    if spread:
        program, found = seen_along(program, problem, lambda p: _deployed(p, trusted, common["safety"], wanted))
    worth = _worth(evidence, program, trusted, found, common["safety"]) if spread else {}
    by_segment = _by_segment(problem, judged, found.mixture, best.prices)
    best, found = _without_flows(problem, best), found._replace(**_first(found, FOUND, len(problem.limits)))
    return Recommendation(
        feasible=best.feasible,
        best_guess=_shares(problem, best.weights),
        best_guess_value=problem.goal.sign * best.value,
        shadow_prices=_prices(evidence, best) if best.feasible else {},
        basis=tuple(_column(problem, int(j)) for j in best.basis if j < len(problem.columns)),
        estimates=estimates,
        support_probability=best.chance if spread else None,
        z_scores={} if best.z is None or not spread else _named_scores(problem, best.z),
        note=_note(evidence, best, found, common["safety"]),
        by_segment=by_segment,
        **_deployment(evidence, program, found, best.feasible),
        **worth,
        **common,
    )


def _without_flows(problem: Problem, best: Optimum) -> Optimum:
    """With limits alone: the flow between states is nobody's wish."""
    z = None if best.z is None else best.z[: len(problem.columns)]
    return best._replace(z=z, **_first(best, BEST, len(problem.limits)))


def _first(found: Optimum | SafeMix, fields: Sequence[str], limits: int) -> dict[str, Any]:
    return {name: getattr(found, name)[:limits] for name in fields}


def _note(evidence: Evidence, best: Optimum, found: SafeMix, safety: float | None) -> str:
    """What else is to be said."""
    mixture = np.zeros(len(evidence.problem.names))
    mixture[places(evidence.problem)] = found.mixture
    caution = skew_note(evidence, mixture) if safety is not None else ""
    return " ".join(
        filter(
            None,
            ["" if best.feasible else _contradiction(evidence, best), evidence.scale_note, evidence.fit_note, caution],
        )
    )


def _deployed(program: NoisyProgram, best: Optimum, safety: float | None, certified: Floats | None) -> SafeMix:
    """The mix to deploy; the optimum at the estimates where no safety is wanted."""
    if safety is None:
        return program_safety.described_program_mix(program, best.weights, program_odds(program, best.chance))
    if certified is not None:
        found = program_safety.judged_program_mix(program, certified, best.chance, safety)
        if found.certified:
            return found
    return program_safety.safe_program_mix(program, best.chance, safety)


def _unjudged(program: NoisyProgram, best: Optimum) -> SafeMix:
    """The optimum at the estimates, of which nothing can be said."""
    limits, unknown = program.limits, np.full(program.limits, math.nan)
    flags = np.zeros(limits, dtype=np.bool_)
    return SafeMix(
        best.weights, -best.slack, unknown, unknown, math.nan, not limits, flags, np.zeros(len(best.weights))
    )


def _deployment(evidence: Evidence, program: NoisyProgram, found: SafeMix, feasible: bool) -> dict[str, Any]:
    """What the recommendation says of the mix to deploy and its limits."""
    problem = evidence.problem
    mu, rows = program.entries()
    used, units = found.mixture > 0, _units(evidence, found.mixture)
    further = {problem.names[place]: float(n) for place, n in zip(places(problem), found.further, strict=True) if n > 0}
    limits = dict(zip(problem.costs, mean_costs(evidence, program, found), strict=True))
    return {
        "mixture": _shares(problem, found.mixture),
        "value": problem.goal.sign * float(found.mixture[used] @ mu[used]),
        "slack": _by_cost(problem, -_without_dust(found.mean, rows[:, : len(found.mean)]) * units),
        **claimed(list(limits.values()), found.certainty, found.certified, feasible),
        "limits": limits,
        "short": tuple(cost for cost, short in zip(problem.costs, found.short, strict=True) if short),
        "further": further,
    }


def mean_costs(evidence: Evidence, program: NoisyProgram, found: SafeMix) -> list[MeanCost]:
    """Every limit in its own units."""
    low, high = np.full_like(found.mean, -np.inf), np.full_like(found.mean, np.inf)
    if program.judgeable and not evidence.vanishing.any():
        inner, some = noisy_program.restricted(program)
        ends = ProgramLimits(inner).interval(found.mixture[some.columns], (1.0 - LEVEL) / 2.0)
        low, high = (end[: len(found.mean)] for end in ends)
    table = np.column_stack([found.mean, found.error, low, high, found.kept]).tolist()
    return [
        _in_units(limit, row, *_scope(evidence, limit, found.mixture))
        for limit, row in zip(evidence.problem.limits, table, strict=True)
    ]


def _in_units(limit: Limit, row: list[float], share: float, factor: float, bound: float) -> MeanCost:
    """A limit of a scope with this share of all users: what is above its right side, in its own units."""
    mean, error, low, high, chance = row
    unit = factor / share
    ends = sorted((unit * low + bound, unit * high + bound))
    above = unit * mean
    at = 0.0 if abs(above + bound) <= DUST * abs(bound) else above + bound  # rounding is no share
    if ends[1] - ends[0] <= DUST * abs(bound):  # and no interval
        ends = [at, at]
    if (limit.equality and ends[0] < ends[1]) or math.isnan(at):  # met at the estimates alone; or a ratio without value
        chance = math.nan
    return MeanCost(at, abs(unit) * error, (ends[0], ends[1]), bound, chance)


def _scope(evidence: Evidence, limit: Limit, mixture: Floats) -> tuple[float, float, float]:
    """Share of the users that a limit is about, factor of its units, and its bound in them."""
    problem, shares = evidence.problem, segment_shares(evidence)[0]
    cells = [*problem.cells, *problem.known_cells]
    inside = np.array([limit.segment in (None, cells[place].segment) for place in places(problem)])
    share = 1.0 if limit.segment is None else float(shares[list(problem.segments).index(limit.segment)])
    weight = np.where(inside, mixture, 0.0) / share
    used = weight > 0
    means = evidence.measured[places(problem)]
    mix = dict(zip(problem.rows.measures, (weight[used] @ means[used]).tolist(), strict=True))
    reference = 0.0
    if limit.arm is not None and isinstance(limit.quantity, Mean):
        column = problem.rows.measures.index(limit.quantity)
        groups = [limit.segment] if limit.segment is not None else segments_of(problem)
        part = [share if limit.segment is not None else shares[s] for s in range(len(groups))]
        rows = [places(problem).tolist().index([c == (limit.arm, g) for c in cells].index(True)) for g in groups]
        reference = float(np.average(means[rows, column], weights=part))
    factor, summand = limit.units(mix, reference)
    bound = summand if limit.arm is not None or isinstance(limit.quantity, Ratio) else limit.bound
    return share, factor, bound


def _without_dust(above: Floats, rows: Floats) -> Floats:
    """What limits are above their right sides (R,), zero where rounding made it of their entries (n, R)."""
    return np.where(np.abs(above) <= ROUNDING * np.nanmax(np.abs(rows), axis=0, initial=0.0), 0.0, above)


def _units(evidence: Evidence, mixture: Floats) -> Floats:
    """What a unit of each row is in units of its limit (R,): a limit of one segment is about its users alone."""
    scopes = [_scope(evidence, limit, mixture) for limit in evidence.problem.limits]
    return np.array([abs(factor) / share if math.isfinite(factor) else 1.0 / share for share, factor, _ in scopes])


def _worth(
    evidence: Evidence, program: NoisyProgram, best: Optimum, found: SafeMix, safety: float | None
) -> dict[str, Any]:
    """What the mix is worth; nothing where there is no spread to go by."""
    problem = evidence.problem
    if not found.mixture.any():
        return {}
    certified = None if safety is None else found.certified
    prices = noisy_program.solve(program).prices if problem.flows else best.prices  # of the flow as it is seen
    proof = certify_program(program, found.mixture, best.chance, prices, LEVEL, safety, certified)
    low, high = proof.value_interval
    regret = possible(proof.regret, proof.value_interval, evidence.reward_range, best.chance)
    arms = [*problem.arms, *(name for name in problem.known if name not in problem.arms)]
    worth = {
        # Nothing is known of an arm without trials: it may be much better.
        "regret": regret if program.usable.all() else math.inf,
        "value_interval": (low, high) if problem.goal.maximise else (-high, -low),
    }
    if problem.flows:  # an action in one state is no policy
        return worth
    return worth | {
        "single": None if proof.single is None else arms[proof.single],
        "gain": proof.gain,
        "gain_interval": proof.gain_interval,
        "common_mixture": {} if proof.common is None else _by_arm(problem, proof.common),
        "segments_worth": proof.worth,
        "segments_worth_interval": proof.worth_interval,
    }


def _by_arm(problem: Problem, weights: Floats) -> dict[str, float]:
    """Share of each arm in all segments together."""
    result: dict[str, float] = {}
    cells = [*problem.cells, *problem.known_cells]
    for place, weight in zip(places(problem), weights.tolist(), strict=True):
        if weight > 0:
            result[cells[place].arm] = result.get(cells[place].arm, 0.0) + weight
    return result


def _prices(evidence: Evidence, best: Optimum) -> dict[str, float]:
    """What one more unit of each bound would add: of a relative limit of its factor, of a ratio of the quotient."""
    steps = [_step(evidence, limit, best.weights) for limit in evidence.problem.limits]
    return _by_cost(evidence.problem, best.prices * np.array(steps))


def _step(evidence: Evidence, limit: Limit, mixture: Floats) -> float:
    """By how much one more unit of its bound moves a limit's row; a limit of one segment is for its users alone."""
    share, factor, bound = _scope(evidence, limit, mixture)
    if isinstance(limit.quantity, Ratio) and math.isfinite(factor) and factor:
        return share / abs(factor)
    if limit.arm is not None and limit.bound:
        return share * abs(bound / limit.bound)
    return share


def _contradiction(evidence: Evidence, best: Optimum) -> str:
    """Which limits contradict each other, and what would do, in the units of each."""
    units = _units(evidence, best.weights)
    pairs = zip(evidence.problem.limits, best.contradicts, best.excess * units, strict=True)
    found = [(limit, abs(float(excess))) for limit, flag, excess in pairs if flag or excess]
    if not found:  # a state that nobody tried cannot be left again
        return ""
    names = " and ".join(f"'{limit}'" for limit, _ in found)
    looser = [f"'{limit}' by {excess:.3g}" for limit, excess in found if excess]
    together = "contradict each other" if len(found) > 1 else "cannot be kept"
    where = "" if all(limit.on_share for limit, _ in found) else " at the estimates"
    return f"{names} {together}{where}; looser by as little as possible: {', '.join(looser)}."


def _shares(problem: Problem, weights: Floats) -> dict[str, float]:
    """Share of all users by name, in the problem's order."""
    ordered = np.zeros(len(problem.names))
    ordered[places(problem)] = weights
    return {name: float(p) for name, p in zip(problem.names, ordered, strict=True) if p > 0}


def _by_segment(
    problem: Problem, program: NoisyProgram, weights: Floats, prices: Floats
) -> dict[str, dict[str, float]]:
    """The mix within each segment, or state."""
    if problem.flows:
        return policy_of(program, problem, weights, prices)
    result: dict[str, dict[str, float]] = {segment: {} for segment in problem.segments}
    cells = [*problem.cells, *problem.known_cells]
    for place, weight, s in zip(places(problem), weights.tolist(), program.segment, strict=True):
        cell = cells[place]
        if weight > 0 and cell.segment is not None:
            result[cell.segment][cell.arm] = weight / float(program.weight[s])
    return result


def _column(problem: Problem, j: int) -> str:
    at = places(problem)
    return problem.names[at[j]] if j < len(at) else problem.columns[j]


def _named_scores(problem: Problem, z: Floats) -> dict[str, float]:
    named = {_column(problem, j): float(score) for j, score in enumerate(z)}
    return {name: named[name] for name in problem.columns}


def _by_cost(problem: Problem, values: Floats) -> dict[str, float]:
    return dict(zip(problem.costs, map(float, values), strict=True))
