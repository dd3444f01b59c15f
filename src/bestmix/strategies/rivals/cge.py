"""CGE: the game explorer with known linear constraints (Carlsson, Basu, Johansson and Dubhashi, AISTATS 2024)."""

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
    nearest rewards that have another answer. The player's gain of an arm is the optimistic divergence from these, with
    the exploration function log t. Assumptions, and what differs from the paper, are those of ``CTnS``: it never stops
    either where no mix keeps the limits.

    No equation numbers, for the same reason. In the authors' ``constraint_explore.py`` this is the class ``CGE``, with
    ``best_response`` for the opponent and ``AdaGrad`` for the player; its docstring speaks of AdaHedge, which the
    script does not use.

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
