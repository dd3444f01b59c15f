"""Strategies beside each other on many instances: a row for each instance, a mark for each strategy."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from bestmix.plots.curves import styles
from bestmix.plots.theme import COLOURS, new_axes, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARK = 6.5  # size of a mark, in points
HEIGHT = 0.42  # of a row, in inches
LANES = 0.6  # of a row that its marks take, so that none covers another


class Mark(NamedTuple):
    """What a strategy came to on an instance, and whether it is as good as it claims: a hollow mark where it is not."""

    value: float
    trusted: bool = True


Marks = Mapping[str, Mapping[str, Mark]]  # by instance, by strategy


def plot_marks(marks: Marks, label: str, ax: "Axes | None" = None) -> "Axes":
    """A row for each instance, a mark for each strategy, on a logarithmic axis; zeros stand at its left end.

    Parameters
    ----------
    marks
        By instance, by strategy.
    label
        Of the axis.
    ax
        Axes to draw on; new ones by default.

    Examples
    --------
    >>> ax = plot_marks({"D1P": {"Challenger": Mark(300.0), "LATS": Mark(900.0, False)}}, "trials")
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['D1P']
    """
    with style():
        ax = new_axes() if ax is None else ax
        found = [mark.value for row in marks.values() for mark in row.values() if mark.value > 0]
        least = min(found, default=1.0) / 1.6
        looks = looks_of(marks)
        lane = {name: LANES * ((k + 0.5) / len(looks) - 0.5) for k, name in enumerate(looks)}
        for place, row in enumerate(marks.values()):
            ax.axhline(place + 0.5, color=COLOURS["grid"], linewidth=0.8, zorder=1)
            for name, mark in row.items():
                face: dict[str, Any] = {} if mark.trusted else {"markerfacecolor": COLOURS["paper"]}
                ax.plot([max(mark.value, least)], [place + lane[name]], **looks[name], **face)
        ax.set(xscale="log", xlabel=label, ylim=(len(marks) - 0.5, -0.5))
        ax.set_yticks(range(len(marks)), list(marks), fontsize=9)
        ax.tick_params(axis="y", length=0)
        ax.grid(visible=False, axis="y")
        _number(ax)
        return ax


def _number(ax: "Axes") -> None:
    """Plain numbers along the axis: at the powers of ten and, where these are few, between them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = ax.get_xlim()
    between = (1.0, 2.0, 5.0) if high / low < 200 else (1.0,)
    ax.xaxis.set_major_locator(LogLocator(subs=between))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}" if value < 1 else f"{value:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def looks_of(marks: Marks) -> dict[str, dict[str, Any]]:
    """How each strategy is drawn.

    >>> sorted(looks_of({"D1P": {"USLP": Mark(1.0)}})["USLP"])[:3]
    ['alpha', 'color', 'linestyle']
    """
    names = list(dict.fromkeys(name for row in marks.values() for name in row))
    common = {"linestyle": "none", "markersize": MARK, "alpha": 0.9, "zorder": 3}
    return {name: {**look, **common} for name, look in styles(names).items()}


def rivals_figure(panels: Mapping[str, Marks]) -> "Figure":
    """Panels side by side, each with its axis named by its key and a legend of its own.

    >>> one = {"D1P": {"Challenger": Mark(300.0)}}
    >>> len(rivals_figure({"trials until sure": one, "wrong answers in %": one}).axes)
    2
    """
    with style():
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D

        rows = max(len(marks) for marks in panels.values())
        figure = Figure(figsize=(5.4 * len(panels) + 0.8, HEIGHT * rows + 1.9), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.1)  # type: ignore[union-attr, call-arg]
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for ax, (label, marks) in zip(axes, panels.items(), strict=True):
            plot_marks(marks, label, ax)
            shown = {name: Line2D([], [], **look) for name, look in looks_of(marks).items()}
            ax.legend(
                list(shown.values()), list(shown), loc="lower left", bbox_to_anchor=(0, 1.01), ncols=3, fontsize=8
            )
        return figure
