import numpy as np
import pytest
from tests.plots.figures import assert_nothing_is_clipped

from bestmix import plots
from bestmix.plots.calibration import Claims


def test_reliability_has_shares_and_intervals():
    listed = [Claims(100, 20.0, 35), Claims(0, 0.0, 0), Claims(300, 240.0, 260)]
    container = plots.plot_reliability({"mine": listed}).containers[0]
    np.testing.assert_allclose(container[0].get_xydata(), [[0.2, 0.35], [0.8, 260 / 300]])
    drawn = np.array([segment[:, 1] for segment in container[2][0].get_segments()])
    np.testing.assert_allclose(drawn, [listed[0].interval(), listed[2].interval()])


def test_bins_of_few_runs_are_hollow_and_off_the_line():
    many, few = plots.plot_reliability(
        {"mine": [Claims(100, 20.0, 35), Claims(5, 1.0, 5), Claims(300, 240.0, 260)]}
    ).containers
    assert len(many[0].get_xydata()) == 2
    np.testing.assert_allclose(few[0].get_xydata(), [[0.2, 1.0]])
    assert (many[0].get_linestyle(), few[0].get_linestyle()) == ("-", "None")
    assert few[0].get_markerfacecolor() != many[0].get_color()


def test_a_cell_without_an_error_is_an_arrow_from_the_end_of_its_interval():
    sure = Claims(1000, 999.99, 1000)
    ax = plots.plot_cells({"mine": [Claims(1000, 700.0, 750), sure]})
    dots, arrows = ax.containers
    np.testing.assert_allclose(dots[0].get_xydata(), [[0.3, 0.25]])
    ((claimed, end),) = arrows[0].get_xydata()
    assert end == pytest.approx(sure.interval(wrong=True)[1])
    assert claimed == ax.get_xlim()[0]  # the claim of 1e-5 is too small for the axis


def test_no_text_is_clipped():
    claims = {name: [Claims(100, 20.0, 35), Claims(300, 240.0, 260)] for name in ("a", "b")}
    assert_nothing_is_clipped(plots.calibration_figure(claims, claims, [0.0, 0.5, 1.0]))
    assert_nothing_is_clipped(plots.reliability_figure(claims))
