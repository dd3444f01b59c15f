"""The fewest trials on average with which any algorithm can find the answer of an instance, and how to spend them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats
from bestmix.problems.instance import Instance
from bestmix.problems.noise import Bernoulli, Gaussian
from bestmix.problems.segment_instance import by_arrays
from bestmix.problems.solution import Solution, solve
from bestmix.problems.uniqueness import broken_condition
from bestmix.theory.limit.allocation import CLOSE, Allocation, Cuts, maximise
from bestmix.theory.limit.bernoulli import BernoulliDistances
from bestmix.theory.limit.conditions import Points, conditions_of, points_of
from bestmix.theory.limit.feasible_sets import MOST_SUPPORTS, FeasibleSets, count_supports
from bestmix.theory.limit.gaussian import GaussianDistances, multiples

MOST_SHARES = 5  # arms that a sentence tells
MOST_SEARCHED = 12  # columns whose distances are searched for in passing: more take long


@dataclass(frozen=True, eq=False)
class LowerBound:
    """What no algorithm can beat on an instance.

    Attributes
    ----------
    instance
        Whose limit it is.
    delta
        How often the algorithm may be wrong, on every instance.
    time
        The characteristic time T*: the bound is T* kl(delta, 1 - delta). This value is proven to be not above T*;
        infinite where the answer is not unique, zero where nothing unknown can change it.
    time_upper
        T* is not above this either: with ``shares`` the distance to every alternative that was found is 1 / time_upper.
    share
        Shares of trials that attain it (K,): those of an algorithm as good as can be, when delta is small.
    proven
        Whether ``time_upper`` is certain, and equal to ``time`` up to a share of 0.0001. Otherwise some distances are
        the smallest found, and T* may be larger than ``time``: the bound holds, but there may be a better one.
    weight
        By the name of a column: how much its condition counts in the proof; they sum to one. An infeasible instance
        has those of the sets of arms that come nearest to being feasible.
    note
        Why the limit is infinite or zero, if so.
    """

    instance: Instance
    delta: float
    time: float
    time_upper: float
    share: Floats = field(repr=False)
    proven: bool
    weight: Mapping[str, float] = field(repr=False)
    note: str = ""

    @property
    def trials(self) -> float:
        """The bound: expected trials of every algorithm that is wrong with a chance of at most delta, anywhere."""
        return self.time * divergence(self.delta)

    @property
    def shares(self) -> dict[str, float]:
        """Share of trials of each arm that gets any, the largest first."""
        order = np.argsort(-self.share, kind="stable")
        return {self.instance.arms[a]: float(self.share[a]) for a in order if self.share[a] > 0}

    def at(self, delta: float) -> "LowerBound":
        """The same with another delta.

        >>> instance = Instance(reward=[1.0, 0.0])
        >>> round(limit(instance, 0.05).at(0.01).trials, 1) == round(limit(instance, 0.01).trials, 1)
        True
        """
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return LowerBound(**fields | {"delta": check_delta(delta)})

    def sentence(self) -> str:
        """The bound in plain language."""
        if self.note:
            return self.note
        count = math.ceil(self.trials)
        more = "" if self.proven else " The limit may be higher: some distances are the nearest found."
        return (
            f"An algorithm that is wrong in at most {self.delta:.4g} of all cases, whatever the means, makes at least "
            f"{count:,} trial{'s' if count > 1 else ''} here on average.{more}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data; what is infinite is None."""
        return {
            "delta": self.delta,
            "trials": _finite(self.trials),
            "characteristic_time": _finite(self.time),
            "characteristic_time_upper": _finite(self.time_upper),
            "proven": self.proven,
            "shares": self.shares,
            "weights": dict(self.weight),
            "note": self.note,
        }

    def __str__(self) -> str:
        first = list(self.shares.items())[:MOST_SHARES]
        told = ", ".join(f"{arm} {share:.1%}" for arm, share in first)
        more = len(self.shares) - len(first)
        best = f"\nShares of trials that attain it: {told}{f' and {more} more' if more else ''}." if told else ""
        return self.sentence() + best


def limit(instance: Instance, delta: float = 0.05) -> LowerBound:
    """The bound on expected trials that every delta-correct algorithm obeys on an instance, and the best shares.

    An algorithm is delta-correct when, whatever the means, it ends with another basis than that of the best mix (or
    another verdict, where no mix keeps the bounds) with a chance of at most delta. It knows the bounds, the known arms
    and the noise, but no other mean. Garivier and Kaufmann (2016) prove that it then makes T* kl(delta, 1 - delta)
    trials or more on average: 1 / T* is the smallest divergence to an instance with another answer, weighted by the
    shares of trials for which it is largest.

    Parameters
    ----------
    instance
        With Gaussian noise of any covariance, or with 0/1 metrics.
    delta
        Below 0.5.

    Examples
    --------
    >>> found = limit(Instance(reward=[1.0, 0.0], sigma_reward=1.0))
    >>> round(found.time, 2), found.share.round(2), round(found.trials, 1)
    (8.0, array([0.5, 0.5]), 21.2)
    """
    if not isinstance(instance, Instance):
        raise checks.InvalidInput("instance", expected="an Instance", got=checks.shown(instance), remedy="build one")
    instance = by_arrays(instance)
    delta, solution = check_delta(delta), solve(instance)
    check_noise(instance, solution)
    nobody = np.zeros(len(instance.arms))
    if solution.feasible and (reason := broken_condition(instance, solution)):
        note = f"No number of trials is enough: {reason}."
        return LowerBound(instance, delta, math.inf, math.inf, nobody, True, {}, note)
    names, found, exact = _largest(instance, solution)
    if not found.upper < math.inf:
        note = "No trial is needed: no change of the unknown means can change the answer."
        return LowerBound(instance, delta, 0.0, 0.0, nobody, True, {}, note)
    share = np.r_[found.share, np.zeros(instance.known)]
    proven = exact and found.upper <= found.lower * (1 + CLOSE)
    weight = _named(names, found.weight)
    return LowerBound(instance, delta, 1 / found.upper, 1 / found.lower, share, proven, weight)


def has_limit(instance: Instance) -> bool:
    """Whether ``limit`` knows this one.

    >>> has_limit(Instance(reward=[1.0, 0.0]))
    True
    """
    return why_unknown(instance, solve(instance)) is None


def limit_at_once(instance: Instance, delta: float) -> LowerBound | None:
    """``limit`` for whoever tells it in passing: None where it is not known, or takes more than seconds.

    >>> limit_at_once(Instance(reward=[1.0, 0.0]), 0.05).trials > 21
    True
    """
    solution = solve(instance)
    searched = isinstance(instance.noise, Bernoulli) or not multiples(instance.covariance)[1]
    if not 0 < delta < 0.5 or why_unknown(instance, solution) is not None:
        return None
    if searched and len(instance.problem.columns) > MOST_SEARCHED:
        return None
    return limit(instance, delta)


def why_unknown(instance: Instance, solution: Solution) -> checks.InvalidInput | None:
    """What is in the way of a limit: noise whose divergence is not known, or an infeasible instance beyond reach."""
    kind = instance.noise.kind
    gaussian = "give Gaussian noise: instance.with_noise(noise.Gaussian(covariance=...))"
    if not isinstance(instance.noise, Gaussian | Bernoulli):
        expected = "Gaussian noise or 0/1 metrics, whose divergences are known"
        return checks.InvalidInput("instance", expected=expected, got=f"{kind} noise", remedy=gaussian)
    if solution.feasible or len(instance.bound) < 2:
        return None
    movable = len(instance.arms) - instance.known
    full = np.linalg.eigvalsh(instance.covariance[:movable, 1:, 1:]).min(initial=np.inf) > 0
    if not isinstance(instance.noise, Gaussian) or not full:
        expected = "Gaussian noise in every cost, where there are several and no mix keeps the bounds"
        return checks.InvalidInput("instance", expected=expected, got=f"{kind} noise", remedy=gaussian)
    sets = count_supports(len(instance.arms), len(instance.bound))
    if sets > MOST_SUPPORTS:
        expected = f"at most {MOST_SUPPORTS:,} ways to become feasible, where no mix keeps the bounds"
        return checks.InvalidInput(
            "instance", expected=expected, got=f"{sets:,}", remedy="leave out arms that are clearly worse"
        )
    return None


def check_noise(instance: Instance, solution: Solution) -> None:
    """Refuse an instance whose limit is not known."""
    if (error := why_unknown(instance, solution)) is not None:
        raise error


def check_delta(delta: float) -> float:
    """Refuse what is no chance below one half."""
    if not 0 < checks.number("delta", delta) < 0.5:
        raise checks.InvalidInput("delta", expected="a number between 0 and 0.5", got=delta, remedy="try 0.05")
    return float(delta)


def divergence(delta: float) -> float:
    """kl(delta, 1 - delta), of two coins.

    >>> round(divergence(0.05), 3)
    2.65
    """
    return (1 - 2 * delta) * math.log((1 - delta) / delta)


def _largest(instance: Instance, solution: Solution) -> tuple[list[str], Allocation, bool]:
    """Names of what can fail, the allocation and whether its distances are exact."""
    points = points_of(instance, solution, instance.covariance)
    covariance = instance.covariance / np.outer(points.scale, points.scale)
    columns = instance.problem.columns
    if not points.movable:
        return [], Allocation(np.empty(0), math.inf, math.inf, {}), True
    if not solution.feasible and len(instance.bound) > 1:
        sets = FeasibleSets(points, covariance)
        names = [" with ".join(columns[j] for j in support) for support in sets.supports]
        return names, maximise(sets.cuts, points.movable), sets.exact
    conditions = conditions_of(points, solution)
    distances = _distances(instance, points, covariance)

    def cuts(share: Floats) -> Cuts:
        found = ((k, distances.nearest(condition, share)) for k, condition in enumerate(conditions))
        return [(k, nearest.value, nearest.divergence) for k, nearest in found if nearest is not None]

    return [columns[c.column] for c in conditions], maximise(cuts, points.movable), distances.exact


def _distances(instance: Instance, points: Points, covariance: Floats) -> GaussianDistances:
    if not isinstance(instance.noise, Bernoulli):
        return GaussianDistances(points, covariance)
    binary = (np.arange(len(points.scale)) == 0) | (instance.noise.sigma_cost is None)
    return BernoulliDistances(points, covariance, instance.means, binary)


def _named(names: list[str], weight: Mapping[int, float]) -> dict[str, float]:
    order = sorted(weight, key=lambda k: -weight[k])
    return {names[k]: weight[k] for k in order}


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
