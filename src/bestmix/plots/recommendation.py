"""A recommendation in the plane of cost and reward, and its shares."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bestmix import checks
from bestmix.answers.history import ROLES, role
from bestmix.answers.number_text import exact_share, shortened
from bestmix.answers.planes import Plane, plane, planes
from bestmix.answers.recommendation import Estimate, Recommendation
from bestmix.arrays import Floats
from bestmix.plots.axes import join, scale_costs
from bestmix.plots.labels import Box, bound_box, name_points, pixels, settle
from bestmix.plots.segments import MOST_SEGMENTS, plot_segments
from bestmix.plots.theme import COLOURS, MARKERS, new_axes, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LABELS = 16  # beyond this many arms only those that matter are named
MOST_INTERVALS = 4.0  # halves of the middle interval that fit on each side of the points
WORDS = {"support": "in the mix", "other": "not in the mix", "rejected": "rejected", "known": "not in the mix"}


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
    costs = tuple(planes(rec.problem))
    if cost is not None and cost not in costs:
        raise checks.InvalidInput(
            "cost", expected=f"one of {', '.join(costs) or 'no costs'}", got=f"{cost!r}", remedy="check the spelling"
        )
    with style():
        ax = new_axes() if ax is None else ax
        if not costs:
            return _plot_rewards(rec, ax)
        drawn = plane(rec, cost or costs[0])
        _plot_plane(rec, drawn, ax)
        ax.legend(*_legend([ax]), fontsize=9)
        _name_arms(rec, drawn, ax)
        return ax


def recommendation_figure(rec: Recommendation, shares: bool = True) -> "Figure":
    """A panel for each cost, and below them the mixture's shares, by segment if any, unless they are not wanted.

    >>> from bestmix import from_log
    >>> log = {"arm": ["s", "s", "l", "l"], "reward": [1.0, 1.2, 2.0, 2.2], "dollars": [0.0, 0.2, 1.8, 2.2]}
    >>> len(recommendation_figure(from_log(log, bounds={"dollars": 1.0})).axes)
    2
    """
    costs = [plane(rec, cost) for cost in planes(rec.problem)]
    across = min(max(len(costs), 1), 3)
    down = math.ceil(max(len(costs), 1) / across)
    rows = min(len(rec.by_segment), MOST_SEGMENTS) or max(len(rec.mixture), 1)
    height, below = 3.9 * down, (0.55 + 0.28 * rows) * shares
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(max(4.6 * across, 6.6), height + below + 0.5), layout="constrained")
        figure.get_layout_engine().set(h_pad=0.08, w_pad=0.08)  # type: ignore[union-attr, call-arg]
        grid = figure.add_gridspec(down + shares, across, height_ratios=[height / down] * down + [below] * shares)
        if shares:
            plot = plot_segments if rec.by_segment and rec.mixture else _plot_shares
            plot(rec, figure.add_subplot(grid[down, :]))
        axes = [figure.add_subplot(grid[divmod(i, across)]) for i in range(max(len(costs), 1))]
        if not costs:
            _plot_rewards(rec, axes[0])
            return figure
        for ax, drawn in zip(axes, costs, strict=True):
            _plot_plane(rec, drawn, ax)
        handles, labels = _legend(axes)
        figure.legend(handles, labels, loc="outside upper left", ncols=3 if across == 1 else len(labels), fontsize=9)
        for ax, drawn in zip(axes, costs, strict=True):
            _name_arms(rec, drawn, ax)
        return figure


def _plot_plane(rec: Recommendation, plane: Plane, ax: "Axes") -> None:
    """Everything but the arms' names and the legend."""
    arms, cost, bound = plane.arms, plane.cost, plane.bound
    for kind in ROLES:
        for known in (False, True):
            _draw_arms(ax, [e for e in arms if role(rec, e.arm) == kind and e.known == known], cost, kind)
    if plane.has_mix:
        _draw_mix(ax, rec, plane)
    ax.axvline(bound, color=COLOURS["bound"], linestyle="--", linewidth=1.5, label="bound", zorder=2)
    ax.set_xlabel(f"mean {plane.label}", parse_math=False)  # a name may hold a dollar sign
    ax.set_ylabel(f"mean {rec.problem.measures[0]}", parse_math=False)
    ax.margins(0.1)
    _cut_long_intervals(ax, arms)
    scale_costs(ax, [bound, *(e.costs[cost] for e in arms)])
    _shade(ax, bound, plane.relation)


def _cut_long_intervals(ax: "Axes", arms: list[Estimate]) -> None:
    """Arms of two trials have intervals beside which all others would be a line: those run out of the figure."""
    if not arms:
        return
    rewards = [e.reward for e in arms]
    halves = _sides(rewards, [e.reward_interval for e in arms]).mean(axis=0)
    room = max(max(rewards) - min(rewards), MOST_INTERVALS * float(np.median(halves)))
    low, high = ax.get_ylim()
    if room > 0:
        ax.set_ylim(max(low, min(rewards) - room), min(high, max(rewards) + room))


def _shade(ax: "Axes", bound: float, relation: str) -> None:
    """The side on which the bound is not kept, up to the edges as they are."""
    low, high = ax.get_xlim()
    sides = {"<=": [(bound, high)], ">=": [(low, bound)], "=": [(low, bound), (bound, high)]}[relation]
    for start, end in sides:
        ax.axvspan(start, end, color=COLOURS["bound"], alpha=0.06, linewidth=0, zorder=0)
    ax.set_xlim(low, high)


def _legend(axes: "list[Axes]") -> tuple[list[Any], list[str]]:
    """Every kind of thing once, and what the crosses are."""
    from matplotlib.lines import Line2D

    found = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    found["95% interval"] = Line2D([], [], color=COLOURS["rejected"], linewidth=1.3)
    return list(found.values()), list(found)


def _colour(kind: str) -> str:
    """Arms that are not in the mix are grey, whether or not they were rejected."""
    return COLOURS["rejected" if kind == "other" else kind]


def _sides(middles: list[float], intervals: list[tuple[float, float]]) -> Floats:
    """Lengths of intervals below and above points (2, n); none is drawn where one is unknown."""
    lengths = np.array([[x - low, high - x] for x, (low, high) in zip(middles, intervals, strict=True)]).T
    return np.where(np.isfinite(lengths).all(axis=0), np.maximum(lengths, 0.0), 0.0)


def _draw_arms(ax: "Axes", arms: list[Estimate], cost: str, kind: str) -> None:
    if not arms:
        return
    known = arms[0].known
    label = ("known, " if known else "") + WORDS[kind]
    across, upwards = [e.costs[cost] for e in arms], [e.reward for e in arms]
    points, _, crosses = ax.errorbar(
        across,
        upwards,
        xerr=_sides(across, [e.cost_intervals[cost] for e in arms]),
        yerr=_sides(upwards, [e.reward_interval for e in arms]),
        fmt=MARKERS["known" if known and kind != "rejected" else kind],
        color=_colour(kind),
        markersize=8 if kind == "support" else 5.5,
        markeredgecolor=COLOURS["paper"],
        markeredgewidth=0.8,
        elinewidth=1.3,
        zorder=4 if kind == "support" else 3,
    )
    points.set_label(label)
    for cross in crosses:
        cross.set_alpha(1.0 if kind == "support" else 0.55)


def _draw_mix(ax: "Axes", rec: Recommendation, plane: Plane) -> None:
    """The mix's own point with its intervals; with one cost it lies on the line between its arms."""
    support = [rec.estimates[arm] for arm in rec.mixture]
    if len(rec.problem.costs) == 1 and len(support) == 2 and all(e in plane.arms for e in support):
        start, end = ((e.costs[plane.cost], e.reward) for e in support)
        join(ax, start, end, color=COLOURS["support"], linewidth=1.3, zorder=2)
    label = "the mix" if rec.feasible else "the closest mix"
    point = plane.mean, plane.value
    look: dict[str, Any] = {"markersize": 15, "markeredgecolor": COLOURS["ink"], "markeredgewidth": 0.9}
    look |= {"ecolor": COLOURS["ink"], "elinewidth": 1.3}
    across, upwards = _sides([point[0]], [plane.interval]), _sides([point[1]], [plane.value_interval])
    star = ax.errorbar(*point, xerr=across, yerr=upwards, fmt=MARKERS["mix"], color=COLOURS["mix"], zorder=5, **look)
    star.lines[0].set_label(label)


def _plot_rewards(rec: Recommendation, ax: "Axes") -> "Axes":
    """Rewards with intervals, best on top, where there are no costs."""
    sign = rec.problem.goal.sign
    arms = sorted((e for e in rec.estimates.values() if math.isfinite(e.reward)), key=lambda e: sign * e.reward)
    for kind in reversed(ROLES):
        rows = [(i, e) for i, e in enumerate(arms) if role(rec, e.arm) == kind]
        if rows:
            where = [e.reward for _, e in rows], [i for i, _ in rows]
            sides = _sides(where[0], [e.reward_interval for _, e in rows])
            ax.errorbar(*where, xerr=sides, fmt=MARKERS[kind], color=_colour(kind), elinewidth=1.3)
    ax.set_yticks(range(len(arms)), [shortened(e.arm) for e in arms], parse_math=False)
    ax.set_xlabel(f"mean {rec.problem.measures[0]}", parse_math=False)
    return ax


def _plot_shares(rec: Recommendation, ax: "Axes") -> "Axes":
    arms, shares = list(rec.mixture), list(rec.mixture.values())
    ax.barh(range(len(arms)), shares, color=COLOURS["support"], height=0.58)
    for row, share in enumerate(shares):
        ax.text(share + 0.008, row, exact_share(share), va="center")
    ax.set_yticks(range(len(arms)), list(map(shortened, arms)), parse_math=False)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.12)
    ax.set_xticks([])
    ax.grid(visible=False)
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_title("the mix" if rec.feasible else "the closest mix")
    return ax


def _name_arms(rec: Recommendation, plane: Plane, ax: "Axes") -> None:
    """Write each arm's name next to its point; of many arms only those that matter."""
    arms = plane.arms
    names: dict[int, tuple[str, str]] = {}
    for a in sorted(range(len(arms)), key=lambda a: (arms[a].arm not in rec.mixture, -arms[a].reward)):
        kind = role(rec, arms[a].arm)
        if kind in ("support", "known") or len(arms) <= MOST_LABELS:
            names[a] = arms[a].arm, COLOURS[kind if kind in ("support", "known") else "muted"]
    if len(names) > MOST_LABELS:  # of many segments the table tells more
        return
    settle(ax)
    points = [(e.costs[plane.cost], e.reward) for e in arms]
    name_points(ax, points, names, _occupied(plane, ax), wall=plane.bound)


def _occupied(plane: Plane, ax: "Axes") -> list[Box]:
    """Boxes (left, low, right, high), in pixels, of what names should leave free."""
    point, cost = pixels(ax), plane.cost
    crosses = [((e.costs[cost], e.reward), (e.cost_intervals[cost], e.reward_interval), 5) for e in plane.arms]
    if plane.has_mix:
        crosses.append(((plane.mean, plane.value), (plane.interval, plane.value_interval), 9))
    boxes: list[Box] = []
    for middle, intervals, size in crosses:
        below, above = np.hstack([_sides([x], [ends]) for x, ends in zip(middle, intervals, strict=True)])
        begin = np.maximum(middle - below, [ax.get_xlim()[0], -np.inf])  # a logarithmic axis has no zero
        (left, low), (x, y), (right, high) = ax.transData.transform([begin, middle, middle + above])
        boxes += [(x - size * point, y - size * point, x + size * point, y + size * point)]
        boxes += [(left, y - 2 * point, right, y + 2 * point), (x - 2 * point, low, x + 2 * point, high)]
    boxes.append(bound_box(ax, plane.bound))
    legend = ax.get_legend()
    return boxes if legend is None else [*boxes, tuple(legend.get_window_extent().extents)]
