"""A Markov decision process whose policy is wanted: states, actions, and limits on discounted averages.

A column of the program is an action in a state; its weight is the share of all steps, discounted, in which that action
is taken there. Trials are steps from a state of choice (a simulator, or users who can be put there): they tell the
metrics, and which state comes next. Shares of states are not given, as those of segments are, but follow from the
actions: what flows into a state is what is there,

    sum over actions of x(s, a)  -  discount * sum over all x(s', a') P(s | s', a')  =  (1 - discount) * start(s).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.arrays import Flags, Floats
from bestmix.problems.goals import Goal
from bestmix.problems.limits import Limit
from bestmix.problems.problem import SHARES_ADD_UP, Cell, Problem, asked_rows
from bestmix.problems.quantities import Visit
from bestmix.problems.rows import read_limits

NEXT = Visit.metric  # the metric that says which state comes next
ENTRIES = ("states", "actions", "discount", "start", "bounds", "limits", "goal", "tracked")  # of a file


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MarkovProblem(Problem):
    """The best policy is wanted: in every state a mix of its actions, with every limit kept on average.

    Averages are over all steps, from the first on, each counting ``discount`` times the one before; a total of
    discounted rewards is the average over ``1 - discount``. In searches and experiments a state takes the place of a
    segment and an action that of an arm: ``pull(action, state)`` returns the metrics and ``"next"``, the state that
    comes next.

    Parameters
    ----------
    states
        Names of the states, at least two.
    actions
        Names of the actions that every state has; or by state.
    discount
        What a step counts for, compared with the one before: at least 0 and below 1.
    start
        The state of the first step: its name, or the probability of each state; those that are left out have none.
    limits
        What the policy must keep, as in ``Problem``; not of one state, and not relative to an arm.
    bounds, goal, tracked
        As in ``Problem``.

    Examples
    --------
    >>> problem = MarkovProblem(["idle", "busy"], ["wait", "serve"], 0.9, "idle", ["dollars <= 0.3"])
    >>> problem.names, problem.metrics
    (('wait in idle', 'serve in idle', 'wait in busy', 'serve in busy'), ('reward', 'dollars', 'next'))
    >>> problem.trial_rows(1.0, {"dollars": 0.2, "next": "busy"})
    array([[1. , 0.2, 1. ]])
    """

    actions: dict[str, tuple[str, ...]]
    discount: float
    start: dict[str, float]

    def __init__(
        self,
        states: Iterable[str],
        actions: Iterable[str] | Mapping[str, Iterable[str]],
        discount: float,
        start: str | Mapping[str, float],
        limits: Sequence[str | Limit] = (),
        *,
        bounds: Mapping[str, float] | None = None,
        goal: str | Goal = "maximise reward",
        tracked: Sequence[str] = (),
    ) -> None:
        named = checks.names("states", states, "state")
        if len(named) < 2:
            raise checks.InvalidInput(
                "states", expected="at least two", got=checks.shown(list(named)), remedy="with one state use Problem"
            )
        bounds = checks.mapping("bounds", bounds or {}, "of cost names to bounds")
        visits = tuple(Visit(number, state) for number, state in enumerate(named))
        rows = replace(asked_rows(goal, limits, bounds, tracked), visits=visits)
        set_ = object.__setattr__
        set_(self, "actions", _actions(named, actions))
        set_(self, "discount", checks.discount(discount))
        set_(self, "start", _start(named, start))
        arms = tuple(dict.fromkeys(action for some in self.actions.values() for action in some))
        self._set(arms, rows, {}, dict(self.start))
        self._check_asked()
        self._check(bounds)

    def _check_asked(self) -> None:
        rows = self.rows
        limited = [metric for limit in rows.limits for metric in limit.metrics]
        for name, metrics in {"goal": rows.goal.quantity.metrics, "limits": limited, "tracked": rows.tracked}.items():
            if NEXT in metrics:
                raise checks.InvalidInput(
                    name, f"{NEXT!r} is what the state that comes next is called", "rename the metric"
                )
        for limit in rows.limits:
            if limit.segment is not None or limit.arm is not None or limit.equality:
                raise checks.InvalidInput(
                    "limits",
                    f"'{limit}' is of one state, relative to an arm, or an equality",
                    "with states limits are 'at most' or 'at least' a number, and on all steps together",
                )

    def with_limits(self, limits: Sequence[Limit]) -> "MarkovProblem":
        """The same states, actions and goal with these limits instead."""
        asked: dict[str, Any] = {"goal": self.goal, "tracked": self.tracked}
        return MarkovProblem(self.states, self.actions, self.discount, self.start, limits, **asked)

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states."""
        return tuple(self.start)

    @property
    def group(self) -> str:
        """A segment is a state here."""
        return "state"

    @property
    def everybody(self) -> str:
        """A state is a share of all steps."""
        return "steps"

    @property
    def flows(self) -> tuple[str, ...]:
        """All states but one, whose flow follows from that of the others."""
        return self.states[:-1]

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """What can be tried: each action in each state that has it."""
        return tuple(Cell(action, state) for state in self.states for action in self.actions[state])

    @property
    def plain(self) -> bool:
        """It is never the paper's problem."""
        return False

    def index(self, arm: str, segment: str | None = None) -> int:
        """Position of an action in a state."""
        self.check_segment(segment)
        if segment is not None and arm in self.actions[segment]:
            return self.cells.index(Cell(arm, segment))
        these = checks.shown(list(self.actions[segment or self.states[0]]))
        raise checks.InvalidInput(
            "arm", expected=f"an action of {segment!r}: {these}", got=checks.shown(arm), remedy="check the spelling"
        )

    def _named_rows(self, values: Mapping[str, Any]) -> Floats:
        return self._checked(super()._named_rows(self._numbered(values)))

    def cost_rows(self, costs: Any, rows: int) -> Floats:
        """As in ``Problem``; the state that comes next by its name, or by its number from 0 on."""
        return self._checked(super().cost_rows(self._numbered(costs), rows))

    def value(self, metric: str, value: Any, called: str = "") -> float:
        """One value of a metric as a number; a state that comes next by its name or by its number."""
        if metric != NEXT:
            return super().value(metric, value, called)
        return float(self._checked(np.array([[self._number(value)]], dtype=np.float64))[0, 0])

    def shown_value(self, metric: str, value: Any) -> Any:
        """A value of a metric as tables have it: a state by its name."""
        return self.states[int(value)] if metric == NEXT and value is not None else value

    def read_value(self, metric: str, text: str) -> float:
        """Inverse of ``shown_value`` for the text in a table."""
        return self.value(metric, text) if metric == NEXT else super().read_value(metric, text)

    def _number(self, state: Any) -> Any:
        """The number of a state that is given by its name, or by its number, perhaps as a text."""
        if isinstance(state, str) and state in self.states:
            return self.states.index(state)
        try:
            if not isinstance(state, bool):
                return float(state)
        except (TypeError, ValueError):
            pass
        raise self._no_state(state)

    def _numbered(self, metrics: Any) -> Any:
        if isinstance(metrics, list | tuple) and len(metrics) == len(self.metrics) - 1 and isinstance(metrics[-1], str):
            return [*metrics[:-1], self._number(metrics[-1])]
        if not isinstance(metrics, Mapping) or NEXT not in metrics:
            return metrics
        given = metrics[NEXT]
        single = isinstance(given, str) or not isinstance(given, Sequence | np.ndarray)
        return {**metrics, NEXT: self._number(given) if single else [self._number(one) for one in given]}

    def _checked(self, rows: Floats) -> Floats:
        """Rows whose last metric is a state's number."""
        wrong = ~np.isin(rows[:, -1], np.arange(len(self.states)))
        if wrong.any():
            raise self._no_state(rows[wrong, -1][0].item())
        return rows

    def _no_state(self, got: object) -> checks.InvalidInput:
        these = f"one of {checks.shown(list(self.states))}, or its number from 0 to {len(self.states) - 1}"
        return checks.InvalidInput(NEXT, expected=these, got=checks.shown(got), remedy="check the spelling")

    def __repr__(self) -> str:
        data = {name: value for name, value in self.to_dict().items() if value or name == "discount"}
        return f"MarkovProblem({', '.join(f'{name}={value!r}' for name, value in data.items())})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a TOML or JSON file."""
        data = super().to_dict()
        alike = len(set(self.actions.values())) == 1
        mine: dict[str, Any] = {
            "states": list(self.states),
            "actions": list(self.arms) if alike else {state: list(some) for state, some in self.actions.items()},
            "discount": self.discount,
            "start": {state: share for state, share in self.start.items() if share > 0},
        }
        return mine | {name: value for name, value in data.items() if name not in ("arms", "known", "segments")}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "MarkovProblem":
        """Inverse of ``to_dict``."""
        needed = ENTRIES[:4]
        checks.entries("problem", data, ENTRIES, needed, "help(bestmix.MarkovProblem) has an example")
        rest = {name: data[name] for name in ENTRIES[4:] if name in data and name not in ("bounds", "limits")}
        states, actions, discount, start = (data[name] for name in needed)
        return cls(states, actions, discount, start, read_limits(data), **rest)


def _actions(states: Sequence[str], given: Any) -> dict[str, tuple[str, ...]]:
    """Actions of each state."""
    if isinstance(given, Mapping):
        checks.same_names("actions", given, states, "state")
        result = {state: checks.names(f"actions[{state!r}]", given[state], "action") for state in states}
    else:
        result = dict.fromkeys(states, checks.names("actions", given, "action"))
    for state, some in result.items():
        if not some:
            raise checks.InvalidInput("actions", f"{state!r} has none", "give at least one, if only 'stay'")
    return result


def _start(states: Sequence[str], given: Any) -> dict[str, float]:
    """The probability of each state to be the first."""
    if isinstance(given, str):
        given = {given: 1.0}
    shares = checks.mapping("start", given, "of states to their probabilities, or a state's name")
    if strange := [state for state in shares if state not in states]:
        expected = f"some of {checks.shown(list(states))}"
        raise checks.InvalidInput("start", expected=expected, got=checks.shown(strange[0]), remedy="check the spelling")
    result = {state: checks.number(f"start[{state!r}]", shares.get(state, 0.0)) for state in states}
    if min(result.values()) < 0 or abs(sum(result.values()) - 1.0) > SHARES_ADD_UP:
        raise checks.InvalidInput(
            "start",
            expected="probabilities of at least 0 that add up to 1",
            got=checks.shown(dict(shares)),
            remedy="check them",
        )
    return result


def within_states(problem: Problem, weights: Floats, usable: Flags) -> Floats:
    """Share of each column among those of its state (..., S, n), by weights (..., n); even ones where a state has none.

    A state without a usable column (n,) has none at all.

    >>> problem = MarkovProblem(["a", "b"], ["x", "y"], 0.9, "a")
    >>> within_states(problem, np.array([0.1, 0.3, 0.0, 0.0]), np.ones(4, dtype=bool))
    array([[0.25, 0.75, 0.  , 0.  ],
           [0.  , 0.  , 0.5 , 0.5 ]])
    """
    here = np.array([[cell.segment == state for cell in problem.cells] for state in problem.segments])
    own = np.where(here, weights[..., None, :], 0.0)
    total, some = own.sum(axis=-1, keepdims=True), here & usable
    even = some / np.maximum(some.sum(axis=1, keepdims=True), 1)
    return np.where(total > 0, own / np.where(total > 0, total, 1.0), even)
