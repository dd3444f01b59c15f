"""Challenger: spend the trials on whatever could still overturn the current answer.

With a fixed budget it decides in rounds; with a confidence it stops when the answer is sure enough. Nothing
about either is proven yet: what is claimed was measured by simulation.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.answers.recommendation import ELASTIC
from bestmix.arrays import Floats, Integers
from bestmix.kernels import allocation, conditions, replicate, stopping
from bestmix.problems.instance import Instance
from bestmix.problems.problem import Problem
from bestmix.problems.solution import check_settled
from bestmix.strategies.protocol import MOST_TRIALS, Memory, check_budget
from bestmix.strategies.replication import Replication, bind
from bestmix.strategies.search import Search

ROUNDS = 30  # after the first one


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
    heuristic_stop
        Stop as soon as the estimated chance of a wrong support is at most this, such as 0.05, without the margin
        and the exact check that ``confidence`` has. A heuristic: its errors can be more frequent than it says.
    rounds
        Rounds after the first one, when there is a fixed budget; by default 30, and more with more than 60 arms.
    first_share
        Share of a fixed budget that the first round spreads evenly over the arms.

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

    def __post_init__(self) -> None:
        for name in ("confidence", "delta", "heuristic_stop"):
            value = getattr(self, name)
            if value is not None and not 0 < checks.number(name, value) < 1:
                raise checks.InvalidInput(
                    name, expected="a number between 0 and 1", got=value, remedy="leave it out for none"
                )
        if self.confidence is not None and self.delta is not None:
            raise ValueError(
                f"confidence and delta: expected one of them, got {self.confidence} and {self.delta}; "
                "delta is one minus the confidence"
            )
        if self.rounds is not None:
            checks.whole("rounds", self.rounds, 1, "give the number of rounds after the first one")
        if not 0 < checks.number("first_share", self.first_share) < 1:
            raise checks.InvalidInput(
                "first_share", expected="a number between 0 and 1", got=self.first_share, remedy="try 0.1"
            )

    @property
    def name(self) -> str:
        """Challenger, with how it stops."""
        if self._delta:
            return f"Challenger[{1 - self._delta:g}]"
        return f"Challenger[stop {self.heuristic_stop:g}]" if self.heuristic_stop else "Challenger"

    @property
    def _delta(self) -> float:
        if self.confidence is not None:
            return 1 - self.confidence
        return self.delta or 0.0

    def _settings(self, unknown: int) -> conditions.Settings:
        rounds = max(ROUNDS, unknown // 2) if self.rounds is None else int(self.rounds)
        return float(self.first_share), rounds, float(self._delta), float(self.heuristic_stop or 0.0)

    def start(self, problem: Problem, budget: int | None = None) -> Search:
        """Begin a run; the budget may only be left out if the run stops by itself."""
        if budget is None and not self._delta and not self.heuristic_stop:
            raise checks.InvalidInput(
                "budget", "expected the number of trials", "it may only be left out with a confidence"
            )
        return Search(self, problem, MOST_TRIALS if budget is None else budget)

    def begin(self, problem: Problem, budget: int) -> Memory:
        """The first round is the same for every arm."""
        unknown = len(problem.arms)
        check_budget(problem, budget, least=unknown)
        first = allocation.first_pulls(budget, unknown, self._settings(unknown))
        return {"quota": [first] * unknown if unknown else None, "basis": [], "reasons": {}}

    def quota(self, problem: Problem, budget: int, memory: Memory) -> Integers | None:
        """What the last decision gave each arm."""
        return None if memory["quota"] is None else np.array(memory["quota"], dtype=np.int64)

    def close(self, evidence: Evidence, budget: int, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
        """Find the conditions in doubt and decide on the next round's trials."""
        problem, counts = evidence.problem, evidence.counts
        label = [*problem.columns, ELASTIC]
        state = conditions.new_state(len(counts), len(evidence.means), len(problem.bounds))
        state.counts[:] = counts
        state.scatter[:] = evidence.scatters
        state.basis.column[: len(memory["basis"])] = memory["basis"]
        check_settled(conditions.solve(evidence.means, problem.bound, np.arange(len(label) - 1), state))
        conditions.pool(state)
        conditions.conditions(state)
        z = conditions.z_scores(state)
        told: dict[str, Any] = {
            "scores": {name: float(s) for name, s in zip(label, z, strict=True) if abs(s) < np.inf},
            "reasons": memory["reasons"],
        }
        memory = {"quota": None, "basis": [int(j) for j in state.basis.column], "reasons": {}}
        spent = int(counts.sum())
        settings = self._settings(len(counts))
        size = allocation.round_size(budget, len(counts), spent, settings)
        if size == 0 or stopping.stops(settings, state):
            return memory, told
        arm, reason = np.empty((2, allocation.decisions(len(counts))), dtype=np.int64)
        owed, step = np.empty_like(counts), allocation.chunk_size(size, len(counts))
        chunks = allocation.allocate(state, size, arm, reason, owed)
        reasons: dict[str, dict[str, int]] = {}
        for k in range(chunks):
            some = min(step, size - k * step)
            spent_on = reasons.setdefault(label[arm[k]], {})
            spent_on[label[reason[k]]] = spent_on.get(label[reason[k]], 0) + some
        return memory | {"quota": owed.tolist(), "reasons": reasons}, told

    def extended(self, problem: Problem, old: int, new: int, memory: Memory) -> Memory:
        """Memory under a larger budget: the rounds to come grow, and a run that was over decides once more.

        >>> Challenger().extended(Problem(["a", "b"]), 40, 90, {"quota": None, "basis": [0], "reasons": {}})["quota"]
        [0, 0]
        """
        if memory["quota"] is not None or not problem.arms:
            return memory
        return memory | {"quota": [0] * len(problem.arms)}

    def columns(self, problem: Problem, memory: Memory) -> Integers | None:
        """All of them."""
        return np.arange(len(problem.columns))

    def replicator(self, instance: Instance, budget: int) -> "WithoutChances | None":
        """Compiled runs."""
        run = self.with_chances(instance, budget)
        return None if run is None else WithoutChances(run)

    def with_chances(self, instance: Instance, budget: int) -> Replication | None:
        """``replicator`` with one more array (runs,): the estimated chances that the answers are right."""
        self.begin(instance.problem, budget)
        return bind(replicate.challenger, instance, budget, self._settings(len(instance.problem.arms)))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "Challenger", **asdict(self)}


@dataclass(frozen=True, eq=False)
class WithoutChances:
    """Runs of Challenger whose chances nobody wants."""

    runs: Replication

    @property
    def compiled(self) -> bool:
        """Whether they leave Python's global lock alone."""
        return self.runs.compiled

    def __call__(self, rng: np.random.Generator, answer: Integers, weight: Floats, pulls: Integers) -> None:
        """Run as many times as the arrays have rows."""
        self.runs(rng, answer, weight, pulls, np.empty(len(pulls)))
