"""A problem with its true means and its noise: what only simulation and theory see."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bestmix import checks, files
from bestmix.arrays import Floats
from bestmix.problems import noise as models
from bestmix.problems.known import Known
from bestmix.problems.problem import Problem


@dataclass(frozen=True, init=False, eq=False)
class Instance:
    """True means, bounds and noise.

    Parameters
    ----------
    reward
        Mean reward of each arm (K,).
    cost
        Mean costs (L, K); left out, there are none.
    bound
        The largest acceptable mean of each cost (L,).
    sigma_reward, sigma_cost
        Standard deviations of independent Gaussian noise, in the shapes of ``noise.Gaussian``.
    noise
        Another noise model instead.
    known
        How many arms, counted from the last, have means that an experimenter knows.
    arms, costs
        Names; by default arm0, arm1, ... and cost0, cost1, ...

    Examples
    --------
    >>> inst = Instance(reward=[1.7, 2.6], cost=[[0.0, 1.8]], bound=[1.0], sigma_cost=0.5)
    >>> inst.problem.names, inst.means[1]
    (('arm0', 'arm1'), array([2.6, 1.8]))
    """

    reward: Floats
    cost: Floats
    bound: Floats
    noise: models.Noise
    known: int
    arms: tuple[str, ...]
    costs: tuple[str, ...]

    def __init__(
        self,
        reward: Any,
        cost: Any = None,
        bound: Any = None,
        *,
        sigma_reward: Any = None,
        sigma_cost: Any = None,
        noise: models.Noise | None = None,
        known: int = 0,
        arms: Sequence[str] | None = None,
        costs: Sequence[str] | None = None,
    ) -> None:
        reward = checks.array("reward", reward, (None,), "(arms,)")
        size = len(reward)
        if not size:
            raise checks.InvalidInput(
                "reward", expected="at least one arm", got="none", remedy="give one mean for each arm"
            )
        bound = checks.array("bound", () if bound is None else np.atleast_1d(bound), (None,), "(costs,)")
        cost = np.empty((0, size)) if cost is None else cost
        cost = checks.array("cost", cost, (len(bound), size), "(costs, arms)")
        if noise is not None and not hasattr(noise, "draw"):
            raise checks.InvalidInput(
                "noise", expected="a noise model such as Bernoulli()", got=checks.shown(noise), remedy="build one"
            )
        if noise is not None and (sigma_reward is not None or sigma_cost is not None):
            raise checks.InvalidInput(
                "noise", expected="either a noise model or sigma_reward and sigma_cost", got="both", remedy="drop one"
            )
        set_ = object.__setattr__
        set_(self, "reward", reward)
        set_(self, "cost", cost)
        set_(self, "bound", bound)
        set_(self, "noise", noise or _gaussian(sigma_reward, sigma_cost))
        set_(self, "known", checks.whole("known", known, 0, "it counts known arms from the last one"))
        set_(self, "arms", checks.names("arms", arms or [f"arm{a}" for a in range(size)], "arm"))
        set_(self, "costs", checks.names("costs", costs or [f"cost{l}" for l in range(len(bound))], "cost"))
        for name, given, wanted in (("arms", self.arms, size), ("costs", self.costs, len(bound))):
            if len(given) != wanted:
                raise checks.InvalidInput(name, expected=f"{wanted} names", got=len(given), remedy="give one for each")
        if self.known > size:
            raise checks.InvalidInput(
                "known", expected=f"at most {size}, the number of arms", got=known, remedy="lower it"
            )
        self.noise.check(self.means)

    @classmethod
    def from_problem(
        cls,
        problem: Problem,
        means: Any,
        *,
        sigma: float | Mapping[str, float] | None = None,
        events: Sequence[str] = (),
        noise: models.Noise | None = None,
        shares: Mapping[str, float] | None = None,
    ) -> "Instance":
        """A problem of any kind, with segments, limits and partly known arms, with its true means and its noise.

        Parameters
        ----------
        problem
            What is asked.
        means
            True mean of each measure of each arm: by segment, arm and measure; without segments by arm and measure; or
            an array (arms in segments, measures) in the order of ``problem.cells`` and ``problem.measures``. Means
            that the problem knows may be left out. The mean of a tail is its probability.
        sigma
            Standard deviations of normal noise: one for all measures, or one for each by name; 1 where nothing is said.
        events
            Names of the metrics that are 0 or 1 in each trial; tails always are.
        noise
            Another noise model instead, of the measures in the order of the problem.
        shares
            True shares of the segments, where the problem does not know them.

        Examples
        --------
        >>> problem = Problem(["small", "large"], goal="minimise dollars", limits=["quality >= 0.8"])
        >>> means = {"small": {"dollars": 0.2, "quality": 0.7}, "large": {"dollars": 2.0, "quality": 0.9}}
        >>> mixture = Instance.from_problem(problem, means, sigma=0.1, events=["quality"]).mixture
        >>> {arm: round(share, 3) for arm, share in mixture.items()}
        {'small': 0.5, 'large': 0.5}
        """
        from bestmix.problems.segment_instance import SegmentInstance

        found = SegmentInstance(problem, means, sigma=sigma, events=events, noise=noise, shares=shares)
        if not (problem.plain and problem.rows.direct) or problem.features:
            return found
        names: dict[str, Any] = {"arms": found.arms, "costs": found.costs, "known": found.known}
        return cls(found.means[:, 0], found.means[:, 1:].T, problem.bound, noise=found.noise, **names)

    @property
    def plain(self) -> bool:
        """Whether it is an instance of the paper, given by arrays: one segment, and bounds on mean costs alone."""
        return True

    @property
    def mixture(self) -> dict[str, float]:
        """The best mix: the share of each arm that has any.

        >>> Instance(reward=[1.7, 2.6], cost=[[0.0, 2.0]], bound=[1.0]).mixture
        {'arm0': 0.5, 'arm1': 0.5}
        """
        from bestmix.problems.solution import solve

        return {arm: float(p) for arm, p in zip(self.arms, solve(self).mixture, strict=True) if p > 0}

    @cached_property
    def means(self) -> Floats:
        """Reward and costs of each arm, one arm a row: (K, 1 + L)."""
        result = np.column_stack([self.reward, self.cost.T])
        result.flags.writeable = False
        return result

    @cached_property
    def problem(self) -> Problem:
        """What an experimenter would know before the first trial."""
        unknown = len(self.arms) - self.known
        costs = self.cost.T[unknown:]
        known = {
            name: Known(float(r), dict(zip(self.costs, map(float, c), strict=True)))
            for name, r, c in zip(self.arms[unknown:], self.reward[unknown:], costs, strict=True)
        }
        return Problem(self.arms[:unknown], dict(zip(self.costs, map(float, self.bound), strict=True)), known)

    @cached_property
    def covariance(self) -> Floats:
        """True covariance of one trial of each arm: (K, 1 + L, 1 + L)."""
        return self.noise.covariance(self.means)

    def with_noise(self, noise: models.Noise) -> "Instance":
        """The same means and bounds with other noise."""
        means = self.reward, self.cost, self.bound
        return Instance(*means, noise=noise, known=self.known, arms=self.arms, costs=self.costs)

    def draw(self, arm: int, size: int, rng: np.random.Generator) -> Floats:
        """``size`` trials of an arm: (size, 1 + L), reward first."""
        return self.noise.draw(rng, self.means, arm, size)

    def sampler(self, seed: int | None = None) -> Callable[[str], tuple[float, Floats]]:
        """A function for ``identify`` that simulates one trial of the named arm."""
        rng = np.random.default_rng(seed)

        def pull(arm: str) -> tuple[float, Floats]:
            row = self.draw(self.problem.index(arm), 1, rng)[0]
            return float(row[0]), row[1:]

        return pull

    @classmethod
    def from_trials(cls, trials: Mapping[str, Any], bounds: Mapping[str, float]) -> "Instance":
        """An instance that redraws observed trials: for each arm a (trials, 1 + L) table."""
        if not checks.mapping("trials", trials, "of arm names to tables of trials"):
            raise checks.InvalidInput(
                "trials", expected="a table for at least one arm", got="none", remedy="give (trials, 1 + costs) tables"
            )
        checks.mapping("bounds", bounds, "of cost names to bounds")
        model = models.Empirical(list(trials.values()))
        means = model.means
        return cls(
            means[:, 0],
            means[:, 1:].T,
            list(bounds.values()),
            noise=model,
            arms=list(trials),
            costs=list(bounds),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a TOML or JSON file."""
        unknown = len(self.arms) - self.known
        arms = [
            {"name": n, "reward": float(r), "costs": dict(zip(self.costs, map(float, c), strict=True))}
            | ({"known": True} if a >= unknown else {})
            for a, (n, r, c) in enumerate(zip(self.arms, self.reward, self.cost.T, strict=True))
        ]
        bounds = dict(zip(self.costs, map(float, self.bound), strict=True))
        return {"bounds": bounds, "noise": self.noise.to_dict(), "arms": arms}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Instance":
        """Inverse of ``to_dict``. Known arms stand behind the others. With a problem in it: as ``from_problem``."""
        if "problem" in data:
            from bestmix.problems.segment_instance import SegmentInstance

            return SegmentInstance.from_dict(data)
        if not isinstance(data.get("arms"), list) or set(data) - {"arms", "bounds", "noise"}:
            raise checks.InvalidInput(
                "instance",
                expected="the entries arms, bounds and noise, or problem, means and noise",
                got=sorted(data),
                remedy="see an example",
            )
        bounds = checks.mapping("bounds", data.get("bounds", {}), "of cost names to bounds")
        arms = [_arm(a, entry, list(bounds)) for a, entry in enumerate(data["arms"])]
        if arms != sorted(arms, key=lambda arm: arm[2]):
            raise checks.InvalidInput(
                "arms", expected="the known arms behind the others", got="one before", remedy="move it to the end"
            )
        means = np.array([row for _, row, _ in arms], dtype=np.float64).reshape(len(arms), 1 + len(bounds))
        return cls(
            means[:, 0],
            means[:, 1:].T,
            list(bounds.values()),
            noise=models.from_dict(data["noise"]) if "noise" in data else None,
            known=sum(known for _, _, known in arms),
            arms=[name for name, _, _ in arms],
            costs=list(bounds),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the instance to a .toml or .json file."""
        files.write(path, self.to_dict())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Instance":
        """Read an instance from a .toml or .json file."""
        return cls.from_dict(files.read(path, "an instance"))


def _gaussian(sigma_reward: Any, sigma_cost: Any) -> models.Gaussian:
    return models.Gaussian(1.0 if sigma_reward is None else sigma_reward, 0.5 if sigma_cost is None else sigma_cost)


def _arm(position: int, entry: Any, costs: list[str]) -> tuple[str, list[float], bool]:
    entry = checks.mapping(f"arms[{position}]", entry, "with name, reward and costs")
    unknown = set(entry) - {"name", "reward", "costs", "known"}
    if unknown or not {"name", "reward"} <= set(entry):
        raise checks.InvalidInput(
            f"arms[{position}]", expected="name, reward, costs and perhaps known", got=sorted(entry)
        )
    given = checks.mapping(f"arms[{position}].costs", entry.get("costs", {}), "of cost names to means")
    checks.same_names(f"arms[{position}].costs", given, costs, "bounded cost")
    known = entry.get("known", False)
    if not isinstance(known, bool):
        raise checks.InvalidInput(f"arms[{position}].known", expected="true or false", got=checks.shown(known))
    where = f"arms[{position}]"
    row = [checks.number(f"{where}.reward", entry["reward"])]
    row += [checks.number(f"{where}.costs[{c!r}]", given[c]) for c in costs]
    return entry["name"], row, known
