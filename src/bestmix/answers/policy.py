"""What gets deployed: a mixture that draws arms, serialises, and refits its weights on fresh data."""

import bisect
import hashlib
import json
import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from bestmix import checks, files
from bestmix.answers import exports
from bestmix.problems.problem import Known, Problem

if TYPE_CHECKING:
    from bestmix.answers.recommendation import Recommendation

VERSION = 2  # of the form of a file; 1 had no certainty


@dataclass(frozen=True, init=False)
class Policy:
    """Probabilities of arms, with the bounds that they keep on average, and how certain that is.

    Attributes
    ----------
    weights
        Probability of each arm.
    bounds
        Largest acceptable mean of each cost.
    feasible
        Whether the estimates kept every bound.
    certainty
        Estimated chance that all bounds are kept; None when it was not judged.
    safety
        The certainty that was wanted, and that ``refit`` wants again; None for the optimum at the estimates.
    known
        Means of the arms that were known beforehand.

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
    certainty: float | None
    safety: float | None
    known: Mapping[str, Known]

    def __init__(
        self,
        weights: Mapping[str, float],
        bounds: Mapping[str, float] | None = None,
        feasible: bool = True,
        certainty: float | None = None,
        safety: float | None = None,
        known: Mapping[str, Known] | None = None,
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
        object.__setattr__(self, "certainty", _chance(certainty))
        object.__setattr__(self, "safety", checks.safety(safety))
        object.__setattr__(self, "known", dict(Problem([], bounds, known).known) if known else {})

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

    def refit(
        self,
        trials: Any,
        *,
        arm: str = "arm",
        reward: str = "reward",
        drop_missing: bool = False,
        before: Any = None,
        known: Mapping[str, Known] | None = None,
    ) -> "Policy":
        """Weights from fresh trials of the policy's own arms, with the same wanted certainty; no other arm comes in.

        Parameters
        ----------
        trials
            What ``from_log`` takes; trials of other arms are ignored.
        before
            Trials of the experiment that the policy came from, to count as well: the same kinds, the same columns.
        known
            Means of arms that were known beforehand, where the policy does not have them.

        Where no mix of the arms keeps the bounds on these data, the result has the least violation and ``feasible``
        False.
        """
        from bestmix.answers.refit import refit  # compiled; drawing arms does without

        answer = refit(self, trials, arm=arm, reward=reward, drop_missing=drop_missing, before=before, known=known)
        return self.refitted(answer)

    def refitted(self, answer: "Recommendation") -> "Policy":
        """The policy with the weights of an answer for its arms; those no longer used have the weight zero."""
        weights = {name: answer.mixture.get(name, 0.0) for name in self.weights}
        return Policy(weights, self.bounds, answer.feasible, answer.certainty, answer.safety, answer.problem.known)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the version is that of the file's form."""
        data: dict[str, Any] = {"version": VERSION, "weights": dict(self.weights), "bounds": dict(self.bounds)}
        data |= {"feasible": self.feasible, "certainty": self.certainty, "safety": self.safety}
        return data | {"known": {name: {"reward": k.reward, "costs": dict(k.costs)} for name, k in self.known.items()}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Policy":
        """Inverse of ``to_dict``; version 0.1 wrote weights, bounds and feasible only."""
        if "weights" not in data:
            raise checks.InvalidInput(
                "policy", expected="the entry weights", got=sorted(data), remedy="save a policy with save()"
            )
        version = data.get("version", 1)
        if not isinstance(version, int) or not 1 <= version <= VERSION:
            raise checks.InvalidInput(
                "version",
                expected=f"the form of a policy's file, 1 to {VERSION}",
                got=checks.shown(version),
                remedy="it was written by a later bestmix; upgrade this one",
            )
        known = checks.mapping("known", data.get("known") or {}, "of arms to their means")
        means = {name: _known(name, entry) for name, entry in known.items()}
        rest = data.get("certainty"), data.get("safety"), means
        return cls(data["weights"], data.get("bounds"), data.get("feasible", True), *rest)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a .json or .toml file."""
        data = self.to_dict()
        if str(path).lower().endswith(".toml"):  # which has no null
            data = {name: entry for name, entry in data.items() if entry is not None}
        files.write(path, data)

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
        ['bounds', 'certainty', 'feasible', 'known', 'safety', 'version', 'weights']
        """
        text = resources.files("bestmix.answers").joinpath("policy.schema.json").read_text(encoding="utf-8")
        return dict(json.loads(text))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Policy":
        """Read a policy from a .json or .toml file."""
        return cls.from_dict(files.read(path))


def _chance(value: float | None) -> float | None:
    if value is None:
        return None
    chance = checks.number("certainty", value)
    if not 0.0 <= chance <= 1.0:
        raise checks.InvalidInput("certainty", expected="a chance from 0 to 1, or None", got=checks.shown(value))
    return chance


def _known(name: str, entry: Any) -> Known:
    data = checks.mapping(f"known[{name!r}]", entry, "with the entries reward and costs")
    if "reward" not in data:
        raise checks.InvalidInput(f"known[{name!r}]", expected="the entry reward", got=sorted(data))
    return Known(data["reward"], data.get("costs") or {})
