"""The paper's scores as functions of columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import generators, naive

import bestmix as bm
from bestmix import SFSR, scores
from bestmix.strategies.built_in import restore_strategy


def columns_of(means, bound):
    """(mu, u, e) of arms (K, 1 + L), then slacks."""
    costs = len(bound)
    mu = np.r_[means[:, 0], np.zeros(costs)]
    u = np.vstack([means[:, 1:] - bound, np.eye(costs)])
    return mu, u, np.r_[np.ones(len(means)), np.zeros(costs)]


@settings(deadline=None, max_examples=40)
@given(seed=generators.seeds, arms=st.integers(1, 5), costs=st.integers(0, 2))
def test_they_are_those_of_the_paper(seed, arms, costs):
    rng = np.random.default_rng(seed)
    means, bound = rng.normal(size=(arms, 1 + costs)).round(3), rng.normal(size=costs).round(3)
    wanted = np.array(naive.iv_scores_float(means, bound), dtype=float)
    np.testing.assert_allclose(scores.intersection(*columns_of(means, bound)), wanted, atol=1e-9)
    dual = naive.lagrangian_scores_float(means, bound)
    np.testing.assert_allclose(scores.lagrangian(*columns_of(means, bound)), np.array(dual, dtype=float), atol=1e-7)


def test_arguments_stay_as_they_are():
    mu, u, e = columns_of(np.array([[1.7, 0.0], [2.6, 1.8]]), np.ones(1))
    before = mu.copy(), u.copy(), e.copy()
    scores.intersection(mu, u, e)
    scores.lagrangian(mu, u, e)
    for now, then in zip((mu, u, e), before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize("name", ["intersection", "lagrangian"])
def test_a_strategy_with_the_function_is_the_one_with_the_name(name):
    strategy = SFSR(score=getattr(bm.scores, name))
    assert strategy == SFSR(score=name)
    assert strategy.name == SFSR(score=name).name
    assert restore_strategy(strategy.to_dict()) == strategy


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (([1.0, 2.0], [[0.1], [0.2]], [0, 1]), "e: expected 1 for an arm and 0 for a slack, arms first"),
        (([1.0, 2.0], [[0.1], [0.2]], [1, 2]), "e: expected 1 for an arm"),
        (([1.0, 2.0], [[0.1]], [1, 1]), "u: expected shape"),
        (([1.0, np.nan], [[0.1], [0.2]], [1, 1]), "mu: expected finite numbers"),
    ],
)
def test_other_columns_are_refused(arguments, told):
    for score in (scores.intersection, scores.lagrangian):
        with pytest.raises(ValueError, match=told):
            score(*arguments)


def test_work_out_of_reach_is_refused():
    with pytest.raises(ValueError, match=r"300 arms and 6 costs.*lagrangian"):
        scores.intersection(np.zeros(306), np.zeros((306, 6)), np.r_[np.ones(300), np.zeros(6)])
