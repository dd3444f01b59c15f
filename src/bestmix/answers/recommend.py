"""From evidence to the recommendation: the best mix at the estimates, the one to deploy, and how sure they are."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers import certainty, certificate
from bestmix.answers import safety as margins
from bestmix.answers.account import Account
from bestmix.answers.evidence import Evidence
from bestmix.answers.recommend_program import recommend_program
from bestmix.answers.recommendation import LEVEL, Estimate, MeanCost, Recommendation, Round, claimed
from bestmix.answers.safe_search import Selection
from bestmix.answers.safety import SafeMix
from bestmix.answers.skewness import skew_note
from bestmix.arrays import Floats, Integers
from bestmix.problems.limits import Limit
from bestmix.problems.problem import Problem
from bestmix.problems.quantities import Column, Ratio
from bestmix.problems.solution import Solution, solve_means

EQUAL = "Other mixes earn exactly as much at the estimates, so that no support is the only right one."
SAFETY = 0.95  # certainty that all limits are kept, where nothing else is wanted


def recommend(
    evidence: Evidence,
    columns: Integers | None,
    *,
    strategy: str,
    budget: int | None = None,
    complete: bool = True,
    history: Sequence[Round] = (),
    safety: float | None = SAFETY,
    mixes: bool = True,
    certified: Floats | None = None,
    account: Account | None = None,
    selection: Selection | None = None,
) -> Recommendation:
    """Recommendation from what is known; ``columns`` None is a verdict of infeasible.

    The mix to deploy is the one that the strategy has ``certified`` (K,), if it is as certain as wanted. Else it is
    made of the arms among ``columns``, and where these are not certain enough, of all arms that were tried; unless
    ``mixes`` is False, for a strategy that looks for a single arm. ``selection`` is for arms that the same trials chose
    out of others: it is as if these had been rejected on the way.

    Where arms share items, variances have their covariances; with limits that are not on means of one segment, errors
    are made wide enough for what the arms of the mix have in common.
    """
    problem, safety = evidence.problem, checks.safety(safety)
    usable = evidence.tried if columns is None else np.intersect1d(columns, evidence.tried)
    estimates = {e.arm: e for e in _estimates(evidence)}
    common = {"problem": problem, "strategy": strategy, "complete": complete, "safety": safety, "account": account}
    common["budget"] = budget if account is None else None  # money is what is limited, not the number of trials
    common["items"] = None if evidence.items is None else len(evidence.items.counts)
    common["told"] = tuple(evidence.moments)
    if not (usable < len(problem.names)).any():
        return _untried(columns, estimates, common)
    by_program = not problem.plain or (mixes and _every_slack(problem, columns) and _rates_events(evidence))
    if by_program and evidence.fit is None:
        if evidence.items is not None:
            from bestmix.answers.blocks import recommend_on_items

            asked = {"strategy": strategy, "budget": budget, "complete": complete, "history": history, "safety": safety}
            return recommend_on_items(
                evidence, evidence.items, columns, **asked, mixes=mixes, certified=certified, account=account
            )
        told = common | {"history": tuple(history)}
        return recommend_program(evidence, usable, estimates, told, certified, selection)
    solution = solve_means(evidence.means, problem.bound, usable)
    feasible, note = columns is not None and solution.feasible, ""
    if not feasible:
        usable = evidence.tried
        solution = solve_means(evidence.means, problem.bound, usable)
        if solution.feasible:
            note = "The arms left by the search have no feasible mix, although all arms together have one."
    note = " ".join(filter(None, [note, evidence.scale_note, evidence.fit_note]))
    z = certainty.z_scores(evidence, solution) if feasible and judgeable(evidence) else None
    chance = certainty.support_probability(z)
    equal = chance is not None and certainty.tied(evidence, solution)
    note = " ".join(filter(None, [note, EQUAL if equal else ""]))
    trusted, rivals = (chance, 0) if selection is None else selection
    deployed = _as_certified(evidence, certified, trusted, safety)
    if deployed is None:
        deployed = deployable(evidence, solution, usable, trusted, safety, mixes, rivals)
    note = " ".join(filter(None, [note, skew_note(evidence, deployed.mixture) if safety is not None else ""]))
    return Recommendation(
        feasible=feasible,
        best_guess=_shares(problem, solution.mixture),
        best_guess_value=problem.goal.sign * solution.value,
        shadow_prices=_prices(evidence, solution) if feasible else {},
        basis=tuple(problem.columns[j] for j in solution.basis),
        estimates=estimates,
        support_probability=None if equal else chance,
        z_scores={} if z is None else dict(zip(problem.columns, map(float, z), strict=True)),
        history=tuple(history),
        note=note,
        **_deployment(evidence, solution, deployed),
        **_certificate(evidence, solution, deployed, trusted, safety),
        **common,  # type: ignore[arg-type]
    )


def _every_slack(problem: Problem, columns: Integers | None) -> bool:
    """Whether no limit has to be met exactly."""
    slacks = np.arange(len(problem.names), len(problem.columns))
    return columns is not None and bool(np.isin(slacks, columns).all())


def _rates_events(evidence: Evidence) -> bool:
    """Whether a ratio counts events of 0 and 1: rare ones have intervals of their own, in the program of metrics."""
    counted = [limit.columns[0] for limit in evidence.problem.limits if isinstance(limit.quantity, Ratio)]
    flags = {measure: evidence.events[:, m].any() for m, measure in enumerate(evidence.problem.rows.measures)}
    return any(flags[column] for column in counted)


def judgeable(evidence: Evidence) -> bool:
    """Whether there is any spread to go by: an arm with two trials, or known arms alone; and a scale that shows it."""
    return (evidence.pooled is not None or not evidence.counts.any()) and not evidence.vanishing.any()


def deployable(
    evidence: Evidence,
    solution: Solution,
    usable: Integers,
    chance: float | None,
    wanted: float | None = SAFETY,
    mixes: bool = True,
    rivals: int = 0,
) -> SafeMix:
    """The mix to deploy, made of the usable columns or, if these are not certain enough, of all arms.

    ``rivals`` are further arms out of which the trials chose those of the problem.
    """
    bound = evidence.problem.bound
    if not judgeable(evidence):
        return _unjudged(evidence, solution)
    if wanted is None:
        odds = margins.shown_odds(margins.CostLimits(evidence.estimates, bound), chance)
        return margins.described(evidence.estimates, bound, solution.mixture, odds)._replace(certified=False)
    data = evidence.deployable
    left = np.isin(np.arange(len(data.means)), usable)
    rejected = int((np.isfinite(data.counts) & (data.counts > 0) & ~left).sum())  # on the way
    some = data._replace(counts=np.where(left, data.counts, 0.0), rivals=rivals + rejected)
    found = margins.safe_mix(some, bound, chance, wanted)
    if found.certified or not mixes or left[margins.usable(data)].all():
        return found
    wider = margins.safe_mix(data._replace(rivals=rivals), bound, chance, wanted)
    return wider if wider.certified else found


def _as_certified(
    evidence: Evidence, mixture: Floats | None, chance: float | None, wanted: float | None
) -> SafeMix | None:
    """The mix that a strategy has certified; None where there is none, or it is not as certain as wanted."""
    if mixture is None or wanted is None or not judgeable(evidence):
        return None
    found = margins.judged_mix(evidence.estimates, evidence.problem.bound, chance, mixture, wanted)
    return found if found.certified else None


def _unjudged(evidence: Evidence, solution: Solution) -> SafeMix:
    """The optimum at the estimates, of which nothing can be said."""
    bound = evidence.problem.bound
    unknown, arms = np.full(len(bound), np.nan), len(solution.mixture)
    flags = np.zeros(len(bound), dtype=np.bool_)
    return SafeMix(
        solution.mixture, bound - solution.slack, unknown, unknown, math.nan, not len(bound), flags, np.zeros(arms)
    )


def _prices(evidence: Evidence, solution: Solution) -> dict[str, float]:
    """What one more unit of each bound would add; of a ratio, of the quotient."""
    problem, prices = evidence.problem, solution.dual.astype(np.float64)
    mix = measured_in(evidence, solution.mixture)
    for l, limit in enumerate(problem.limits):
        factor = limit.units(mix)[0] if isinstance(limit.quantity, Ratio) else 1.0
        prices[l] /= abs(factor) if math.isfinite(factor) and factor else 1.0
    return dict(zip(problem.costs, prices.tolist(), strict=True))


def _shares(problem: Problem, mixture: Floats) -> dict[str, float]:
    return {name: float(p) for name, p in zip(problem.names, mixture, strict=True) if p > 0}


def _deployment(evidence: Evidence, solution: Solution, found: SafeMix) -> dict[str, Any]:
    """What the recommendation says of the mix to deploy and its limits."""
    problem, same = evidence.problem, np.array_equal(found.mixture, solution.mixture)
    tried = evidence.tried[evidence.tried < len(problem.names)]
    slack = solution.slack if same else problem.bound - found.mean
    sign, limits = problem.goal.sign, dict(zip(problem.costs, _mean_costs(evidence, found), strict=True))
    return {
        "mixture": _shares(problem, found.mixture),
        "value": sign * (solution.value if same else float(found.mixture[tried] @ evidence.means[tried, 0])),
        "slack": dict(zip(problem.costs, map(float, slack), strict=True)),
        **claimed(list(limits.values()), found.certainty, found.certified, solution.feasible),
        "limits": limits,
        "short": tuple(cost for cost, short in zip(problem.costs, found.short, strict=True) if short),
        "further": {name: float(n) for name, n in zip(problem.names, _further(evidence, found), strict=True) if n > 0},
    }


def _further(evidence: Evidence, found: SafeMix) -> Floats:
    """About how many more trials of each arm would do (K,); by a fit as many times more of all that were tried."""
    used = found.further > 0
    if evidence.fit is None or not used.any():
        return found.further
    times = float((found.further[used] / evidence.estimates.counts[used]).max())
    if not math.isfinite(times):  # no number would do
        return found.further
    return np.pad(np.ceil(evidence.counts * times), (0, len(used) - len(evidence.counts)))


def _mean_costs(evidence: Evidence, found: SafeMix) -> list[MeanCost]:
    """Every limit in its own units."""
    low, high = np.full_like(found.mean, -np.inf), np.full_like(found.mean, np.inf)
    if judgeable(evidence):
        low, high = margins.mean_interval(evidence.estimates, found.mixture, (1.0 - LEVEL) / 2.0)
    table = np.column_stack([found.mean, found.error, low, high, evidence.problem.bound, found.kept])
    mix = measured_in(evidence, found.mixture)
    pairs = zip(evidence.problem.limits, table.tolist(), strict=True)
    return [in_units(limit, row, limit.units(mix)) for limit, row in pairs]


def measured_in(evidence: Evidence, mixture: Floats) -> dict[Column, float]:
    """Means of the measures in a mix."""
    used = mixture > 0
    return dict(zip(evidence.problem.rows.measures, (mixture[used] @ evidence.measured[used]).tolist(), strict=True))


def in_units(limit: Limit, row: list[float], units: tuple[float, float]) -> MeanCost:
    """A limit's mean, error, low and high end, bound and chance, from rows in the form "at most" to its own units."""
    mean, error, low, high, bound, chance = row
    factor, summand = units
    if (factor, summand) == (1.0, 0.0):
        return MeanCost(mean, error, (low, high), bound, chance)
    if math.isnan(factor):  # a ratio without a value
        return MeanCost(math.nan, math.nan, (math.nan, math.nan), limit.bound, math.nan)
    ends = sorted((factor * low + summand, factor * high + summand))
    return MeanCost(factor * mean + summand, abs(factor) * error, (ends[0], ends[1]), factor * bound + summand, chance)


def _certificate(
    evidence: Evidence, solution: Solution, found: SafeMix, chance: float | None, safety: float | None
) -> dict[str, Any]:
    """What the mix is worth; nothing where there is no spread to go by."""
    problem = evidence.problem
    if not judgeable(evidence):
        return {}
    prices = solution.dual if solution.feasible else np.zeros(len(problem.bounds))
    may = None if evidence.fit is None else evidence.deployable.counts > 0
    asked = (SAFETY, None, may) if safety is None else (safety, found.certified, may)
    proof = certificate.certify(evidence.estimates, found.mixture, problem.bound, chance, prices, LEVEL, *asked)
    regret = certificate.possible(proof.regret, proof.value_interval, evidence.reward_range, chance)
    return {
        # Nothing is known of an arm without trials: it may be much better.
        "regret": regret if np.isin(np.arange(len(evidence.counts)), evidence.tried).all() else math.inf,
        "value_interval": proof.value_interval if problem.goal.maximise else _opposite(proof.value_interval),
        "single": None if proof.single is None else problem.names[proof.single],
        "gain": proof.gain,
        "gain_interval": proof.gain_interval,
    }


def _opposite(interval: tuple[float, float]) -> tuple[float, float]:
    return -interval[1], -interval[0]


def _untried(columns: Integers | None, estimates: dict[str, Estimate], common: dict[str, Any]) -> Recommendation:
    """Before any trial there is no answer, unless only one arm is left to choose and there is no bound to keep."""
    problem: Problem = common["problem"]
    left = [] if columns is None else [problem.names[j] for j in columns if j < len(problem.names)]
    mixture = {left[0]: 1.0} if common["complete"] and len(left) == 1 and not problem.bounds else {}
    return Recommendation(
        feasible=bool(mixture),
        mixture=mixture,
        best_guess=mixture,
        value=math.nan,
        slack=dict.fromkeys(problem.costs, math.nan),
        shadow_prices={},
        basis=tuple(mixture),
        estimates=estimates,
        support_probability=None,
        z_scores={},
        note="No trials were made.",
        **common,
    )


def _estimates(evidence: Evidence) -> list[Estimate]:
    """Each arm's means with intervals, in the units of the goal and of what is limited."""
    from scipy.special import stdtrit

    problem, result = evidence.problem, []
    for a, name in enumerate(problem.names):
        known = a >= len(evidence.moments)
        mean = evidence.measured[a]
        count = 0 if known else evidence.moments[a].count
        freedom = 0.0 if known else evidence.freedom(a)
        t = 0.0 if known else float(stdtrit(freedom, 0.5 + LEVEL / 2)) if freedom >= 1 else math.inf
        ends = [(float(x), float(x)) for x in mean] if known else _intervals(evidence, a, t)
        costs, intervals = _limited(evidence, a, t, ends)
        result.append(Estimate(name, count, known, float(mean[0]), ends[0], costs, intervals))
    return result


def _intervals(evidence: Evidence, a: int, t: float) -> list[tuple[float, float]]:
    """Of the means of an arm: Student's, those of shares for events of 0 and 1, points for what is known."""
    moments, mean, learnt = evidence.moments[a], evidence.measured[a], np.isnan(evidence.problem.partly_known[a])
    spread = evidence.mean_covariance(a)
    half = np.where(learnt, t * np.sqrt(np.ones_like(mean) if spread is None else np.diag(spread)), 0.0)
    half[learnt & evidence.vanishing] = np.inf
    low, high = mean - half, mean + half
    events = evidence.events[a] & learnt & (moments.count > 1)
    trials = float(moments.count)
    if evidence.fit is not None:
        events, trials = evidence.events[a] & learnt, float(evidence.fit.worth[a])
    ends = margins.share_interval(mean[events], trials, (1.0 - LEVEL) / 2.0)
    if evidence.fit is not None:  # other arms may spread more
        ends = np.minimum(ends[0], np.maximum(low[events], 0.0)), np.maximum(ends[1], np.minimum(high[events], 1.0))
    low[events], high[events] = ends
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _limited(
    evidence: Evidence, a: int, t: float, ends: list[tuple[float, float]]
) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """What each limit that reads trials is about, for one arm: its mean and its interval."""
    problem, columns = evidence.problem, evidence.problem.rows.measures
    costs, intervals = {}, {}
    for cost, limit in zip(problem.costs, problem.limits, strict=True):
        if len(limit.columns) == 1:
            place = columns.index(limit.columns[0])
            costs[cost], intervals[cost] = float(evidence.measured[a, place]), ends[place]
        elif limit.columns:
            above, below = (columns.index(column) for column in limit.columns)
            costs[cost], intervals[cost] = _ratio(evidence, a, above, below, t)
    return costs, intervals


def _ratio(evidence: Evidence, a: int, above: int, below: int, t: float) -> tuple[float, tuple[float, float]]:
    """The ratio of two means of an arm with its interval, by the delta method."""
    mean = evidence.measured[a]
    if not mean[below] > 0.0:
        return math.nan, (-math.inf, math.inf)
    ratio = float(mean[above] / mean[below])
    if t == 0.0:
        return ratio, (ratio, ratio)
    spread = evidence.mean_covariance(a)
    if spread is None:
        return ratio, (-math.inf, math.inf)
    w = np.zeros(len(mean))
    w[above], w[below] = 1.0, -ratio
    half = t * math.sqrt(max(float(w @ spread @ w), 0.0)) / float(mean[below])
    return ratio, (ratio - half, ratio + half)
