"""How a search came to its answer: the mixture and the scores, round by round."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bestmix.answers.recommendation import Round
from bestmix.plots.theme import COLOURS, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINES = 12  # beyond this many only those that stand highest, or lowest, in the end
SIZE = 9  # of the names, in points

Lines = Mapping[str, Sequence[tuple[int, float]]]  # points (round, height) of each name


def rounds_figure(history: Sequence[Round], mixtures: Sequence[tuple[int, Mapping[str, float] | None]]) -> "Figure":
    """The mixture after each round, and the scores, with the arms of the last mixture in colour.

    Parameters
    ----------
    history
        The rounds that are over.
    mixtures
        Each round's number with the mixture after it, where that is known.

    Examples
    --------
    >>> rounds = [Round(1, {"a": 3, "b": 3}, {"a": 0.1, "b": 0.9}), Round(2, {"b": 2}, {"b": 1.1})]
    >>> len(rounds_figure(rounds, [(1, {"a": 0.5, "b": 0.5}), (2, {"b": 1.0})]).axes)
    2
    """
    known = [(number, mixture) for number, mixture in mixtures if mixture]
    last = set(known[-1][1]) if known else set()
    arms = {arm for _, mixture in known for arm in mixture}
    shares: Lines = {arm: [(number, mixture.get(arm, 0.0)) for number, mixture in known] for arm in sorted(arms)}
    columns = {column for r in history for column in r.scores}
    scores: Lines = {
        column: [(r.number, s) for r in history if (s := r.scores.get(column)) is not None and math.isfinite(s)]
        for column in sorted(columns)
    }
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.6, 5.0), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True)
        above.set_ylim(-0.03, 1.03)
        _draw(above, {arm: shares[arm] for arm in _chosen(shares, highest=True)}, last)
        _draw(below, {name: scores[name] for name in _chosen(scores, highest=False)}, last)
        above.yaxis.set_major_formatter("{x:.0%}")
        above.set_ylabel("share of the optimum\nat the estimates")
        below.set_ylabel("standard errors\nfrom another answer" if any(r.reasons for r in history) else "score")
        below.set_xlabel("round")
        below.xaxis.get_major_locator().set_params(integer=True)
        return figure


def _chosen(lines: Lines, highest: bool) -> list[str]:
    """The names of those that matter most in the end, as many as can be told apart."""
    order = sorted((name for name in lines if lines[name]), key=lambda name: lines[name][-1][1], reverse=highest)
    return order[:MOST_LINES]


def _draw(ax: "Axes", lines: Lines, last: set[str]) -> None:
    """Lines with their names at the ends, moved apart where they would cover each other."""
    for name, points in lines.items():
        colour = COLOURS["support" if name in last else "rejected"]
        ax.plot(
            *zip(*points, strict=True), color=colour, linewidth=2.0 if name in last else 1.2, zorder=2 + (name in last)
        )
        ax.plot(*points[-1], "o", color=colour, markersize=4)
    ax.margins(x=0.02)
    heights = [points[-1][1] for points in lines.values()]
    low, high = ax.get_ylim()
    step = 0.075 * (high - low)
    places = spread(heights, step)
    end = max((points[-1][0] for points in lines.values()), default=0)
    for (name, points), place in zip(lines.items(), places, strict=True):
        colour = COLOURS["support" if name in last else "muted"]
        ax.annotate(
            name,
            points[-1] if points[-1][0] < end else (end, place),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=SIZE,
            color=colour,
            parse_math=False,
            annotation_clip=False,
        )


def spread(heights: Sequence[float], step: float) -> list[float]:
    """Places near those heights that are at least a step apart.

    >>> spread([0.0, 0.1, 5.0], step=1.0)
    [-0.45, 0.55, 5.0]
    """
    order = sorted(range(len(heights)), key=lambda k: heights[k])
    groups: list[list[int]] = []
    for k in order:
        groups.append([k])
        while len(groups) > 1 and _low(groups[-1], heights, step) < _high(groups[-2], heights, step) + step:
            groups[-2:] = [groups[-2] + groups[-1]]
    places = list(heights)
    for group in groups:
        for place, k in enumerate(group):
            places[k] = _low(group, heights, step) + place * step
    return places


def _low(group: Sequence[int], heights: Sequence[float], step: float) -> float:
    return sum(heights[k] for k in group) / len(group) - 0.5 * step * (len(group) - 1)


def _high(group: Sequence[int], heights: Sequence[float], step: float) -> float:
    return _low(group, heights, step) + step * (len(group) - 1)
