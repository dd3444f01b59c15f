"""Strategies beside each other on many instances: a row for each instance, a mark for each strategy."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bestmix.plots.looks import styles
from bestmix.plots.theme import COLOURS, new_axes, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARK = 6.5  # size of a mark, in points
HEIGHT = 0.42  # of a row, in inches
LANES = 0.6  # of a row that its marks take, so that none covers another
ROOM = 1.6  # factor from the smallest mark to the end of the axis, or to the line that parts zero from it


class Mark(NamedTuple):
    """What a strategy came to on an instance, and whether it is as good as it claims: a hollow mark where it is not."""

    value: float
    trusted: bool = True


Marks = Mapping[str, Mapping[str, Mark]]  # by instance, by strategy


def plot_marks(marks: Marks, label: str, ax: "Axes | None" = None, instances: Sequence[str] | None = None) -> "Axes":
    """A row for each instance, a mark for each strategy, on a logarithmic axis; zeros stand apart at its left end.

    Parameters
    ----------
    marks
        By instance, by strategy.
    label
        Of the axis.
    ax
        Axes to draw on; new ones by default.
    instances
        The rows, in order; those without marks stay empty. By default those of the marks.

    Examples
    --------
    >>> ax = plot_marks({"D1P": {"Challenger": Mark(300.0), "LATS": Mark(900.0, False)}}, "trials")
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['D1P']
    """
    with style():
        ax = new_axes() if ax is None else ax
        values = [mark.value for row in marks.values() for mark in row.values()]
        least = min((value for value in values if value > 0), default=1.0)
        zero = least / ROOM**2
        rows, looks = list(instances or marks), looks_of(marks)
        lane = {name: LANES * ((k + 0.5) / len(looks) - 0.5) for k, name in enumerate(looks)}
        for place, instance in enumerate(rows):
            ax.axhline(place + 0.5, color=COLOURS["grid"], linewidth=0.8, zorder=1)
            for name, mark in marks.get(instance, {}).items():
                face: dict[str, Any] = {} if mark.trusted else {"markerfacecolor": COLOURS["paper"]}
                ax.plot([mark.value or zero], [place + lane[name]], **looks[name], **face)
        ax.set(xscale="log", xlabel=label, ylim=(len(rows) - 0.5, -0.5))
        ax.set_yticks(range(len(rows)), rows, fontsize=9)
        ax.tick_params(axis="y", length=0)
        ax.grid(visible=False, axis="y")
        _number(ax, least, zero if 0.0 in values else None)
        return ax


def _number(ax: "Axes", least: float, zero: float | None) -> None:
    """Plain numbers along the axis: at the powers of ten and, where these are few, between them; zero beyond a line."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = least / ROOM, ax.get_xlim()[1]
    between = (1.0, 2.0, 5.0) if high / low < 200 else (1.0,)
    ticks = [tick for tick in LogLocator(subs=between).tick_values(low, high) if low < tick <= high]
    labels = [f"{tick:,g}" if tick < 1 else f"{tick:,.0f}" for tick in ticks]
    if zero is not None:
        ax.axvline(low, color=COLOURS["muted"], linewidth=0.9, linestyle=(0, (2, 2)), zorder=2)
        ticks, labels = [zero, *ticks], ["0", *labels]
    ax.set_xlim((low if zero is None else zero / ROOM), high)
    ax.set_xticks(ticks, labels)
    ax.xaxis.set_minor_locator(NullLocator())


def looks_of(marks: Marks) -> dict[str, dict[str, Any]]:
    """How each strategy is drawn.

    >>> sorted(looks_of({"D1P": {"USLP": Mark(1.0)}})["USLP"])[:3]
    ['alpha', 'color', 'linestyle']
    """
    names = list(dict.fromkeys(name for row in marks.values() for name in row))
    common = {"linestyle": "none", "markersize": MARK, "alpha": 0.9, "zorder": 3}
    return {name: {**look, **common} for name, look in styles(names).items()}


def rivals_figure(panels: Mapping[str, Marks]) -> "Figure":
    """Panels side by side with the same rows, each with its axis named by its key and a legend of its own.

    >>> one = {"D1P": {"Challenger": Mark(300.0)}}
    >>> len(rivals_figure({"trials until sure": one, "wrong answers in %": one}).axes)
    2
    """
    with style():
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D

        rows = list(dict.fromkeys(instance for marks in panels.values() for instance in marks))
        figure = Figure(figsize=(5.4 * len(panels) + 0.8, HEIGHT * len(rows) + 1.9), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.1)  # type: ignore[union-attr, call-arg]
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for ax, (label, marks) in zip(axes, panels.items(), strict=True):
            plot_marks(marks, label, ax, rows)
            ax.tick_params(axis="y", labelleft=ax is axes[0])
            shown = {name: Line2D([], [], **look) for name, look in looks_of(marks).items()}
            ax.legend(
                list(shown.values()), list(shown), loc="lower left", bbox_to_anchor=(0, 1.01), ncols=3, fontsize=8
            )
        return figure
