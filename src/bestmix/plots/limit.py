"""Shares of trials: those that attain the limit, beside those of Challenger."""

import math
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from bestmix.arrays import Floats
from bestmix.plots.theme import COLOURS, new_axes, strategy_style, style
from bestmix.theory import LowerBound, TolerantBound

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BARS = 24  # arms in one picture
LANE = 0.19  # of a row: from its middle to the bar above it and to the runs below it


def plot_limit(found: LowerBound, spent: Floats | None = None, ax: "Axes | None" = None) -> "Axes":
    """The best shares, the largest first; beside them the ``spent`` ones of runs (runs, K), their mean and range.

    >>> from bestmix import catalog, limit
    >>> plot_limit(limit(catalog.load("A1"))).get_xlabel()
    'share of trials'
    """
    order = np.argsort(-found.share, kind="stable")[:MOST_BARS]
    rows = np.arange(len(order))
    with style():
        from matplotlib.ticker import FuncFormatter

        ax = new_axes() if ax is None else ax
        bars, height = (rows, 0.62) if spent is None else (rows - LANE, 2 * LANE)
        ax.barh(bars, found.share[order], height, color=COLOURS["support"], label="attains the limit")
        if spent is not None:
            _draw_spent(ax, rows + LANE, spent[:, order])
        ax.set_yticks(rows, [found.instance.arms[a] for a in order], parse_math=False, fontsize=9)
        ax.set_ylim(len(order) - 0.4, -0.6)
        ax.set_xlim(left=0)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g}%"))
        ax.grid(visible=False, axis="y")
        ax.set_xlabel("share of trials")
        return ax


def _draw_spent(ax: "Axes", rows: Any, spent: Floats) -> None:
    look, runs = strategy_style("Challenger"), len(spent)
    ax.hlines(rows, spent.min(axis=0), spent.max(axis=0), color=look["color"], linewidth=1.4)
    label = f"Challenger, {runs} run{'s' if runs > 1 else ''}"
    ax.plot(spent.mean(axis=0), rows, look["marker"], color=look["color"], markersize=5, label=label)


def limit_figure(found: LowerBound, spent: Floats | None = None) -> "Figure":
    """``plot_limit`` with its legend and the bound.

    >>> from bestmix import catalog, limit
    >>> len(limit_figure(limit(catalog.load("A1"))).axes)
    1
    """
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 1.6 + 0.24 * min(len(found.share), MOST_BARS)), layout="constrained")
        ax = plot_limit(found, spent, figure.add_subplot())
        if found.note:
            ax.set_title(textwrap.fill(found.note, 70), fontsize=10)
        else:
            enough = f" ({found.trials_upper:,.0f} are enough)" if isinstance(found, TolerantBound) else ""
            least = f"At least {math.ceil(found.trials):,} trials on average{enough}, wrong in at most {found.delta:g}"
            ax.set_title(least, fontsize=10)
        figure.legend(*ax.get_legend_handles_labels(), loc="outside lower left", ncols=2, fontsize=9)
        return figure
