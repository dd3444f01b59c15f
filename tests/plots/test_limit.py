import numpy as np
from matplotlib.colors import to_hex
from tests.plots.figures import assert_nothing_is_clipped

from bestmix import Instance, catalog, limit, plots


def test_best_shares_beside_those_of_runs():
    found = limit(catalog.load("A1"))
    figure = plots.limit_figure(found, np.full((3, 16), 1 / 16))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["Challenger, 3 runs", "attains the limit"]
    assert figure.axes[0].get_yticklabels()[0].get_text() == next(iter(found.shares))
    assert_nothing_is_clipped(figure)
    (mark,) = figure.axes[0].lines
    bars = [bar.get_y() + bar.get_height() for bar in figure.axes[0].patches]
    assert all(low < y for low, y in zip(bars, mark.get_ydata(), strict=True))  # neither covers the other


def test_bars_stand_out_and_shares_are_told_in_percent():
    ax = plots.plot_limit(limit(catalog.load("A1")))
    ax.figure.draw_without_rendering()
    assert {to_hex(bar.get_facecolor()) for bar in ax.patches} == {plots.theme.COLOURS["support"]}
    assert [label.get_text() for label in ax.get_xticklabels()][:2] == ["0%", "5%"]


def test_a_note_where_there_is_no_limit():
    figure = plots.limit_figure(limit(Instance([1.0, 1.0])))
    assert_nothing_is_clipped(figure)
    assert "No number of trials is enough" in figure.axes[0].get_title(loc="left")
