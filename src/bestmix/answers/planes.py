"""What figures and charts draw of an answer: its arms and its mix by one limited quantity and what the goal is about.

A limit of one segment is about its users alone, and so is its drawing: the segment's arms, and the segment's own mix.
"""

import math
from typing import NamedTuple

from bestmix.answers.recommendation import Estimate, Interval, Recommendation
from bestmix.problems.problem import Problem

MOST_PLANES = 6  # beyond, the table of limits tells more
UNKNOWN = (-math.inf, math.inf)  # an interval of which nothing is said


class Plane(NamedTuple):
    """A drawing of the arms by one limit.

    Attributes
    ----------
    cost, label
        The limit, and how its axis is called.
    arms
        Those that have a place in it.
    bound, relation
        Of the limit.
    mean, interval
        Of what is limited, in the mix.
    value, value_interval
        Of what the goal is about.
    """

    cost: str
    label: str
    arms: list[Estimate]
    bound: float
    relation: str
    mean: float
    interval: Interval
    value: float
    value_interval: Interval

    @property
    def has_mix(self) -> bool:
        """Whether the mix has a place in it."""
        return math.isfinite(self.value) and math.isfinite(self.mean)


def planes(problem: Problem) -> dict[str, str]:
    """Limits that are drawn, each quantity once for all users and once for a segment, with how axes call them.

    >>> problem = Problem(["a", "b"], {"dollars": 5.0}, limits=["dollars <= 2 in free"], segments=["free", "paid"])
    >>> planes(problem)
    {'dollars': 'dollars', 'dollars <= 2 in free': 'dollars in free'}
    """
    found: dict[tuple[object, str | None], str] = {}
    for cost, limit in sorted(zip(problem.costs, problem.limits, strict=True), key=lambda pair: bool(pair[1].segment)):
        if not limit.on_share and limit.quantity != problem.goal.quantity:
            found.setdefault((limit.quantity, limit.segment), cost)
    limits = {cost: problem.limits[problem.costs.index(cost)] for cost in list(found.values())[:MOST_PLANES]}
    return {cost: cost if cost in problem.metrics else limit.about for cost, limit in limits.items()}


def plane(rec: Recommendation, cost: str) -> Plane:
    """The drawing of a limit.

    >>> from bestmix import from_log
    >>> log = {"arm": ["s", "s", "l", "l"], "reward": [1.0, 1.2, 2.0, 2.2], "dollars": [0.0, 0.2, 1.8, 2.2]}
    >>> found = plane(from_log(log, bounds={"dollars": 1.0}, safety=None), "dollars")
    >>> found.label, found.bound, round(found.mean, 6)
    ('dollars', 1.0, 1.0)
    """
    problem = rec.problem
    limit = problem.limits[problem.costs.index(cost)]
    arms = [e for e in rec.estimates.values() if math.isfinite(e.reward) and math.isfinite(e.costs[cost])]
    value, ends = (rec.value, rec.value_interval) if rec.mixture else (math.nan, UNKNOWN)
    if limit.segment is not None:
        names = {
            cell.arm: str(cell) for cell in (*problem.cells, *problem.known_cells) if cell.segment == limit.segment
        }
        arms = [e for e in arms if e.arm in names.values()]
        inside = [
            share * rec.estimates[names[arm]].reward for arm, share in rec.by_segment.get(limit.segment, {}).items()
        ]
        value, ends = (sum(inside) if inside else math.nan), UNKNOWN
    mean = rec.mean_cost(cost) if rec.mixture else math.nan
    label = planes(problem)[cost]
    return Plane(cost, label, arms, rec.bound(cost), limit.relation, mean, rec.cost_interval(cost), value, ends)
