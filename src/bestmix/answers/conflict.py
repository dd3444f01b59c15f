"""Whether trials from before and fresh ones of the same arm can have the same mean: a log may be out of date."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bestmix.answers.moments import Moments
from bestmix.answers.recommendation import Recommendation
from bestmix.problems.problem import Problem

FALSE_ALARM = 0.01  # chance that any metric of any arm is said to differ although none does
FEWEST_TRIALS = 5  # from before, and fresh: fewer say too little of their spread


class Difference(NamedTuple):
    """A metric of an arm whose mean has changed, as far as can be seen."""

    arm: str
    metric: str
    before: float
    now: float
    chance: float  # of a difference so large if there is none


def with_conflict(
    rec: Recommendation, moments: Sequence[Moments], earlier: Sequence[Moments | None], weight: float
) -> Recommendation:
    """The recommendation with what its log counts, and a warning where that and its fresh trials differ."""
    if not any(earlier):
        return rec
    logs = [m or Moments(sums.size) for m, sums in zip(earlier, moments, strict=True)]
    counted = [log.weighted(weight) for log in logs]
    rec = replace(rec, log_results=sum(m.count for m in logs), log_counted=sum(m.count for m in counted))
    fresh = [sums.without(log) for sums, log in zip(moments, counted, strict=True)]
    found = differences(rec.problem, logs, fresh)
    return replace(rec, note=" ".join(filter(None, [rec.note, warning(found)]))) if found else rec


def differences(problem: Problem, logs: Sequence[Moments], fresh: Sequence[Moments]) -> list[Difference]:
    """Metrics whose means before and now differ by more than chance, the clearest first.

    Welch's test of every metric of every arm that has enough trials, at a level that all of them share.

    Examples
    --------
    >>> log, now = (Moments(1).plus(np.arange(9.0)[:, None] + shift) for shift in (0.0, 20.0))
    >>> [(d.arm, d.before, d.now) for d in differences(Problem(["a"]), [log], [now])]
    [('a', 4.0, 24.0)]
    """
    tests = [test for arm in range(len(logs)) for test in _tests(problem, arm, logs[arm], fresh[arm])]
    return sorted((t for t in tests if t.chance < FALSE_ALARM / len(tests)), key=lambda t: t.chance)


def _tests(problem: Problem, arm: int, log: Moments, fresh: Moments) -> Iterator[Difference]:
    if min(log.count, fresh.count) < FEWEST_TRIALS:
        return
    before, now = log.mean(), fresh.mean()
    parts = [np.diagonal(m.covariance()) / m.count for m in (log, fresh)]
    for place, metric in enumerate(problem.measures):
        spread = [float(part[place]) for part in parts]
        chance = _chance(float(now[place] - before[place]), spread, (log.count, fresh.count))
        yield Difference(problem.trial_names[arm], metric, float(before[place]), float(now[place]), chance)


def _chance(difference: float, variances: Sequence[float], counts: Sequence[int]) -> float:
    """Chance of a difference of means so large (two-sided), with Welch's degrees of freedom."""
    from scipy.stats import t

    total = sum(variances)
    if total <= 0.0:  # constants
        return float(difference == 0.0)
    freedom = total**2 / sum(v**2 / (n - 1) for v, n in zip(variances, counts, strict=True))
    return float(2.0 * t.sf(abs(difference) / total**0.5, freedom))


def warning(found: Sequence[Difference]) -> str:
    """What to tell of differences.

    >>> warning([Difference("small", "dollars", 1.02, 1.31, 1e-5)])  # doctest: +NORMALIZE_WHITESPACE
    'The log and the fresh results of small differ by more than chance: dollars 1.02 in the log, 1.31 since. If prices
    or traffic have changed, start without the log, or give it less weight.'
    """
    figures = clearest(found, "in the log", "since")
    return (
        f"The log and the fresh results of {found[0].arm} differ by more than chance: {figures}. "
        "If prices or traffic have changed, start without the log, or give it less weight."
    )


def clearest(found: Sequence[Difference], before: str, now: str) -> str:
    """The figures of the clearest difference, with words for when they were, and how many more there are.

    >>> clearest([Difference("small", "dollars", 1.02, 1.31, 1e-5)] * 3, "before", "now")
    'dollars 1.02 before, 1.31 now (and 2 more such)'
    """
    first, *others = found
    more = f" (and {len(others)} more such)" if others else ""
    return f"{first.metric} {first.before:.3g} {before}, {first.now:.3g} {now}{more}"
