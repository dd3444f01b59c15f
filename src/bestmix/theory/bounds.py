"""The paper's bounds on the error, with the constants of its proofs.

The upper bound is the last but one display of the proof of Theorem 1: a sum over the rounds of SFSR, with the true
round lengths n_k. ``closed`` bounds that sum, with Psi(K0, L) itself; ``written`` is the theorem as it stands in the
paper, with (L + 1)/2 + log K0 in place of Psi, which is larger. (The paper's last display has L/2 there, which its own
bound of Psi does not give.) The exponents of Theorem 2 say how fast an error can fall at best, as the budget grows
without end.

The proof uses of Gaussian noise only that the squared length of a standard normal vector with d entries passes x with
a chance of at most 3^(d/2) exp(-x/3). The same is true of every sub-Gaussian vector, since E exp(|Z|^2/3) <= 3^(d/2)
for it too (the paper's first remark). For other noise than Gaussian the gaps are therefore measured in units of its
proxy: half the range for values that are bounded. Noise that is not sub-Gaussian, such as Student's t, has no bound
here, and Theorem 2 is about Gaussian instances alone.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats
from bestmix.problems.instance import Instance
from bestmix.problems.noise import Gaussian, SubGaussian
from bestmix.strategies.protocol import MOST_TRIALS
from bestmix.strategies.schedule import psi, rejects
from bestmix.theory.gaps.measure import Gaps, gaps


@dataclass(frozen=True)
class ErrorBounds:
    """What is proven of the error with a budget.

    Attributes
    ----------
    budget
        Trials.
    upper
        SFSR with intersection values is wrong at most this often (Theorem 1); one where the bound says nothing.
    closed
        The same in closed form, a little larger: Theorem 1 with Psi(K0, L).
    written
        Theorem 1 as it is written in the paper, larger again.
    any_exponent
        No consistent algorithm's error falls faster than exp(-exponent * budget) in the long run (Theorem 2);
        infinite where nothing is said, since the noise is not Gaussian.
    uniform_exponent
        The same for uniform sampling with the linear program (USLP).
    sfsr_exponent
        The exponent that Theorem 1 guarantees to SFSR.
    proven
        Whether the upper bounds are: they use lower bounds of the gaps where a gap itself is not proven. Without
        such bounds, where arms differ in their noise, they use the gaps found. The exponents of Theorem 2 need no
        proof of nearness: an alternative that is not the nearest gives a weaker statement, and a true one. Never
        for noise that is not sub-Gaussian.
    noise
        What is assumed of the noise, in words.
    """

    budget: int
    upper: float
    closed: float
    written: float
    any_exponent: float
    uniform_exponent: float
    sfsr_exponent: float
    proven: bool
    noise: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data; an infinite exponent is None."""
        return {k: None if isinstance(v, float) and math.isinf(v) else v for k, v in asdict(self).items()}


def error_bounds(instance: Instance | Gaps, budget: int) -> ErrorBounds:
    """Bounds on the error with this budget, for Gaussian and other sub-Gaussian noise.

    Parameters
    ----------
    instance
        The instance, or its gaps where they are known already.
    budget
        Trials: more than there are unknown arms.

    Examples
    --------
    >>> inst = Instance(reward=[1.7, 2.6, 0.5, 2.1, 1.2], cost=[[0.0, 1.8, 0.8, 1.3, 2.0]], bound=[1.0])
    >>> known = error_bounds(inst, 50_000)
    >>> known.upper < known.closed < 1, round(known.any_exponent, 5)
    (True, 0.01855)
    """
    found = instance if isinstance(instance, Gaps) else gaps(instance, bases=False)
    problem = found.instance.problem
    least = len(problem.arms) + 1 if problem.arms else 0
    budget = checks.whole("budget", budget, least, "give more trials than there are unknown arms", MOST_TRIALS)
    fastest, sure = any_exponent(found), concentrated(found)
    forms = (_sum_over_rounds, _closed, _written)
    upper, closed, written = (1.0 if sure is None else form(sure, budget) for form in forms)
    return ErrorBounds(
        budget=budget,
        upper=upper,
        closed=closed,
        written=written,
        any_exponent=fastest,
        uniform_exponent=fastest / max(len(problem.arms), 1),
        sfsr_exponent=0.0 if sure is None else _sfsr_exponent(sure),
        proven=sure is not None and sure.support.lower > 0 and all(rival.lower > 0 for rival in sure.rivals.values()),
        noise=_assumed(found.instance),
    )


def concentrated(found: Gaps) -> Gaps | None:
    """The gaps in units of the noise's sub-Gaussian proxy; None when it has none."""
    instance = found.instance
    if isinstance(instance.noise, Gaussian):
        return found
    if not isinstance(instance.noise, SubGaussian):
        return None
    return gaps(instance.with_noise(Gaussian(covariance=instance.noise.proxy(instance.means))), bases=False)


def upper_bound(found: Gaps, budget: int) -> float:
    """Theorem 1, summed over the rounds; one where the noise is not sub-Gaussian."""
    sure = concentrated(found)
    return 1.0 if sure is None else _sum_over_rounds(sure, budget)


def _sum_over_rounds(found: Gaps, budget: int) -> float:
    arms, unknown, costs = _sizes(found)
    if not unknown:
        return 0.0
    support, ordered = _certain(found)
    terms = []
    for k, pulls in enumerate(rejects(arms, unknown, costs, budget), start=1):
        terms.append(_log_infeasible(costs) - pulls * support**2 / 3)
        terms.append(math.log(k) + _log_overtaken(arms, costs) - pulls * ordered[arms + costs - k] ** 2 / 3)
    return _total(terms)


def _closed(found: Gaps, budget: int) -> float:
    """Theorem 1 with Psi itself."""
    _, unknown, costs = _sizes(found)
    return _one_display(found, budget, float(psi(unknown, costs)))


def _written(found: Gaps, budget: int) -> float:
    """Theorem 1 as it is written: Psi(K0, L) <= (L + 1)/2 + log K0."""
    _, unknown, costs = _sizes(found)
    return _one_display(found, budget, (costs + 1) / 2 + math.log(max(unknown, 1)))


def _one_display(found: Gaps, budget: int, divisor: float) -> float:
    arms, unknown, costs = _sizes(found)
    if arms < 2 or not unknown:
        return 0.0
    share = (budget - unknown) / (3 * divisor)
    worst = _slowest(found)
    first = math.log(arms - 1) + _log_infeasible(costs) - share * _certain(found)[0] ** 2 / arms
    second = math.log(arms * (arms + 1) / 2) + _log_overtaken(arms, costs) - share * worst
    return _total([first, second])


def any_exponent(found: Gaps) -> float:
    """Half of the smallest squared gap, min(Delta_0, Delta_(L+2))^2 / 2; infinite unless the noise is Gaussian."""
    if not isinstance(found.instance.noise, Gaussian):
        return math.inf
    smallest = min((gap.gap for gap in found.rivals.values()), default=math.inf)
    return min(found.delta0, smallest) ** 2 / 2


def _sfsr_exponent(found: Gaps) -> float:
    arms, unknown, costs = _sizes(found)
    if arms < 2 or not unknown:
        return math.inf
    return min(_certain(found)[0] ** 2 / arms, _slowest(found)) / (3 * float(psi(unknown, costs)))


def _slowest(found: Gaps) -> float:
    """Smallest Delta_(L+i)^2 / i over i = 2..K."""
    arms, _, costs = _sizes(found)
    _, ordered = _certain(found)
    return min(float(ordered[costs + i - 1]) ** 2 / i for i in range(2, arms + 1))


def _certain(found: Gaps) -> tuple[float, Floats]:
    """The support's gap and the sorted arm gaps, each the largest that is certain."""
    arms = [found.rivals[j].lower or found.rivals[j].gap if j in found.rivals else 0.0 for j in range(len(found.arm))]
    return found.support.lower or found.support.gap, np.sort(arms)


def budget_for(found: Gaps, error: float) -> int | None:
    """The smallest budget with which Theorem 1 proves the error of SFSR; None when there is none up to 2**53 trials."""
    unknown, sure = len(found.instance.problem.arms), concentrated(found)
    low, high = unknown, max(2 * unknown, 2)
    if not unknown:
        return 0
    if sure is None:
        return None
    while _sum_over_rounds(sure, high) > error:
        low, high = high, 2 * high
        if high > MOST_TRIALS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _sum_over_rounds(sure, middle) <= error else (middle, high)
    return high


def _assumed(instance: Instance) -> str:
    if isinstance(instance.noise, Gaussian):
        return "Gaussian noise"
    if isinstance(instance.noise, SubGaussian):
        return "bounded noise, in units of half its range"
    return "nothing is proven: this noise is not sub-Gaussian"


def _sizes(found: Gaps) -> tuple[int, int, int]:
    problem = found.instance.problem
    return len(problem.names), len(problem.arms), len(problem.bounds)


def _log_infeasible(costs: int) -> float:
    """3^(L(L+1)/2): degrees of freedom of the support's costs, halved."""
    return costs * (costs + 1) / 2 * math.log(3)


def _log_overtaken(arms: int, costs: int) -> float:
    """C(K+L-1, L) bases with a given column, each with 3^((L+1)^2)."""
    return math.log(math.comb(arms + costs - 1, costs)) + (costs + 1) ** 2 * math.log(3)


def _total(logs: Iterable[float]) -> float:
    """Sum of exponentials, at most one."""
    logs = list(logs)
    top = max(logs, default=-math.inf)
    if top > 0 or math.isinf(top):
        return 1.0 if top > 0 else 0.0
    return min(1.0, math.exp(top) * math.fsum(math.exp(x - top) for x in logs))
