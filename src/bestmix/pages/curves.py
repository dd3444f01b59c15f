"""The mixture and the scores round by round: values for the page's script, and drawings for pages without one."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NotRequired, TypedDict

from bestmix.answers.number_text import shortened
from bestmix.answers.recommendation import Round
from bestmix.pages.charts import BOTTOM, HEIGHT, LEFT, TEXT_HEIGHT, TOP, WIDTH, Axis, Name, fit, text_width
from bestmix.plots.rounds import spread

MOST_LINES = 8  # in one chart
MOST_ROUNDS = 300  # points of a line
NAMES = 22.0  # from the end of the lines to their names


class Series(TypedDict):
    """A line: its name, a value or None for each round, and the number of its look, which a name has in all charts."""

    name: str
    values: list[float | None]
    look: NotRequired[int]


class Curves(TypedDict):
    """Plain data, as the page's script reads it."""

    rounds: list[int]
    scores: list[Series]
    mixture: list[Series]
    changes: list[int]  # rounds in which the problem was changed


def make_curves(
    history: Sequence[Round], mixtures: Sequence[Mapping[str, float] | None], changes: Sequence[int] = ()
) -> Curves:
    """Curves of a search, of many rounds those that lie evenly, with the rounds in which the problem was changed."""
    places = thin(range(len(history)), MOST_ROUNDS)
    shares = [dict(mixtures[i] or {}) for i in places] if mixtures else []
    scores, mixture = series([history[i].scores for i in places], missing=None), []
    if any(shares):
        mixture = series(shares, missing=0.0)
    _share_looks(mixture, scores)
    numbers = [history[i].number for i in places]
    inside = sorted({n for n in changes if numbers and numbers[0] <= n <= numbers[-1]})
    return {"rounds": numbers, "scores": scores, "mixture": mixture, "changes": inside}


def _share_looks(*charts: list[Series]) -> None:
    """One look for a name in all charts, and never two lines of a chart with the same."""
    known: dict[str, int] = {}
    for lines in charts:
        taken = {known[line["name"]] for line in lines if line["name"] in known}
        free = [look for look in range(MOST_LINES) if look not in {*taken, *known.values()}]
        free += [look for look in range(MOST_LINES) if look not in taken and look not in free]
        for line in lines:
            line["look"] = known[line["name"]] if line["name"] in known else free.pop(0)
        known |= {line["name"]: line["look"] for line in lines}


def series(rounds: Sequence[Mapping[str, float]], missing: float | None) -> list[Series]:
    """Curves of the columns that matter most at the end: name and values.

    >>> series([{"a": 1.0, "b": 2.0}, {"a": 3.0}], missing=None)
    [{'name': 'a', 'values': [1.0, 3.0]}, {'name': 'b', 'values': [2.0, None]}]
    """
    last: dict[str, tuple[int, float]] = {}
    for place, values in enumerate(rounds):
        last |= {name: (place, value) for name, value in values.items() if value is not None and math.isfinite(value)}
    names = sorted(last, key=lambda name: (-last[name][0], -last[name][1]))[:MOST_LINES]
    return [{"name": name, "values": [_point(values.get(name, missing)) for values in rounds]} for name in names]


def _point(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 6)


def thin(places: Sequence[int], most: int) -> list[int]:
    """At most so many of them, evenly, with the last.

    >>> thin(range(10), 4)
    [0, 3, 6, 9]
    """
    if len(places) <= most:
        return list(places)
    return [places[round(i * (len(places) - 1) / (most - 1))] for i in range(most)]


class Line(NamedTuple):
    """A line, its name and the number of its look."""

    points: Sequence[tuple[float, float]]
    name: Name
    look: int


@dataclass(frozen=True)
class LinesChart:
    """Values by round, each line with its name on the right."""

    label: str
    across: Axis
    upwards: Axis
    lines: Sequence[Line]
    percent: bool
    changes: Sequence[float] = ()  # where the problem was changed
    height: float = 0.75 * HEIGHT
    width: float = WIDTH


def curve_charts(curves: Curves, scores: str) -> list[LinesChart]:
    """The shares above, the scores below under a label of their own; none where there is nothing to draw."""
    kinds = [(curves["mixture"], "share of the optimum at the estimates", True), (curves["scores"], scores, False)]
    rounds, changes = curves["rounds"], curves["changes"]
    return [lines_chart(label, rounds, found, percent, changes) for found, label, percent in kinds if found]


def lines_chart(
    label: str, rounds: Sequence[int], series: Sequence[Series], percent: bool, changes: Sequence[int] = ()
) -> LinesChart:
    """Lines over the rounds, their names on the right."""
    texts = [shortened(line["name"]) for line in series]
    right = NAMES + 4 + max((text_width(text) for text in texts), default=0.0)
    bottom = LinesChart.height - BOTTOM
    values = [v for line in series for v in line["values"] if v is not None]
    x = Axis(rounds[0], max(rounds[-1], rounds[0] + 1), LEFT, WIDTH - right)
    y = Axis(0.0, 1.0, bottom, TOP) if percent else fit(values, bottom, TOP)
    points = [
        [(x.at(n), y.at(v)) for n, v in zip(rounds, line["values"], strict=True) if v is not None] for line in series
    ]
    heights = _apart([line[-1][1] for line in points], bottom)
    names = [Name(x.end + NAMES, at + 4, text, "") for at, text in zip(heights, texts, strict=True)]
    looks = [line.get("look", place) for place, line in enumerate(series)]
    return LinesChart(label, x, y, list(map(Line, points, names, looks)), percent, [x.at(n) for n in changes])


def _apart(heights: Sequence[float], bottom: float) -> list[float]:
    """Heights of names: near the ends of their lines, not on each other, and not below the chart."""
    places = spread(heights, TEXT_HEIGHT + 2)
    below = max((place - bottom for place in places), default=0.0)
    return [place - max(below, 0.0) for place in places]
