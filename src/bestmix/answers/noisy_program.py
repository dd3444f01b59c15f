"""A linear program whose columns are known through trials: what every kind of problem comes down to.

Columns are arms, or arms in segments; a trial of one returns metrics; rows are limits, some noisy and some known
(``kernels/layout.py`` says how rows are made of metrics). The optimum at the estimates is solved among the columns that
can be used: those that were tried or are known. A segment that has none counts as if it just kept every limit.
"""

from typing import NamedTuple

import numpy as np

from bestmix.answers.certainty import DUST, support_probability
from bestmix.answers.safety import Estimates, chosen, estimates
from bestmix.arrays import Flags, Floats, Integers, Signs
from bestmix.kernels import bounding, jit, layout, segment_conditions, segment_state, segments, simplex
from bestmix.kernels.layout import Layout, Part
from bestmix.kernels.segment_conditions import Noise
from bestmix.kernels.segments import SegmentProgram
from bestmix.problems.solution import check_settled

STEPS = 2.5  # of an innermost loop that a solution takes for each column and pair of rows
CONTRADICTS = 1e-7  # a price in elastic units, above which a limit takes part in a contradiction


class NoisyProgram(NamedTuple):
    """A program of n columns in S segments with R limits, and what trials say about the M metrics of each column.

    Attributes
    ----------
    layout
        Columns and rows.
    weight
        Shares of the segments (S,).
    arrivals
        Number of users from whom the shares were estimated; 0 when they are known.
    data
        Means, covariances, counts and which values were 0 or 1, of metrics: (n, M) and so on. Counts are infinite for
        columns that are known as a whole, and 0 for untried ones.
    """

    layout: Layout
    weight: Floats
    arrivals: float
    data: Estimates

    @property
    def limits(self) -> int:
        """Number of limits."""
        return len(self.layout.right)

    @property
    def segment(self) -> Integers:
        """Segment of each column (n,)."""
        return np.repeat(np.arange(len(self.weight)), self.layout.sizes)

    @property
    def usable(self) -> Flags:
        """Columns that can be in a mix (n,)."""
        return layout.usable(self.layout, self.data.counts > 0)

    @property
    def judgeable(self) -> bool:
        """Whether there is any spread to go by: a column with two trials, or known columns alone."""
        trials = self.data.counts[np.isfinite(self.data.counts)]
        return bool((trials > 1).any() or not trials.any())

    def entries(self) -> tuple[Floats, Floats]:
        """Objective (n,) and limits (n, R) at the estimates."""
        n = len(self.data.means)
        mu, rows = np.empty(n), np.empty((n, self.limits))
        speed_of(rows)(layout.set_entries)(self.layout, self.data.means, mu, rows)
        return mu, rows

    def noise(self) -> Noise:
        """Where the noise of the entries comes from."""
        return layout.new_noise(self.layout, self.data.covariances.copy(), float(self.arrivals))


class Optimum(NamedTuple):
    """The best mix at the estimates; the least violation where none keeps all limits.

    Attributes
    ----------
    weights
        Of each column (n,): its share of all users. Zero in segments without a usable column.
    value, prices, slack
        The objective, what one more unit of each right side would add to it (R,), and what is left of each (R,).
    feasible
        Whether all limits are kept.
    excess
        By how much each limit fails (R,), where none can be kept: relaxed by that much all of them can. Negative where
        an equality is missed from below.
    contradicts
        The limits that cannot all be kept at once (R,).
    basis
        The basic columns, ascending (S + R,): n + r is the slack of limit r, beyond n + R are the elastic columns.
    z
        Distance of each condition from failing in standard errors (n + R,); infinite where a failure would not change
        the answer, NaN for a column that cannot be used. None when there is no spread to go by, or no feasible mix.
    chance
        Estimated chance that the answer's support is right; None when it cannot be said.
    """

    weights: Floats
    value: float
    prices: Floats
    slack: Floats
    feasible: bool
    excess: Floats
    contradicts: Flags
    basis: Integers
    z: Floats | None
    chance: float | None


def noisy_program(
    rows: Layout,
    weight: Floats,
    means: Floats,
    scatters: Floats,
    counts: Floats,
    binary: Signs | Flags | None = None,
    arrivals: float = 0.0,
    as_possible: bool = False,
    skew: Floats | None = None,
) -> NoisyProgram:
    """Program from sums over trials: means (n, M), scatter (n, M, M) and counts (n,) of each column.

    What the layout gives takes the place of what trials told; ``as_possible`` and ``skew`` (n, M, 3) are those of
    ``estimates``.

    >>> import numpy as np
    >>> one = layout.new_layout([2], transform=np.eye(2)[None], constant=np.full((2, 1), -1.0))
    >>> means = np.array([[1.7, 0.0], [2.6, 1.8]])
    >>> best = solve(noisy_program(one, np.ones(1), means, np.ones((2, 2, 2)), np.full(2, 9.0)))
    >>> best.weights.round(3).tolist(), round(best.value, 3)
    ([0.444, 0.556], 2.2)
    """
    given = ~np.isnan(rows.given)
    counts = np.where(layout.known_columns(rows), np.inf, np.asarray(counts, dtype=np.float64))
    means, exact = np.where(given, rows.given, means), given[:, :, None] | given[:, None, :]
    if given.any():
        # Of what is given trials tell nothing: as if they had told what the other columns' do, which leaves the pool.
        pooled = segment_state.pool(counts, rows.given, np.zeros(means.shape), scatters)
        freedom = np.where(np.isfinite(counts), np.maximum(counts - 1.0, 0.0), 0.0)
        scatters = np.where(exact, freedom[:, None, None] * pooled, scatters)
    scatters = np.where(np.isfinite(counts)[:, None, None], scatters, 0.0)
    data = estimates(means, scatters, counts, binary, as_possible, skew, exact if given.any() else None)
    data.covariances[exact] = 0.0
    return NoisyProgram(rows, np.asarray(weight, dtype=np.float64), float(arrivals), data)


def restricted(program: NoisyProgram) -> tuple[NoisyProgram, Part]:
    """Only the usable columns, and which they are."""
    some, data = layout.part(program.layout, program.usable), program.data
    at = some.columns
    return NoisyProgram(some.layout, program.weight[some.segments], program.arrivals, chosen(data, at)), some


def solve(program: NoisyProgram, columns: Flags | None = None) -> Optimum:
    """The optimum at the estimates, of all usable columns or of some of them (n,), with how sure it is."""
    n, limits = len(program.data.means), program.limits
    inner, some = restricted(program)
    left = np.ones(len(some.columns), dtype=np.bool_) if columns is None else columns[some.columns]
    if not left.any():
        return _nothing(n, limits)
    solved = optimised(inner, left)
    chosen = some.columns[left]
    weights, excess, prices = np.zeros(n), np.empty(limits), np.empty(limits)
    weights[chosen] = mix_of(solved)
    speed = speed_of(solved.rows)
    speed(segments.excess)(solved, excess)
    speed(segments.prices)(solved, prices)
    feasible = not excess.any()
    z = _z_scores(inner, solved, left) if feasible and program.judgeable else None
    return Optimum(
        weights=weights,
        value=float(speed(segments.value)(solved)),
        prices=prices if feasible else np.zeros(limits),
        slack=np.asarray(program.layout.right - weights[some.columns] @ inner.entries()[1]),
        feasible=feasible,
        excess=excess,
        contradicts=np.abs(solved.missing) > CONTRADICTS,
        basis=np.sort(renamed(np.r_[solved.key, solved.basis], chosen, n)),
        z=None if z is None else _spread_out(z, some.columns, n),
        chance=support_probability(z) if len(some.columns) == n else None,
    )


def optimised(program: NoisyProgram, columns: Flags) -> SegmentProgram:
    """The solved program of these columns, all of which are usable; segments without any are left out."""
    (mu, rows), rules = program.entries(), program.layout
    sizes = np.bincount(program.segment[columns], minlength=len(program.weight))
    weight = program.weight[sizes > 0]
    return maximised(mu[columns], rows[columns], rules.right, rules.equality, weight, sizes[sizes > 0])


def maximised(
    mu: Floats, rows: Floats, right: Floats, equality: Flags, weight: Floats, sizes: Integers
) -> SegmentProgram:
    """A solved program of segments: max mu.x with x.rows <= right, or = for an equality, and segments' totals."""
    solved = loaded(mu, rows, right, equality, weight, sizes)
    status = speed_of(rows)(bounding.maximise)(solved)
    check_settled(simplex.STALLED if status == simplex.STALLED else simplex.OPTIMAL)
    return solved


def loaded(mu: Floats, rows: Floats, right: Floats, equality: Flags, weight: Floats, sizes: Integers) -> SegmentProgram:
    """The program of ``maximised``, still to be solved."""
    result = segments.new_program(sizes, len(right))
    result.equality[:] = equality
    speed_of(rows)(segments.load)(result, mu, np.ascontiguousarray(rows), right, weight)
    return result


def speed_of(rows: Floats) -> jit.Speed:
    """How to call the kernels on a program with these entries in the limits (n, R)."""
    return jit.speed_for(STEPS * len(rows) * (1 + rows.shape[1]) ** 2)


def mix_of(solved: SegmentProgram) -> Floats:
    """Weights of the columns of a solved program (n,), without what rounding leaves of a zero."""
    result, total = np.empty(len(solved.mu)), solved.weight[solved.segment]
    speed_of(solved.rows)(segments.weights)(solved, result)
    result[result < simplex.FEASIBLE * total] = 0.0
    left = np.bincount(solved.segment, result, len(solved.weight))[solved.segment]
    return np.where(left > 0, result * (total / np.where(left > 0, left, 1.0)), 0.0)


def _z_scores(program: NoisyProgram, solved: SegmentProgram, left: Flags) -> Floats | None:
    """z-scores of all columns and slacks for the optimum of the columns ``left``; None when that is no basis."""
    n, limits = len(left), program.limits
    rules = program.layout
    whole = loaded(*program.entries(), rules.right, rules.equality, program.weight, rules.sizes)
    if len(solved.key) < len(whole.key):
        return None
    chosen = np.flatnonzero(left)
    whole.key[:], whole.basis[:] = chosen[solved.key], renamed(solved.basis, chosen, n)
    speed = speed_of(whole.rows)
    if not speed(bounding.invert)(whole):
        return None
    speed(bounding.set_prices)(whole, simplex.VALUE, whole.price)
    conditions = segment_conditions.new_conditions(n, limits)
    speed(segment_conditions.set_conditions)(whole, program.noise(), conditions)
    z = speed(segment_conditions.z_scores)(whole, conditions, program.data.counts)
    z[np.isinf(z) & (conditions.gap < -DUST)] = -np.inf
    z[conditions.harmless] = np.inf
    return z[: n + limits]


def renamed(basis: Integers, columns: Integers, n: int) -> Integers:
    """Numbers of basic columns in the whole program."""
    inside = basis < len(columns)
    return np.where(inside, columns[np.where(inside, basis, 0)], basis + n - len(columns))


def _spread_out(z: Floats, columns: Integers, n: int) -> Floats:
    result = np.full(n + len(z) - len(columns), np.nan)
    result[columns], result[n:] = z[: len(columns)], z[len(columns) :]
    return result


def _nothing(n: int, limits: int) -> Optimum:
    """Before any trial."""
    none, unknown = np.zeros(limits), np.full(limits, np.nan)
    flags = np.zeros(limits, dtype=np.bool_)
    empty = np.empty(0, dtype=np.int64)
    return Optimum(np.zeros(n), np.nan, none, unknown, False, none, flags, empty, None, None)
