"""Items: every arm meets each of them once before any comes again, in one order or in one of its own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestmix import Items
from bestmix.problems.items import as_items, check_chosen_trials


@given(st.integers(1, 60), st.integers(0, 2**62), st.booleans())
def test_an_arm_meets_every_item_once_and_then_all_again_in_the_same_order(number, seed, shared):
    items = Items(number, shared, seed)
    first, second = ([items.at(place, "a") for place in range(start, start + number)] for start in (0, number))
    assert sorted(first) == list(range(number))
    assert second == first
    assert [items.place(item, "a") for item in first] == list(range(number))


def test_arms_share_one_order_or_have_their_own():
    orders = {shared: [[Items(50, shared).at(i, arm) for i in range(50)] for arm in "ab"] for shared in (True, False)}
    assert orders[True][0] == orders[True][1]
    assert orders[False][0] != orders[False][1]
    assert orders[True][0] != [Items(50, seed=1).at(i, "a") for i in range(50)]


def test_the_order_of_a_seed_never_changes():
    """Made by the first version that had items: an experiment goes on with it."""
    assert [Items(8, seed=3).at(i, "a") for i in range(8)] == [6, 5, 0, 2, 1, 3, 4, 7]
    assert [Items(8, shared=False, seed=3).at(i, "a") for i in range(8)] == [6, 3, 7, 2, 0, 5, 1, 4]


def test_names_and_numbers():
    named, numbered = Items(np.array(["x", "y"])), Items(np.int64(2))
    assert (named.names, named.name(1), named.index("y")) == (("x", "y"), "y", 1)
    assert (numbered.names, numbered.name(1), numbered.index(1)) == (None, 1, 1)
    assert Items.from_dict(named.to_dict()) == named
    assert Items.from_dict(numbered.to_dict()) == numbered


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (0, "items: expected a whole number of at least 1, got 0"),
        (True, "items: expected a list of texts, or how many"),
        ("prompts.txt", "items: expected a list of texts, or how many"),
        ([], "got 0 items"),
        (["a", "b", "a"], "'a' stands twice"),
        ([{"text": "a"}], r"give how many items there are, len\(...\)"),
        (["a", " "], "expected texts of up to"),
        (["a\x00"], "cannot be stored"),
    ],
)
def test_what_is_no_list_of_items_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        Items(given)


def test_an_item_that_there_is_not_is_refused():
    for items, item in ((Items(["x"]), "y"), (Items(["x"]), 0), (Items(3), "x")):
        with pytest.raises(ValueError, match="item: expected one of the"):
            items.index(item)
    with pytest.raises(ValueError, match="item: expected"):
        Items(3).index(3)


def test_items_as_users_give_them():
    assert as_items(None) is None
    assert as_items(["x"]) == Items(["x"])
    assert as_items(Items(4, seed=2), shared=False) == Items(4, shared=False, seed=2)


def test_users_who_arrive_bring_their_own():
    with pytest.raises(ValueError, match="bring items of their own"):
        check_chosen_trials({"free": None})
