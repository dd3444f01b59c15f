"""LATS: Lagrangian track and stop, for unknown costs (Das and Basu, AISTATS 2026, Algorithm 2)."""

from dataclasses import dataclass
from typing import ClassVar

from bestmix.kernels import tracked_runs
from bestmix.strategies.rivals.tracked import Tracked


@dataclass(frozen=True)
class LATS(Tracked):
    """Track the shares that are best for the estimates, of those that keep the limits optimistically.

    Every decision solves the program with bounds relaxed by the confidence width of the costs (eq. 2, Lemma 1), finds
    the neighbours of that vertex (Proposition 1, eq. 8), and the shares in the relaxed set that put the nearest of them
    as far away as can be (eq. 7, Theorem 4). There the Lagrange multipliers of Theorem 1 are zero. The trials follow
    the sum of the shares (C-tracking). It stops when the distance at the counts exceeds a threshold (Theorem 5; its T
    is Lemma 9's). How many trials that takes is Theorem 6.

    The paper assumes rewards and costs with independent noise of one known scale, a unique best mix and a mix with
    slack in every limit. Its proofs are about the distance in *rewards*: costs count through the width alone. It has
    no rule for **where no mix keeps the limits**: it stops after a few trials, as long as the relaxed ones have a mix,
    and the answer is wrong, or else tries all arms alike until the budget is spent. Give one, unless it is certain that
    some mix keeps them.

    What differs here, for the reader of the paper: the noise is estimated, pooled over the arms, from five trials of
    each arm at first; the width of the costs is that of the best mix at the estimates, in deviations of each cost,
    where the paper's depends on each mix and its costs are scaled to one; means are plain ones, without a ridge;
    definition (6) of the tolerance, zero by default, is used, where Theorem 4 and Proposition 1 have its sign reversed;
    decisions come after every 2% more trials, and a little of even shares is mixed in; and the answer is the best mix
    at the estimates, as for all strategies here, where the paper recommends that of the relaxed set, which exceeds the
    limits by design. The method is implemented, not the authors' scripts: as published, that of LAGEX ends every run
    after 500 trials, and that of LATS stops with an error.

    Examples
    --------
    >>> from bestmix import Instance
    >>> inst = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=0.3, sigma_cost=0.3)
    >>> LATS(confidence=0.9).start(inst.problem).ask()
    {'arm0': 5, 'arm1': 5, 'arm2': 5}
    """

    code: ClassVar[int] = tracked_runs.LATS
    label: ClassVar[str] = "LATS"
