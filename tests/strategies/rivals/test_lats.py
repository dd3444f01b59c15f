from tests.strategies.searches import drive, plain

from bestmix.strategies.rivals import LATS


def test_it_finds_a_clear_mix_and_stops():
    search = drive(LATS(growth=0.3).start(plain().problem, 3000), plain(), seed=1)
    assert search.recommend().support == ("arm0", "arm1")
    assert search.trials < 3000


def test_the_proven_threshold_takes_more_trials():
    few, many = (
        drive(LATS(growth=0.3, proven=proven).start(plain().problem, 3000), plain(), seed=1).trials
        for proven in (False, True)
    )
    assert many > few


def test_a_tolerance_takes_fewer_trials():
    """Definition (6) of Das and Basu: answers that are nearly as good need not be told apart."""
    exact, loose = (
        drive(LATS(growth=0.1, tolerance=r, proven=True).start(plain().problem, 5000), plain(), seed=1).trials
        for r in (0.0, 0.5)
    )
    assert loose < exact
