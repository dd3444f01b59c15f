"""Where the values of metrics lie: what trials that were all alike leave possible.

After n trials of an arm with one and the same value, events of another value can still come once in n trials, and one
at the far end of a range of width R has a square deviation of R^2. That is what the scatter of such trials counts as:
the mean is then known to about R / n, as by Laplace's rule, and not exactly.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats
from bestmix.problems.problem import Problem


def ends_of(name: str, ends: Any) -> tuple[float, float]:
    """The lowest and the highest value of a metric."""
    if isinstance(ends, (tuple, list)) and len(ends) == 2:
        low, high = (checks.number(f"range of {name}", end) for end in ends)
        if low < high:
            return low, high
    raise checks.InvalidInput(
        "ranges", expected=f"the lowest and the highest value of {name}", got=checks.shown(ends), remedy="as in (0, 1)"
    )


def check_ranges(ranges: Any) -> None:
    """Refuse what is no table of ranges.

    >>> check_ranges({"reward": 1})
    Traceback (most recent call last):
    bestmix.checks.InvalidInput: ranges: expected the lowest and the highest value of reward, got 1; as in (0, 1)
    """
    table = checks.mapping("ranges", ranges, "of metrics to (lowest, highest)")
    for name in checks.names("ranges", table, "metric"):
        ends_of(name, table[name])


def unknown_metric(field: str, name: str, metrics: Sequence[str]) -> checks.InvalidInput:
    """The error for a name that is of no metric."""
    expected = f"names of metrics: {', '.join(map(repr, metrics[:10]))}"
    return checks.InvalidInput(field, expected=expected, got=checks.shown(name), remedy="see their spelling")


def least_scatter(problem: Problem, ranges: Any) -> Floats:
    """Scatter of each measure (M,) of trials that were all alike; 0 for those without a range.

    >>> least_scatter(Problem(["a"], {"dollars": 1.0}), {"reward": (0, 50)})
    array([2500.,    0.])
    """
    table = checks.mapping("ranges", ranges, "of metrics to (lowest, highest)")
    for name in table:
        if name not in problem.metrics:
            raise unknown_metric("ranges", name, problem.metrics)
    widths = {name: high - low for name, (low, high) in ((name, ends_of(name, table[name])) for name in table)}
    return np.array([widths.get(measure, 0.0) ** 2 for measure in problem.measures])


def check_within(names: Sequence[str], ranges: Mapping[str, Any], rows: Floats, remedy: str) -> None:
    """Refuse trials (m, metrics) with a value outside of its range.

    >>> check_within(["reward"], {"reward": (0, 1)}, np.array([[0.5]]), "give a wider one")
    """
    for place, name in enumerate(names):
        if name not in ranges:
            continue
        low, high = ends_of(name, ranges[name])
        outside = (rows[:, place] < low) | (rows[:, place] > high)
        if outside.any():
            raise checks.InvalidInput(
                name,
                expected=f"values from {low:g} to {high:g}, as its range says",
                got=f"{rows[outside, place][0]:g}",
                remedy=remedy,
            )
