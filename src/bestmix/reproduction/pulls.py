"""How many trials a strategy needs for a wanted error, found by walking up the budgets."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from bestmix.problems.instance import Instance
from bestmix.reproduction.work import Shelf, work_off
from bestmix.simulation import simulate
from bestmix.simulation.cells import BLOCK, Cell
from bestmix.strategies import SFSR, Challenger, Strategy, Uniform

STRATEGIES: tuple[Strategy, ...] = (SFSR(), SFSR(score="lagrangian"), Uniform(), Challenger())
RIVALS = ("SFSR", "SFSR-L")
TARGETS = (0.1, 0.01)
ENOUGH = 0.8 * min(TARGETS)  # a walk ends at this error
MOST = 4_000_000  # and at this budget in any case
HOPELESS = 0.3  # an error beyond which a block of runs says all that the targets need

Points = Mapping[int, float]  # error rate by budget


@dataclass(frozen=True, eq=False)
class Walk:
    """A strategy on an instance, with growing budgets."""

    instance: Instance
    strategy: Strategy
    runs: int
    seed: int

    @property
    def key(self) -> str:
        """Names what the errors depend on, save the budget."""
        return f"{Cell(self.instance, self.strategy, 0, self.seed).digest}-{self.runs}"

    def budget(self, step: int) -> int:
        """Five trials for two arms at first; then each about 1.41 times the one before."""
        return round(2.5 * len(self.instance.arms) * 2 ** (step / 2))

    def error(self, budget: int) -> float:
        """The error rate with that budget; from fewer runs where it is far above all targets."""
        first = simulate(self.instance, self.strategy, budget, min(BLOCK, self.runs), self.seed, threads=1)
        if first.error_rate > HOPELESS or self.runs <= BLOCK:
            return first.error_rate
        return simulate(self.instance, self.strategy, budget, self.runs, self.seed, threads=1).error_rate


def walk_all(walks: Sequence[Walk], folder: Path, threads: int | None, progress: bool) -> list[Points]:
    """The error rates that each walk met. Those that are already in the folder are not computed again."""
    shelf = Shelf(folder)

    def walk_on(walk: Walk, stop: Event) -> Points:
        points = {int(budget): float(error) for budget, error in shelf.get(walk.key).items()}
        step = 0
        while not stop.is_set() and (budget := walk.budget(step)) <= MOST:
            if budget not in points:
                points[budget] = walk.error(budget)
                shelf.put(walk.key, {str(b): e for b, e in points.items()})
            if points[budget] <= ENOUGH:
                break
            step += 1
        return points

    return work_off(walk_on, walks, "walks", threads, progress)


def pulls_for(target: float, points: Points, runs: int) -> float:
    """Trials at which the error falls to the target for good, between two budgets by a line in logarithms.

    Infinite if it never does; the first budget if it is below from the start.

    >>> round(pulls_for(0.1, {100: 0.4, 200: 0.2, 400: 0.05}, runs=1000))
    283
    """
    budgets = sorted(points)
    above = [k for k, budget in enumerate(budgets) if points[budget] > target]
    if not above:
        return float(budgets[0])
    if above[-1] == len(budgets) - 1:
        return math.inf
    low, high = budgets[above[-1]], budgets[above[-1] + 1]
    before, after = points[low], max(points[high], min(0.5 / runs, target))  # no error seen counts as half a one
    return float(low * (high / low) ** (math.log(before / target) / math.log(before / after)))


def gain(pulls: Mapping[str, float]) -> float:
    """Trials of the better of SFSR and SFSR-L for one of Challenger's; NaN if none of them gets there.

    Who does not get there within ``MOST`` trials is taken to need that many.

    >>> gain({"SFSR": 900.0, "SFSR-L": 700.0, "USLP": 2000.0, "Challenger": 350.0})
    2.0
    """
    better, ours = min(pulls[name] for name in RIVALS), pulls["Challenger"]
    return math.nan if math.isinf(better) and math.isinf(ours) else min(better, MOST) / min(ours, MOST)
