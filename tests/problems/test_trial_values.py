import numpy as np
import pytest

from bestmix import Challenger, Problem
from bestmix.problems.trial_values import cost_rows, named_rows


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"dollars": 1.0}, r"metrics: expected one value for each metric: .*1 missing \('quality'\)"),
        ({"dollars": 1.0, "quality": 1.0, "odd": 2.0}, r"metrics: .*1 unknown \('odd'\)"),
        ({"dollars": [1.0, 2.0], "quality": [1.0, 1.0, 0.0]}, "metrics: they differ in length"),
        ({"dollars": 1.0, "quality": float("nan")}, r"metrics\['quality'\]: .*finite"),
    ],
)
def test_metrics_that_are_missing_unknown_or_odd_are_refused(values, message):
    search = Challenger().start(Problem(["a", "b"], goal="minimise dollars", limits=["quality >= 0.5"]), 20)
    with pytest.raises(ValueError, match=message):
        search.tell("a", values)
    assert search.trials == 0


def test_one_value_serves_all_trials_and_names_may_come_in_any_order():
    expected = [[1.0, 0.2], [0.0, 0.2]]
    assert named_rows(["reward", "dollars"], {"dollars": 0.2, "reward": [1.0, 0.0]}).tolist() == expected
    assert named_rows(["reward"], {"reward": 1.0}).tolist() == [[1.0]]


TWO = ["dollars", "seconds"]
GIVEN = [
    (["dollars"], 0.5, 1, [[0.5]]),
    (["dollars"], [0.5, 0.6], 2, [[0.5], [0.6]]),
    (TWO, [0.5, 2.0], 1, [[0.5, 2.0]]),
    (TWO, [[0.5, 2.0], [0.6, 3.0]], 2, [[0.5, 2.0], [0.6, 3.0]]),
    (TWO, {"seconds": [2.0, 3.0], "dollars": 0.5}, 2, [[0.5, 2.0], [0.5, 3.0]]),
]


@pytest.mark.parametrize(("names", "costs", "rows", "expected"), GIVEN)
def test_costs_by_name_or_in_order(names, costs, rows, expected):
    np.testing.assert_array_equal(cost_rows(names, costs, rows), expected)


def test_without_costs_there_is_a_row_for_each_trial_all_the_same():
    assert cost_rows([], None, 3).shape == cost_rows([], {}, 3).shape == (3, 0)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (None, "costs: expected a value of 'dollars', 'seconds', got none; tell it beside the reward"),
        ({"dollars": 1.0}, r"costs: .*1 missing \('seconds'\)"),
        ({"dollars": 1.0, "seconds": [1.0]}, r"costs\['seconds'\]: expected shape \(2\)"),
        ([1.0, 2.0], r"costs: expected shape \(2, 2\)"),  # one trial's, or one cost's
        ([[1.0, 2.0], [3.0]], "costs: "),
    ],
)
def test_costs_that_do_not_fit_are_refused(costs, message):
    with pytest.raises(ValueError, match=message):
        cost_rows(TWO, costs, 2)
