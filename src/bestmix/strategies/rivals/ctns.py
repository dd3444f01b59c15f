"""CTnS: track and stop with known linear constraints (Carlsson and others, AISTATS 2024, Algorithm 1)."""

from dataclasses import dataclass
from typing import ClassVar

from bestmix.kernels import tracked_runs
from bestmix.problems.problem import Problem
from bestmix.strategies.protocol import check_plain
from bestmix.strategies.rivals.tracked import Tracked


def check_costs(label: str, problem: Problem) -> None:
    """Refuse what is more than the paper's problem, but for costs that are known of arms that are tried.

    >>> from bestmix import Known
    >>> check_costs("CTnS", Problem(["a", "b"], {"dollars": 1.0}, {"a": Known(costs={"dollars": 0.5})}))
    """
    if problem.segments or any(limit.on_share or limit.arm is not None or limit.equality for limit in problem.limits):
        check_plain(label, problem)


@dataclass(frozen=True)
class CTnS(Tracked):
    """Track the shares that put the nearest other answer as far away as can be; costs are known.

    The answer stays the best while the rewards are in its normal cone (Lemma 1, eq. 6). The shares maximise the
    smallest distance to a facet of the cone, each a projection in closed form for Gaussian rewards (Theorem 2): those
    of the lower bound (eq. 4 and 5) at the estimates. Trials follow the sum of the shares (C-tracking), and stop when
    the distance at the counts exceeds log((1 + log t) / delta) (eq. 10). Exploration itself is free, as in the paper's
    end-of-time setting: limits are on the answer alone.

    The paper assumes that costs are known, Gaussian rewards of one known scale, and a unique best mix. Give the costs
    as partly known arms: ``known={"small": Known(costs={"dollars": 0.001})}``. Costs that are not known are estimated
    and taken for true, which is what Das and Basu call CTnS-WLag: then the confidence does not hold. **Where no mix
    keeps the limits** it tries all arms alike until the budget is spent, or stops wrongly when estimates say otherwise:
    give one, unless it is certain that some mix does.

    What differs here, for the reader of the paper (Carlsson, Basu, Johansson and Dubhashi): the noise of rewards is
    estimated, pooled over the arms, from five trials of each arm at first; decisions come after every 2% more trials;
    a little of even shares is mixed in, where the paper projects onto shares that are at least so large; estimates are
    not projected onto a set of possible rewards; a tolerance is the definition of Das and Basu, not that of the paper's
    appendix D. In the authors' scripts (e-carlsson/constraint-pure-exploration) this is the class ``TnS`` of
    ``constraint_explore.py``; C-tracking is that of ``tracking`` there, which tracks directly by default.

    Examples
    --------
    >>> from bestmix import Known, Problem
    >>> free, dear = Known(costs={"dollars": 0.0}), Known(costs={"dollars": 1.8})
    >>> CTnS().start(Problem(["small", "large"], {"dollars": 1.0}, {"small": free, "large": dear})).ask()
    {'small': 5, 'large': 5}
    """

    code: ClassVar[int] = tracked_runs.CTNS
    label: ClassVar[str] = "CTnS"

    def _check_problem(self, problem: Problem) -> None:
        check_costs(self.label, problem)
