"""Figures: functions that take Matplotlib axes, draw on them and return them.

Every figure uses the colours and the style of this file, so that the same thing looks the same
everywhere. Matplotlib is imported when a figure is made, not before.
"""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bestmix.recommendation import Estimate, Recommendation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

# The Okabe-Ito palette, which stays distinct under the common kinds of colour blindness.
COLOURS = {
    "ink": "#222426",
    "muted": "#646a70",
    "grid": "#e3e5e8",
    "support": "#0072b2",
    "rejected": "#80868c",
    "known": "#aa4499",
    "bound": "#d55e00",
    "mix": "#e69f00",
    "paper": "#ffffff",
}

MARKERS = {"support": "o", "rejected": "s", "known": "D", "mix": "*"}

STRATEGIES: dict[str, dict[str, Any]] = {
    "SFSR": {"color": "#0072b2", "marker": "o", "linestyle": "-"},
    "SFSR-L": {"color": "#56b4e9", "marker": "^", "linestyle": "--"},
    "USLP": {"color": "#e69f00", "marker": "s", "linestyle": "-."},
    "Challenger": {"color": "#009e73", "marker": "D", "linestyle": "-"},
    "single arm": {"color": "#6f757b", "marker": "x", "linestyle": ":"},
}

OTHERS = ("#cc79a7", "#d55e00", "#8c6d00", "#332288", "#117733", "#882255")
OTHER_MARKERS = ("v", "P", "X", "<", ">", "h")

STYLE: dict[str, Any] = {
    "figure.dpi": 110,
    "figure.facecolor": COLOURS["paper"],
    "savefig.dpi": 200,
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": COLOURS["ink"],
    "axes.facecolor": "none",
    "axes.edgecolor": COLOURS["muted"],
    "axes.labelcolor": COLOURS["ink"],
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": COLOURS["grid"],
    "grid.linewidth": 0.8,
    "xtick.color": COLOURS["muted"],
    "ytick.color": COLOURS["muted"],
    "xtick.labelcolor": COLOURS["ink"],
    "ytick.labelcolor": COLOURS["ink"],
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 7,
    "svg.fonttype": "none",  # text stays text: smaller, and it can be searched and read aloud
    "svg.hashsalt": "bestmix",  # the same figure gives the same file
}

MOST_LABELS = 16  # beyond this many arms only those that matter are named
SUFFIXES = (".png", ".svg", ".pdf")


def available() -> bool:
    """Whether Matplotlib is installed."""
    return find_spec("matplotlib") is not None


@contextmanager
def style() -> Iterator[None]:
    """The look of all figures, for the time of a ``with`` block.

    >>> import matplotlib
    >>> with style():
    ...     matplotlib.rcParams["axes.spines.top"]
    False
    """
    if not available():
        raise RuntimeError("figures need Matplotlib, which is not installed; install bestmix[plots]")
    import matplotlib

    with matplotlib.rc_context(STYLE):  # type: ignore[arg-type, unused-ignore]
        yield


def strategy_style(name: str) -> dict[str, Any]:
    """Colour, marker and line of a strategy's curve; a name always gets the same.

    >>> strategy_style("SFSR")["color"]
    '#0072b2'
    """
    if name in STRATEGIES:
        return dict(STRATEGIES[name])
    place = sum(name.encode())
    return {
        "color": OTHERS[place % len(OTHERS)],
        "marker": OTHER_MARKERS[place // len(OTHERS) % len(OTHER_MARKERS)],
        "linestyle": "--",
    }


def plot_recommendation(rec: Recommendation, cost: str | None = None, ax: "Axes | None" = None) -> "Axes":
    """The arms in the plane of one cost and the reward, with the bound and the mix.

    Parameters
    ----------
    rec
        What to show.
    cost
        Which cost; the problem's first by default. A problem without costs shows rewards alone.
    ax
        Axes to draw on; new ones by default.

    Examples
    --------
    >>> from bestmix import from_log
    >>> log = {"arm": ["s", "s", "l", "l"], "reward": [1.0, 1.2, 2.0, 2.2], "dollars": [0.0, 0.2, 1.8, 2.2]}
    >>> plot_recommendation(from_log(log, bounds={"dollars": 1.0})).get_xlabel()
    'mean dollars'
    """
    costs = rec.problem.costs
    if cost is not None and cost not in costs:
        raise ValueError(f"cost: expected one of {', '.join(costs) or 'no costs'}, got {cost!r}; check the spelling")
    with style():
        ax = _axes() if ax is None else ax
        if not costs:
            return _plot_rewards(rec, ax)
        _plot_plane(rec, cost or costs[0], ax)
        ax.legend(*_legend([ax]), fontsize=9)
        _name_arms(rec, cost or costs[0], ax)
        return ax


def recommendation_figure(rec: Recommendation, shares: bool = True) -> "Figure":
    """A panel for each cost, and below them the mixture's shares, unless they are not wanted.

    >>> from bestmix import from_log
    >>> log = {"arm": ["s", "s", "l", "l"], "reward": [1.0, 1.2, 2.0, 2.2], "dollars": [0.0, 0.2, 1.8, 2.2]}
    >>> len(recommendation_figure(from_log(log, bounds={"dollars": 1.0})).axes)
    2
    """
    costs = rec.problem.costs
    across = min(max(len(costs), 1), 3)
    down = math.ceil(max(len(costs), 1) / across)
    height, below = 3.9 * down, (0.55 + 0.28 * max(len(rec.mixture), 1)) * shares
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(max(4.6 * across, 6.6), height + below + 0.5), layout="constrained")
        figure.get_layout_engine().set(h_pad=0.08, w_pad=0.08)  # type: ignore[union-attr, call-arg]
        grid = figure.add_gridspec(down + shares, across, height_ratios=[height / down] * down + [below] * shares)
        if shares:
            _plot_shares(rec, figure.add_subplot(grid[down, :]))
        axes = [figure.add_subplot(grid[divmod(i, across)]) for i in range(max(len(costs), 1))]
        if not costs:
            _plot_rewards(rec, axes[0])
            return figure
        for ax, cost in zip(axes, costs, strict=True):
            _plot_plane(rec, cost, ax)
        handles, labels = _legend(axes)
        figure.legend(handles, labels, loc="outside upper left", ncols=3 if across == 1 else len(labels), fontsize=9)
        for ax, cost in zip(axes, costs, strict=True):
            _name_arms(rec, cost, ax)
        return figure


def save(figure: "Figure", path: str | os.PathLike[str]) -> Path:
    """Write a figure to a .png, .svg or .pdf file."""
    path = check_path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the date the same figure gives the same file.
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
    with style():
        figure.savefig(path, metadata=metadata)
    return path


def check_path(path: str | os.PathLike[str]) -> Path:
    """The path, if its ending is that of a figure."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{path}: expected a figure's name to end in {', '.join(SUFFIXES)}; rename it")
    return path


def _axes() -> "Axes":
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(6.4, 4.4), layout="constrained")[1]


def _plot_plane(rec: Recommendation, cost: str, ax: "Axes") -> None:
    """Everything but the arms' names and the legend."""
    arms = [e for e in rec.estimates.values() if math.isfinite(e.reward)]
    for kind in ("support", "rejected", "known"):
        for known in (False, True):
            _draw_arms(ax, [e for e in arms if _kind(rec, e) == kind and e.known == known], cost, kind)
    if rec.mixture and math.isfinite(rec.value):
        _draw_mix(ax, rec, cost)
    bound = rec.problem.bounds[cost]
    ax.axvline(bound, color=COLOURS["bound"], linestyle="--", linewidth=1.5, label="bound", zorder=2)
    ax.set_xlabel(f"mean {cost}", parse_math=False)  # a name may hold a dollar sign
    ax.set_ylabel("mean reward")
    ax.margins(0.1)


def _legend(axes: "list[Axes]") -> tuple[list[Any], list[str]]:
    """Every kind of thing once, and what the crosses are."""
    from matplotlib.lines import Line2D

    found = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    found["95% interval"] = Line2D([], [], color=COLOURS["rejected"], linewidth=1.3)
    return list(found.values()), list(found)


def _kind(rec: Recommendation, estimate: Estimate) -> str:
    if estimate.arm in rec.mixture:
        return "support"
    return "known" if estimate.known else "rejected"


def _half(interval: tuple[float, float]) -> float:
    """Half the width of an interval; none is drawn where it is unknown."""
    half = (interval[1] - interval[0]) / 2
    return half if math.isfinite(half) else 0.0


def _draw_arms(ax: "Axes", arms: list[Estimate], cost: str, kind: str) -> None:
    if not arms:
        return
    known = arms[0].known
    label = ("known, " if known else "") + ("in the mix" if kind == "support" else "not in the mix")
    points, _, crosses = ax.errorbar(
        [e.costs[cost] for e in arms],
        [e.reward for e in arms],
        xerr=[_half(e.cost_intervals[cost]) for e in arms],
        yerr=[_half(e.reward_interval) for e in arms],
        fmt=MARKERS["known" if known else kind],
        color=COLOURS[kind],
        markersize=8 if kind == "support" else 5.5,
        markeredgecolor=COLOURS["paper"],
        markeredgewidth=0.8,
        elinewidth=1.3,
        zorder=4 if kind == "support" else 3,
    )
    points.set_label(label)
    for cross in crosses:
        cross.set_alpha(1.0 if kind == "support" else 0.55)


def _draw_mix(ax: "Axes", rec: Recommendation, cost: str) -> None:
    """The mix's own point; with one cost it lies on the line between its arms."""
    support = [rec.estimates[arm] for arm in rec.mixture]
    if len(rec.problem.costs) == 1 and len(support) == 2:
        ends = [e.costs[cost] for e in support], [e.reward for e in support]
        ax.plot(*ends, color=COLOURS["support"], linewidth=1.3, zorder=2)
    label = "the mix" if rec.feasible else "least violation"
    point = rec.problem.bounds[cost] - rec.slack[cost], rec.value
    look: dict[str, Any] = {"markersize": 15, "markeredgecolor": COLOURS["ink"], "markeredgewidth": 0.9}
    ax.plot(*point, MARKERS["mix"], color=COLOURS["mix"], label=label, linestyle="none", zorder=5, **look)


def _plot_rewards(rec: Recommendation, ax: "Axes") -> "Axes":
    """Rewards with intervals, best on top, where there are no costs."""
    arms = sorted((e for e in rec.estimates.values() if math.isfinite(e.reward)), key=lambda e: e.reward)
    for kind in ("rejected", "known", "support"):
        rows = [(i, e) for i, e in enumerate(arms) if _kind(rec, e) == kind]
        if rows:
            where = [e.reward for _, e in rows], [i for i, _ in rows]
            half = [_half(e.reward_interval) for _, e in rows]
            ax.errorbar(*where, xerr=half, fmt=MARKERS[kind], color=COLOURS[kind], elinewidth=1.3)
    ax.set_yticks(range(len(arms)), [e.arm for e in arms], parse_math=False)
    ax.set_xlabel("mean reward")
    return ax


def _plot_shares(rec: Recommendation, ax: "Axes") -> "Axes":
    arms, shares = list(rec.mixture), list(rec.mixture.values())
    ax.barh(range(len(arms)), shares, color=COLOURS["support"], height=0.58)
    for row, share in enumerate(shares):
        ax.text(share + 0.008, row, f"{share:.1%}", va="center")
    ax.set_yticks(range(len(arms)), arms, parse_math=False)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.12)
    ax.set_xticks([])
    ax.grid(visible=False)
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_title("the mix" if rec.feasible else "the mix with the least violation")
    return ax


def _name_arms(rec: Recommendation, cost: str, ax: "Axes") -> None:
    """Write each arm's name next to its point, where it covers the least."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # settles the layout, on which all pixels depend
    point = figure.dpi / 72
    arms = [e for e in rec.estimates.values() if math.isfinite(e.reward)]
    spots = ax.transData.transform([(e.costs[cost], e.reward) for e in arms] or np.empty((0, 2)))
    taken = _occupied(rec, cost, ax, point)
    for a in sorted(range(len(arms)), key=lambda a: (arms[a].arm not in rec.mixture, -arms[a].reward)):
        kind = _kind(rec, arms[a])
        if kind == "rejected" and len(arms) > MOST_LABELS:
            continue
        look: dict[str, Any] = {"fontsize": 9, "zorder": 6, "parse_math": False}
        look["color"] = COLOURS["muted" if kind == "rejected" else kind]
        text = ax.annotate(arms[a].arm, (arms[a].costs[cost], arms[a].reward), (0, 0), "data", "offset points", **look)
        extent = text.get_window_extent()
        boxes = _around(spots[a], np.array([extent.width, extent.height]), point)
        clutter = 3.0 * _covered(boxes, np.array(taken)) + _strayed(boxes, spots, a, np.array(ax.bbox.extents))
        best = boxes[np.argmin(clutter)]
        text.xyann = tuple((best[:2] - spots[a]) / point)
        taken.append(tuple(best))


def _occupied(rec: Recommendation, cost: str, ax: "Axes", point: float) -> list[tuple[float, ...]]:
    """Boxes (left, low, right, high), in pixels, of what names should leave free."""
    boxes: list[tuple[float, ...]] = []
    for e in rec.estimates.values():
        if math.isfinite(e.reward):
            middle = np.array([e.costs[cost], e.reward])
            half = np.array([_half(e.cost_intervals[cost]), _half(e.reward_interval)])
            (left, low), (x, y), (right, high) = ax.transData.transform([middle - half, middle, middle + half])
            boxes += [(x - 5 * point, y - 5 * point, x + 5 * point, y + 5 * point)]
            boxes += [(left, y - 2 * point, right, y + 2 * point), (x - 2 * point, low, x + 2 * point, high)]
    bound, _ = ax.transData.transform((rec.problem.bounds[cost], 0.0))
    boxes.append((bound - 2 * point, ax.bbox.y0, bound + 2 * point, ax.bbox.y1))
    if math.isfinite(rec.value):
        x, y = ax.transData.transform((rec.problem.bounds[cost] - rec.slack[cost], rec.value))
        boxes.append((x - 9 * point, y - 9 * point, x + 9 * point, y + 9 * point))
    legend = ax.get_legend()
    return boxes if legend is None else [*boxes, tuple(legend.get_window_extent().extents)]


def _around(spot: Floats, size: Floats, point: float) -> Floats:
    """Boxes (n, 4) of a text of that size at places around a spot."""
    reach, angle = np.meshgrid([7.0, 12.0, 18.0, 26.0, 36.0], np.radians(np.arange(0, 360, 30)), indexing="ij")
    way = np.stack([np.cos(angle), np.sin(angle)], axis=-1).reshape(-1, 2)
    low = spot + way * reach.reshape(-1, 1) * point + (way - 1) * size / 2
    return np.hstack([low, low + size])


def _covered(boxes: Floats, taken: Floats) -> Floats:
    """Pixels of each box that are taken."""
    sides = np.minimum(boxes[:, None, 2:], taken[:, 2:]) - np.maximum(boxes[:, None, :2], taken[:, :2])
    result: Floats = np.prod(np.maximum(sides, 0.0), axis=2).sum(axis=1)
    return result


def _strayed(boxes: Floats, spots: Floats, own: int, frame: Floats) -> Floats:
    """How far each box is from its own spot; more where another spot is nearer or the frame ends."""
    beyond = np.maximum(boxes[:, None, :2] - spots, 0.0) + np.maximum(spots - boxes[:, None, 2:], 0.0)
    distance = np.linalg.norm(beyond, axis=2)
    others = np.delete(distance, own, axis=1).min(axis=1, initial=np.inf)
    outside = np.maximum(frame[:2] - boxes[:, :2], 0.0) + np.maximum(boxes[:, 2:] - frame[2:], 0.0)
    result: Floats = distance[:, own] + 20.0 * np.maximum(distance[:, own] - others, 0.0) + 100.0 * outside.sum(axis=1)
    return result
