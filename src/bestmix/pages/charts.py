"""What the charts show, as places on a drawing: the templates write the SVG. Shapes tell as much as colours."""

import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bestmix.answers.history import role
from bestmix.answers.number_text import measured, reach, share_text, shortened
from bestmix.answers.planes import Plane, plane
from bestmix.answers.recommendation import Estimate, Recommendation
from bestmix.answers.table_text import cost_text
from bestmix.plots.axes import differ
from bestmix.plots.labels import Box, leader, place_names

SIDES = {"<=": "at most", ">=": "at least", "=": "exactly"}  # of a bound
WIDTH, HEIGHT = 460.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 68.0, 12.0, 26.0, 44.0  # room around what is drawn
TEXT_HEIGHT = 13.0
MOST_NAMES = 16  # beyond this many arms only those of the mix are named
MOST_MARKS = 200  # arms that are drawn
MOST_BARS = 40  # arms in a chart of rewards alone
MOST_TICKS = 8
SHORT = (-3, 5)  # powers of ten of numbers that are short enough as they are
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NAME_DISTANCE = 1.25  # of names from their marks, in relation to those of figures on paper
LINE_STEPS = 40  # points of a line, which names leave free
MARGIN = 0.08  # of an axis, on either side of what it shows
SMALLEST_SPAN = 1e-290  # of an axis
ROW = 22.0  # height of an arm in a chart of rewards alone


class Tick(NamedTuple):
    """A value on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Axis:
    """From values to places."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """The place of a value; values far outside stay near the frame."""
        share = (value - self.low) / (self.high - self.low)
        if self.log:
            low, high = math.log(self.low), math.log(self.high)
            share = (math.log(value) - low) / (high - low) if value > 0 else -math.inf
        return self.start + min(max(share, -0.2), 1.2) * (self.end - self.start)

    @property
    def power(self) -> int:
        """Power of ten that stands in the label rather than in every tick; 0 where numbers are short without.

        >>> Axis(0.0, 0.0006, 0, 10).power, Axis(0.0, 0.5, 0, 10).power, Axis(0.0, 3e6, 0, 10).power
        (-4, 0, 6)
        """
        size = max(abs(self.low), abs(self.high))
        power = math.floor(math.log10(size)) if size else 0
        return 0 if self.log or SHORT[0] <= power <= SHORT[1] else power

    @property
    def unit(self) -> str:
        """The power of ten behind the label.

        >>> Axis(0.0, 0.0006, 0, 10).unit
        ' (×10⁻⁴)'
        """
        return f" (×10{str(self.power).translate(RAISED)})" if self.power else ""

    def values(self, most: int) -> list[float]:
        """A few round values.

        >>> Axis(0.0, 1.0, 0, 10).values(6)
        [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
        >>> Axis(0.0002, 0.2, 0, 10, log=True).values(6)
        [0.001, 0.01, 0.1]
        """
        if self.log:
            return self._powers(most)
        raw = (self.high - self.low) / most
        size = 10.0 ** math.floor(math.log10(raw))
        step = next(m * size for m in (1, 2, 5, 10) if m * size >= raw)
        first = math.ceil(self.low / step - 1e-9)
        found = math.floor(self.high / step + 1e-9) - first + 1
        return [float(f"{(first + i) * step:.12g}") for i in range(found)]

    def _powers(self, most: int) -> list[float]:
        """Powers of ten, every second or third one where there are many; where there are few, more between them.

        >>> Axis(0.0008, 0.07, 0, 10, log=True).values(6)
        [0.001, 0.002, 0.005, 0.01, 0.02, 0.05]
        """
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        between = [float(f"{digit}e{power}") for power in range(first - 1, last + 1) for digit in (1, 2, 5)]
        inside = [value for value in between if self.low <= value <= self.high]
        if len(inside) <= most:
            return inside
        return [float(f"1e{power}") for power in range(first, last + 1, math.ceil((last - first + 1) / most) or 1)]

    def ticks(self, upwards: bool = False) -> list[Tick]:
        """As many as stand side by side, or above each other, without touching.

        >>> [tick.text for tick in Axis(0.0, 0.001, 0, 200).ticks()]
        ['0.0000', '0.0005', '0.0010']
        >>> [tick.text for tick in Axis(0.0, 0.0004, 0, 200).ticks()]
        ['0', '1', '2', '3', '4']
        """
        for most in range(MOST_TICKS, 0, -1):
            values = self.values(most)
            texts = (
                [f"{v:g}" for v in values]
                if self.log
                else alike([float(f"{v / 10.0**self.power:.12g}") for v in values])
            )
            needed = sum(TEXT_HEIGHT + (TEXT_HEIGHT if upwards else text_width(text)) for text in texts)
            if needed <= abs(self.end - self.start):
                break
        return [Tick(self.at(value), text) for value, text in zip(values, texts, strict=True)]


def alike(values: Sequence[float]) -> list[str]:
    """Values with as many decimals as the one that has most.

    >>> alike([0.5, 1.0]), alike([0.0, 2e-07])
    (['0.5', '1.0'], ['0', '2e-07'])
    """
    texts = [f"{value:g}" for value in values]
    if any("e" in text for text in texts):
        return texts
    decimals = max(len(text.partition(".")[2]) for text in texts) if texts else 0
    return [f"{value:.{decimals}f}" for value in values]


def fit_costs(means: Sequence[float], ends: Iterable[float], start: float, end: float) -> Axis:
    """An axis with room for costs and the ends of their intervals; logarithmic where the costs differ very much."""
    if not differ(means):
        return fit([*means, *ends], start, end)
    low, high = min(means), max(means)
    room = math.exp(MARGIN * (math.log(high) - math.log(low)))
    return Axis(low / room, high * room, start, end, log=True)


def fit(values: Iterable[float], start: float, end: float) -> Axis:
    """An axis with room for all values that are finite; what differs by less than floats can divide is one place.

    >>> fit([5e-324, 5e-324], 0, 10).values(2)
    [-1.0, 0.0, 1.0]
    """
    found = [v for v in values if math.isfinite(v)] or [0.0, 1.0]
    low, high = min(found), max(found)
    if high - low < SMALLEST_SPAN:
        margin = 0.1 * max(abs(low), abs(high))
        margin = margin if margin > SMALLEST_SPAN else 1.0
    else:
        margin = MARGIN * (high - low)
    return Axis(low - margin, high + margin, start, end)


class Mark(NamedTuple):
    """Something at a place, with its intervals across and upwards where they are known."""

    role: str
    x: float
    y: float
    title: str
    across: tuple[float, float] | None = None
    upwards: tuple[float, float] | None = None

    def boxes(self) -> list[Box]:
        """What names should leave free."""
        reach = 11.0 if self.role == "mix" else 6.0
        taken: list[Box] = [(self.x - reach, self.y - reach, self.x + reach, self.y + reach)]
        if self.across:
            taken.append((self.across[0], self.y - 2, self.across[1], self.y + 2))
        if self.upwards:
            taken.append((self.x - 2, min(self.upwards), self.x + 2, max(self.upwards)))
        return taken


class Name(NamedTuple):
    """A name beside a mark or at the end of a line; (x, y) is where its base line begins, or ends."""

    x: float
    y: float
    text: str
    role: str
    anchor: str = "start"
    line: Sequence[Sequence[float]] = ()  # from its mark, where it does not stand right beside it


@dataclass(frozen=True)
class ArmsChart:
    """Arms by one mean cost and what the goal is about, with the bound and the mix."""

    goal: str
    cost: str
    bound: float
    relation: str
    across: Axis
    upwards: Axis
    marks: Sequence[Mark]
    names: Sequence[Name]
    line: Sequence[tuple[float, float]]  # between the two arms of the mix, where there are two and one bound
    width: float = WIDTH
    height: float = HEIGHT

    @property
    def short_cost(self) -> str:
        """The cost's name below the axis."""
        return shortened(self.cost)

    @property
    def short_goal(self) -> str:
        """What the goal is about, beside the axis."""
        return shortened(self.goal)

    @property
    def bound_at(self) -> float:
        """Where the bound stands."""
        return self.across.at(self.bound)

    @property
    def bound_text(self) -> str:
        """What the bound asks."""
        return f"{SIDES[self.relation]} {self.bound:.4g}"

    @property
    def bound_anchor(self) -> str:
        """The side of its text: the one that is allowed, where there is room."""
        left = self.bound_at - self.across.start > text_width(self.bound_text)
        right = self.width - self.bound_at > text_width(self.bound_text)
        return "end" if (left if self.relation == "<=" else not right) else "start"

    @property
    def beyond(self) -> list[tuple[float, float]]:
        """From where to where the bound is not kept."""
        low, high = sorted((self.across.start, self.across.end))
        below, above = (low, self.bound_at), (self.bound_at, high)
        return {"<=": [above], ">=": [below], "=": [below, above]}[self.relation]


def arms_chart(rec: Recommendation, cost: str) -> ArmsChart:
    """The arms with one cost across and what the goal is about upwards; a ratio may have no value for some."""
    drawn, sign = plane(rec, cost), rec.problem.goal.sign
    arms = sorted(drawn.arms, key=lambda e: (-rec.mixture.get(e.arm, 0.0), -sign * e.reward))[:MOST_MARKS]
    bound = drawn.bound
    ends = (v for e in arms for v in e.cost_intervals[cost])
    costs = [bound, drawn.mean, *drawn.interval, *(e.costs[cost] for e in arms)]
    x = fit_costs(costs, ends, LEFT, WIDTH - RIGHT)
    rewards = [v for e in arms for v in (e.reward, *e.reward_interval)]
    y = fit([*rewards, drawn.value, *drawn.value_interval], HEIGHT - BOTTOM, TOP)
    marks = [_arm(rec, e, drawn, x, y) for e in arms]
    support = [(e.costs[cost], e.reward) for e in arms if e.arm in rec.mixture]
    line = _between(support, x, y) if len(support) == 2 and len(rec.problem.costs) == 1 else []
    mix = [_mix(rec, drawn, x, y)] if drawn.has_mix else []
    taken = [box for mark in [*marks, *mix] for box in mark.boxes()]
    taken += [(left - 3, top - 3, left + 3, top + 3) for left, top in line]
    taken.append((x.at(bound) - 3, 0.0, x.at(bound) + 3, HEIGHT))
    names = _names([e.arm for e in arms], marks, taken, x.at(bound))
    marks = [*reversed(marks), *mix]
    return ArmsChart(_goal(rec), drawn.label, bound, drawn.relation, x, y, marks, names, line)


def _arm(rec: Recommendation, e: Estimate, drawn: Plane, x: Axis, y: Axis) -> Mark:
    cost = drawn.cost
    share = f", {share_text(rec.mixture[e.arm])} of the mix" if e.arm in rec.mixture else ""
    title = f"{e.arm}: {_goal(rec)} {e.reward:.4g}, {drawn.label} {e.costs[cost]:.4g}{share}"
    ends = _ends(x, e.cost_intervals[cost]), _ends(y, e.reward_interval)
    return Mark(role(rec, e.arm), x.at(e.costs[cost]), y.at(e.reward), title, *ends)


def _goal(rec: Recommendation) -> str:
    return rec.problem.measures[0]


def _mix(rec: Recommendation, drawn: Plane, x: Axis, y: Axis) -> Mark:
    """The mix with its intervals: where it truly is, the estimates alone do not say."""
    value = measured(drawn.value, reach(drawn.value, drawn.value_interval))
    title = f"the mix: {_goal(rec)} {value}, {drawn.label} {cost_text(rec, drawn.cost)}"
    ends = _ends(x, drawn.interval), _ends(y, drawn.value_interval)
    return Mark("mix", x.at(drawn.mean), y.at(drawn.value), title, *ends)


def _ends(axis: Axis, interval: tuple[float, float]) -> tuple[float, float] | None:
    """Where an interval begins and ends, within the frame; None when it is unknown or a point."""
    low, high = interval
    if not (math.isfinite(high - low) and low < high):
        return None
    return axis.at(min(max(low, axis.low), axis.high)), axis.at(min(max(high, axis.low), axis.high))


def _between(support: Sequence[tuple[float, float]], x: Axis, y: Axis) -> list[tuple[float, float]]:
    """Places of the mixes of two arms: a line, which a logarithmic axis bends."""
    return [(x.at(cost), y.at(reward)) for cost, reward in np.linspace(support[0], support[1], LINE_STEPS).tolist()]


def _names(arms: Sequence[str], marks: Sequence[Mark], taken: Sequence[Box], wall: float) -> list[Name]:
    """Names beside the marks, where they cover the least."""
    chosen = [k for k, mark in enumerate(marks) if len(marks) <= MOST_NAMES or mark.role == "support"]
    chosen = chosen if len(chosen) <= MOST_NAMES else []  # of many segments the table tells more
    texts = {k: shortened(arms[k]) for k in chosen}
    sizes = {k: (text_width(text, bold=marks[k].role == "support"), TEXT_HEIGHT) for k, text in texts.items()}
    spots = np.array([(mark.x, mark.y) for mark in marks]).reshape(-1, 2)
    frame = (LEFT, TOP - 6, WIDTH, HEIGHT - BOTTOM)
    boxes = place_names(spots, sizes, taken, frame, point=NAME_DISTANCE, wall=wall)
    return [_beside(marks[k], texts[k], box) for k, box in boxes.items()]


def _beside(mark: Mark, text: str, box: Box) -> Name:
    """A name in its box, held at the side next to the mark: widths are only estimated."""
    left, _, right, low = box
    found = leader(np.array([mark.x, mark.y]), box, NAME_DISTANCE)
    line = () if found is None else found.tolist()
    if (left + right) / 2 < mark.x:
        return Name(right, low - 3, text, mark.role, "end", line)
    return Name(left, low - 3, text, mark.role, line=line)


@dataclass(frozen=True)
class RewardsChart:
    """Means of what the goal is about with their intervals, the best on top, where there are no costs."""

    goal: str
    across: Axis
    marks: Sequence[Mark]
    names: Sequence[Name]
    height: float
    width: float = WIDTH

    @property
    def short_goal(self) -> str:
        """What the goal is about, below the axis."""
        return shortened(self.goal)


def rewards_chart(rec: Recommendation) -> RewardsChart:
    """The arms below each other."""
    arms = [e for e in rec.estimates.values() if math.isfinite(e.reward)]
    arms = sorted(arms, key=lambda e: -rec.problem.goal.sign * e.reward)[:MOST_BARS]
    texts = [shortened(e.arm) for e in arms]
    left = 16 + max((text_width(text, bold=True) for text in texts), default=0.0)
    x = fit([v for e in arms for v in (e.reward, *e.reward_interval)], left, WIDTH - RIGHT)
    rows = [TOP + ROW * k for k in range(len(arms))]
    marks = [
        Mark(role(rec, e.arm), x.at(e.reward), y, f"{e.arm}: {_goal(rec)} {e.reward:.4g}", _ends(x, e.reward_interval))
        for e, y in zip(arms, rows, strict=True)
    ]
    names = [Name(left - 12, mark.y + 4, text, mark.role, "end") for mark, text in zip(marks, texts, strict=True)]
    return RewardsChart(_goal(rec), x, marks, names, TOP + ROW * len(arms) + BOTTOM)


def text_width(text: str, bold: bool = False) -> float:
    """About how wide a text is in a chart; what it is drawn with is the reader's.

    >>> text_width("arm") < text_width("arm", bold=True) < text_width("価格帯")
    True
    """
    letters = sum(12.0 if unicodedata.east_asian_width(letter) in "WF" else 7.2 for letter in text)
    return letters * (1.12 if bold else 1.0)
