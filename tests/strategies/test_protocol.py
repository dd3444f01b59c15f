import numpy as np
import pytest

from bestmix import SFSR, Challenger, Problem, SingleArm, Uniform, catalog
from bestmix.strategies.protocol import (
    Compiled,
    Extendable,
    Replicable,
    Scored,
    Strategy,
    check_budget,
    check_strategy,
    extended,
)

ALL = [SFSR(), SFSR("lagrangian"), Uniform(), SingleArm(), Challenger()]
each = pytest.mark.parametrize("strategy", ALL, ids=lambda s: s.name)


@each
def test_the_strategies_of_this_package_have_what_they_say(strategy):
    assert isinstance(strategy, Strategy)
    assert isinstance(strategy, Replicable)
    assert isinstance(strategy, Extendable) == (strategy.name in ("USLP", "Challenger"))
    assert isinstance(strategy, Scored) == strategy.name.startswith("SFSR")
    run = strategy.replicator(catalog.load("D1P"), 500)
    assert isinstance(run, Compiled)
    assert run.compiled


def test_a_score_in_plain_python_is_not_compiled():
    run = SFSR(lambda mu, u, e: np.where(e > 0, mu, 1e9)).replicator(catalog.load("D1P"), 500)
    assert not run.compiled


@pytest.mark.parametrize("wrong", [SFSR, "SFSR", None, 3, object()])
def test_what_is_no_strategy_is_refused(wrong):
    with pytest.raises(ValueError, match="strategy: expected a strategy such as"):
        check_strategy(wrong)


def test_a_strategy_that_cannot_be_extended_says_so():
    with pytest.raises(ValueError, match="SFSR lays out its rounds from the budget at the start"):
        extended(SFSR(), Problem(["a"]), 10, 20, {})


def test_a_budget_that_is_too_small_is_refused():
    with pytest.raises(ValueError, match="budget: expected at least 3 trials for 2 unknown arms, got 2"):
        check_budget(Problem(["a", "b"]), 2, least=3)
