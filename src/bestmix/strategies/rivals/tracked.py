"""What the rivals that track shares of trials have in common: rounds, memory, and the run in simulation."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.arrays import Integers
from bestmix.kernels import conditions, jit, tracked_runs, tracking
from bestmix.problems.instance import Instance
from bestmix.problems.problem import Problem
from bestmix.problems.solution import check_settled
from bestmix.problems.spend import Spend
from bestmix.strategies.protocol import MOST_TRIALS, Memory, check_budget, check_plain
from bestmix.strategies.replication import Replication, bind
from bestmix.strategies.search import Search

GROWTH = 0.02
RATIO = 1.5  # of the peeling in the proven threshold (Kaufmann and Koolen)


@dataclass(frozen=True)
class Tracked:
    """Decide on shares of trials, follow them, and stop when the nearest other answer is far enough away.

    Parameters
    ----------
    confidence
        Stop as soon as the answer is right with this probability.
    tolerance
        Answers that earn less by at most this are as good (the papers' r).
    growth
        A round has this share of the trials made so far, and at least one. The papers decide after every trial: 0.
    proven
        Stop by a threshold that is proven, Theorem 5 of Das and Basu, instead of log((1 + log t) / delta). The latter
        is that of both papers' scripts; their texts say that they experiment with log((1 + log log t) / delta).
        Carlsson and others have one more for theirs, log(t^alpha C / delta) (their Lemma 2), which is not used here.
    """

    confidence: float = 0.95
    tolerance: float = 0.0
    growth: float = GROWTH
    proven: bool = False

    decides_from_counts: ClassVar[bool] = True
    code: ClassVar[int]
    label: ClassVar[str]

    def __post_init__(self) -> None:
        if not 0 < checks.number("confidence", self.confidence) < 1:
            raise checks.InvalidInput("confidence", expected="a number between 0 and 1", got=self.confidence)
        if not isinstance(self.proven, bool):
            raise checks.InvalidInput("proven", expected="True or False", got=checks.shown(self.proven))
        for name, most in (("tolerance", math.inf), ("growth", 1.0)):
            value = checks.number(name, getattr(self, name))
            if not 0 <= value <= most:
                raise checks.InvalidInput(name, expected=f"a number from 0 to {most:g}", got=value)

    @property
    def name(self) -> str:
        """The paper's name, with the confidence."""
        return f"{self.label}[{self.confidence:g}{', proven' if self.proven else ''}]"

    def _rule(self, unknown: int, costs: int) -> tracked_runs.Rule:
        delta = 1 - self.confidence
        each = peeled((min(unknown, costs) + math.log(1 / delta)) / unknown) if self.proven and unknown else 0.0
        return self.code, delta, float(self.tolerance), float(self.growth), each

    def start(self, problem: Problem, budget: int | Spend | None = None) -> Search:
        """Begin a run; it stops by itself where some mix keeps the limits, and the budget is only a cap."""
        return Search(self, problem, MOST_TRIALS if budget is None else budget)

    def begin(self, problem: Problem, budget: int) -> Memory:
        """The first round is the same for every arm."""
        self._check_problem(problem)
        unknown = len(problem.cells)
        check_budget(problem, budget, least=unknown)
        tracker = tracking.new_tracker(unknown)
        first = [tracked_runs.first_pulls(budget, unknown)] * unknown if unknown else None
        return {"quota": first, "basis": [], **_as_lists(tracker)}

    def _check_problem(self, problem: Problem) -> None:
        check_plain(self.label, problem)

    def quota(self, problem: Problem, budget: int, memory: Memory) -> Integers | None:
        """What the last decision gave each arm."""
        return None if memory["quota"] is None else np.array(memory["quota"], dtype=np.int64)

    def close(self, evidence: Evidence, budget: int, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
        """Stop, or decide on the next round's trials."""
        problem, unknown = evidence.problem, len(evidence.counts)
        state = conditions.new_state(unknown, len(evidence.means), len(problem.bound))
        state.counts[:], state.scatter[:] = evidence.counts, evidence.scatters
        state.basis.column[: len(memory["basis"])] = memory["basis"]
        tracker = tracking.Tracker(*(np.array(memory[name]) for name in tracking.Tracker._fields))
        owed, everything = np.empty(unknown, dtype=np.int64), np.arange(len(problem.columns))
        rule = self._rule(unknown, len(problem.bound))
        decide = jit.speed_for(tracking.STEPS * evidence.means.size)(tracked_runs.decide)
        check_settled(decide(rule, budget, evidence.means, problem.bound, everything, state, tracker, owed))
        basis = [int(j) for j in state.basis.column]
        return {"quota": owed.tolist() if owed.any() else None, "basis": basis, **_as_lists(tracker)}, {}

    def columns(self, problem: Problem, memory: Memory) -> Integers | None:
        """All of them."""
        return np.arange(len(problem.columns))

    def replicator(self, instance: Instance, budget: int) -> Replication | None:
        """Compiled runs."""
        self.begin(instance.problem, budget)
        rule = self._rule(len(instance.problem.cells), len(instance.bound))
        return bind(tracked_runs.runs, instance, budget, rule)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": self.label, **asdict(self)}


def _as_lists(tracker: tracking.Tracker) -> dict[str, list[float]]:
    return {name: values.tolist() for name, values in tracker._asdict().items()}


def peeled(x: float) -> float:
    """T(x) of the proven threshold: 2 h~((h^-1(1 + x) + log(pi^2 / 3)) / 2), with h(u) = u - log u.

    >>> round(peeled(1.0), 3), round(peeled(10.0), 3)
    (9.214, 21.447)
    """
    y = (_inverse(1 + x) + math.log(math.pi**2 / 3)) / 2
    if y >= _inverse(1 / math.log(RATIO)):
        u = _inverse(y)
        return 2 * u * math.exp(1 / u)
    return 2 * RATIO * (y - math.log(math.log(RATIO)))


def _inverse(y: float) -> float:
    """The u >= 1 with u - log u = y, for y >= 1, by Newton's method."""
    u = max(2 * y, 1.5)
    for _ in range(60):
        u = max(u - (u - math.log(u) - y) / (1 - 1 / u), 1 + 1e-12)
    return u
