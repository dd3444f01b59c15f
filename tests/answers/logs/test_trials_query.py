"""Texts of queries; what they find is tested where they run."""

import pytest

from bestmix.answers.logs.sum_tables import Names
from bestmix.answers.logs.trials_query import Trials, aggregates, literal, measured, quoted
from bestmix.problems.quantities import Mean, Tail


def test_rows_that_miss_a_value_are_marked_or_left_out():
    trials = Trials("t", "a", ("x",), ("x", "y"), segment="s")
    assert 'CASE WHEN NOT x IS NULL AND NOT y IS NULL THEN 1 END AS "whole"' in trials.text()
    assert "WHERE" not in trials.text()
    dropped = Trials("t", "a", ("x",), ("x",), segment="s", conditions=("b > 1",), drop_missing=True).text()
    assert dropped.endswith("b > 1\n    AND NOT a IS NULL\n    AND NOT s IS NULL\n    AND NOT x IS NULL")


@pytest.mark.parametrize("threshold", [2.0, 0.1, 1e-7, -3.5, 1e100])
def test_thresholds_keep_their_value(threshold):
    text = measured("x", Tail("x", ">=", threshold))
    assert float(text.partition(" >= ")[2].partition(" THEN")[0]) == threshold


def test_powers_of_events_are_left_out():
    names = Names.of([Mean("x"), Tail("t", ">", 1.0)])
    texts = ['S("m1")', 'S("m2")', 'S("m1" * "m1")', 'S("m1" * "m2")', 'S("m1" * "m1" * "m1")']
    assert [text for text, _ in aggregates(names, "S")] == texts
    numbers = [name for _, name in aggregates(names, "S", numbered=True)]
    assert numbers == ["sum_1", "sum_2", "sum_1_1", "sum_1_2", "sum_1_1_1"]


def test_quotes_are_doubled():
    assert (quoted('a"b'), literal("it's")) == ('"a""b"', "'it''s'")
