"""The mix that keeps every limit of a program with a wanted certainty: limits of every kind, in segments too.

The rule of ``safety.py`` for all noisy limits over all columns. Limits on shares and on known metrics have no margin; a
relative limit counts the noise of its arm of reference; shares of segments that were estimated add their variance. An
equality of means can only be met at the estimates: nothing certain is said of it.
"""

from functools import cached_property

import numpy as np

from bestmix.answers import likeliest, program_cone
from bestmix.answers.cone import ROUGH, dust
from bestmix.answers.noisy_program import NoisyProgram, restricted
from bestmix.answers.program_cone import Cones, Rows
from bestmix.answers.safe_search import (
    HALVINGS,
    Guess,
    SafeMix,
    described,
    judged,
    nothing,
    search,
    shown_odds,
    spread_out,
    tails_at,
)
from bestmix.answers.safety import SOME_TAIL, binomial_margins, farther, freedoms, rare_margins, rounded
from bestmix.answers.skewness import SKEWNESS, of_entries
from bestmix.arrays import Flags, Floats
from bestmix.kernels.layout import known_rows

NEAR = 0.02  # of the widest margins, at which they are near enough


class ProgramLimits:
    """The limits of a program as the search for a safe mix sees them; all its columns are usable.

    With ``common`` only mixes that are the same in all segments are looked for (``common_arms``).
    """

    def __init__(self, program: NoisyProgram, common: Floats | None = None) -> None:
        self.program, self.common, rules = program, common, program.layout
        mu, rows = program.entries()
        self.line = Rows(mu, rounded(rows), rules.right, rules.equality, program.segment, program.weight)

    @property
    def counts(self) -> Floats:
        """Trials of each column (n,)."""
        return self.program.data.counts

    @cached_property
    def noisy(self) -> Flags:
        """Limits that are kept with a margin (R,)."""
        rules = self.program.layout
        quiet = rules.known & known_rows(rules)  # shares of arms have noise where those of states have
        return np.asarray((~quiet & ~self.line.equality) | (self.shared > 0))

    @property
    def rivals(self) -> int:
        """Further columns out of which the trials chose these."""
        return self.program.data.rivals

    @cached_property
    def events(self) -> int:
        """Limits whose noise is all of values of 0 and 1."""
        data, tried = self.program.data, np.isfinite(self.counts) & (self.counts > 0)
        turn = np.repeat(self.program.layout.transform[:, 1:], self.program.layout.sizes, axis=0)  # (n, R, M)
        used = (turn[tried] != 0) & (np.diagonal(data.covariances, axis1=1, axis2=2)[tried] > 0)[:, None]
        others = (used & (data.binary[tried] == 0)[:, None]).any(axis=(0, 2))
        return int((self.noisy & used.any(axis=(0, 2)) & ~others).sum())

    @property
    def size(self) -> int:
        """One column of each segment, and one more for each limit."""
        return len(self.program.layout.sizes) + len(self.noisy)

    @cached_property
    def factor(self) -> Floats:
        """What multiplies a segment's weight in the limits of which a column is the reference: (n, R)."""
        rules = self.program.layout
        result = np.zeros(self.line.rows.shape)
        for s, r in np.argwhere(rules.reference >= 0):
            result[rules.reference[s, r], r] = rules.factor[r]
        return result

    def cones(self, tail: Floats | float, sign: Floats | float = 1.0) -> Cones:
        """Margins that miss with these chances (R,): above the estimates, or with sign -1 below them."""
        from scipy.special import ndtri

        margin = entry_margins(self.program, tail, sign, slice(1, None))
        if self.factor.any():  # what a reference adds may have either sign
            other = entry_margins(self.program, tail, -np.asarray(sign), slice(1, None))
            margin = np.where(self.factor != 0, np.maximum(margin, other), margin)
        return Cones(margin, self.factor, self.shared * np.maximum(-ndtri(np.maximum(tail, 1e-300)), 0.0))

    @cached_property
    def shared(self) -> Floats:
        """What a standard deviation of segments' means counts for in each limit (R,): one over the root of arrivals.

        Nothing in limits of one segment, which it keeps or not whatever its share is.
        """
        used = np.array(
            [(self.line.rows[self.line.segment == s] != 0).any(axis=0) for s in range(len(self.line.weight))]
        )
        error = 1.0 / np.sqrt(self.program.arrivals) if self.program.arrivals > 0 else 0.0
        return np.where((used.sum(axis=0) > 1) & ~self.line.equality, error, 0.0)

    def optimum(self) -> Guess:
        """The best mix at the estimates."""
        return program_cone.optimum(self.line, self.common)

    def noise(self, mixture: Floats) -> Floats:
        """Covariances of the objective and the limits (1 + R, 1 + R); of a relative limit with its arm of reference."""
        line, turn = self.line, np.repeat(self.program.layout.transform, self.program.layout.sizes, axis=0)
        totals = np.bincount(line.segment, mixture, len(line.weight))[line.segment]
        weights = np.column_stack([mixture, mixture[:, None] - self.factor * totals[:, None]]) / np.sqrt(
            self.counts[:, None]
        )
        part = weights[:, :, None] * turn  # (n, 1 + R, M)
        return np.asarray(np.einsum("nri,nij,nsj->rs", part, self.program.data.covariances, part))

    def within(self, tail: Floats | float) -> Floats | None:
        """The best mix with margins."""
        return program_cone.cone_mix(self.line, self.cones(tail), common=self.common)

    def widest(self, tail: float) -> tuple[float, Floats | None]:
        """The share of the margins that some mix has room for, by bisection between the best mix so far and failure."""
        line, cones, low, high, best = self.line, self.cones(tail), 0.0, 1.0, None
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            found = program_cone.cone_mix(line, cones.times(middle), finish=False, common=self.common)
            if found is None:
                high = middle
            else:
                low, best = max(middle, program_cone.room(line, cones, found)), found
            if high - low <= NEAR * high:
                break
        if best is not None:  # the best of those that have as much room, but for a little
            finest = program_cone.cone_mix(line, cones.times(ROUGH * min(low, 1.0)), common=self.common)
            best = best if finest is None else finest
        return min(low, 1.0), best

    def likeliest(self, mixture: Floats) -> Floats:
        """The mix that most likely keeps all limits, by steps from a given one; equalities would not let it move."""
        from scipy.special import ndtri

        if self.line.equality.any():
            return mixture
        cones = self.cones(likeliest.TAIL).times(-1.0 / ndtri(likeliest.TAIL))
        size = np.maximum(np.abs(self.line.rows), cones.margin).max(axis=0, initial=0.0)
        size = np.where(size > 0, np.maximum(size, np.abs(self.line.right)), 1.0)
        line = self.line._replace(rows=self.line.rows / size, right=self.line.right / size)
        cones = cones._replace(margin=cones.margin / size)

        def scores(mix: Floats) -> tuple[Floats, Floats]:
            return line.right - mix @ line.rows, program_cone.widths(line, cones, mix)

        def slopes(mix: Floats) -> tuple[Floats, Floats]:
            return -line.rows, program_cone.slopes(line, cones, mix)[1]

        found = likeliest.likeliest(mixture, scores, slopes, line.segment, line.weight)
        return np.where(self.free[line.segment], mixture, found)

    @property
    def free(self) -> Flags:
        """Segments that no limit is about (S,)."""
        some = (self.line.rows != 0) | (self.cones(likeliest.TAIL).margin != 0) | (self.factor != 0)
        limited = np.bincount(self.line.segment, some.any(axis=1), len(self.line.weight)) > 0
        return np.asarray(~limited & ~(self.shared != 0).any())

    def tails(self, mixture: Floats) -> Floats:
        """Chance that each limit is broken by a mix that was fixed beforehand (R,); none for equalities."""
        from scipy.special import ndtr

        line = self.line
        gap = line.right - mixture @ line.rows
        some = program_cone.widths(line, self.cones(np.full(len(gap), SOME_TAIL)), mixture)
        rounding = dust(line.rows, line.right, some)
        sign = np.where(gap >= -rounding, 1.0, -1.0)

        def outside(z: Floats) -> Flags:
            width = program_cone.widths(line, self.cones(np.asarray(ndtr(-z)), sign), mixture)
            return np.asarray(width > np.abs(gap) + rounding)

        return np.where(line.equality, 0.0, tails_at(outside, sign))

    def keeps(self, mixture: Floats, tail: float, times: float) -> bool:
        """Whether a mix would keep the limits with margins; equalities are left out."""
        data = self.program.data
        more = ProgramLimits(self.program._replace(data=data._replace(counts=times * data.counts)), self.common)
        line = more.line
        width = program_cone.widths(line, more.cones(tail), mixture)
        room = line.right - mixture @ line.rows + dust(line.rows, line.right, width)
        return bool((line.equality | (width <= room)).all())

    def means(self, mixture: Floats) -> tuple[Floats, Floats]:
        """What each limit is above its right side at the estimates (R,), and its standard error."""
        margin = np.sqrt(entry_variances(self.program)[:, 1:])
        width = program_cone.widths(self.line, Cones(margin, self.factor, self.shared), mixture)
        return mixture @ self.line.rows - self.line.right, width

    def interval(self, mixture: Floats, tail: float) -> tuple[Floats, Floats]:
        """Ends of the interval of what each limit is above its right side (R,), each missed with this chance."""
        middle = mixture @ self.line.rows - self.line.right
        low, high = (program_cone.widths(self.line, self.cones(tail, sign), mixture) for sign in (-1.0, 1.0))
        return middle - low, middle + high


def safe_program_mix(program: NoisyProgram, chance: float | None, safety: float = 0.95) -> SafeMix:
    """Mix with the largest estimated objective among those that keep all limits with the wanted certainty.

    ``chance`` is that of the support of the optimum at the estimates. ``mean`` is what each limit is above its right
    side, zero at the bound.

    >>> import numpy as np
    >>> from bestmix.answers.noisy_program import noisy_program
    >>> from bestmix.kernels.layout import new_layout
    >>> one = new_layout([2], transform=np.eye(2)[None], constant=np.full((2, 1), -1.0))
    >>> means, scatters = np.array([[1.7, 0.0], [2.6, 1.8]]), np.tile(99.0 * np.eye(2), (2, 1, 1))
    >>> found = safe_program_mix(noisy_program(one, np.ones(1), means, scatters, np.full(2, 100.0)), chance=1.0)
    >>> found.mixture.round(2).tolist(), found.certified
    ([0.51, 0.49], True)
    """
    inner, some = restricted(program)
    if not len(some.columns):
        return nothing(len(program.data.means), program.limits)
    return _whole(program, search(ProgramLimits(inner), chance, safety))


def program_odds(program: NoisyProgram, chance: float | None) -> float:
    """The odds of ``shown_odds`` for a mix of this program."""
    return shown_odds(ProgramLimits(restricted(program)[0]), chance)


def described_program_mix(program: NoisyProgram, weights: Floats, odds: float) -> SafeMix:
    """Any mix of usable columns with its certainty, such as the optimum at the estimates; never certified.

    ``odds`` are those of ``program_odds`` for a mix that was chosen from the same trials, and 1 for one that was not.
    """
    inner, some = restricted(program)
    found = described(ProgramLimits(inner), weights[some.columns], odds)
    return _whole(program, found)._replace(certified=False)


def judged_program_mix(program: NoisyProgram, weights: Floats, chance: float | None, safety: float) -> SafeMix:
    """A given mix (n,) as ``safe_program_mix`` would judge it."""
    inner, some = restricted(program)
    return _whole(program, judged(ProgramLimits(inner), chance, weights[some.columns], safety))


def _whole(program: NoisyProgram, found: SafeMix) -> SafeMix:
    """In all columns. Nothing is certain while a segment has no column to use."""
    result = spread_out(found, program.usable)
    served = np.bincount(program.segment, program.usable, len(program.weight)) > 0
    return result if served[program.weight > 0].all() else result._replace(certified=False, certainty=0.0)


def common_arms(program: NoisyProgram) -> Floats:
    """Weights of the columns of each arm that all segments have, where that arm is for all users: (n, arms)."""
    arm, segment = program.layout.arm, program.segment
    everywhere = [a for a in np.unique(arm) if len(set(segment[arm == a])) == len(program.weight)]
    return np.where(arm[:, None] == np.array(everywhere, dtype=np.int64), program.weight[segment][:, None], 0.0)


def entry_variances(program: NoisyProgram) -> Floats:
    """Variance of each estimated entry, the objective first: (n, 1 + R)."""
    turn = np.repeat(program.layout.transform, program.layout.sizes, axis=0)
    spread = np.einsum("nri,nij,nrj->nr", turn, program.data.covariances, turn)
    return np.asarray(np.maximum(spread, 0.0) / program.data.counts[:, None])


def entry_margins(program: NoisyProgram, tail: Floats | float, sign: Floats | float, which: slice) -> Floats:
    """Distance of one-sided limits from some estimated entries (n, entries), the objective being the first.

    Student's quantile times the standard error; where metrics are 0 or 1 their part is ``binomial_margins``.
    """
    from scipy.special import stdtrit

    data = program.data
    turn = np.repeat(program.layout.transform[:, which], program.layout.sizes, axis=0)  # (n, entries, M)
    variance, quantile = entry_variances(program)[:, which], -stdtrit(freedoms(data)[:, None], np.maximum(tail, 1e-300))
    flags = ((data.binary != 0) & np.isfinite(data.counts)[:, None])[:, None, :] & (turn != 0)
    quantile = np.maximum(quantile, 0.0)
    least = np.zeros(variance.shape)
    if data.skew is not None:
        skew = of_entries(turn, data.skew, data.covariances)
        quantile = farther(quantile, sign * skew[..., SKEWNESS], data.counts[:, None])
        least = rare_margins(skew, data.counts[:, None], tail, sign)
    if not flags.any():
        return np.asarray(np.maximum(quantile * np.sqrt(variance), least))
    own = np.diagonal(data.covariances, axis1=1, axis2=2)[:, None, :] / data.counts[:, None, None] * turn**2
    rest = np.maximum(variance - np.where(flags, own, 0.0).sum(axis=2), 0.0)
    wide = np.broadcast_to(np.asarray(tail, dtype=np.float64), variance.shape[1:])[None, :, None]
    ways = np.broadcast_to(np.asarray(sign, dtype=np.float64), variance.shape[1:])[None, :, None] * np.sign(turn)
    events = data.binary[:, None, :]
    share = np.broadcast_to(events * data.means[:, None, :], turn.shape)
    shares = np.abs(turn) * binomial_margins(share, data.counts[:, None, None], wide, events * ways, data.few)
    return np.asarray(np.maximum(np.sqrt(quantile**2 * rest + np.where(flags, shares**2, 0.0).sum(axis=2)), least))
