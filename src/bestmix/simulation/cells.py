"""A cell of a sweep: one strategy on one instance with one budget; its runs come in seeded blocks.

What a run gives depends on the seed, the instance, the strategy, the budget and the run's number, and
on nothing else. Runs are drawn in blocks of a fixed size, each from its own generator, so that blocks
can be computed anywhere and in any order.
"""

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestmix.arrays import Floats, Integers
from bestmix.problems.instance import Instance
from bestmix.problems.solution import Solution, solve
from bestmix.strategies import Strategy
from bestmix.strategies.paid import Paid
from bestmix.strategies.protocol import Compiled, Replicable, Scored, certified_mix
from bestmix.strategies.replication import Replication

BLOCK = 250  # runs that share a generator; changing it changes every result
ROUNDING = 1e-12  # of the largest mean cost: an excess that is none
CORRECT, WRONG_SUPPORT, WRONGLY_INFEASIBLE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What each run came to; regret, violation and loss are NaN where the verdict was infeasible.

    ``outcome`` is CORRECT, WRONG_SUPPORT or WRONGLY_INFEASIBLE. ``regret`` is the best value minus the
    true mean reward of the mix that the run ended with, and negative where it buys reward with a violation;
    ``violation`` is the largest excess of a true mean cost over its bound. ``loss`` is the regret plus every excess
    at its true shadow price: never negative, and zero for the best mix alone. Runs kept by 0.1 have no loss (NaN).
    """

    outcome: NDArray[np.uint8]
    pulls: Integers
    regret: Floats
    violation: Floats
    loss: Floats

    def __len__(self) -> int:
        return len(self.outcome)

    def __getitem__(self, runs: slice) -> "Outcomes":
        return Outcomes(*(values[runs] for values in vars(self).values()))

    @classmethod
    def join(cls, parts: list["Outcomes"]) -> "Outcomes":
        """One after another."""
        parts = [cls(np.empty(0, np.uint8), np.empty(0, np.int64), *np.empty((3, 0))), *parts]
        return cls(*(np.concatenate(values) for values in zip(*(vars(part).values() for part in parts), strict=True)))


@dataclass(frozen=True, eq=False)
class Cell:
    """One strategy on one instance with one budget and seed."""

    instance: Instance
    strategy: Strategy
    budget: int
    seed: int
    beside: int = field(default=1, kw_only=True)  # cells of the sweep, which need the same machine code

    @property
    def content(self) -> dict[str, Any]:
        """All that a run depends on."""
        return {
            "instance": self.instance.to_dict(),
            "strategy": self.strategy.to_dict(),
            "code": _code(self.strategy.score) if isinstance(self.strategy, Scored) else None,
            "budget": self.budget,
            "seed": self.seed,
        }

    @cached_property
    def digest(self) -> str:
        """Names the cell's content: instance, strategy, budget and seed."""
        text = json.dumps(self.content, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @cached_property
    def fast(self) -> Any:
        """The strategy's own simulated runs, or None."""
        return self.strategy.replicator(self.instance, self.budget) if isinstance(self.strategy, Replicable) else None

    @property
    def compiled(self) -> bool:
        """Whether runs leave Python's global lock alone, so that threads speed them up."""
        return isinstance(self.fast, Compiled) and self.fast.compiled

    @property
    def amount(self) -> float:
        """The budget as a number, of trials or of money."""
        return self.strategy.spend.amount if isinstance(self.strategy, Paid) else self.budget

    def bare(self) -> "Cell":
        """The cell without what it has computed, which need not travel."""
        return Cell(self.instance, self.strategy, self.budget, self.seed, beside=self.beside)

    def generator(self, block: int) -> np.random.Generator:
        """The random numbers of a block."""
        sequence = np.random.SeedSequence(int(self.digest, 16), spawn_key=(block,))
        return np.random.Generator(np.random.PCG64(sequence))

    def run(self, first: int, last: int, runs: int) -> Outcomes:
        """Outcomes of the blocks [first, last), as far as there are runs."""
        blocks = range(first, last)
        return Outcomes.join([self._outcomes(block, min(BLOCK, runs - block * BLOCK), runs) for block in blocks])

    @cached_property
    def _truth(self) -> "Truth":
        return Truth.of(self.instance)

    def _outcomes(self, block: int, size: int, runs: int) -> Outcomes:
        """Outcomes of the first ``size`` runs of a block, of so many runs in all."""
        return self._truth.judge(*self._block(block, size, runs))

    def _block(self, block: int, size: int, runs: int) -> tuple[Integers, Floats, Integers]:
        """Basis, true means of the mix (runs, 1 + L) and trials of each run of a block; infeasible is the basis -1."""
        costs = len(self.instance.bound)
        answer, pulls = np.zeros((size, 1 + costs), dtype=np.int64), np.zeros(size, dtype=np.int64)
        if self.fast is None:
            return answer, self._live(self.generator(block), answer, pulls) @ self.instance.means, pulls
        weight = np.zeros((size, 1 + costs))
        if isinstance(self.fast, Replication):
            self.fast.some(runs * self.beside, self.generator(block), answer, weight, pulls)
        else:
            self.fast(self.generator(block), answer, weight, pulls)
        return answer, np.einsum("rj,rjd->rd", weight, self._truth.means[answer]), pulls

    def _live(self, rng: np.random.Generator, answer: Integers, pulls: Integers) -> Floats:
        """Runs of any strategy through its ask and tell; their mixes."""
        mixture = np.zeros((len(answer), len(self.instance.arms)))
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
                certified = certified_mix(search.strategy, problem, search.memory)
                mixture[run] = [said.mixture.get(arm, 0.0) for arm in problem.names] if certified is None else certified
            else:
                answer[run, 0] = -1
        return mixture


class Truth(NamedTuple):
    """What the answers on an instance are compared with.

    Attributes
    ----------
    best
        The optimum; ``basis`` are its columns.
    means
        Of all columns (K + L, 1 + L): a slack has none.
    excess
        Of each cost (L,) that counts as none.
    degenerate
        Whether a column of the basis has no weight, so that other bases have the same mix.
    """

    best: Solution
    basis: Integers
    means: Floats
    bound: Floats
    excess: Floats
    degenerate: bool

    @classmethod
    def of(cls, instance: Instance) -> "Truth":
        """The truth about an instance."""
        best, costs = solve(instance), len(instance.bound)
        excess = ROUNDING * np.abs(instance.means[:, 1:]).max(axis=0, initial=0.0)
        means = np.vstack([instance.means, np.zeros((costs, 1 + costs))])
        positive = np.count_nonzero(best.mixture > ROUNDING) + np.count_nonzero(best.slack > excess)
        basis, degenerate = np.array(best.basis, dtype=np.int64), bool(best.feasible and positive <= costs)
        return cls(best, basis, means, instance.bound, excess, degenerate)

    def judge(self, answer: Integers, mixed: Floats, pulls: Integers) -> Outcomes:
        """Outcomes of runs that ended with a basis (runs, 1 + L) and a mix of these true means."""
        feasible = answer[:, 0] >= 0
        outcome = np.where(feasible, np.uint8(WRONG_SUPPORT), np.uint8(WRONGLY_INFEASIBLE))
        outcome[(answer == self.basis).all(axis=1) if self.best.feasible else ~feasible] = CORRECT
        regret = (self.best.value if self.best.feasible else np.nan) - mixed[:, 0]
        excess = mixed[:, 1:] - self.bound
        excess[excess <= self.excess] = 0.0
        violation, loss = excess.max(axis=1, initial=0.0), np.maximum(regret + excess @ self.best.dual, 0.0)  # rounding
        if not feasible.all():
            for values in (regret, violation, loss):
                values[~feasible] = np.nan
        if self.degenerate:  # another basis with the same mix is as right
            outcome[loss <= ROUNDING * np.abs(self.means[:, 0]).max()] = CORRECT
        return Outcomes(outcome, pulls, regret, violation, loss)


def run_chunk(cell: Cell, first: int, last: int, runs: int) -> Outcomes:
    """``Cell.run``, as a function that executors can send."""
    return cell.run(first, last, runs)


def _code(score: Any) -> str | None:
    """Tells one user's function from another of the same name."""
    function = getattr(score, "py_func", score)
    code = getattr(function, "__code__", None)
    return None if code is None else hashlib.sha256(code.co_code + repr(code.co_consts).encode()).hexdigest()
