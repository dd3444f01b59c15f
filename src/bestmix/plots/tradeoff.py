"""What another limit would earn: the value of the best mix against a bound."""

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bestmix.answers.number_text import level_text
from bestmix.answers.tradeoff_curve import Piece, SafePoint, TradeOff
from bestmix.answers.tradeoff_safe import ORDERS, shown_range
from bestmix.plots.axes import CURVE, MARGIN, differ
from bestmix.plots.labels import SIZE
from bestmix.plots.theme import COLOURS, new_axes, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LETTERS = 34  # of the arms along a piece
NARROW = 0.16  # of the width: a piece below has no room for its arms
LETTER = 0.6  # width of a letter against its height
GAP = 0.015  # of the width, beside the bound
ALONG = sorted(np.linspace(0.02, 0.98, 25), key=lambda x: abs(x - 0.5))  # a piece: where its arms may be named


def plot_tradeoff(found: TradeOff, ax: "Axes | None" = None) -> "Axes":
    """Value of the best mix against the bound: the arms along each piece, the safe mix with its band, the bound now.

    Examples
    --------
    >>> from bestmix import Instance, tradeoff
    >>> plot_tradeoff(tradeoff(Instance([1.0, 1.75, 2.0], [[0.0, 1.0, 2.0]], [1.0]))).get_xlabel()
    'limit on mean cost0'
    """
    with style():
        ax = new_axes() if ax is None else ax
        side = ", at least" if found.at_least else ""
        ax.set_xlabel(f"limit on mean {found.label}{side}", parse_math=False)
        ax.set_ylabel(f"mean {found.goal.quantity}", parse_math=False)
        if not found.pieces:
            ax.text(0.5, 0.5, found.sentences()[0], ha="center", va="center", transform=ax.transAxes, parse_math=False)
            return ax
        low, high = shown_range(found)
        _draw_safe(ax, [point for point in found.safe if low <= point.bound <= high], found.safety)
        _draw_value(ax, found, low, high)
        _draw_bound(ax, found, low, high)
        _frame(ax, low, high, found.at_least)
        _name_pieces(ax, found, low, high)
        _draw_legend(ax, found)
        return ax


def tradeoff_figure(*found: TradeOff) -> "Figure":
    """A panel for each trade-off, side by side.

    >>> from bestmix import Instance, tradeoff
    >>> len(tradeoff_figure(tradeoff(Instance([1.0, 2.0], [[0.0, 2.0]], [1.0]))).axes)
    1
    """
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.6 if len(found) == 1 else 5.2 * len(found), 4.2), layout="constrained")
        for place, one in enumerate(found, 1):
            plot_tradeoff(one, figure.add_subplot(1, len(found), place))
        return figure


def _draw_value(ax: "Axes", found: TradeOff, start: float, end: float) -> None:
    """The line at the means, a dot where the arms of the mix change."""
    for piece in found.pieces:
        x = np.linspace(max(piece.low, start), min(piece.high, end), CURVE)
        y = [piece.value(bound) for bound in x.tolist()]
        label = "best mix at the estimates" if found.safe else "best mix"
        ax.plot(x, y, color=COLOURS["support"], label=label if piece is found.pieces[0] else None, zorder=3)
    ax.plot(*zip(*found.knots, strict=True), "o", color=COLOURS["support"], markersize=5, zorder=4)


def _draw_safe(ax: "Axes", points: list[SafePoint], safety: float | None) -> None:
    if not points:
        return
    x, y = [p.bound for p in points], [p.value for p in points]
    band = [p.interval[0] for p in points], [p.interval[1] for p in points]
    ax.fill_between(x, *band, color=COLOURS["mix"], alpha=0.2, linewidth=0, label="its 95% interval", zorder=1)
    label = f"limits kept with {level_text(safety or 0.0)} certainty"
    ax.plot(x, y, color=COLOURS["mix"], linestyle="--", label=label, zorder=2)


def _draw_bound(ax: "Axes", found: TradeOff, low: float, high: float) -> None:
    """Today's bound, with the value there; at the edge where it is further away."""
    inside = low <= found.bound <= high
    if inside:
        ax.axvline(found.bound, color=COLOURS["bound"], linestyle="--", linewidth=1.5, zorder=2)
    now = found.at(found.bound)
    text = f"now {found.bound:.4g}" + (f": {now.value:.3g}" if now.feasible else ": no mix")
    right = found.bound > (math.sqrt(low * high) if differ([low, high], ORDERS) else (low + high) / 2)
    if not inside:
        text = f"{text} \N{RIGHTWARDS ARROW}" if right else f"\N{LEFTWARDS ARROW} {text}"
    look: dict[str, Any] = {
        "va": "top",
        "ha": "right" if right else "left",
        "color": COLOURS["bound"],
        "fontsize": SIZE,
    }
    place = (-5 if right else 5, -2)
    ax.annotate(
        text, (min(max(found.bound, low), high), 1.0), place, ("data", "axes fraction"), "offset points", **look
    )


def _frame(ax: "Axes", low: float, high: float, at_least: bool) -> None:
    """With room at the tight end, where a dot stands."""
    if differ([low, high], ORDERS):
        ax.set_xscale("log")
        room = (high / low) ** (MARGIN / 4)
    else:
        room = MARGIN / 2 * (high - low)
    log = ax.get_xscale() == "log"
    before, after = (low / room, high * room) if log else (low - room, high + room)
    ax.set_xlim(low if at_least else before, after if at_least else high)
    ax.margins(y=0.12)


def _name_pieces(ax: "Axes", found: TradeOff, low: float, high: float) -> None:
    """Which arms are mixed along each piece, where there is room above it."""
    for piece in found.pieces:
        start, end = (_share(ax, max(min(x, high), low)) for x in (piece.low, piece.high))
        text = " + ".join(piece.support)
        if end - start < NARROW or len(text) > MOST_LETTERS * (end - start) * 2:
            continue
        ends = max(piece.low, low), min(piece.high, high)
        _name_piece(ax, piece, ends, text, found.goal.maximise, _share(ax, found.bound))


def _corner(found: TradeOff) -> Literal["lower right", "lower left", "upper left", "upper right"]:
    """The corner that is free: below a line to maximise, which is concave, above one to minimise, which is convex."""
    rising = found.goal.maximise is not found.at_least
    if found.goal.maximise:
        return "lower right" if rising else "lower left"
    return "upper left" if rising else "upper right"


def _draw_legend(ax: "Axes", found: TradeOff) -> None:
    """The best mix first, on a ground that hides the line of today's limit."""
    handles, labels = ax.get_legend_handles_labels()
    ground: dict[str, Any] = {"frameon": True, "framealpha": 0.9, "facecolor": "white", "edgecolor": "none"}
    ax.legend(handles[::-1], labels[::-1], loc=_corner(found), fontsize=SIZE, **ground)


def _share(ax: "Axes", x: float) -> float:
    """Place of a value across the axes, from 0 to 1."""
    return float((ax.transScale + ax.transLimits).transform((x, 1.0))[0])


def _name_piece(ax: "Axes", piece: Piece, ends: tuple[float, float], text: str, above: bool, bound: float) -> None:
    """Beside the line, where the safe mix is not: near its middle, in the frame, not across ``bound``; or nowhere."""
    side, step = ("center", 0) if piece.slope == 0 else ("right", -5) if (piece.slope > 0) is above else ("left", 5)
    width = len(text) * LETTER * SIZE / (ax.bbox.width * 72.0 / ax.get_figure(root=True).dpi)  # type: ignore[union-attr]
    before = {"center": width / 2.0, "right": width, "left": 0.0}[side]

    def fits(x: float) -> bool:
        start = _share(ax, x) - before
        return start >= 0.0 and start + width <= 1.0 and not start - GAP < bound < start + width + GAP

    log = ax.get_xscale() == "log"
    first, last = np.log(ends) if log else ends
    places = [float(np.exp(x) if log else x) for x in first + np.array(ALONG) * (last - first)]
    place = next(filter(fits, places), None)
    if place is None:
        return
    look: dict[str, Any] = {
        "fontsize": SIZE,
        "color": COLOURS["support"],
        "ha": side,
        "va": "bottom" if above else "top",
        "parse_math": False,
    }
    ax.annotate(text, (place, piece.value(place)), (step, 5 if above else -5), "data", "offset points", **look)
