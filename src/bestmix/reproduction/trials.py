"""Error rates at growing budgets, and what Challenger gains by them over the paper's algorithms."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event

from bestmix.reproduction.parallel import map_in_threads
from bestmix.reproduction.results import ResultFolder
from bestmix.strategies import SFSR, Challenger, Strategy, Uniform
from bestmix.theory.planning.error_rates import ErrorRates, Points

STRATEGIES: tuple[Strategy, ...] = (SFSR(), SFSR(score="lagrangian"), Uniform(), Challenger())
RIVALS = ("SFSR", "SFSR-L")
TARGETS = (0.1, 0.01)
ENOUGH = 0.8 * min(TARGETS)  # a curve ends at this error
LARGEST_BUDGET = 4_000_000  # and at this budget in any case


def error_curves(
    asked: Sequence[tuple[ErrorRates, int]], folder: Path, threads: int | None, progress: bool
) -> list[Points]:
    """Error rates at growing budgets, of each strategy and instance with its number of runs, down to ``ENOUGH``.

    Those that are already in the folder are not computed again.
    """
    kept = ResultFolder(folder)

    def measure(item: tuple[ErrorRates, int], stop: Event) -> Points:
        rates, runs = item
        key = f"{rates.key}-{runs}"
        points = {int(budget): float(error) for budget, error in kept.get(key).items()}
        step = 0
        while not stop.is_set() and (budget := rates.growing(step)) <= LARGEST_BUDGET:
            if budget not in points:
                points[budget] = rates.rough_rate(budget, runs)
                kept.put(key, {str(b): e for b, e in points.items()})
            if points[budget] <= ENOUGH:
                break
            step += 1
        return points

    return map_in_threads(measure, asked, "curves", threads, progress)


def gain(pulls: Mapping[str, float]) -> float:
    """Trials of the better of SFSR and SFSR-L for one of Challenger's; NaN if none of them gets there.

    Who does not get there within ``LARGEST_BUDGET`` trials is taken to need that many.

    >>> gain({"SFSR": 900.0, "SFSR-L": 700.0, "USLP": 2000.0, "Challenger": 350.0})
    2.0
    """
    better, ours = min(pulls[name] for name in RIVALS), pulls["Challenger"]
    return (
        math.nan if math.isinf(better) and math.isinf(ours) else min(better, LARGEST_BUDGET) / min(ours, LARGEST_BUDGET)
    )
