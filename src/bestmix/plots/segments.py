"""The mix of every segment at a glance: a heat map of the arms' shares."""

from typing import TYPE_CHECKING

import numpy as np

from bestmix import checks
from bestmix.answers.number_text import share_text, shortened
from bestmix.answers.recommendation import Recommendation
from bestmix.plots.theme import COLOURS, style
from bestmix.problems.segment_instance import SegmentInstance

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_SEGMENTS = 60  # rows, those with the most users; more cannot be read
MOST_ARMS = 30  # columns, those with the largest shares
DARK = 0.55  # share from which on a number is written in white
LETTERS_ACROSS = 36  # of all names above the columns; more have no room side by side


def plot_segments(rec: Recommendation, ax: "Axes | None" = None) -> "Axes":
    """Share of each arm in each segment, a row for a segment; the segments with the most users come first.

    Parameters
    ----------
    rec
        A recommendation of a problem with segments.
    ax
        Axes to draw on; new ones, as high as it takes, by default.

    Examples
    --------
    >>> from bestmix import from_log
    >>> log = {"arm": ["s", "s", "l", "l"] * 2, "reward": [1.0, 1.2, 2.0, 2.2, 1.0, 1.1, 1.3, 1.4]}
    >>> rec = from_log(log | {"who": ["free"] * 4 + ["paid"] * 4}, segment="who")
    >>> [text.get_text() for text in plot_segments(rec).get_yticklabels()]
    ['free, 50% of users', 'paid, 50% of users']
    """
    segments, arms, shares = _table(rec)
    with style():
        ax = _new_axes(len(segments), len(arms)) if ax is None else ax
        _draw(ax, segments, arms, shares, rec.problem.everybody)
        return ax


def plot_best_shares(instance: SegmentInstance, ax: "Axes | None" = None) -> "Axes":
    """Share of each arm in each segment in the best mix of an instance, as ``plot_segments`` shows an answer.

    >>> from bestmix import catalog
    >>> len(plot_best_shares(catalog.load("S3L1")).get_yticklabels())
    3
    """
    problem = instance.problem
    arms = [*problem.arms, *(name for name in problem.known if name not in problem.arms)]
    groups, weight = list(instance.groups), np.array(list(instance.groups.values()))
    table = np.zeros((len(groups), len(arms)))
    for name, share in instance.mixture.items():
        cell = problem.cell(name)
        row = groups.index(cell.segment)
        table[row, arms.index(cell.arm)] = share / weight[row]
    rows = sorted(range(len(groups)), key=lambda s: -weight[s])[:MOST_SEGMENTS]
    columns = sorted(range(len(arms)), key=lambda a: -float(weight @ table[:, a]))[:MOST_ARMS]
    names = [(groups[s] or "everyone", float(weight[s])) for s in rows]
    with style():
        ax = _new_axes(len(names), len(columns)) if ax is None else ax
        _draw(ax, names, [arms[a] for a in columns], table[np.ix_(rows, columns)], problem.everybody)
        return ax


def _new_axes(rows: int, columns: int) -> "Axes":
    """Axes as high as it takes."""
    from matplotlib.figure import Figure

    return Figure(figsize=(2.6 + 0.75 * columns, 1.1 + 0.3 * rows), layout="constrained").add_subplot()


def segments_figure(rec: Recommendation) -> "Figure":
    """``plot_segments`` in a figure of its own."""
    figure = plot_segments(rec).get_figure(root=True)
    assert figure is not None
    return figure


def _table(rec: Recommendation) -> tuple[list[tuple[str, float]], list[str], np.ndarray]:
    """Segments with their shares of users, arms, and the share of each arm in each segment."""
    if not rec.by_segment:
        raise checks.InvalidInput(
            "rec", expected="a recommendation by segment", got="one mix for all", remedy="use plot_recommendation"
        )
    arms: dict[str, float] = {}
    for name in rec.estimates:
        arm = rec.problem.cell(name).arm
        arms[arm] = arms.get(arm, 0.0) + rec.mixture.get(name, 0.0)
    rows = sorted(rec.segment_shares.items(), key=lambda pair: -pair[1])[:MOST_SEGMENTS]
    columns = sorted(arms, key=lambda arm: -arms[arm])[:MOST_ARMS]
    return rows, columns, np.array([[rec.by_segment[s].get(a, 0.0) for a in columns] for s, _ in rows])


def _draw(ax: "Axes", segments: list[tuple[str, float]], arms: list[str], shares: np.ndarray, everybody: str) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("shares", [COLOURS["paper"], COLOURS["support"]])
    ax.pcolormesh(shares, cmap=shades, vmin=0.0, vmax=1.0, edgecolors=COLOURS["grid"], linewidth=0.8)
    for (row, column), share in np.ndenumerate(shares):
        if share > 0:
            colour = COLOURS["paper"] if share > DARK else COLOURS["ink"]
            place = column + 0.5, row + 0.5
            ax.text(*place, share_text(float(share)), ha="center", va="center", color=colour, fontsize=8)
    columns = [shortened(arm) for arm in arms]
    ax.set_xticks(np.arange(len(arms)) + 0.5, columns, parse_math=False)
    labels = [f"{shortened(name)}, {share_text(share)} of {everybody}" for name, share in segments]
    ax.set_yticks(np.arange(len(segments)) + 0.5, labels, parse_math=False)
    ax.invert_yaxis()
    ax.xaxis.tick_top()
    if max(map(len, columns), default=0) * len(columns) > LETTERS_ACROSS:
        for label in ax.get_xticklabels():
            label.set(rotation=30, ha="left", rotation_mode="anchor")
    ax.tick_params(length=0)
    ax.grid(visible=False)
    for side in ax.spines.values():
        side.set_visible(False)
