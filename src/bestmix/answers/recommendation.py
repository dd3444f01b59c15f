"""The answer: verdict, mixture, prices, estimates, how sure it is, and how it came about."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

from bestmix import checks
from bestmix.answers import number_text, table_text, wording
from bestmix.answers.account import Account
from bestmix.answers.moments import Moments
from bestmix.answers.policy import Policy
from bestmix.problems.problem import Problem

Nullable = Annotated[float, "null in plain data where it is NaN or infinite"]
Interval = tuple[Nullable, Nullable]
LEVEL = 0.95  # of the intervals
ELASTIC = "infeasibility"  # the condition that no mix is feasible, beside those of the columns


@dataclass(frozen=True)
class Round:
    """What happened in one round of a search.

    ``scores`` are by column; where a score took too long to compute exactly it is left out.
    ``margin`` is by how much the next column did better than the rejected one. Scores of an
    infeasible round are minus infinity. ``reasons`` says, arm by arm, how many of its trials were spent
    on which condition of the answer: the column that could still enter the mix, or leave it.
    """

    number: int
    pulls: Mapping[str, int]
    scores: Mapping[str, Nullable] = field(default_factory=dict)
    rejected: str | None = None
    margin: Nullable | None = None
    reasons: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without NaN or infinities."""
        plain: dict[str, Any] = finite(vars(self))
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Round":
        """Inverse of ``to_dict``, which writes the score minus infinity as None; other entries are left alone.

        >>> Round.from_dict({"number": 1, "pulls": {"a": 2}, "scores": {"a": None}}).scores
        {'a': -inf}
        """
        known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        scores = {name: -math.inf if score is None else score for name, score in data["scores"].items()}
        return cls(**known | {"scores": scores})


@dataclass(frozen=True)
class Estimate:
    """An arm's estimated means, each with the ends of its 95% interval (low, high)."""

    arm: str
    trials: int
    known: bool
    reward: Nullable
    reward_interval: Interval
    costs: Mapping[str, Nullable]
    cost_intervals: Mapping[str, Interval]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without NaN or infinities."""
        plain: dict[str, Any] = finite(vars(self))
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Estimate":
        """Inverse of ``to_dict``."""
        costs = {name: _number(value) for name, value in data["costs"].items()}
        intervals = {name: _interval(ends) for name, ends in data["cost_intervals"].items()}
        reward = _number(data["reward"]), _interval(data["reward_interval"])
        return cls(data["arm"], data["trials"], data["known"], *reward, costs, intervals)


@dataclass(frozen=True)
class MeanCost:
    """Estimated mean of a cost of the mix, with its 95% interval (low, high), and the chance that its bound is kept.

    The chance is NaN where it cannot be said, and for an equality of means, which is met at the estimates alone. The
    interval is that of a mix which was fixed beforehand; the chance allows for its choice by the same trials. The
    interval of a limit relative to an arm is where the mean lies if the bound is as printed.
    """

    mean: Nullable
    error: Nullable
    interval: Interval
    bound: float
    chance: Nullable

    @property
    def exact(self) -> bool:
        """Whether the mean is known, and not estimated."""
        return self.interval[0] == self.interval[1]

    @property
    def surely_broken(self) -> bool:
        """Whether the mean is known, and breaks the bound."""
        return self.exact and self.chance == 0

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without NaN or infinities."""
        plain: dict[str, Any] = finite(vars(self))
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "MeanCost":
        """Inverse of ``to_dict``.

        >>> MeanCost.from_dict({"mean": 0.9, "error": 0.05, "interval": [0.8, 1.0], "bound": 1.0, "chance": None})
        MeanCost(mean=0.9, error=0.05, interval=(0.8, 1.0), bound=1.0, chance=nan)
        """
        numbers = {name: _number(data[name]) for name in ("mean", "error", "chance")}
        return cls(interval=_interval(data["interval"]), bound=data["bound"], **numbers)


def claimed(limits: Sequence[MeanCost], certainty: float, certified: bool, feasible: bool) -> dict[str, Any]:
    """What may be claimed of all limits together: the fields ``certainty`` and ``certified``.

    Nothing of a ratio whose denominator is not above zero, nor of equalities of means alone; and a mix that misses an
    equality even at the estimates keeps no limits.

    >>> met = MeanCost(0.5, 0.1, (0.3, 0.7), 0.5, math.nan)
    >>> claimed([met], 1.0, True, feasible=True), claimed([met, met], 1.0, True, feasible=False)
    ({'certainty': None, 'certified': False}, {'certainty': 0.0, 'certified': False})
    """
    unsaid = math.isnan(certainty)
    level = [] if unsaid else [limit for limit in limits if math.isnan(limit.chance)]
    if any(math.isnan(limit.mean) for limit in limits):
        return {"certainty": None, "certified": False}
    if level and not feasible:
        return {"certainty": 0.0, "certified": False}
    if unsaid or (level and len(level) == len(limits)):
        return {"certainty": None, "certified": certified and not level}
    return {"certainty": certainty, "certified": certified}


@dataclass(frozen=True, eq=False)
class Recommendation:
    """The best mix as far as the trials tell: the one to deploy, and the optimum at the estimates.

    The support, the basis, the z-scores and the shadow prices are those of the optimum at the estimates, which stands
    on its bounds and is above or below them by chance. The mixture is the one to deploy: it keeps all limits with the
    wanted certainty.

    Attributes
    ----------
    problem, strategy, budget
        What was asked.
    complete
        Whether the search had finished.
    feasible
        The verdict of the estimates. When False the mixture is the one with the least violation, or, with events of 0
        and 1 that may be too many by chance, the one that most likely keeps the limits.
    mixture
        Probability of each arm that has any: what to deploy.
    value
        Estimated mean reward of the mixture.
    slack
        Bound minus estimated mean cost, by cost.
    shadow_prices
        What one more unit of each bound would add to the value, by cost; empty when infeasible.
    basis
        Names of the basis's columns: the arms of the support, and the slacks of bounds that do not bind.
    estimates
        Means with intervals, by arm.
    support_probability
        Estimated chance that the support is right; None when it cannot be said.
    z_scores
        By column: how many standard errors the answer is from changing because of it.
    history
        The rounds.
    best_guess, best_guess_value
        The optimum at the estimates and its estimated mean reward; the same mix where no safety is wanted.
    safety
        The wanted certainty that all limits are kept; None for the optimum at the estimates.
    certainty
        Estimated chance that the mixture keeps all limits but for equalities of means, which can only be met at the
        estimates; None when it cannot be said.
    certified
        Whether that reaches the wanted certainty.
    limits
        By cost: the mean of the mixture with its interval, and the chance that its bound is kept.
    short
        Costs whose limits cannot be certified.
    further
        By arm: about how many more trials would certify the mixture; infinite where none would.
    regret
        With 95% certainty the best mix earns at most so much more; infinite when it cannot be said.
    value_interval
        95% interval of the mixture's mean reward; the lower end allows for the choice of the mix by the same trials.
    single, gain, gain_interval
        The best arm that alone keeps all limits with the wanted certainty (95% where none is), judged as the mixture
        is, and what the mixture earns more than it.
    by_segment
        With segments: the mixture within each. ``mixture`` and the estimates are then by arm in segment.
    common_mixture, segments_worth, segments_worth_interval
        With segments: the best mix that is the same in all of them, found as the mixture was, and what the mixture
        earns more than it.
    account
        What was spent, where the budget is one of money.
    items
        On how many items arms were tried, where they share these; None where trials are independent.
    log_results, log_counted
        How many results the log has that the run began with, and how many trials they count as, at their weight.
    told
        The sums of what was told, by what was tried: trade-offs, and other runs, can start from them. None in files of
        0.1, which have none.
    """

    problem: Problem
    strategy: str
    budget: int | None
    complete: bool
    feasible: bool
    mixture: Mapping[str, float]
    value: Nullable
    slack: Mapping[str, Nullable]
    shadow_prices: Mapping[str, Nullable]
    basis: tuple[str, ...]
    estimates: Mapping[str, Estimate]
    support_probability: float | None
    z_scores: Mapping[str, Nullable]
    history: tuple[Round, ...] = ()
    note: str = ""
    best_guess: Mapping[str, float] = field(default_factory=dict)
    best_guess_value: Nullable = math.nan
    safety: float | None = None
    certainty: float | None = None
    certified: bool = False
    limits: Mapping[str, MeanCost] = field(default_factory=dict)
    short: tuple[str, ...] = ()
    further: Mapping[str, Nullable] = field(default_factory=dict)
    regret: Nullable = math.inf
    value_interval: Interval = (-math.inf, math.inf)
    single: str | None = None
    gain: float | None = None
    gain_interval: Interval | None = None
    by_segment: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    common_mixture: Mapping[str, float] = field(default_factory=dict)
    segments_worth: float | None = None
    segments_worth_interval: Interval | None = None
    account: Account | None = None
    items: int | None = None
    log_results: int = 0
    log_counted: int = 0
    told: tuple[Moments, ...] | None = field(default=None, repr=False, compare=False)

    @property
    def support(self) -> tuple[str, ...]:
        """Arms of the optimum at the estimates."""
        return tuple(self.best_guess)

    @property
    def violation(self) -> dict[str, float]:
        """By how much each failing bound is missed."""
        missed = {cost: -s for cost, s in self.slack.items() if s < 0}
        for cost, limit in zip(self.problem.costs, self.problem.limits, strict=True):
            if limit.equality and not self.feasible and self.slack[cost]:  # from either side
                missed[cost] = abs(self.slack[cost])
        return missed

    def mean_cost(self, cost: str) -> float:
        """Estimated mean of what is limited, in the mixture."""
        limit = self.limits.get(cost)
        return self.problem.bounds[cost] - self.slack[cost] if limit is None else limit.mean

    def bound(self, cost: str) -> float:
        """The limit's bound; of a relative limit, as far as the arm of reference is known."""
        limit = self.limits.get(cost)
        return self.problem.bounds[cost] if limit is None else limit.bound

    def room(self, cost: str) -> float:
        """How far the mixture's mean is within its limit, in the units of what is limited; negative beyond it."""
        limit = self.limits.get(cost)
        if limit is None:
            return self.slack[cost]
        away = limit.bound - limit.mean
        asked = self.problem.limits[self.problem.costs.index(cost)]
        return -abs(away) if asked.equality else asked.sign * away

    def cost_interval(self, cost: str) -> tuple[float, float]:
        """95% interval of a mean cost of the mixture; infinite ends when it cannot be said."""
        limit = self.limits.get(cost)
        return (-math.inf, math.inf) if limit is None else limit.interval

    @cached_property
    def trials(self) -> int:
        """Trials made."""
        return sum(e.trials for e in self.estimates.values())

    def policy(self) -> Policy:
        """The mixture, ready to be deployed; an arm that a limit refers to is part of it, if only with no weight."""
        if not self.mixture:
            fault = "no arm was tried yet, so that there is no mix to deploy"
            raise checks.InvalidInput("policy", fault, "make trials first")
        data = self.problem.to_dict()
        named = [limit.arm for limit in self.problem.limits if limit.arm is not None]
        asked: dict[str, Any] = {"goal": str(self.problem.goal), "limits": data.get("limits", ())}
        judged = self.feasible, self.certainty, self.safety
        if not self.problem.segments:
            weights = dict.fromkeys((arm for arm in named if arm not in self.mixture), 0.0) | dict(self.mixture)
            known = {arm: known for arm, known in self.problem.known.items() if arm in weights}
            return Policy(weights, data["bounds"], *judged, known, **asked)
        if unserved := [segment for segment, part in self.by_segment.items() if not part]:
            fault = f"no arm was tried in {number_text.listed(unserved)} yet, so that there is no mix to deploy there"
            raise checks.InvalidInput("policy", fault, "make trials there, or leave the segment out")
        parts = {name: dict.fromkeys(named, 0.0) | dict(part) for name, part in self.by_segment.items()}
        known = {arm: known for arm, known in self.problem.known.items() if any(arm in part for part in parts.values())}
        asked |= {"segments": self.segment_shares, "by_segment": parts}
        asked |= {"discount": data["discount"]} if self.problem.flows else {}
        return Policy(None, data["bounds"], *judged, known, **asked)

    @property
    def used_arms(self) -> list[str]:
        """With segments: the arms that some segment uses, the largest share of all users first."""
        users, weights = self.segment_shares, dict[str, float]()
        for segment, part in self.by_segment.items():
            for arm, share in part.items():
                weights[arm] = weights.get(arm, 0.0) + users.get(segment, 0.0) * share
        used = {arm for part in self.by_segment.values() for arm, share in part.items() if share > 0}
        return sorted((arm for arm in weights if arm in used), key=lambda arm: -weights[arm])

    @property
    def segment_shares(self) -> dict[str, float]:
        """Each segment's share of all users, as given or as estimated; empty before there is a mixture."""
        shares = dict.fromkeys(self.problem.segments, 0.0) if self.mixture else {}
        for cell in (*self.problem.cells, *self.problem.known_cells):
            if cell.segment is not None and str(cell) in self.mixture:
                shares[cell.segment] += self.mixture[str(cell)]
        return shares

    def sentence(self) -> str:
        """The answer in plain language.

        Examples
        --------
        >>> from bestmix import Problem, Known, Uniform
        >>> both = {"a": Known(1.0, {"dollars": 0.0}), "b": Known(3.0, {"dollars": 2.0})}
        >>> rec = Uniform().start(Problem([], {"dollars": 1.0}, both), budget=0).recommend()
        >>> print(rec.sentence())  # doctest: +NORMALIZE_WHITESPACE
        Mix 50% a with 50% b. All limits are kept for certain; it earns 2, the most that any mix can earn,
        and 1 more than the best single option that surely keeps the limits, a.
        """
        return wording.sentence(self)

    def rows(self) -> list[list[str]]:
        """The table of arms, as text, that the terminal and the notebook show; a header first."""
        return table_text.rows(self)

    def __str__(self) -> str:
        return table_text.text(self)

    def _repr_html_(self) -> str:
        from bestmix.answers.table_html import fragment

        return fragment(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without NaN or infinities: what cannot be said is None."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        data |= {
            "problem": self.problem.to_dict(),
            "trials": self.trials,
            "support": self.support,
            "violation": self.violation,
            "estimates": [e.to_dict() for e in self.estimates.values()],
            "limits": {cost: limit.to_dict() for cost, limit in self.limits.items()},
            "history": [r.to_dict() for r in self.history],
            "sentence": self.sentence(),
            "account": None if self.account is None else self.account.to_dict(),
            "told": None if self.told is None else [moments.to_dict() for moments in self.told],
        }
        plain: dict[str, Any] = finite(data)
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Recommendation":
        """Inverse of ``to_dict``; without the entry ``history`` there are no rounds.

        What version 0.1 wrote has one mix, the optimum at the estimates, and says nothing of its certainty.
        """
        early = {"best_guess": data["mixture"], "best_guess_value": data["value"], "certified": False}
        data = early | {"safety": None, "certainty": None, "limits": {}, "short": (), "further": {}} | dict(data)
        gain, worth = data.get("gain_interval"), data.get("segments_worth_interval")
        problem = Problem.from_dict(data["problem"])
        return cls(
            problem=problem,
            value=_number(data["value"]),
            best_guess_value=_number(data["best_guess_value"]),
            slack={name: _number(value) for name, value in data["slack"].items()},
            shadow_prices={name: _number(value) for name, value in data["shadow_prices"].items()},
            basis=tuple(data["basis"]),
            estimates={e["arm"]: Estimate.from_dict(e) for e in data["estimates"]},
            z_scores={name: math.inf if z is None else z for name, z in data["z_scores"].items()},
            history=tuple(map(Round.from_dict, data.get("history", ()))),
            limits={cost: MeanCost.from_dict(limit) for cost, limit in data["limits"].items()},
            short=tuple(data["short"]),
            further={arm: math.inf if more is None else more for arm, more in data["further"].items()},
            regret=math.inf if data.get("regret") is None else data["regret"],
            value_interval=_interval(data.get("value_interval", (None, None))),
            single=data.get("single"),
            gain=data.get("gain"),
            gain_interval=None if gain is None else _interval(gain),
            by_segment=data.get("by_segment", {}),
            common_mixture=data.get("common_mixture", {}),
            segments_worth=data.get("segments_worth"),
            segments_worth_interval=None if worth is None else _interval(worth),
            account=None if data.get("account") is None else Account.from_dict(data["account"]),
            items=data.get("items"),
            log_results=data.get("log_results", 0),
            log_counted=data.get("log_counted", 0),
            told=_told(data.get("told"), problem),
            **{name: data[name] for name in PLAIN},
        )

    def to_json(self) -> str:
        """``to_dict`` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)


def finite(data: Any) -> Any:
    """Nested plain data with every NaN and infinity replaced by None."""
    if isinstance(data, Mapping):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


PLAIN = (
    "strategy",
    "budget",
    "complete",
    "feasible",
    "mixture",
    "best_guess",
    "support_probability",
    "safety",
    "certainty",
    "certified",
    "note",
)  # entries of JSON's own


def _told(data: Any, problem: Problem) -> tuple[Moments, ...] | None:
    """The sums of trials of each cell of a problem, or None."""
    if data is None:
        return None
    expected = f"the sums of {len(problem.measures)} metrics for each of {len(problem.cells)} that are tried, or none"
    try:
        found = tuple(map(Moments.from_dict, data))
    except (AttributeError, KeyError, TypeError, ValueError):
        found = ()
    if len(found) != len(problem.cells) or any(sums.size != len(problem.measures) for sums in found):
        raise checks.InvalidInput(
            "told", expected=expected, got=checks.shown(data), remedy="leave it as it was written"
        )
    return found


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _interval(ends: Sequence[float | None]) -> tuple[float, float]:
    low, high = ends
    return (-math.inf if low is None else low), (math.inf if high is None else high)
