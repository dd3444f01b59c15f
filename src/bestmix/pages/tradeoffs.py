"""The value of the best mix against a limit, as places on a drawing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

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

STEPS = 30  # points of a piece that a logarithmic axis bends
GAP = 8.0  # between a line and its text


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
    names: Sequence[Name]  # which arms, where there is room
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
    band = [(p.bound, p.interval[0]) for p in safe] + [(p.bound, p.interval[1]) for p in reversed(safe)]
    return TradeOffChart(
        goal=str(found.goal.quantity),
        cost=found.label,
        bound=found.bound,
        across=x,
        upwards=y,
        value=line,
        knots=[_knot(found, place, x, y) for place in range(len(found.pieces))],
        names=[name for piece in found.pieces for name in _name(piece, (low, high), x, y, found.goal.maximise)],
        safe=[(x.at(p.bound), y.at(p.value)) for p in safe],
        band=[(x.at(bound), y.at(value)) for bound, value in band],
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


def _name(piece: Piece, ends: tuple[float, float], x: Axis, y: Axis, above: bool) -> list[Name]:
    """The arms of a piece beside its middle, on the side where the safe mix is not; none where there is no room."""
    (left, _), *_, (right, _) = spots = _along(piece, *ends, x, y)
    text = shortened(" + ".join(piece.support))
    middle, height = spots[len(spots) // 2] if x.log else np.mean(spots, axis=0).tolist()
    width = text_width(text)
    if piece.slope == 0:
        room, at, anchor = right - left, middle, "middle"
    elif (piece.slope > 0) is above:
        room, at, anchor = middle - LEFT, middle - GAP, "end"
    else:
        room, at, anchor = WIDTH - RIGHT - middle, middle + GAP, "start"
    if width > room or right - left < 0.5 * width:
        return []
    return [Name(at, height - GAP + 2 if above else height + 2 * GAP, text, "support", anchor)]
