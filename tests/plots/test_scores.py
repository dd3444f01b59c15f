import numpy as np
import pytest
from tests.plots.figures import FIVE, assert_names_do_not_overlap, assert_nothing_is_clipped

from bestmix import SFSR, catalog, plots


def first_scores(strategy):
    """The scores after a first round in which every trial gave the true means."""
    search = strategy.start(FIVE.problem, budget=100)
    for arm, count in search.ask().items():
        reward, cost = FIVE.means[FIVE.arms.index(arm)]
        search.tell(arm, [reward] * count, [[cost]] * count)
    return search.history[0]


def test_scores_are_those_of_the_strategy():
    segments = plots.best_segments(FIVE.means, 1.0)
    told = first_scores(SFSR())
    np.testing.assert_allclose([s.score for s in segments], [told.scores[c] for c in FIVE.problem.columns])
    assert [(s.column, s.partner) for s in segments[:5]] == [(0, 1), (1, 0), (2, 3), (3, 0), (4, 0)]
    ticks = [text.get_text() for text in plots.plot_scores(FIVE).get_yticklabels()]
    assert ticks[0].startswith("score of arm2: 1.14")
    assert told.rejected == "arm2"
    assert ticks[1:] == ["score of arm4: 1.45", "score of arm3: 2.01", "score of arm0 and arm1: 2.20"]


def test_scores_need_one_cost():
    with pytest.raises(ValueError, match="expected one cost, got 2"):
        plots.plot_scores(catalog.load("D1P"))


@pytest.mark.parametrize("kind", ["scores", "frontier"])
def test_no_text_is_clipped_and_no_names_overlap(kind):
    if kind == "scores":
        figure = plots.scores_figure(FIVE)
    else:
        figure = plots.frontier_figure(catalog.load("H2"), catalog.load("H2").means + 0.05, "arm0")
    assert_nothing_is_clipped(figure)
    assert_names_do_not_overlap(figure)
