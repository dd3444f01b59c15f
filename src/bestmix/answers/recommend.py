"""From evidence to the recommendation: the best mix at the estimates, their intervals, how sure it is."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bestmix.answers import certainty
from bestmix.answers.evidence import Evidence
from bestmix.answers.recommendation import Estimate, Recommendation, Round
from bestmix.arrays import Integers
from bestmix.problems.problem import Problem
from bestmix.problems.solution import solve_means

LEVEL = 0.95  # of the intervals


def recommend(
    evidence: Evidence,
    columns: Integers | None,
    *,
    strategy: str,
    budget: int | None = None,
    complete: bool = True,
    history: Sequence[Round] = (),
) -> Recommendation:
    """Recommendation from what is known; ``columns`` None is a verdict of infeasible."""
    problem = evidence.problem
    usable = evidence.tried if columns is None else np.intersect1d(columns, evidence.tried)
    estimates = {e.arm: e for e in _estimates(evidence)}
    common = {"problem": problem, "strategy": strategy, "budget": budget, "complete": complete}
    if not (usable < len(problem.names)).any():
        return _untried(columns, estimates, common)
    solution = solve_means(evidence.means, problem.bound, usable)
    feasible, note = columns is not None and solution.feasible, ""
    if not feasible:
        solution = solve_means(evidence.means, problem.bound, evidence.tried)
        if solution.feasible:
            note = "The arms left by the search have no feasible mix, although all arms together have one."
    z = certainty.z_scores(evidence, solution) if feasible else None
    return Recommendation(
        feasible=feasible,
        mixture={n: float(p) for n, p in zip(problem.names, solution.mixture, strict=True) if p > 0},
        value=solution.value,
        slack=dict(zip(problem.costs, map(float, solution.slack), strict=True)),
        shadow_prices=dict(zip(problem.costs, map(float, solution.dual), strict=True)) if feasible else {},
        basis=tuple(problem.columns[j] for j in solution.basis),
        estimates=estimates,
        support_probability=certainty.support_probability(z),
        z_scores={} if z is None else dict(zip(problem.columns, map(float, z), strict=True)),
        history=tuple(history),
        note=note,
        **common,  # type: ignore[arg-type]
    )


def _untried(columns: Integers | None, estimates: dict[str, Estimate], common: dict[str, Any]) -> Recommendation:
    """Before any trial there is no answer, unless only one arm is left to choose and there is no bound to keep."""
    problem: Problem = common["problem"]
    left = [] if columns is None else [problem.names[j] for j in columns if j < len(problem.names)]
    mixture = {left[0]: 1.0} if common["complete"] and len(left) == 1 and not problem.bounds else {}
    return Recommendation(
        feasible=bool(mixture),
        mixture=mixture,
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
    from scipy.special import stdtrit

    problem, result = evidence.problem, []
    for a, name in enumerate(problem.names):
        known = a >= len(evidence.moments)
        mean = evidence.means[a]
        half = np.zeros_like(mean)
        if not known:
            m = evidence.moments[a]
            t = stdtrit(m.count - 1, 0.5 + LEVEL / 2) if m.count > 1 else math.inf
            half = t * np.sqrt(np.diag(m.covariance()) / m.count) if m.count > 1 else np.full_like(mean, math.inf)
        ends = [(float(x - h), float(x + h)) for x, h in zip(mean, half, strict=True)]
        result.append(
            Estimate(
                name,
                0 if known else evidence.moments[a].count,
                known,
                float(mean[0]),
                ends[0],
                dict(zip(problem.costs, map(float, mean[1:]), strict=True)),
                dict(zip(problem.costs, ends[1:], strict=True)),
            )
        )
    return result
