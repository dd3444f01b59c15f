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


def test_the_worked_example_of_the_book_on_ocba():
    """Chen and Lee (2010), five designs to minimise, 100 more trials: 48, 38, 11, 2 and 1 there.

    It rounds down and gives the rest to the best one, where the largest remainders get it here.
    """
    means, variance = -np.array([[1.2], [2.1], [3.4], [4.87], [6.05]]), np.array([[3.3], [2.0], [4.5], [5.3], [6.9]])
    share, counts, owed = np.empty(5), np.array([12, 6, 5, 5, 4]), np.empty(5, dtype=np.int64)
    alone.rate_shares(means, variance, np.empty(0), share)
    alone.catch_up(share, counts, 100, owed)
    assert owed.sum() == 100
    assert np.abs(owed - [48, 38, 11, 2, 1]).max() <= 1


def least_rate(share, means, variance, bound):
    """The smallest of the rates at which wrong choices die out; arm 0 is the best."""
    kept = (share[0] * (bound - means[0, 1:]) ** 2 / (2 * variance[0, 1:])).min(initial=np.inf)
    worse, over = np.maximum(means[0, 0] - means[1:, 0], 0.0), np.maximum(means[1:, 1:] - bound, 0.0)
    told = worse**2 / (2 * (variance[0, 0] / share[0] + variance[1:, 0] / share[1:]))
    return min(kept, (told + share[1:] * (over**2 / (2 * variance[1:, 1:])).sum(axis=1)).min())


@pytest.mark.parametrize("arms", [20, 200])
def test_arms_that_violate_a_bound_are_less_to_tell_the_best_from(arms):
    """All others alike, worse by one and in violation: the best split in two is near the one that is found."""
    means = np.vstack([[1.0, -9.0], np.tile([0.0, 1.0 + np.sqrt(3.0)], (arms, 1))])
    variance, bound, share = np.ones_like(means), np.array([1.0]), np.empty(arms + 1)
    alone.rate_shares(means, variance, bound, share)
    splits = [np.r_[first, np.full(arms, (1 - first) / arms)] for first in np.geomspace(1e-4, 0.5, 2000)]
    best = max(least_rate(split, means, variance, bound) for split in splits)
    assert least_rate(share, means, variance, bound) > 0.99 * best


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
