"""The best mix from sums: of each arm the number of trials, the sums of its metrics and of their products.

That is all that estimates need, whatever the number of trials: one row for each arm (and segment), or several that are
added up.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.answers.logs import log_problem
from bestmix.answers.moments import Moments
from bestmix.answers.recommend import SAFETY, recommend
from bestmix.answers.recommendation import Recommendation
from bestmix.answers.tables import Group, read_groups
from bestmix.arrays import Floats
from bestmix.problems.goals import Goal
from bestmix.problems.limits import Limit
from bestmix.problems.problem import Known
from bestmix.problems.quantities import Mean
from bestmix.problems.rows import Rows, parse_limits

ROUNDING = 1e-9  # of a sum of squares: by so much it may miss what the sums ask for


def from_sums(
    frame: Any,
    arm: str = "arm",
    n: str = "n",
    reward: str = "reward",
    bounds: Mapping[str, float] | None = None,
    known: Mapping[str, Known] | None = None,
    *,
    goal: str | Goal = "maximise reward",
    limits: Sequence[str | Limit] = (),
    segment: str | None = None,
    segments: Mapping[str, float] | None = None,
    safety: float | None = SAFETY,
) -> Recommendation:
    """Best mix of arms of which only sums are kept.

    Parameters
    ----------
    frame
        What ``from_log`` takes, with a row for each arm (and segment), or several that are added up: the number of
        trials, the sum of each metric in a column of its name, and the sum of the product of each two metrics, squares
        too, in columns such as ``quality*quality`` and ``quality*dollars``. A tail has its text for a name, as in
        ``p(seconds > 2)``, and needs no square.
    arm, n, reward, segment
        Names of the columns with the arm, the number of trials, the sum of the reward, and the segment.
    bounds, known, goal, limits, segments, safety
        As for ``from_log``.

    Examples
    --------
    >>> sums = {"arm": ["s", "l"], "n": [2, 2], "reward": [2.2, 4.2], "reward*reward": [2.44, 8.84],
    ...         "dollars": [0.2, 4.0], "reward*dollars": [0.24, 8.44], "dollars*dollars": [0.04, 8.08]}
    >>> from_sums(sums, bounds={"dollars": 1.0}, safety=None).mixture
    {'s': 0.5263..., 'l': 0.4736...}
    """
    bounds = dict(checks.mapping("bounds", bounds or {}, "of cost columns to bounds"))
    goal = goal if isinstance(goal, Goal) else Goal.parse(goal)
    rows = Rows(goal, parse_limits(limits, bounds))
    names = [m.metric if isinstance(m, Mean) else str(m) for m in rows.measures]
    columns = [reward if name == "reward" else name for name in names]
    squares = [(i, j) for i in range(len(names)) for j in range(i, len(names))]
    written = [pair for pair in squares if pair[0] != pair[1] or isinstance(rows.measures[pair[0]], Mean)]
    found = _read(frame, arm, n, columns, written, segment)
    problem = log_problem(list(found), bounds, known, goal, limits, segments)
    moments = [Moments(len(names)) for _ in problem.cells]
    for group, table in found.items():
        place = problem.index(*group)
        moments[place] = _moments(group[0], table, columns, squares, written)
    evidence = Evidence(problem, moments)
    return recommend(evidence, evidence.tried, strategy="sums", safety=safety)


def _read(
    frame: Any, arm: str, n: str, columns: list[str], written: list[tuple[int, int]], segment: str | None
) -> dict[Group, Floats]:
    """Rows of each group: trials, sums, products; a product may be written in either order."""
    products = [f"{columns[i]}*{columns[j]}" for i, j in written]
    turned = {f"{columns[i]}*{columns[j]}": f"{columns[j]}*{columns[i]}" for i, j in written}
    for _ in range(len(products) + 1):
        try:
            return read_groups(frame, arm, n, [*columns, *products], segment=segment)
        except checks.InvalidInput as error:
            missing = [name for name in products if f"there is no column {name!r}" in error.fault]
            if not missing or turned.get(missing[0], missing[0]) == missing[0]:
                raise
            products[products.index(missing[0])] = turned.pop(missing[0])
    raise AssertionError("each product has two orders")


def _moments(
    name: str, table: Floats, columns: list[str], squares: list[tuple[int, int]], written: list[tuple[int, int]]
) -> Moments:
    """Sums of an arm, all of its rows together."""
    total = Moments(len(columns))
    size = len(columns)
    for row in table:
        count = checks.whole(f"n of {name!r}", float(row[0]), 0, "give the number of trials")
        sums = row[1 : 1 + size]
        given = dict(zip(written, row[1 + size :].tolist(), strict=True))
        products = [given.get(pair, float(sums[pair[0]])) for pair in squares]
        total = total.joined(Moments.from_sums(count, sums.tolist(), products))
    scatter = np.diag(total.scatter())
    size_of = np.array([abs(p.total) / 2**p.shift for (i, j), p in zip(squares, total.products, strict=True) if i == j])
    if (scatter < -ROUNDING * size_of).any() or (total.count == 0 and size_of.any()):
        place = int(np.argmin(scatter))
        raise checks.InvalidInput(
            "sums",
            f"of {name!r} the sum of {columns[place]}*{columns[place]} is less than {columns[place]} and n ask for",
            "give sums of squares, not squares of sums",
        )
    if (scatter < 0).any():  # rounded away: no spread
        whole = total.scatter().copy()
        np.fill_diagonal(whole, np.maximum(scatter, 0.0))
        return Moments.from_statistics(total.count, total.mean(), whole)
    return total
