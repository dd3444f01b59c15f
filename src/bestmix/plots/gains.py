"""How many times fewer trials: every instance a dot, group by group."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bestmix.arrays import Floats
from bestmix.plots.theme import COLOURS, STRATEGIES, new_axes, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOT = 4.2  # diameter of a dot, in points
WIDTH = 300.0  # of a panel, in points: near enough to keep dots apart
Gains = Mapping[str, Mapping[str, float]]  # by group, by instance


def geometric_mean(values: Sequence[float]) -> float:
    """The mean for ratios.

    >>> round(geometric_mean([0.5, 2.0, 8.0]), 3)
    2.0
    """
    return float(np.exp(np.mean(np.log(values))))


def plot_gains(gains: Gains, ax: "Axes | None" = None, span: tuple[float, float] | None = None) -> "Axes":
    r"""Ratios above and below one, a row for each group: every instance a dot, the smallest one named.

    A bar marks each group's geometric mean, a light tick its median.

    Parameters
    ----------
    gains
        By group, by instance.
    ax
        Axes to draw on; new ones by default.
    span
        Ends of the axis; by default what is there fits in.

    Examples
    --------
    >>> ax = plot_gains({"D": {"D1P": 1.8, "D2P": 2.4}, "H": {"H1": 0.9}})
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['D\n2 instances', 'H\n1 instance']
    """
    with style():
        ax = new_axes() if ax is None else ax
        low, high = _span([gains]) if span is None else span
        ax.set(xscale="log", xlim=(low, high), ylim=(len(gains) - 0.5, -0.5))
        for row, listed in enumerate(gains.values()):
            if listed:
                _draw_group(ax, row, listed, WIDTH / np.log(high / low))
        ax.axvline(1.0, color=COLOURS["bound"], linestyle="--", linewidth=1.3, zorder=2)
        ax.axvspan(low, 1.0, color=COLOURS["bound"], alpha=0.06, linewidth=0, zorder=0)
        _label(ax, gains, low, high)
        return ax


def _draw_group(ax: "Axes", row: int, listed: Mapping[str, float], scale: float) -> None:
    from matplotlib.patheffects import withStroke

    values = np.array(list(listed.values()))
    look: dict[str, Any] = {"linestyle": "none", "marker": "o", "markeredgewidth": 0, "markersize": DOT, "alpha": 0.6}
    offsets = swarm(np.log(values) * scale)
    ax.plot(values, row + offsets, color=STRATEGIES["Challenger"]["color"], zorder=3, **look)
    mean, middle = geometric_mean(list(values)), float(np.median(values))
    ax.plot([middle] * 2, [row - 0.3, row + 0.3], color=COLOURS["muted"], linewidth=1.3, linestyle=":", zorder=4)
    ax.plot([mean] * 2, [row - 0.3, row + 0.3], color=COLOURS["ink"], linewidth=1.9, zorder=4)
    text: dict[str, Any] = {"fontsize": 9, "textcoords": "offset points", "zorder": 5, "parse_math": False}
    ax.annotate(f"{mean:.2f}", (mean, row - 0.3), (0, 1), ha="center", va="bottom", fontweight="bold", **text)
    worst = min(listed, key=lambda name: listed[name])
    spot = listed[worst], row + offsets[list(listed).index(worst)]
    halo = [withStroke(linewidth=2.5, foreground=COLOURS["paper"])]  # over the line at one
    text |= {"color": COLOURS["muted"], "fontsize": 8, "path_effects": halo}
    ax.annotate(f"{worst}: {listed[worst]:.2f}", spot, (-4, 0), ha="right", va="center_baseline", **text)


def _span(panels: Sequence[Gains]) -> tuple[float, float]:
    """Ends of an axis for all of them, with room for a name left of the smallest."""
    everything = [gain for gains in panels for listed in gains.values() for gain in listed.values()]
    high = max(4.0, 1.1 * max(everything, default=1.0))
    least = min(1.0, min(everything, default=1.0))
    return least * (least / high) ** 0.22, high


def swarm(places: Floats) -> Floats:
    """Offsets up and down, in rows of a plot, that keep dots at those places (in points) from covering each other.

    >>> swarm(np.array([0.0, 1.0, 50.0])).round(2).tolist()
    [0.0, 0.07, 0.0]
    """
    step, most = 0.07, 4
    offsets = np.zeros(len(places))
    lanes = sorted(range(-most, most + 1), key=lambda lane: (abs(lane), -lane))
    last = dict.fromkeys(lanes, -np.inf)  # where each lane's last dot is
    for k in np.argsort(places, kind="stable"):
        free = [lane for lane in lanes if places[k] - last[lane] >= DOT]
        lane = free[0] if free else min(lanes, key=lambda one: last[one])
        last[lane] = places[k]
        offsets[k] = lane * step
    return offsets


def _label(ax: "Axes", gains: Gains, low: float, high: float) -> None:
    from matplotlib.ticker import NullLocator

    counts = [f"{len(listed)} instance{'' if len(listed) == 1 else 's'}" for listed in gains.values()]
    names = [f"{group}\n{count}" for group, count in zip(gains, counts, strict=True)]
    ax.set_yticks(range(len(gains)), names, fontsize=9)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    ticks = [t for t in (0.125, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64) if low <= t <= high]
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("times fewer trials than the better of SFSR and SFSR-L")


def gains_figure(panels: Mapping[str, Gains]) -> "Figure":
    """Panels side by side, each with its title and the same groups.

    >>> len(gains_figure({"10% error": {"D": {"D1P": 1.8}}, "1% error": {"D": {"D1P": 2.1}}}).axes)
    2
    """
    with style():
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D

        span = _span(list(panels.values()))
        rows = max(len(gains) for gains in panels.values())
        figure = Figure(figsize=(5.2 * len(panels) + 1.0, 0.88 * rows + 1.5), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.08)  # type: ignore[union-attr, call-arg]
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for ax, (title, gains) in zip(axes, panels.items(), strict=True):
            plot_gains(gains, ax, span).set_title(title)
            ax.tick_params(labelleft=ax is axes[0])
        dot = {"marker": "o", "linestyle": "none", "markeredgewidth": 0, "alpha": 0.6, "markersize": DOT + 1}
        marks = {
            "an instance": Line2D([], [], color=STRATEGIES["Challenger"]["color"], **dot),  # type: ignore[arg-type]
            "geometric mean": Line2D([], [], color=COLOURS["ink"], linewidth=2.2),
            "median": Line2D([], [], color=COLOURS["muted"], linewidth=1.3, linestyle=":"),
            "as many trials; left of it Challenger needs more": Line2D(
                [], [], color=COLOURS["bound"], linewidth=1.3, linestyle="--"
            ),
        }
        figure.legend(list(marks.values()), list(marks), loc="outside lower left", ncols=len(marks), fontsize=9)
        return figure
