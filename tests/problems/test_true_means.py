"""What users write about the truth, read and refused."""

import re

import numpy as np
import pytest

from bestmix import Known, Problem
from bestmix.checks import InvalidInput
from bestmix.problems.noise import Bernoulli, Gaussian
from bestmix.problems.true_means import read_means, read_noise, read_shares, written_means

ASKED = Problem(
    ["a", "b"],
    limits=["dollars <= 1", "p(seconds > 2) <= 5%"],
    known={"a": Known(costs={"dollars": 0.5})},
    segments={"x": 0.5, "y": 0.5},
)
TABLE = np.array([[1.0, 0.5, 0.1], [2.0, 1.5, 0.2], [3.0, 0.5, 0.3], [4.0, 1.6, 0.4]])


def test_means_come_as_an_array_or_by_name():
    np.testing.assert_array_equal(read_means(ASKED, TABLE), TABLE)
    np.testing.assert_array_equal(read_means(ASKED, TABLE.reshape(2, 2, 3)), TABLE)
    written = written_means(ASKED, TABLE)
    assert "dollars" not in written["x"]["a"]
    np.testing.assert_array_equal(read_means(ASKED, written), TABLE)


REFUSED = [
    (TABLE[:3], "means: expected shape (4, 3)"),
    ({"x": {}}, "means['x']: expected an entry 'a', got []; give the means of 'a in x'"),
    ({"free": {}}, "means: expected an entry 'x', got ['free']"),
    ({"x": {"a": {"reward": 1.0}}}, "means['x']['a']: the mean of 'p(seconds > 2)' is missing"),
    ({"x": {"a": {"price": 1.0}}}, "means['x']['a']: expected means of 'reward', 'dollars', 'p(seconds > 2)'"),
    (TABLE + 0.1, "means: 'a in x' has the known dollars 0.5, got 0.6"),
]


@pytest.mark.parametrize(("means", "sentence"), REFUSED)
def test_other_means_are_refused(means, sentence):
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        read_means(ASKED, means)


def test_noise_is_normal_where_nothing_is_an_event():
    plain = Problem(["a"], limits=["dollars <= 1"])
    found = read_noise(plain, {"dollars": 0.2}, (), None)
    assert isinstance(found, Gaussian)
    np.testing.assert_allclose(found.covariance(np.zeros((1, 2)))[0], np.diag([1.0, 0.04]))
    assert isinstance(read_noise(plain, None, ["reward", "dollars"], None), Bernoulli)
    with pytest.raises(InvalidInput, match="either noise, or sigma and events"):
        read_noise(plain, 1.0, (), Bernoulli())
    with pytest.raises(InvalidInput, match="events: expected one of 'reward', 'dollars'"):
        read_noise(plain, 1.0, ["price"], None)
    with pytest.raises(InvalidInput, match="sigma: expected one of"):
        read_noise(plain, {"price": 1.0}, (), None)


def test_shares_are_given_once():
    open_ = Problem(["a"], segments=["x", "y"])
    assert read_shares(ASKED, None) == (0.5, 0.5)
    assert read_shares(Problem(["a"]), None) == (1.0,)
    with pytest.raises(InvalidInput, match="the problem knows the shares"):
        read_shares(ASKED, {"x": 0.5, "y": 0.5})
    with pytest.raises(InvalidInput, match="give the true ones"):
        read_shares(open_, None)
    for wrong in ({"x": 0.5, "y": 0.6}, {"x": 0.0, "y": 1.0}):
        with pytest.raises(InvalidInput, match="shares above 0 that add up to 1"):
            read_shares(open_, wrong)
