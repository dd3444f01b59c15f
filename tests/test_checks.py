import pickle
from pathlib import Path

import numpy as np
import pytest

from bestmix import checks
from bestmix.checks import AlreadyExists, InvalidInput, Missing


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.int64(3), np.array(3.0), True + 2])
def test_numbers_of_any_type_are_taken(value):
    result = checks.number("x", value)
    assert type(result) is float
    assert result == 3.0


@pytest.mark.parametrize(
    "value",
    [None, "a", "3", [], [1.0], {}, 1j, np.nan, np.inf, -np.inf, 1e151, pytest.param(10**400, id="1e400")],
)
def test_what_is_no_finite_number_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"^size\b"):
        checks.number("size", value)


@pytest.mark.parametrize("value", [5, 5.0, np.int32(5), np.float64(5)])
def test_whole_numbers_of_any_type_are_taken(value):
    result = checks.whole("n", value, 1, "give one")
    assert type(result) is int
    assert result == 5


@pytest.mark.parametrize("value", [0, -3, 2.5, np.nan, np.inf, "5", None, True, [5], 1j])
def test_what_is_no_whole_number_is_refused_with_the_remedy(value):
    with pytest.raises(ValueError, match=r"^n: expected a whole number of at least 1, got .*; give one$"):
        checks.whole("n", value, 1, "give one")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("abc", "list of arm names, got the string 'abc'"),
        (5, "list of arm names, got 5"),
        (["a", "a"], "'a' is listed twice"),
        (["a", ""], "non-empty strings, got ''"),
        (["a", "  "], "non-empty strings, got ' '"),
        (["a", 3], "non-empty strings, got 3"),
        ([None], "non-empty strings, got None"),
    ],
)
def test_names_are_distinct_strings(values, message):
    with pytest.raises(ValueError, match=f"^arms: .*{message}"):
        checks.names("arms", values, "arm")
    assert checks.names("arms", (n for n in "ab"), "arm") == ("a", "b")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], r"expected shape \(any, 2\), which is \(rows, two\), got shape \(2,\)"),
        ([[1.0]], r"got shape \(1, 1\)"),
        ([[1.0, 2.0], [3.0]], "expected numbers in the shape"),
        ("text", "expected numbers in the shape .*'text'"),
        ([["1", "2"]], "expected numbers"),
        ([[1.0, np.nan]], r"got nan at index \(0, 1\)"),
        ([[1.0, 2.0], [-np.inf, 1.0]], r"got -inf at index \(1, 0\)"),
        ([[1.0, 1e160]], "cannot be squared"),
        (None, "expected"),
        ([[1.0, 2j]], "expected numbers"),
    ],
)
def test_arrays_are_finite_numbers_in_the_shape_wanted(values, message):
    with pytest.raises(ValueError, match=f"^table: .*{message}"):
        checks.array("table", values, (None, 2), "(rows, two)")


def test_arrays_are_copies_that_cannot_be_written():
    mine = np.ones((1, 2))
    result = checks.array("table", mine, (None, 2), "(rows, two)")
    mine[0, 0] = 5.0
    assert result[0, 0] == 1.0
    with pytest.raises(ValueError, match=r"read-only"):
        result[0, 0] = 2.0


def test_long_values_are_shown_short_and_on_one_line():
    assert checks.shown("x\ny") == r"'x\ny'"
    assert len(checks.shown(list(range(1000)))) == 80
    assert "\n" not in checks.shown(np.eye(3))


def test_choices_and_mappings():
    assert checks.choice("mode", "fast", ["fast", "slow"]) == "fast"
    for bad in ("Fast", None, ["fast"]):
        with pytest.raises(ValueError, match=r"^mode: expected one of 'fast', 'slow', got"):
            checks.choice("mode", bad, ["fast", "slow"])
    with pytest.raises(ValueError, match=r"^bounds: expected a mapping of names, got \[1\]; give a dict"):
        checks.mapping("bounds", [1], "of names")


@pytest.mark.parametrize(
    ("given", "message"),
    [(["a"], "1 missing .'b'."), (["a", "b", "z"], "1 unknown .'z'."), ([], "2 missing .'a', 'b'.")],
)
def test_every_wanted_name_is_given_and_no_other(given, message):
    with pytest.raises(ValueError, match=f"^costs: expected one value for each cost: 'a', 'b'; got {message}"):
        checks.same_names("costs", given, ["a", "b"], "cost")
    checks.same_names("costs", ["b", "a"], ["a", "b"], "cost")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (InvalidInput("n", expected="one", got=0, remedy="give it"), "n: expected one, got 0; give it"),
        (InvalidInput("n", expected="one", got=()), "n: expected one, got ()"),
        (InvalidInput("n", expected="one"), "n: expected one"),
        (InvalidInput("n", "it is odd", "choose another"), "n: it is odd; choose another"),
        (InvalidInput(Path("a.csv"), "it is empty"), "a.csv: it is empty"),
        (InvalidInput(None, "it is odd"), "it is odd"),
        (Missing("n", "it is odd").with_remedy("look again"), "n: it is odd; look again"),
        (InvalidInput("n", expected="one", got=0, remedy="x").with_remedy("y"), "n: expected one, got 0; y"),
    ],
)
def test_a_sentence_is_made_from_the_fields_and_both_travel_between_processes(error, sentence):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), sentence, vars(error))
    assert str(error) == sentence
    assert repr(error) == f"{type(error).__name__}({sentence!r})"


def test_errors_are_told_apart_by_class_and_code():
    assert [kind("n", "x").code for kind in (InvalidInput, AlreadyExists, Missing)] == [
        "invalid",
        "conflict",
        "not_found",
    ]
    quoted = AlreadyExists.quoted("name: it is there", "conflict", "name")
    assert (str(quoted), quoted.code, quoted.field) == ("name: it is there", "conflict", "name")


@pytest.mark.parametrize(
    "call",
    [
        lambda: checks.number("x", "a"),
        lambda: checks.whole("x", 0, 1, "give one"),
        lambda: checks.choice("x", "a", ["b"]),
        lambda: checks.names("x", "abc", "arm"),
        lambda: checks.array("x", "abc", (None,), "(n,)"),
        lambda: checks.mapping("x", 5, "of names"),
        lambda: checks.same_names("x", ["a"], ["b"], "arm"),
    ],
)
def test_every_check_names_the_field(call):
    with pytest.raises(InvalidInput) as caught:
        call()
    assert caught.value.field == "x"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, ünïcode 漢字 and\xa0spaces", "plain text, ünïcode 漢字 and\xa0spaces"),
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("left\u202eright\u2066", "left\\u202eright\\u2066"),
        ("zero\u200bwidth\u2028", "zero\\u200bwidth\\u2028"),
        ("two\nlines\ttab\r", "two\nlines\\ttab\\r"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_hides_or_acts_on_a_screen_is_written_out(text, shown):
    assert checks.visible(text) == shown
    assert checks.visible(shown) == shown


HIDDEN = ["\x1b", "\x07", "\x9b", "\u200b", "\u202e", "\u2066", "\u200f", "\u2028", "\ufeff", "\u00ad", "\u3164"]


@pytest.mark.parametrize("letter", HIDDEN, ids=ascii)
def test_what_nobody_sees_is_found_and_shown(letter):
    for text in (letter, f"a{letter}b", f"é{letter}"):
        assert checks.hidden(text)
        assert checks.visible(text) == text.replace(letter, letter.encode("unicode_escape").decode())


@pytest.mark.parametrize(
    "text", ["a", "naïve", "模型", "می\u200cخواهم", "👩\u200d🔬", "❤\ufe0f", "1\ufe0f\u20e3", "क\u094d\u200dष"]
)
def test_scripts_and_pictures_are_left_as_they_are(text):
    assert not checks.hidden(text)
    assert checks.visible(text) == text


@pytest.mark.parametrize("text", ["a\u200db", "\u200d", "é\u200d", "a\ufe0f"])
def test_joiners_that_join_nothing_are_found(text):
    assert checks.hidden(text)


def test_a_whole_number_beyond_all_floats_is_refused():
    with pytest.raises(checks.InvalidInput, match="numbers in the shape"):
        checks.array("reward", [10**400], (1,), "(trials,)")


def test_names_that_differ_by_spaces_alone_would_be_one_in_a_file():
    with pytest.raises(ValueError, match="'a ' is listed twice"):
        checks.names("arms", ["a", "a "], "arm")


@pytest.mark.parametrize(
    ("value", "number"), [(0.7, 0.7), (" 70 % ", 0.7), ("99.9%", 0.999), ("-1%", -0.01), ("1e1%", 0.1), ("7", 7.0)]
)
def test_a_fraction_may_be_a_percentage(value, number):
    assert checks.fraction(value) == number


@pytest.mark.parametrize("value", ["%", "x%", "5%%", "1e999999999%", None, True, [0.5]])
def test_what_is_no_fraction_is_nan(value):
    assert not checks.fraction(value) < np.inf
