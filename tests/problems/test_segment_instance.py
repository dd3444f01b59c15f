import numpy as np
import pytest
from scipy.optimize import linprog

from bestmix.kernels.layout import new_layout
from bestmix.problems.noise import Gaussian
from bestmix.problems.segment_families import random_segments
from bestmix.problems.segment_instance import SegmentInstance


def test_the_truth_is_the_optimum():
    for seed in range(3):
        instance = random_segments(3, arms=4, costs=2, seed=seed)
        mu, rows = instance.entries
        totals = (instance.segment == np.arange(3)[:, None]).astype(float)
        best = linprog(-mu, A_ub=rows.T, b_ub=np.zeros(2), A_eq=totals, b_eq=instance.weight)
        assert instance.truth.value == pytest.approx(-best.fun)
        np.testing.assert_allclose(instance.truth.weights, best.x, atol=1e-9)
        assert (instance.truth.basic[:12] == (best.x > 1e-9)).all()


def test_losses_are_regret_and_what_breaking_a_limit_would_be_worth():
    instance = random_segments(2, arms=3, costs=1, seed=1)
    mu, rows = instance.entries
    best = instance.truth.weights
    dear = np.zeros(6)
    for s in range(2):
        inside = np.flatnonzero(instance.segment == s)
        dear[inside[np.argmax(mu[inside])]] = instance.weight[s]
    regret = max(instance.truth.value - dear @ mu, 0.0)
    over = max(float(dear @ rows[:, 0]), 0.0)
    assert instance.losses(np.array([best, dear])) == pytest.approx([0.0, regret + over * instance.truth.prices[0]])


def test_an_answer_on_learnt_shares_is_deployed_on_the_true_ones():
    instance = random_segments(2, arms=3, costs=1, seed=1)
    other = instance.truth.weights / instance.weight[instance.segment] * np.array([0.5, 0.5])[instance.segment]
    assert instance.losses(other[None]) == pytest.approx([0.0], abs=1e-12)


def test_an_answer_with_other_columns_or_another_verdict_is_wrong():
    instance = random_segments(2, arms=3, costs=1, seed=1)
    right = instance.truth.basic
    other = right.copy()
    other[-1] = ~other[-1]
    found = instance.wrong(np.array([right, other, right]), np.array([True, True, False]))
    assert found.tolist() == [False, True, True]


def test_what_is_given_needs_no_trials():
    given = np.array([[1.0, 0.2], [2.0, np.nan], [np.nan, np.nan]])
    rows = new_layout([3], np.eye(2)[None], np.full((3, 1), -1.0), given=given)
    instance = SegmentInstance(rows, np.ones(1), np.ones((3, 2)), Gaussian(1.0, 1.0))
    assert instance.known.tolist() == [True, False, False]
