import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.experiments.flows import ROUTER, row

from bestmix import Known, Problem, Traffic, checks, open_experiment
from bestmix.answers.moments import Moments
from bestmix.experiments.revision import Revision
from bestmix.experiments.traffic_sums import parse_key, parse_rows, place_of

GOOD = row(1, "small", np.array([[1.0, 0.5], [0.0, 0.25]]))


@pytest.mark.parametrize(
    ("key", "found"), [("web-1:12", ("web-1", 12)), ("a:b:3", ("a:b", 3)), ("web:0", ("web:0", 1)), ("x", ("x", 1))]
)
def test_a_key_names_the_edge_and_numbers_the_report(key, found):
    assert parse_key(key) == found


@pytest.mark.parametrize("key", ["", None, 5, "a\x00b", "x" * 300])
def test_a_key_is_a_text(key):
    with pytest.raises(checks.InvalidInput, match="key"):
        parse_key(key)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": 0}, "at least 1"),
        ({"n": 2.5}, "a whole number"),
        ({"version": 0}, "version"),
        ({"arm": "huge"}, "one of"),
        ({"segment": "free"}, "has no segments"),
        ({"sums": {"reward": 1.0}}, "1 missing"),
        ({"sums": {"reward": 1.0, "dollars": 1.0, "more": 2.0}}, "1 unknown"),
        ({"sums": {"reward": math.nan, "dollars": 1.0}}, "finite"),
        ({"sums": {"reward": "1", "dollars": 1.0}}, "a number"),
        ({"sums": {"reward": True, "dollars": 1.0}}, "a number"),
        ({"sums": [1.0, 2.0]}, "a mapping"),
        ({"sums": {"reward": 9.0, "dollars": 0.75}}, "squares of sums"),
        ({"products": {}}, "missing"),
        ({"more": 1}, "unknown entry 'more'"),
    ],
)
def test_rows_that_no_requests_have_are_refused(change, words):
    with pytest.raises(checks.InvalidInput, match=words):
        parse_rows(Revision.beginning(ROUTER), [GOOD | change])


@pytest.mark.parametrize("rows", [None, 5, GOOD, "rows", [5], [None], [{}]])
def test_a_report_is_a_list_of_rows(rows):
    with pytest.raises(checks.InvalidInput, match="rows"):
        parse_rows(Revision.beginning(ROUTER), rows)


def test_products_may_be_named_in_either_order_and_rows_are_added_up():
    turned = dict(GOOD["products"])
    turned["dollars*reward"] = turned.pop("reward*dollars")
    (found,) = parse_rows(Revision.beginning(ROUTER), [GOOD, GOOD | {"products": turned}])
    assert found.moments.count == 4
    assert found.moments.mean().tolist() == [0.5, 0.375]
    np.testing.assert_allclose(found.moments.scatter(), [[1.0, 0.25], [0.25, 0.0625]])


def test_of_known_arms_only_the_number_is_kept():
    problem = Problem(["a", "b"], {"dollars": 1.0}, {"off": Known(0.0, {"dollars": 0.0})}, segments=["free", "paid"])
    assert place_of(Revision.beginning(problem), "off", "paid") == 5
    (found,) = parse_rows(Revision.beginning(problem), [GOOD | {"arm": "off", "segment": "paid"}])
    assert (found.arm, found.moments) == (5, Moments(2, 2))


values = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(st.lists(values, min_size=1, max_size=8), st.floats(0.0, 1e9))
def test_sums_in_floats_of_any_requests_are_taken(rewards, offset):
    table = np.column_stack([np.array(rewards) * 1e-3 + offset, np.full(len(rewards), offset)])
    (found,) = parse_rows(Revision.beginning(ROUTER), [row(1, "small", table)])
    assert found.moments.count == len(rewards)
    assert (np.diag(found.moments.scatter()) >= 0.0).all()


@pytest.mark.parametrize("product", [1e10, -1e10, 1e100])
def test_products_that_would_make_a_correlation_beyond_1_are_refused(product):
    exp = open_experiment(
        "memory://", "t", Problem(["a", "b"], goal="maximise q", limits=["d <= 1"]), traffic=Traffic()
    )
    products = {"q*q": 35.0, "q*d": product, "d*d": 35.0}
    row = {"version": 1, "arm": "a", "n": 100, "sums": {"q": 50.0, "d": 50.0}, "products": products}
    with pytest.raises(ValueError, match=r"the sum of q\*d would make a correlation beyond 1"):
        exp.tell_sums([row], key="w:1")
    assert exp.tell_sums([row | {"products": products | {"q*d": 34.9999999}}], key="w:1").value == "counted"


def test_a_single_request_has_the_squares_of_its_sums():
    exp = open_experiment("memory://", "t", Problem(["a"], goal="maximise q", limits=["d <= 1"]), traffic=Traffic())
    products = {"q*q": 1.21, "q*d": 0.33, "d*d": 0.09}
    row = {"version": 1, "arm": "a", "n": 1, "sums": {"q": 1.1, "d": 0.3}, "products": products}
    with pytest.raises(ValueError, match=r"the sum of d\*d is not the square of d, of a single request"):
        exp.tell_sums([row | {"products": products | {"d*d": 50.0}}], key="w:1")
    assert exp.tell_sums([row], key="w:1").value == "counted"


def test_what_is_no_list_of_rows_is_told():
    exp = open_experiment("memory://", "t", Problem(["a", "b"]), traffic=Traffic())
    with pytest.raises(ValueError, match="rows: expected a list of rows, got 5"):
        exp.tell_sums(5, key="w:1")
