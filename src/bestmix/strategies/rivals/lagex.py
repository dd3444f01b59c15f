"""LAGEX: Lagrangian gamified explorer, for unknown costs (Das and Basu, AISTATS 2026, Algorithm 3)."""

from dataclasses import dataclass
from typing import ClassVar

from bestmix.kernels import tracked_runs
from bestmix.strategies.rivals.tracked import Tracked


@dataclass(frozen=True)
class LAGEX(Tracked):
    """Play the shares against the nearest confusing rewards, with Lagrange multipliers for the limits.

    As ``LATS``, but the shares are those of a player who moves by AdaGrad (Algorithm 3, line 5), against an opponent
    who answers with the nearest confusing rewards (Proposition 1). The player's gain of an arm is the optimistic
    divergence U_t (line 10) minus the price of breaking limits of the relaxed set (line 11). The multiplier of the
    limit that is broken most is at the bound of Theorem 1, the distance over the least slack of the mix; the others
    are zero, which is where the linear program of line 6 has its solution. How many trials it takes is Theorem 7.

    Assumptions, and what differs from the paper, are those of ``LATS``: in particular it has no rule for where **no
    mix keeps the limits**. The exploration function is g(t) = log t. Up to 50 steps of the game are made in a decision,
    one for each trial of the round.

    Examples
    --------
    >>> from bestmix import Instance
    >>> inst = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=0.3, sigma_cost=0.3)
    >>> LAGEX(confidence=0.9).start(inst.problem).ask()
    {'arm0': 5, 'arm1': 5, 'arm2': 5}
    """

    code: ClassVar[int] = tracked_runs.LAGEX
    label: ClassVar[str] = "LAGEX"
