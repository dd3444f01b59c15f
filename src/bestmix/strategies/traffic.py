"""Experiments on live traffic: what each round of requests explores, and what it is served.

Every request is a trial. A round of ``m`` requests has weights for each segment: a share ``e`` of the traffic explores
by Challenger's plan, the rest is served the mix that makes room for it, so that the traffic as a whole keeps its
limits with the wanted certainty (``answers/traffic_mix.py``). The plan counts in what the served share is about to
add, so it is left with the arms that nobody is served. Where no mix makes room, half as much is explored, and so on
down to nothing; so it is where making room costs more than a part of what could be gained at all: one arm that costs
many times the limit would otherwise take it from all others, to settle a question that hardly matters.

The decision is a pure function of the sums: ``plan_round``.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bestmix import checks
from bestmix.answers import noisy_program
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.noisy_program import NoisyProgram, Optimum, restricted
from bestmix.answers.number_text import level_text
from bestmix.answers.program_regret import regret_bound
from bestmix.answers.program_safety import ProgramLimits, safe_program_mix
from bestmix.answers.programs import program_of, segment_shares
from bestmix.answers.safe_search import regret_tail
from bestmix.answers.traffic_mix import served_mix
from bestmix.arrays import Flags, Floats, Integers
from bestmix.problems.layouts import places, segments_of
from bestmix.problems.problem import Problem
from bestmix.problems.spend import Spend
from bestmix.strategies import program_rounds
from bestmix.strategies.protocol import Memory, check_featureless, check_stateless
from bestmix.strategies.search import Search

FIRST = 10  # trials of every arm in a segment before anything is reckoned there
HALVINGS = 10  # of the exploring share, before it is zero
WORTH = 0.25  # of what the best mix may earn more: what exploring may cost the requests of a round
DOUBT = 0.05  # chance that it earns more than that
REPAY = 10  # rounds over which a debt is paid back
MOST_EXPLORED = 0.5  # of the traffic
LONGEST_ROUND = 30 * 86400.0  # seconds


@dataclass(frozen=True)
class Traffic:
    """How an experiment on live traffic goes about it.

    Parameters
    ----------
    explore
        Share of the traffic that explores, at most half of it: ``"5%"`` or 0.05. ``"0%"`` serves and watches.
    safety
        Certainty with which the traffic of a round, explored and served, keeps every limit. It is higher than that of
        an answer because there are many rounds, of which all should.
    requests
        Requests after which a round ends.
    seconds
        Time after which it ends in any case, if any requests came.
    serve
        What is served before anything is known: an arm, or a mix of arms; all arms alike by default.
    carry
        Whether what earlier rounds have left of a limit may pay for a round's margin. What they lack is paid back in
        any case.

    Examples
    --------
    >>> Traffic(explore="5%").share
    0.05
    """

    explore: str | float = "5%"
    safety: float = 0.999
    requests: int = 10_000
    seconds: float = 600.0
    serve: str | Mapping[str, float] | None = None
    carry: bool = False

    def __post_init__(self) -> None:
        share = parse_share(self.explore)
        if not 0.0 <= share <= MOST_EXPLORED:
            raise checks.InvalidInput(
                "explore", expected="a share from 0% to 50%", got=checks.shown(self.explore), remedy="5% is usual"
            )
        if checks.safety(self.safety) is None:
            raise checks.InvalidInput("safety", expected="a certainty such as 0.95", got="none")
        if not isinstance(self.carry, bool):
            raise checks.InvalidInput("carry", expected="True or False", got=checks.shown(self.carry))
        checks.whole("requests", self.requests, 1, "give the number of requests in a round")
        if not 0 < checks.number("seconds", self.seconds) <= LONGEST_ROUND:
            raise checks.InvalidInput(
                "seconds", expected="between 0 and 30 days", got=self.seconds, remedy="give the length of a round"
            )

    @property
    def share(self) -> float:
        """Share of the traffic that explores."""
        return parse_share(self.explore)

    @property
    def name(self) -> str:
        """What pages call it."""
        return f"Traffic[{100 * self.share:g}%]"

    def start(self, problem: Problem, budget: int | Spend | None) -> Search:
        """It needs an experiment: requests come and go, and only their sums are told."""
        raise checks.InvalidInput(
            "strategy", "Traffic decides for live requests", "open_experiment(url, name, problem, traffic=Traffic())"
        )

    def begin(self, problem: Problem, budget: int) -> Memory:
        """Check what is served first."""
        check_featureless("Traffic", problem, "make trials: open_experiment(url, name, problem, budget)")
        check_stateless("Traffic", problem, "make trials: open_experiment(url, name, problem, budget)")
        self.first_served(problem)
        return {}

    def quota(self, problem: Problem, budget: int, memory: Memory) -> Integers | None:
        """No trials are handed out, and there is no end."""
        return np.zeros(len(problem.cells), dtype=np.int64)

    def close(self, evidence: Evidence, budget: int, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
        """Rounds of traffic are planned by ``plan_round``."""
        return memory, {}

    def columns(self, problem: Problem, memory: Memory) -> Integers | None:
        """All of them."""
        return np.arange(len(problem.columns))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        data = {"kind": "Traffic", **vars(self)}
        return data | ({"serve": dict(self.serve)} if isinstance(self.serve, Mapping) else {})

    def first_served(self, problem: Problem) -> dict[str, float]:
        """Shares of arms before anything is known.

        >>> Traffic(serve="small").first_served(Problem(["small", "large"]))
        {'small': 1.0, 'large': 0.0}
        """
        arms = [*problem.arms, *(name for name in problem.known if name not in problem.arms)]
        if self.serve is None:
            return {arm: 1.0 / len(problem.arms) * (arm in problem.arms) for arm in arms} if problem.arms else {}
        given = {self.serve: 1.0} if isinstance(self.serve, str) else dict(self.serve)
        shares = {arm: checks.number(f"serve[{arm!r}]", share) for arm, share in given.items()}
        unknown = [arm for arm in shares if arm not in arms]
        if unknown or min(shares.values(), default=0.0) < 0.0 or not abs(sum(shares.values()) - 1.0) < 1e-9:
            raise checks.InvalidInput(
                "serve",
                expected=f"one of {checks.shown(arms)}, or shares of them that add up to 1",
                got=checks.shown(self.serve),
                remedy="leave it out to serve all arms alike",
            )
        return {arm: shares.get(arm, 0.0) for arm in arms}

    def still_served(self, problem: Problem) -> dict[str, float]:
        """The same of the arms that are left, when some of them were retired.

        >>> Traffic(serve={"a": 0.5, "b": 0.5}).still_served(Problem(["b", "c"]))
        {'b': 1.0, 'c': 0.0}
        """
        given = {self.serve: 1.0} if isinstance(self.serve, str) else dict(self.serve or {})
        left = {arm: share for arm, share in given.items() if arm in problem.arms or arm in problem.known}
        total = sum(left.values())
        serve = {arm: share / total for arm, share in left.items()} if total > 0 else None
        return (self if left == given else replace(self, serve=serve)).first_served(problem)


class Plan(NamedTuple):
    """What a round does; weights are by segment and arm, in each segment shares that add up to 1.

    Attributes
    ----------
    weights, alone
        What requests follow, and the mix that keeps the limits when nothing explores.
    explore
        Share that explores.
    requests
        Requests after which the round ends.
    certified
        Whether the traffic keeps every limit with the wanted certainty, as far as that can be said.
    alarm
        What is wrong, where something is.
    carry
        What the traffic so far has left of each limit (R,), for all of its requests; below zero what it lacks.
    """

    weights: dict[str, dict[str, float]]
    alone: dict[str, dict[str, float]]
    explore: float
    requests: int
    certified: bool
    alarm: str
    carry: dict[str, float]


def plan_round(
    evidence: Evidence,
    traffic: Traffic,
    expected: int,
    start: Evidence | None = None,
    known: Sequence[Moments] = (),
    newcomers: Collection[str] = (),
) -> Plan:
    """What the next round does, from the sums so far.

    Parameters
    ----------
    evidence
        The sums.
    traffic
        How to go about it.
    expected
        Number of requests that the round is going to have.
    start
        Those of the sums that are no part of the account of the limits: what was known before the first request, or
        before the problem was changed.
    known
        How many requests each arm that is known was given since, in each segment.
    newcomers
        Arms that came while it ran; until they have their first trials the others are served as if they were alone.

    Examples
    --------
    >>> problem = Problem(["small", "large"], {"dollars": 1.0})
    >>> nothing = Evidence(problem, [Moments(2), Moments(2)])
    >>> plan = plan_round(nothing, Traffic(explore="10%", serve="small"), expected=1000)
    >>> round(plan.weights[""]["large"], 3), plan.alarm
    (0.05, 'nothing is certain before every arm has 10 trials')
    """
    carry = balance(evidence, known) - (0.0 if start is None else balance(start))
    new = _lacking(evidence, newcomers)
    if new.any() and not new.all():
        rest = [m if not lacks else Moments(m.size) for m, lacks in zip(evidence.moments, new, strict=True)]
        if not _starting(evidence, ~new).any():
            return _joined(evidence, Evidence(evidence.problem, rest), new, traffic, expected, carry)
    program = program_of(evidence)
    starting = _starting(evidence)
    if starting.all() or not program.judgeable:
        weights = _first(evidence, traffic, starting)
        return _told(evidence, traffic, weights, _served_first(evidence, traffic), traffic.share, carry, True)
    found = _decide(evidence, program, traffic, expected, carry, starting, noisy_program.solve(program))
    weights, alone = found.traffic, found.alone
    if starting.any():
        some = starting[program.segment]
        weights = np.where(some, _first(evidence, traffic, starting), weights)
        alone = np.where(some, _served_first(evidence, traffic), alone)
    return _told(evidence, traffic, weights, alone, found.explore, carry, bool(starting.any()), found.certain)


class Decision(NamedTuple):
    """What all columns get of the traffic (n,), and what they would get if nothing explored; shares of all users."""

    traffic: Floats
    alone: Floats
    explore: float
    certain: bool


def _decide(
    evidence: Evidence,
    program: NoisyProgram,
    traffic: Traffic,
    expected: int,
    carry: Floats,
    starting: Flags,
    best: Optimum,
) -> Decision:
    """Serve and explore as much as keeps the limits and is worth it; the most certain mix alone, where nothing does."""
    (inner, some), chance = restricted(program), best.chance
    total, none = np.zeros(len(program.segment)), np.zeros(len(some.columns))
    allowance, alone = none, None
    for allowance in _allowances(inner, traffic, carry, expected):
        alone = served_mix(inner, none, 0.0, allowance, chance, traffic.safety)
        if alone is not None:
            break
    if alone is None:
        total[some.columns] = safe_program_mix(program, chance, traffic.safety).mixture[some.columns]
        return Decision(total, total, 0.0, False)
    total[some.columns] = alone
    plan = exploration(evidence, program, total, traffic.share, expected, starting)[some.columns]
    explore, reward = traffic.share, inner.entries()[0]
    gain = regret_bound(inner, alone, regret_tail(DOUBT, chance), best.prices) if explore else 0.0
    for _ in range(HALVINGS if explore else 0):
        mix = served_mix(inner, plan, explore, allowance, chance, traffic.safety)
        mixed = None if mix is None else (1.0 - explore) * mix + explore * plan
        if mixed is not None and (alone - mixed) @ reward <= WORTH * gain:
            every = np.zeros(len(total))
            every[some.columns] = mixed
            return Decision(every, total, explore, True)
        explore /= 2.0
    return Decision(total, total, 0.0, True)


def _joined(evidence: Evidence, rest: Evidence, new: Flags, traffic: Traffic, expected: int, carry: Floats) -> Plan:
    """A round in which arms that are new get their first trials, and the others are served without them."""
    program, at, size = program_of(rest), places(evidence.problem), len(segments_of(evidence.problem))
    best, none = noisy_program.solve(restricted(program)[0]), np.zeros(size, dtype=np.bool_)
    alone = _decide(rest, program, replace(traffic, explore=0.0), expected, carry, none, best)
    lacking = np.r_[np.where(new, FIRST - evidence.counts, 0.0), np.zeros(len(at) - len(new))][at]
    total = np.bincount(program.segment, lacking, size)
    inside = np.where(total > 0, program.weight / np.where(total > 0, total, 1.0), 0.0)[program.segment] * lacking
    explored = np.where(total[program.segment] > 0, inside, alone.traffic)
    weights = (1.0 - traffic.share) * alone.traffic + traffic.share * explored
    empty = (np.bincount(program.segment, alone.traffic, size) <= 0) & (program.weight > 0)  # all of its arms are new
    first, before = _first(evidence, traffic, empty), _served_first(evidence, traffic)
    weights = np.where(empty[program.segment], first, weights)
    served = np.where(empty[program.segment], before, alone.traffic)
    plan = _told(evidence, traffic, weights, served, traffic.share, carry, bool(empty.any()), alone.certain)
    if not traffic.share:
        return plan
    arms = list(dict.fromkeys(cell.arm for cell, lacks in zip(evidence.problem.cells, new, strict=True) if lacks))
    alarm = f"nothing is certain of {', '.join(arms)} before {FIRST} trials of each"
    requests = min(traffic.requests, int(np.ceil(FIRST * int(new.sum()) / traffic.share)))
    return plan._replace(requests=requests, certified=False, alarm=alarm)


def _lacking(evidence: Evidence, arms: Collection[str]) -> Flags:
    """What can be tried of some arms and has too few trials."""
    return np.array([c.arm in arms for c in evidence.problem.cells], dtype=np.bool_) & (evidence.counts < FIRST)


def _allowances(program: NoisyProgram, traffic: Traffic, carry: Floats, expected: int) -> list[Floats]:
    """What a request of the round may add to its limits: with the debt, and where no mix can pay that, without."""
    own = np.where(carry < 0, carry / REPAY, carry if traffic.carry else 0.0) / max(expected, 1)
    own = np.where(ProgramLimits(program).noisy, own, 0.0)
    return [own, np.maximum(own, 0.0)] if (own < 0).any() else [own]


def exploration(
    evidence: Evidence, program: NoisyProgram, served: Floats, explore: float, expected: int, starting: Flags
) -> Floats:
    """Challenger's plan for the exploring share, as shares of all users (n,); where nothing is in doubt it is served.

    ``served`` (n,) is about to add its requests to the evidence.
    """
    size, shares = round(explore * expected), program.weight
    if not size:
        return served
    room = np.where(starting, 0, np.ceil(shares * size).astype(np.int64))
    ahead = np.where(np.isfinite(program.data.counts), (1.0 - explore) * expected * served, 0.0)
    trials = program_rounds.plan_ahead(evidence, ahead, size, room).astype(np.float64)
    given = np.bincount(program.segment, trials, len(shares))
    share = np.where(room > 0, given / np.maximum(room, 1), 0.0)  # of a segment's exploring requests that are planned
    inside = np.where(given > 0, shares / np.where(given > 0, given, 1.0), 0.0)[program.segment] * trials
    return np.asarray(share[program.segment] * inside + (1.0 - share[program.segment]) * served)


def balance(evidence: Evidence, known: Sequence[Moments] = ()) -> Floats:
    """What the trials so far have left of each limit (L,), for all of them together; below zero what they lack.

    >>> problem = Problem(["small", "large"], {"dollars": 1.0})
    >>> trials = np.array([[1.0, 0.1], [0.0, 0.1]])
    >>> balance(Evidence(problem, [Moments(2).plus(trials), Moments(2).plus(10 * trials[:1])]))
    array([1.8])
    """
    program, at = program_of(evidence), places(evidence.problem)
    given = [m.count for m in known] or [0] * (len(at) - len(evidence.moments))
    trials = np.r_[evidence.counts.astype(np.float64), np.array(given, dtype=np.float64)][at]
    rows = np.nan_to_num(program.entries()[1])
    return np.asarray(trials @ (program.layout.right - rows) * ~program.layout.equality)


def _starting(evidence: Evidence, some: Flags | bool = True) -> Flags:
    """Segments in which some arm, of those that are meant, has too few trials (S,)."""
    problem = evidence.problem
    if not problem.cells:
        return np.zeros(max(len(problem.segments), 1), dtype=np.bool_)
    few = (evidence.counts < FIRST) & some
    return np.asarray(few.reshape(max(len(problem.segments), 1), -1).any(axis=1))


def _served_first(evidence: Evidence, traffic: Traffic) -> Floats:
    """What is served before anything is known, as shares of all users (n,)."""
    problem, shares = evidence.problem, traffic.still_served(evidence.problem)
    cells, weight = [*problem.cells, *problem.known_cells], segment_shares(evidence)[0]
    groups = segments_of(problem)
    return np.array([shares[cells[at].arm] * weight[groups.index(cells[at].segment)] for at in places(problem)])


def _first(evidence: Evidence, traffic: Traffic, starting: Flags) -> Floats:
    """Weights of all columns where every arm needs its first trials (n,): those that lack the most explore the most."""
    at = places(evidence.problem)
    lacking = np.maximum(FIRST - np.r_[evidence.counts, np.full(len(at) - len(evidence.counts), FIRST)], 0.0)[at]
    weight, segment = segment_shares(evidence)[0], np.repeat(np.arange(len(starting)), len(at) // len(starting))
    total = np.bincount(segment, lacking, len(starting))
    inside = np.where(total > 0, weight / np.where(total > 0, total, 1.0), 0.0)[segment] * lacking
    served = _served_first(evidence, traffic)
    if traffic.serve is None:
        return served
    return np.where(total[segment] > 0, (1.0 - traffic.share) * served + traffic.share * inside, served)


def _told(
    evidence: Evidence,
    traffic: Traffic,
    weights: Floats,
    alone: Floats,
    explore: float,
    carry: Floats,
    starting: bool,
    certain: bool = False,
) -> Plan:
    problem = evidence.problem
    alarm = ""
    if starting:
        alarm = f"nothing is certain before every arm has {FIRST} trials"
    elif not certain:
        wanted = level_text(traffic.safety)
        alarm = f"no mix keeps all limits with a certainty of {wanted}: the most certain one is served"
    requests = traffic.requests
    if starting and traffic.share:
        lacking = FIRST * len(problem.cells)
        requests = min(requests, int(np.ceil(lacking / (1.0 if traffic.serve is None else traffic.share))))
    return Plan(
        _by_segment(evidence, weights),
        _by_segment(evidence, alone),
        explore,
        requests,
        certain and not starting,
        alarm,
        dict(zip(problem.costs, map(float, carry), strict=True)),
    )


def _by_segment(evidence: Evidence, weights: Floats) -> dict[str, dict[str, float]]:
    """Shares of the arms in each segment; without segments, in one of no name."""
    problem = evidence.problem
    cells = [*problem.cells, *problem.known_cells]
    result: dict[str, dict[str, float]] = {segment or "": {} for segment in segments_of(problem)}
    for place, weight in zip(places(problem), weights.tolist(), strict=True):
        result[cells[place].segment or ""][cells[place].arm] = weight
    for segment, shares in result.items():
        total = sum(shares.values())
        result[segment] = {arm: share / total for arm, share in shares.items() if share > 0.0}
    return result


def parse_share(text: Any) -> float:
    """A share as a number or as a percentage.

    >>> parse_share("5%"), parse_share(0.05)
    (0.05, 0.05)
    """
    if isinstance(text, str):
        try:
            return float(text.strip().removesuffix("%")) / (100.0 if text.strip().endswith("%") else 1.0)
        except ValueError:
            raise checks.InvalidInput(
                "explore", expected="a share such as 5%", got=checks.shown(text), remedy="write 5% or 0.05"
            ) from None
    return checks.number("explore", text)
