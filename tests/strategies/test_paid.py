import json

import numpy as np
import pytest
from tests import naive
from tests.strategies.searches import drive, plain

from bestmix import SFSR, Challenger, Problem, Search, SingleArm, Spend, Uniform, identify, simulate, tradeoff
from bestmix.pages.report import save_report
from bestmix.strategies.paid import Paid

PRICES = {"arm0": 1.0, "arm1": 9.0, "arm2": 0.25}
STRATEGIES = [
    Uniform(),
    SFSR(),
    SFSR("lagrangian"),
    Challenger(),
    Challenger(confidence=0.9),
    Challenger(margin_share=0.3),
    Challenger(confidence=0.9, tolerance=0.2),
]
names = [strategy.name for strategy in STRATEGIES]


def paying(instance, seed, spread=1.0):
    """A function for a trial, which costs an exponential amount, and what was spent."""
    rng, bill = np.random.default_rng(seed), []

    def pull(arm):
        row = instance.draw(instance.arms.index(arm), 1, rng)[0]
        bill.append(PRICES[arm] * (1 - spread + spread * min(rng.exponential(), 5.0)))
        return {"reward": row[0], "cost0": row[1], "dollars": bill[-1]}

    return pull, bill


@pytest.fixture
def instance():
    found = plain()
    assert found.problem.metrics == ("reward", "cost0")
    return found


@pytest.mark.parametrize("strategy", STRATEGIES, ids=names)
def test_known_prices_make_a_hard_budget(instance, strategy):
    search = drive(strategy.start(instance.problem, Spend(400.0, "dollars", prices=PRICES)), instance, 3)
    account = search.account
    assert search.done
    assert account.spent == pytest.approx(float(search.evidence.counts @ list(PRICES.values())))
    assert account.spent <= 400.0 * (1 + 1e-9)
    if strategy.name not in ("Challenger[0.9]", "Challenger[0.9, within 0.2]"):
        assert account.left < max(PRICES.values())
    assert search.recommend().support == ("arm0", "arm1")


@pytest.mark.parametrize("strategy", STRATEGIES, ids=names)
@pytest.mark.parametrize("seed", range(2))
def test_with_the_most_of_a_trial_a_budget_is_never_exceeded(instance, strategy, seed):
    pull, bill = paying(instance, seed)
    rec = identify(instance.problem, pull, Spend(300.0, "dollars", most=45.0), strategy)
    assert sum(bill) == pytest.approx(rec.account.spent)
    assert sum(bill) <= 300.0
    if strategy.name not in ("Challenger[0.9]", "Challenger[0.9, within 0.2]"):
        assert sum(bill) > 300.0 - 45.0
    assert "soft" not in str(rec)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=names)
def test_a_soft_budget_is_hardly_exceeded_and_says_so(instance, strategy):
    over = []
    for seed in range(2):
        pull, bill = paying(instance, seed)
        rec = identify(instance.problem, pull, Spend(400.0, "dollars"), strategy)
        over.append(sum(bill) / 400.0)
        assert "the budget is soft" in str(rec)
        assert "soft" in rec._repr_html_()
    assert max(over) < 1.25


def test_a_mean_near_zero_does_not_buy_a_whole_round():
    free = iter([0.0, 0.0, 0.0])
    counts = []

    def pull(arm):
        counts.append(arm)
        return {"reward": 1.0 + (arm == "a"), "dollars": next(free, 10.0) if arm == "a" else 1.0}

    rec = identify(Problem(["a", "b"]), pull, Spend(1000.0, "dollars"), Uniform())
    assert rec.account.spent < 1100.0
    assert rec.history[1].pulls["a"] <= 3


def test_dear_arms_get_fewer_trials(instance):
    aware = drive(Challenger().start(instance.problem, Spend(2000.0, "dollars", prices=PRICES)), instance, 1)
    even = dict.fromkeys(PRICES, 1.0)
    blind = drive(Challenger().start(instance.problem, Spend(2000.0, "dollars", prices=even)), instance, 1)
    share = [search.evidence.counts[1] / search.trials for search in (aware, blind)]
    assert share[0] < share[1]


def test_uniform_follows_the_root_rule(instance):
    search = Uniform().start(instance.problem, Spend(400.0, "dollars", prices=PRICES))
    assert list(search.ask().values()) == naive.root_trials(400.0, list(PRICES.values()))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=names)
def test_a_search_goes_on_from_its_file_as_if_nothing_had_happened(instance, strategy):
    budget = Spend(300.0, "dollars", prices=PRICES)
    whole = drive(strategy.start(instance.problem, budget), instance, 5)
    rng = np.random.default_rng(5)
    search = strategy.start(instance.problem, budget)
    while owed := search.ask():
        for arm, count in owed.items():
            rows = instance.draw(instance.arms.index(arm), count, rng)
            for row in rows:
                search.tell(arm, row[0], row[1:])
        search = Search.from_json(search.to_json())
    assert search.recommend().to_json() == whole.recommend().to_json()
    assert isinstance(search.strategy, Paid)


def test_a_checkpoint_goes_on_with_more_money(instance, tmp_path):
    file = tmp_path / "search.json"
    pull, bill = paying(instance, 1)
    identify(instance.problem, pull, Spend(150.0, "dollars", most=45.0), checkpoint=file)
    first = len(bill)
    rec = identify(instance.problem, pull, Spend(300.0, "dollars", most=45.0), checkpoint=file)
    assert rec.trials == len(bill) > first
    assert rec.account.spend.amount == 300.0
    assert 255.0 < sum(bill) <= 300.0
    again = identify(instance.problem, pull, Spend(300.0, "dollars", most=45.0), checkpoint=file)
    assert again.to_json() == rec.to_json()
    with pytest.raises(ValueError, match="budget: expected at least the present 300 dollars, got 200 dollars"):
        identify(instance.problem, pull, Spend(200.0, "dollars", most=45.0), checkpoint=file)


@pytest.mark.parametrize("strategy", [Uniform(), Challenger()], ids=["USLP", "Challenger"])
def test_more_money_goes_on(instance, strategy):
    search = drive(strategy.start(instance.problem, Spend(100.0, "dollars", prices=PRICES)), instance, 2)
    rounds = len(search.history)
    search.extend(Spend(200.0, "dollars", prices=PRICES))
    assert not search.done
    drive(search, instance, 3)
    assert 200.0 - 9.0 < search.account.spent <= 200.0 * (1 + 1e-9)
    assert len(search.history) > rounds
    assert all(round_.pulls for round_ in search.history)


def test_another_bound_leaves_the_money_as_it_is(instance):
    search = drive(Challenger().start(instance.problem, Spend(100.0, "dollars", prices=PRICES)), instance, 2)
    spent = search.account.spent
    search.change(bounds={"cost0": 0.9})
    assert search.account.spend.amount == 100.0
    assert search.account.spent == spent
    assert search.done


def test_what_cannot_be_raised_says_so(instance):
    search = Uniform().start(instance.problem, Spend(100.0, "dollars", prices=PRICES))
    with pytest.raises(ValueError, match="one in dollars"):
        search.extend(500)
    with pytest.raises(ValueError, match="one in dollars"):
        search.extend(Spend(500.0, "tokens"))
    with pytest.raises(ValueError, match="one in trials"):
        Uniform().start(instance.problem, 10).extend(Spend(500.0, "tokens"))
    with pytest.raises(ValueError, match="SFSR lays out its rounds"):
        SFSR().start(instance.problem, Spend(100.0, "dollars", prices=PRICES)).extend(Spend(500.0, "dollars"))


def test_a_pilot_is_paid_for_already(instance):
    log = {"arm": ["arm0"] * 9, "reward": [1.0, 2.0, 1.5] * 3, "cost0": [0.1, 0.2, 0.3] * 3, "dollars": [10.0] * 9}
    search = Uniform().start(instance.problem, Spend(200.0, "dollars", most=45.0))
    search.start_from(log)
    assert search.account.spent == 0.0
    assert search.account.left == 200.0
    assert search.ask().keys() == {"arm1", "arm2"}
    pull, bill = paying(instance, 1)
    while owed := search.ask():
        for arm, count in owed.items():
            for _ in range(count):
                search.tell(arm, pull(arm))
    assert search.account.spent == pytest.approx(sum(bill))
    assert 155.0 < sum(bill) <= 200.0


@pytest.mark.parametrize(
    ("strategy", "problem", "spend", "message"),
    [
        (Uniform(), plain().problem, Spend(5.0, "dollars", prices=PRICES), "budget: expected at least 10.25 dollars"),
        (Uniform(), plain().problem, Spend(5.0, "dollars", most=3.0), "budget: expected at least 9 dollars"),
        (Uniform(), plain().problem, Spend(5.0, "dollars", prices={"a": 3.0}), "prices: expected one value for each"),
        (SingleArm(), plain().problem, Spend(5.0, "dollars"), "single arm has no rule for a budget of money"),
        (Uniform(), Problem(["a"], segments=["x", "y"]), Spend(5.0, "dollars"), "where users arrive"),
    ],
)
def test_what_cannot_be_is_refused(strategy, problem, spend, message):
    with pytest.raises(ValueError, match=message):
        strategy.start(problem, spend)


def test_users_who_arrive_decide_what_a_round_costs():
    search = Uniform().start(Problem(["a", "b"], segments={"x": 0.5, "y": 0.5}), Spend(9.0, "dollars", most=1.0))
    with pytest.raises(ValueError, match="where users arrive"):
        search.ask(segment="x")


def test_a_trial_cannot_earn_money(instance):
    search = Uniform().start(instance.problem, Spend(100.0, "dollars"))
    with pytest.raises(ValueError, match="dollars: expected what the trial has cost, at least 0, got -1"):
        search.tell("arm0", {"reward": 1.0, "cost0": 0.1, "dollars": -1.0})
    with pytest.raises(ValueError, match="dollars"):
        search.tell("arm0", {"reward": 1.0, "cost0": 0.1})


def test_a_bounded_cost_can_be_what_is_spent(instance):
    rec = identify(instance.problem, instance_sampler(instance), Spend(300.0, "cost0"), Challenger())
    assert rec.account.spend.unit == "cost0"
    assert 250.0 < rec.account.spent < 350.0


def instance_sampler(instance):
    rng = np.random.default_rng(1)

    def pull(arm):
        row = instance.draw(instance.arms.index(arm), 1, rng)[0]
        return row[0], [abs(row[1])]

    return pull


def test_segments_have_prices_too():
    problem = Problem(["a", "b"], {"cost": 1.0}, segments={"x": 0.5, "y": 0.5})
    rng = np.random.default_rng(0)

    def pull(arm, segment):
        return {"reward": (arm == "a") + rng.normal(), "cost": (arm == "a") * 1.5 + 0.1 * rng.normal()}

    for strategy in (Challenger(), Uniform(), SFSR("lagrangian")):
        rec = identify(problem, pull, Spend(300.0, "dollars", prices={"a": 4.0, "b": 1.0}), strategy)
        assert 296.0 < rec.account.spent <= 300.0 * (1 + 1e-9)
        assert set(rec.account.prices) == set(problem.trial_names)


def test_simulated_runs_spend_money(instance):
    cell = simulate(instance, Challenger(), Spend(400.0, "dollars", prices=PRICES), runs=4, seed=1)
    assert cell.runs == 4
    assert cell.errors <= 1
    assert cell.budget == 400.0
    again = simulate(instance, Challenger(), Spend(400.0, "dollars", prices=PRICES), runs=4, seed=1)
    assert (again.outcomes.pulls == cell.outcomes.pulls).all()
    with pytest.raises(ValueError, match="no trial tells its tokens; give prices"):
        simulate(instance, Challenger(), Spend(400.0, "tokens"), runs=20)


def test_a_price_that_no_limit_is_about_is_in_nobodys_way(instance, tmp_path):
    pull, _ = paying(instance, 2)
    rec = identify(instance.problem, pull, Spend(150.0, "dollars", most=45.0), Uniform())
    assert rec.problem.metrics == ("reward", "cost0", "dollars")
    assert list(rec.problem.bounds) == list(rec.slack) == ["cost0"]
    assert tradeoff(rec, "cost0").sentences()
    page = save_report(rec, tmp_path / "r.html").read_text()
    assert "of 150 dollars spent" in page
    assert rec.policy().weights == dict(rec.mixture)


def test_plain_data_of_a_recommendation_tell_the_money(instance):
    search = drive(Uniform().start(instance.problem, Spend(100.0, "dollars", prices=PRICES)), instance, 2)
    data = json.loads(search.recommend().to_json())
    assert data["budget"] is None
    assert data["account"]["budget"]["unit"] == "dollars"
    assert type(search.recommend()).from_dict(data).account == search.account
