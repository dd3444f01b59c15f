import math

import numpy as np
import pandas
import pytest

from bestmix.answers.logs.columns import NotANumber, Slice, Values, places


def test_labels_are_what_python_writes_and_the_missing_have_none():
    labels = Values([1, 1.0, True, "1", None, float("nan"), "", pandas.NA]).labels()
    assert labels.names == ("1", "1.0", "True")
    assert labels.codes.tolist() == [0, 1, 2, 0, -1, -1, -1, -1]


def test_numbers_are_what_python_reads():
    texts = ["1.5", " 2 ", "1e-400", "-0", "1_000", "infinity", "nan", "", "None", "FALSE", 10**20, np.float32(0.1)]
    expected = [1.5, 2.0, 0.0, -0.0, 1000.0, math.inf, math.nan, math.nan, math.nan, 0.0, 1e20, float(np.float32(0.1))]
    np.testing.assert_array_equal(Values(texts).numbers(), expected)


@pytest.mark.parametrize("value", ["high", "1,5", "yes", [1.0], 10**400, 1j])
def test_what_is_no_number_is_told_with_its_place(value):
    with pytest.raises(NotANumber) as told:
        Values([1.0, value]).numbers()
    assert (told.value.place, told.value.value) == (1, value)


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.uint8, np.bool_, object])
def test_a_slice_of_an_array_is_read_as_its_objects_are(kind):
    array = np.array([0, 1, 1, 7]).astype(kind)
    np.testing.assert_array_equal(Slice(array).numbers(), Values(list(array)).numbers())
    assert Slice(array).labels().names == Values(list(array)).labels().names


def test_a_column_is_found_by_its_name_first_and_then_without_spaces():
    assert places([" x", "x", "y "], ["x", "y"]) == ["x", "y "]
    with pytest.raises(ValueError, match=r"log: there are two columns named 'x'"):
        places([" x", "x "], ["x"])
    with pytest.raises(ValueError, match=r"log: there is no column 'z'; the columns are \['x'\]"):
        places(["x"], ["z"])


@pytest.mark.parametrize("nested", [["a"], {"name": "a"}])
def test_a_list_is_no_name(nested):
    with pytest.raises(ValueError, match=r"log: expected a text or a number for a name, got .*; write one"):
        Values(["a", nested]).labels()
    assert Values(["[a]", "{b}"]).labels().names == ("[a]", "{b}")
