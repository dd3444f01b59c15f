"""Pictures that explain a score: intersection values, and distances to the frontier."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats
from bestmix.plots.geometry import Segment, best_segments, frontier
from bestmix.plots.instances import count_coinciding, draw_bound, draw_points
from bestmix.plots.labels import Box, bound_box, line_boxes, name_points, point_boxes, settle
from bestmix.plots.theme import COLOURS, MARKERS, new_axes, style
from bestmix.problems.instance import Instance
from bestmix.problems.solution import solve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SEGMENTS = ("#009e73", "#cc79a7", "#8c6d00", "#332288")  # none is the colour of the bound or the best mix
LINES = ("--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


def plot_scores(instance: Instance, ax: "Axes | None" = None) -> "Axes":
    """Each arm's best segment, where it meets the bound, and the score read off on the reward axis.

    >>> inst = Instance(reward=[1.7, 2.6, 0.5], cost=[[0.0, 1.8, 0.8]], bound=[1.0])
    >>> plot_scores(inst).get_yticklabels()[1].get_text()
    'score of arm0 and arm1: 2.20'
    """
    if len(instance.costs) != 1:
        raise checks.InvalidInput(
            "instance", expected="one cost", got=len(instance.costs), remedy="a picture has one axis for it"
        )
    bound = float(instance.bound[0])
    segments = [s for s in best_segments(instance.means, bound)[:-1] if s.partner >= 0]
    points = list(zip(instance.cost[0].tolist(), instance.reward.tolist(), strict=True))
    with style():
        ax = new_axes() if ax is None else ax
        left = min(0.0, *(x for x, _ in points)) - 0.12 * (max(x for x, _ in points) - min(x for x, _ in points))
        best = [a for a, share in enumerate(solve(instance).mixture) if share > 0]
        draw_points(ax, [p for a, p in enumerate(points) if a not in best], "rejected", "other arms")
        draw_points(ax, [points[a] for a in best], "optimal", "arms of the best mix")
        draw_bound(ax, bound)
        ax.margins(0.1)
        ax.set_xlim(left, None)
        looks = _segment_looks(segments, best)
        for segment in segments:
            _draw_segment(ax, segment, points, bound, left, looks[segment.column])
        _label_scores(ax, segments, instance.arms)
        ax.set_xlabel(f"mean {instance.costs[0]}", parse_math=False)
        ax.set_title("mean reward", fontsize=10, fontweight="normal")  # the axis of the scores
        _name_all(ax, instance.arms, points, bound, segments)
        return ax


def _segment_looks(segments: Sequence[Segment], best: Collection[int]) -> dict[int, dict[str, Any]]:
    """The best mix in its own colour, each other segment in one of the others."""
    others = [s.column for s in segments if s.column not in best]
    looks: dict[int, dict[str, Any]] = {a: {"color": COLOURS["support"], "linestyle": "-"} for a in best}
    for place, column in enumerate(others):
        looks[column] = {"color": SEGMENTS[place % len(SEGMENTS)], "linestyle": LINES[place % len(LINES)]}
    return looks


def _draw_segment(
    ax: "Axes", segment: Segment, points: list[tuple[float, float]], bound: float, left: float, look: dict[str, Any]
) -> None:
    """The segment, the point where it meets the bound, and a thin line from there to the reward axis."""
    start = points[segment.column]
    end = points[segment.partner] if segment.partner < len(points) else (bound, start[1])
    ax.plot(*zip(start, end, strict=True), **look, linewidth=1.8, zorder=2.5)
    ax.plot([left, bound], [segment.score] * 2, color=look["color"], linestyle=(0, (1, 2)), linewidth=1.2, zorder=1.5)
    dot: dict[str, Any] = {"markersize": 6, "markeredgecolor": COLOURS["ink"], "markerfacecolor": look["color"]}
    ax.plot([bound, left], [segment.score] * 2, "o", linestyle="none", clip_on=False, zorder=5, **dot)


def _label_scores(ax: "Axes", segments: Sequence[Segment], arms: Sequence[str]) -> None:
    """The scores as the ticks of the reward axis."""
    by_score: dict[float, list[str]] = {}
    for segment in sorted(segments, key=lambda s: s.score):
        by_score.setdefault(round(segment.score, 9), []).append(arms[segment.column])
    labels = [f"score of {' and '.join(names)}: {score:.2f}" for score, names in by_score.items()]
    labels[0] += "\n(the lowest: rejected first)"
    ax.set_yticks(list(by_score), labels, parse_math=False)
    ax.tick_params(axis="y", length=0, pad=8)
    ax.grid(visible=False)


def _name_all(
    ax: "Axes", arms: Sequence[str], points: list[tuple[float, float]], bound: float, segments: Sequence[Segment]
) -> None:
    settle(ax)
    taken: list[Box] = [*point_boxes(ax, points, reach=5), bound_box(ax, bound)]
    left = ax.get_xlim()[0]
    for segment in segments:
        if segment.partner < len(points):
            taken += line_boxes(ax, points[segment.column], points[segment.partner])
        taken += line_boxes(ax, (left, segment.score), (bound, segment.score))
    name_points(ax, points, {a: (arm, COLOURS["ink"]) for a, arm in enumerate(arms)}, taken)


def plot_frontier(
    means: Floats,
    bound: float,
    arms: Sequence[str],
    support: Collection[str],
    rejected: str | None = None,
    truth: Floats | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Arms and the frontier of their best mix, with each arm's vertical distance to it.

    Parameters
    ----------
    means
        Mean reward and mean cost of each arm (K, 2), true or estimated.
    bound
        The largest acceptable mean cost.
    arms, support
        The arms' names, and those that truly belong in the best mix.
    rejected
        The arm to mark, with its distance.
    truth
        True means (K, 2), to be shown for the support next to estimates.
    ax
        Axes to draw on; new ones by default.

    Examples
    --------
    >>> means = np.array([[1.7, 0.0], [2.6, 1.8], [0.5, 0.8]])
    >>> ax = plot_frontier(means, 1.0, ["a", "b", "c"], ["a", "b"], rejected="c")
    >>> name_frontier(ax, means, 1.0, {2: "the worst"})
    >>> ax.texts[0].get_text()
    'the worst'
    """
    points = [(float(cost), float(reward)) for reward, cost in means]
    line = frontier(means, bound)
    with style():
        ax = new_axes() if ax is None else ax
        inside = [a for a, arm in enumerate(arms) if arm in support]
        draw_points(ax, [p for a, p in enumerate(points) if a not in inside], "rejected", "other arms")
        draw_points(ax, [points[a] for a in inside], "optimal", "arms of the best mix")
        count_coinciding(ax, points)
        if truth is not None:
            _draw_truth(ax, truth[inside])
        draw_bound(ax, bound)
        ax.margins(0.1)
        ends = np.array(ax.get_xlim())
        ax.plot(ends, line.height(ends), color=COLOURS["ink"], linewidth=1.5, zorder=2, label="frontier")
        ax.set_xlim(*ends)
        _draw_distances(ax, points, line.height(np.array([x for x, _ in points])), arms, rejected)
        ax.set_xlabel("mean cost")
        ax.set_ylabel("mean reward")
        return ax


def _draw_truth(ax: "Axes", means: Floats) -> None:
    look: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": COLOURS["support"], "markersize": 9}
    ax.plot(means[:, 1], means[:, 0], MARKERS["optimal"], linestyle="none", label="their true means", **look)


def _draw_distances(
    ax: "Axes", points: list[tuple[float, float]], heights: Floats, arms: Sequence[str], rejected: str | None
) -> None:
    for arm, (x, y), height in zip(arms, points, heights, strict=True):
        marked = arm == rejected
        look: dict[str, Any] = {"color": COLOURS["known"], "linewidth": 2.2 if marked else 1.0}
        label = "distance to the frontier" if arm == arms[0] else None
        ax.plot([x, x], [y, height], **look, linestyle="-", zorder=2.5, label=label)
        if marked:
            ring: dict[str, Any] = {"markersize": 16, "markerfacecolor": "none", "markeredgewidth": 2.0}
            ax.plot(x, y, "o", **ring, markeredgecolor=COLOURS["bound"], linestyle="none", label="rejected", zorder=5)


def name_frontier(
    ax: "Axes", means: Floats, bound: float, names: Mapping[int, str], truth: Floats | None = None
) -> None:
    """Write names of arms on what ``plot_frontier`` drew, when nothing more is added to its figure."""
    points = [(float(cost), float(reward)) for reward, cost in means]
    line = frontier(means, bound)
    ends = ax.get_xlim()
    settle(ax)
    taken = [*point_boxes(ax, points, reach=5), bound_box(ax, bound)]
    taken += line_boxes(ax, (ends[0], float(line.height(ends[0]))), (ends[1], float(line.height(ends[1]))))
    taken += point_boxes(ax, [points[a] for a in names], reach=9)
    if truth is not None:
        taken += point_boxes(ax, [(truth[a, 1], truth[a, 0]) for a in names], reach=7)
    for x, y in points:
        taken += line_boxes(ax, (x, y), (x, float(line.height(x))))
    name_points(ax, points, {a: (name, COLOURS["ink"]) for a, name in names.items()}, taken)


def scores_figure(instance: Instance) -> "Figure":
    """``plot_scores`` as a figure with its legend.

    >>> inst = Instance(reward=[1.7, 2.6, 0.5], cost=[[0.0, 1.8, 0.8]], bound=[1.0])
    >>> [text.get_text() for text in scores_figure(inst).legends[0].get_texts()]
    ['other arms', 'arms of the best mix', 'bound']
    """
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5.6, 3.8), layout="constrained")
        ax = plot_scores(instance, figure.add_subplot())
        figure.legend(*ax.get_legend_handles_labels(), loc="outside upper right", ncols=3, fontsize=9)
        return figure


def frontier_figure(instance: Instance, estimates: Floats, rejected: str) -> "Figure":
    """True means and their frontier; next to them estimates, their frontier and the arm that is rejected.

    >>> inst = Instance(reward=[1.7, 2.6, 0.5], cost=[[0.0, 1.8, 0.8]], bound=[1.0])
    >>> [ax.get_title(loc="left") for ax in frontier_figure(inst, inst.means + 0.1, "arm2").axes]
    ['true means', 'estimates after the first round']
    """
    bound, truth, arms = float(instance.bound[0]), instance.means, instance.arms
    named = {a: arms[a] for a, share in enumerate(solve(instance).mixture) if share > 0}
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8.4, 4.1), layout="constrained")
        left, right = figure.subplots(1, 2, sharex=True, sharey=True)
        plot_frontier(truth, bound, arms, named.values(), ax=left)
        plot_frontier(estimates, bound, arms, named.values(), rejected, truth, ax=right)
        left.set_title("true means")
        right.set_title("estimates after the first round")
        right.set_ylabel("")
        shown = dict(zip(*reversed(right.get_legend_handles_labels()), strict=True))
        figure.legend(list(shown.values()), list(shown), loc="outside upper left", ncols=4, fontsize=9)
        name_frontier(left, truth, bound, named)
        partners = {a: arms[a] for a in frontier(estimates, bound).basis if a < len(arms)}
        name_frontier(right, estimates, bound, partners | named, truth)
        return figure
