from tests.strategies.searches import drive, plain

from bestmix.strategies.rivals import LAGEX
from bestmix.strategies.search import Search


def test_it_finds_a_clear_mix_and_stops():
    search = drive(LAGEX(growth=0.3).start(plain().problem, 3000), plain(), seed=1)
    assert search.recommend().support == ("arm0", "arm1")
    assert search.trials < 3000


def test_it_goes_on_from_a_saved_search():
    search = LAGEX(growth=0.3, proven=True).start(plain().problem, 500)
    for arm in plain().arms:
        search.tell(arm, [1.0, 1.1, 0.9, 1.0, 1.2], [[0.5], [0.6], [0.4], [0.5], [0.7]])
    other = Search.from_json(search.to_json())
    assert other.ask() == search.ask() != {}
    assert drive(other, plain(), 2).trials == drive(search, plain(), 2).trials
