"""The fewest trials on average with which any algorithm can find the answer of an instance, and how to spend them."""

import math
from collections.abc import Mapping

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats
from bestmix.problems.instance import Instance
from bestmix.problems.noise import Bernoulli, Gaussian
from bestmix.problems.segment_instance import by_arrays
from bestmix.problems.solution import Solution, solve
from bestmix.problems.uniqueness import MARGIN, broken_condition
from bestmix.strategies.tolerance_stop import parse_tolerance
from bestmix.theory.limit.allocation import CLOSE, Allocation, Cuts, maximise
from bestmix.theory.limit.answers import Tolerance, right_answers
from bestmix.theory.limit.bernoulli import BernoulliDistances
from bestmix.theory.limit.bound import LowerBound, TolerantBound, check_delta
from bestmix.theory.limit.conditions import Points, conditions_of, points_of
from bestmix.theory.limit.feasible_sets import MOST_SUPPORTS, FeasibleSets, count_supports, full_or_none
from bestmix.theory.limit.gaussian import GaussianDistances, multiples
from bestmix.theory.limit.tolerance import tolerant_limit

MOST_SEARCHED = 12  # columns whose distances are searched for in passing: more take long


def limit(
    instance: Instance,
    delta: float = 0.05,
    tolerance: float | str | None = None,
    limit_tolerance: float | Mapping[str, float] | None = None,
) -> LowerBound:
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
    tolerance
        A basis is as good where its mix earns at most this much less than the best one, an amount or a text such as
        ``"1%"`` of what that earns: a ``TolerantBound``, with a bound from below and one from above. For Gaussian
        noise.
    limit_tolerance
        And where its mix exceeds the bounds by at most this, one number, or a mapping with one for each cost by name.

    Examples
    --------
    >>> found = limit(Instance(reward=[1.0, 0.0], sigma_reward=1.0))
    >>> round(found.time, 2), found.share.round(2), round(found.trials, 1)
    (8.0, array([0.5, 0.5]), 21.2)
    >>> near = limit(Instance(reward=[1.0, 0.0], sigma_reward=1.0), tolerance=0.5)
    >>> round(near.time, 2), round(near.time_upper, 2)
    (3.56, 3.56)
    """
    if not isinstance(instance, Instance):
        raise checks.InvalidInput("instance", expected="an Instance", got=checks.shown(instance), remedy="build one")
    instance = by_arrays(instance)
    delta, solution = check_delta(delta), solve(instance)
    allowed = _tolerance(instance, solution, tolerance, limit_tolerance)
    check_noise(instance, solution)
    if allowed.none:
        return _exact(instance, delta, solution)
    check_tolerant(instance)
    if solution.feasible:
        points, covariance = _scaled(instance, solution)
        return tolerant_limit(instance, delta, solution, points, covariance, allowed)
    return _none_feasible(_exact(instance, delta, solution), allowed)


def _exact(instance: Instance, delta: float, solution: Solution) -> LowerBound:
    """Nothing but the right basis will do."""
    nobody = np.zeros(len(instance.arms))
    if solution.feasible and (reason := broken_condition(instance, solution)):
        note = f"No number of trials is enough: {reason}."
        if _cannot_move(instance, solution):
            note = (
                f"No number of trials settles the basis, which is what is bounded here: {reason}. "
                "The mix itself can be found: no trial can move that weight."
            )
        return LowerBound(instance, delta, math.inf, math.inf, nobody, True, {}, note)
    names, found, exact = _largest(instance, solution)
    if not found.upper < math.inf:
        most = 0.0 if exact else math.inf
        return LowerBound(instance, delta, 0.0, most, nobody, exact, {}, _no_alternative(instance, exact))
    share = np.r_[found.share, np.zeros(instance.known)]
    proven = exact and found.upper <= found.lower * (1 + CLOSE)
    weight = _named(names, found.weight)
    return LowerBound(instance, delta, 1 / found.upper, 1 / found.lower, share, proven, weight)


def _cannot_move(instance: Instance, solution: Solution) -> bool:
    """Whether limits are met exactly, all of them by arms whose costs are known or have no noise, and nothing ties."""
    arms = len(instance.arms)
    reduced = instance.means[:, 0] - (instance.means[:, 1:] - instance.bound) @ solution.dual - solution.value
    if (reduced[solution.mixture == 0] >= -MARGIN * np.abs(instance.means[:, 0]).max()).any():
        return False
    met = [l for l in range(len(instance.bound)) if arms + l in solution.basis and solution.slack[l] == 0.0]
    noisy = np.diagonal(instance.covariance, axis1=1, axis2=2)[:, 1:] > 0
    noisy[arms - instance.known :] = False
    return bool(met) and not noisy[solution.mixture > 0][:, met].any()


def _no_alternative(instance: Instance, proven: bool) -> str:
    """Why there is no bound above zero."""
    if not proven:
        return (
            "No bound is known: no means with another answer were found, which does not prove that there are none. "
            "Trials may be needed."
        )
    unknown = instance.covariance[: len(instance.arms) - instance.known]
    if (
        isinstance(instance.noise, Gaussian)
        and len(unknown)
        and np.linalg.matrix_rank(unknown).min() < unknown.shape[1]
    ):
        return (
            "One trial of each unknown arm is enough: it tells what has no noise, and no change of the other unknown "
            "means can change the answer."
        )
    return "No trial is needed: no change of the unknown means can change the answer."


def _none_feasible(exact: LowerBound, allowed: Tolerance) -> TolerantBound:
    """Where no mix keeps the bounds that verdict is right; and mixes within what is tolerated, if there are any."""
    answers = len(right_answers(exact.instance.means, exact.instance.bound, allowed))
    told = {name: getattr(exact, name) for name in exact.__dataclass_fields__}
    told |= {"time": 0.0, "weight": {}} if answers else {}
    return TolerantBound(**told, tolerance=allowed.reward, limit_tolerance=allowed.cost, answers=1 + answers)


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
    if not isinstance(instance.noise, Gaussian) or not full_or_none(instance.covariance[:movable, 1:, 1:]):
        expected = (
            "Gaussian noise in every cost of an arm or in none, where there are several and no mix keeps the bounds"
        )
        return checks.InvalidInput("instance", expected=expected, got=f"{kind} noise", remedy=gaussian)
    sets = count_supports(len(instance.arms), len(instance.bound))
    if sets > MOST_SUPPORTS:
        expected = f"at most {MOST_SUPPORTS:,} ways to become feasible, where no mix keeps the bounds"
        return checks.InvalidInput(
            "instance", expected=expected, got=f"{sets:,}", remedy="leave out arms that are clearly worse"
        )
    return None


def check_tolerant(instance: Instance) -> None:
    """Refuse 0/1 metrics, which have no bounds with a tolerance."""
    if not isinstance(instance.noise, Gaussian):
        raise checks.InvalidInput(
            "tolerance",
            expected="Gaussian noise with it",
            got=f"{instance.noise.kind} noise",
            remedy="leave it out, or give Gaussian noise: instance.with_noise(noise.Gaussian(covariance=...))",
        )


def _tolerance(
    instance: Instance,
    solution: Solution,
    tolerance: float | str | None,
    limit_tolerance: float | Mapping[str, float] | None,
) -> Tolerance:
    """What is as good, checked."""
    cost = np.zeros(len(instance.bound))
    if isinstance(limit_tolerance, Mapping):
        for name, value in limit_tolerance.items():
            cost[instance.costs.index(checks.choice("limit_tolerance", name, instance.costs))] = _amount(name, value)
    elif limit_tolerance is not None:
        cost[:] = _amount("limit_tolerance", limit_tolerance)
    if isinstance(tolerance, str):
        some = tolerance.strip().removesuffix("%") != "0"
        tolerance = parse_tolerance(tolerance).of(solution.value if solution.feasible else 0.0) if some else 0.0
    return Tolerance(0.0 if tolerance is None else _amount("tolerance", tolerance), cost)


def _amount(name: str, value: float) -> float:
    if not 0 <= checks.number(name, value) < math.inf:
        raise checks.InvalidInput(name, expected="a number that is not negative", got=value, remedy="try 0.01")
    return float(value)


def check_noise(instance: Instance, solution: Solution) -> None:
    """Refuse an instance whose limit is not known."""
    if (error := why_unknown(instance, solution)) is not None:
        raise error


def _largest(instance: Instance, solution: Solution) -> tuple[list[str], Allocation, bool]:
    """Names of what can fail, the allocation and whether its distances are exact."""
    points, covariance = _scaled(instance, solution)
    columns = instance.problem.columns
    if not points.movable:
        return [], Allocation(np.empty(0), math.inf, math.inf, {}), True
    if not solution.feasible and len(instance.bound) > 1:
        sets = FeasibleSets(points, covariance)
        names = [" with ".join(columns[j] for j in support) for support in sets.supports]
        return names, maximise(sets.cuts, points.movable, start=sets.start), sets.exact
    conditions = conditions_of(points, solution)
    distances = _distances(instance, points, covariance)

    def cuts(share: Floats) -> Cuts:
        found = ((k, distances.nearest(condition, share)) for k, condition in enumerate(conditions))
        return [(k, nearest.value, nearest.divergence) for k, nearest in found if nearest is not None]

    found = maximise(cuts, points.movable, start=distances.start)
    return [columns[c.column] for c in conditions], found, distances.exact(conditions)


def _scaled(instance: Instance, solution: Solution) -> tuple[Points, Floats]:
    """The columns, and the covariances of a trial, in units of the noise."""
    points = points_of(instance, solution, instance.covariance)
    return points, instance.covariance / np.outer(points.scale, points.scale)


def _distances(instance: Instance, points: Points, covariance: Floats) -> GaussianDistances:
    if not isinstance(instance.noise, Bernoulli):
        return GaussianDistances(points, covariance)
    binary = (np.arange(len(points.scale)) == 0) | (instance.noise.sigma_cost is None)
    return BernoulliDistances(points, covariance, instance.means, binary)


def _named(names: list[str], weight: Mapping[int, float]) -> dict[str, float]:
    order = sorted(weight, key=lambda k: -weight[k])
    return {names[k]: weight[k] for k in order}
