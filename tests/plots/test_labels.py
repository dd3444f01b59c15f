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


def test_a_line_runs_over_no_other_name():
    spots, sizes = np.array([[50.0, 60.0], [52.0, 50.0]]), {0: (40.0, 10.0), 1: (40.0, 10.0)}
    taken = [(0.0, 44.0, 100.0, 53.0), (51.0, 30.0, 100.0, 80.0)]
    found = labels.place_names(spots, sizes, taken, (0.0, 0.0, 100.0, 100.0), 1.0)
    for own, other in ((0, 1), (1, 0)):
        line = labels.leader(spots[own], found[own], 1.0)
        if line is not None:
            x, y = np.linspace(*line, 50).T
            left, low, right, high = found[other]
            assert not ((x > left) & (x < right) & (y > low) & (y < high)).any()
