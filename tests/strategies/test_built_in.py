import pytest

from bestmix import SFSR, Challenger, Problem, Search, SingleArm, Spend, Uniform
from bestmix.strategies.built_in import as_saved, restore_strategy
from bestmix.strategies.challenger import NEWEST
from bestmix.strategies.paid import Paid
from bestmix.strategies.rivals import TopTwo


@pytest.mark.parametrize(
    "strategy", [SFSR(), SFSR("lagrangian"), Uniform(), SingleArm(), Challenger(confidence=0.9)], ids=lambda s: s.name
)
def test_what_to_dict_described_is_made_again(strategy):
    assert restore_strategy(strategy.to_dict()) == strategy


@pytest.mark.parametrize("kind", ["Search", "Strategy", "search", "rounds", "__doc__", "Magic", "", None, 3, ["SFSR"]])
def test_only_names_of_strategies_are_taken(kind):
    with pytest.raises(ValueError, match="strategy: expected one of 'SFSR', 'Challenger', 'SingleArm', 'Uniform'"):
        restore_strategy({"kind": kind})


def test_options_that_a_strategy_does_not_have_are_refused():
    with pytest.raises(ValueError, match=r"strategy: Challenger has no such options, got \{'bogus': 1\};"):
        restore_strategy({"kind": "Challenger", "bogus": 1})
    with pytest.raises(ValueError, match=r"strategy: Uniform has no such options, got \{'score': 'x'\}"):
        restore_strategy({"kind": "Uniform", "score": "x"})
    with pytest.raises(ValueError, match="expected a mapping"):
        restore_strategy("SFSR")


OLD = {
    "kind": "Challenger",
    "confidence": 0.9,
    "delta": None,
    "heuristic_stop": None,
    "rounds": None,
    "first_share": 0.1,
}


def test_data_without_an_edition_mean_the_first_and_a_new_run_has_the_newest():
    assert restore_strategy(OLD) == Challenger(0.9, edition=1)
    assert restore_strategy(OLD).to_dict() == OLD
    assert restore_strategy(OLD, edition=NEWEST) == Challenger(0.9)
    proven = {"proven": True, "sigma": 1.0}
    for options in ({"tolerance": 0.1}, proven, proven | {"tolerance": 0.1}):
        assert restore_strategy(Challenger(0.9, **options).to_dict()) == Challenger(0.9, **options)
    spend = Spend(9.0, "dollars")
    bought = {"kind": "Paid", "strategy": OLD, "spend": spend.to_dict()}
    assert [restore_strategy(bought, n).strategy.edition for n in (1, NEWEST)] == [1, NEWEST]


def test_a_fixed_budget_that_was_begun_with_the_first_edition_goes_on_by_it():
    old = OLD | {"confidence": None}
    assert restore_strategy(old) == Challenger(edition=1) == as_saved(Challenger(), old)
    assert restore_strategy(old).to_dict() == old
    assert restore_strategy(old, edition=NEWEST) == restore_strategy(Challenger().to_dict()) == Challenger()
    heuristic = old | {"heuristic_stop": 0.1}
    assert restore_strategy(heuristic).to_dict() == heuristic == Challenger(heuristic_stop=0.1, edition=1).to_dict()


def test_whoever_names_no_edition_goes_on_with_the_saved_one():
    assert as_saved(Challenger(0.9), OLD).to_dict() == OLD
    assert as_saved(Challenger(0.9, edition=1), Challenger(0.9).to_dict()).edition == 1
    assert as_saved(Challenger(0.9), Challenger(0.9).to_dict()) == Challenger(0.9)
    spend = Spend(9.0, "dollars")
    for found in (Paid(Challenger(0.9), spend), Challenger(0.9)):
        again = as_saved(found, {"kind": "Paid", "strategy": OLD, "spend": spend.to_dict()})
        assert getattr(again, "strategy", again).edition == 1
    assert as_saved(Uniform(), OLD) == Uniform()


def test_a_saved_search_is_loaded_with_the_strategy_that_it_was_begun_with(tmp_path):
    problem = Problem(["a", "b"], {"x": 1.0})
    Challenger(0.9, edition=1).start(problem).save(tmp_path / "old.json")
    assert Search.load(tmp_path / "old.json").strategy.edition == 1
    assert Search.load(tmp_path / "old.json", Challenger(0.9)).strategy.edition == 1
    with pytest.raises(ValueError, match="the search was saved with"):
        Search.load(tmp_path / "old.json", Challenger(0.95))


def test_top_two_is_restored():
    assert restore_strategy(TopTwo(confidence=0.9).to_dict()) == TopTwo(confidence=0.9)
    assert restore_strategy({"kind": "TopTwo", "beta": 0.5, "confidence": 0.9, "seed": 0}) == TopTwo(confidence=0.9)
