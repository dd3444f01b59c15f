"""From the API's answers to the values that local experiments return."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from bestmix.answers.recommendation import Estimate, Recommendation, Round
from bestmix.experiments import Event, State, Status, Trial, TrialState
from bestmix.problems.problem import Problem
from bestmix.strategies.search import restore_round


def time(text: str | None) -> datetime | None:
    """A time from its ISO 8601 text."""
    return None if text is None else datetime.fromisoformat(text)


def state(data: Mapping[str, Any]) -> State:
    """An experiment's figures."""
    given = {name: data[name] for name in State.__dataclass_fields__}
    given |= {name: time(data[name]) for name in ("created", "ended")}
    return State(**given | {"status": Status(data["status"])})


def trial(data: Mapping[str, Any]) -> Trial:
    """A trial."""
    given = {name: data[name] for name in Trial.__dataclass_fields__}
    given |= {name: time(data[name]) for name in ("deadline", "asked", "told")}
    return Trial(**given | {"state": TrialState(data["state"])})


def event(data: Mapping[str, Any]) -> Event:
    """An event."""
    return Event(data["number"], data["kind"], data["data"], datetime.fromisoformat(data["at"]))


def round_(data: Mapping[str, Any]) -> Round:
    """A round; what JSON could not say was minus infinity."""
    return restore_round({name: value for name, value in data.items() if name != "mixture"})


def recommendation(data: Mapping[str, Any], rounds: Sequence[Round]) -> Recommendation:
    """The answer; what JSON could not say is NaN, and an end of an interval infinite."""
    return Recommendation(
        problem=Problem.from_dict(data["problem"]),
        history=tuple(rounds),
        value=_number(data["value"]),
        slack={name: _number(value) for name, value in data["slack"].items()},
        shadow_prices={name: _number(value) for name, value in data["shadow_prices"].items()},
        basis=tuple(data["basis"]),
        estimates={e["arm"]: _estimate(e) for e in data["estimates"]},
        z_scores={name: math.inf if z is None else z for name, z in data["z_scores"].items()},
        **{name: data[name] for name in PLAIN},
    )


PLAIN = ("strategy", "budget", "complete", "feasible", "mixture", "support_probability", "note")


def _estimate(data: Mapping[str, Any]) -> Estimate:
    costs = {name: _number(value) for name, value in data["costs"].items()}
    intervals = {name: _interval(ends) for name, ends in data["cost_intervals"].items()}
    reward = _number(data["reward"]), _interval(data["reward_interval"])
    return Estimate(data["arm"], data["trials"], data["known"], *reward, costs, intervals)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _interval(ends: Sequence[float | None]) -> tuple[float, float]:
    low, high = ends
    return (-math.inf if low is None else low), (math.inf if high is None else high)
