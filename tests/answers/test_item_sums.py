"""Sums by item: exact in any order, and errors of items where an arm met one more than once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bestmix import Problem
from bestmix.answers.blocks import Blocks, widened
from bestmix.answers.item_sums import ItemSum, evidence_on_items, item_blocks
from bestmix.answers.moments import Moments

values = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8)


@given(values, st.randoms())
def test_no_order_changes_a_bit(rows, rng):
    def added(given):
        total = ItemSum.of([given[0]])
        for row in given[1:]:
            total = total.plus(ItemSum.of([row]))
        return total.to_list()

    shuffled = rows.copy()
    rng.shuffle(shuffled)
    assert added(rows) == added(shuffled)
    assert ItemSum.from_list(added(rows)).to_list() == added(rows)


def test_blocks_hold_the_items_that_some_of_the_arms_met():
    found = {(5, 0): ItemSum.of([1.0, 2.0]), (5, 3): ItemSum.of([3.0, 4.0]), (2, 3): ItemSum.of([5.0, 6.0])}
    blocks = item_blocks(found | {(9, 7): ItemSum.of([0.0, 0.0])}, [3, 0], 2)
    np.testing.assert_array_equal(blocks.counts, [[1, 0], [1, 1]])
    np.testing.assert_array_equal(blocks.sums, [[[5, 6], [0, 0]], [[3, 4], [1, 2]]])
    assert item_blocks({}, [0], 2).counts.shape == (0, 1)


def test_where_no_item_comes_twice_trials_are_as_they_are():
    rows = np.array([[1.0], [2.0], [4.0]])
    blocks = Blocks(np.ones((3, 1)), rows[:, None, :])
    evidence = evidence_on_items(Problem(["a"]), [Moments(1).plus(rows)], blocks)
    assert evidence.moments[0].scatter() == Moments(1).plus(rows).scatter()
    assert evidence.items is blocks


def test_repeated_items_have_the_errors_of_items_and_a_log_has_its_own():
    """An arm with each item four times, and always the same result, knows no more than with each item once."""
    rng = np.random.default_rng(0)
    once, log = rng.normal(size=(30, 1)), rng.normal(size=(20, 1))
    blocks = Blocks(np.full((30, 1), 4.0), 4.0 * once[:, None, :])
    told = Moments(1).plus(np.repeat(once, 4, axis=0))
    (found,) = evidence_on_items(Problem(["a"]), [told], blocks).moments
    assert found.count == 120
    np.testing.assert_allclose(found.mean(), once.mean())
    variance = found.covariance()[0, 0] / found.count
    np.testing.assert_allclose(variance, once.var() / 30 * widened(np.array([30]))[0])
    earlier = Moments(1).plus(log)
    (both,) = evidence_on_items(Problem(["a"]), [told.joined(earlier)], blocks, [earlier]).moments
    np.testing.assert_allclose(both.mean(), (120 * once.mean() + 20 * log.mean()) / 140)
    independent = (120**2 * variance + 20**2 * log.var(ddof=1) / 20) / 140**2
    np.testing.assert_allclose(both.covariance()[0, 0] / 140, independent, rtol=0.02)
