from tests.strategies.rivals.kits import check_same
from tests.strategies.searches import drive, plain

from bestmix.strategies.rivals import OCBA


def test_the_answer_is_the_best_arm_that_fits_alone():
    search = drive(OCBA().start(plain().problem, 600), plain(), seed=1)
    assert search.recommend(safety=None).support == ("arm0",)
    assert search.trials == 600


def test_the_kernel_decides_as_a_live_search():
    check_same(OCBA(), (5, 4, 1), budget=150)
    check_same(OCBA(), (4, 4, 0), budget=150)
