"""Claimed chances against true ones: a reliability diagram."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bestmix.plots.theme import COLOURS, STRATEGIES, new_axes, style
from bestmix.simulation.results import wilson

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW = 20  # runs of a bin, below which its share says little
LOOKS = (STRATEGIES["Challenger"], STRATEGIES["USLP"])
DIAGONAL: dict[str, Any] = {"color": COLOURS["muted"], "linestyle": ":", "linewidth": 1.3, "zorder": 1}


@dataclass(frozen=True)
class Claims:
    """Runs that claim about the same chance of being right: how many, the sum of the claims, how many are right."""

    runs: int
    claimed: float
    right: int

    @property
    def mean(self) -> float:
        """Mean claim."""
        return self.claimed / self.runs

    @property
    def share(self) -> float:
        """Share that is right."""
        return self.right / self.runs

    def interval(self, wrong: bool = False) -> tuple[float, float]:
        """95% interval of the share that is right, or wrong (Wilson)."""
        return wilson(self.runs - self.right if wrong else self.right, self.runs)


def plot_reliability(bins: Mapping[str, Sequence[Claims]], ax: "Axes | None" = None) -> "Axes":
    """Share of right answers over the claimed chance, by bin, with 95% intervals; bins of few runs are hollow.

    >>> ax = plot_reliability({"mine": [Claims(100, 20.0, 35), Claims(300, 240.0, 260)]})
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('claimed chance to be right', 'share that is right')
    """
    with style():
        ax = new_axes() if ax is None else ax
        ax.plot([0, 1], [0, 1], **DIAGONAL)
        for (name, listed), look in zip(bins.items(), LOOKS, strict=False):
            few = {"linestyle": "none", "markerfacecolor": COLOURS["paper"], "markeredgecolor": look["color"]}
            _draw_bins(ax, [b for b in listed if b.runs >= FEW], _curve(look) | {"label": name})
            if rare := [b for b in listed if 0 < b.runs < FEW]:
                _draw_bins(ax, rare, _curve(look) | few)
        ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="claimed chance to be right", ylabel="share that is right")
        return ax


def _draw_bins(ax: "Axes", bins: Sequence[Claims], look: Mapping[str, Any]) -> None:
    reach = [[abs(b.share - b.interval()[end]) for b in bins] for end in (0, 1)]
    ax.errorbar([b.mean for b in bins], [b.share for b in bins], yerr=reach, clip_on=False, **look)


def reliability_figure(bins: Mapping[str, Sequence[Claims]]) -> "Figure":
    """The reliability diagram alone.

    >>> len(reliability_figure({"mine": [Claims(100, 20.0, 35), Claims(300, 240.0, 260)]}).axes)
    1
    """
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5.6, 5.2), layout="constrained")
        ax = plot_reliability(bins, figure.add_subplot())
        ax.set(xlabel="claimed chance", ylabel="share that is true")
        said = "below the dotted line more is claimed than is true"
        ax.text(0.98, 0.02, said, ha="right", va="bottom", color=COLOURS["muted"], fontsize=9)
        handles, names = ax.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=len(names), fontsize=9)
        return figure


def plot_cells(cells: Mapping[str, Sequence[Claims]], ax: "Axes | None" = None) -> "Axes":
    """Share of wrong answers of each cell over its mean claimed chance of one, on logarithmic scales.

    Where no answer was wrong an arrow points down from the upper end of the interval. Claims too small for
    the axis, which ends where the intervals do, stand at its edge.

    >>> plot_cells({"mine": [Claims(100, 60.0, 75), Claims(100, 99.0, 100)]}).get_xscale()
    'log'
    """
    with style():
        ax = new_axes() if ax is None else ax
        seen = {name: [c for c in listed if c.runs] for name, listed in cells.items()}
        low = 0.6 * min((_lowest(c) for listed in seen.values() for c in listed), default=0.01)
        for (name, listed), look in zip(seen.items(), LOOKS, strict=False):
            _draw_cells(ax, listed, name, look, low)
        ax.plot([low, 1], [low, 1], **DIAGONAL)
        ax.set(xscale="log", yscale="log", xlim=(low, 1.3), ylim=(low, 1.3))
        ax.set(xlabel="mean claimed chance to be wrong", ylabel="share that is wrong")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:g}")
            axis.set_tick_params(which="minor", size=0)
        return ax


def _draw_cells(ax: "Axes", cells: Sequence[Claims], name: str, look: Mapping[str, Any], low: float) -> None:
    wrong = [c for c in cells if c.right < c.runs]
    reach = [[abs(1 - c.share - c.interval(wrong=True)[end]) for c in wrong] for end in (0, 1)]
    dots = _curve(look) | {"linestyle": "none", "markersize": 5, "elinewidth": 0.9}
    claimed = [max(1 - c.mean, low) for c in wrong]
    ax.errorbar(claimed, [1 - c.share for c in wrong], yerr=reach, label=name, **dots)
    never = [c for c in cells if c.right == c.runs]
    if never:
        claimed, end = [max(1 - c.mean, low) for c in never], [c.interval(wrong=True)[1] for c in never]
        hollow = dots | {"markerfacecolor": "none", "markeredgecolor": look["color"]}
        ax.errorbar(claimed, end, yerr=[0.5 * e for e in end], uplims=True, clip_on=False, **hollow)


def _lowest(cell: Claims) -> float:
    """Where what is drawn of a cell ends."""
    low, high = cell.interval(wrong=True)
    return low if cell.right < cell.runs else 0.5 * high


def _curve(look: Mapping[str, Any]) -> dict[str, Any]:
    edge = {"markeredgecolor": COLOURS["paper"], "markeredgewidth": 0.6}
    return {**look, **edge, "markersize": 6.5, "linewidth": 1.6, "elinewidth": 1.1, "capsize": 2.5, "zorder": 3}


def calibration_figure(
    bins: Mapping[str, Sequence[Claims]], cells: Mapping[str, Sequence[Claims]], edges: Sequence[float]
) -> "Figure":
    """The reliability diagram with the numbers of runs below it, and next to it every cell.

    Parameters
    ----------
    bins
        By way of sampling, in the order of the edges.
    cells
        By way of sampling: all runs of an instance with a budget.
    edges
        Ends of the bins.

    Examples
    --------
    >>> claims = [Claims(100, 20.0, 35), Claims(300, 240.0, 260)]
    >>> len(calibration_figure({"mine": claims}, {"mine": claims}, [0.0, 0.5, 1.0]).axes)
    3
    """
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9.4, 5.4), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.08)  # type: ignore[union-attr, call-arg]
        grid = figure.add_gridspec(2, 2, height_ratios=[3.2, 1.0])
        top = plot_reliability(bins, figure.add_subplot(grid[0, 0]))
        top.set(xlabel="", title="Runs, by what they claim")
        top.tick_params(labelbottom=False)
        below = figure.add_subplot(grid[1, 0], sharex=top)
        _draw_counts(below, bins, edges)
        plot_cells(cells, figure.add_subplot(grid[:, 1])).set_title("Instances and budgets")
        _say_sides(figure.axes[0], figure.axes[2])
        handles, names = top.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=len(names), fontsize=9)
        return figure


def _draw_counts(ax: "Axes", bins: Mapping[str, Sequence[Claims]], edges: Sequence[float]) -> None:
    for listed, look in zip(bins.values(), LOOKS, strict=False):
        counts = [b.runs for b in listed]
        ax.stairs(counts, edges, color=look["color"], alpha=0.12, fill=True)
        ax.stairs(counts, edges, color=look["color"], linestyle=look["linestyle"], linewidth=1.4, baseline=None)
    ax.set(xlabel="claimed chance to be right", ylabel="runs in bin", xlim=(0, 1))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.set_ylim(bottom=0)


def _say_sides(runs: "Axes", cells: "Axes") -> None:
    """Which side of a diagonal is the safe one."""
    paper = {"facecolor": COLOURS["paper"], "edgecolor": "none", "pad": 1.5}
    look: dict[str, Any] = {"color": COLOURS["muted"], "fontsize": 9, "zorder": 0, "bbox": paper}
    for ax, modest, bold in ((runs, (0.04, 0.96), (0.96, 0.04)), (cells, (0.96, 0.04), (0.04, 0.96))):
        for text, (x, y) in (("claims too little", modest), ("claims too much", bold)):
            across, up = "left" if x < 0.5 else "right", "bottom" if y < 0.5 else "top"
            ax.text(x, y, text, transform=ax.transAxes, ha=across, va=up, **look)
