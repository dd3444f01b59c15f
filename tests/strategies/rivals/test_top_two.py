import numpy as np
import pytest
from tests.strategies.searches import drive, plain

from bestmix import Instance
from bestmix.kernels import conditions
from bestmix.strategies.challenger import SURE
from bestmix.strategies.rivals import TopTwo


def test_it_finds_a_clear_mix_and_stops():
    search = drive(TopTwo(confidence=0.9).start(plain().problem), plain(), seed=1)
    assert search.recommend().support == ("arm0", "arm1")


def test_half_of_the_trials_go_to_the_best_arm_without_limits():
    """Russo (2020): with beta 1/2 the leader's share tends to one half; here over 4 seeds, after an even tenth."""
    inst = Instance([1.0, 0.9, 0.6], sigma_reward=0.5)
    counts = [drive(TopTwo(seed=s).start(inst.problem, 600), inst, s).evidence.counts for s in range(4)]
    later = np.sum(counts, axis=0) - 4 * 20
    assert 0.4 < later[0] / later.sum() < 0.6


def test_runs_repeat_by_their_seed():
    counts = [drive(TopTwo(seed=s).start(plain().problem, 60), plain(), 3).evidence.counts for s in (1, 1, 2)]
    np.testing.assert_array_equal(counts[0], counts[1])
    assert (counts[0] != counts[2]).any()


def test_mistakes():
    with pytest.raises(ValueError, match="beta: expected a number between 0 and 1"):
        TopTwo(beta=1.0)
    with pytest.raises(ValueError, match="budget: expected the number of trials"):
        TopTwo().start(plain().problem)


def test_it_stops_by_the_newest_rule_of_challenger():
    assert TopTwo(confidence=0.95)._settings == conditions.Settings(0.1, 30, 1 - 0.95, 0.0, **SURE)
