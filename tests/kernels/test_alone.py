import numpy as np
import pytest

from bestmix.kernels import alone


def test_shares_are_those_of_ocba_without_limits():
    """Chen and others (2000): N_i / N_j = (s_i / d_i)^2 / (s_j / d_j)^2, and N_b = s_b sqrt(sum_i (N_i / s_i)^2)."""
    means, variance = np.array([[1.0], [0.5], [0.0]]), np.array([[1.0], [4.0], [0.25]])
    share = np.empty(3)
    alone.rate_shares(means, variance, np.empty(0), share)
    assert share[1] / share[2] == pytest.approx((4.0 / 0.5**2) / (0.25 / 1.0**2))
    assert share[0] == pytest.approx(np.sqrt(share[1] ** 2 / 4.0 + share[2] ** 2 / 0.25))
    assert share.sum() == pytest.approx(1)


def test_two_arms_share_by_their_deviations():
    share = np.empty(2)
    alone.rate_shares(np.array([[1.0], [0.0]]), np.array([[9.0], [1.0]]), np.empty(0), share)
    assert share == pytest.approx([0.75, 0.25])


def test_a_deceiver_is_told_by_its_excess_and_a_poor_one_by_both():
    means = np.array([[1.0, 0.0], [2.0, 1.5], [0.0, 1.5]])
    share = np.empty(3)
    alone.rate_shares(means, np.ones((3, 2)), np.array([1.0]), share)
    assert share[1] / share[2] == pytest.approx((1.0 + 0.25) / 0.25)


def test_the_best_arm_has_enough_to_tell_that_it_fits():
    means, share = np.array([[1.0, 0.9], [0.0, 0.0]]), np.empty(2)
    alone.rate_shares(means, np.ones((2, 2)), np.array([1.0]), share)
    assert share[0] / share[1] == pytest.approx((1 / 0.1**2) / 1.0)


def test_one_arm_alone_has_all_trials():
    share = np.empty(1)
    alone.rate_shares(np.array([[1.0]]), np.array([[1.0]]), np.empty(0), share)
    assert share.tolist() == [1.0]


def test_trials_go_to_those_that_are_behind():
    owed = np.empty(3, dtype=np.int64)
    alone.catch_up(np.array([0.5, 0.3, 0.2]), np.array([50, 0, 20]), 30, owed)
    assert owed.tolist() == [0, 30, 0]
    alone.catch_up(np.array([0.5, 0.3, 0.2]), np.array([10, 10, 10]), 70, owed)
    assert owed.tolist() == [40, 20, 10]


def test_the_leader_is_feasible_where_any_arm_is():
    sigma, arms = np.ones(2), np.arange(3)
    means = np.array([[1.0, 0.5], [9.0, 1.1], [2.0, 0.9]])
    assert alone.leader(means, np.array([1.0]), sigma, arms) == 2
    assert alone.leader(means, np.array([0.1]), sigma, arms) == 0


def test_one_arm_is_always_rejected_and_never_the_leader():
    rng = np.random.default_rng(0)
    for _ in range(50):
        means, score = rng.normal(size=(4, 3)), np.empty(4)
        loser = alone.reject(alone.GAP, means, np.zeros(2), np.ones(3), np.arange(4), score)
        assert loser == np.argmin(score) != alone.leader(means, np.zeros(2), np.ones(3), np.arange(4))
