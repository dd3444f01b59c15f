"""What a round of Challenger is made of: a number of trials, or an amount of money."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from bestmix.answers.evidence import Evidence
from bestmix.answers.recommendation import ELASTIC
from bestmix.arrays import Floats
from bestmix.kernels import allocation, chunks, conditions, feasibility, jit
from bestmix.problems.problem import Problem
from bestmix.strategies import money, program_rounds, tolerance_stop
from bestmix.strategies.protocol import Memory
from bestmix.strategies.purse import Purse


class Lot(Protocol):
    """What the next round may spend."""

    @property
    def empty(self) -> bool:
        """Whether that is nothing."""

    def late(self, share: float) -> bool:
        """Whether the last such share of the budget has begun."""

    def part(self, share: float) -> "Lot":
        """Such a share of it, but something."""

    def settle(
        self, speed: jit.Speed, problem: Problem, state: conditions.State, reserve: conditions.Reserve
    ) -> Memory:
        """Trials for the conditions in doubt, with what they are for."""

    def plan(self, evidence: Evidence, gains: tolerance_stop.Gains) -> Memory:
        """Trials for whatever gains the most."""

    def spend(self, evidence: Evidence, gains: money.Gains, under_way: Sequence[int]) -> Memory:
        """Trials for whatever gains the most, where that depends on how much of the round is given.

        Trials of each arm may be under way.
        """

    def decide(
        self, evidence: Evidence, settings: conditions.Settings, arriving: bool, under_way: Sequence[int]
    ) -> program_rounds.Decision:
        """The same on a program with segments, or limits on shares; trials of each arm may be under way."""


@dataclass(frozen=True)
class TrialLot:
    """A number of trials, after so many of the budget."""

    size: int
    made: int
    budget: int

    @property
    def empty(self) -> bool:
        """Whether there are none."""
        return self.size <= 0

    def late(self, share: float) -> bool:
        """Whether the last such share of the trials has begun."""
        return self.made >= (1 - share) * self.budget

    def part(self, share: float) -> "TrialLot":
        """Such a share of the trials, at least one."""
        return replace(self, size=max(int(share * self.size), min(self.size, 1)))

    def settle(
        self, speed: jit.Speed, problem: Problem, state: conditions.State, reserve: conditions.Reserve
    ) -> Memory:
        """A chunk at a time."""
        unknown, label = len(state.counts), labels(problem)
        arm, reason = np.empty((2, chunks.decisions(unknown)), dtype=np.int64)
        owed, step = np.empty_like(state.counts), chunks.chunk_size(self.size, unknown)
        reasons: dict[str, dict[str, int]] = {}
        for k in range(speed(allocation.allocate)(state, self.size, reserve, arm, reason, owed)):
            spent = reasons.setdefault(label[arm[k]], {})
            spent[label[reason[k]]] = spent.get(label[reason[k]], 0) + min(step, self.size - k * step)
        return {"quota": owed.tolist(), "reasons": reasons}

    def plan(self, evidence: Evidence, gains: tolerance_stop.Gains) -> Memory:
        """A chunk at a time."""
        plan = tolerance_stop.plan_trials(gains, evidence.estimates.counts, self.size, len(evidence.counts))
        return {"quota": plan.trials.tolist(), "reasons": _named(evidence.problem, plan.reasons)}

    def spend(self, evidence: Evidence, gains: money.Gains, under_way: Sequence[int]) -> Memory:
        """A chunk at a time."""
        counts = np.maximum(evidence.counts + np.array(under_way or 0), 1).astype(np.float64)

        def now(trials: Floats) -> Floats:
            return gains(trials, float((trials - counts).sum()) / self.size)

        plan = tolerance_stop.plan_trials(now, counts, self.size, len(counts))
        return {"quota": plan.trials.tolist(), "reasons": _named(evidence.problem, plan.reasons)}

    def decide(
        self, evidence: Evidence, settings: conditions.Settings, arriving: bool, under_way: Sequence[int]
    ) -> program_rounds.Decision:
        """As the kernels do."""
        return program_rounds.decide(evidence, settings, self.size, arriving, under_way)


@dataclass(frozen=True)
class MoneyLot:
    """An amount of money, of a purse."""

    purse: Purse
    amount: float

    @property
    def empty(self) -> bool:
        """Whether nothing can be bought."""
        return not self.purse.affordable().any()

    def late(self, share: float) -> bool:
        """Whether the last such share of the money has begun."""
        return self.purse.spent >= (1 - share) * self.purse.amount

    def part(self, share: float) -> "MoneyLot":
        """Such a share of the money, at least a trial's worth."""
        return replace(self, amount=max(share * self.amount, float(self.purse.price.min())))

    def settle(
        self, speed: jit.Speed, problem: Problem, state: conditions.State, reserve: conditions.Reserve
    ) -> Memory:
        """What helps most for its price, a part of the money at a time; there is no floor."""
        plan = money.plan_round(money.condition_gains(doubts(speed, state), reserve), self.purse, self.amount)
        return {"quota": plan.trials.tolist(), "reasons": _named(problem, plan.reasons)}

    def plan(self, evidence: Evidence, gains: tolerance_stop.Gains) -> Memory:
        """What gains most for its price, a part of the money at a time."""
        known = np.full(len(evidence.means) - len(evidence.counts), np.inf)
        of_all = money.plain_gains(lambda trials: gains(np.r_[trials, known]))
        return self.spend(evidence, of_all, ())

    def spend(self, evidence: Evidence, gains: money.Gains, under_way: Sequence[int]) -> Memory:
        """What gains most for its price, a part of the money at a time; the purse knows what is under way."""
        plan = money.plan_round(gains, self.purse, self.amount)
        return {"quota": plan.trials.tolist(), "reasons": _named(evidence.problem, plan.reasons)}

    def decide(
        self, evidence: Evidence, settings: conditions.Settings, arriving: bool, under_way: Sequence[int]
    ) -> program_rounds.Decision:
        """What helps most for its price, a part of the money at a time; the purse knows what is under way."""
        return program_rounds.decide_paid(evidence, settings, self.purse, 0.0 if self.empty else self.amount)


def doubts(speed: jit.Speed, state: conditions.State) -> money.Doubts:
    """The conditions of a solved program, with their terms by arm."""
    unknown, basis = len(state.counts), state.basis.column
    terms = np.zeros((len(state.gap), unknown))
    terms[np.arange(unknown), np.arange(unknown)] = state.own[:unknown]
    for row, column in enumerate(basis.tolist()):
        if column < unknown:
            terms[:, column] += state.coefficient[row]
    safest, term = np.empty(len(basis), dtype=np.int64), np.empty(len(basis))
    feasible: Floats | None = None
    if speed(feasibility.in_doubt)(state, safest, term):
        feasible = np.zeros(unknown)
        for column, part in zip(safest.tolist(), term.tolist(), strict=True):
            if column < unknown:
                feasible[column] += part
    return money.Doubts(np.array(state.gap), terms, np.zeros(len(state.gap)), feasible)


def labels(problem: Problem) -> list[str]:
    """Names of the conditions: the columns, and whether any mix keeps the limits."""
    return [*problem.columns, ELASTIC]


def _named(problem: Problem, reasons: Mapping[int, Mapping[int, int]]) -> dict[str, dict[str, int]]:
    """Reasons by the names of arms and conditions; any further one is whether a mix keeps the limits."""
    names = labels(problem)
    last = len(names) - 1
    return {names[a]: {names[min(j, last)]: n for j, n in spent.items()} for a, spent in reasons.items()}
