import pytest
from tests.strategies.rivals.kits import check_same
from tests.strategies.searches import drive, plain

from bestmix import Instance, simulate, solve
from bestmix.strategies.rivals import OCBA


def test_the_answer_is_the_best_arm_that_fits_alone():
    search = drive(OCBA().start(plain().problem, 600), plain(), seed=1)
    assert search.recommend(safety=None).support == ("arm0",)
    assert search.trials == 600


def test_the_kernel_decides_as_a_live_search():
    check_same(OCBA(), (5, 4, 1), budget=150)
    check_same(OCBA(), (4, 4, 0), budget=150)


def test_known_arms_alone_have_the_same_answer_live_and_simulated():
    """The best mix of both arms earns more; the best arm that fits alone is the answer."""
    instance = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], known=3)
    live = OCBA().start(instance.problem, 0).recommend(safety=None)
    found = simulate(instance, OCBA(), 0, runs=2)
    assert live.support == ("arm0",)
    assert found.regret == pytest.approx(solve(instance).value - 1.7)
