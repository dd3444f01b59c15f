"""Weights of conditions, and sums and maxima of them, against NumPy."""

import numpy as np
import pytest

from bestmix.kernels import weights

pytestmark = pytest.mark.parametrize("speed", ["plain", "machine"], indirect=True)


def test_weights_are_tails_of_normals_up_to_a_factor():
    rng = np.random.default_rng(1)
    gap, spread = rng.exponential(size=50), rng.exponential(size=50)
    square = gap**2 / spread
    least, weight = square.min(), np.empty(50)
    weights.weigh(0, 50, gap, spread, least, weight)
    exact = np.exp(-(square - least) / 2) / ((1 + np.sqrt(square)) * spread)
    np.testing.assert_allclose(weight, np.where(square - least < weights.NEGLIGIBLE, exact, 0.0), rtol=1e-12)


def test_what_cannot_fail_has_no_weight():
    assert weights.weigh_one(np.inf, 0.0, 1.0) == 0.0
    assert weights.weigh_one(1.0 + weights.NEGLIGIBLE, 0.5, 1.0) == 0.0
    assert weights.weigh_one(4.0, 0.25, 4.0) == 4.0 / 3.0


@pytest.mark.parametrize("width", [0, 8, 24])
def test_sums_and_maxima(width):
    left, right = np.random.default_rng(width).random((2, 30))
    np.testing.assert_allclose(weights.dot(left, right, width), left[:width] @ right[:width], rtol=1e-14)
    assert weights.highest(left, width) == left[:width].max(initial=0.0)


def test_the_first_of_what_ties_is_the_largest():
    one, tie = 1.0, 1.0 + 0.5 * weights.TIE
    for values, found in [
        ([0.0, 0.0, 0.0], -1),
        ([0.5, one, 0.9], 1),
        ([one, tie, 0.0], 0),
        ([one, tie, 2.0 * one], 2),
        ([0.1, one, tie], 1),
        ([np.nan, 0.1, 0.2], 2),
    ]:
        assert weights.first_of(np.array(values), np.nanmax(values), 3) == found
    assert weights.first_of(np.ones(3), 2.0, 3) == -1
