"""The budget that a strategy needs for a wanted error, or mean loss, by bisection on the simulator."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from bestmix.simulation.results import wilson
from bestmix.theory.planning.error_rates import ErrorRates

SCOUTS = 500  # runs with which the right order of magnitude is found
PRECISION = 1.02  # between neighbouring budgets, where the bisection ends
ROUGH = 1.15  # the same for a quick estimate


@dataclass(frozen=True)
class Budget:
    """How many trials a strategy needs; in a plan of money, how many times the plan's ``coin``.

    Attributes
    ----------
    strategy
        Its name.
    trials
        The budget to plan with: the upper end of the error's 95% interval is within the wanted error. None
        when the error stays above it up to ``most`` trials.
    least
        With this budget the whole interval is above the wanted error: the true need is likely between the two.
    error_rate, error_interval
        Simulated with ``trials``, or with ``most``: share of wrong answers, and its 95% interval.
    loss, loss_interval
        The mean loss there: regret, and what is above a limit at its shadow price.
    runs, seed
        Of each simulation.
    most
        Where the search was given up.
    curve
        Budgets tried with all runs, and their error rates.
    losses
        All budgets tried, and their mean losses.
    pulls
        Trials that were made with the budget in the mean.
    """

    strategy: str
    trials: int | None
    least: int
    error_rate: float
    error_interval: tuple[float, float]
    runs: int
    seed: int
    most: int
    curve: tuple[tuple[int, float], ...] = field(repr=False)
    loss: float = math.nan
    loss_interval: tuple[float, float] = (math.nan, math.nan)
    losses: tuple[tuple[int, float], ...] = field(default=(), repr=False)
    pulls: float = math.nan


class Bisection:
    """The search for the budget with which a strategy's error rate, or mean loss, is as wanted."""

    def __init__(self, rates: ErrorRates, error: float, scouts: int = SCOUTS, precision: float = PRECISION) -> None:
        self.rates, self.error, self.scouts, self.precision = rates, error, scouts, precision

    def bracket(self, start: int, runs: int, most: int) -> tuple[int, int] | None:
        """Budgets (too small, large enough), not far apart; None when nothing up to ``most`` is enough."""
        low, high = self.rates.smallest(), max(start, self.rates.smallest())
        if self.rates.rate(high, runs) <= self.error:
            while high > low and self.rates.rate(max(low, high // 2), runs) <= self.error:
                high = max(low, high // 2)
            return max(low, high // 2), high
        low = high
        while low < most:
            high = min(low * (4 if self.rates.rate(low, runs) > 0.6 else 2), most)
            if self.rates.rate(high, runs) <= self.error:
                return low, high
            low = high
        return None

    def narrow(self, low: int, high: int, enough: Callable[[int], bool], precision: float) -> tuple[int, int]:
        """Budgets of which the first is not enough and the second is, closer than ``precision``."""
        while high > low + 1 and high > precision * low:
            middle = round(math.sqrt(low * high))
            middle = min(max(middle, low + 1), high - 1)
            low, high = (low, middle) if enough(middle) else (middle, high)
        return low, high

    def budget(self, runs: int, most: int) -> Budget:
        """The budget to plan with."""
        found = self.bracket(10 * len(self.rates.instance.problem.cells), self.scouts, most)
        if found is None:
            return self._beyond(runs, most)
        low, high = found

        def safe(budget: int) -> bool:
            return self.rates.interval(budget, runs)[1] <= self.error

        def maybe(budget: int) -> bool:
            return self.rates.interval(budget, runs)[0] <= self.error

        while not safe(high):
            if high >= most:
                return self._beyond(runs, most)
            low, high = high, min(math.ceil(1.5 * high), most)
        while safe(low) and low > self.rates.smallest():
            low, high = max(low // 2, self.rates.smallest()), low
        _, trials = self.narrow(low, high, safe, self.precision)
        least = self.rates.smallest()
        if not maybe(least):
            floor = low if not maybe(low) else max(least, low // 2)
            least, _ = self.narrow(floor if not maybe(floor) else least, trials, maybe, self.precision)
        return self._found(trials, least, runs, most)

    def quick(self, start: int, runs: int, most: int) -> int | None:
        """A rough estimate: where the error rate itself crosses the wanted one."""
        found = self.bracket(start, runs, most)
        if found is None:
            return None
        return self.narrow(*found, lambda budget: self.rates.rate(budget, runs) <= self.error, ROUGH)[1]

    def _beyond(self, runs: int, most: int) -> Budget:
        self.rates.errors(most, runs)
        return self._found(None, most, runs, most)

    def _found(self, trials: int | None, least: int, runs: int, most: int) -> Budget:
        errors = self.rates.errors(most if trials is None else trials, runs)
        curve = sorted((budget, wrong / n) for (budget, n), wrong in self.rates.counts.items() if n == runs)
        name, interval = self.rates.strategy.name, wilson(errors, runs)
        losses = {budget: loss for (budget, _), (loss, _) in sorted(self.rates.losses.items())}
        known = *self.rates.loss(most if trials is None else trials, runs), tuple(losses.items())
        pulls = self.rates.pulls[most if trials is None else trials, runs]
        return Budget(
            name, trials, least, errors / runs, interval, runs, self.rates.seed, most, tuple(curve), *known, pulls
        )
