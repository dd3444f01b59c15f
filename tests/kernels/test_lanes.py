"""The words of kernels mean the same for one number and for several side by side."""

import numpy as np
import pytest

from bestmix.kernels import lanes
from bestmix.kernels.lanes import LANES

ROW = np.arange(24.0).reshape(3, LANES)
INDEX = np.arange(LANES) % 3


def test_new_lanes_are_zeros_that_begin_where_memory_is_kept_together():
    for shape in ((1,), (5,), (3, 7), (0, 2)):
        found = lanes.new_lanes(*shape)
        assert found.shape == (*shape, LANES)
        assert not found.any()
        assert found.flags.c_contiguous
        assert found.size == 0 or found.ctypes.data % lanes.ALIGNED == 0


def test_a_choice_is_made_in_each_lane():
    assert lanes.either(True, 1, 2) == 1
    assert lanes.either(np.bool_(False), 1, 2) == 2
    np.testing.assert_array_equal(lanes.either(ROW[0] > 3, ROW[1], -1.0), [-1, -1, -1, -1, 12, 13, 14, 15])
    np.testing.assert_array_equal(lanes.larger(ROW[0], 3.0), np.maximum(ROW[0], 3.0))
    assert lanes.larger(np.nan, 3.0) == 3.0
    assert lanes.root(np.float64(9.0)) == 3.0


@pytest.mark.parametrize(
    ("condition", "some", "every"),
    [(True, True, True), (False, False, False), (ROW[0] > 3, True, False), (ROW[0] >= 0, True, True)],
)
def test_some_lanes_and_every_lane(condition, some, every):
    assert lanes.any_lane(condition) is some
    assert lanes.every_lane(condition) is every


def test_entries_are_read_and_written_at_the_index_of_each_lane():
    row = ROW.copy()
    np.testing.assert_array_equal(lanes.at(row, INDEX.astype(float)), ROW[INDEX, np.arange(LANES)])
    lanes.put(row, INDEX.astype(float), -ROW[0] - 1)
    changed = np.zeros_like(ROW, dtype=bool)
    changed[INDEX, np.arange(LANES)] = True
    np.testing.assert_array_equal(row, np.where(changed, -ROW[0] - 1, ROW))
    line = np.array([5.0, 6.0, 7.0])
    lanes.put(line, 2.0, 8.0)
    assert lanes.at(line, 2) == 8.0


def test_what_is_to_be_looked_at_for_an_index():
    assert lanes.reach(4, 9) == (4, 5)
    assert lanes.reach(-1.0, 9) == (0, 0)
    assert lanes.reach(INDEX, 9) == (0, 9)
