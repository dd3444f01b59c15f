"""The best value of a program as one of its limits moves: segments, shares, ratios and relative limits included.

In the form "at most" a larger bound is the looser one. As long as a bound is the right side of a row, the value is
concave and piecewise linear in it: the lines of two optima meet above a third optimum or in a knot. The bound of a
ratio multiplies a metric, so that the value is only nearly linear between knots, which stand close to each other.
"""

from typing import NamedTuple, Protocol

import numpy as np

from bestmix import checks
from bestmix.answers.noisy_program import NoisyProgram, loaded, mix_of, restricted, speed_of
from bestmix.answers.tradeoff_sources import moved_limit
from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels import bounding, segments, simplex
from bestmix.problems.layouts import layout_of
from bestmix.problems.parametric import Knot
from bestmix.problems.problem import Problem
from bestmix.problems.solution import check_settled

FLAT = 1e-9  # of the range of values: lines that are closer are one
STRAIGHT = 1e-4  # of the range of values: how far a chord of a ratio's curve may be from it
HALVINGS = 3, 8  # of the range of a ratio's bound, at least and at most
DINKELBACH = 60  # steps to the smallest ratio, which converge faster than linearly
SAME = 1e-9  # relative difference of entries that are equal


class Point(NamedTuple):
    """The optimum at one bound: value, price of the bound, and the mix (n,)."""

    bound: float
    value: float
    price: float
    mixture: Floats


class Program(NamedTuple):
    """A program of usable columns in which one row has the entries ``row`` + bound * ``change`` (n,)."""

    mu: Floats
    rows: Floats
    right: Floats
    equality: Flags
    weight: Floats
    sizes: Integers
    place: int
    change: Floats

    @property
    def segment(self) -> Integers:
        """Segment of each column (n,)."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def best(self, mu: Floats, bound: float | None) -> tuple[bool, Floats, float, float]:
        """Whether there is an optimum of an objective, its mix, value and price; without the row for no bound."""
        keep = np.arange(len(self.right)) if bound is not None else np.delete(np.arange(len(self.right)), self.place)
        rows = self.rows.copy()
        rows[:, self.place] += (bound or 0.0) * self.change
        solved = loaded(mu, rows[:, keep], self.right[keep], self.equality[keep], self.weight, self.sizes)
        status = speed_of(solved.rows)(bounding.maximise)(solved)
        check_settled(simplex.STALLED if status == simplex.STALLED else simplex.OPTIMAL)
        prices, mix = np.empty(len(keep)), mix_of(solved)
        segments.prices(solved, prices)
        price = 0.0 if bound is None else -float(prices[self.place] * (mix @ self.change))
        return status == simplex.OPTIMAL, mix, float(mix @ mu), price

    def bound_of(self, mix: Floats) -> float:
        """The tightest bound that a mix keeps."""
        return float(-(mix @ self.rows[:, self.place]) / (mix @ self.change))

    def at(self, bound: float) -> Point | None:
        """The optimum at a bound; None where no mix keeps the limits."""
        feasible, mix, value, price = self.best(self.mu, bound)
        return Point(bound, value, price, mix) if feasible else None


class Moves(Protocol):
    """The optimum as a function of the bound."""

    def __call__(self, bound: float, /) -> Point | None:
        """At one bound; None where no mix keeps the limits."""


def walk_limit(program: NoisyProgram, problem: Problem, place: int) -> tuple[list[Knot], Integers]:
    """Knots as a limit becomes tighter, from where it begins to bind, as ``walk_bound`` has them; and their columns.

    Bounds are those of the form "at most": the negative of one "at least".
    """
    moving, columns = _moving(program, problem, place)
    found = moving.best(moving.mu, None) if len(columns) else (False, np.empty(0), 0.0, 0.0)
    if not found[0]:
        return [], columns
    if not found[1] @ moving.change < 0:
        raise checks.InvalidInput(
            "cost",
            f"'{problem.limits[place]}' has no trade-off: what it divides by, or is relative to, is not above zero",
            "solve it again with another limit and compare",
        )
    loose = Point(moving.bound_of(found[1]), found[2], 0.0, found[1])
    tight = _tightest(moving, loose)
    if tight is None or tight.bound >= loose.bound:
        return [Knot(loose.bound, loose.value, 0.0, loose.mixture)], columns
    inner = _between(moving.at, tight, loose) if _is_right_side(moving) else _chords(moving.at, tight, loose)
    return _knots([tight, *inner, loose]), columns


def _moving(program: NoisyProgram, problem: Problem, place: int) -> tuple[Program, Integers]:
    """The program of the usable columns as a function of the bound, and the numbers of these columns."""
    limit = problem.limits[place]
    other = limit.bound / 2 if limit.bound else 0.5
    inner, some = restricted(program._replace(layout=layout_of(problem)))
    mu, rows = inner.entries()
    moved = program._replace(layout=layout_of(moved_limit(problem, place, other)))
    change = (restricted(moved)[0].entries()[1][:, place] - rows[:, place]) / (limit.sign * (other - limit.bound))
    rows = rows.copy()
    rows[:, place] -= limit.sign * limit.bound * change
    rules = inner.layout
    return Program(mu, rows, rules.right, rules.equality, inner.weight, rules.sizes, place, change), some.columns


def _is_right_side(moving: Program) -> bool:
    """Whether the bound is the right side of a row: it changes all entries of a segment alike."""
    first = np.r_[0, np.cumsum(moving.sizes)[:-1]]
    return bool(
        np.abs(moving.change - moving.change[first][moving.segment]).max() <= SAME * np.abs(moving.change).max()
    )


def _tightest(moving: Program, loose: Point) -> Point | None:
    """The optimum at the tightest bound that can be kept, by the method of Dinkelbach."""
    bound = loose.bound
    for _ in range(DINKELBACH):
        row = moving.rows[:, moving.place] + bound * moving.change
        _, mix, _, _ = moving.best(-row, None)
        lower = moving.bound_of(mix)
        if not lower < bound - SAME * max(abs(bound), abs(loose.bound)):
            break
        bound = lower
    slightly = SAME * max(abs(bound), abs(loose.bound), 1e-300)
    return moving.at(bound) or moving.at(bound + slightly)


def _between(at: Moves, left: Point, right: Point) -> list[Point]:
    """Knots between two bounds of a concave, piecewise linear value, and perhaps other points on its pieces."""
    scale = abs(right.value - left.value)
    drop = left.price - right.price
    if drop * (right.bound - left.bound) <= FLAT * scale:
        return []
    meet = (right.value - left.value + left.price * left.bound - right.price * right.bound) / drop
    room = FLAT * (right.bound - left.bound)
    middle = at(meet) if left.bound + room < meet < right.bound - room else None
    if middle is None:
        return []
    if middle.value >= left.value + left.price * (meet - left.bound) - FLAT * scale:
        return [middle]
    return [*_between(at, left, middle), middle, *_between(at, middle, right)]


def _chords(at: Moves, left: Point, right: Point, depth: int = 0, scale: float | None = None) -> list[Point]:
    """Points between two bounds, so that the value is close to the straight lines between them."""
    scale = abs(right.value - left.value) if scale is None else scale
    middle = at((left.bound + right.bound) / 2) if depth < HALVINGS[1] else None
    if middle is None:
        return []
    straight = abs(middle.value - (left.value + right.value) / 2) <= STRAIGHT * scale
    if straight and depth >= HALVINGS[0]:
        return []
    halves = (_chords(at, *ends, depth + 1, scale) for ends in ((left, middle), (middle, right)))
    before, after = halves
    return [*before, middle, *after]


def _knots(points: list[Point]) -> list[Knot]:
    """The loosest first, without points at which the slope stays as it is."""
    kept, scale = [points[-1]], abs(points[-1].value - points[0].value)
    for point, nearer in zip(points[-2::-1], [*points[-3::-1], None], strict=True):
        ahead = (kept[-1].value - point.value) / (kept[-1].bound - point.bound)
        if ahead * (kept[-1].bound - point.bound) <= FLAT * scale:
            kept[-1] = point  # the limit does not bind here either
            continue
        if nearer is None or abs(_on_chord(nearer, kept[-1], point.bound) - point.value) > FLAT * scale:
            kept.append(point)
    slopes = [0.0, *((a.value - b.value) / (a.bound - b.bound) for a, b in zip(kept, kept[1:], strict=False))]
    return [Knot(p.bound, p.value, s, p.mixture) for p, s in zip(kept, slopes, strict=True)]


def _on_chord(left: Point, right: Point, bound: float) -> float:
    return left.value + (right.value - left.value) * (bound - left.bound) / (right.bound - left.bound)
