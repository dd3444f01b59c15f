"""Score Function-based Successive Reject (the paper's Algorithm 1), with either score or your own."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels import columns, jit, rejects, segment_runs, simplex
from bestmix.kernels.scores import last_lowest
from bestmix.problems.instance import Instance
from bestmix.problems.problem import Problem
from bestmix.problems.segment_instance import SegmentInstance
from bestmix.problems.solution import scaled
from bestmix.problems.spend import Spend
from bestmix.strategies import program_rounds, scores
from bestmix.strategies.protocol import (
    MOST_TRIALS,
    Memory,
    check_budget,
    check_featureless,
    check_plain,
    check_stateless,
)
from bestmix.strategies.purse import Purse, at_least_one, first_round, rejects_round, root_round
from bestmix.strategies.replication import Replication, bind, bind_segments
from bestmix.strategies.schedule import round_count, round_ends
from bestmix.strategies.search import Search

Score = Callable[[Floats, Floats, Floats], Any]


@dataclass(frozen=True)
class SFSR:
    """Reject one column a round, the one with the lowest score, until a basis is left.

    The paper's schedule has K - 1 rounds, and so none for an unknown arm alone. Here the budget is then spent on that
    arm, and the linear program solved: whether it keeps its bounds is still to be learnt.

    Parameters
    ----------
    score
        ``"intersection"``: the best value of a feasible basis that contains the column (SFSR).
        ``"lagrangian"``: the column's reduced cost in the optimal basis (SFSR-L). Or a function of
        ``(mu, u, e)``, one entry for each remaining column, that returns a score for each: mu is
        the mean reward, u (columns, L) the mean cost minus the bound, e one for an arm and zero for
        a slack. Minus infinity for all means infeasible. ``bm.scores`` has the first two as such functions.

    Examples
    --------
    >>> from bestmix import Problem
    >>> SFSR().start(Problem(["a", "b", "c"], {"dollars": 1.0}), budget=100).ask()
    {'a': 22, 'b': 22, 'c': 22}
    """

    score: str | Score = "intersection"

    def __post_init__(self) -> None:
        for name, function in scores.BY_NAME.items():
            if self.score is function:
                object.__setattr__(self, "score", name)
        if not callable(self.score):
            checks.choice("score", self.score, ["intersection", "lagrangian"])

    @property
    def name(self) -> str:
        """SFSR, SFSR-L or SFSR with the function's name."""
        if callable(self.score):
            return f"SFSR[{_function_name(self.score)}]"
        return "SFSR" if self.score == "intersection" else "SFSR-L"

    def start(self, problem: Problem, budget: int | Spend | None, items: Any = None, shared: bool = True) -> Search:
        """Begin a run; ``identify`` describes items."""
        return Search(self, problem, budget, items, shared)

    def begin(self, problem: Problem, budget: int) -> Memory:
        """All columns in the running."""
        if self.score != "lagrangian":
            check_plain(self.name, problem)
        check_stateless(self.name, problem)
        check_featureless(self.name, problem)
        if None in problem.segments.values():
            raise checks.InvalidInput(
                "strategy",
                f"{self.name} needs the shares of the segments beforehand, got such as are learnt from who arrives",
                "give their shares, such as segments={'free': 0.7, 'paid': 0.3}, or use Challenger() or Uniform()",
            )
        check_budget(problem, budget, least=len(problem.cells) + 1 if problem.cells else 0)
        total, costs = len(problem.columns), len(problem.bounds)
        if self.score == "intersection":
            scores.check_within_reach(len(problem.names), total, costs)
        return {"round": 0, "columns": list(range(total)), "infeasible": False, "basis": []}

    def quota(self, problem: Problem, budget: int, memory: Memory) -> Integers | None:
        """T_k pulls of each unknown arm that remains (eq. Tk)."""
        k = memory["round"]
        segments = max(len(problem.segments), 1)
        if memory["infeasible"] or k == _rounds(problem):
            return None
        ends = round_ends(len(problem.names), len(problem.cells), len(problem.bounds), budget, segments)
        owed = np.zeros(len(problem.cells), dtype=np.int64)
        owed[[a for a in memory["columns"] if a < len(owed)]] = ends[k] - (ends[k - 1] if k else 0)
        return owed

    def close(self, evidence: Evidence, budget: int, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
        """Score the remaining columns and reject the lowest."""
        if not evidence.problem.plain:
            return _close_program(evidence, memory)
        if len(evidence.problem.names) == 1:  # nothing to reject
            return memory | {"round": memory["round"] + 1}, {}
        remaining = np.array(memory["columns"], dtype=np.int64)
        basis = np.full(1 + len(evidence.problem.bounds), -1)
        if memory["basis"]:
            basis[:] = np.searchsorted(remaining, memory["basis"])
        score, exact, loser = self.judge(evidence, remaining, basis)
        label = evidence.problem.columns
        told = {"scores": {label[j]: float(s) for j, s, x in zip(remaining, score, exact, strict=True) if x}}
        memory = memory | {"round": memory["round"] + 1, "basis": []}
        if loser < 0:
            return memory | {"infeasible": True}, told
        others = np.delete(score, loser)[np.delete(exact, loser)]
        margin = float(others.min() - score[loser]) if len(others) and abs(score[loser]) < np.inf else None
        memory["columns"] = [int(j) for j in np.delete(remaining, loser)]
        if basis.min() >= 0 and loser not in basis:
            memory["basis"] = [int(j) for j in remaining[basis]]
        return memory, told | {"rejected": label[remaining[loser]], "margin": margin}

    def judge(self, evidence: Evidence, remaining: Integers, basis: Integers) -> tuple[Floats, Flags, int]:
        """Scores of the remaining columns, which are exact, and the loser's position; -1 is infeasible.

        The basis of the round before, in positions, is where the linear program starts from, and becomes
        its last one: among several optimal bases the start decides, here as in the compiled runs.
        """
        if callable(self.score):
            return self._judge_by_function(self.score, evidence, remaining)
        size, costs = len(remaining), len(evidence.problem.bounds)
        program, scale = scaled(evidence.means, evidence.problem.bound, remaining)
        start = simplex.new_basis(costs)
        start.column[:] = basis
        wanted = size if math.comb(size, costs + 1) <= scores.CHEAP_BASES else 2
        score, exact, loser = scores.judged(self.score, program, scale, start, wanted)
        basis[:] = start.column
        shown = scale[0] + scale[1] * score if self.score == "intersection" else scale[1] * score
        return shown, exact, loser

    def _judge_by_function(self, function: Score, evidence: Evidence, remaining: Integers) -> tuple[Floats, Flags, int]:
        size, costs = len(remaining), len(evidence.problem.bounds)
        program = columns.new_program(size, costs)
        speed = jit.speed_for(size * costs)
        speed(columns.load)(evidence.means, evidence.problem.bound, remaining, program)
        score = checked(function, *program)
        loser = speed(last_lowest)(score, 0.0) if score.max() > -np.inf else -1
        return score, np.ones(size, dtype=np.bool_), loser

    def begin_paid(self, problem: Problem, purse: Purse) -> Memory:
        """All columns in the running, with as many trials of each arm as can be paid for to the end."""
        memory = self.begin(problem, MOST_TRIALS)
        return memory | self._bought(problem, purse, memory)

    def close_paid(self, evidence: Evidence, purse: Purse, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
        """Reject a column, once the round has what prices allow, as they are known by now."""
        if memory["filling"] and any((more := self._bought(evidence.problem, purse, memory))["quota"] or ()):
            return memory | more, {}
        memory, told = self.close(evidence, MOST_TRIALS, memory)
        return memory | self._bought(evidence.problem, purse, memory), told

    def _bought(self, problem: Problem, purse: Purse, memory: Memory) -> Memory:
        """Trials that the round lacks, None when the run is over; and whether more may be lacking after them."""
        segments, unknown = max(len(problem.segments), 1), len(problem.cells)
        ahead = _rounds(problem) - memory["round"]
        members = [a for a in memory["columns"] if a < unknown]
        if memory["infeasible"] or ahead == 0:
            return {"quota": None, "filling": False}
        if not members:
            return {"quota": [0] * unknown, "filling": False}
        if purse.learnt and not purse.counts.any():
            return {"quota": first_round(purse, 0.0).tolist(), "filling": True}
        if ahead == 1:  # nothing is to be kept for later
            return {"quota": root_round(purse, members).tolist(), "filling": purse.learnt}
        wanted = rejects_round(purse, members, len(problem.bounds) + segments - 1, ahead + 1)
        bought = at_least_one(purse, wanted)
        return {"quota": bought.tolist(), "filling": bool(bought.sum() < wanted.sum())}

    def columns(self, problem: Problem, memory: Memory) -> Integers | None:
        """The remaining columns."""
        return None if memory["infeasible"] else np.array(memory["columns"], dtype=np.int64)

    def replicator(self, instance: Instance, budget: int) -> Replication | None:
        """Compiled runs, as far as the score function is compiled."""
        self.begin(instance.problem, budget)
        shape = len(instance.arms), len(instance.problem.cells), len(instance.bound), budget
        ends = np.array(round_ends(*shape), dtype=np.int64)
        kind = rejects.INTERSECTION if self.score == "intersection" else rejects.LAGRANGIAN
        if callable(self.score):
            _check_on(self.score, instance)
            run = bind(_with_function(self.score), instance, ends, rejects.OWN)
        else:
            run = bind(rejects.successive, instance, ends, kind, rounds=len(ends))
        size = len(instance.means), len(instance.bound), len(instance.problem.cells)
        return None if run is None else replace(run, space=lambda: (rejects.new_space(*size),))

    def segment_replicator(self, instance: SegmentInstance, budget: int, way: int) -> Replication | None:
        """Compiled runs on problems of segments, by reduced costs."""
        self.begin(instance.problem, budget)
        if self.score != "lagrangian":
            return None
        problem = instance.problem
        shape = len(problem.names), len(problem.cells), len(problem.limits), budget, max(len(problem.segments), 1)
        ends = np.array(round_ends(*shape), dtype=np.int64)
        return bind_segments(segment_runs.rejects, instance, len(ends), ends, way)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; a function is only named."""
        return {
            "kind": "SFSR",
            "score": f"function {_function_name(self.score)}" if callable(self.score) else self.score,
        }


def _rounds(problem: Problem) -> int:
    return round_count(len(problem.names), len(problem.cells), max(len(problem.segments), 1))


def _close_program(evidence: Evidence, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
    """The same for segments, limits on shares, relative limits and partly known arms, by reduced costs."""
    label = evidence.problem.columns
    scores, loser = program_rounds.reject(evidence, memory["columns"])
    told: dict[str, Any] = {"scores": {label[j]: score for j, score in scores.items()}}
    memory = memory | {"round": memory["round"] + 1}
    if loser is None:  # what is left is a basis: nothing more is to be learnt
        return memory | {"round": _rounds(evidence.problem)}, told
    others = [score for j, score in scores.items() if j != loser]
    memory["columns"] = [j for j in memory["columns"] if j != loser]
    return memory, told | {"rejected": label[loser], "margin": min(others) - scores[loser] if others else None}


def checked(function: Score, mu: Floats, u: Floats, e: Floats) -> Floats:
    """A user's scores of some columns, each a number."""
    found = function(mu, u, e)
    try:
        score = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        score = np.full(0, np.nan)
    if score.shape != mu.shape or np.isnan(score).any():
        raise checks.InvalidInput(
            "score",
            expected=f"{_function_name(function)} to return {len(mu)} numbers, one for each column",
            got=checks.shown(found.tolist() if isinstance(found, np.ndarray) else found),
            remedy="return minus infinity for a column without a score",
        )
    return score


def _check_on(function: Score, instance: Instance) -> None:
    """Try a function on the true means before many runs: machine code is not checked in these."""
    total, costs = len(instance.problem.columns), len(instance.bound)
    for size in {total, max(total - 1, 1)}:
        program = columns.new_program(size, costs)
        columns.load(np.array(instance.means), np.array(instance.bound), np.arange(size), program)
        checked(function, *program)


@lru_cache(maxsize=16)
def _with_function(function: Score) -> Callable[..., None]:
    return rejects.successive_by(function if jit.is_machine(function) else partial(checked, function))


def _function_name(function: Any) -> str:
    return str(
        getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or type(function).__name__
    )
