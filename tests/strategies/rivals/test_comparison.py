import numpy as np

from bestmix import Instance, catalog
from bestmix.strategies.built_in import restore_strategy
from bestmix.strategies.rivals import comparison


def test_every_one_has_a_name_of_its_own_and_can_be_restored():
    strategies = comparison.with_budget(catalog.load("D2P")) + comparison.with_confidence(0.9)
    assert len({s.name for s in strategies}) == len(strategies) == 15
    assert all(restore_strategy(s.to_dict()) == s for s in strategies)


def test_a_pacer_needs_positive_bounds():
    names = [s.name for s in comparison.with_budget(Instance([1.0, 2.0], [[-1.0, 1.0]], [0.0]))]
    assert "paced Thompson" not in names


def test_runs_at_the_cap_were_cut_off():
    assert comparison.cut_off(np.array([100, 99, 100, 40]), 100) == 0.5
    assert comparison.middle([10, 20, 40, 80]) == 40


def test_noise_scales():
    assert comparison.noise_scales(Instance([1.0, 2.0], sigma_reward=0.3)) == (0.3, 1.0)
