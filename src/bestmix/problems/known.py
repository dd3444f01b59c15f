"""Means of an arm that need no trials, because they are known."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bestmix import checks


@dataclass(frozen=True)
class Known:
    """Means of an arm that are known: all of them, so that it needs no trials, or some, such as its price.

    Parameters
    ----------
    reward
        The mean of what the goal is about; None where trials must tell.
    costs
        Means of other metrics, by name.

    Examples
    --------
    >>> Known(reward=0.61, costs={"dollars": 0.0}).costs
    {'dollars': 0.0}
    >>> Known(costs={"dollars": 0.001}).reward is None
    True
    """

    reward: float | None
    costs: Mapping[str, float]

    def __init__(self, reward: float | None = None, costs: Mapping[str, float] | None = None) -> None:
        costs = checks.mapping("costs", costs or {}, "of cost names to means")
        object.__setattr__(self, "reward", None if reward is None else checks.number("reward", reward))
        object.__setattr__(self, "costs", {n: checks.number(f"costs[{n!r}]", c) for n, c in costs.items()})
        if reward is None and not costs:
            raise checks.InvalidInput("known", expected="a mean, or several", got="none", remedy="leave the arm out")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        reward = {} if self.reward is None else {"reward": self.reward}
        return reward | {"costs": dict(self.costs)}

    @classmethod
    def from_dict(cls, name: str, data: Any) -> "Known":
        """Inverse of ``to_dict``; ``name`` is the arm's, for errors."""
        entry = checks.mapping(f"known[{name!r}]", data, "with reward and costs")
        if set(entry) - {"reward", "costs"} or not (entry.get("costs") or "reward" in entry):
            raise checks.InvalidInput(f"known[{name!r}]", expected="the entries reward and costs", got=sorted(entry))
        return cls(entry.get("reward"), entry.get("costs"))


def check_known(name: str, known: Any) -> Known:
    """What was given for an arm, if it is a ``Known``."""
    if not isinstance(known, Known):
        raise checks.InvalidInput(
            f"known[{name!r}]", expected="Known(reward, costs)", got=checks.shown(known), remedy="wrap it in Known"
        )
    return known
