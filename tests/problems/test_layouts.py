"""Columns and rows of a problem's program."""

import numpy as np

from bestmix import Known, Problem
from bestmix.problems.layouts import layout_of, places, segments_of


def test_known_arms_stand_in_every_segment_behind_those_that_are_tried():
    asked = Problem(["a", "b"], {"c": 1.0}, {"off": Known(0.0, {"c": 0.0})}, segments={"x": 0.5, "y": 0.5})
    assert asked.names == ("a in x", "b in x", "a in y", "b in y", "off in x", "off in y")
    assert places(asked).tolist() == [0, 1, 4, 2, 3, 5]
    assert layout_of(asked).given[[2, 5]].tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_limit_of_one_segment_reads_nothing_of_the_others():
    asked = Problem(["a", "b"], limits=["dollars <= 2 in x", "share(b) <= 40%"], segments={"x": 0.5, "y": 0.5})
    rows = layout_of(asked)
    assert segments_of(asked) == ["x", "y"]
    assert rows.transform[0, 1].tolist() == [0.0, 1.0]
    assert not rows.transform[1, 1].any()
    np.testing.assert_allclose(rows.constant, [[-2.0, -0.4], [-2.0, 0.6], [0.0, -0.4], [0.0, 0.6]])
    assert rows.known.tolist() == [False, True]


def test_a_relative_limit_has_its_column_of_reference_in_each_segment():
    asked = Problem(["a", "b"], limits=["time <= 1.1 * time(b)"], segments={"x": 0.5, "y": 0.5})
    rows = layout_of(asked)
    assert rows.reference.tolist() == [[1], [3]]
    assert rows.factor.tolist() == [1.1]
