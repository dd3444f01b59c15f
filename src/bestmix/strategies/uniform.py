"""Uniform sampling, then the linear program (the paper's USLP)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestmix.answers.evidence import Evidence
from bestmix.arrays import Integers
from bestmix.kernels import replicate, segment_runs
from bestmix.problems.instance import Instance
from bestmix.problems.problem import Problem
from bestmix.problems.segment_instance import SegmentInstance
from bestmix.problems.spend import Spend
from bestmix.strategies.protocol import Memory, check_budget
from bestmix.strategies.purse import Purse, first_round, root_round
from bestmix.strategies.replication import Replication, bind, bind_segments
from bestmix.strategies.search import Search


@dataclass(frozen=True)
class Uniform:
    """Pull every unknown arm floor(N / K0) times, then solve the linear program of the means.

    >>> from bestmix import Problem
    >>> Uniform().start(Problem(["a", "b", "c"], {"dollars": 1.0}), budget=100).ask()
    {'a': 33, 'b': 33, 'c': 33}
    """

    @property
    def decides_from_counts(self) -> bool:
        """Trials that were made before the run count in full."""
        return True

    @property
    def name(self) -> str:
        """The paper's name."""
        return "USLP"

    def start(self, problem: Problem, budget: int | Spend | None, items: Any = None, shared: bool = True) -> Search:
        """Begin a run; ``identify`` describes items."""
        return Search(self, problem, budget, items, shared)

    def begin(self, problem: Problem, budget: int) -> Memory:
        """One round to come."""
        check_budget(problem, budget, least=len(problem.cells))
        return {"over": not problem.cells}

    def quota(self, problem: Problem, budget: int, memory: Memory) -> Integers | None:
        """The same for every arm."""
        size = len(problem.cells)
        return None if memory["over"] else np.full(size, budget // size - memory.get("pulled", 0), dtype=np.int64)

    def close(self, evidence: Evidence, budget: int, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
        """Nothing to decide."""
        return memory | {"over": True}, {}

    def begin_paid(self, problem: Problem, purse: Purse) -> Memory:
        """Trials of each arm in proportion to 1 / sqrt(price); while prices are to be learnt, a few of each."""
        return {"quota": self._bought(purse)}

    def close_paid(self, evidence: Evidence, purse: Purse, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
        """Go on while anything can be bought."""
        return {"quota": self._bought(purse) if purse.affordable().any() else None}, {}

    def _bought(self, purse: Purse) -> list[int] | None:
        if not len(purse.counts):
            return None
        fresh = purse.learnt and not purse.counts.any()
        bought = first_round(purse, 0.0) if fresh else root_round(purse, range(len(purse.counts)))
        return [int(n) for n in bought]

    def extended(self, problem: Problem, old: int, new: int, memory: Memory) -> Memory:
        """Memory under a larger budget: the open round grows, or another one makes up the difference.

        >>> from bestmix import Problem
        >>> Uniform().extended(Problem(["a", "b"]), 4, 10, {"over": True})
        {'over': False, 'pulled': 2}
        """
        size = len(problem.cells)
        if not memory["over"] or not size:
            return memory
        return {"over": new // size == old // size, "pulled": old // size}

    def columns(self, problem: Problem, memory: Memory) -> Integers | None:
        """All of them."""
        return np.arange(len(problem.columns))

    def replicator(self, instance: Instance, budget: int) -> Replication | None:
        """Compiled runs."""
        self.begin(instance.problem, budget)
        size = len(instance.problem.cells)
        return bind(replicate.uniform, instance, budget // size if size else 0, rounds=1)

    def segment_replicator(self, instance: SegmentInstance, budget: int, way: int) -> Replication | None:
        """Compiled runs on problems of segments."""
        self.begin(instance.problem, budget)
        return bind_segments(segment_runs.uniform, instance, 1, budget, way)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "Uniform"}
