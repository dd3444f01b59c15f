"""The goal and the limits as linear functions of what trials measure: the noisy rows of the linear program.

Metrics are what a trial returns under a name; measures are the columns made of them whose means are estimated (a metric
itself, or the 0 and 1 of a tail). A row is a linear function of measures, so that one measure may serve several rows,
and sums of trials do not depend on any bound. Row 0 is the goal, to be as large as possible; each limit that reads
trials follows with "at most".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.arrays import Flags, Floats, Signs
from bestmix.problems.goals import REWARD, Goal
from bestmix.problems.limits import Limit
from bestmix.problems.quantities import Column, Mean, Visit


@dataclass(frozen=True)
class Rows:
    """What the goal and the limits read, and what they ask.

    >>> limits = Limit.parse("quality >= 0.9"), Limit.parse("p(seconds > 2) <= 5%")
    >>> rows = Rows(Goal.parse("minimise dollars"), limits)
    >>> rows.metrics, [str(measure) for measure in rows.measures]
    (('dollars', 'quality', 'seconds'), ['dollars', 'quality', 'p(seconds > 2)'])
    >>> rows.names, rows.right
    (('quality >= 0.9', 'p(seconds > 2) <= 5%'), array([-0.9 ,  0.05]))
    """

    goal: Goal
    limits: tuple[Limit, ...]
    tracked: tuple[str, ...] = ()  # further metrics that trials tell, such as what they cost
    visits: tuple[Visit, ...] = ()  # the states that a step can lead to, where there are states

    @cached_property
    def measures(self) -> tuple[Column, ...]:
        """What is measured in each trial, the goal's first; then what limits read, what is tracked, and visits."""
        columns = [self.goal.quantity, *(column for limit in self.limits for column in limit.columns)]
        return tuple(dict.fromkeys([*columns, *map(Mean, self.tracked), *self.visits]))

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """Names of the metrics that the goal and the limits are about."""
        columns = [self.goal.quantity, *(column for limit in self.limits for column in limit.columns)]
        return tuple(dict.fromkeys(metric for column in columns for metric in column.metrics))

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Names of what a trial returns, the goal's first."""
        return tuple(dict.fromkeys(metric for measure in self.measures for metric in measure.metrics))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A name for each limit: its metric for an upper bound on a mean, else its text."""
        return tuple(limit.metric if is_bound(limit) else str(limit) for limit in self.limits)

    @cached_property
    def transform(self) -> Floats:
        """Coefficients of the measures in the goal and in each limit (1 + L, M); zeros for limits on shares."""
        goal = [self.goal.sign if column == self.goal.quantity else 0.0 for column in self.measures]
        return _constant(np.array([goal, *(limit.coefficients(self.measures) for limit in self.limits)]))

    @cached_property
    def right(self) -> Floats:
        """What each limit allows at most (L,)."""
        return _constant(np.array([limit.right_side for limit in self.limits], dtype=np.float64))

    @cached_property
    def direct(self) -> bool:
        """Whether the rows are the measures themselves: a reward to maximise and bounds on mean costs."""
        size = len(self.measures)
        return self.transform.shape == (size, size) and bool((self.transform == np.eye(size)).all())

    def measure(self, values: Floats) -> Floats:
        """What is measured (m, M) in trials that returned these metrics (m, metrics).

        >>> rows = Rows(Goal(), (Limit.parse("p(seconds > 2) <= 5%"),))
        >>> rows.measure(np.array([[1.0, 2.5], [0.0, 1.5]]))
        array([[1., 1.],
               [0., 0.]])
        """
        if all(isinstance(measure, Mean) for measure in self.measures):
            return values
        table = dict(zip(self.metrics, values.T, strict=True))
        return np.column_stack([measure.of(table) for measure in self.measures])

    def means(self, measured: Floats) -> Floats:
        """Means of the rows (K, 1 + L) from those of the measures (K, M)."""
        return measured if self.direct else np.asarray(measured @ self.transform.T)

    def scatters(self, measured: Floats) -> Floats:
        """Scatter or covariance of the rows (K, 1 + L, 1 + L) from that of the measures (K, M, M)."""
        if self.direct:
            return measured
        return np.asarray(self.transform @ measured @ self.transform.T)

    def events(self, measured: Flags) -> Signs:
        """Rows (K, 1 + L) that are 1 or -1 times a measure of only 0 and 1, by their sign; 0 for the others.

        >>> rows = Rows(Goal(), (Limit.parse("complaints <= 1%"), Limit.parse("quality >= 0.9")))
        >>> rows.events(np.array([[False, True, True]]))
        array([[ 0,  1, -1]], dtype=int8)
        """
        single = ((self.transform != 0.0).sum(axis=1) == 1) & (np.abs(self.transform).sum(axis=1) == 1.0)
        coefficients = np.where(single[:, None], self.transform, 0.0)
        return np.asarray(measured.astype(np.float64) @ coefficients.T).astype(np.int8)


def is_bound(limit: Limit) -> bool:
    """Whether a limit is an upper bound on the mean of a metric, which ``bounds`` can say.

    >>> is_bound(Limit.parse("dollars <= 5")), is_bound(Limit.parse("dollars <= 5 in free"))
    (True, False)
    """
    plain = limit.relation == "<=" and limit.arm is None and limit.segment is None
    return plain and isinstance(limit.quantity, Mean)


def parse_limits(limits: Sequence[str | Limit] | str, bounds: Mapping[str, float]) -> tuple[Limit, ...]:
    """All limits, the bounds on means first; the same one twice is an error.

    >>> [str(limit) for limit in parse_limits(["quality >= 0.9", "time <= 2"], {"dollars": 5.0})]
    ['dollars <= 5', 'time <= 2', 'quality >= 0.9']
    """
    if isinstance(limits, str | Limit):
        limits = [limits]
    if not isinstance(limits, Sequence):
        got, remedy = checks.shown(limits), "write ['quality >= 0.9']"
        raise checks.InvalidInput("limits", expected="a list of limits", got=got, remedy=remedy)
    found = [limit if isinstance(limit, Limit) else Limit.parse(limit) for limit in limits]
    numbers = {n: checks.number(f"bounds[{n!r}]", b, "give the largest mean acceptable") for n, b in bounds.items()}
    found = [Limit(Mean(name), "<=", bound) for name, bound in numbers.items()] + found
    result = sorted(found, key=lambda limit: not is_bound(limit))
    asked = [(limit.quantity, limit.relation, limit.arm, limit.segment) for limit in result]
    for place, what in enumerate(asked):
        if what in asked[:place]:
            first = result[asked.index(what)]
            raise checks.InvalidInput(
                "limits", f"'{first}' and '{result[place]}' limit the same quantity", "leave one out"
            )
    return tuple(result)


def read_limits(data: Mapping[str, Any]) -> tuple[Limit, ...]:
    """The limits of a file, bounds among them; one of the goal's own metric is a limit like any other there.

    >>> [str(limit) for limit in read_limits({"bounds": {"reward": 2.0}, "limits": ["quality >= 0.9"]})]
    ['reward <= 2', 'quality >= 0.9']
    """
    bounds = checks.mapping("bounds", data.get("bounds") or {}, "of cost names to bounds")
    return parse_limits(data.get("limits") or (), bounds)


def log_rows(
    goal: str | Goal, limits: Sequence[str | Limit], bounds: Mapping[str, float] | None, reward: str = "reward"
) -> Rows:
    """What is asked of a log: a goal about the reward has the name of the reward's column, where no limit reads it too.

    >>> str(log_rows("maximise reward", [], {"dollars": 5.0}, "quality").goal)
    'maximise quality'
    """
    bounds = checks.mapping("bounds", bounds or {}, "of cost columns to bounds")
    rows = Rows(goal if isinstance(goal, Goal) else Goal.parse(goal), parse_limits(limits, bounds))
    limited = {metric for limit in rows.limits for column in limit.columns for metric in column.metrics}
    if rows.goal.quantity != REWARD or "reward" in limited or not isinstance(reward, str) or not reward.strip():
        return rows
    return replace(rows, goal=replace(rows.goal, quantity=Mean(reward.strip())))


def _constant(values: Floats) -> Floats:
    values.flags.writeable = False
    return values
