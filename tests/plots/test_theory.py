import pytest
from tests.plots.figures import assert_nothing_is_clipped

from bestmix import catalog, explain, plots


@pytest.mark.parametrize("name", ["A1", "D2P"])
def test_an_explanation_shows_arms_mix_and_margins(name):
    figure = plots.explanation_figure(explain(catalog.load(name)))
    assert len(figure.axes) == len(catalog.load(name).costs) + 1
    assert_nothing_is_clipped(figure)
