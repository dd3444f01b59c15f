"""What a trade-off is found from besides a log: a recommendation; and which limits can move."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.recommendation import LEVEL, Estimate, Recommendation
from bestmix.answers.safety import share_interval
from bestmix.arrays import Flags
from bestmix.problems.problem import Problem
from bestmix.problems.quantities import Ratio

EXACT = 1e-9  # relative rounding of a variance that was read back from an interval


def movable(problem: Problem) -> tuple[str, ...]:
    """Limits whose trade-off can be found: all "at most" and "at least".

    >>> movable(Problem(["a", "b"], {"dollars": 5.0}, limits=["quality >= 0.9", "share(a) = 50%"]))
    ('dollars', 'quality >= 0.9')
    """
    return tuple(cost for cost, limit in zip(problem.costs, problem.limits, strict=True) if not limit.equality)


def is_simple(problem: Problem) -> bool:
    """Whether bounds are right sides of a program with one segment: then the walk from basis to basis finds all.

    >>> is_simple(Problem(["a", "b"], limits=["share(a) <= 40%"]))
    False
    """
    return problem.plain and not any(isinstance(limit.quantity, Ratio) for limit in problem.limits)


def moved_limit(problem: Problem, place: int, bound: float) -> Problem:
    """The problem with another bound of one limit.

    >>> moved_limit(Problem(["a", "b"], {"dollars": 5.0}), 0, 6.0).bounds
    {'dollars': 6.0}
    """
    limits = [replace(limit, bound=bound) if l == place else limit for l, limit in enumerate(problem.limits)]
    return problem.with_limits(limits)


def chosen_cost(problem: Problem, cost: str | None) -> str:
    """The limit that is to move: by its name, or by what it is about.

    >>> chosen_cost(Problem(["a", "b"], limits=["quality >= 0.9"]), "quality")
    'quality >= 0.9'
    >>> chosen_cost(Problem(["a"], limits=["x <= 2 in free", "x <= 5 in paid"], segments=["free", "paid"]), "x in paid")
    'x <= 5 in paid'
    """
    choices = movable(problem)
    if cost is None and choices:
        return choices[0]
    if cost in choices:
        return cost
    limits = {name: problem.limits[problem.costs.index(name)] for name in choices}
    meant = [name for name, limit in limits.items() if cost in (str(limit.quantity), limit.about)]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise checks.InvalidInput(
            "cost", expected=f"one of {', '.join(meant)}", got=checks.shown(cost), remedy="say which"
        )
    equal = [name for name in problem.costs if name not in choices]
    cost = equal[0] if cost is None and equal else cost
    if cost in problem.costs:
        fault = f"'{cost}' has no trade-off: an equality is neither looser nor tighter"
        raise checks.InvalidInput("cost", fault, "solve it again with another limit and compare")
    expected = f"one of {', '.join(choices)}" if choices else "a problem with a bound on a mean"
    got, remedy = ("none", "give it a limit") if cost is None else (checks.shown(cost), "check the spelling")
    raise checks.InvalidInput("cost", expected=expected, got=got, remedy=remedy)


def of_recommendation(rec: Recommendation) -> tuple[Evidence, Flags]:
    """The sums of its trials; of one without them, as 0.1 wrote them, sums that have its means and intervals.

    What arms have in common on items is in the intervals alone.
    """
    if rec.told is not None and rec.items is None:
        evidence = Evidence(rec.problem, list(rec.told))
        return evidence, evidence.events[: len(rec.told)]
    if rec.problem.flows or rec.problem.features:
        states = "probabilities of states that come next"
        what = states if rec.problem.flows else "trials that could be fitted by features"
        fault = f"a recommendation from a file without sums of trials has no {what}"
        raise checks.InvalidInput("source", fault, "give the one that was found")
    ratios = [limit for limit in rec.problem.limits if isinstance(limit.quantity, Ratio)]
    if ratios:
        which = "from a file without sums of trials" if rec.items is None else "of trials on items"
        fault = f"a recommendation {which} has the ratio of '{ratios[0]}' alone, not its parts"
        raise checks.InvalidInput("source", fault, "give the log of trials instead")
    problem = rec.problem.untracked  # whose means are not among the estimates, and change nothing
    evidence = Evidence(problem, [_moments(rec.estimates[name], _costs(problem)) for name in problem.trial_names])
    return evidence, _look_binary(evidence)


def _costs(problem: Problem) -> list[str]:
    """A limit for each measure after the first that is about it."""
    about: Mapping[Any, str] = {
        limit.quantity: cost for cost, limit in zip(reversed(problem.costs), reversed(problem.limits), strict=True)
    }
    return [about[measure] for measure in problem.rows.measures[1:]]


def _moments(e: Estimate, costs: Sequence[str]) -> Moments:
    if not e.trials:
        return Moments(1 + len(costs))
    from scipy.special import stdtrit

    n, mean = e.trials, np.array([e.reward, *(e.costs[c] for c in costs)])
    ends = np.array([e.reward_interval, *(e.cost_intervals[c] for c in costs)])
    if n > 1 and not np.isfinite(ends).all():
        fault = f"a recommendation from a file without sums of trials has no intervals of '{e.arm}'"
        raise checks.InvalidInput("source", fault, "give the log of trials instead")
    # half = t sqrt(scatter / (n - 1) / n)
    spread = (ends[:, 1] - ends[:, 0]) / 2.0 / stdtrit(n - 1, 0.5 + LEVEL / 2) if n > 1 else np.zeros_like(mean)
    shares = (mean >= 0) & (mean <= 1) & (n > 1)
    expected = np.column_stack(share_interval(mean[shares], n, (1.0 - LEVEL) / 2.0))
    shares[shares] = (np.abs(ends[shares] - expected) <= EXACT).all(axis=1)
    scatter = np.where(shares, n * mean * (1.0 - mean), spread**2 * n * (n - 1))
    return Moments.from_statistics(n, mean, np.diag(scatter))


def _look_binary(evidence: Evidence) -> Flags:
    """Measures (K0, M) whose means and variances are those of zeros and ones, in all arms; some of both kinds."""
    n, shares = evidence.counts[:, None], evidence.measured[: len(evidence.moments)]
    own = np.diagonal(evidence.measured_scatters, axis1=1, axis2=2)
    fits = np.abs(own - n * shares * (1.0 - shares)) <= EXACT * np.maximum(n * np.abs(shares), 1.0)
    fits &= np.abs(n * shares - np.round(n * shares)) <= EXACT * np.maximum(n, 1.0)
    inner = (shares > 0) & (shares < 1)
    whole = np.where(n > 0, fits, True).all(axis=0) & inner.any(axis=0)
    return np.broadcast_to(whole, shares.shape).copy()
