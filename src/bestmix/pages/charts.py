"""Arms in the cost-reward plane as SVG: intervals, the bound, the mix. Shapes tell as much as colours."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from bestmix.answers.recommendation import Estimate, Recommendation

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 24, 48
MOST_LABELS = 24
MOST_ARMS = 200
TICKS = 6


@dataclass(frozen=True)
class Axis:
    """From values to places."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The place of a value; values far outside stay near the frame."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, -0.2), 1.2) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """A few round values.

        >>> Axis(0.0, 1.0, 0, 10).ticks()
        [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
        """
        raw = (self.high - self.low) / TICKS
        size = 10.0 ** math.floor(math.log10(raw))
        step = next(m * size for m in (1, 2, 5, 10) if m * size >= raw)
        first = math.ceil(self.low / step - 1e-9)
        count = math.floor(self.high / step + 1e-9) - first + 1
        return [round((first + i) * step, 12) for i in range(count)]


def fit(values: Iterable[float], start: float, end: float) -> Axis:
    """An axis with room for all values that are finite."""
    found = [v for v in values if math.isfinite(v)] or [0.0, 1.0]
    low, high = min(found), max(found)
    room = 0.08 * (high - low) or abs(low) * 0.1 or 1.0
    return Axis(low - room, high + room, start, end)


def draw(rec: Recommendation, cost: str) -> str:
    """The arms with one cost across and the reward upwards."""
    arms = [e for e in rec.estimates.values() if math.isfinite(e.reward)]
    arms = sorted(arms, key=lambda e: (-rec.mixture.get(e.arm, 0.0), -e.reward))[:MOST_ARMS]
    bound = rec.problem.bounds[cost]
    x = fit([bound, *(v for e in arms for v in (e.costs[cost], *_ends(e.cost_intervals[cost])))], LEFT, WIDTH - RIGHT)
    y = fit([v for e in arms for v in (e.reward, *_ends(e.reward_interval))], HEIGHT - BOTTOM, TOP)
    parts = [_frame(x, y, cost), _bound(x, bound)]
    parts += [_arm(rec, e, cost, x, y) for e in reversed(arms)]
    labelled = arms if len(arms) <= MOST_LABELS else [e for e in arms if e.arm in rec.mixture]
    parts += _labels(rec, labelled, cost, x, y)
    if rec.mixture and math.isfinite(rec.value):
        parts.append(_star(x.at(bound - rec.slack[cost]), y.at(rec.value)))
    label = escape(f"arms by mean {cost} and mean reward, with 95% intervals; the bound on {cost} is {bound:.4g}")
    return f'<svg class="plane" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _ends(interval: tuple[float, float]) -> tuple[float, ...]:
    return tuple(v for v in interval if math.isfinite(v))


def _frame(x: Axis, y: Axis, cost: str) -> str:
    lines = []
    for value in x.ticks():
        at = f"{x.at(value):.1f}"
        lines.append(f'<line class="grid" x1="{at}" x2="{at}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
        lines.append(f'<text class="tick" x="{at}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{value:g}</text>')
    for value in y.ticks():
        at = f"{y.at(value):.1f}"
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>')
        lines.append(f'<text class="tick" x="{LEFT - 8}" y="{at}" dy="4" text-anchor="end">{value:g}</text>')
    across = f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">mean {escape(cost)}</text>'
    up = f'<text transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">'
    return "".join(lines) + across + up + "mean reward</text>"


def _bound(x: Axis, bound: float) -> str:
    at = x.at(bound)
    side = ("end", at - 6) if at > WIDTH * 0.6 else ("start", at + 6)
    return (
        f'<line class="bound" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 8}" y2="{HEIGHT - BOTTOM}"/>'
        f'<text class="bound" x="{side[1]:.1f}" y="{TOP - 8}" text-anchor="{side[0]}">bound {bound:.4g}</text>'
    )


def role(rec: Recommendation, arm: str) -> str:
    """What an arm is at present: of the support, known, rejected or merely another."""
    if arm in rec.mixture:
        return "support"
    if any(r.rejected == arm for r in rec.history):
        return "rejected"
    return "known" if rec.estimates[arm].known else "other"


def _arm(rec: Recommendation, e: Estimate, cost: str, x: Axis, y: Axis) -> str:
    look, at, up = role(rec, e.arm), x.at(e.costs[cost]), y.at(e.reward)
    lines = []
    if len(ends := _ends(e.cost_intervals[cost])) == 2 and ends[0] < ends[1]:
        lines.append(f'<line x1="{x.at(ends[0]):.1f}" x2="{x.at(ends[1]):.1f}" y1="{up:.1f}" y2="{up:.1f}"/>')
    if len(ends := _ends(e.reward_interval)) == 2 and ends[0] < ends[1]:
        lines.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y.at(ends[0]):.1f}" y2="{y.at(ends[1]):.1f}"/>')
    shapes = {
        "support": f'<circle cx="{at:.1f}" cy="{up:.1f}" r="6"/>',
        "rejected": f'<path d="M{at - 5:.1f} {up - 5:.1f}l10 10m0 -10l-10 10"/>',
        "known": f'<path d="M{at:.1f} {up - 7:.1f}l7 7l-7 7l-7 -7z"/>',
        "other": f'<rect x="{at - 4.5:.1f}" y="{up - 4.5:.1f}" width="9" height="9"/>',
    }
    share = f", {rec.mixture[e.arm]:.0%} of the mix" if e.arm in rec.mixture else ""
    title = escape(f"{e.arm}: reward {e.reward:.4g}, {cost} {e.costs[cost]:.4g}{share}")
    return f'<g class="arm {look}">{"".join(lines)}{shapes[look]}<title>{title}</title></g>'


def _labels(rec: Recommendation, arms: list[Estimate], cost: str, x: Axis, y: Axis) -> list[str]:
    """Names beside the marks, on whichever side is free; a name that finds no room is left out."""
    taken: list[tuple[float, float, float, float]] = []
    made = []
    for e in arms:
        at, up, long = x.at(e.costs[cost]), y.at(e.reward), 7.2 * min(len(e.arm), 24)
        sides = [
            (at + 10, up - 8, "start"),
            (at - 10, up - 8, "end"),
            (at + 10, up + 18, "start"),
            (at - 10, up + 18, "end"),
        ]
        for place, line, anchor in sides:
            box = (place if anchor == "start" else place - long, line - 12, long, 15.0)
            inside = box[0] >= LEFT and box[0] + long <= WIDTH
            if inside and not any(_meet(box, other) for other in taken):
                taken.append(box)
                look = "name support" if e.arm in rec.mixture else "name"
                text = escape(e.arm if len(e.arm) <= 24 else e.arm[:23] + "…")
                made.append(f'<text class="{look}" x="{place:.1f}" y="{line:.1f}" text-anchor="{anchor}">{text}</text>')
                break
    return made


def _meet(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]


def _star(at: float, up: float) -> str:
    points = []
    for i in range(10):
        size, turn = (11.0 if i % 2 == 0 else 4.6), math.pi * i / 5
        points.append(f"{at + size * math.sin(turn):.1f},{up - size * math.cos(turn):.1f}")
    return f'<polygon class="mix" points="{" ".join(points)}"><title>the mix</title></polygon>'
