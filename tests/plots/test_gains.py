import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plots.figures import assert_nothing_is_clipped

from bestmix import plots
from bestmix.plots.gains import DOT, geometric_mean, swarm


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


def test_no_text_is_clipped():
    many = {"D": {"D1P": 1.8}, "designed, 24 arms, 3 costs": {str(k): 0.9 + k / 50 for k in range(100)}}
    assert_nothing_is_clipped(plots.gains_figure({"10% error": many, "1% error": many}))
