"""Axes of costs: a logarithmic one where costs differ by orders of magnitude."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ORDERS = 30.0  # factor between costs from which on their axis is logarithmic
FEW_POWERS = 200.0  # factor between costs up to which their logarithmic axis shows more than powers of ten
MARGIN = 0.1  # of an axis, on either side
MOST_TICKS = 6  # of a linear axis, each with room for six characters
CURVE = 60  # points of a line that a logarithmic axis bends
SMALLEST_POSITIVE = 1e-200  # a value below counts as zero: an axis to it, with room beside it, would not be of floats


def differ(values: Iterable[float], orders: float = ORDERS) -> bool:
    """Whether positive values differ by such a factor, so that a linear axis would press most of them together.

    >>> differ([0.001, 0.05]), differ([0.0, 0.1]), differ([1.0, 20.0])
    (True, False, False)
    """
    found = list(values)
    return bool(found) and min(found) > SMALLEST_POSITIVE and max(found) / min(found) >= orders


def scale_costs(ax: "Axes", values: Sequence[float]) -> None:
    """Make the axis of costs logarithmic where they want it; intervals that reach below zero leave the frame."""
    if not differ(values):
        ax.locator_params(axis="x", nbins=MOST_TICKS, steps=[1, 2, 5, 10])
        return
    ax.set_xscale("log")
    low, high = np.log(min(values)), np.log(max(values))
    room = MARGIN * (high - low)
    ax.set_xlim(float(np.exp(low - room)), float(np.exp(high + room)))
    if max(values) < FEW_POWERS * min(values):
        _number(ax)


def _number(ax: "Axes") -> None:
    """Numbers in full between the powers of ten too, of which there are two or three."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_locator(NullLocator())


def join(ax: "Axes", start: tuple[float, float], end: tuple[float, float], **look: object) -> None:
    """All mixes of two points: a line, which a logarithmic axis bends."""
    ax.plot(*np.linspace(start, end, CURVE).T, **look)  # type: ignore[arg-type]
