"""Sums and blocks are tested where they are read; here, what is made of them."""

import numpy as np
import pytest

from bestmix import Problem
from bestmix.answers.logs.sums import Total
from bestmix.answers.moments import Moments
from bestmix.answers.recommend_sums import moments_of, recommend_sums

PROBLEM = Problem(["a", "b", "c"], {"d": 1.0})


def found(blocks=False):
    rng, result = np.random.default_rng(0), {}
    for arm, cost in (("b", 0.5), ("a", 2.0)):
        total = Total(Moments(2))
        total.add(rng.normal([cost, cost], 0.1, (40, 2)), np.arange(40) % 8 if blocks else None)
        result[arm, None] = total.sums(blocks)
    return result


def test_arms_stand_in_the_problems_order_and_may_be_untried():
    assert [m.count for m in moments_of(PROBLEM, found())] == [40, 40, 0]
    answer = recommend_sums(PROBLEM, found(), 0, "log")
    assert set(answer.mixture) == {"a", "b"}
    assert answer.regret == np.inf  # nothing is known of c


def test_the_bootstrap_is_of_blocks():
    problem = Problem(["a", "b"], {"d": 1.0})
    answer = recommend_sums(problem, found(blocks=True), 8, "log", uncertainty="bootstrap", resamples=20)
    assert answer.support_probability == 1.0
    with pytest.raises(ValueError, match="the bootstrap redraws blocks"):
        recommend_sums(problem, found(), 0, "log", uncertainty="bootstrap")
