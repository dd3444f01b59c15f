"""A cell of a sweep: one strategy on one instance with one budget; its runs come in seeded blocks.

What a run gives depends on the seed, the instance, the strategy, the budget and the run's number, and
on nothing else. Runs are drawn in blocks of a fixed size, each from its own generator, so that blocks
can be computed anywhere and in any order.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestmix.arrays import Floats, Integers
from bestmix.problems.instance import Instance
from bestmix.problems.solution import Solution, solve
from bestmix.strategies import Strategy
from bestmix.strategies.protocol import Compiled, Replicable, Replicator, Scored

BLOCK = 250  # runs that share a generator; changing it changes every result
CORRECT, WRONG_SUPPORT, WRONGLY_INFEASIBLE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What each run came to; regret and violation are NaN where the verdict was infeasible.

    ``outcome`` is CORRECT, WRONG_SUPPORT or WRONGLY_INFEASIBLE. ``regret`` is the best value minus the
    true mean reward of the recommended mixture, and negative where it buys reward with a violation;
    ``violation`` is the largest excess of a true mean cost over its bound.
    """

    outcome: NDArray[np.uint8]
    pulls: Integers
    regret: Floats
    violation: Floats

    def __len__(self) -> int:
        return len(self.outcome)

    def __getitem__(self, runs: slice) -> "Outcomes":
        return Outcomes(self.outcome[runs], self.pulls[runs], self.regret[runs], self.violation[runs])

    @classmethod
    def join(cls, parts: list["Outcomes"]) -> "Outcomes":
        """One after another."""
        parts = [cls(np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0), np.empty(0)), *parts]
        return cls(
            np.concatenate([part.outcome for part in parts]),
            np.concatenate([part.pulls for part in parts]),
            np.concatenate([part.regret for part in parts]),
            np.concatenate([part.violation for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Cell:
    """One strategy on one instance with one budget and seed."""

    instance: Instance
    strategy: Strategy
    budget: int
    seed: int

    @cached_property
    def digest(self) -> str:
        """Names the cell's content: instance, strategy, budget and seed."""
        content = {
            "instance": self.instance.to_dict(),
            "strategy": self.strategy.to_dict(),
            "code": _code(self.strategy.score) if isinstance(self.strategy, Scored) else None,
            "budget": self.budget,
            "seed": self.seed,
        }
        text = json.dumps(content, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @cached_property
    def fast(self) -> Replicator | None:
        """The strategy's own simulated runs, or None."""
        return self.strategy.replicator(self.instance, self.budget) if isinstance(self.strategy, Replicable) else None

    @property
    def compiled(self) -> bool:
        """Whether runs leave Python's global lock alone, so that threads speed them up."""
        return isinstance(self.fast, Compiled) and self.fast.compiled

    def bare(self) -> "Cell":
        """The cell without what it has computed, which need not travel."""
        return Cell(self.instance, self.strategy, self.budget, self.seed)

    def generator(self, block: int) -> np.random.Generator:
        """The random numbers of a block."""
        sequence = np.random.SeedSequence(int(self.digest, 16), spawn_key=(block,))
        return np.random.Generator(np.random.PCG64(sequence))

    def run(self, first: int, last: int, runs: int) -> Outcomes:
        """Outcomes of the blocks [first, last), as far as there are runs."""
        best = solve(self.instance)
        parts = []
        for block in range(first, last):
            size = min(BLOCK, runs - block * BLOCK)
            parts.append(self._judge(best, *self._block(block, size)))
        return Outcomes.join(parts)

    def _block(self, block: int, size: int) -> tuple[Integers, Floats, Integers]:
        costs = len(self.instance.bound)
        answer, weight = np.zeros((size, 1 + costs), dtype=np.int64), np.zeros((size, 1 + costs))
        pulls = np.zeros(size, dtype=np.int64)
        run = self.fast or self._live
        run(self.generator(block), answer, weight, pulls)
        return answer, weight, pulls

    def _live(self, rng: np.random.Generator, answer: Integers, weight: Floats, pulls: Integers) -> None:
        """Runs of any strategy through its ask and tell."""
        problem = self.instance.problem
        index = {name: j for j, name in enumerate(problem.columns)}
        for run in range(len(answer)):
            search = self.strategy.start(problem, self.budget)
            while owed := search.ask():
                for arm, n in owed.items():
                    rows = self.instance.draw(index[arm], n, rng)
                    search.tell(arm, rows[:, 0], rows[:, 1:])
            pulls[run] = search.trials
            said = search.recommend(safety=None)
            if said.feasible:
                columns = sorted(index[name] for name in said.basis)
                answer[run, : len(columns)] = columns
                weight[run, : len(columns)] = [said.mixture.get(problem.columns[j], 0.0) for j in columns]
            else:
                answer[run, 0] = -1

    def _judge(self, best: Solution, answer: Integers, weight: Floats, pulls: Integers) -> Outcomes:
        """Compare answers with the truth."""
        arms, costs = len(self.instance.arms), len(self.instance.bound)
        said_feasible = answer[:, 0] >= 0
        same = (answer == np.array(best.basis)).all(axis=1) if best.feasible else ~said_feasible
        right = same & (said_feasible == best.feasible)
        outcome = np.where(right, CORRECT, np.where(said_feasible, WRONG_SUPPORT, WRONGLY_INFEASIBLE)).astype(np.uint8)
        truth = np.vstack([self.instance.means, np.zeros((costs, 1 + costs))])
        share = np.where((answer < arms) & said_feasible[:, None], weight, 0.0)
        mixed = np.einsum("rj,rjd->rd", share, truth[answer])
        regret = (best.value if best.feasible else np.nan) - mixed[:, 0]
        violation = np.max(mixed[:, 1:] - self.instance.bound, axis=1, initial=0.0)
        for values in (regret, violation):
            values[~said_feasible] = np.nan
        return Outcomes(outcome, pulls, regret, violation)


def run_chunk(cell: Cell, first: int, last: int, runs: int) -> Outcomes:
    """``Cell.run``, as a function that executors can send."""
    return cell.run(first, last, runs)


def _code(score: Any) -> str | None:
    """Tells one user's function from another of the same name."""
    function = getattr(score, "py_func", score)
    code = getattr(function, "__code__", None)
    return None if code is None else hashlib.sha256(code.co_code + repr(code.co_consts).encode()).hexdigest()
