"""Error rates and losses of one strategy on one instance, by simulation: what every search for a budget asks for."""

import math
from collections.abc import Mapping

from bestmix.problems.instance import Instance
from bestmix.problems.spend import Spend
from bestmix.simulation import simulate
from bestmix.simulation.cells import BLOCK
from bestmix.simulation.results import wilson
from bestmix.simulation.sweep import new_cell
from bestmix.strategies import Strategy
from bestmix.strategies.paid import Paid
from bestmix.strategies.protocol import MOST_TRIALS

HOPELESS = 0.3  # an error beyond which a block of runs says all that a curve needs

Points = Mapping[int, float]  # error rate by budget


class ErrorRates:
    """Simulations of a strategy on an instance, each number of runs of each budget once.

    Budgets are numbers of trials; with a ``coin``, how many times its amount may be spent.
    """

    def __init__(
        self,
        instance: Instance,
        strategy: Strategy,
        seed: int,
        threads: int | None,
        arriving: bool = False,
        coin: Spend | None = None,
    ) -> None:
        self.instance, self.strategy, self.coin = instance, strategy, coin
        self.seed, self.threads, self.arriving = seed, threads, arriving
        self.pulls: dict[tuple[int, int], float] = {}
        self.counts: dict[tuple[int, int], int] = {}
        self.losses: dict[tuple[int, int], tuple[float, tuple[float, float]]] = {}

    @property
    def key(self) -> str:
        """Names what the errors depend on, save the budget and the number of runs."""
        return new_cell(self.instance, self.strategy, 0, self.seed, self.arriving).digest

    def errors(self, budget: int, runs: int) -> int:
        """Wrong answers among so many runs with a budget."""
        key = budget, runs
        if key not in self.counts:
            asked = self.instance, self.strategy, self._budget(budget), runs, self.seed
            result = simulate(*asked, threads=self.threads, arriving=self.arriving)
            self.counts[key] = result.errors
            self.losses[key] = result.loss, result.loss_interval
            self.pulls[key] = result.mean_pulls
        return self.counts[key]

    def _budget(self, budget: int) -> int | Spend:
        return budget if self.coin is None else self.coin.raised(budget * self.coin.amount)

    def rate(self, budget: int, runs: int) -> float:
        """The share of wrong answers."""
        return self.errors(budget, runs) / runs

    def interval(self, budget: int, runs: int) -> tuple[float, float]:
        """Its 95% interval."""
        return wilson(self.errors(budget, runs), runs)

    def loss(self, budget: int, runs: int) -> tuple[float, tuple[float, float]]:
        """Mean loss of the recommended mixes, with its 95% interval."""
        self.errors(budget, runs)
        return self.losses[budget, runs]

    def rough_rate(self, budget: int, runs: int) -> float:
        """``rate``, from fewer runs where it is far above all that anybody wants."""
        first = self.rate(budget, min(BLOCK, runs))
        return first if first > HOPELESS else self.rate(budget, runs)

    def smallest(self) -> int:
        """A budget that the strategy accepts, not far above the smallest one."""
        budget = len(self.instance.problem.cells) + 1
        while True:
            try:
                asked = self._budget(budget)
                recipe = Paid(self.strategy, asked) if isinstance(asked, Spend) else self.strategy
                recipe.begin(self.instance.problem, MOST_TRIALS if isinstance(asked, Spend) else asked)
                return budget
            except ValueError:
                if budget > 10**9:
                    raise
                budget = math.ceil(1.3 * budget)

    def growing(self, step: int) -> int:
        """Budgets for a curve: five trials for two arms at first, then each about 1.41 times the one before."""
        return round(2.5 * len(self.instance.arms) * 2 ** (step / 2))


class LossRates(ErrorRates):
    """The same simulations, by what the recommended mix loses."""

    def rate(self, budget: int, runs: int) -> float:
        """The mean loss."""
        return self.loss(budget, runs)[0]

    def interval(self, budget: int, runs: int) -> tuple[float, float]:
        """Its 95% interval."""
        return self.loss(budget, runs)[1]


def trials_for(error: float, points: Points, runs: int) -> float:
    """Trials at which a curve falls to the error for good, between two budgets by a line in logarithms.

    Infinite if it never does; the first budget if it is below from the start.

    >>> round(trials_for(0.1, {100: 0.4, 200: 0.2, 400: 0.05}, runs=1000))
    283
    """
    budgets = sorted(points)
    above = [k for k, budget in enumerate(budgets) if points[budget] > error]
    if not above:
        return float(budgets[0])
    if above[-1] == len(budgets) - 1:
        return math.inf
    low, high = budgets[above[-1]], budgets[above[-1] + 1]
    before, after = points[low], max(points[high], min(0.5 / runs, error))  # no error seen counts as half a one
    return float(low * (high / low) ** (math.log(before / error) / math.log(before / after)))
