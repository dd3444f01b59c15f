import numpy as np
import pytest
from matplotlib import pyplot

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
