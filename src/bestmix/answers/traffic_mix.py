"""The mix to serve beside exploration, so that all traffic together keeps the limits with a wanted certainty.

    max r.p   subject to   rows_l.t + width_l(t) <= right_l + allowance_l,   t = (1 - e) p + e w,   p a mix

A share e of the traffic explores by a plan w, the rest is served the mix p. As both p and w fill every segment, rows
and widths of t are those of p with other entries: the program of ``program_safety.py`` again, whose search finds p.
An allowance is what the traffic so far has left of a limit, or lacks. What is left may pay for the margin of a limit,
never for a mean above it.
"""

import numpy as np

from bestmix.answers import program_cone
from bestmix.answers.noisy_program import NoisyProgram
from bestmix.answers.program_cone import Cones
from bestmix.answers.program_safety import ProgramLimits, entry_variances
from bestmix.answers.safe_search import certain
from bestmix.arrays import Flags, Floats


class TrafficLimits(ProgramLimits):
    """The limits on all traffic as the search for the served mix sees them; all columns are usable.

    Parameters
    ----------
    program
        Columns, limits and estimates.
    plan
        Where exploration goes, as shares of all users (n,), in each segment as much as its share.
    explore
        Share of the traffic that explores, below 1.
    allowance
        What the traffic so far has left of each limit, for a request of the round (R,); below zero what it lacks.
    """

    def __init__(self, program: NoisyProgram, plan: Floats, explore: float, allowance: Floats) -> None:
        super().__init__(program)
        self.explore = explore
        total = np.where(self.line.weight > 0, self.line.weight, 1.0)
        self.within_segment = plan / total[self.line.segment]
        explored = np.zeros((len(total), program.limits))
        np.add.at(explored, self.line.segment, self.within_segment[:, None] * self.line.rows)
        rows = (1.0 - explore) * self.line.rows + explore * explored[self.line.segment]
        self.line = self.line._replace(rows=rows, right=self.line.right + allowance)
        self.credit: Flags = np.asarray(allowance > 0)
        self.allowance = allowance

    def cones(self, tail: Floats | float, sign: Floats | float = 1.0) -> Cones:
        """Margins of the traffic as those of the served mix."""
        return self._mixed(super().cones(tail, sign))

    def _mixed(self, cones: Cones) -> Cones:
        """A column's part of the traffic is (1 - e) (p + e / (1 - e) w): the plan is a constant part of its segment."""
        served = 1.0 - self.explore
        factor = (cones.factor - self.explore * self.within_segment[:, None]) / served
        return Cones(served * cones.margin, factor, cones.share)

    def within(self, tail: Floats | float) -> Floats | None:
        """The best mix with margins; what is left of a limit pays for its margin alone."""
        line, cones, paid = self.line, self.cones(tail), self.credit & ~self.line.equality
        none = np.zeros((len(line.mu), int(paid.sum())))
        line = line._replace(
            rows=np.hstack([line.rows, line.rows[:, paid]]),
            right=np.r_[line.right, (line.right - self.allowance)[paid]],
            equality=np.r_[line.equality, np.zeros(none.shape[1], dtype=np.bool_)],
        )
        cones = Cones(
            np.hstack([cones.margin, none]),
            np.hstack([cones.factor, none]),
            np.r_[cones.share, np.zeros(none.shape[1])],
        )
        return program_cone.cone_mix(line, cones)

    def means(self, mixture: Floats) -> tuple[Floats, Floats]:
        """What each limit is above its right side in all traffic, and its standard error."""
        margin = np.sqrt(entry_variances(self.program)[:, 1:])
        width = program_cone.widths(self.line, self._mixed(Cones(margin, self.factor, self.shared)), mixture)
        return mixture @ self.line.rows - self.line.right, width


def served_mix(
    program: NoisyProgram, plan: Floats, explore: float, allowance: Floats, chance: float | None, safety: float
) -> Floats | None:
    """The best mix to serve beside exploration; None when the traffic would not keep its limits with certainty.

    All columns of the program are usable; ``chance`` is that of the support of the optimum at the estimates.

    >>> from bestmix.answers.noisy_program import noisy_program
    >>> from bestmix.kernels.layout import new_layout
    >>> one = new_layout([2], transform=np.eye(2)[None], constant=np.full((2, 1), -1.0))
    >>> means, scatters = np.array([[1.7, 0.0], [2.6, 1.8]]), np.tile(99.0 * np.eye(2), (2, 1, 1))
    >>> program = noisy_program(one, np.ones(1), means, scatters, np.full(2, 100.0))
    >>> for explore in (0.0, 0.2):
    ...     print(served_mix(program, np.array([0.0, 1.0]), explore, np.zeros(1), 1.0, 0.95).round(2).tolist())
    [0.51, 0.49]
    [0.64, 0.36]
    """
    return certain(TrafficLimits(program, plan, explore, allowance), chance, safety)[0]
