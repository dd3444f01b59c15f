"""How strategies look when they are put side by side, and the legend that says so."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from bestmix.plots.theme import COLOURS, OTHER_MARKERS, OTHERS, STRATEGIES, strategy_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Place = Literal["outside upper left", "outside lower left"]
LINE: dict[str, Any] = {"markersize": 6, "linewidth": 1.6}
BARS: dict[str, Any] = {"capsize": 2.5, "elinewidth": 1.1, "zorder": 3}
LABELS = {"error": "error rate", "loss": "mean loss", "kept": "share of mixes that keep all limits"}


def styles(strategies: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Every strategy's own look; each has a colour of its own, while there are some."""
    found = {name: strategy_style(name) for name in strategies if name in STRATEGIES}
    spare = [{"color": c, "marker": m, "linestyle": "--"} for m in OTHER_MARKERS for c in OTHERS]
    for name in strategies:
        if name not in found:
            colours = {look["color"] for look in found.values()}
            looks = [look for look in (strategy_style(name), *spare) if look not in found.values()]
            found[name] = next((look for look in looks if look["color"] not in colours), (looks or spare)[0])
    return {name: found[name] for name in strategies}


def edge(look: Mapping[str, Any]) -> dict[str, Any]:
    """A light edge parts markers that touch; a cross is nothing but its edge."""
    return {} if look["marker"] == "x" else {"markeredgecolor": COLOURS["paper"], "markeredgewidth": 0.6}


def legend_within(figure: "Figure", shown: Mapping[str, Any], place: Place) -> None:
    """A legend of the figure's in as few rows as there is width for.

    >>> from matplotlib.figure import Figure
    >>> from matplotlib.lines import Line2D
    >>> figure = Figure(figsize=(4, 2))
    >>> legend_within(figure, {f"strategy {k}": Line2D([], []) for k in range(6)}, "outside lower left")
    >>> bool(figure.legends[0].get_window_extent().width < figure.bbox.width)
    True
    """
    for rows in range(1, len(shown) + 1):
        across = math.ceil(len(shown) / rows)
        legend = figure.legend(list(shown.values()), list(shown), loc=place, ncols=across, fontsize=9)
        if across == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()
