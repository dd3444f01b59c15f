import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.lines import Line2D

from bestmix.plots import labels


@pytest.fixture
def ax():
    _, ax = pyplot.subplots()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    labels.settle(ax)
    return ax


def boxes(ax):
    return [text.get_window_extent() for text in ax.texts]


@pytest.mark.parametrize("seed", range(5))
def test_names_of_near_points_do_not_cover_each_other(ax, seed):
    points = [tuple(p) for p in np.random.default_rng(seed).uniform(0.3, 0.7, (8, 2))]
    labels.name_points(ax, points, {i: (f"arm{i}", "black") for i in range(8)}, [])
    found = boxes(ax)
    assert not any(a.overlaps(b) for i, a in enumerate(found) for b in found[:i])


def test_names_leave_taken_places_free_and_stay_inside(ax):
    point = (0.99, 0.99)
    taken = labels.point_boxes(ax, [point], reach=10.0)
    labels.name_points(ax, [point], {0: ("a long name", "black")}, taken)
    (box,) = boxes(ax)
    left, low, right, high = taken[0]
    assert box.x1 <= left or box.y1 <= low or box.x0 >= right or box.y0 >= high
    assert box.x1 <= ax.bbox.x1 + 1
    assert box.y1 <= ax.bbox.y1 + 1


def test_names_are_written_as_they_are(ax):
    labels.name_points(ax, [(0.5, 0.5)], {0: ("$_{1", "black")}, [])
    ax.get_figure().draw_without_rendering()
    assert [text.get_text() for text in ax.texts] == ["$_{1"]


def test_a_line_joins_a_name_to_its_point_where_it_had_to_move(ax):
    near = [(0.5 + 0.002 * i, 0.5 + 0.015 * i) for i in range(8)]
    labels.name_points(ax, near, {i: (f"a name of {i}", "black") for i in range(8)}, labels.point_boxes(ax, near, 5.0))
    lines = [line.get_transform().transform(line.get_xydata()) for line in ax.get_children() if is_leader(line)]
    assert 1 <= len(lines) < 8
    spots, names = ax.transData.transform(near), boxes(ax)
    for start, end in lines:
        owner = np.argmin([np.linalg.norm(np.clip(end, [box.x0, box.y0], [box.x1, box.y1]) - end) for box in names])
        assert np.linalg.norm(start - spots[owner]) < labels.MARK * labels.pixels(ax) + 1


def is_leader(artist):
    return isinstance(artist, Line2D) and artist.get_linewidth() == pytest.approx(0.7)


def test_lines_to_names_stay_where_they_belong_at_any_resolution(ax):
    taken = labels.point_boxes(ax, [(0.5, 0.5)], 20.0)
    labels.name_points(ax, [(0.5, 0.5)], {0: ("far", "black")}, taken)
    (line,) = filter(is_leader, ax.get_children())
    lengths = []
    for dpi in (100, 200):
        ax.figure.set_dpi(dpi)
        start, end = line.get_transform().transform(line.get_xydata())
        lengths.append(np.linalg.norm(end - start) / dpi)
        assert np.linalg.norm(start - ax.transData.transform((0.5, 0.5))) == pytest.approx(labels.MARK * dpi / 72)
    assert lengths[0] == pytest.approx(lengths[1])


CROWDS = {
    "a shorter line would run over a name": [(114, 118), (89, 127), (108, 119)],
    "a shorter line would run over a mark": [(94, 100), (104, 90), (99, 98)],
    "the first have to choose again": [(83, 127), (88, 112), (91, 124), (116, 118)],
    "and once more": [(106, 149), (100, 84), (127, 100), (91, 132), (112, 126), (108, 125), (105, 124), (158, 110)],
}


def placed(points, far=()):
    """The spots and the boxes of names of one size beside them; far names are in the way of none of these."""
    spots = np.array([*points, *far], dtype=float)
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in spots]
    sizes = dict.fromkeys(range(len(spots)), (30.0, 10.0))
    return spots, labels.place_names(spots, sizes, taken, (0.0, 0.0, 900.0, 900.0), 1.0)


@pytest.mark.parametrize("points", CROWDS.values(), ids=CROWDS.keys())
def test_names_and_their_lines_run_over_no_other_name_or_mark(points):
    spots, found = placed(points)
    for own, (left, low, right, high) in found.items():
        for other in range(own):
            x0, y0, x1, y1 = found[other]
            assert min(right, x1) <= max(left, x0) or min(high, y1) <= max(low, y0)
        line = labels.leader(spots[own], found[own], 1.0)
        for other in set(found) - {own}:
            assert line is None or not runs_through(line, found[other])
            assert line is None or not runs_through(line, (*spots[other] - 5, *spots[other] + 5))


def runs_through(line, box):
    x, y = np.linspace(*line, 50).T
    left, low, right, high = box
    return ((x > left) & (x < right) & (y > low) & (y < high)).any()


@pytest.mark.parametrize("points", CROWDS.values(), ids=CROWDS.keys())
def test_what_is_far_away_moves_no_name(points):
    _, alone = placed(points)
    _, found = placed(points, far=[(600 + 7 * i, 700 - 5 * i) for i in range(20)])
    assert {a: found[a] for a in alone} == alone
