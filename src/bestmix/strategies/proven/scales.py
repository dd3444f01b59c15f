"""The scales of the noise that a proof rests on, and what the names in ``sigma`` and ``ranges`` are of.

The goal is called by its metric or "reward"; a limit by its metric, or by its text with any bound, so that another
bound leaves the meaning as it is. A tail is 0 or 1 in each trial, so that its range is known.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.arrays import Flags, Floats
from bestmix.problems.limits import Limit
from bestmix.problems.problem import Problem
from bestmix.problems.quantities import Column, Mean, Tail
from bestmix.strategies.ranges import ends_of, unknown_metric

REWARD = "reward"
HALF = 0.5  # scale of what is 0 or 1
FAR = 8.0  # standard errors by which a variance has to be too large


def check_sigma(sigma: Any) -> None:
    """Refuse what is neither a scale nor scales by name.

    >>> check_sigma({"reward": "x"})
    Traceback (most recent call last):
    bestmix.checks.InvalidInput: sigma of reward: expected a finite number, got 'x'; give the scale of the noise
    """
    if not isinstance(sigma, Mapping):
        _scale("sigma", sigma)
        return
    for name in checks.names("sigma", sigma, "metric"):
        _scale(f"sigma of {name}", sigma[name])


def scales(problem: Problem, sigma: Any, ranges: Any) -> Floats:
    """The scale of the goal and of each limit (1 + L,): as given, or half the width of its range.

    >>> problem = Problem(["a"], goal="minimise dollars", limits=["p(seconds > 2) <= 5%"])
    >>> scales(problem, None, {"dollars": (0, 4)}), scales(problem, 0.3, None)
    (array([2. , 0.5]), array([0.3, 0.5]))
    """
    tails = _tails(problem)
    if ranges is not None:
        return _complete("ranges", _from_ranges(problem, ranges), problem)
    if not isinstance(sigma, Mapping):
        return np.where(tails, HALF, _scale("sigma", sigma))
    found = np.where(tails, HALF, np.nan)
    for name, row in rows_named("sigma", sigma, problem).items():
        if row is None:
            raise unknown_metric("sigma", name, _wanted(problem))
        found[row] = _scale(f"sigma of {name}", sigma[name])
    return _complete("sigma", found, problem)


def joint_scales(problem: Problem, sigma: Any, ranges: Any) -> Floats:
    """Scales (1 + L,) of the metrics together: as given, or of metrics that may depend in any way.

    These are all that have ranges, and a metric and its tail. (sum_i |w_i| s_i)^2 is at most 1 + L times
    sum_i w_i^2 s_i^2.

    >>> joint_scales(Problem(["a"], {"dollars": 1.0}), None, {"reward": (0, 1), "dollars": (0, 2)}).round(3)
    array([0.707, 1.414])
    """
    found = scales(problem, sigma, ranges)
    metrics = [metric for measure in problem.rows.measures[: len(found)] for metric in measure.metrics]
    apart = ranges is None and len(set(metrics)) == len(metrics)
    return found if apart else found * math.sqrt(len(found))


def refuted(problem: Problem, sigma: Any, moments: Sequence[Moments]) -> str:
    """What the trials say against given scales, as a sentence; no text where they do not.

    Noise with a scale has no larger deviation. The variance of all trials is held against its square, with room for
    chance: eight standard errors of normal noise, and a factor of two.
    """
    evidence = Evidence(problem, list(moments))
    freedom = float(np.maximum(evidence.counts - 1, 0).sum())
    given = scales(problem, sigma, None)
    with np.errstate(all="ignore"):
        found = np.sqrt(np.diagonal(evidence.scatters, axis1=1, axis2=2).sum(axis=0) / freedom)
        ratio = np.nan_to_num(found / given, nan=0.0)  # nothing over nothing
        far = ratio**2 > max(1.0 + FAR * math.sqrt(2.0 / max(freedom, 1.0)), 2.0)
    if freedom < 1 or not far.any():
        return ""
    row = int(np.argmax(ratio))
    what = (problem.measures[0], *problem.costs)[row]
    return (
        f"The trials of {what} have a deviation of {found[row]:.3g}, where sigma says at most {given[row]:.3g}: "
        "what is proven rests on it, so that nothing is. Give the true scale."
    )


def _from_ranges(problem: Problem, ranges: Any) -> Floats:
    tails = _tails(problem)
    found, table = np.where(tails, HALF, np.nan), checks.mapping("ranges", ranges, "of metrics to (lowest, highest)")
    for name, row in rows_named("ranges", table, problem).items():
        low, high = ends_of(name, table[name])
        if row is None:
            continue
        if tails[row] and not low <= 0.0 < 1.0 <= high:
            fault = f"{name!r} is 0 or 1 in each trial, got {low:g} to {high:g}"
            raise checks.InvalidInput("ranges", fault, "leave it out: this range is known")
        found[row] = HALF if tails[row] else (high - low) / 2.0
    return found


def metric_ranges(problem: Problem, ranges: Mapping[str, Any]) -> dict[str, Any]:
    """Of the ranges those that values of metrics can be held against, by metric.

    >>> problem = Problem(["a"], goal="minimise dollars", limits=["p(seconds > 2) <= 5%", "quality >= 0.9"])
    >>> metric_ranges(problem, {"reward": (0, 4), "p(seconds > 2) <= 5%": (0, 1), "quality >= 0.8": (0, 1)})
    {'quality': (0, 1), 'dollars': (0, 4)}
    """
    rows, tails = rows_named("ranges", ranges, problem), _tails(problem)
    metrics = {name: name if row is None else problem.measures[row] for name, row in rows.items()}
    return {metrics[name]: ranges[name] for name, row in rows.items() if row is None or not tails[row]}


def rows_named(field: str, names: Iterable[str], problem: Problem) -> dict[str, int | None]:
    """Which row each name is of, the goal's being 0; None for a metric of no row, such as the one behind a tail.

    Where a metric other than the goal's is called "reward", it is meant if the goal and only the goal has another name.

    >>> problem = Problem(["a"], goal="minimise dollars", limits=["reward >= 0.5"])
    >>> rows_named("sigma", ["reward", "dollars"], problem), rows_named("sigma", ["reward", "reward >= 0.6"], problem)
    ({'dollars': 0, 'reward': 1}, {'reward >= 0.6': 1, 'reward': 0})
    """
    found = {name: _row(field, name, problem) for name in names if name != REWARD}
    if REWARD in names:
        named = {*found.values(), *np.flatnonzero(_tails(problem)).tolist()}
        own = _row(field, REWARD, problem) if 0 in named and REWARD in problem.metrics else 0
        found[REWARD] = 0 if own is not None and own in named else own
    for name, row in found.items():
        twins = [other for other, its in found.items() if its == row and other != name]
        if twins and row is not None:
            raise checks.InvalidInput(field, f"{name!r} and {twins[0]!r} are of the same metric", "leave one out")
    return found


def _row(field: str, name: str, problem: Problem) -> int | None:
    measures = _measures(problem)
    if name in problem.costs:
        return 1 + problem.costs.index(name)
    if Mean(name) in measures:
        return measures.index(Mean(name))
    if name in problem.metrics:
        return None
    try:
        return 1 + measures[1:].index(Limit.parse(name).quantity)
    except ValueError:  # no limit, or one of something else
        raise unknown_metric(field, name, _wanted(problem)) from None


def _measures(problem: Problem) -> tuple[Column, ...]:
    """What each row is of: one measure each, in this order, as ``check_rows`` asks."""
    return problem.rows.measures[: 1 + len(problem.limits)]


def _tails(problem: Problem) -> Flags:
    """Which rows are 0 or 1 in each trial (1 + L,)."""
    return np.array([isinstance(measure, Tail) for measure in _measures(problem)])


def _wanted(problem: Problem) -> list[str]:
    """Metrics that need a scale."""
    return [measure.metric for measure in _measures(problem) if isinstance(measure, Mean)]


def _complete(field: str, found: Floats, problem: Problem) -> Floats:
    """Refuse scales of which some are missing, as NaN."""
    missing = [problem.measures[row] for row in np.flatnonzero(np.isnan(found))]
    if missing:
        fault = f"expected one value for each metric: {', '.join(map(repr, _wanted(problem)[:10]))}"
        raise checks.InvalidInput(field, fault, f"got {len(missing)} missing ({', '.join(map(repr, missing[:3]))})")
    return found


def _scale(name: str, value: Any) -> float:
    remedy = "give the scale of the noise"
    if isinstance(value, bool):
        raise checks.InvalidInput(name, expected="a number", got=checks.shown(value), remedy=remedy)
    result = checks.number(name, value, remedy)
    if result < 0:
        raise checks.InvalidInput(name, expected="scales of at least 0", got=f"{result:g}", remedy="see ranges")
    return result
