"""A problem of segments with its true means and its noise: only simulation sees it.

Columns are arms in segments, as ``kernels/layout.py`` has them, and a trial of one returns metrics.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bestmix.arrays import Flags, Floats
from bestmix.kernels import layout, segments, simplex
from bestmix.kernels.layout import Layout
from bestmix.kernels.segment_rejects import solve_left
from bestmix.problems.noise import CompiledNoise
from bestmix.problems.solution import check_settled


class Truth(NamedTuple):
    """The best mix when means are known: weights (n,), value, prices (R,), and which columns and slacks it uses."""

    weights: Floats
    value: float
    prices: Floats
    basic: Flags
    feasible: bool


@dataclass(frozen=True, eq=False)
class SegmentInstance:
    """Segments with shares, columns with true means, limits and noise.

    Attributes
    ----------
    layout
        Columns and rows.
    weight
        Shares of the segments (S,).
    means
        True means of the metrics of each column (n, M).
    noise
        Of a trial, in all metrics.
    """

    layout: Layout
    weight: Floats
    means: Floats
    noise: CompiledNoise

    @cached_property
    def known(self) -> Flags:
        """Columns that need no trials (n,)."""
        return layout.known_columns(self.layout)

    @cached_property
    def segment(self) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        """Segment of each column (n,)."""
        return np.repeat(np.arange(len(self.weight)), self.layout.sizes)

    @cached_property
    def entries(self) -> tuple[Floats, Floats]:
        """True objective (n,) and limits (n, R)."""
        mu, rows = np.empty(len(self.means)), np.empty(self.layout.constant.shape)
        layout.set_entries(self.layout, self.means, mu, rows)
        return mu, rows

    @cached_property
    def truth(self) -> Truth:
        """The best mix."""
        n, limits = self.layout.constant.shape
        program, _, status = solve_left(self.layout, self.weight, self.means, np.ones(n + limits, dtype=np.bool_))
        check_settled(status)
        mix, prices, basic = np.empty(n), np.empty(limits), np.zeros(n + limits, dtype=np.bool_)
        segments.weights(program, mix)
        segments.prices(program, prices)
        basic[:n] = mix > simplex.FEASIBLE
        for j, x in zip(program.basis, program.x, strict=True):
            if n <= j < n + limits:
                basic[j] = x > simplex.FEASIBLE
        return Truth(mix, float(segments.value(program)), prices, basic, status == simplex.OPTIMAL)

    def losses(self, mix: Floats) -> Floats:
        """Regret plus price times violation of mixes (runs, n), each deployed on the true shares of segments."""
        mu, rows = self.entries
        totals = np.zeros((len(mix), len(self.weight)))
        for s in range(len(self.weight)):
            totals[:, s] = mix[:, self.segment == s].sum(axis=1)
        served = np.where(totals > 0, self.weight / np.where(totals > 0, totals, 1.0), 0.0)[:, self.segment]
        x = mix * served
        over = x @ rows - self.layout.right
        broken = np.where(self.layout.equality, over, np.maximum(over, 0.0))
        return np.asarray(np.maximum(self.truth.value - x @ mu, 0.0) + broken @ self.truth.prices)

    def wrong(self, basic: Flags, feasible: Flags) -> Flags:
        """Which answers (runs, n + R) are made of other columns and slacks than the best mix."""
        return np.asarray((basic != self.truth.basic).any(axis=1) | (feasible != self.truth.feasible))
