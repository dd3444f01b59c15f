"""Names next to points, where they cover the least."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bestmix.answers.number_text import shortened
from bestmix.arrays import Flags, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Box = tuple[float, ...]  # left, low, right, high, in pixels
SIZE = 9  # of the names, in points
ROUNDS = 3  # in which names choose their places
COVERED, TANGLED = 3.0, 30.0  # price of a pixel covered, and of a point of a line over something
STEPS = 12  # places along a line at which it is looked whether it runs over something
BESIDE = 9.0  # points between a spot and its name, from which on a line joins them
MARK = 6.0  # points from the middle of a spot to where its line begins


def settle(ax: "Axes") -> None:
    """Settle the layout of the figure, on which all pixels depend; everything below needs that."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()


def pixels(ax: "Axes") -> float:
    """Pixels in a point of type."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure.dpi / 72


def name_points(
    ax: "Axes",
    points: Sequence[tuple[float, float]],
    names: Mapping[int, tuple[str, str]],
    taken: Sequence[Box],
    wall: float | None = None,
) -> None:
    """Write names next to points, on axes whose layout is settled.

    Parameters
    ----------
    ax
        Where the points are.
    points
        All points (x, y), those without a name too: no name may seem to be theirs.
    names
        The text and the colour, by the point's position; those listed first choose first.
    taken
        What names should leave free.
    wall
        A value across, such as a bound: names stay on the same side of it as their points.
    """
    point = pixels(ax)
    spots = ax.transData.transform(points if len(points) else np.empty((0, 2)))
    look: dict[str, Any] = {"fontsize": SIZE, "zorder": 6, "parse_math": False}
    texts = {
        a: ax.annotate(shortened(name), points[a], (0, 0), "data", "offset points", color=colour, **look)
        for a, (name, colour) in names.items()
    }
    extents = {a: text.get_window_extent() for a, text in texts.items()}
    sizes = {a: (extent.width, extent.height) for a, extent in extents.items()}
    border = None if wall is None else float(ax.transData.transform((wall, ax.get_ylim()[0]))[0])
    for a, box in place_names(spots, sizes, taken, ax.bbox.extents, point, border).items():
        texts[a].xyann = tuple((np.array(box[:2]) - spots[a]) / point)
        ends = leader(spots[a], box, point)
        if ends is not None:
            _draw_leader(ax, points[a], (ends - spots[a]) / point, names[a][1])


def _draw_leader(ax: "Axes", spot: tuple[float, float], ends: Floats, colour: str) -> None:
    """A thin line near a spot: its ends are so many points of type away from it, whatever becomes of the figure."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import Affine2D, ScaledTranslation

    figure = ax.get_figure(root=True)
    assert figure is not None
    there = ScaledTranslation(*spot, ax.transData)  # type: ignore[arg-type]  # any transform will do
    place = Affine2D().scale(1 / 72) + figure.dpi_scale_trans + there
    ax.add_artist(Line2D(*ends.T, color=colour, linewidth=0.7, alpha=0.8, zorder=5.5, transform=place))


def place_names(
    spots: Floats,
    sizes: Mapping[int, tuple[float, float]],
    taken: Sequence[Box],
    frame: Sequence[float],
    point: float,
    wall: float | None = None,
) -> dict[int, Box]:
    """Boxes for names near their spots, where they cover the least; what is on paper or on a page is the caller's.

    Parameters
    ----------
    spots
        All places (n, 2), in pixels, those without a name too.
    sizes
        Width and height of each name, by its spot's position; those listed first choose first.
    taken, frame
        What names should leave free, and the box that they should not leave.
    point
        Pixels in a point of type.
    wall
        A place across: names stay on the same side of it as their spots.

    Examples
    --------
    >>> box = place_names(np.array([[50.0, 50.0]]), {0: (20.0, 10.0)}, [], (0.0, 0.0, 100.0, 100.0), 1.0)[0]
    >>> [round(float(side)) for side in box]
    [55, 39, 75, 49]
    """
    filled = np.array([*taken]).reshape(-1, 4)
    marks = np.hstack([spots - MARK * point, spots + MARK * point])
    choices = {}
    for a, size in sizes.items():
        boxes = _around(spots[a], np.array(size), point)
        strayed = _strayed(boxes, spots, a, np.array(frame)) + _crossed(boxes, float(spots[a, 0]), wall, point)
        choices[a] = _choice(spots[a], boxes, strayed, filled, np.delete(marks, a, axis=0), point)
    return _chosen(choices)


@dataclass(frozen=True)
class _Choice:
    """Places for a name, and what is known of them before other names have theirs."""

    boxes: Floats  # (n, 4)
    price: Floats  # (n,), without the lines
    lines: Floats  # (steps, n, 2), from the spot to each box
    over: Flags  # (steps, n), where the lines run over marks
    weight: Floats  # (n,), of each step
    reach: Floats  # (4,), which nothing of all this leaves


def _choice(spot: Floats, boxes: Floats, strayed: Floats, taken: Floats, marks: Floats, point: float) -> _Choice:
    reach = np.concatenate([np.minimum(boxes[:, :2].min(axis=0), spot), np.maximum(boxes[:, 2:].max(axis=0), spot)])
    way = np.clip(spot, boxes[:, :2], boxes[:, 2:]) - spot
    lines = spot + np.linspace(0.0, 1.0, STEPS).reshape(-1, 1, 1) * way
    weight = TANGLED * np.linalg.norm(way, axis=1) / point / STEPS
    price = strayed + COVERED * _covered(boxes, _within(taken, reach))
    return _Choice(boxes, price, lines, _runs_over(lines, _within(marks, reach)), weight, reach)


def _chosen(choices: Mapping[int, _Choice]) -> dict[int, Box]:
    """The best place for each name; names that chose first choose again when the others are known."""
    found = np.full((len(choices), 4), np.nan)  # which is within no reach
    for _ in range(ROUNDS):
        before = found.copy()
        for place, choice in enumerate(choices.values()):
            found[place] = np.nan
            names = _within(found, choice.reach)
            over = choice.over | _runs_over(choice.lines, names)
            price = choice.price + COVERED * _covered(choice.boxes, names) + over.sum(axis=0) * choice.weight
            found[place] = choice.boxes[np.argmin(price)]
        if np.array_equal(before, found):
            break
    return {a: tuple(box) for a, box in zip(choices, found.tolist(), strict=True)}


def leader(spot: Floats, box: Box, point: float) -> Floats | None:
    """The ends (2, 2) of a line from a spot to its name, where the name does not stand right beside it.

    >>> leader(np.array([50.0, 50.0]), (55.0, 39.0, 75.0, 49.0), 1.0)
    >>> leader(np.array([50.0, 50.0]), (80.0, 45.0, 95.0, 55.0), 1.0).tolist()
    [[56.0, 50.0], [79.0, 50.0]]
    """
    nearest = np.clip(spot, box[:2], box[2:])
    way = nearest - spot
    distance = float(np.linalg.norm(way))
    if distance <= BESIDE * point:
        return None
    return np.array([spot + way * (MARK * point / distance), nearest - way * (point / distance)])


def point_boxes(ax: "Axes", points: Sequence[tuple[float, float]], reach: float) -> list[Box]:
    """Boxes around points, ``reach`` points of type to each side."""
    half = reach * pixels(ax)
    spots = ax.transData.transform(points if len(points) else np.empty((0, 2)))
    return [(x - half, y - half, x + half, y + half) for x, y in spots]


def line_boxes(ax: "Axes", start: tuple[float, float], end: tuple[float, float]) -> list[Box]:
    """Small boxes along a line."""
    return point_boxes(ax, [tuple(p) for p in np.linspace(start, end, 60)], reach=1.5)


def bound_box(ax: "Axes", bound: float) -> Box:
    """The line of a bound."""
    point = pixels(ax)
    x, _ = ax.transData.transform((bound, 0.0))
    return x - 2 * point, ax.bbox.y0, x + 2 * point, ax.bbox.y1


def _around(spot: Floats, size: Floats, point: float) -> Floats:
    """Boxes (n, 4) of a text of that size at places around a spot."""
    reach, angle = np.meshgrid([7.0, 12.0, 18.0, 26.0, 36.0], np.radians(np.arange(0, 360, 30)), indexing="ij")
    way = np.stack([np.cos(angle), np.sin(angle)], axis=-1).reshape(-1, 2)
    low = spot + way * reach.reshape(-1, 1) * point + (way - 1) * size / 2
    return np.hstack([low, low + size])


def _covered(boxes: Floats, taken: Floats) -> Floats:
    """Pixels of each box that are taken."""
    sides = np.minimum(boxes[:, None, 2:], taken[:, 2:]) - np.maximum(boxes[:, None, :2], taken[:, :2])
    result: Floats = np.prod(np.maximum(sides, 0.0), axis=2).sum(axis=1)
    return result


def _runs_over(lines: Floats, others: Floats) -> Flags:
    """At which steps (steps, n) lines (steps, n, 2) are inside other boxes."""
    x, y = lines[..., :1], lines[..., 1:]
    left, low, right, high = others.T
    result: Flags = ((x > left) & (x < right) & (y > low) & (y < high)).any(axis=-1)
    return result


def _within(boxes: Floats, reach: Floats) -> Floats:
    """Those boxes that have something in common with the reach."""
    left, low, right, high = boxes.T
    near: Flags = (left < reach[2]) & (low < reach[3]) & (right > reach[0]) & (high > reach[1])
    return boxes[near]


def _crossed(boxes: Floats, spot: float, wall: float | None, point: float) -> Floats:
    """How far each box reaches over the wall, seen from its spot; a spot on the wall has no side."""
    if wall is None or abs(spot - wall) < point:
        return np.zeros(len(boxes))
    beyond: Floats = np.maximum(boxes[:, 2] - wall if spot < wall else wall - boxes[:, 0], 0.0)
    return 10.0 * beyond


def _strayed(boxes: Floats, spots: Floats, own: int, frame: Floats) -> Floats:
    """How far each box is from its own spot; more where another spot is nearer or the frame ends."""
    way = np.clip(spots[own], boxes[:, :2], boxes[:, 2:]) - spots[own]
    distance = np.linalg.norm(way, axis=1)
    margin = distance.max()  # a spot farther than that is nearer to none
    near = (spots > boxes[:, :2].min(axis=0) - margin) & (spots < boxes[:, 2:].max(axis=0) + margin)
    near[own] = False
    others = spots[near.all(axis=1)]
    beyond = np.maximum(boxes[:, None, :2] - others, 0.0) + np.maximum(others - boxes[:, None, 2:], 0.0)
    nearest = np.linalg.norm(beyond, axis=2).min(axis=1, initial=np.inf)
    outside = np.maximum(frame[:2] - boxes[:, :2], 0.0) + np.maximum(boxes[:, 2:] - frame[2:], 0.0)
    result: Floats = distance + 20.0 * np.maximum(distance - nearest, 0.0) + 100.0 * outside.sum(axis=1)
    return result
