"""The best single arm that is feasible on its own, by successive rejects: what people do today."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bestmix.answers.evidence import Evidence
from bestmix.arrays import Floats, Integers
from bestmix.kernels import alone, jit, rejects
from bestmix.problems.instance import Instance
from bestmix.problems.problem import Problem
from bestmix.problems.spend import Spend
from bestmix.strategies.protocol import Memory, check_budget, check_plain
from bestmix.strategies.replication import Replication, bind
from bestmix.strategies.schedule import round_count, round_ends
from bestmix.strategies.search import Search


@dataclass(frozen=True)
class SingleArm:
    """Reject one arm a round: infeasible arms first, the worst violation before the lesser ones.

    A feasible arm scores its mean reward, an infeasible one minus infinity. Of the infeasible arms the
    one with the largest violation goes first, each cost measured against the largest distance of an
    arm from its bound. The schedule is that of Successive Rejects. The verdict is infeasible when the last arm is. An
    arm alone gets the whole budget, though there is nothing to reject.

    >>> from bestmix import Problem
    >>> SingleArm().start(Problem(["a", "b", "c"], {"dollars": 1.0}), budget=100).ask()
    {'a': 25, 'b': 25, 'c': 25}
    """

    mixes: ClassVar[bool] = False  # the answer is one arm, certain or not
    kind: ClassVar[int] = alone.WORST  # which arm is rejected

    @property
    def name(self) -> str:
        """What tables call it."""
        return "single arm"

    def start(self, problem: Problem, budget: int | Spend | None, items: Any = None, shared: bool = True) -> Search:
        """Begin a run; ``identify`` describes items."""
        return Search(self, problem, budget, items, shared)

    def begin(self, problem: Problem, budget: int) -> Memory:
        """All arms in the running."""
        check_plain(self.name, problem)
        check_budget(problem, budget, least=len(problem.cells) + 1 if problem.cells else 0)
        return {"round": 0, "arms": list(range(len(problem.names))), "leader": None}

    def quota(self, problem: Problem, budget: int, memory: Memory) -> Integers | None:
        """The round of Successive Rejects."""
        k = memory["round"]
        if k == round_count(len(problem.names), len(problem.cells)):
            return None
        ends = round_ends(len(problem.names), len(problem.cells), 0, budget)
        owed = np.zeros(len(problem.cells), dtype=np.int64)
        owed[[a for a in memory["arms"] if a < len(owed)]] = ends[k] - (ends[k - 1] if k else 0)
        return owed

    def close(self, evidence: Evidence, budget: int, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
        """Reject the arm with the lowest score."""
        arms, names = memory["arms"], evidence.problem.names
        if len(names) == 1:  # nothing to reject
            return {"round": memory["round"] + 1, "arms": arms, "leader": arms[0]}, {}
        score = np.empty(len(arms))
        reject = jit.speed_for(evidence.means.size)(alone.reject)
        sigma = self._sigma(len(evidence.problem.bound))
        loser = reject(self.kind, evidence.means, evidence.problem.bound, sigma, np.array(arms), score)
        told = {
            "scores": dict(zip([names[a] for a in arms], map(float, score), strict=True)),
            "rejected": names[arms[loser]],
            "margin": float(np.delete(score, loser).min() - score[loser]) if score[loser] > -np.inf else None,
        }
        left, others = [a for a in arms if a != arms[loser]], np.delete(score, loser)
        return {"round": memory["round"] + 1, "arms": left, "leader": left[int(np.argmax(others))]}, told

    def columns(self, problem: Problem, memory: Memory) -> Integers | None:
        """The best arm so far with every slack; before the first decision, any arm."""
        slacks = range(len(problem.names), len(problem.columns))
        arms = memory["arms"] if memory["leader"] is None else [memory["leader"]]
        return np.array([*arms, *slacks], dtype=np.int64)

    def replicator(self, instance: Instance, budget: int) -> Replication | None:
        """Compiled runs."""
        self.begin(instance.problem, budget)
        ends = round_ends(len(instance.arms), len(instance.problem.cells), 0, budget)
        options = np.array(ends, dtype=np.int64), self.kind, self._sigma(len(instance.bound))
        return bind(rejects.single, instance, *options, rounds=len(ends))

    def _sigma(self, costs: int) -> Floats:
        """What rewards and costs are measured in, where they are compared."""
        return np.ones(1 + costs)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "SingleArm"}
