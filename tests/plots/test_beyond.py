"""Figures of gains and of calibration."""

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

matplotlib.use("Agg")

from matplotlib import pyplot

from bestmix import plots
from bestmix.plots.calibration import Claims
from bestmix.plots.gains import DOT, geometric_mean, swarm


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")


def test_every_instance_is_a_dot_and_the_worst_is_named():
    ax = plots.plot_gains({"one": {"a": 2.0, "b": 0.8, "c": 5.0}, "none": {}, "two": {"d": 1.5}})
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert [sorted(line.get_xdata()) for line in dots] == [[0.8, 2.0, 5.0], [1.5]]
    assert [text.get_text() for text in ax.texts] == ["2.00", "b: 0.80", "1.50", "d: 1.50"]
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "one\n3 instances",
        "none\n0 instances",
        "two\n1 instance",
    ]
    low, high = ax.get_xlim()
    assert low < 0.8
    assert high > 5


@given(st.lists(st.floats(0, 300), max_size=60))
def test_dots_of_a_swarm_do_not_cover_each_other(places):
    places = np.array(places)
    offsets = swarm(places)
    assert np.abs(offsets).max(initial=0) <= 0.3
    for lane in set(offsets.tolist()):
        near = np.diff(np.sort(places[offsets == lane]))
        crowded = [((places >= x - DOT) & (places <= x)).sum() for x in places]
        assert (near >= DOT).all() or max(crowded) > 9  # nine lanes are all there are


def test_the_geometric_mean_of_a_ratio_and_its_inverse_is_one():
    assert geometric_mean([3.0, 1 / 3.0]) == pytest.approx(1)


def test_reliability_has_shares_and_intervals():
    listed = [Claims(100, 20.0, 35), Claims(0, 0.0, 0), Claims(300, 240.0, 260)]
    container = plots.plot_reliability({"mine": listed}).containers[0]
    np.testing.assert_allclose(container[0].get_xydata(), [[0.2, 0.35], [0.8, 260 / 300]])
    drawn = np.array([segment[:, 1] for segment in container[2][0].get_segments()])
    np.testing.assert_allclose(drawn, [listed[0].interval(), listed[2].interval()])


def test_a_cell_without_an_error_is_an_arrow_from_the_end_of_its_interval():
    sure = Claims(1000, 999.99, 1000)
    ax = plots.plot_cells({"mine": [Claims(1000, 700.0, 750), sure]})
    dots, arrows = ax.containers
    np.testing.assert_allclose(dots[0].get_xydata(), [[0.3, 0.25]])
    ((claimed, end),) = arrows[0].get_xydata()
    assert end == pytest.approx(sure.interval(wrong=True)[1])
    assert claimed == ax.get_xlim()[0]  # the claim of 1e-5 is too small for the axis


@pytest.mark.parametrize("kind", ["gains", "calibration"])
def test_no_text_is_clipped(kind):
    claims = [Claims(100, 20.0, 35), Claims(300, 240.0, 260)]
    many = {"D": {"D1P": 1.8}, "designed, 24 arms, 3 costs": {str(k): 0.9 + k / 50 for k in range(100)}}
    figure = (
        plots.gains_figure({"10% error": many, "1% error": many})
        if kind == "gains"
        else plots.calibration_figure({"a": claims, "b": claims}, {"a": claims, "b": claims}, [0.0, 0.5, 1.0])
    )
    figure.draw_without_rendering()
    drawn = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert min(drawn.x0, drawn.y0) >= -0.01
    assert drawn.x1 <= width + 0.01
    assert drawn.y1 <= height + 0.01
