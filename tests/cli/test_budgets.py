import pytest

from bestmix import Spend
from bestmix.cli.budgets import parse_budget


def test_a_number_of_trials():
    assert parse_budget("2000") == 2000
    assert parse_budget(" 2_000 ") == 2000


def test_an_amount_with_its_prices(capsys):
    assert parse_budget("200 dollars", ["a=1", "b=0.5"]) == Spend(200.0, "dollars", prices={"a": 1.0, "b": 0.5})
    assert parse_budget("200 dollars", None, ["0.5"]) == Spend(200.0, "dollars", most=0.5)
    assert parse_budget("200 dollars", None, ["a=0.5", "b=2"]) == Spend(200.0, "dollars", most={"a": 0.5, "b": 2.0})
    assert "soft" not in capsys.readouterr().err


def test_a_soft_budget_says_so(capsys):
    assert parse_budget("3 hours") == Spend(3.0, "hours")
    assert "The budget of 3 hours is soft" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("many",), "budget: expected a number of trials, or an amount with its unit, got 'many'"),
        (("-3",), "--budget: expected at least one trial of each arm, got -3; raise it"),
        (("2.5",), "budget: expected a number of trials"),
        (("200", ["a=1"]), "--price and --most: only a budget such as '200 dollars' has prices"),
        (("9 dollars", ["a"]), "--price: expected name=number, as in small=0.01"),
        (("9 dollars", None, ["x"]), "--most: expected name=number"),
    ],
)
def test_other_budgets_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        parse_budget(*arguments)
