import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestmix.client.edge_choices import Choice, EdgeError, Measure, Place, Sums, add_up, add_up_some, sign, verify

QUALITY, LATE = Measure("quality", "quality"), Measure("p(s > 2)", "s", ">", 2.0)
names = st.text(min_size=1, max_size=20).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text))


@given(st.integers(1, 2**53), st.none() | names, names, st.binary(min_size=1, max_size=8))
def test_an_id_says_which_choice_it_is_to_whoever_has_the_secret(version, segment, arm, secret):
    place = Place(version, segment, arm)
    assert verify(secret, sign(secret, place)) == place
    with pytest.raises(EdgeError, match="with this token"):
        verify(secret + b"x", sign(secret, place))


@pytest.mark.parametrize("wrong", ["", "1.-.YQ", "1.-.YQ.x", None, 5, "1.-.YQ.x.y", "x" * 20_000, "é.-.YQ.x"])
def test_what_is_no_id_is_refused(wrong):
    with pytest.raises(EdgeError, match="expected the id of a choice"):
        verify(b"secret", wrong)


def test_an_id_that_was_changed_is_refused():
    good = sign(b"secret", Place(1, None, "small"))
    other = sign(b"secret", Place(1, None, "large"))
    with pytest.raises(EdgeError):
        verify(b"secret", ".".join([*good.split(".")[:3], other.split(".")[3]]))


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 10)), min_size=1, max_size=30))
def test_sums_of_a_batch_are_rounded_once(values):
    found = add_up([QUALITY, LATE], [{"quality": q, "s": s} for q, s in values])
    late = [float(s > 2.0) for _, s in values]
    assert found.count == len(values)
    assert found.sums == [math.fsum(q for q, _ in values), sum(late)]
    assert found.products[0] == math.fsum(q * q for q, _ in values)
    assert found.products[2] == sum(late)


@pytest.mark.parametrize("row", [{}, {"quality": None}, {"quality": "1"}, {"quality": math.nan}, {"quality": 1e200}, 5])
def test_what_cannot_be_added_up_is_left_out_alone(row):
    rows = [{"quality": 1.0}, row, {"quality": 2.0}]
    with pytest.raises((ArithmeticError, LookupError, TypeError, ValueError)):
        add_up([QUALITY], rows)
    found, wrong = add_up_some([QUALITY], rows)
    assert (found.count, found.sums, found.products) == (2, [3.0], [5.0])
    assert wrong


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        ([{"quality": 1.0}, {"quality": 1.0, "s": math.inf}], "'s' is missing"),
        ([{"quality": math.nan, "s": 1.0}, {"quality": 2.0}], "'quality' is nan, 's' is missing"),
        ([{"quality": 1e200, "s": 1.0}, None], "'quality' is 1e+200, None has no metrics by name"),
        ([{"quality": None, "s": "x"}], "'quality' is None"),
        ([{"quality": 1.0, "s": "x"}], "'s' is 'x'"),
    ],
)
def test_of_what_cannot_be_added_up_the_metric_is_named(rows, wrong):
    assert add_up_some([QUALITY, LATE], rows)[1] == wrong


class Detached:
    """Nothing can be shown of it."""

    def __repr__(self):
        raise RuntimeError("detached")


class Row:
    """No mapping, but it has values by name."""

    def __getitem__(self, name):
        return {"quality": "x", "s": 1.0}[name]


def test_what_cannot_be_shown_loses_nothing_else():
    found, wrong = add_up_some([QUALITY], [{"quality": 1.0}, {"quality": Detached()}, {"quality": 2.0}])
    assert (found.count, wrong) == (2, "'quality' is Detached")
    assert add_up_some([QUALITY], [Detached()])[1] == "Detached has no metrics by name"
    assert add_up_some([QUALITY, LATE], [Row()])[1] == "'quality' is 'x'"


def test_a_choice_says_what_it_is():
    choice = Choice(Place(3, "free", "small"), "id", 2)
    assert repr(choice) == "Choice('small', version=3, segment='free')"
    assert choice.place == Place(3, "free", "small")
    assert Sums(2).products == [0.0] * 3
