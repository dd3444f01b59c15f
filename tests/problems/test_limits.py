import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.problems.test_notation import names, numbers

from bestmix.problems.limits import RELATIONS, Limit
from bestmix.problems.quantities import COMPARISONS, Mean, Ratio, Share, Tail

CANONICAL = [
    "dollars <= 5",
    "quality >= 0.9",
    "quality = 0.9",
    "share(large) <= 40%",
    "share(small) >= 10%",
    "p(seconds > 2) <= 5%",
    "p(seconds >= 2) <= 0.01%",
    "p(score < 1) <= 5%",
    "complaints / visits <= 1%",
    "dollars / call <= 2.5",
    "seconds <= 1.1 * seconds(small)",
    "seconds <= seconds(small)",
    "quality >= 0.95 * quality(gpt-4o:mini)",
    "dollars <= 0.002 in free",
    "share(large) <= 20% in free",
    "seconds <= 1.1 * seconds(small) in free",
    "dollars <= 1e-9",
    "dollars <= -5",
    '"time to first token" <= 2',
    '"say \\"p\\"" <= 2 in "the \\\\ others"',
    '"share" <= 2',
    '"p" <= 3 * "p"("in") in "in"',
    '"3" / "4" = 5',
]

means = st.builds(Mean, names)
tails = st.builds(Tail, names, st.sampled_from(list(COMPARISONS)), numbers)
ratios = st.tuples(names, names).filter(lambda pair: pair[0] != pair[1]).map(lambda pair: Ratio(*pair))
relations, segments = st.sampled_from(RELATIONS), st.none() | names
limits = st.one_of(
    st.builds(Limit, means, relations, numbers, st.none() | names, segments),
    st.builds(Limit, ratios, relations, numbers, st.none(), segments),
    st.builds(Limit, tails | st.builds(Share, names), relations, st.floats(0.0, 1.0), st.none(), segments),
)


@given(limits)
@settings(max_examples=500)
def test_what_a_limit_prints_parses_to_an_equal_limit(limit):
    text = str(limit)
    assert Limit.parse(text) == limit
    assert str(Limit.parse(text)) == text


@pytest.mark.parametrize("text", CANONICAL)
def test_canonical_text_is_kept(text):
    assert str(Limit.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("  dollars≤5  ", "dollars <= 5"),
        ("quality≥90%", "quality >= 0.9"),
        ("quality == .9", "quality = 0.9"),
        ("P( seconds>2 )<=0.05", "p(seconds > 2) <= 5%"),
        ("Share('large') <= 4e-1", "share(large) <= 40%"),
        ("complaints/visits<=0.01", "complaints / visits <= 1%"),
        ("seconds <= 110%*seconds(small)", "seconds <= 1.1 * seconds(small)"),
        ("seconds <= 1 * seconds(small)", "seconds <= seconds(small)"),
        ("dollars <= 5 IN free", "dollars <= 5 in free"),
        ("'dollars' <= 5", "dollars <= 5"),
    ],
)
def test_other_spellings_of_a_limit(text, canonical):
    assert str(Limit.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "expected", "place"),
    [
        ("", "the name of a metric", 0),
        ("5 <= dollars", "the name of a metric", 0),
        ("dollars", "<=, >= or =", 7),
        ("dollars < 5", "<=, >= or =", 8),
        ("dollars <= ", "a number", 11),
        ("dollars <= five", "a number or dollars(arm)", 11),
        ("dollars <= 5 free", "'in' and a segment", 13),
        ("dollars <= 5 in", "the name of a segment", 15),
        ("dollars <= 5 in in", "the name of a segment", 16),
        ("dollars <= 5 in free and paid", "the end", 21),
        ("share <= 40%", "( after share", 6),
        ("share() <= 40%", "the name of an arm", 6),
        ("share(large <= 40%", ")", 12),
        ("share(large) <= 40", "from 0% to 100%", 16),
        ("share(large) <= share(small)", "a number", 16),
        ("p(seconds) <= 5%", ">, >=, < or <=", 9),
        ("p(seconds > slow) <= 5%", "a number", 12),
        ("p(seconds > 2) <= 105%", "from 0% to 100%", 18),
        ("complaints / <= 1%", "a metric to divide by", 13),
        ("visits / visits <= 1%", "another metric", 9),
        ("seconds <= 1.1 * dollars(small)", "seconds(arm)", 17),
        ("seconds <= 1.1 * seconds", "(", 24),
        ("seconds <= seconds(small", ")", 24),
        ("p(seconds > 2) <= 2 * seconds(small)", "a number", 22),
        ("time to first token <= 2", "<=, >= or =", 5),
        ('"time <= 2', "a second quotation mark", 0),
        ("dollars <= 1e400", "a number up to", 11),
    ],
)
def test_an_error_marks_the_place_and_names_what_was_expected(text, expected, place):
    with pytest.raises(ValueError) as caught:
        Limit.parse(text)
    first, line, mark = str(caught.value).split("\n")
    assert first.startswith("limit: expected ")
    assert expected in first
    assert line == "  " + text
    assert mark == "  " + " " * place + "^"


pieces = st.sampled_from([*"()<>=≤≥*/\"'\\% .-5e", " in ", "share", "p", "a", "1.5", "<=", ">="])


@given(st.text() | st.lists(pieces).map("".join))
@settings(max_examples=2000)
def test_any_text_is_a_limit_or_a_sentence(text):
    result = parsed(text)
    if isinstance(result, Limit):
        assert Limit.parse(str(result)) == result
    else:
        first, _, mark = str(result).split("\n")
        assert first.startswith("limit: expected ")
        assert mark.strip() == "^"


def parsed(text):
    try:
        return Limit.parse(text)
    except ValueError as error:
        return error


def test_only_a_text_is_parsed():
    with pytest.raises(ValueError, match="limit: expected a text, got None"):
        Limit.parse(None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("dollars", "<=", 5.0), "expected a Mean"),
        ((Mean("dollars"), "<", 5.0), "relation: expected one of"),
        ((Mean("dollars"), "<=", float("inf")), "finite"),
        ((Mean("dollars"), "<=", "5"), "bound: expected a"),
        ((Share("large"), "<=", 40.0), "from 0% to 100%"),
        ((Share("large"), "<=", 0.4, "small"), "relative to 'small'"),
        ((Mean("dollars"), "<=", 5.0, None, ""), "segment"),
    ],
)
def test_a_limit_that_no_text_describes_cannot_be_built(arguments, message):
    with pytest.raises(ValueError, match=message):
        Limit(*arguments)


ROWS = {name: np.random.default_rng(k).uniform(0.5, 3.0, 400) for k, name in enumerate("xyz")}


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("x <= 1.9", lambda x, y: x.mean() <= 1.9),
        ("x >= 1.9", lambda x, y: x.mean() >= 1.9),
        ("p(x > 2) <= 40%", lambda x, y: (x > 2).mean() <= 0.4),
        ("p(x <= 2) >= 60%", lambda x, y: (x <= 2).mean() >= 0.6),
        ("x / y <= 1.02", lambda x, y: x.mean() / y.mean() <= 1.02),
        ("x / y >= 1.02", lambda x, y: x.mean() / y.mean() >= 1.02),
    ],
)
def test_a_limit_is_kept_when_the_mean_of_its_metric_is_at_most_the_right_side(text, held):
    limit, seen = Limit.parse(text), set()
    for first in range(0, 400, 20):
        rows = {name: values[first : first + 20] for name, values in ROWS.items()}
        kept = limit.derive(rows).mean() <= limit.right_side
        assert kept == held(rows["x"], rows["y"])
        seen.add(bool(kept))
    assert seen == {True, False}


@pytest.mark.parametrize("text", ["x <= 1.1 * x(small)", "x >= 1.1 * x(small)"])
def test_a_relative_limit_multiplies_the_mean_of_the_arm_of_reference(text):
    limit = Limit.parse(text)
    x, small = ROWS["x"].mean(), ROWS["y"].mean()
    right_side = limit.right_side + limit.factor * limit.derive({"x": ROWS["y"]}).mean()
    assert (limit.derive(ROWS).mean() <= right_side) == (
        x <= 1.1 * small if limit.relation == "<=" else x >= 1.1 * small
    )
    assert (limit.factor, limit.arm) == (1.1, "small")


@pytest.mark.parametrize("text", ["x <= 5", "x >= 5", "x = 5", "p(x > 2) >= 5%", "x / y <= 3%", "x / y >= 3"])
def test_the_metric_of_a_limit_is_linear_in_its_columns(text):
    limit = Limit.parse(text)
    columns = [Mean("z"), Mean("y"), Tail("x", ">", 2.0), Mean("x")]
    values = np.array([column.of(ROWS) for column in columns])
    np.testing.assert_array_equal(limit.coefficients(columns) @ values, limit.derive(ROWS))


def test_what_a_limit_reads():
    assert Limit.parse("complaints / visits <= 1%").metrics == ("complaints", "visits")
    assert Limit.parse("p(seconds > 2) <= 1%").metrics == ("seconds",)
    share = Limit.parse("share(large) >= 40%")
    assert (share.on_share, share.metrics, share.columns, share.right_side) == (True, (), (), -0.4)
    assert not Limit.parse("dollars <= 5").on_share
    assert Limit.parse("dollars = 5").equality
    with pytest.raises(ValueError, match="concerns shares"):
        share.derive(ROWS)


def test_a_missing_metric_is_a_sentence():
    limit = Limit.parse("x / visits <= 1%")
    with pytest.raises(ValueError, match=r"'x / visits <= 1%' divides by the metric 'visits', got 'x', 'y', 'z'; tell"):
        limit.derive(ROWS)
    with pytest.raises(ValueError, match="divides by the metric 'visits', got 'x'"):
        limit.coefficients([Mean("x")])
    with pytest.raises(ValueError, match="reads the metric 'x', got no metrics"):
        limit.derive({})


def test_unknown_arms_and_segments_are_a_sentence():
    with pytest.raises(ValueError, match="names the arm 'huge', expected one of 'small', 'large'"):
        Limit.parse("x <= x(huge)").check(["small", "large"], [])
    with pytest.raises(ValueError, match="names the segment 'free', expected no segment"):
        Limit.parse("x <= 5 in free").check(["small"], [])
    Limit.parse("share(small) <= 50% in free").check(["small"], ["free", "paid"])
