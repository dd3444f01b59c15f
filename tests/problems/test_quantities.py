import numpy as np
import pytest

from bestmix.problems.notation import Reader
from bestmix.problems.quantities import Mean, Ratio, Share, Tail, read_quantity


@pytest.mark.parametrize("quantity", [Mean("a b"), Tail("p", "<=", -1e-9), Ratio("a", "b/c"), Share('the "best"')])
def test_a_quantity_is_read_as_it_was_written(quantity):
    reader = Reader("limit", str(quantity))
    assert read_quantity(reader) == quantity
    assert reader.at_end


@pytest.mark.parametrize(
    ("comparison", "expected"), [(">", [0, 0, 1]), (">=", [0, 1, 1]), ("<", [1, 0, 0]), ("<=", [1, 1, 0])]
)
def test_a_tail_is_one_where_the_metric_is_beyond_its_threshold(comparison, expected):
    assert Tail("s", comparison, 2.0).of({"s": np.array([1.0, 2.0, 3.0])}).tolist() == expected


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="over itself"):
        Ratio("a", "a")
    with pytest.raises(ValueError, match="comparison: expected one of"):
        Tail("s", "!=", 2.0)
    with pytest.raises(ValueError, match="non-empty"):
        Mean(" ")
    with pytest.raises(ValueError, match="finite"):
        Tail("s", ">", float("nan"))
