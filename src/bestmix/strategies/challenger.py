"""Challenger: spend the trials on whatever could still overturn the current answer.

With a fixed budget it decides in rounds; with a confidence it stops when the answer is sure enough, and with a
tolerance when it is good enough. Nothing about these is proven, what is claimed was measured by simulation; but with
``proven`` the last two are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers import certainty
from bestmix.answers.evidence import Evidence
from bestmix.answers.linear_fit import LinearFit
from bestmix.answers.recommendation import Recommendation
from bestmix.answers.safety import Estimates
from bestmix.arrays import Floats, Integers
from bestmix.kernels import allocation, chunks, conditions, jit, lane_runs, replicate, sampling, segment_runs, stopping
from bestmix.kernels.lanes import LANES
from bestmix.problems.instance import Instance
from bestmix.problems.problem import Problem
from bestmix.problems.segment_instance import SegmentInstance
from bestmix.problems.solution import check_settled, solve_means
from bestmix.problems.spend import Spend
from bestmix.strategies import fitted_rounds, tolerance_stop, tolerance_stop_program
from bestmix.strategies.challenger_rounds import Lot, MoneyLot, TrialLot, labels
from bestmix.strategies.protocol import MOST_TRIALS, UNDER_WAY, Memory, arriving, check_budget, check_plain
from bestmix.strategies.proven import scales as proven_scales
from bestmix.strategies.proven import support as proven_support
from bestmix.strategies.proven import tolerance as proven_tolerance
from bestmix.strategies.purse import LEAST, Purse, at_least_one, first_round
from bestmix.strategies.ranges import check_ranges, check_within, least_scatter
from bestmix.strategies.replication import Replication, bind, bind_segments
from bestmix.strategies.search import Search

ROUNDS = 30  # after the first one
NEWEST = 2  # edition
# Of a run that ends when the support is sure; with segments nothing was gained by it.
SURE: dict[str, Any] = {
    "reserve": conditions.Reserve(share=0.0),
    "growth": 0.05,
    "margin": 1.0,
    "single": 0.3,
    "early": 2.0,
    "weak": True,
    "events": True,
}
PROVEN = SURE | {"growth": 0.025, "events": False}  # and of one that ends with a proof of it
RESERVE = conditions.Reserve(floor=0.1, doubt=3.0)  # where the budget is fixed
CHUNK_STEPS = 3  # of an innermost loop that a chunk of a round takes for each entry of the program, about
LEAST_DELTA = 1e-200  # parts of a smaller one are no numbers
CLEAR_Z = 2.5  # z-score of every condition, from which on trials may go to the margin
NEWER = (
    "tolerance",
    "proven",
    "sigma",
    "ranges",
    "margin_share",
    "ahead",
    "edition",
)  # options that saved searches of 0.1 do not have


@dataclass(frozen=True)
class Challenger:
    """Pull the arms that most reduce the chance that the current answer is wrong.

    The best mix of the estimates stays the best as long as each of its weights is positive and no other
    column has a positive reduced cost: K + L conditions. Every round gives its trials, a chunk at a time,
    to the arm whose trials most reduce the chance that one of them fails, with the arms' variances and
    correlations as estimated. All arms stay in the running, so no early bad luck is final. While it is in
    doubt whether any mix keeps the bounds, most trials go to that question first.

    Parameters
    ----------
    confidence
        Stop as soon as the answer is right with about this probability, such as 0.95; the budget is then
        only a cap, and may be left out. None spends the whole budget.
    delta
        The same as ``confidence = 1 - delta``.
    tolerance
        With a confidence: stop as soon as a mix is good enough, not only when the best one is known. With that
        confidence it then keeps all limits, and no mix that keeps them earns more by the tolerance: an amount of
        reward, or a text such as ``"1%"`` of what the mix earns. The mix to deploy is the safe one of that moment.
    proven
        With a confidence: stop by a theorem that holds for all arms at all times, instead of by measured chances;
        with a tolerance too, or for the exact support. It takes more trials, and needs ``sigma`` or ``ranges``.
    sigma
        For ``proven``: scale of the sub-Gaussian noise, a number for all metrics or one for each by name; for Gaussian
        noise its standard deviation. Without a tolerance the metrics of a trial must be independent, or Gaussian
        without correlation. A name is that of a metric, ``"reward"`` for the goal, or the text of a limit, whose bound
        may change later. A tail such as ``p(seconds > 2)`` is 0 or 1, so that its scale is one half if none is given.
        A metric with the scale 0 has the same value in all trials of an arm, and another one is refused.
    ranges
        The lowest and the highest value of metrics by name, such as ``{"reward": (0, 500)}``; a trial outside is
        refused. An arm whose trials were all alike in such a metric then does not count as known: its mean may still be
        off by about the width of the range over the number of trials. For what is rare and large. With ``proven``
        every metric needs a range, instead of ``sigma``, and its noise has half the width as its scale; names are as
        for ``sigma``, and tails need none.
    heuristic_stop
        Stop as soon as the estimated chance of a wrong support is at most this, such as 0.05, without the margin
        and the exact check that ``confidence`` has. A heuristic: its errors can be more frequent than it says.
    rounds
        Rounds after the first one, when there is a fixed budget; by default 30, and more with more than 60 arms.
    first_share
        Share of a fixed budget that the first round spreads evenly over the arms.
    margin_share
        Share of a fixed budget, the last of it, that goes to narrowing the margin which the safe mix keeps from its
        limits, as soon as the support is clear (every z-score above 2.5), such as 0.3. The mix to deploy then loses
        less. None spends all trials on the support.
    ahead
        In experiments with a fixed budget whose trials are chosen: plan the next round when all but the last so many
        slots of the plan are told, from exactly those, with the others counted as under way, so that no worker waits
        for the slowest trial of a round. 0 waits for all. By default a tenth of a new experiment's budget, at most 32.
        Where the budget is money it needs to be given, and the budget to be hard: slots under way count as what they
        reserve. A soft one waits for all, since what is under way has no price yet that could be reserved.
    edition
        Of the rules: 2, the newest, needs the fewest trials; 1 has those of version 0.1, by which its experiments go
        on. They differ where all of a budget is spent, and where a confidence ends a run on the exact support.

    Examples
    --------
    >>> from bestmix import Instance, identify
    >>> inst = Instance(reward=[1.7, 2.6, 0.5], cost=[[0.0, 1.8, 0.8]], bound=[1.0],
    ...                 sigma_reward=0.5, sigma_cost=0.5)
    >>> said = identify(inst.problem, inst.sampler(seed=1), strategy=Challenger(confidence=0.95))
    >>> said.support, said.trials < 2000
    (('arm0', 'arm1'), True)
    """

    confidence: float | None = None
    delta: float | None = None
    heuristic_stop: float | None = None
    rounds: int | None = None
    first_share: float = 0.1
    tolerance: float | str | None = None
    proven: bool = False
    sigma: float | Mapping[str, float] | None = None
    ranges: Mapping[str, tuple[float, float]] | None = None
    margin_share: float | None = None
    ahead: int | None = None
    edition: int = NEWEST

    def __post_init__(self) -> None:
        for name in ("confidence", "delta", "heuristic_stop"):
            value = getattr(self, name)
            if value is not None and not 0 < checks.number(name, value) < 1:
                raise checks.InvalidInput(
                    name, expected="a number between 0 and 1", got=value, remedy="leave it out for none"
                )
        if self.delta is not None and self.delta < LEAST_DELTA:
            expected = f"a chance of at least {LEAST_DELTA:g}"
            raise checks.InvalidInput("delta", expected=expected, got=self.delta, remedy="try 0.05")
        if self.confidence is not None and self.delta is not None:
            raise ValueError(
                f"confidence and delta: expected one of them, got {self.confidence} and {self.delta}; "
                "delta is one minus the confidence"
            )
        self._check_scales()
        self._check_tolerance()
        self._check_margin_share()
        if self.ahead is not None:
            checks.whole("ahead", self.ahead, 0, "give the number of slots that a decision does not wait for")
        if isinstance(self.edition, bool) or not isinstance(self.edition, int) or self.edition not in (1, NEWEST):
            got = checks.shown(self.edition)
            raise checks.InvalidInput("edition", expected="1 or 2", got=got, remedy="leave it out for the newest")
        if self.rounds is not None:
            checks.whole("rounds", self.rounds, 1, "give the number of rounds after the first one")
        if not 0 < checks.number("first_share", self.first_share) < 1:
            raise checks.InvalidInput(
                "first_share", expected="a number between 0 and 1", got=self.first_share, remedy="try 0.1"
            )

    def _check_margin_share(self) -> None:
        if self.margin_share is None:
            return
        if not 0 < checks.number("margin_share", self.margin_share) < 1 or self._delta or self.heuristic_stop:
            raise checks.InvalidInput(
                "margin_share",
                expected="a share between 0 and 1 of a fixed budget",
                got=f"{checks.shown(self.margin_share)}, confidence {self.confidence or self.delta}",
                remedy="try 0.3, without a rule that stops the run",
            )

    def _check_scales(self) -> None:
        if not isinstance(self.proven, bool):
            got = checks.shown(self.proven)
            raise checks.InvalidInput("proven", expected="True or False", got=got, remedy="leave it out for False")
        if self.sigma is not None:
            proven_scales.check_sigma(self.sigma)
        if self.ranges is not None:
            check_ranges(self.ranges)

    def _check_tolerance(self) -> None:
        if self.proven and (not self._delta or self.heuristic_stop or (self.sigma is None) == (self.ranges is None)):
            raise checks.InvalidInput(
                "proven",
                expected="a confidence, and either sigma or ranges, with it",
                got=f"confidence {self.confidence}, sigma {self.sigma} and ranges {self.ranges}",
                remedy="the proof needs the scale of the noise: try ranges={'reward': (0, 1), ...}",
            )
        if self.sigma is not None and not self.proven:
            raise checks.InvalidInput("sigma", "the scale of the noise is only used with proven=True", "leave it out")
        if self.tolerance is None:
            return
        tolerance_stop.parse_tolerance(self.tolerance)
        if not self._delta or self.heuristic_stop is not None:
            raise checks.InvalidInput(
                "tolerance",
                expected="a confidence with it, and no heuristic_stop",
                got=f"confidence {self.confidence} and heuristic_stop {self.heuristic_stop}",
                remedy="try confidence=0.95",
            )

    @property
    def decides_from_counts(self) -> bool:
        """Trials that were made before the run count in full."""
        return True

    @property
    def name(self) -> str:
        """Challenger, with how it stops."""
        how = []
        if self._delta:
            sure, within = f"{1 - self._delta:g}", [] if self.tolerance is None else [f"within {self.tolerance}"]
            how = [f"delta {self._delta:g}" if sure == "1" else sure, *within]
        elif self.margin_share:
            how = [f"{self.margin_share:.0%} margin"]
        elif self.heuristic_stop:
            how = [f"stop {self.heuristic_stop:g}"]
        if self.proven or self.ranges is not None:
            how.append("proven" if self.proven else "ranges")
        return f"Challenger[{', '.join(how)}]" if how else "Challenger"

    @property
    def _delta(self) -> float:
        if self.confidence is not None:
            return 1 - self.confidence
        return self.delta or 0.0

    def _settings(self, problem: Problem) -> conditions.Settings:
        unknown = len(problem.cells) if problem.design is None else problem.design.shape[1]
        rounds = max(ROUNDS, unknown // 2) if self.rounds is None else int(self.rounds)
        return conditions.Settings(
            float(self.first_share),
            rounds,
            float(self._delta),
            float(self.heuristic_stop or 0.0),
            **(self._rule if problem.plain or problem.features else {}),
        )

    @property
    def _rule(self) -> dict[str, Any]:
        """Settings that 0.1 did not have."""
        if self.proven and self._until_sure:
            return PROVEN
        if self.edition == 1:
            return {}
        if self._until_sure:
            return SURE
        return {"reserve": RESERVE} if self._fixed else {}

    @property
    def _fixed(self) -> bool:
        """Whether it spends all of its budget."""
        return not self._delta and not self.heuristic_stop

    @property
    def _until_sure(self) -> bool:
        """Whether it stops when the support is sure."""
        return self._delta > 0.0 and self.tolerance is None

    def least_scatter(self, problem: Problem) -> Floats | None:
        """Scatter of each measure (M,) of trials that were all alike; None where they count as they are."""
        return None if self.ranges is None or self.proven else least_scatter(problem, self.ranges)

    def check_problem(self, problem: Problem) -> None:
        """Refuse one whose noise is not known by the given scales or ranges, where it has to be."""
        if self.proven:
            check_plain("Challenger with proven", problem, "leave out proven: Challenger(confidence=0.95)")
            proven_tolerance.check_rows(problem)
            proven_scales.scales(problem, self.sigma, self.ranges)
        self.least_scatter(problem)

    def start(
        self, problem: Problem, budget: int | Spend | None = None, items: Any = None, shared: bool = True
    ) -> Search:
        """Begin a run; the budget may only be left out if the run stops by itself."""
        if budget is None and self._fixed:
            raise checks.InvalidInput(
                "budget", "expected the number of trials, or an amount", "it may only be left out with a confidence"
            )
        return Search(self, problem, MOST_TRIALS if budget is None else budget, items, shared)

    def begin(self, problem: Problem, budget: int) -> Memory:
        """The first round is the same for every arm."""
        unknown = len(problem.cells)
        check_budget(problem, budget, least=unknown)
        self.check_problem(problem)
        first = allocation.first_pulls(budget, unknown, self._settings(problem))
        if problem.design is not None and not self._fixed:  # as many trials as arms without features would have
            first = min(first, max(allocation.LEAST, -(-allocation.FIRST * problem.design.shape[1] // unknown)))
        return {"quota": [first] * unknown if unknown else None, "basis": [], "reasons": {}}

    def quota(self, problem: Problem, budget: int, memory: Memory) -> Integers | None:
        """What the last decision gave each arm."""
        return None if memory["quota"] is None else np.array(memory["quota"], dtype=np.int64)

    def close(self, evidence: Evidence, budget: int, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
        """Find the conditions in doubt and decide on the next round's trials."""
        unknown = len(evidence.counts)
        made = int(evidence.counts.sum()) + sum(memory.get(UNDER_WAY, ()))
        size = allocation.round_size(budget, unknown, made, self._settings(evidence.problem))
        return self._close(evidence, memory, TrialLot(size, made, budget))

    def begin_paid(self, problem: Problem, purse: Purse) -> Memory:
        """The first share of the money; the dearer an arm, the fewer trials."""
        self.begin(problem, MOST_TRIALS)
        first = first_round(purse, self.first_share).tolist() if problem.cells else None
        return {"quota": first, "basis": [], "reasons": {}, "filling": purse.learnt}

    def close_paid(self, evidence: Evidence, purse: Purse, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
        """The same with money: what a trial helps is divided by its price, and rounds are shares of the money."""
        untried = (purse.counts == 0) & purse.affordable()  # their slots could not be paid for then
        first = first_round(purse, self.first_share) if memory["filling"] else at_least_one(purse, LEAST * untried)
        if first.any():  # prices are learnt while the first share is spent
            again = bool((first >= purse.room()).any())
            return memory | {"quota": first.tolist(), "reasons": {}, "filling": again}, {}
        began = memory.get("began", purse.committed)
        settings = self._settings(evidence.problem)
        share = (purse.amount - began) / settings.rounds
        if allocation.stops_itself(settings):
            share = max(settings.growth * purse.spent, float(purse.price.sum()))
        closed, told = self._close(evidence, memory, MoneyLot(purse, max(share, float(purse.price.min()))))
        return closed | {"filling": False, "began": began}, told

    def _close(self, evidence: Evidence, memory: Memory, lot: Lot) -> tuple[Memory, Mapping[str, Any]]:
        evidence = replace(evidence, least=self.least_scatter(evidence.problem))
        if evidence.fit is not None:
            return self._close_fitted(evidence, evidence.fit, memory, lot)
        if lot.empty and not evidence.counts.all():  # arms came, with nothing left to try them
            over: Memory = {"quota": None, "basis": [], "reasons": {}}
            if self.tolerance is not None:
                none = tolerance_stop.Verdict(np.zeros(len(evidence.problem.names)), np.inf, 0.0, certified=False)
                over["certificate"] = none.to_dict()
            return over, {"reasons": memory["reasons"]}
        if not evidence.problem.plain:
            return self._close_program(evidence, memory, lot)
        speed = _speed(evidence)
        settings = self._settings(evidence.problem)
        state = _state(speed, evidence, memory, settings.events)
        told: dict[str, Any] = {
            "scores": {
                name: float(z)
                for name, z in zip(labels(evidence.problem), speed(conditions.z_scores)(state), strict=True)
                if abs(z) < np.inf
            },
            "reasons": memory["reasons"],
        }
        closed: Memory = {"quota": None, "basis": [int(j) for j in state.basis.column], "reasons": {}}
        if self.tolerance is not None and (self.proven or not _says_infeasible(state)):
            return self._good_enough(evidence, state, lot, memory, closed), told
        if self.proven:
            found = self._look(evidence, memory)
            closed |= {} if found.naming is None else {"naming": found.naming.to_dict()}
            if found.certain:
                return closed, told
            found.aim(state)
            lot = lot.part(found.part(settings.growth))
        elif speed(stopping.stops)(settings, state, evidence.problem.bound):
            return closed, told
        if lot.empty:
            return closed, told
        gains = None
        if self._narrows(lot, float(speed(conditions.z_scores)(state).min())):
            gains = tolerance_stop.margin_gains(evidence.estimates, evidence.problem.bound, len(evidence.counts))
        state.counts[:] += np.array(memory.get(UNDER_WAY, 0))  # they count for what is planned, not for what is known
        if gains:
            return closed | lot.plan(evidence, gains), told
        return closed | lot.settle(speed, evidence.problem, state, settings.reserve), told

    def _look(self, evidence: Evidence, memory: Memory) -> proven_support.Look:
        """What the trials since a basis was named have proven of it."""
        scale = proven_scales.joint_scales(evidence.problem, self.sigma, self.ranges)
        return proven_support.look(evidence, scale, self._delta, _naming(memory))

    def _narrows(self, lot: Lot, least: float) -> bool:
        """Whether it is time for the margin of the safe mix: late, and the support is clear by the least z-score."""
        return self.margin_share is not None and lot.late(self.margin_share) and least >= CLEAR_Z

    def _close_fitted(
        self, evidence: Evidence, fit: LinearFit, memory: Memory, lot: Lot
    ) -> tuple[Memory, Mapping[str, Any]]:
        """The same where arms have features."""
        settings, seen = self._settings(evidence.problem), fitted_rounds.look(evidence, fit, memory)
        named = zip(labels(evidence.problem), seen.z, strict=True)
        told = {"scores": {name: float(z) for name, z in named if abs(z) < np.inf}, "reasons": memory["reasons"]}
        closed: Memory = {"quota": None, "basis": [int(j) for j in seen.state.basis.column], "reasons": {}}
        closed["fitted"] = True
        under_way, gains = memory.get(UNDER_WAY, ()), None
        if self.tolerance is not None and not _says_infeasible(seen.state):
            chance = _chance(evidence)
            verdict = self._verdict(evidence, evidence.estimates, chance)
            closed["certificate"] = None if verdict is None else verdict.to_dict()
            if verdict is None or verdict.enough:
                return closed, told
            closed["narrows"] = not memory.get("narrows")
            if closed["narrows"]:
                gains = fitted_rounds.regret_gains(seen, chance, self._delta)
        elif fitted_rounds.stops(settings, seen):
            return closed, told
        if lot.empty:
            return closed, told
        if self._narrows(lot, seen.least):
            gains = fitted_rounds.margin_gains(seen)
        gains = fitted_rounds.condition_gains(seen, settings.reserve) if gains is None else gains
        return closed | lot.spend(evidence, gains, under_way), told

    def _close_program(self, evidence: Evidence, memory: Memory, lot: Lot) -> tuple[Memory, Mapping[str, Any]]:
        """The same for segments, limits on shares, relative limits and partly known arms."""
        settings, flow = self._settings(evidence.problem), arriving(evidence.problem, memory)
        verdict = None
        if self.tolerance is not None:
            tolerance = tolerance_stop.parse_tolerance(self.tolerance)
            verdict = tolerance_stop_program.judge(evidence, self._delta, tolerance)
        stop = settings if verdict is None else settings._replace(delta=0.0, tail=0.0)
        found = lot.decide(evidence, stop, flow, memory.get(UNDER_WAY, ()))
        closed: Memory = {"quota": None if found.over else found.quota, "basis": [], "reasons": found.reasons}
        if verdict is not None:
            closed |= self._good_enough_program(evidence, lot, memory, verdict, flow)
        elif not found.over and self._narrows(lot, found.least):
            gains = tolerance_stop_program.margin_gains(evidence, _users(lot, flow))
            closed |= lot.plan(evidence, gains) if gains else {}
        closed |= {"arriving": True} if memory.get("arriving") else {}
        return closed, {"scores": found.scores, "reasons": memory["reasons"]}

    def _good_enough_program(
        self, evidence: Evidence, lot: Lot, memory: Memory, verdict: tolerance_stop.Verdict, flow: bool
    ) -> Memory:
        """What a tolerance changes in the memory after a round; the rounds alternate between the two allocations."""
        told: Memory = {"certificate": verdict.to_dict()}
        if lot.empty or verdict.enough:
            return told | {"quota": None, "reasons": {}}
        if memory.get("narrows"):
            return told | {"narrows": False}
        gains = tolerance_stop_program.regret_gains(evidence, self._delta, _users(lot, flow))
        return told | {"narrows": True} | lot.plan(evidence, gains)

    def _good_enough(
        self, evidence: Evidence, state: conditions.State, lot: Lot, memory: Memory, closed: Memory
    ) -> Memory:
        """Memory after a round of a run with a tolerance; the rounds alternate between the two allocations."""
        problem, data, chance = evidence.problem, evidence.estimates, _chance(evidence)
        verdict = self._verdict(evidence, data, chance)
        closed["certificate"] = None if verdict is None else verdict.to_dict()
        if lot.empty or verdict is None or verdict.enough:
            return closed
        if not memory.get("narrows") and not _says_infeasible(state):
            gains = tolerance_stop.regret_gains(data, problem.bound, chance, self._delta, by_basis=not self.proven)
            return closed | {"narrows": True} | lot.plan(evidence, gains)
        return (
            closed | {"narrows": False} | lot.settle(_speed(evidence), problem, state, self._settings(problem).reserve)
        )

    def _verdict(self, evidence: Evidence, data: Estimates, chance: float) -> tolerance_stop.Verdict | None:
        """What is certain; None when it is proven that no mix keeps the limits."""
        problem, tolerance = evidence.problem, tolerance_stop.parse_tolerance(self.tolerance or 0.0)
        if not self.proven:
            verdict = tolerance_stop.judge(data, problem.bound, chance, self._delta, tolerance)
            return verdict._replace(certified=False) if evidence.vanishing.any() else verdict
        scales = proven_scales.scales(problem, self.sigma, self.ranges)
        return proven_tolerance.judge(evidence, scales, self._delta, tolerance)

    def look_ahead(self, problem: Problem) -> int:
        """Slots that a decision does not wait for, where it can do without.

        >>> problem = Problem(["a", "b"])
        >>> Challenger(ahead=8).look_ahead(problem), Challenger(0.95, ahead=8).look_ahead(problem)
        (8, 0)
        """
        fixed = self._fixed and self.margin_share is None
        return self.ahead or 0 if fixed and None not in problem.segments.values() else 0

    def check_trials(self, problem: Problem, rows: Floats) -> None:
        """Refuse values outside of the given ranges."""
        if self.ranges is not None:
            ranges = proven_scales.metric_ranges(problem, self.ranges) if self.proven else self.ranges
            what = "what is proven rests" if self.proven else "decisions rest"
            check_within(problem.metrics, ranges, rows, f"{what} on the range: start anew with a wider one")

    def exact_measures(self, problem: Problem) -> list[int]:
        """Places of the measures whose noise has the scale 0."""
        given = self.sigma.values() if isinstance(self.sigma, Mapping) else [self.sigma]
        if self.sigma is None or all(given):
            return []
        scale = proven_scales.scales(problem, self.sigma, self.ranges)
        return [int(place) for place in np.flatnonzero(scale == 0)]  # each row is of the measure in its place

    def mixture(self, problem: Problem, memory: Memory) -> Floats | None:
        """The mix to deploy after a stop that was for it (K,), because it is good enough; else None.

        >>> Challenger().mixture(Problem(["a", "b"]), {"quota": None}) is None
        True
        """
        certificate = memory.get("certificate")
        return None if certificate is None or not certificate["enough"] else np.array(certificate["mixture"])

    def stopped_for(self, memory: Memory, feasible: bool, mix: str = "the mix") -> str:
        """What it was certain of when it ended; no text where it has no rule to stop by.

        ``mix`` is what to call the one that it has certified.

        >>> Challenger(0.95).stopped_for({}, feasible=True), Challenger().stopped_for({}, feasible=True)
        ('with 95% certainty these are the arms of the best mix', '')
        >>> Challenger(delta=1e-7).stopped_for({}, feasible=True)
        'with a chance of error of 1e-07 these are the arms of the best mix'
        """
        risk = self._delta or self.heuristic_stop or 1.0
        percent = f"{100 * (1 - risk):g}%"
        level = f"with a chance of error of {risk:g}" if percent == "100%" else f"with {percent} certainty"
        if self.heuristic_stop:
            level += ", by the heuristic rule,"
        if memory.get("fitted"):
            level = f"if the arms are linear in their features, {level}"
        if self._fixed:
            return ""
        if not feasible:
            return f"{level} no mix keeps all limits"
        if self.tolerance is None:
            return f"{level} these are the arms of the best mix"
        enough = (memory.get("certificate") or {}).get("enough")
        return f"{level} {mix} keeps all limits and is within {self.tolerance} of the best one" if enough else ""

    def objection(self, rec: Recommendation) -> str:
        """What the trials of an answer say against what was assumed; no text where they do not."""
        return "" if self.sigma is None else proven_scales.refuted(rec.problem, self.sigma, rec.told or ())

    def extended(self, problem: Problem, old: int, new: int, memory: Memory) -> Memory:
        """Memory under a larger budget: the rounds to come grow, and a run that was over decides once more.

        >>> Challenger().extended(Problem(["a", "b"]), 40, 90, {"quota": None, "basis": [0], "reasons": {}})["quota"]
        [0, 0]
        """
        if memory["quota"] is not None or not problem.cells:
            return memory
        return memory | {"quota": [0] * len(problem.cells)}

    def carried(self, problem: Problem, memory: Memory) -> Memory:
        """The naming: its number whatever comes, and all of it where the question stays."""
        naming = _naming(memory)
        return {} if naming is None else {"naming": naming.carried(problem).to_dict()}

    def columns(self, problem: Problem, memory: Memory) -> Integers | None:
        """All of them."""
        return np.arange(len(problem.columns))

    def replicator(self, instance: Instance, budget: int) -> "WithoutChances | None":
        """Compiled runs."""
        run = self.with_chances(instance, budget)
        return None if run is None else WithoutChances(**vars(run))

    def with_chances(self, instance: Instance, budget: int) -> Replication | None:
        """``replicator`` with one more array (runs,): the estimated chances that the answers are right."""
        self.begin(instance.problem, budget)
        if self.tolerance is not None or self.margin_share is not None or self.proven:
            return None
        settings = self._settings(instance.problem)
        most = chunks.decisions(len(instance.problem.cells))
        kernel = lane_runs.challenger if self._fixed else replicate.challenger
        rounds = settings.rounds if self._fixed else None  # how many there are is not known if it stops by itself
        rule = budget, settings, self.least_scatter(instance.problem)
        run = bind(kernel, instance, *rule, rounds=rounds, steps=CHUNK_STEPS * most)
        if run is None:
            return None
        model, means, bound, unknown, *options = run.arguments
        make = lane_runs.new_group if self._fixed else replicate.challenger_space
        space = partial(make, model, means, bound, unknown, most)
        group = LANES if self._fixed else 1
        return replace(run, arguments=(model, means, bound, *options), space=space, group=group)

    def segment_replicator(self, instance: SegmentInstance, budget: int, way: int) -> Replication | None:
        """Compiled runs on problems of segments."""
        self.begin(instance.problem, budget)
        if self.tolerance is not None or self.margin_share is not None or self.ranges is not None:
            return None
        settings = self._settings(instance.problem)
        return bind_segments(segment_runs.challenger, instance, settings.rounds, budget, way, settings)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; options that 0.1 did not have only where they are used, so that its files mean the same."""
        data = {"kind": "Challenger", **{field.name: getattr(self, field.name) for field in fields(self)}}
        if isinstance(self.sigma, Mapping):
            data["sigma"] = dict(self.sigma)
        if self.ranges is not None:
            data["ranges"] = {name: list(ends) for name, ends in self.ranges.items()}
        if self.edition == 1:
            del data["edition"]
        return {key: value for key, value in data.items() if key not in NEWER or not (value is None or value is False)}


def _naming(memory: Memory) -> proven_support.Naming | None:
    """The basis that is being proven."""
    found = memory.get("naming")
    return None if found is None else proven_support.Naming.from_dict(found)


def _speed(evidence: Evidence) -> jit.Speed:
    """How to call the kernels of a decision: every chunk of a round looks at all conditions."""
    return jit.speed_for(chunks.decisions(len(evidence.counts)) * evidence.means.size)


def _state(speed: jit.Speed, evidence: Evidence, memory: Memory, events: bool = False) -> conditions.State:
    """The optimum at the estimates with its conditions, from the basis of the round before."""
    problem = evidence.problem
    state = conditions.new_state(len(evidence.counts), len(evidence.means), len(problem.bounds))
    state.counts[:] = evidence.counts
    state.scatter[:] = evidence.scatters
    if events:
        speed(sampling.raise_events)(state.counts, evidence.means, problem.bound, state.scatter)
    state.basis.column[: len(memory["basis"])] = memory["basis"]
    check_settled(speed(conditions.solve)(evidence.means, problem.bound, np.arange(len(problem.columns)), state))
    speed(conditions.pool)(state)
    speed(conditions.conditions)(state)
    return state


def _users(lot: Lot, arriving: bool) -> int | None:
    """Users of a round, where these arrive; else None."""
    return lot.size if arriving and isinstance(lot, TrialLot) else None


def _says_infeasible(state: conditions.State) -> bool:
    """Whether the elastic column is in the basis: no mix of the estimates keeps the bounds."""
    return bool((state.basis.column == len(state.gap) - 1).any())


def _chance(evidence: Evidence) -> float:
    """Estimated chance that the support of the optimum at the estimates is right; 0 where it cannot be said."""
    solution = solve_means(evidence.means, evidence.problem.bound)
    return certainty.support_probability(certainty.z_scores(evidence, solution, evidence.estimates)) or 0.0


class WithoutChances(Replication):
    """Runs of Challenger whose chances nobody wants."""

    def call(self, speed: jit.Speed, rng: np.random.Generator, *arrays: Any) -> None:
        """The last of the arrays would be for the chances."""
        super().call(speed, rng, *arrays, None)
