"""Good enough, with a proof: intervals that hold for all arms at all times, whatever the allocation does.

Each metric of a trial is sub-Gaussian around its mean with a given scale s, and independent of the past given the arm.
For one arm and one metric the normal mixture of exp(theta S - theta^2 s^2 n / 2) is a supermartingale in the arm's own
trials, so by Ville's inequality the mean of n trials is within s rad(n) of the truth for all n at once, except with a
chance of

    delta / m,     rad(n)^2 = (1 + rho / n) (2 log(m / delta) + log(1 + n / rho)) / n,

with m the number of pairs of an arm and a metric. While all hold, costs raised by their radius make a program whose
mixes keep the limits, and rewards raised and costs lowered one that no mix beats. Nothing is assumed of how metrics
depend on each other. docs/explanation/proven.md has the theorem.
"""

import numpy as np

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.arrays import Floats
from bestmix.problems.problem import Problem
from bestmix.problems.solution import solve_means
from bestmix.strategies.tolerance_stop import Tolerance, Verdict

RHO = 30.0  # trials at which the mixture is sharpest


def radius(counts: Floats, pairs: int, delta: float) -> Floats:
    """Half width, in units of the scale, of intervals that hold for ``pairs`` means at all times; 0 for known arms.

    >>> radius(np.array([30.0, np.inf, 0.0]), pairs=1, delta=0.05).round(3)
    array([0.668, 0.   ,   inf])
    """
    n = np.where(np.isfinite(counts) & (counts > 0), counts, 1.0)
    squared = (1.0 + RHO / n) * (2.0 * np.log(pairs / delta) + np.log1p(n / RHO)) / n
    return np.where(np.isfinite(counts), np.where(counts > 0, np.sqrt(squared), np.inf), 0.0)


def judge(evidence: Evidence, scale: Floats, delta: float, tolerance: Tolerance) -> Verdict | None:
    """The best mix that keeps the limits for certain, with its regret's bound; None when for certain none does.

    An arm without trials may be any good, and keep any limit: nothing is the best, or impossible, before it was tried.
    """
    unknown, means, bound = len(evidence.counts), evidence.means, evidence.problem.bound
    counts = np.r_[evidence.counts, np.full(len(means) - unknown, np.inf)]
    tried = counts > 0
    means, width = np.where(tried[:, None], means, 0.0), np.zeros_like(means)
    width[tried] = radius(counts[tried], unknown * len(scale), delta)[:, None] * scale
    raised, lowered = means.copy(), means.copy()
    raised[:, 1:] += width[:, 1:]
    lowered[:, 1:] -= width[:, 1:]
    safe = solve_means(raised, bound, evidence.tried)
    p = safe.mixture
    if not tried.all():
        return Verdict(p, np.inf, tolerance.of(float(p @ means[:, 0])), safe.status != "infeasible")
    # r_a - r.p is off by at most (1 - p_a) w_a + sum_{k != a} p_k w_k
    lowered[:, 0] += (1.0 - 2.0 * p) * width[:, 0] + p @ width[:, 0] - p @ means[:, 0]
    best = solve_means(lowered, bound)
    if best.status == "infeasible":
        return None
    return Verdict(p, max(best.value, 0.0), tolerance.of(float(p @ means[:, 0])), safe.status != "infeasible")


def check_rows(problem: Problem) -> None:
    """Refuse goals and limits whose noise the given scales do not tell: each has to be on a metric of its own.

    >>> check_rows(Problem(["a"], goal="minimise dollars", limits=["quality >= 0.9", "p(seconds > 2) <= 5%"]))
    >>> check_rows(Problem(["a"], limits=["complaints / visits <= 1%"]))
    Traceback (most recent call last):
    bestmix.checks.InvalidInput: strategy: Challenger with proven knows a goal and limits that are each on a metric ...
    """
    transform = np.abs(problem.rows.transform)
    own = np.eye(*transform.shape)
    if (transform != own).any():
        row = int(np.argmax((transform != own).any(axis=1)))
        raise checks.InvalidInput(
            "strategy",
            "Challenger with proven knows a goal and limits that are each on a metric of its own, got "
            f"'{problem.limits[max(row - 1, 0)]}'",
            "leave out proven: Challenger(confidence=0.95)",
        )
