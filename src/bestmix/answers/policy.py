"""What gets deployed: a mixture that draws arms, serialises, and refits its weights on fresh data."""

import bisect
import hashlib
import json
import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import accumulate
from typing import Any

import numpy as np

from bestmix import checks, files
from bestmix.answers import exports
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.tables import read_trials
from bestmix.problems.problem import Problem


@dataclass(frozen=True, init=False)
class Policy:
    """Probabilities of arms, with the bounds that they keep on average.

    Examples
    --------
    >>> policy = Policy({"small": 0.62, "large": 0.38}, {"dollars": 5.0})
    >>> policy.draw(5, seed=1)
    ['small', 'large', 'small', 'large', 'small']
    >>> policy.assign("user 17") == policy.assign("user 17")
    True
    """

    weights: Mapping[str, float]
    bounds: Mapping[str, float]
    feasible: bool

    def __init__(
        self, weights: Mapping[str, float], bounds: Mapping[str, float] | None = None, feasible: bool = True
    ) -> None:
        weights = checks.mapping("weights", weights, "of arm names to probabilities")
        names = checks.names("weights", weights, "arm")
        values = [checks.number(f"weights[{name!r}]", weights[name]) for name in names]
        if not values or min(values) < 0 or abs(sum(values) - 1) > 1e-6:
            raise checks.InvalidInput(
                "weights",
                expected="probabilities that add up to 1",
                got=checks.shown(dict(weights)),
                remedy="a recommendation's policy() has them",
            )
        bounds = checks.mapping("bounds", bounds or {}, "of cost names to bounds")
        object.__setattr__(self, "weights", {n: v / sum(values) for n, v in zip(names, values, strict=True)})
        object.__setattr__(self, "bounds", {n: checks.number(f"bounds[{n!r}]", b) for n, b in bounds.items()})
        object.__setattr__(self, "feasible", bool(feasible))

    def draw(self, size: int | None = None, seed: int | np.random.Generator | None = None) -> Any:
        """One arm, or a list of ``size`` arms, at random; the same seed draws the same."""
        rng = np.random.default_rng(seed)
        shares = rng.random(1 if size is None else checks.whole("size", size, 0, "give the number of draws"))
        arms = [self._at(share) for share in shares.tolist()]
        return arms[0] if size is None else arms

    def assign(self, unit: Hashable, salt: str = "") -> str:
        """The arm of a unit (a user, a request): the same unit always gets the same arm.

        ``salt`` separates experiments on the same units. When weights change, a unit moves only if
        the ends between the arms' shares move past it.
        """
        key = f"{salt}\x1f{type(unit).__name__}\x1f{unit}".encode()
        share = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big") / 2**64
        return self._at(share)

    def _at(self, share: float) -> str:
        names = list(self.weights)
        ends = list(accumulate(self.weights.values()))
        return names[min(bisect.bisect_right(ends, share), len(names) - 1)]

    def refit(self, trials: Any, *, arm: str = "arm", reward: str = "reward", drop_missing: bool = False) -> "Policy":
        """Weights from fresh trials of the policy's own arms; no other arm comes in.

        Takes what ``from_log`` takes; trials of other arms are ignored. Where no mix of the arms
        keeps the bounds on the fresh data, the result has the least violation and ``feasible`` False.
        """
        from bestmix.problems.solution import solve_means  # compiled; drawing arms does without

        rows = read_trials(trials, arm, reward, list(self.bounds), drop_missing)
        moments = []
        for name in self.weights:
            if name not in rows:
                raise checks.InvalidInput(
                    "trials", expected=f"fresh trials of {name!r}", got="none", remedy="try every arm of the policy"
                )
            moments.append(Moments(1 + len(self.bounds)))
            moments[-1].add(rows[name])
        problem = Problem(self.weights, self.bounds)
        solution = solve_means(Evidence(problem, moments).means, problem.bound)
        return Policy(
            dict(zip(self.weights, map(float, solution.mixture), strict=True)), self.bounds, solution.feasible
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"weights": dict(self.weights), "bounds": dict(self.bounds), "feasible": self.feasible}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Policy":
        """Inverse of ``to_dict``."""
        if "weights" not in data:
            raise checks.InvalidInput(
                "policy", expected="the entry weights", got=sorted(data), remedy="save a policy with save()"
            )
        return cls(data["weights"], data.get("bounds"), data.get("feasible", True))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a .json or .toml file."""
        files.write(path, self.to_dict())

    def export(self, form: str, **options: Any) -> str:
        """The weights as text for the program that splits the traffic.

        Parameters
        ----------
        form : str
            ``"json"`` (what ``save`` writes; ``Policy.schema()`` describes it), ``"nginx"``, ``"envoy"``
            or ``"litellm"``.
        **options
            nginx: ``key``, ``variable``; Envoy: ``prefix``; LiteLLM: ``group``, ``models``. See
            :mod:`bestmix.answers.exports`.

        Examples
        --------
        >>> print(Policy({"small": 0.62, "large": 0.38}).export("nginx", key="$cookie_user"), end="")
        split_clients "$cookie_user" $bestmix_arm {
            62.00%  "small";
            *       "large";
        }
        """
        if checks.choice("form", form, exports.FORMS) == "json":
            if options:
                raise checks.InvalidInput(
                    "options", expected="none with 'json'", got=", ".join(options), remedy="leave them out"
                )
            return json.dumps(self.to_dict(), indent=1) + "\n"
        return exports.write(self.weights, form, **options)

    @staticmethod
    def schema() -> dict[str, Any]:
        """The JSON Schema of what ``save`` writes and ``load`` reads.

        Examples
        --------
        >>> sorted(Policy.schema()["properties"])
        ['bounds', 'feasible', 'weights']
        """
        text = resources.files("bestmix.answers").joinpath("policy.schema.json").read_text(encoding="utf-8")
        return dict(json.loads(text))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Policy":
        """Read a policy from a .json or .toml file."""
        return cls.from_dict(files.read(path))
