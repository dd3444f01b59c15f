import pytest

from bestmix import SFSR, Challenger, SingleArm, Uniform
from bestmix.strategies.built_in import restore_strategy


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
    with pytest.raises(ValueError, match=r"strategy: Uniform has no such options, got \{'score': 'x'\}"):
        restore_strategy({"kind": "Uniform", "score": "x"})
    with pytest.raises(ValueError, match="expected a mapping"):
        restore_strategy("SFSR")
