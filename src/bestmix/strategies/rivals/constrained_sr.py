"""Successive rejects with constraints, for the best feasible arm (Faizal and Nair, arXiv 2211.14768)."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats
from bestmix.kernels import alone
from bestmix.strategies.single_arm import SingleArm


@dataclass(frozen=True)
class ConstrainedSR(SingleArm):
    """Reject the arm with the largest estimated gap each round; ``SingleArm`` rejects infeasible arms first.

    The best arm so far is the feasible one with the highest mean reward or, where none is feasible, the one with the
    least excess. The gap of another arm is what makes it easiest to rule out: of a feasible arm the difference in
    reward; of an infeasible one with a higher reward its excess; of an infeasible one with a lower reward the larger of
    both; where no arm is feasible, the difference of the excesses. Gaps in reward and in costs are compared in units of
    the scales that the paper's concentration inequalities have, for Gaussian noise its standard deviations. With
    several costs the excess is the largest one. The schedule is that of Successive Rejects (Audibert and Bubeck); it
    has no round for an arm alone, which gets the whole budget.

    The paper assumes a fixed budget, estimators that concentrate at known rates, and a single arm as the answer, with
    a flag that says whether it is feasible: the verdict infeasible here. Of the paper the abstract was at hand, which
    says as much: the rule is written from what is known of it, may differ in details, and has no equation numbers.

    Parameters
    ----------
    sigma_reward, sigma_cost
        Scale of the noise of rewards, and of all costs.

    Examples
    --------
    >>> from bestmix import Problem
    >>> ConstrainedSR().start(Problem(["a", "b", "c"], {"dollars": 1.0}), budget=100).ask()
    {'a': 25, 'b': 25, 'c': 25}
    """

    sigma_reward: float = 1.0
    sigma_cost: float = 1.0

    kind: ClassVar[int] = alone.GAP

    def __post_init__(self) -> None:
        for name in ("sigma_reward", "sigma_cost"):
            value = checks.number(name, getattr(self, name))
            if value <= 0:
                raise checks.InvalidInput(name, expected="a positive number", got=value)

    @property
    def name(self) -> str:
        """The paper's name."""
        return "Constrained-SR"

    def _sigma(self, costs: int) -> Floats:
        return np.array([self.sigma_reward] + [self.sigma_cost] * costs, dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "ConstrainedSR", **asdict(self)}
