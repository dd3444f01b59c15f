import pytest

from bestmix import Known, Problem, Spend, Uniform
from bestmix.problems.spend import SECONDS

PROBLEM = Problem(["small", "large"], {"dollars": 5.0})


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("200 dollars", 200.0, "dollars"),
        ("3 hours", 3.0, "hours"),
        (" 1e3  GPU hours ", 1000.0, "GPU hours"),
        ("1,234,567 EUR", 1234567.0, "EUR"),
    ],
)
def test_a_budget_is_written_as_an_amount_with_its_unit(text, amount, unit):
    found = Spend.parse(text)
    assert (found.amount, found.unit) == (amount, unit)
    assert Spend.parse(str(found)) == found


@pytest.mark.parametrize(
    "text", ["", "dollars", "x dollars", "200", "dollars 200", "-3 dollars", "0 dollars", "0,6 dollars", "1,5 dollars"]
)
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match=r"^budget: expected an? "):
        Spend.parse(text)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"amount": float("nan")}, "budget: expected a finite number"),
        ({"unit": " "}, "unit: expected non-empty strings"),
        ({"prices": {"a": -1.0}}, r"prices\['a'\]: expected an amount of at least 0"),
        ({"prices": 3.0}, "prices: expected a mapping of arm names"),
        ({"most": -1.0}, r"most\['each'\]: expected an amount of at least 0"),
        ({"prices": {"a": 1.0}, "most": 1.0}, "most: known prices say"),
    ],
)
def test_what_cannot_be_a_budget_is_refused(terms, message):
    with pytest.raises(ValueError, match=message):
        Spend(**{"amount": 9.0, "unit": "dollars"} | terms)


@pytest.mark.parametrize("terms", [{}, {"prices": {"small": 0.1, "large": 1.0}}, {"most": 2.0}, {"most": {"small": 1}}])
def test_plain_data_and_back(terms):
    spend = Spend(9.0, "dollars", **terms)
    assert Spend.from_dict(spend.to_dict()) == spend
    assert hash(Spend.from_dict(spend.to_dict())) == hash(spend)


@pytest.mark.parametrize("data", [3, {"amount": 9}, {"amount": 9, "unit": "dollars", "price": 3}])
def test_other_data_are_refused(data):
    with pytest.raises(ValueError, match="budget: expected"):
        Spend.from_dict(data)


def test_only_prices_or_the_most_of_a_trial_make_it_hard():
    assert not Spend(9.0, "dollars").hard
    assert Spend(9.0, "dollars", most=1.0).hard
    assert Spend(9.0, "dollars", prices={"small": 0.1, "large": 1.0}).hard


def test_a_metric_that_no_limit_is_about_is_told_on_top():
    assert Spend(9.0, "dollars").missing(PROBLEM) == ()
    assert Spend(9.0, "tokens").missing(PROBLEM) == ("tokens",)
    assert Spend(9.0, "tokens", prices={"small": 0.1, "large": 1.0}).missing(PROBLEM) == ()
    tail = Problem(["a"], limits=["p(seconds > 2) <= 5%"])
    assert tail.tracking(Spend(9.0, "seconds").missing(tail)).metrics == ("reward", "seconds")


def test_time_is_measured_unless_a_trial_tells_it():
    for unit in SECONDS:
        assert Spend(1.0, unit).timed(PROBLEM)
        assert Spend(1.0, unit).timed(PROBLEM.tracking([unit]))
        assert not Spend(1.0, unit).timed(Problem(["a"], {unit: 1.0}))
        assert not Spend(1.0, unit, prices={"small": 0.1, "large": 1.0}).timed(PROBLEM)
    assert not Spend(1.0, "seconds").timed(Problem(["a"], limits=["p(seconds > 2) <= 5%"]))


def test_every_arm_has_a_price():
    with pytest.raises(ValueError, match="prices: expected one value for each arm"):
        Spend(9.0, "dollars", prices={"small": 0.1}).check(PROBLEM)
    with pytest.raises(ValueError, match="most: expected one value for each arm"):
        Spend(9.0, "dollars", most={"small": 0.1, "other": 1.0}).check(PROBLEM)


def test_a_known_arm_needs_no_price():
    known = {"off": Known(0.0, {"dollars": 0.0})}
    problem = Problem(["small", "large"], {"dollars": 5.0}, known).tracking(["tokens"])
    assert problem.known_measures.tolist() == [[0.0, 0.0, 0.0]]
    assert Problem.from_dict(problem.to_dict()) == problem


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("90 min", "90 minutes"),
        ("3 Hour", "3 hours"),
        ("1 h", "1 hours"),
        ("9 sec", "9 seconds"),
        ("2 tokens", "2 tokens"),
    ],
)
def test_units_of_time_have_other_names_too(text, named):
    problem = Problem(["a", "b"])
    assert str(Spend.parse(text).named(problem)) == named
    search = Uniform().start(problem, Spend.parse(text))
    assert search.strategy.spend.unit == named.split()[1]
    search.extend(Spend.parse(f"100 {text.split()[1]}"))
    assert search.account.spend.amount == 100.0


def test_a_metric_of_the_problem_is_no_unit_of_time():
    problem = Problem(["a", "b"], {"h": 1.0})
    assert Uniform().start(problem, Spend(3.0, "h")).strategy.spend.unit == "h"
