"""Lines in the plane of one cost and the reward: best segments and frontiers."""

from dataclasses import dataclass

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats
from bestmix.problems.solution import solve_means


@dataclass(frozen=True)
class Segment:
    """The best feasible mix that a column takes part in: its intersection value score, and with whom.

    Columns are numbered as in a solution: the arms, and then the slack of the cost.
    """

    column: int
    partner: int
    score: float


def best_segments(means: Floats, bound: float) -> list[Segment]:
    """The intersection value score of each column, for one cost; with it the partner that gives it.

    Parameters
    ----------
    means
        Mean reward and mean cost of each arm (K, 2).
    bound
        The largest acceptable mean cost.

    Examples
    --------
    >>> best_segments(np.array([[1.7, 0.0], [2.6, 1.8], [0.5, 0.8]]), 1.0)[2]
    Segment(column=2, partner=1, score=0.92)
    """
    reward = np.append(means[:, 0], 0.0)
    excess = np.append(means[:, 1] - bound, 1.0)
    share = np.append(np.ones(len(means)), 0.0)  # a slack takes part in the balance but is no share of the mix
    return [_best(j, reward, excess, share) for j in range(len(reward))]


def _best(j: int, reward: Floats, excess: Floats, share: Floats) -> Segment:
    found = Segment(j, -1, -np.inf)
    for i in range(len(reward)):
        total = abs(excess[i]) * share[j] + abs(excess[j]) * share[i]
        if i != j and excess[i] * excess[j] <= 0 and total > 0:
            value = (abs(excess[i]) * reward[j] + abs(excess[j]) * reward[i]) / total
            if value > found.score:
                found = Segment(j, i, round(float(value), 12))
    return found


@dataclass(frozen=True)
class Frontier:
    """The line through the arms of the best mix; with a slack in the basis it is level.

    An arm's distance below it is the arm's Lagrangian score with the sign changed.
    """

    bound: float
    value: float
    slope: float
    basis: tuple[int, ...]

    def height(self, cost: Floats | float) -> Floats:
        """The line's reward at that cost."""
        return np.asarray(self.value + self.slope * (np.asarray(cost) - self.bound))


def frontier(means: Floats, bound: float) -> Frontier:
    """The frontier of means (K, 2): reward and one cost.

    >>> line = frontier(np.array([[1.7, 0.0], [2.6, 1.8], [0.5, 0.8]]), 1.0)
    >>> round(line.slope, 3), line.basis
    (0.5, (0, 1))
    """
    solution = solve_means(np.asarray(means), np.array([bound]))
    if not solution.feasible:
        raise checks.InvalidInput(
            "means", expected="an arm whose cost is within the bound", got="none", remedy="raise the bound"
        )
    return Frontier(float(bound), solution.value, float(solution.dual[0]), solution.basis)
