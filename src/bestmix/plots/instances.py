"""An instance in the plane of one cost and the reward: its arms, the bound and the best mix."""

from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from bestmix import checks
from bestmix.plots.axes import join, scale_costs
from bestmix.plots.labels import SIZE, Box, bound_box, line_boxes, name_points, point_boxes, settle
from bestmix.plots.theme import COLOURS, MARKERS, new_axes, style
from bestmix.problems.instance import Instance
from bestmix.problems.solution import Solution, solve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BOUND: dict[str, Any] = {"color": COLOURS["bound"], "linestyle": "--", "linewidth": 1.5, "zorder": 2}


def plot_instance(
    instance: Instance,
    cost: str | None = None,
    ax: "Axes | None" = None,
    named: Collection[str] = (),
) -> "Axes":
    """The true means of the arms, those of the best mix as triangles, and the bound.

    Parameters
    ----------
    instance
        What to show; it needs a cost.
    cost
        Which cost; the first by default.
    ax
        Axes to draw on; new ones by default.
    named
        Arms whose names to write.

    Examples
    --------
    >>> from bestmix import catalog
    >>> plot_instance(catalog.load("D2P"), "cost1").get_xlabel()
    'mean cost1'
    """
    if cost is None and instance.costs:
        cost = instance.costs[0]
    if cost not in instance.costs:
        choices = ", ".join(instance.costs) or "no costs"
        raise checks.InvalidInput("cost", expected=f"one of {choices}", got=f"{cost!r}", remedy="check the spelling")
    place = instance.costs.index(cost)
    with style():
        ax = new_axes() if ax is None else ax
        solution = solve(instance)
        points = list(zip(instance.cost[place].tolist(), instance.reward.tolist(), strict=True))
        _draw(ax, points, solution, float(instance.bound[place]), len(instance.costs) == 1)
        ax.set_xlabel("mean cost" if instance.costs == ("cost0",) else f"mean {cost}", parse_math=False)
        ax.set_ylabel("mean reward")
        if named:
            _name(ax, instance, points, solution, float(instance.bound[place]), named)
        return ax


def _draw(ax: "Axes", points: list[tuple[float, float]], solution: Solution, bound: float, joined: bool) -> None:
    best = [a for a in range(len(points)) if solution.mixture[a] > 0]
    draw_points(ax, [p for a, p in enumerate(points) if a not in best], "rejected", "other arms")
    draw_points(ax, [points[a] for a in best], "optimal", "arms of the best mix")
    if len(best) > 1:
        if joined:  # with more costs than one the mix does not lie on a line in this plane
            for start, end in zip(best, best[1:], strict=False):
                join(ax, points[start], points[end], color=COLOURS["support"], linewidth=1.3, zorder=2)
        mean = float(solution.mixture @ np.array(points)[:, 0])
        draw_points(ax, [(mean, solution.value)], "mix", "the best mix")
    if joined:
        count_coinciding(ax, points)
    draw_bound(ax, bound)
    ax.margins(0.1)
    scale_costs(ax, [bound, *(x for x, _ in points)])


def plot_costs(instance: Instance, ax: "Axes | None" = None) -> "Axes":
    """Two costs: the arms in the plane of both with the two bounds; the larger a marker, the larger the mean reward.

    >>> from bestmix import catalog
    >>> ax = plot_costs(catalog.load("D2P"))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('mean cost0', 'mean cost1')
    """
    if len(instance.costs) != 2:
        raise checks.InvalidInput("instance", expected="two costs", got=len(instance.costs), remedy="use plot_instance")
    with style():
        ax = new_axes() if ax is None else ax
        solution = solve(instance)
        share = (instance.reward - instance.reward.min()) / (np.ptp(instance.reward) or 1.0)
        for a in np.argsort(-share):
            best = solution.mixture[a] > 0
            point = (float(instance.cost[0, a]), float(instance.cost[1, a]))
            label = "arms of the best mix" if best else "other arms"
            draw_points(ax, [point], "optimal" if best else "rejected", label, 3 + 8 * float(share[a]))
        if solution.feasible:
            mean = instance.cost @ solution.mixture
            draw_points(ax, [(float(mean[0]), float(mean[1]))], "mix", "the best mix")
        draw_bound(ax, float(instance.bound[0]))
        ax.axhline(float(instance.bound[1]), **BOUND)
        ax.set_xlabel(f"mean {instance.costs[0]}", parse_math=False)
        ax.set_ylabel(f"mean {instance.costs[1]}", parse_math=False)
        ax.margins(0.1)
        return ax


def draw_points(
    ax: "Axes", points: list[tuple[float, float]], kind: str, label: str, size: float | None = None
) -> None:
    """Points of one kind, as markers of the same colour and shape everywhere, and of the same size unless given."""
    if points:
        look: dict[str, Any] = {"markeredgecolor": COLOURS["paper"], "markeredgewidth": 0.8, "zorder": 3}
        look |= {"color": COLOURS["rejected"], "marker": MARKERS["other"], "markersize": 6}
        if kind == "optimal":
            look |= {"color": COLOURS["support"], "marker": MARKERS["optimal"], "markersize": 10, "zorder": 4}
        elif kind == "mix":
            look |= {"color": COLOURS["mix"], "marker": MARKERS["mix"], "markersize": 12, "zorder": 5}
            look["markeredgecolor"] = COLOURS["ink"]
        if size is not None:
            look["markersize"] = size
        ax.plot(*zip(*points, strict=True), linestyle="none", label=label, **look)


def count_coinciding(ax: "Axes", points: list[tuple[float, float]]) -> None:
    """Say how many arms a marker stands for, where their means are the same."""
    look: dict[str, Any] = {"color": COLOURS["muted"], "fontsize": SIZE, "va": "top", "ha": "right"}
    for point, count in Counter(points).items():
        if count > 1:
            ax.annotate(f"{count} arms", point, (9, -6), "data", "offset points", **look)


def draw_bound(ax: "Axes", bound: float) -> None:
    """The line that mean costs must not pass."""
    ax.axvline(bound, label="bound", **BOUND)


def _name(
    ax: "Axes",
    instance: Instance,
    points: list[tuple[float, float]],
    solution: Solution,
    bound: float,
    named: Collection[str],
) -> None:
    order = sorted((a for a, arm in enumerate(instance.arms) if arm in named), key=lambda a: -solution.mixture[a])
    settle(ax)
    colour = {a: COLOURS["support" if solution.mixture[a] > 0 else "muted"] for a in order}
    best = [p for p, share in zip(points, solution.mixture, strict=True) if share > 0]
    taken: list[Box] = [*point_boxes(ax, points, reach=5), *point_boxes(ax, best, reach=6), bound_box(ax, bound)]
    for start, end in zip(best, best[1:], strict=False):
        taken += line_boxes(ax, start, end)
    name_points(ax, points, {a: (instance.arms[a], colour[a]) for a in order}, taken, wall=bound)
