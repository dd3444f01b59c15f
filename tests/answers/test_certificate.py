import math

import numpy as np
import pytest
from scipy.special import stdtrit
from tests.answers.estimates import drawn, made

from bestmix.answers import certificate, safety
from bestmix.problems.solution import solve_means


def test_regret_bound_is_the_least_over_prices():
    data, bound = drawn("A2", 100, 3)
    guess = solve_means(data.means, bound)
    found = certificate.regret_bound(data, guess.mixture, bound, 0.02, guess.dual)
    grid = [
        certificate.priced(data, guess.mixture, bound, 0.02, np.array([lam]))[0].max()
        for lam in np.linspace(0, 3, 3001)
    ]
    assert found == pytest.approx(min(grid), rel=0.02)
    # convex: no grid point lies above the line between its neighbours
    assert (np.diff(grid, 2) >= -1e-9).all()


def test_regret_without_costs_is_the_gap_to_the_best_rival():
    data = made([[1.0], [0.8]], 1.0, 100)
    t = -stdtrit(104, 0.05)
    found = certificate.regret_bound(data, np.array([1.0, 0.0]), np.empty(0), 0.05, np.empty(0))
    assert found == pytest.approx(max(0.0, -0.2 + t * math.sqrt(0.02)), rel=1e-6)


def test_the_gain_is_over_the_best_arm_that_is_safe_alone():
    data = made([[1.0, 0.2], [3.0, 1.8], [1.2, 0.99]], [[0.1, 0.1]], 100)
    found = safety.safe_mix(data, np.array([1.0]), 0.9)
    proof = certificate.certify(data, found.mixture, np.array([1.0]), 0.9, np.array([1.25]))
    assert proof.single == 0
    assert proof.gain_interval[0] < proof.gain < proof.gain_interval[1]
    assert proof.value - proof.value_interval[0] > proof.value_interval[1] - proof.value  # overrated, if anything


def test_rewards_of_one_only_leave_the_next_trial_open():
    """Ten successes of each of two arms do not say that no other mix earns more; ten prices of 1.5 do."""
    counts, none = np.full(2, 10.0), np.zeros((2, 1, 1))
    ones = safety.estimates(np.ones((2, 1)), none, counts, np.ones((2, 1), dtype=np.bool_))
    prices = safety.estimates(np.full((2, 1), 1.5), none, counts)
    found, exact = (
        certificate.regret_bound(data, np.array([1.0, 0.0]), np.empty(0), 0.05, np.empty(0)) for data in (ones, prices)
    )
    assert 0.1 < found < 0.4
    assert exact == 0.0
