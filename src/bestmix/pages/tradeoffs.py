"""The value of the best mix against a limit, as places on a drawing."""

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bestmix.answers.number_text import shortened
from bestmix.answers.tradeoff_curve import Piece, TradeOff
from bestmix.answers.tradeoff_safe import ORDERS, shown_range
from bestmix.pages.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    SMALLEST_SPAN,
    TOP,
    WIDTH,
    Axis,
    Mark,
    Name,
    fit,
    text_width,
)
from bestmix.plots.axes import differ
from bestmix.plots.labels import Box

STEPS = 30  # points of a piece that a logarithmic axis bends
GAP = 8.0  # between a line and its text
LINE = 15.0  # height of a line of text
MOST_LINES = 5  # of text
WIDTHS = (1.0, 0.75, 0.5)  # of the room beside today's limit, in which the text may be broken into lines
WITHIN = "\N{NO-BREAK SPACE}"  # between words that stay together
SAMPLES = 60  # points of a curve at which it is looked whether it runs through a text

Curve = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class TradeOffChart:
    """A limit across, the goal upwards: the best mix at the estimates, the safe one with its band, today's limit."""

    goal: str
    cost: str
    bound: float
    across: Axis
    upwards: Axis
    value: Sequence[tuple[float, float]]
    knots: Sequence[Mark]  # where the arms of the mix change
    names: Sequence[Name]  # which arms at today's limit, line by line, where there is room
    safe: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float]]
    height: float = 0.8 * HEIGHT
    width: float = WIDTH

    @property
    def short_cost(self) -> str:
        """The cost's name below the axis."""
        return shortened(self.cost)

    @property
    def short_goal(self) -> str:
        """What the goal is about, beside the axis."""
        return shortened(self.goal)

    @property
    def bound_at(self) -> float | None:
        """Where today's limit stands; None when it is beyond the frame."""
        inside = self.across.low <= self.bound <= self.across.high
        return self.across.at(self.bound) if inside else None

    @property
    def bound_anchor(self) -> str:
        """On which side of the limit there is room for its text."""
        return "end" if self.across.at(self.bound) > 0.6 * self.width else "start"


def tradeoff_chart(found: TradeOff) -> TradeOffChart:
    """The curve with everything in its place; it needs a piece.

    >>> from bestmix import Instance, tradeoff
    >>> chart = tradeoff_chart(tradeoff(Instance([1.0, 1.75, 2.0], [[0.0, 1.0, 2.0]], [1.0])))
    >>> len(chart.knots), chart.safe
    (3, [])
    """
    low, high = shown_range(found)
    safe = [point for point in found.safe if low <= point.bound <= high]
    ends = [value for point in safe for value in point.interval]
    x = _axis(low, high, found.at_least)
    values = [value for _, value in found.knots]
    y = fit([*values, *ends], TradeOffChart.height - BOTTOM, TOP)
    line = [spot for piece in found.pieces for spot in _along(piece, low, high, x, y)]
    mixes = [(x.at(p.bound), y.at(p.value)) for p in safe]
    low_ends, high_ends = ([(x.at(p.bound), y.at(p.interval[end])) for p in safe] for end in (0, 1))
    return TradeOffChart(
        goal=str(found.goal.quantity),
        cost=found.label,
        bound=found.bound,
        across=x,
        upwards=y,
        value=line,
        knots=[_knot(found, place, x, y) for place in range(len(found.pieces))],
        names=_name_now(found, x, y, line, [mixes, low_ends, high_ends]),
        safe=mixes,
        band=[*low_ends, *reversed(high_ends)],
    )


def _axis(low: float, high: float, at_least: bool) -> Axis:
    """With room at the tight end, where a dot stands."""
    log = differ([low, high], ORDERS)
    if not log and high - low < SMALLEST_SPAN:
        return fit([low, high], LEFT, WIDTH - RIGHT)
    room = math.exp(0.04 * (math.log(high) - math.log(low))) if log else 0.04 * (high - low)
    before, after = (low / room, high * room) if log else (low - room, high + room)
    return Axis(low if at_least else before, after if at_least else high, LEFT, WIDTH - RIGHT, log)


def _along(piece: Piece, start: float, end: float, x: Axis, y: Axis) -> list[tuple[float, float]]:
    bounds = np.linspace(max(piece.low, start), min(piece.high, end), STEPS if x.log else 2).tolist()
    return [(x.at(bound), y.at(piece.value(bound))) for bound in bounds]


def _knot(found: TradeOff, place: int, x: Axis, y: Axis) -> Mark:
    (bound, value), piece = found.knots[place], found.pieces[place]
    until = "up to here" if found.at_least else "from here on"
    title = f"{found.label} {bound:.4g}: {found.goal.quantity} {value:.4g}; {until} {', '.join(piece.support)}"
    return Mark("support", x.at(bound), y.at(value), title)


def _name_now(found: TradeOff, x: Axis, y: Axis, value: Curve, others: Sequence[Curve]) -> list[Name]:
    """The arms that are mixed at today's limit, in full beside its line; none where there is no room off the curve.

    It runs over as few of the ``others`` as can be.
    """
    now, at = found.at(found.bound), x.at(found.bound)
    if not now.feasible or not x.low <= found.bound <= x.high:
        return []
    arms = [arm.replace(" ", WITHIN) for arm in now.mixture]
    texts = ["now: " + f"{space}+ ".join(arms) for space in (WITHIN, " ")]
    sides = [(at + GAP, WIDTH - RIGHT, "start"), (LEFT, at - GAP, "end")]
    places = [place for text in texts for side in sides for place in _blocks(text, *side, (y.end, y.start))]
    free = [place for place in places if _is_clear(place.box, value)]
    covered = [sum(not _is_clear(place.box, curve) for curve in others) for place in free]
    best = min(zip(covered, free, strict=True), key=lambda pair: (pair[0], len(pair[1].lines)), default=None)
    return [] if best is None else best[1].names()


class _Block(NamedTuple):
    """Lines of text in a box (left, top, right, low), held at one side."""

    lines: Sequence[str]
    box: Box
    anchor: str

    def names(self) -> list[Name]:
        """Each line of it."""
        left, top, right, _ = self.box
        at = left if self.anchor == "start" else right
        texts = [line.replace(WITHIN, " ") for line in self.lines]
        return [Name(at, top + LINE * (k + 1) - 3, text, "support", self.anchor) for k, text in enumerate(texts)]


def _blocks(text: str, left: float, right: float, anchor: str, frame: tuple[float, float]) -> Iterator[_Block]:
    """Wide and narrow ones, at the top and at the bottom of the frame, with every word in full."""
    for share in WIDTHS:
        letters = int(share * (right - left) / text_width("x", bold=True))
        lines = textwrap.wrap(text, max(letters, 1), break_long_words=False, break_on_hyphens=False)
        width, height = max(text_width(line, bold=True) for line in lines), LINE * len(lines)
        if width <= right - left and len(lines) <= MOST_LINES:
            start = left if anchor == "start" else right - width
            for top in (frame[0] + GAP, frame[1] - GAP - height):
                yield _Block(lines, (start, top, start + width, top + height), anchor)


def _is_clear(box: Box, curve: Curve) -> bool:
    """Whether a curve stays above or below a box; one without points does."""
    left, top, right, low = box
    if not curve:
        return True
    places, heights = zip(*curve, strict=True)
    if right < places[0] or left > places[-1]:
        return True
    within = np.interp(np.linspace(left - GAP / 2, right + GAP / 2, SAMPLES), places, heights)
    return bool((within < top - GAP / 2).all() or (within > low + GAP / 2).all())
