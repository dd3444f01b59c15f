"""The best mix of segments whose limits are kept with a margin: a linear program with a cone for each noisy limit.

    max mu.x   subject to   rows_r.x + width_r(x) <= right_r,   x a mix in every segment

The width of a limit is the length of a linear function of x: each column's margin times its weight, the arm of
reference of a relative limit with its weight less the factor times its segment's, and what estimated shares of segments
add. A plane touches it at any point, so planes at the optima of the programs before enclose the cone from outside;
planes between such an optimum and a mix that is within all cones do it faster, and that mix moves towards the optimum.
Where a few planes do not settle it a barrier method does (``barrier.py``), unless equalities leave it no room.
"""

from typing import NamedTuple

import numpy as np

from bestmix.answers.barrier import divided, follow, room_within
from bestmix.answers.cone import DUST, FINE, dust, lengths
from bestmix.answers.noisy_program import loaded, maximised, mix_of, speed_of
from bestmix.answers.safe_search import Guess
from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels import bounding, segments, simplex
from bestmix.kernels.segments import SegmentProgram

ROUNDS = 60  # of cutting planes
SLOW = 2  # rounds after which a mix within all cones is looked for
CLOSE = 1e-3  # of the spread of the objective, at which a mix within the cones is good enough
DEEP = 4.0  # times the largest entry of a limit: more than any mix can keep from it
TRACE = 0.01  # of a segment: a share that only the search has left
IDLE = 1  # rounds without a price after which a plane is dropped
DREGS = (1e-3, 1e-4, 1e-5)  # of a segment: shares that are left out, as long as the cones are kept
MOST_COLUMNS = 400  # of a barrier, whose equations have all of them


class Rows(NamedTuple):
    """The linear part of a program of segments: n columns, S segments, R limits.

    Attributes
    ----------
    mu, rows, right, equality
        Objective (n,), entries (n, R), right sides (R,) and which limits are equalities (R,).
    segment, weight
        Segment of each column (n,), and the shares of segments (S,).
    """

    mu: Floats
    rows: Floats
    right: Floats
    equality: Flags
    segment: Integers
    weight: Floats


class Cones(NamedTuple):
    """What makes up the width of each limit.

    Attributes
    ----------
    margin
        Of each column in each limit (n, R).
    factor
        For the columns of reference of relative limits, what multiplies their segment's weight: (n, R), else 0.
    share
        What multiplies the standard deviation of segments' means (R,), where shares are estimated, else 0.
    """

    margin: Floats
    factor: Floats
    share: Floats

    def times(self, size: float) -> "Cones":
        """Cones of another size."""
        return Cones(size * self.margin, self.factor, size * self.share)


def parts(line: Rows, cones: Cones, x: Floats) -> tuple[Floats, Floats]:
    """The vectors whose lengths are the widths: by column (n, R) and by segment (S, R)."""
    totals = _by_segment(line, x)
    own = cones.margin * (x[:, None] - cones.factor * totals[line.segment][:, None])
    means = _by_segment(line, x[:, None] * line.rows) / np.where(line.weight > 0, line.weight, 1.0)[:, None]
    around = means - line.weight @ means
    return own, cones.share * np.sqrt(line.weight)[:, None] * around


def widths(line: Rows, cones: Cones, x: Floats) -> Floats:
    """By how much each limit may be off (R,)."""
    own, shared = parts(line, cones, x)
    return lengths(np.vstack([own, shared]))


def planes(line: Rows, cones: Cones, x: Floats, some: Flags) -> tuple[Floats, Integers]:
    """Entries (n, planes) of the planes that touch some limits' cones at a point, and their limits."""
    width, slope = slopes(line, cones, x)
    limit = np.flatnonzero(some & (width > 0))
    return line.rows[:, limit] + slope[:, limit], limit


def slopes(line: Rows, cones: Cones, x: Floats) -> tuple[Floats, Floats]:
    """Widths (R,), and their slopes by column (n, R); of a width of zero it is zero."""
    own, shared = parts(line, cones, x)
    width = np.sqrt((own**2).sum(axis=0) + (shared**2).sum(axis=0))
    slope = cones.margin * own
    slope -= _by_segment(line, cones.factor * slope)[line.segment]
    # each column's part in what its segment is above the others, in units of the root of its share
    root = np.sqrt(np.where(line.weight > 0, line.weight, 1.0))[:, None]
    slope += cones.share * line.rows * ((shared / root)[line.segment] - (np.sqrt(line.weight) @ shared))
    return width, slope / np.where(width > 0, width, 1.0)


def _by_segment(line: Rows, values: Floats) -> Floats:
    result = np.zeros((len(line.weight), *values.shape[1:]))
    np.add.at(result, line.segment, values)
    return result


def fails(line: Rows, cones: Cones, x: Floats, fine: float = FINE) -> Flags:
    """Limits that a mix does not keep with their margins (R,), but for a little."""
    width = widths(line, cones, x)
    most = line.right + fine * width + dust(line.rows, line.right, width)
    return np.asarray((x @ line.rows + width > most) & ~line.equality)


def room(line: Rows, cones: Cones, x: Floats) -> float:
    """How many times its width each limit with a width has room for, at least."""
    width = widths(line, cones, x)
    some = (width > 0) & ~line.equality
    return float(((line.right - x @ line.rows)[some] / width[some]).min(initial=np.inf))


def cone_mix(line: Rows, cones: Cones, finish: bool = True, common: Floats | None = None) -> Floats | None:
    """The best mix within all cones; None when there is none. Without ``finish`` any mix within them may do.

    With ``common`` (n, arms), of ones and zeros by arm, times the shares of segments, only mixes that are the same in
    all segments.
    """
    found = _Enclosure(line, cones, common).search(finish)
    return tidied(line, cones, found) if finish and common is None and found is not None else found


def tidied(line: Rows, cones: Cones, mix: Floats) -> Floats:
    """A mix without shares that are next to nothing in their segment, where one is as good; planes leave some."""
    # A relative limit counts the noise of its arm of reference whatever that one's share is.
    kept = (mix >= TRACE * line.weight[line.segment]) | (cones.factor != 0).any(axis=1)
    if kept[mix > 0].all():
        return mix
    inner = line._replace(mu=line.mu[kept], rows=line.rows[kept], segment=line.segment[kept])
    found = _Enclosure(inner, Cones(cones.margin[kept], cones.factor[kept], cones.share), None).search(True)
    if found is None or line.mu @ mix - inner.mu @ found > CLOSE * (float(np.ptp(line.mu)) or 1.0):
        return mix
    result = np.zeros_like(mix)
    result[kept] = found
    return result


def optimum(line: Rows, common: Floats | None = None) -> Guess:
    """The best mix without margins, or the one with the least violation."""
    sizes, weight, mu, rows = np.bincount(line.segment, minlength=len(line.weight)), line.weight, line.mu, line.rows
    if common is not None:
        sizes, weight, mu, rows = np.array([common.shape[1]]), np.ones(1), mu @ common, common.T @ rows
    solved = maximised(mu, rows, line.right, line.equality, weight, sizes)
    mix, prices = mix_of(solved), np.empty(len(line.right))
    speed_of(rows)(segments.prices)(solved, prices)
    return Guess(mix if common is None else common @ mix, not solved.missing.any(), prices)


class _Forms(NamedTuple):
    """Widths as lengths of linear functions: the product of each one's matrix with itself, (R, n, n)."""

    square: Floats

    def spread(self, x: Floats) -> Floats:
        """The widths (R,)."""
        return np.asarray(np.sqrt(np.maximum(np.einsum("a,rab,b->r", x, self.square, x), 0.0)))

    def slope(self, x: Floats) -> Floats:
        """Half the slopes of their squares (n, R)."""
        return np.asarray((self.square @ x).T)

    def divided(self, slope: Floats, room: Floats, x: Floats, excess: Floats, right: Floats) -> Floats:
        """As ``barrier.Widths`` has it."""
        return divided(np.tensordot(2.0 / room, self.square, 1), slope, room, x, excess, right)

    def with_exact(self) -> "_Forms":
        """With one more column, which has no margin."""
        return _Forms(np.pad(self.square, ((0, 0), (0, 1), (0, 1))))


def _forms(line: Rows, cones: Cones) -> _Forms:
    """What ``parts`` is, as matrices."""
    same = line.segment[:, None] == line.segment
    own = cones.margin.T[:, :, None] * (np.eye(len(same)) - cones.factor.T[:, :, None] * same)
    belongs = line.segment == np.arange(len(line.weight))[:, None]
    means = np.where(belongs, line.rows.T[:, None, :], 0.0) / np.where(line.weight > 0, line.weight, 1.0)[:, None]
    around = means - np.einsum("s,rsa->ra", line.weight, means)[:, None, :]
    shared = cones.share[:, None, None] * np.sqrt(line.weight)[:, None] * around
    return _Forms(own.transpose(0, 2, 1) @ own + shared.transpose(0, 2, 1) @ shared)


def by_barrier(line: Rows, cones: Cones, common: Floats | None, finish: bool) -> tuple[Floats | None, bool]:
    """The mix of ``cone_mix``, and whether that is settled; not with equalities, or where mixes have no room.

    The objective is that of the best mix but for a ten thousandth of its spread.
    """
    used = line.weight[line.segment] > 0
    served = np.bincount(line.segment[used], minlength=len(line.weight)) > 0
    if line.equality.any() or not used.any() or used.sum() > MOST_COLUMNS or not served[line.weight > 0].all():
        return None, False
    total = line.weight.sum()  # below 1 where a segment has no column to use
    turn = total * np.eye(len(used))[:, used] if common is None else common  # of shares that add up to 1
    reward, excess = turn.T @ line.mu, turn.T @ line.rows - line.right
    square = turn.T @ _forms(line, cones).square @ turn
    own = np.sqrt(np.maximum(np.diagonal(square, axis1=1, axis2=2), 0.0)).T
    size = np.maximum(np.abs(excess), own).max(axis=0, initial=0.0)
    size[size == 0] = 1.0
    forms = _Forms(square / size[:, None, None] ** 2)
    groups, even = np.ones((1, turn.shape[1])), np.full(turn.shape[1], 1.0 / turn.shape[1])
    if common is None:
        groups = (line.segment[used] == np.flatnonzero(line.weight > 0)[:, None]).astype(np.float64)
        columns = np.maximum(np.bincount(line.segment, minlength=len(line.weight)), 1)
        even = (line.weight / total / columns)[line.segment[used]]
    start, none = room_within(excess / size, forms, even, groups)
    if start is None:
        return None, none
    point = follow(reward, start, excess / size, forms, groups) if finish else start
    share = groups.T @ (groups @ even)
    for least in (*DREGS, 0.0):  # a barrier leaves something on every column
        kept = np.where(point < least * share, 0.0, point)
        found = turn @ (kept * (groups.T @ ((groups @ even) / (groups @ kept))))
        if not fails(line, cones, found, 0.0 if least == 0.0 else FINE).any():
            return found, True
    return None, False


class _Memory:
    """The last solution of a program that gains and loses limits: the next one starts from its basis."""

    def __init__(self) -> None:
        self.key, self.basis, self.names, self.mix = (np.empty(0, dtype=np.int64),) * 3 + (np.empty(0),)

    def solve(self, program: SegmentProgram, names: Integers) -> Floats | None:
        """The best mix (n,), or None; limits with the same names are the same as before."""
        n, limits = program.rows.shape
        self.start(program, names)
        if speed_of(program.rows)(bounding.maximise)(program) != simplex.OPTIMAL:
            self.key = self.key[:0]
            return None
        basic = program.basis
        self.key, self.mix, self.names = program.key.copy(), mix_of(program), names
        # slacks by the names of their limits, below zero; elastic columns at zero are left out
        self.basis = np.where(basic < n, basic, -1 - names[(basic - n) % max(limits, 1)])[basic < n + limits]
        return self.mix

    def start(self, program: SegmentProgram, names: Integers) -> None:
        """Put the last basis into the program, with the slack of each new limit or what it is exceeded by."""
        n, limits = program.rows.shape
        place = {-1 - name: n + r for r, name in enumerate(names.tolist())}
        basis = [place.get(j, -1) if j < 0 else j for j in self.basis.tolist()]
        basis = [j for j in basis if j >= 0]
        if len(self.key):
            over = self.mix @ program.rows > program.right
            basis += [n + r + limits * over[r] for r in np.flatnonzero(~np.isin(names, self.names))]
        if len(self.key) and len(basis) == limits:
            program.key[:], program.basis[:] = self.key, basis


class _Enclosure:
    """The planes that enclose the cones so far, and the mixes found."""

    def __init__(self, line: Rows, cones: Cones, common: Floats | None) -> None:
        self.line, self.cones, self.common = line, cones, common
        self.entries, self.limit = np.empty((len(line.mu), 0)), np.empty(0, dtype=np.int64)
        self.idle, self.number = np.empty((2, 0), dtype=np.int64)
        self.optimum, self.depth = _Memory(), _Memory()
        self.middle, self.points = np.zeros(len(line.mu)), 0
        self.inside: Floats | None = None
        self.made = 0
        self.span = float(np.ptp(line.mu)) or 1.0

    def search(self, finish: bool) -> Floats | None:
        """Cut until the optimum is within the cones, or as good as a mix that is."""
        if not finish:
            found, settled = by_barrier(self.line, self.cones, self.common, finish)
            return found if settled else self.inside if self.enter() else None
        for k in range(ROUNDS):
            outer = self.solve(self.line.mu)
            if outer is None:
                return None
            failing = fails(self.line, self.cones, outer)
            if not failing.any():
                return outer
            if k == SLOW:
                found, settled = by_barrier(self.line, self.cones, self.common, finish)
                if settled:
                    return found
                if self.inside is None and not self.enter():
                    return None
            if self.inside is not None:
                if self.line.mu @ (outer - self.inside) <= CLOSE * self.span:
                    break
                self.step(outer)
            self.cut(outer, failing)
        return self.inside

    def solve(self, mu: Floats, lift: Floats | None = None) -> Floats | None:
        """Optimum of the program with all planes; None when it is infeasible.

        With ``lift`` (R,) a segment more has a column that raises the right sides from that much below to that much
        above them.
        """
        line = self.line
        rows, right = np.hstack([line.rows, self.entries]), np.r_[line.right, line.right[self.limit]]
        equality = np.r_[line.equality, np.zeros(len(self.limit), dtype=np.bool_)]
        sizes, weight = np.bincount(line.segment, minlength=len(line.weight)), line.weight
        if self.common is not None:
            mu, rows, sizes, weight = (
                mu @ self.common,
                self.common.T @ rows,
                np.array([self.common.shape[1]]),
                np.ones(1),
            )
        if lift is not None:
            every = np.r_[lift, lift[self.limit]]
            rows, right = np.vstack([rows, -every, 0.0 * every]), right - every
            mu, sizes, weight = np.r_[mu, -1.0, 0.0], np.r_[sizes, 2], np.r_[weight, 2.0]
        solved = loaded(mu, rows, right, equality, weight, sizes)
        names = np.r_[np.arange(len(line.right)), len(line.right) + self.number]
        mix = (self.optimum if lift is None else self.depth).solve(solved, names)
        if mix is None:
            return None
        self.drop_idle(solved)
        if self.common is None:
            return mix
        arms = self.common.shape[1]
        return np.asarray(np.r_[self.common @ mix[:arms], mix[arms:]])

    def drop_idle(self, solved: SegmentProgram) -> None:
        """Without the planes that have had no price for a while."""
        priced = solved.price[len(self.line.right) :] > 0
        self.idle = np.where(priced, 0, self.idle + 1)
        kept = self.idle <= IDLE
        self.entries, self.limit = self.entries[:, kept], self.limit[kept]
        self.idle, self.number = self.idle[kept], self.number[kept]

    def add(self, point: Floats, some: Flags) -> None:
        """Planes that touch some cones at a point."""
        entries, limit = planes(self.line, self.cones, point, some)
        self.entries, self.limit = np.hstack([self.entries, entries]), np.r_[self.limit, limit]
        self.idle = np.r_[self.idle, np.zeros(len(limit), dtype=np.int64)]
        self.number, self.made = np.r_[self.number, self.made + np.arange(len(limit))], self.made + len(limit)

    def cut(self, outer: Floats, failing: Flags) -> None:
        """Planes at the optimum and at the middle of all so far."""
        self.points += 1
        self.middle += (outer - self.middle) / self.points
        self.add(outer, failing)
        if self.points > 1 and self.inside is None:
            self.add(self.middle, failing)

    def step(self, outer: Floats) -> None:
        """Move the mix within the cones half way to the optimum, or cut there."""
        assert self.inside is not None
        halfway = (self.inside + outer) / 2.0
        failing = fails(self.line, self.cones, halfway, 0.0)
        if failing.any():
            self.add(halfway, failing)
        else:
            self.inside = halfway

    def enter(self) -> bool:
        """Look for a mix within all cones, as deep as planes let it be; whether there is one."""
        line, cones = self.line, self.cones
        cut = (cones.margin.any(axis=0) | (cones.share > 0)) & ~line.equality  # which is met at the estimates
        size = np.maximum(np.abs(line.rows), cones.margin).max(axis=0, initial=0.0)
        lift, middle = np.where(cut, DEEP * np.maximum(size, np.abs(line.right)), 0.0), np.zeros(len(line.mu))
        for k in range(1, ROUNDS + 1):
            found = self.solve(np.zeros(len(line.mu)), lift)
            if found is None or found[-2] > 1.0 - DUST:  # even the planes leave no room
                return False
            point = found[:-2]
            middle += (point - middle) / k
            for q in (point, middle):
                failing = fails(line, cones, q, 0.0)
                if not failing.any():
                    self.inside = q
                    return True
                self.add(q, failing & cut)
        return False
