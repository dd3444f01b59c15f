"""Which strategies are put side by side: those that spend a budget, and those that stop when they are sure."""

from collections.abc import Sequence

from bestmix.arrays import Integers
from bestmix.problems.instance import Instance
from bestmix.strategies.challenger import Challenger
from bestmix.strategies.protocol import Strategy
from bestmix.strategies.rivals.cge import CGE
from bestmix.strategies.rivals.constrained_sr import ConstrainedSR
from bestmix.strategies.rivals.ctns import CTnS
from bestmix.strategies.rivals.lagex import LAGEX
from bestmix.strategies.rivals.lats import LATS
from bestmix.strategies.rivals.ocba import OCBA
from bestmix.strategies.rivals.paced_thompson import PacedThompson
from bestmix.strategies.rivals.top_two import TopTwo
from bestmix.strategies.sfsr import SFSR
from bestmix.strategies.single_arm import SingleArm
from bestmix.strategies.uniform import Uniform

CONFIDENCE = 0.95  # of those that stop by themselves
SINGLE = ("single arm", "Constrained-SR", "OCBA")  # answer with one arm


def with_budget(instance: Instance) -> list[Strategy]:
    """Strategies that spend a budget; the last three answer with a single arm, and know the scale of the noise.

    >>> [s.name for s in with_budget(Instance([1.0, 2.0], [[0.0, 2.0]], [1.0]))][4:]
    ['top-two', 'paced Thompson', 'single arm', 'Constrained-SR', 'OCBA']
    """
    mixing: list[Strategy] = [Challenger(), SFSR(), SFSR(score="lagrangian"), Uniform(), TopTwo()]
    if (instance.bound > 0).all():
        mixing.append(PacedThompson())
    return [*mixing, SingleArm(), ConstrainedSR(*noise_scales(instance)), OCBA()]


def with_confidence(confidence: float = CONFIDENCE) -> list[Strategy]:
    """Strategies that stop by themselves when they are as sure as this.

    >>> [s.name for s in with_confidence(0.9)]
    ['Challenger[0.9]', 'top-two[0.9]', 'LAGEX[0.9]', 'LATS[0.9]', 'CTnS[0.9]', 'CGE[0.9]']
    """
    ours: list[Strategy] = [Challenger(confidence=confidence), TopTwo(confidence=confidence)]
    return [*ours, LAGEX(confidence), LATS(confidence), CTnS(confidence), CGE(confidence)]


def middle(budgets: Sequence[int]) -> int:
    """The one in the middle: both kinds of strategies are some way from either end there.

    >>> middle([250, 500, 1000])
    500
    """
    return budgets[len(budgets) // 2]


def cut_off(pulls: Integers, cap: float) -> float:
    """Share of the runs that did not stop by themselves: they made all the trials that they might.

    >>> import numpy as np
    >>> cut_off(np.array([80, 100]), cap=100)
    0.5
    """
    return float((pulls >= cap).mean())


def noise_scales(instance: Instance) -> tuple[float, float]:
    """Root mean square of the noise of rewards, and of all costs; one where there is none.

    >>> noise_scales(Instance([1.0, 2.0], [[0.0, 2.0]], [1.0], sigma_reward=1.0, sigma_cost=0.5))
    (1.0, 0.5)
    """
    variance = instance.covariance.diagonal(axis1=1, axis2=2)
    reward, cost = variance[:, 0].mean(), variance[:, 1:].mean() if variance.shape[1] > 1 else 0.0
    return float(reward) ** 0.5 or 1.0, float(cost) ** 0.5 or 1.0
