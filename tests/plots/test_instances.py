import numpy as np
import pytest
from tests.plots.figures import FIVE

from bestmix import Instance, catalog, plots


def test_an_instance_shows_its_best_mix_and_bound():
    ax = plots.plot_instance(FIVE, named=["arm0", "arm1"])
    assert ax.get_legend_handles_labels()[1] == ["other arms", "arms of the best mix", "the best mix", "bound"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mean cost", "mean reward")
    assert sorted(text.get_text() for text in ax.texts) == ["arm0", "arm1"]
    triangles = next(line for line in ax.lines if line.get_label() == "arms of the best mix")
    assert triangles.get_marker() == "^"
    np.testing.assert_array_equal(triangles.get_xydata(), [[0.0, 1.7], [1.8, 2.6]])


def test_arms_with_the_same_means_are_counted():
    assert [text.get_text() for text in plots.plot_instance(catalog.load("H2")).texts] == ["14 arms"]
    assert not plots.plot_instance(catalog.load("D3P"), "cost1").texts


def test_an_instance_without_that_cost_is_refused():
    with pytest.raises(ValueError, match="expected one of cost0, got 'euros'"):
        plots.plot_instance(FIVE, "euros")
    with pytest.raises(ValueError, match="expected one of no costs"):
        plots.plot_instance(Instance([1.0, 2.0]))
