"""Figures of gaps, bounds, plans and explanations."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bestmix.answers.number_text import shortened
from bestmix.plots.curves import plot_errors
from bestmix.plots.instances import plot_instance
from bestmix.plots.looks import LINE, styles
from bestmix.plots.segments import MOST_SEGMENTS, plot_best_shares
from bestmix.plots.theme import COLOURS, OTHERS, new_axes, strategy_style, style
from bestmix.problems.instance import Instance
from bestmix.simulation.results import SweepResult
from bestmix.theory import Budget, Explanation, Gaps, Plan, SegmentExplanation
from bestmix.theory.bounds import any_exponent, budget_for, upper_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BARS = 14  # margins in one picture
SURE = 1e-3  # error at which the picture of the bounds ends on the right
OTHER = OTHERS[4]  # colour of what is not so, and could be
TAIL: dict[str, Any] = {"linewidth": 1.4, "zorder": 1}


def plot_margins(found: Gaps, ax: "Axes | None" = None) -> "Axes":
    """The smallest margins: how far each column's condition is from failing.

    >>> from bestmix import catalog
    >>> from bestmix import gaps
    >>> plot_margins(gaps(catalog.load("A1"), bases=False)).get_xlabel()
    'margin (standard deviations of one trial)'
    """
    names, order = found.instance.problem.columns, found.hardest(MOST_BARS)
    with style():
        ax = new_axes() if ax is None else ax
        for row, j in enumerate(order):
            colour = COLOURS["support" if j in found.basis else "rejected"]
            ax.plot([0, found.margin[j]], [row, row], color=colour, linewidth=1.6, zorder=2)
            ax.plot(found.margin[j], row, "o", color=colour, markersize=6, zorder=3)
        ax.set_yticks(range(len(order)), [names[j] for j in order], parse_math=False, fontsize=9)
        ax.set_ylim(len(order) - 0.4, -0.6)
        ax.set_xlim(left=0)
        ax.locator_params(axis="x", nbins=5)
        ax.grid(visible=False, axis="y")
        ax.set_xlabel("margin (standard deviations of one trial)")
        if len(order) < len([m for m in found.margin if math.isfinite(m)]):
            ax.set_title(f"the {len(order)} smallest margins")
        else:
            ax.set_title("margins")
        return ax


def plot_alternative(instance: Instance, found: Gaps, cost: str, ax: "Axes | None" = None) -> "Axes":
    """The instance, and where its arms would be in the nearest one that has another answer.

    >>> from bestmix import catalog
    >>> from bestmix import gaps
    >>> inst = catalog.load("A1")
    >>> plot_alternative(inst, gaps(inst, bases=False), "cost0").get_ylabel()
    'mean reward'
    """
    nearest = found.closest
    moved = () if nearest is None else nearest.moved
    support = [instance.arms[j] for j in found.basis if j < len(instance.arms)]
    ax = plot_instance(instance, cost, ax, named=[*support, *(instance.arms[a] for a in moved)])
    place = 1 + instance.costs.index(cost)
    with style():
        label = "the nearest instance with another answer"
        for a in moved:
            assert nearest is not None
            ends = [instance.means[a, [place, 0]], nearest.means[a, [place, 0]]]
            ax.plot(*zip(*ends, strict=True), color=OTHER, linewidth=1.8, zorder=6)
            ax.plot(*ends[1], "o", color=OTHER, markersize=3.5, zorder=6, label=label)
            label = "_"
        return ax


def explanation_figure(explained: Explanation | SegmentExplanation) -> "Figure":
    """The arms against each cost, up to two, with the nearest other answer; and the margins.

    With segments or limits of other kinds: the shares of the best mix, and the margins.

    >>> from bestmix import catalog
    >>> from bestmix import explain
    >>> len(explanation_figure(explain(catalog.load("D2P"))).axes)
    3
    """
    if isinstance(explained, SegmentExplanation):
        return _segment_explanation(explained)
    instance, found = explained.instance, explained.gaps
    costs = instance.costs[:2]
    panels = len(costs) + (found is not None)
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(3.9 * max(panels, 1) + 0.6, 4.3), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.08)  # type: ignore[union-attr, call-arg]
        for place, cost in enumerate(costs):
            ax = figure.add_subplot(1, panels, place + 1)
            if found is None:
                plot_instance(instance, cost, ax, named=list(explained.mixture))
            else:
                plot_alternative(instance, found, cost, ax)
            ax.set_ylabel("mean reward" if place == 0 else "")
        if found is not None:
            plot_margins(found, figure.add_subplot(1, panels, panels))
        elif not costs:
            _plot_rewards(instance, figure.add_subplot(1, 1, 1))
        _legend(figure)
        return figure


def _segment_explanation(explained: SegmentExplanation) -> "Figure":
    margins = list(explained.margins.items())[:MOST_BARS]
    rows = max(len(explained.instance.groups), len(margins), 6)
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9.2, 1.4 + 0.27 * min(rows, MOST_SEGMENTS)), layout="constrained")
        panels = 1 + bool(margins)
        plot_best_shares(explained.instance, figure.add_subplot(1, panels, 1))
        if margins:
            ax = figure.add_subplot(1, panels, 2)
            ax.barh(range(len(margins)), [z for _, z in margins], color=COLOURS["support"], height=0.6)
            ax.set_yticks(range(len(margins)), [shortened(name) for name, _ in margins], parse_math=False)
            ax.invert_yaxis()
            ax.grid(visible=False, axis="y")
            ax.set_xlabel("margin, in standard deviations of a trial")
        return figure


def _plot_rewards(instance: Instance, ax: "Axes") -> None:
    order = np.argsort(instance.reward)
    ax.plot(instance.reward[order], range(len(order)), "o", color=COLOURS["rejected"])
    ax.set_yticks(range(len(order)), [instance.arms[a] for a in order], parse_math=False)
    ax.set_xlabel("mean reward")


def _legend(figure: "Figure") -> None:
    kinds: dict[str, Any] = {}
    for ax in figure.axes:
        kinds |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    if kinds:
        across = len(kinds) if figure.get_figwidth() > 9 else 3
        figure.legend(list(kinds.values()), list(kinds), loc="outside upper left", ncols=across, fontsize=9)


def plot_bounds(found: Gaps, result: SweepResult, ax: "Axes | None" = None) -> "Axes":
    """Simulated error rates beside what the theorems say, over budgets on a logarithmic scale.

    Theorem 1's bound is a curve that SFSR stays below for certain; it says nothing where it is one. The
    exponents of Theorem 2 are drawn as normal tails: a guide to the slope, no bound at a given budget.

    >>> from bestmix import SFSR, Uniform, gaps, sweep
    >>> from bestmix import catalog
    >>> result = sweep(["A1"], [SFSR(), Uniform()], [200, 400, 800], runs=250)
    >>> plot_bounds(gaps(catalog.load("A1"), bases=False), result).get_xscale()
    'log'
    """
    with style():
        ax = new_axes() if ax is None else ax
        plot_errors(result, None, ax)
        lowest = min(ax.get_ylim()[0], SURE)
        last = budget_for(found, lowest) or max(cell.budget for cell in result)
        first = min(cell.budget for cell in result)
        budgets = np.unique(np.geomspace(first, max(last, first + 1), 300).astype(np.int64))
        bound = np.array([upper_bound(found, int(n)) for n in budgets])
        ax.plot(budgets, bound, color=COLOURS["ink"], linewidth=1.8, label="SFSR, at most (Theorem 1)")
        _tails(ax, found, budgets)
        looks = styles(list(dict.fromkeys(cell.strategy for cell in result)))
        for name, look in looks.items():
            ax.plot([], [], label=f"{name}, simulated", **look, **LINE)
        ax.set_xscale("log")
        ax.set_xlim(0.8 * first, 1.15 * budgets[-1])
        ax.set_ylim(lowest, 1.6)
        ax.set_xlabel("budget")
        _plain_ticks(ax)
        return ax


def _tails(ax: "Axes", found: Gaps, budgets: Any) -> None:
    """Theorem 2's exponents as normal tails."""
    from scipy.special import ndtr

    exponent, unknown = any_exponent(found), max(len(found.instance.problem.arms), 1)
    if math.isfinite(exponent):
        slopes = {"any algorithm, slope at best (Theorem 2)": exponent, "USLP, slope at best": exponent / unknown}
        for (label, slope), dashes in zip(slopes.items(), ("--", ":"), strict=True):
            tail = ndtr(-np.sqrt(2 * slope * budgets))
            ax.plot(budgets, tail, color=COLOURS["muted"], linestyle=dashes, label=label, **TAIL)


def _plain_ticks(ax: "Axes") -> None:
    """Numbers in full on a logarithmic axis: powers of ten, and more where there are few of these."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    low, high = ax.get_xlim()
    more = (1.0, 2.0, 5.0) if high < 100.0 * low else (1.0,)
    ax.xaxis.set_major_locator(MaxNLocator(5) if high < 4.0 * low else LogLocator(subs=more, numticks=8))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))


def bounds_figure(found: Gaps, result: SweepResult) -> "Figure":
    """``plot_bounds`` with its legend and a sentence on how loose the bound is.

    >>> from bestmix import SFSR, gaps, sweep
    >>> from bestmix import catalog
    >>> result = sweep(["A1"], [SFSR()], [200, 400, 800], runs=250)
    >>> len(bounds_figure(gaps(catalog.load("A1"), bases=False), result).axes)
    1
    """
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.6, 5.2), layout="constrained")
        ax = plot_bounds(found, result, figure.add_subplot())
        ax.set_title(_looseness(found, result), fontsize=10)
        handles, labels = ax.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=2, fontsize=9)
        return figure


def _looseness(found: Gaps, result: SweepResult) -> str:
    """How many times more trials the guarantee asks for than the simulation."""
    wanted = 0.05
    guarantee = budget_for(found, wanted)
    enough = [c.budget for c in result if c.strategy == "SFSR" and c.error_rate <= wanted]
    if guarantee is None or not enough:
        return "Bounds and simulated error"
    return f"For an error of {wanted:g} Theorem 1 asks for {guarantee / min(enough):,.0f} times the simulated trials"


def plot_plan(answer: Plan, ax: "Axes | None" = None) -> "Axes":
    """Each strategy's budget with its interval, the theoretical budgets, and budgets of draws around the guesses.

    >>> from bestmix import SFSR, plan
    >>> from bestmix import catalog
    >>> plot_plan(plan("A1", 0.2, [SFSR()], draws=0, runs=1000)).get_xlabel()
    'trials'
    """
    with style():
        ax = new_axes() if ax is None else ax
        rows = [b.strategy for b in answer.budgets]
        for row, b in enumerate(answer.budgets):
            _draw_budget(ax, row, b, answer)
        if answer.sensitivity:
            rows.append(f"{answer.sensitivity.strategy},\nguesses a little off")
            _draw_draws(ax, len(rows) - 1, answer)
        _draw_theory(ax, answer)
        ax.set_xscale("log")
        ax.set_yticks(range(len(rows)), rows, parse_math=False)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.grid(visible=False, axis="y")
        ax.set_xlabel("trials" if answer.coin is None else answer.coin.unit, parse_math=False)
        if answer.coin is None:
            _plain_ticks(ax)
        return ax


def _draw_budget(ax: "Axes", row: int, b: Budget, answer: Plan) -> None:
    look = strategy_style(b.strategy)
    if b.trials is None:
        place: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "ha": "left", "va": "center", "fontsize": 9}
        ax.text(
            0.02,
            row,
            f"more than {answer.short(b.most)}",
            color=COLOURS["muted"],
            backgroundcolor=COLOURS["paper"],
            **place,
        )
        return
    least, budget = answer.amount(b.least), answer.amount(b.trials)
    ax.plot([least, budget], [row, row], color=look["color"], linewidth=5, alpha=0.35, solid_capstyle="butt")
    ax.plot(budget, row, marker=look["marker"], color=look["color"], markersize=8, linestyle="none", zorder=3)
    text: dict[str, Any] = {"va": "center", "fontsize": 9, "bbox": {"facecolor": COLOURS["paper"], "lw": 0, "pad": 1}}
    ax.annotate(answer.short(b.trials), (budget, row), (9, 0), "data", "offset points", **text)


def _draw_draws(ax: "Axes", row: int, answer: Plan) -> None:
    said = answer.sensitivity
    assert said is not None
    inside = [n for n in said.budgets if n is not None]
    spread = row + 0.16 * np.sin(2.4 * np.arange(len(inside)))  # so that equal budgets stay apart
    colour = strategy_style(said.strategy)["color"]
    ax.plot(inside, spread, "o", color=colour, markersize=4.5, alpha=0.7, label="one draw of the means")
    beyond = len(said.budgets) - len(inside)
    if beyond:
        ax.plot(said.furthest, row, ">", color=colour, markersize=7)
        text = f"{beyond} beyond"
        ax.annotate(text, (said.furthest, row), (0, 9), "data", "offset points", ha="center", fontsize=9)


def _draw_theory(ax: "Axes", answer: Plan) -> None:
    marks = [("SFSR, guaranteed (Theorem 1)", answer.guarantee, COLOURS["ink"], "-")]
    if answer.at_least:
        marks.append(("any algorithm, at least about (Theorem 2)", answer.at_least["any"], COLOURS["muted"], "--"))
        marks.append(("USLP, at least about (Theorem 2)", answer.at_least["uniform"], OTHERS[2], ":"))
    for label, trials, colour, dashes in marks:
        if trials:
            ax.axvline(trials, color=colour, linestyle=dashes, linewidth=1.4, label=label, zorder=1)


def plan_figure(answer: Plan) -> "Figure":
    """``plot_plan`` with its legend.

    >>> from bestmix import SFSR, plan
    >>> from bestmix import catalog
    >>> len(plan_figure(plan("A1", 0.2, [SFSR()], draws=0, runs=1000)).axes)
    1
    """
    with style():
        from matplotlib.figure import Figure

        rows = len(answer.budgets) + bool(answer.sensitivity)
        figure = Figure(figsize=(8.4, 1.9 + 0.55 * rows), layout="constrained")
        ax = plot_plan(answer, figure.add_subplot())
        name = "Trials" if answer.coin is None else answer.coin.unit.capitalize()
        ax.set_title(f"{name} for {answer.goal}", parse_math=False)
        handles, labels = ax.get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside lower left", ncols=2, fontsize=9)
        return figure
