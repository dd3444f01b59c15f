"""CGE: the game explorer with known linear constraints (Carlsson and others, AISTATS 2024, Algorithm 2)."""

from dataclasses import dataclass
from typing import ClassVar

from bestmix.kernels import tracked_runs
from bestmix.problems.problem import Problem
from bestmix.strategies.rivals.ctns import check_costs
from bestmix.strategies.rivals.tracked import Tracked


@dataclass(frozen=True)
class CGE(Tracked):
    """Play the shares against the nearest confusing rewards; costs are known.

    As ``CTnS``, but the shares are those of a player who moves by AdaGrad against an opponent who answers with the
    nearest rewards that have another answer. The player's gain of an arm is the optimistic divergence from these
    (Algorithm 2, line 5), with the exploration function log t of the paper's experiments; its theory (Theorem 4) has
    3 log t + log log t. Assumptions, and what differs from the paper, are those of ``CTnS``: it has no rule either for
    where no mix keeps the limits. AdaGrad has a diagonal here, and a whole matrix in the authors' class ``CGE``; up to
    50 steps of the game are made in a decision.

    Examples
    --------
    >>> from bestmix import Known, Problem
    >>> free, dear = Known(costs={"dollars": 0.0}), Known(costs={"dollars": 1.8})
    >>> CGE().start(Problem(["small", "large"], {"dollars": 1.0}, {"small": free, "large": dear})).ask()
    {'small': 5, 'large': 5}
    """

    code: ClassVar[int] = tracked_runs.CGE
    label: ClassVar[str] = "CGE"

    def _check_problem(self, problem: Problem) -> None:
        check_costs(self.label, problem)
