"""Top-two Thompson sampling (Russo 2020), with the program's answer in place of the best arm."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.arrays import Integers
from bestmix.kernels import allocation, conditions, jit, sampling, stopping, top_two
from bestmix.problems.instance import Instance
from bestmix.problems.problem import Problem
from bestmix.problems.solution import check_settled
from bestmix.problems.spend import Spend
from bestmix.strategies.challenger import SURE
from bestmix.strategies.protocol import MOST_TRIALS, Memory, check_budget, check_plain
from bestmix.strategies.replication import Replication, bind
from bestmix.strategies.search import Search

FIRST_SHARE, ROUNDS = 0.1, 30  # those of Challenger, so that the choice of the arms is all that differs


@dataclass(frozen=True)
class TopTwo:
    """Try arms of a drawn leader, or of a challenger: another answer that is drawn until it differs.

    Means are drawn from the posterior, normal around the estimates with the arms' estimated covariances. The answer to
    a draw, the basis of its linear program, is the leader; further draws are made until one has another answer, the
    challenger. A trial goes with probability ``beta`` to an arm of the leader, else to one that only the challenger
    has. Without limits that is Russo's rule for a single best arm (section 3.4, his Algorithm 1, as others cite it: his
    text could not be consulted; Algorithm 1 and eq. 3 of Shang and others, AISTATS 2020, who prove it for normal
    noise). For a mix the arm is drawn evenly from those of the answer, which is this package's reading of it, since no
    paper was found that states one.

    It assumes normal noise, or enough trials. The noise is estimated. After fifty draws without another answer the
    challenger is the column whose condition is most in doubt. A round has ten pairs of leaders and challengers; rounds
    and stop are those of ``Challenger``.

    Parameters
    ----------
    beta
        Chance that a trial goes to the leader.
    confidence
        Stop as soon as the answer is right with about this probability, by Challenger's rule; None spends the budget.
    seed
        Of the draws of a live run, with the number of trials so far.

    Examples
    --------
    >>> from bestmix import Problem
    >>> TopTwo().start(Problem(["a", "b"], {"dollars": 1.0}), budget=400).ask()
    {'a': 20, 'b': 20}
    """

    beta: float = 0.5
    confidence: float | None = None
    seed: int = 0

    decides_from_counts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("beta", "confidence"):
            value = getattr(self, name)
            if (value is not None or name == "beta") and not 0 < checks.number(name, value) < 1:
                raise checks.InvalidInput(name, expected="a number between 0 and 1", got=value)
        checks.whole("seed", self.seed, 0, "give any whole number")

    @property
    def name(self) -> str:
        """With the confidence where it stops by itself."""
        return "top-two" if self.confidence is None else f"top-two[{self.confidence:g}]"

    @property
    def _settings(self) -> conditions.Settings:
        if self.confidence is None:
            return conditions.Settings(FIRST_SHARE, ROUNDS, 0.0, 0.0)
        return conditions.Settings(FIRST_SHARE, ROUNDS, 1 - self.confidence, 0.0, **SURE)

    def start(self, problem: Problem, budget: int | Spend | None = None) -> Search:
        """Begin a run; the budget may only be left out with a confidence."""
        if budget is None and self.confidence is None:
            raise checks.InvalidInput("budget", "expected the number of trials", "or give a confidence")
        return Search(self, problem, MOST_TRIALS if budget is None else budget)

    def begin(self, problem: Problem, budget: int) -> Memory:
        """The first round is the same for every arm."""
        check_plain("TopTwo", problem)
        unknown = len(problem.cells)
        check_budget(problem, budget, least=unknown)
        first = allocation.first_pulls(budget, unknown, self._settings)
        return {"quota": [first] * unknown if unknown else None, "basis": []}

    def quota(self, problem: Problem, budget: int, memory: Memory) -> Integers | None:
        """What the last decision gave each arm."""
        return None if memory["quota"] is None else np.array(memory["quota"], dtype=np.int64)

    def close(self, evidence: Evidence, budget: int, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
        """Stop, or draw leaders and challengers for the next round."""
        problem, unknown = evidence.problem, len(evidence.counts)
        speed = jit.speed_for(evidence.means.size * 10)
        state, spare = (conditions.new_state(unknown, len(evidence.means), len(problem.bound)) for _ in range(2))
        state.counts[:], state.scatter[:] = evidence.counts, evidence.scatters
        if self._settings.events:
            speed(sampling.raise_events)(state.counts, evidence.means, problem.bound, state.scatter)
        state.basis.column[: len(memory["basis"])] = memory["basis"]
        everything, spent = np.arange(len(problem.columns)), int(evidence.counts.sum())
        check_settled(speed(conditions.solve)(evidence.means, problem.bound, everything, state))
        speed(conditions.pool)(state)
        speed(conditions.conditions)(state)
        size = allocation.round_size(budget, unknown, spent, self._settings)
        basis = [int(j) for j in state.basis.column]
        if size == 0 or speed(stopping.stops)(self._settings, state, evidence.problem.bound):
            return {"quota": None, "basis": basis}, {}
        owed, rng = np.empty(unknown, dtype=np.int64), np.random.default_rng([self.seed, spent])
        allocate = speed(top_two.allocate)
        allocate(rng, self.beta, size, evidence.means, problem.bound, everything, state, spare, owed)
        return {"quota": owed.tolist(), "basis": basis}, {}

    def columns(self, problem: Problem, memory: Memory) -> Integers | None:
        """All of them."""
        return np.arange(len(problem.columns))

    def replicator(self, instance: Instance, budget: int) -> Replication | None:
        """Compiled runs, whose draws come from the simulation's seed."""
        self.begin(instance.problem, budget)
        return bind(top_two.runs, instance, budget, self._settings, float(self.beta))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "TopTwo", **asdict(self)}
