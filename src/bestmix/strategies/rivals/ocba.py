"""OCBA with stochastic constraints: rate-optimal shares of trials for the best feasible arm."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bestmix.answers.evidence import Evidence
from bestmix.arrays import Integers
from bestmix.kernels import allocation, alone, conditions, jit, ocba_runs
from bestmix.problems.instance import Instance
from bestmix.problems.problem import Problem
from bestmix.problems.spend import Spend
from bestmix.strategies.protocol import Memory, check_budget, check_plain
from bestmix.strategies.replication import Replication, bind
from bestmix.strategies.search import Search

SETTINGS = conditions.Settings(0.1, 30, 0.0, 0.0)  # first share and rounds of Challenger


@dataclass(frozen=True)
class OCBA:
    """Give every arm the share of trials at which all ways to choose wrongly die out at one rate.

    The sequential form of optimal computing budget allocation with constraints (Lee, Pujowidianto, Li, Chen and Yap,
    2012, OCBA-CO), with the scores of Pasupathy, Hunter, Pujowidianto, Lee and Chen (2014, SCORE): an arm's share is
    the inverse of its squared distance from being the best, which is that in reward, if it is worse, plus those of its
    violated bounds, each over its variance. The best arm gets enough to tell its reward from theirs, as far as rewards
    rule them out, and to tell that it keeps its bounds. Shares are estimated anew each round.

    The papers assume a fixed budget, independent normal metrics, many arms, and a single arm as the answer. Numbers of
    equations are left out, since their texts could not be consulted: the shares are derived from the rates at which
    wrong choices die out (``kernels/alone.py``). Rounds are those of ``Challenger``.

    Examples
    --------
    >>> from bestmix import Problem
    >>> OCBA().start(Problem(["a", "b"], {"dollars": 1.0}), budget=400).ask()
    {'a': 20, 'b': 20}
    """

    mixes: ClassVar[bool] = False  # the answer is one arm, certain or not
    decides_from_counts: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """What tables call it."""
        return "OCBA"

    def start(self, problem: Problem, budget: int | Spend | None) -> Search:
        """Begin a run."""
        return Search(self, problem, budget)

    def begin(self, problem: Problem, budget: int) -> Memory:
        """The first round is the same for every arm."""
        check_plain(self.name, problem)
        unknown = len(problem.cells)
        check_budget(problem, budget, least=unknown)
        first = allocation.first_pulls(budget, unknown, SETTINGS)
        if unknown:
            return {"quota": [first] * unknown, "leader": None}
        return {"quota": None, "leader": _leader(Evidence(problem, []))}

    def quota(self, problem: Problem, budget: int, memory: Memory) -> Integers | None:
        """What the last decision gave each arm."""
        return None if memory["quota"] is None else np.array(memory["quota"], dtype=np.int64)

    def close(self, evidence: Evidence, budget: int, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
        """Estimate the shares anew."""
        bound, unknown = evidence.problem.bound, len(evidence.counts)
        best = _leader(evidence)
        size = allocation.round_size(budget, unknown, int(evidence.counts.sum()), SETTINGS)
        if size == 0:
            return {"quota": None, "leader": best}, {}
        owed = np.empty(unknown, dtype=np.int64)
        plan = jit.speed_for(evidence.means.size)(ocba_runs.plan)
        plan(evidence.means, bound, evidence.counts, evidence.scatters, size, owed)
        return {"quota": owed.tolist(), "leader": best}, {}

    def columns(self, problem: Problem, memory: Memory) -> Integers | None:
        """The best arm so far with every slack; before the first decision, any arm."""
        arms = range(len(problem.names)) if memory["leader"] is None else [memory["leader"]]
        return np.array([*arms, *range(len(problem.names), len(problem.columns))], dtype=np.int64)

    def replicator(self, instance: Instance, budget: int) -> Replication | None:
        """Compiled runs."""
        self.begin(instance.problem, budget)
        return bind(ocba_runs.runs, instance, budget, SETTINGS)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "OCBA"}


def _leader(evidence: Evidence) -> int:
    """The best arm at the estimates, and at what is known."""
    means, bound = evidence.means, evidence.problem.bound
    return int(alone.leader(means, bound, np.ones(1 + len(bound)), np.arange(len(means))))
