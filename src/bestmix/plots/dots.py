"""Strategies with one budget: a row for each, the best on top, with its interval."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bestmix.plots.looks import BARS, LABELS, edge, styles
from bestmix.plots.theme import COLOURS, new_axes, style
from bestmix.simulation.results import CellResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_dots(cells: Iterable[CellResult], by: str, ax: "Axes | None" = None) -> "Axes":
    """What each strategy came to with the one budget of these cells, as a dot with its 95% interval and in numbers.

    >>> from bestmix import SFSR, Uniform, sweep
    >>> ax = plot_dots(sweep(["D1P"], [Uniform(), SFSR()], [4000], runs=250), "error")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['SFSR', 'USLP']
    """
    rows = sorted(cells, key=lambda cell: _rank(cell, by))
    looks = styles([cell.strategy for cell in rows])
    with style():
        from matplotlib.ticker import FuncFormatter

        ax = new_axes() if ax is None else ax
        for row, cell in enumerate(rows):
            _draw(ax, row, cell, by, looks[cell.strategy])
        ax.set_yticks(range(len(rows)), [cell.strategy for cell in rows], parse_math=False)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.set_xlim(left=0.0)
        ax.tick_params(axis="y", length=0)
        ax.grid(visible=False, axis="y")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _text(value, by)))
        ax.set_xlabel(f"{LABELS[by]} with a budget of {rows[0].budget:,g}")
        return ax


def _rank(cell: CellResult, by: str) -> float:
    """The best first; what is not known last."""
    value = cell.measured(by)[0]
    return math.inf if math.isnan(value) else -value if by == "kept" else value


def _draw(ax: "Axes", row: int, cell: CellResult, by: str, look: dict[str, Any]) -> None:
    value, ends = cell.measured(by)
    if math.isnan(value):
        text = "–"
    else:
        text = _text(float(f"{value:.3g}"), by)
        reach = [[max(value - ends[0], 0.0)], [max(ends[1] - value, 0.0)]]
        dot: dict[str, Any] = {**look, "linestyle": "none", "markersize": 7}
        ax.errorbar([value], [row], xerr=reach, **BARS, **edge(look), **dot)
    place: dict[str, Any] = {
        "xycoords": ("axes fraction", "data"),
        "textcoords": "offset points",
        "va": "center",
        "fontsize": 9,
    }
    ax.annotate(text, (1.0, row), (8, 0), color=COLOURS["muted"], annotation_clip=False, **place)


def _text(value: float, by: str) -> str:
    """A share in percent.

    >>> _text(0.37, "error"), _text(0.0125, "loss")
    ('37%', '0.0125')
    """
    return f"{value:g}" if by == "loss" else f"{100 * value:g}%"
