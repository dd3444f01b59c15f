"""What gets deployed: a mixture that draws arms, serialises, and refits its weights on fresh data."""

import bisect
import hashlib
import json
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from bestmix import checks, files
from bestmix.answers import exports
from bestmix.problems.known import Known
from bestmix.problems.problem import Problem
from bestmix.problems.quantities import Share
from bestmix.problems.rows import is_bound, parse_limits

if TYPE_CHECKING:
    from bestmix.answers.recommendation import Recommendation

ADDED_UP = 1e-12  # by which the sum of probabilities may differ from 1 through rounding
AGREE = 1e-6  # and what files say twice may differ by
VERSION = 3  # of the form of a file; 1 had no certainty, 2 no goal, no limits and no segments


@dataclass(frozen=True, init=False)
class Policy:
    """Probabilities of arms, with the limits that they keep on average, and how certain that is.

    Attributes
    ----------
    weights
        Probability of each arm; with segments, of all users together.
    bounds
        Largest acceptable mean of each cost.
    feasible
        Whether the estimates kept every limit.
    certainty
        Estimated chance that all limits are kept; None when it was not judged.
    safety
        The certainty that was wanted, and that ``refit`` wants again; None for the optimum at the estimates.
    known
        Means of arms that were known beforehand.
    goal, limits
        What the weights are best for, and what they keep besides the bounds, as texts.
    segments, by_segment
        Each segment's share of all users, and the probability of each arm in it; empty without segments. States are
        segments here, with their shares of all steps, and actions are arms.
    discount
        Where segments are states: what a step counts for, compared with the one before; else None.

    Examples
    --------
    >>> policy = Policy({"small": 0.62, "large": 0.38}, {"dollars": 5.0})
    >>> policy.draw(5, seed=1)
    ['small', 'large', 'small', 'large', 'small']
    >>> policy.assign("user 17") == policy.assign("user 17")
    True
    >>> parts = {"free": {"small": 1.0}, "paid": {"small": 0.2, "large": 0.8}}
    >>> split = Policy(None, {"dollars": 5.0}, segments={"free": 0.7, "paid": 0.3}, by_segment=parts)
    >>> {arm: round(weight, 2) for arm, weight in split.weights.items()}
    {'small': 0.76, 'large': 0.24}
    >>> split.assign("user 17", segment="free"), split.draw(3, seed=2, segment="paid")
    ('small', ['large', 'large', 'large'])
    """

    weights: Mapping[str, float]
    bounds: Mapping[str, float]
    feasible: bool
    certainty: float | None
    safety: float | None
    known: Mapping[str, Known]
    goal: str
    limits: tuple[str, ...]
    segments: Mapping[str, float]
    by_segment: Mapping[str, Mapping[str, float]]
    discount: float | None

    def __init__(
        self,
        weights: Mapping[str, float] | None,
        bounds: Mapping[str, float] | None = None,
        feasible: bool = True,
        certainty: float | None = None,
        safety: float | None = None,
        known: Mapping[str, Known] | None = None,
        *,
        goal: str = "maximise reward",
        limits: Sequence[str] = (),
        segments: Mapping[str, float] | None = None,
        by_segment: Mapping[str, Mapping[str, float]] | None = None,
        discount: float | None = None,
    ) -> None:
        set_ = object.__setattr__
        set_(self, "discount", None if discount is None else checks.discount(discount))
        parts = checks.mapping("by_segment", by_segment or {}, "of segments to weights")
        set_(self, "by_segment", {name: _weights(f"by_segment[{name!r}]", part) for name, part in parts.items()})
        set_(self, "segments", _shares(segments, list(parts)))
        set_(self, "weights", self._together() if self.segments else _weights("weights", weights))
        bounds = checks.mapping("bounds", bounds or {}, "of cost names to bounds")
        asked = parse_limits(limits, bounds)
        set_(self, "bounds", {limit.metric: limit.bound for limit in asked if is_bound(limit)})
        set_(self, "limits", tuple(str(limit) for limit in asked if not is_bound(limit)))
        set_(self, "feasible", bool(feasible))
        set_(self, "certainty", _chance(certainty))
        set_(self, "safety", checks.safety(safety))
        set_(self, "known", dict(known or {}))
        set_(self, "goal", str(goal))
        set_(self, "goal", str(self.problem.goal))  # which is checked, with the known means

    def _together(self) -> dict[str, float]:
        """The weights of all users together."""
        arms = list(dict.fromkeys(arm for part in self.by_segment.values() for arm in part))
        return {
            arm: sum(share * self.by_segment[name].get(arm, 0.0) for name, share in self.segments.items())
            for arm in arms
        }

    @property
    def problem(self) -> Problem:
        """What the weights are an answer to, for the policy's own arms alone."""
        limits = parse_limits(self.limits, self.bounds)
        # A limit on the share of an arm that is not used is kept whatever happens.
        limits = tuple(
            limit for limit in limits if not isinstance(limit.quantity, Share) or limit.quantity.arm in self.weights
        )
        groups = self.segments if self.discount is None else None  # nobody chooses the shares of states
        terms: dict[str, Any] = {"goal": self.goal, "limits": limits, "segments": groups or None}
        measures = Problem(list(self.weights), **terms).measures
        whole = {name: known for name, known in self.known.items() if _covers(known, measures)}
        return Problem([arm for arm in self.weights if arm not in whole], None, self.known, **terms)

    def draw(
        self,
        size: int | None = None,
        seed: int | np.random.Generator | None = None,
        segment: str | None = None,
    ) -> Any:
        """One arm, or a list of ``size`` arms, at random for a user of a segment; the same seed draws the same."""
        weights, rng = self.of(segment), np.random.default_rng(seed)
        shares = rng.random(1 if size is None else checks.whole("size", size, 0, "give the number of draws"))
        arms = [_at(weights, share) for share in shares.tolist()]
        return arms[0] if size is None else arms

    def assign(self, unit: Hashable, salt: str = "", segment: str | None = None) -> str:
        """The arm of a unit (a user, a request) of a segment: the same unit always gets the same arm.

        ``salt`` separates experiments on the same units. When weights change, a unit moves only if
        the ends between the arms' shares move past it. None, an empty text, NaN and pandas.NA are no unit: all users
        without a key would get one arm.
        """
        if _is_no_unit(unit):
            raise checks.InvalidInput(
                "unit",
                expected="what tells a user or a request from others",
                got=checks.shown(unit),
                remedy="use draw() for users without a key",
            )
        text = repr(unit) if type(unit) is bytes else unit  # the same text, without the warning of python -bb
        key = f"{salt}\x1f{type(unit).__name__}\x1f{text}".encode()
        share = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big") / 2**64
        return _at(self.of(segment), share)

    def of(self, segment: str | None = None) -> Mapping[str, float]:
        """The weights in a segment; without segments, the weights.

        >>> Policy({"small": 1.0}).of("free")
        Traceback (most recent call last):
        bestmix.checks.InvalidInput: segment: expected none: the policy has no segments, got 'free'; leave it out
        """
        if not self.segments and segment is None:
            return self.weights
        if segment is None or segment not in self.by_segment:
            known = ", ".join(map(repr, self.segments))
            these = f"one of {known}" if known else "none: the policy has no segments"
            remedy = "check the spelling" if known else "leave it out"
            raise checks.InvalidInput("segment", expected=these, got=checks.shown(segment), remedy=remedy)
        return self.by_segment[segment]

    def refit(
        self,
        trials: Any,
        *,
        arm: str = "arm",
        reward: str = "reward",
        drop_missing: bool = False,
        before: Any = None,
        known: Mapping[str, Known] | None = None,
        segment: str = "segment",
    ) -> "Policy":
        """Weights from fresh trials of the policy's own arms, with the same wanted certainty; no other arm comes in.

        Parameters
        ----------
        trials
            What ``from_log`` takes; trials of other arms are ignored.
        before
            Trials of the experiment that the policy came from, to count as well: the same kinds, the same columns. They
            chose the policy's arms out of others; with the trials of these among them the certainty allows for that.
        known
            Means of arms that were known beforehand, where the policy does not have them.
        segment
            Name of the column that holds the segment, where the policy has segments.

        Where no mix of the arms keeps the bounds on these data, the result is the closest mix and has ``feasible``
        False.
        """
        from bestmix.answers.refit import refit  # compiled; drawing arms does without

        if self.discount is not None:
            raise checks.InvalidInput(
                "refit",
                "shares of states follow from the policy, and trials of its own actions do not say what others do",
                "find it anew: from_log(..., discount=...) of all trials",
            )
        columns = {"arm": arm, "reward": reward, "segment": segment}
        return self.refitted(refit(self, trials, **columns, drop_missing=drop_missing, before=before, known=known))

    def refitted(self, answer: "Recommendation") -> "Policy":
        """The policy with the weights of an answer for its arms; those no longer used have the weight zero."""
        found, known = answer.policy(), answer.problem.known
        rest = self.bounds, answer.feasible, answer.certainty, answer.safety, known
        parts = {name: {arm: part.get(arm, 0.0) for arm in self.weights} for name, part in found.by_segment.items()}
        weights = {arm: found.weights.get(arm, 0.0) for arm in self.weights}
        return Policy(
            None if parts else weights,
            *rest,
            goal=self.goal,
            limits=self.limits,
            segments=self.segments,
            by_segment=parts,
        )

    def knowing(self, known: Mapping[str, Known]) -> "Policy":
        """The policy with further means of its arms; those of other arms are left out."""
        means = {name: means.to_dict() for name, means in {**self.known, **known}.items() if name in self.weights}
        return Policy.from_dict(self.to_dict() | {"known": means})

    def wanting(self, safety: float | None) -> "Policy":
        """The policy with another certainty to want when it is fitted again."""
        return Policy.from_dict(self.to_dict() | {"safety": safety})

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the version is that of the file's form."""
        data: dict[str, Any] = {"version": VERSION, "weights": dict(self.weights), "bounds": dict(self.bounds)}
        data |= {"feasible": self.feasible, "certainty": self.certainty, "safety": self.safety}
        data |= {"known": {name: known.to_dict() for name, known in self.known.items()}}
        data |= {"goal": self.goal, "limits": list(self.limits)}
        parts = {
            name: {"share": share, "weights": dict(self.by_segment[name])} for name, share in self.segments.items()
        }
        return data | {"segments": parts, "discount": self.discount}

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
        means = {name: Known.from_dict(name, entry) for name, entry in known.items()}
        rest = data.get("certainty"), data.get("safety"), means
        parts = checks.mapping("segments", data.get("segments") or {}, "of segments to their shares and weights")
        entries = {name: _part(name, entry) for name, entry in parts.items()}
        result = cls(
            None if parts else data["weights"],
            data.get("bounds"),
            data.get("feasible", True),
            *rest,
            goal=data.get("goal", "maximise reward"),
            limits=data.get("limits") or (),
            segments={name: share for name, (share, _) in entries.items()},
            by_segment={name: weights for name, (_, weights) in entries.items()},
            discount=data.get("discount"),
        )
        if parts:
            _check_together(_weights("weights", data["weights"]), result.weights)
        return result

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
            ``"json"`` (what ``save`` writes; ``Policy.schema()`` describes it), ``"nginx"``, ``"envoy"``,
            ``"litellm"`` or ``"flagd"``.
        **options
            nginx: ``key``, ``variable``, ``segment``; Envoy: ``prefix``, ``header``; LiteLLM: ``group``, ``models``;
            flagd: ``flag``, ``attribute``. See :mod:`bestmix.answers.exports`.

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
        return exports.write(self.weights, form, self.by_segment, **options)

    @staticmethod
    def schema() -> dict[str, Any]:
        """The JSON Schema of what ``save`` writes and ``load`` reads.

        Examples
        --------
        >>> sorted(Policy.schema()["properties"])[:5]
        ['bounds', 'certainty', 'discount', 'feasible', 'goal']
        """
        text = resources.files("bestmix.answers").joinpath("policy.schema.json").read_text(encoding="utf-8")
        return dict(json.loads(text))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Policy":
        """Read a policy from a .json or .toml file."""
        return cls.from_dict(files.read(path, "a policy, as --policy and save() write it,"))


def _is_no_unit(unit: Hashable) -> bool:
    """Whether it stands for a key that is missing; texts and bytes are not compared, of which python -bb warns."""
    if unit is None or isinstance(unit, (str, bytes)):
        return not unit
    try:
        return bool(unit != unit)
    except TypeError:  # pandas.NA is neither equal to itself nor not
        return True


def _chance(value: float | None) -> float | None:
    if value is None:
        return None
    chance = checks.number("certainty", value)
    if not 0.0 <= chance <= 1.0:
        raise checks.InvalidInput("certainty", expected="a chance from 0 to 1, or None", got=checks.shown(value))
    return chance


def _weights(name: str, weights: Any) -> dict[str, float]:
    """Probabilities that add up to 1."""
    weights = checks.mapping(name, weights, "of arm names to probabilities")
    names = checks.names(name, weights, "arm")
    values = [checks.number(f"{name}[{arm!r}]", weights[arm]) for arm in names]
    if not values or min(values) < 0 or abs(sum(values) - 1) > AGREE:
        raise checks.InvalidInput(
            name,
            expected="probabilities that add up to 1",
            got=checks.shown(dict(weights)),
            remedy="a recommendation's policy() has them",
        )
    total = sum(values)
    scale = total if abs(total - 1.0) > ADDED_UP else 1.0  # what was read from a file stays what it is
    return {arm: value / scale for arm, value in zip(names, values, strict=True)}


def _check_together(weights: Mapping[str, float], together: Mapping[str, float]) -> None:
    """Weights of all users that a file gives besides those of its segments have to be what these come to."""
    for arm in {**weights, **together}:
        if abs(weights.get(arm, 0.0) - together.get(arm, 0.0)) > AGREE:
            raise checks.InvalidInput(
                f"weights[{arm!r}]",
                expected=f"{together.get(arm, 0.0):.6g}, which the weights in the segments come to",
                got=checks.shown(weights.get(arm, 0.0)),
                remedy="change the segments' own weights; those of all users together follow from them",
            )


def _shares(segments: Any, parts: list[str]) -> dict[str, float]:
    """Each segment's share of all users; there is one for all weights."""
    shares = dict(checks.mapping("segments", segments or {}, "of segments to their shares of all users"))
    checks.same_names("segments", shares, parts, "segment")
    return {name: checks.number(f"segments[{name!r}]", shares[name]) for name in parts}


def _part(name: str, entry: Any) -> tuple[Any, Any]:
    """A segment of a file: its share and its weights."""
    data = checks.mapping(f"segments[{name!r}]", entry, "with share and weights")
    if set(data) != {"share", "weights"}:
        raise checks.InvalidInput(f"segments[{name!r}]", expected="the entries share and weights", got=sorted(data))
    return data["share"], data["weights"]


def _covers(known: Any, measures: Sequence[str]) -> bool:
    """Whether an arm's means are known as a whole; what is none is left for the problem to refuse."""
    if not isinstance(known, Known):
        return False
    given = {*known.costs, *([] if known.reward is None else measures[:1])}
    return given >= set(measures)


def _at(weights: Mapping[str, float], share: float) -> str:
    """The arm whose part of [0, 1) holds the share; rounding may leave a gap at the end, which is the last one's."""
    names = [arm for arm, weight in weights.items() if weight > 0.0]
    ends = list(accumulate(weights[arm] for arm in names))
    return names[min(bisect.bisect_right(ends, share), len(names) - 1)]
