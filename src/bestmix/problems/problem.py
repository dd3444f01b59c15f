"""What a user knows before the first trial: the arms, the bounds on mean costs, and known arms.

Inside, arms are columns 0..K-1, the unknown arms first (0..K0-1) and the known ones after them; the
slack of cost l is column K + l.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bestmix import checks, files
from bestmix.arrays import Floats


@dataclass(frozen=True)
class Known:
    """Mean reward and mean costs of an arm that needs no trials.

    >>> Known(reward=0.61, costs={"dollars": 0.0}).costs
    {'dollars': 0.0}
    """

    reward: float
    costs: Mapping[str, float]

    def __init__(self, reward: float, costs: Mapping[str, float] | None = None) -> None:
        costs = checks.mapping("costs", costs or {}, "of cost names to means")
        object.__setattr__(self, "reward", checks.number("reward", reward))
        object.__setattr__(self, "costs", {n: checks.number(f"costs[{n!r}]", c) for n, c in costs.items()})


@dataclass(frozen=True, init=False, eq=False)
class Problem:
    """The best mix of these arms is wanted, with every mean cost within its bound.

    Parameters
    ----------
    arms
        Names of the arms that can be tried.
    bounds
        The largest acceptable mean of each cost. With no bounds the best mix is the best arm.
    known
        Arms whose means are known already. They take part in the mix and are never tried.

    Examples
    --------
    >>> problem = Problem(arms=["small", "large"], bounds={"dollars": 5.0},
    ...                   known={"off": Known(reward=0.0, costs={"dollars": 0.0})})
    >>> problem.names
    ('small', 'large', 'off')
    """

    arms: tuple[str, ...]
    bounds: dict[str, float]
    known: dict[str, Known]

    def __init__(
        self,
        arms: Iterable[str],
        bounds: Mapping[str, float] | None = None,
        known: Mapping[str, Known] | None = None,
    ) -> None:
        bounds = checks.mapping("bounds", bounds or {}, "of cost names to bounds")
        known = checks.mapping("known", known or {}, "of arm names to Known(reward, costs)")
        costs = checks.names("bounds", bounds, "cost")
        limits = {n: checks.number(f"bounds[{n!r}]", b, "give the largest mean acceptable") for n, b in bounds.items()}
        object.__setattr__(self, "arms", checks.names("arms", arms, "arm"))
        object.__setattr__(self, "bounds", limits)
        object.__setattr__(self, "known", {n: _known(n, k, costs) for n, k in known.items()})
        both = [name for name in self.arms if name in self.known]
        if both:
            raise checks.InvalidInput(
                "known", f"{both[0]!r} is listed under arms too", "an arm is either tried or known"
            )
        slacks = [name for name in self.names if name in self.columns[len(self.names) :]]
        if slacks:
            raise checks.InvalidInput(
                "arms", f"{slacks[0]!r} is what the slack of a cost is called", "choose another name"
            )
        if not self.names:
            raise checks.InvalidInput(
                "arms", expected="at least one arm", got="none", remedy="name the options to choose from"
            )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every arm, the unknown ones first."""
        return (*self.arms, *checks.names("known", self.known, "arm"))

    @property
    def costs(self) -> tuple[str, ...]:
        """Names of the costs."""
        return tuple(self.bounds)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the linear program: the arms, then the slacks."""
        return (*self.names, *(f"slack of {cost}" for cost in self.costs))

    def slack_cost(self, column: str) -> str | None:
        """The cost whose slack this column is; None for an arm.

        >>> problem = Problem(["slack of time"], {"dollars": 5.0})
        >>> problem.slack_cost("slack of dollars"), problem.slack_cost("slack of time")
        ('dollars', None)
        """
        slacks = self.columns[len(self.names) :]
        return self.costs[slacks.index(column)] if column in slacks else None

    @cached_property
    def bound(self) -> Floats:
        """The bounds as an array (L,)."""
        return checks.array("bounds", list(self.bounds.values()), (len(self.bounds),), "(costs,)")

    @cached_property
    def known_means(self) -> Floats:
        """Reward and costs of the known arms, one a row: (K - K0, 1 + L)."""
        rows = [[k.reward, *(k.costs[c] for c in self.costs)] for k in self.known.values()]
        result = np.array(rows, dtype=np.float64).reshape(len(self.known), 1 + len(self.bounds))
        result.flags.writeable = False
        return result

    def index(self, arm: str) -> int:
        """Position of an arm that can be tried."""
        if arm in self.arms:
            return self.arms.index(arm)
        if arm in self.known:
            raise checks.InvalidInput("arm", f"{arm!r} is a known arm and is never tried", "its means were given")
        raise checks.InvalidInput(
            "arm",
            expected=f"one of {checks.shown(list(self.arms))}",
            got=checks.shown(arm),
            remedy="check the spelling",
        )

    def cost_rows(self, costs: Any, rows: int) -> Floats:
        """Costs of ``rows`` trials as (rows, L), given by name or in the problem's order."""
        size = len(self.bounds)
        if isinstance(costs, Mapping):
            checks.same_names("costs", costs, self.costs, "cost")
            columns = [_cost_column(c, costs[c], rows) for c in self.costs]
            return np.array(columns, dtype=np.float64).reshape(size, rows).T
        if costs is None:
            costs = np.empty((rows, 0))
        if _depth(costs) == 0:
            costs = [checks.number("costs", costs)]
        flat = checks.array("costs", costs, (None,) * _depth(costs), "(trials, costs)")
        if flat.ndim < 2 and flat.size == rows * size and (rows == 1 or size == 1):
            flat = flat.reshape(rows, size)
        return checks.array("costs", flat, (rows, size), "(trials, costs)")

    def __eq__(self, other: object) -> bool:
        same_order = isinstance(other, Problem) and self.columns == other.columns
        return same_order and isinstance(other, Problem) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.names, tuple(self.bounds.items())))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a TOML or JSON file."""
        known = {n: {"reward": k.reward, "costs": dict(k.costs)} for n, k in self.known.items()}
        return {"arms": list(self.arms), "bounds": dict(self.bounds), "known": known}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Problem":
        """Inverse of ``to_dict``; ``known`` may be left out."""
        unknown = set(data) - {"arms", "bounds", "known"}
        if "arms" not in data or unknown:
            what = f"the unknown entry {sorted(unknown)[0]!r}" if unknown else "no entry 'arms'"
            raise checks.InvalidInput(
                "problem", expected="the entries arms, bounds and known", got=what, remedy="see the example"
            )
        known = checks.mapping("known", data.get("known", {}), "of arm names to reward and costs")
        parsed = {}
        for name, entry in known.items():
            entry = checks.mapping(f"known[{name!r}]", entry, "with reward and costs")
            if set(entry) - {"reward", "costs"} or "reward" not in entry:
                raise checks.InvalidInput(
                    f"known[{name!r}]", expected="the entries reward and costs", got=sorted(entry)
                )
            parsed[name] = Known(entry["reward"], entry.get("costs"))
        return cls(data["arms"], data.get("bounds", {}), parsed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the problem to a .toml or .json file."""
        files.write(path, self.to_dict())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Problem":
        """Read a problem from a .toml or .json file."""
        return cls.from_dict(files.read(path))


def _depth(values: Any) -> int:
    """Number of axes; a ragged list counts as two."""
    try:
        return np.ndim(values)
    except ValueError:
        return 2


def _cost_column(name: str, values: Any, rows: int) -> Floats:
    """One cost of every trial, given as one value or as ``rows`` of them."""
    if _depth(values) == 0:
        return np.full(rows, checks.number(f"costs[{name!r}]", values))
    return checks.array(f"costs[{name!r}]", values, (rows,), "(trials,)")


def _known(name: str, known: Any, costs: tuple[str, ...]) -> Known:
    if not isinstance(known, Known):
        raise checks.InvalidInput(
            f"known[{name!r}]", expected="Known(reward, costs)", got=checks.shown(known), remedy="wrap it in Known"
        )
    checks.same_names(f"known[{name!r}].costs", known.costs, costs, "bounded cost")
    return known
