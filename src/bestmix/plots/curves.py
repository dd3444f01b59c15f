"""Error rates over budgets, with their intervals."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bestmix import checks
from bestmix.plots.dots import plot_dots
from bestmix.plots.instances import plot_costs, plot_instance
from bestmix.plots.looks import BARS, LABELS, LINE, edge, legend_within, styles
from bestmix.plots.segments import MOST_ARMS, MOST_SEGMENTS, plot_best_shares
from bestmix.plots.theme import COLOURS, new_axes, style
from bestmix.problems.instance import Instance
from bestmix.problems.segment_instance import SegmentInstance
from bestmix.problems.solution import solve
from bestmix.simulation.results import CellResult, SweepResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NO_ERROR = "no error seen: end of the 95% interval"
FEW = 8  # arms that all get their names
MOST_RATIO = 80.0  # between the budgets on a linear axis, on which an exponential decrease is a straight line


def plot_errors(result: SweepResult, instance: str | None = None, ax: "Axes | None" = None) -> "Axes":
    """Each strategy's error rate over the budget, with 95% intervals, on a logarithmic scale.

    A rate of zero has no place on that scale. Where no run was wrong an arrow points down from the
    upper end of the interval instead, and the curve ends before it.

    Parameters
    ----------
    result
        Of a sweep.
    instance
        Whose cells to show; the first one's by default.
    ax
        Axes to draw on; new ones by default.

    Examples
    --------
    >>> from bestmix import SFSR, Uniform, sweep
    >>> result = sweep(["D1P"], [SFSR(), Uniform()], [2000, 4000], runs=250)
    >>> plot_errors(result).get_xlabel()
    'budget'
    """
    names = list(dict.fromkeys(cell.instance for cell in result))
    if instance is not None and instance not in names:
        raise checks.InvalidInput(
            "instance", expected=f"one of {', '.join(names)}", got=f"{instance!r}", remedy="check the spelling"
        )
    cells = [cell for cell in result if cell.instance == (instance or names[0])]
    looks = styles(list(dict.fromkeys(cell.strategy for cell in result)))
    with style():
        ax = new_axes() if ax is None else ax
        for strategy, look in looks.items():
            _draw_curve(ax, sorted((c for c in cells if c.strategy == strategy), key=lambda c: c.budget), look)
        _scale(ax, cells, _lowest(result))
        ax.set_ylabel("error rate")
        return ax


def _draw_curve(ax: "Axes", cells: list[CellResult], look: Mapping[str, Any]) -> None:
    if seen := [c for c in cells if c.errors]:
        budgets, rates = [c.budget for c in seen], [c.error_rate for c in seen]
        # Where every run was wrong the interval ends at the rate, up to rounding.
        reach = [[abs(c.error_rate - c.interval[end]) for c in seen] for end in (0, 1)]
        ax.errorbar(budgets, rates, yerr=reach, **BARS, **LINE, **edge(look), **look)
    if unseen := [c for c in cells if not c.errors]:
        budgets, ends = [c.budget for c in unseen], [c.interval[1] for c in unseen]
        hollow = {**look, "linestyle": "none", "markersize": 6, "markerfacecolor": "none"}
        ax.errorbar(budgets, ends, yerr=[0.5 * end for end in ends], uplims=True, **BARS, **hollow)


def _scale(ax: "Axes", cells: Sequence[CellResult], lowest: float) -> None:
    """Logarithmic upwards; linear to the right unless the budgets differ too much."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    ax.set_yscale("log")
    ax.set_ylim(lowest, 1.25)
    steps = (1.0, 2.0, 5.0) if lowest > 0.05 else (1.0,)
    ax.yaxis.set_major_locator(LogLocator(subs=steps, numticks=10))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{rate:g}"))
    _across(ax, sorted({cell.budget for cell in cells}))


def _across(ax: "Axes", budgets: list[float]) -> None:
    """The axis of budgets."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

    if _far_apart(budgets):
        ax.set_xscale("log")
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xticks(_thinned(budgets, 5))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(4, integer=True, steps=[1, 2, 2.5, 5, 10]))
        ax.margins(x=0.06)
    unit = 1000 if budgets[-1] >= 10_000 else 1
    ax.xaxis.set_major_formatter(FuncFormatter(lambda budget, _: f"{budget / unit:,g}"))
    ax.set_xlabel("budget (thousands)" if unit > 1 else "budget")


def _lowest(cells: Iterable[CellResult]) -> float:
    """Where the error axis ends: below all intervals and arrows, and never a close-up of rates near one."""
    ends = [cell.interval[0] if cell.errors else 0.4 * cell.interval[1] for cell in cells]
    return min(0.8 * min(ends), 0.3)


def _far_apart(budgets: list[float]) -> bool:
    """Whether a linear axis would crowd them: a wide range, or each about twice the one before."""
    doubled = len(budgets) > 3 and all(b >= 1.9 * a for a, b in zip(budgets, budgets[1:], strict=False))
    return doubled or budgets[-1] > MOST_RATIO * max(budgets[0], 1)


def _thinned(values: list[float], most: int) -> list[float]:
    """At most so many of them, evenly spread, the last among them."""
    step = math.ceil(len(values) / most)
    return values[::-1][::step][::-1]


def sweep_figure(result: SweepResult, instances: Mapping[str, Instance] | None = None, across: int = 3) -> "Figure":
    """Error curves of every instance; where the instances are given, each one's arms above them.

    Parameters
    ----------
    result
        Of a sweep.
    instances
        By name, to show their arms: in the plane of both costs if there are two, else of one cost and the reward.
    across
        Panels in a row.

    Examples
    --------
    >>> from bestmix import SFSR, sweep
    >>> len(sweep_figure(sweep(["D1P"], [SFSR()], [2000, 4000], runs=250)).axes)
    1
    """
    names = list(dict.fromkeys(cell.instance for cell in result))
    across, both = min(across, len(names)), 1 + bool(instances)
    down = math.ceil(len(names) / across)
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(max(2.9 * across, 5.2), 2.45 * down * both + 0.6), layout="constrained")
        figure.get_layout_engine().set(h_pad=0.06, w_pad=0.06)  # type: ignore[union-attr, call-arg]
        grid = figure.add_gridspec(down * both, across)
        for i, name in enumerate(names):
            row, column = divmod(i, across)
            if instances:
                _panel(figure.add_subplot(grid[row * both, column]), name, instances[name], column == 0)
            curves = figure.add_subplot(grid[row * both + both - 1, column])
            plot_errors(result, name, curves)
            curves.set_title("" if instances else name, parse_math=False)
            curves.set_ylabel("error rate" if column == 0 else "")
            curves.tick_params(labelleft=column == 0)  # all panels have the same scale
            if i + across < len(names) and not instances:
                curves.set_xlabel("")
        _arms_legend(figure)
        _curves_legend(figure, result)
        return figure


def _panel(ax: "Axes", name: str, instance: Instance, first: bool) -> None:
    plot_costs(instance, ax) if len(instance.costs) == 2 else plot_instance(instance, ax=ax)
    ax.set_title(name, parse_math=False)
    if not first:
        ax.set_ylabel("")


def plot_measure(result: SweepResult, by: str, instance: str | None = None, ax: "Axes | None" = None) -> "Axes":
    """Each strategy's mean loss (``by="loss"``) or share of kept limits (``by="kept"``) over the budget.

    With a single budget there is no curve: a row for each strategy, with its interval.

    >>> from bestmix import SFSR, Uniform, sweep
    >>> result = sweep(["D1P"], [SFSR(), Uniform()], [2000, 4000], runs=250)
    >>> plot_measure(result, "kept").get_ylabel()
    'share of mixes that keep all limits'
    """
    wanted = instance or next(iter(result)).instance
    cells = [cell for cell in result if cell.instance == wanted]
    if _is_one_budget(cells):
        return plot_dots(cells, by, ax)
    if by == "error":
        return plot_errors(result, instance, ax)
    with style():
        ax = new_axes() if ax is None else ax
        for strategy, look in styles(list(dict.fromkeys(cell.strategy for cell in result))).items():
            seen = sorted((c for c in cells if c.strategy == strategy), key=lambda c: c.budget)
            values, ends = zip(*(c.measured(by) for c in seen), strict=True)
            reach = [[abs(v - e[k]) for v, e in zip(values, ends, strict=True)] for k in (0, 1)]
            ax.errorbar([c.budget for c in seen], values, yerr=reach, **BARS, **LINE, **edge(look), **look)
        _across(ax, sorted({cell.budget for cell in cells}))
        if by == "kept":
            ax.set_ylim(0.0, 1.02)
        else:
            ax.set_yscale("log")
        ax.set_ylabel(LABELS[by])
        return ax


def _is_one_budget(cells: Iterable[CellResult]) -> bool:
    return len({cell.budget for cell in cells}) == 1


def comparison_figure(result: SweepResult, instance: Instance, by: str = "error") -> "Figure":
    """One instance: its arms against each cost, up to two, and next to them what is compared, as curves over budgets.

    With segments or limits of other kinds: the shares of its best mix, and next to them the curves.

    >>> from bestmix import SFSR, Uniform, sweep
    >>> from bestmix import catalog
    >>> result = sweep(["D1P"], [SFSR(), Uniform()], [2000, 4000], runs=250)
    >>> len(comparison_figure(result, catalog.load("D1P")).axes)
    3
    """
    if isinstance(instance, SegmentInstance):
        return _segment_comparison(result, instance, by)
    costs = instance.costs[:2]
    shares = solve(instance).mixture
    named = [arm for arm, share in zip(instance.arms, shares, strict=True) if share > 0 or len(shares) <= FEW]
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(3.1 * len(costs) + 4.2, 4.1), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.08)  # type: ignore[union-attr, call-arg]
        grid = figure.add_gridspec(1, len(costs) + 1, width_ratios=[1.0] * len(costs) + [1.35])
        for place, cost in enumerate(costs):
            ax = plot_instance(instance, cost, figure.add_subplot(grid[0, place]), named)
            ax.set_ylabel("mean reward" if place == 0 else "")
        _compare(result, by, figure.add_subplot(grid[0, len(costs)]))
        return figure


def _compare(result: SweepResult, by: str, ax: "Axes") -> None:
    """The panel of what is compared, with the legends of its figure; rows have their names beside them."""
    plot_measure(result, by, None, ax)
    figure = ax.get_figure(root=True)
    assert figure is not None
    _arms_legend(figure)
    if not _is_one_budget(result):
        _curves_legend(figure, result, by)


def _segment_comparison(result: SweepResult, instance: SegmentInstance, by: str) -> "Figure":
    arms, segments = len(instance.arms) / len(instance.groups), len(instance.groups)
    with style():
        from matplotlib.figure import Figure

        size = 2.2 + 0.55 * min(arms, MOST_ARMS), max(4.1, 1.2 + 0.28 * min(segments, MOST_SEGMENTS))
        figure = Figure(figsize=(size[0] + 4.2, size[1]), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.08)  # type: ignore[union-attr, call-arg]
        grid = figure.add_gridspec(1, 2, width_ratios=[size[0], 4.2])
        plot_best_shares(instance, figure.add_subplot(grid[0, 0]))
        _compare(result, by, figure.add_subplot(grid[0, 1]))
        return figure


def _arms_legend(figure: "Figure") -> None:
    """What the arms are, above all panels."""
    kinds: dict[str, Any] = {}
    for ax in figure.axes:
        kinds |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    legend_within(figure, kinds, "outside upper left")


def _curves_legend(figure: "Figure", result: SweepResult, by: str = "error") -> None:
    """What the curves are, below all panels."""
    from matplotlib.lines import Line2D

    looks = styles(list(dict.fromkeys(cell.strategy for cell in result)))
    curves = {name: Line2D([], [], **look, **LINE) for name, look in looks.items()}
    if by == "error" and any(not cell.errors for cell in result):
        arrow: dict[str, Any] = {"marker": r"$\downarrow$", "markersize": 9, "linestyle": "none"}
        curves[NO_ERROR] = Line2D([], [], color=COLOURS["muted"], **arrow)
    legend_within(figure, curves, "outside lower left")
