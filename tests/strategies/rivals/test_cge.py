import pytest
from tests.strategies.searches import drive, plain

from bestmix import Problem
from bestmix.strategies.rivals import CGE


def test_it_finds_a_clear_mix_and_stops():
    search = drive(CGE(growth=0.3).start(plain().problem, 3000), plain(), seed=1)
    assert search.recommend().support == ("arm0", "arm1")
    assert search.trials < 3000


def test_limits_beyond_the_paper_are_refused():
    with pytest.raises(ValueError, match="CGE knows one segment"):
        CGE().start(Problem(["a", "b"], limits=["share(a) <= 40%"]))
