import numpy as np
from tests.plots.figures import assert_nothing_is_clipped

from bestmix import Instance, catalog, limit, plots


def test_best_shares_beside_those_of_runs():
    found = limit(catalog.load("A1"))
    figure = plots.limit_figure(found, np.full((3, 16), 1 / 16))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["Challenger, 3 runs", "attains the limit"]
    assert figure.axes[0].get_yticklabels()[0].get_text() == next(iter(found.shares))
    assert_nothing_is_clipped(figure)


def test_a_note_where_there_is_no_limit():
    figure = plots.limit_figure(limit(Instance([1.0, 1.0])))
    assert_nothing_is_clipped(figure)
    assert "No number of trials is enough" in figure.axes[0].get_title(loc="left")
