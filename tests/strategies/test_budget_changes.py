"""A budget of money, its arms and their prices change while a search goes on."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from bestmix import Challenger, Problem, Search, Spend, Uniform, identify
from bestmix.problems.changes import Wish
from bestmix.strategies.budget_changes import totals

PROBLEM = Problem(["small", "large"], {"seconds": 3.0})
PRICES = {"small": 1.0, "large": 4.0, "tiny": 0.25, "huge": 7.0}
STRATEGIES = [Challenger(rounds=6), Uniform()]


def known(arms):
    return {arm: PRICES[arm] for arm in arms}


def trial(arm):
    return {"reward": PRICES[arm] ** 0.5, "seconds": PRICES[arm] / 2, "dollars": PRICES[arm]}


def tell(search, most=10**6):
    """Make up to so many trials of what is owed."""
    while most > 0 and (owed := search.ask()):
        arm, count = next(iter(owed.items()))
        made = min(count, most, 5)
        metrics = [name for name in search.problem.metrics if name in trial(arm)]
        search.tell(
            arm,
            {name: [trial(arm)[name] + 0.01 * (i % 3) * (name != "dollars") for i in range(made)] for name in metrics},
        )
        most -= made
    return search


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
def test_arms_come_and_go_and_the_amount_with_them(strategy, tmp_path):
    search = tell(strategy.start(PROBLEM, Spend(60.0, "dollars", prices=known(PROBLEM.arms))), 22)
    spent = search.account.spent
    search.change(arms=["small", "tiny"], prices={"tiny": 0.25}, budget=Spend(50.0, "dollars"))
    assert search.account.spent == spent
    assert search.account.spend == Spend(50.0, "dollars", known(["small", "tiny"]))
    (noted,) = search.changes
    assert noted["text"] == "tiny is new; large is retired; a budget of 50 dollars instead of 60 dollars"
    search.save(tmp_path / "s.json")
    assert Search.load(tmp_path / "s.json").to_dict() == search.to_dict()
    again = tell(Search.load(tmp_path / "s.json"))
    assert again.recommend().to_json() == tell(search).recommend().to_json()
    assert 50.0 - 1.0 < search.account.spent <= 50.0 * (1 + 1e-9)
    search.change(arms=["small", "large", "tiny"])  # it comes back with its trials and its price
    assert search.account.spent == pytest.approx(float(search.evidence.counts @ [1.0, 4.0, 0.25]))


@given(data=some.data())
@settings(max_examples=15, deadline=None)
def test_a_hard_budget_is_kept_through_any_changes(data):
    strategy = data.draw(some.sampled_from(STRATEGIES))
    by_price = data.draw(some.booleans())
    spend = Spend(60.0, "dollars", **({"prices": known(PROBLEM.arms)} if by_price else {"most": known(PROBLEM.arms)}))
    search = strategy.start(PROBLEM, spend)
    for _ in range(data.draw(some.integers(1, 5))):
        tell(search, data.draw(some.integers(0, 30)))
        arms = data.draw(some.lists(some.sampled_from([*PRICES]), min_size=1, unique=True))
        amount = Spend(data.draw(some.floats(20.0, 90.0)), "dollars")
        spent, kept = search.account.spent, search.to_dict()
        try:
            search.change(arms=arms, budget=amount, **{"prices" if by_price else "most": known(arms)})
        except ValueError:  # more is spent already, or nothing is left for an arm
            assert search.to_dict() == kept
        else:
            assert search.account.spend.amount == amount.amount
            assert search.problem.arms == tuple(arms)
        assert search.account.spent == pytest.approx(spent)
        search = Search.from_json(search.to_json())
    tell(search)
    assert search.done
    assert search.account.spent <= search.account.spend.amount * (1 + 1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
@pytest.mark.parametrize("made", [0, 7])
def test_more_and_less_again_is_as_if_nothing_had_happened(strategy, made):
    def start():
        return tell(strategy.start(PROBLEM, Spend(60.0, "dollars", prices=known(PROBLEM.arms))), made)

    plain, search = start(), start()
    search.change(budget=Spend(90.0, "dollars"))
    search.change(budget=Spend(60.0, "dollars"))
    search.change(limits=["share(small) <= 90%"])
    search.change(limits=[])
    first, other = tell(plain).recommend(), tell(search).recommend()
    assert other.account == first.account
    assert other.support == first.support


def test_the_search_of_a_checkpoint_goes_on_with_the_arms_that_it_has_now(tmp_path):
    file = tmp_path / "s.json"
    search = tell(Challenger().start(PROBLEM, Spend(60.0, "dollars", prices=known(PROBLEM.arms))), 9)
    search.change(arms=["small", "tiny"], prices={"tiny": 0.25})
    search.save(file)
    new = Problem(["small", "tiny"], {"seconds": 3.0})

    def pull(arm):
        return {name: value for name, value in trial(arm).items() if name != "dollars"}

    rec = identify(new, pull, Spend(60.0, "dollars", prices=known(new.arms)), checkpoint=file)
    assert rec.trials > search.trials
    assert 59.0 < rec.account.spent <= 60.0
    with pytest.raises(ValueError, match="strategy: the search was saved with"):
        identify(new, pull, Spend(60.0, "dollars", prices={"small": 1.0, "tiny": 9.0}), checkpoint=file)


def test_a_run_that_has_little_left_is_saved_and_loaded(tmp_path):
    search = tell(Challenger().start(PROBLEM, Spend(60.0, "dollars", prices=known(PROBLEM.arms))))
    search.change(budget=Spend(search.account.spent + 0.25, "dollars"))
    search.change(arms=["small", "large", "tiny"], prices={"tiny": 0.25})
    search = tell(search)
    search.change(arms=["large", "tiny"])
    search.change(limits=["share(tiny) <= 50%"])
    assert Search.from_json(search.to_json()).to_dict() == search.to_dict()
    few = tell(Uniform().start(PROBLEM, 20), 3)
    few.change(budget=1)
    assert Search.from_json(few.to_json()).to_dict() == few.to_dict()


def test_totals_say_what_a_wish_makes_of_a_budget():
    found = totals(Uniform(), {}, 20, PROBLEM, Wish(budget=30))
    assert (found.same, found.grows, found.shrinks, found.trials) == (False, True, False, 30)
    search = Uniform().start(PROBLEM, Spend(9.0, "dollars"))
    found = totals(search.strategy, search.memory, search.budget, PROBLEM, Wish(budget=Spend(8.0, "dollars")))
    assert (found.grows, found.shrinks, found.memory["amount"]) == (False, True, 8.0)
