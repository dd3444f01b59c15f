import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bestmix.problems.notation import WIDEST_LINE, Reader, marked, written_name, written_number

names = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).filter(lambda name: name.strip())
numbers = st.floats(-1e150, 1e150)


@given(names)
@example('say "p"')
@example("back\\slash")
@example("in")
@example("Share")
@example("3rd")
def test_a_name_is_read_as_it_was_written(name):
    reader = Reader("limit", written_name(name) + " <= 5")
    assert reader.name("a metric") == name
    assert reader.operator("<=") == "<="


@given(numbers, st.booleans())
@example(0.07, True)
@example(1e-300, True)
@example(5e-324, False)
@example(-0.0, False)
def test_a_number_is_read_as_it_was_written(value, percent):
    reader = Reader("limit", written_number(value, percent))
    assert reader.number() == value
    assert reader.at_end


@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5.0), ("5.", 5.0), (".5", 0.5), ("+5", 5.0), ("-5e-1", -0.5), ("1E3", 1000.0), ("7 %", 0.07), ("1e1%", 0.1)],
)
def test_numbers_may_be_written_in_many_ways(text, value):
    assert Reader("limit", text).number() == value


@pytest.mark.parametrize("text", ["", "five", "1.2.3", "5x", "1e", "--5", "1,000", "1e200", "٣", "1e99999", "nan"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ValueError, match="limit: expected a number"):
        read_all(text)


def read_all(text):
    reader = Reader("limit", text)
    reader.number()
    reader.finish("a number and no more")


@pytest.mark.parametrize("text", ['"open', "'open", '""', "' '", '"a\x1bb"', "5", "", "p", "in"])
def test_what_is_no_name_is_refused(text):
    with pytest.raises(ValueError, match="limit: expected"):
        Reader("limit", text).name("a metric")


def test_the_mark_stands_under_the_place_whatever_the_width_of_the_letters():
    assert marked("ab\tc", 3) == "  ab c\n     ^"
    assert marked("日本 x", 3) == "  日本 x\n       ^"
    line, mark = marked("x" * 500, 300).split("\n")
    assert len(line) <= WIDEST_LINE + 2
    assert mark.index("^") < len(line)


def test_quotes_of_either_kind_enclose_a_name():
    assert Reader("limit", "'time to first token'").name("a metric") == "time to first token"


def test_only_a_text_is_read():
    with pytest.raises(ValueError, match="limit: expected a text, got 5"):
        Reader("limit", 5)


def test_a_very_long_number_takes_no_time():
    with pytest.raises(ValueError, match="a number"):
        Reader("limit", "1" * 100_000 + "x").number()
