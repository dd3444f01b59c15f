import pytest

from bestmix import Spend
from bestmix.answers.account import Account


def test_what_is_left_and_what_is_over():
    assert str(Account(Spend(20.0, "dollars"), 5.0, {})) == "5 of 20 dollars spent, 15 left"
    assert str(Account(Spend(20.0, "dollars"), 21.5, {})) == "21.5 of 20 dollars spent, 1.5 over"
    assert not Account(Spend(20.0, "dollars"), 20.0 * (1 + 1e-13), {}).overspent


def test_only_a_soft_budget_is_called_so():
    assert "soft" in Account(Spend(20.0, "dollars"), 5.0, {}).sentence()
    assert "soft" not in Account(Spend(20.0, "dollars", most=1.0), 5.0, {}).sentence()


def test_plain_data_and_back():
    account = Account(Spend(20.0, "dollars", most={"a": 2.0}), 5.0, {"a": 1.5})
    assert Account.from_dict(account.to_dict()) == account
    assert account.to_dict()["left"] == 15.0


def test_a_hard_budget_is_exceeded_only_by_a_trial_that_cost_more_than_it_could():
    assert Account(Spend(0.3, "dollars", most=0.05), 0.41, {}).sentence() == (
        "0.41 of 0.3 dollars spent, 0.11 over: a trial cost more than the most that was given."
    )
    with pytest.raises(ValueError, match="most: expected more than 0, got 0"):
        Spend(0.3, "dollars", most=0)


def test_what_is_left_over_where_trials_cost_next_to_nothing():
    account = Account(Spend(50.0, "dollars"), 48.94, {"tiny": 0.0, "large": 0.015})
    told = account.sentence()
    assert "the budget is soft, and its last or first round may exceed it. " in told
    assert told.endswith("A trial that costs nothing counts as a millionth of the budget, 5e-05 dollars: one of tiny.")
    assert "millionth" not in Account(Spend(50.0, "dollars"), 50.1, {"tiny": 0.0}).sentence()
    assert "millionth" not in Account(Spend(50.0, "dollars"), 48.94, {"tiny": 0.00003}).sentence()  # as it is
