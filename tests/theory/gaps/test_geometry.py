import numpy as np
import pytest

from bestmix import Instance, gaps


def measured(unit):
    means = np.array([[1.7, 2.6, 2.1], [0.0, 1.8, 1.3]]) * unit
    return gaps(Instance(means[0], means[1:], [unit], sigma_reward=unit, sigma_cost=unit))


@pytest.mark.parametrize("size", [1e-150, 1e-100, 1e100])
def test_gaps_are_in_units_of_the_noise_at_any_size(size):
    small, one = measured(size), measured(1.0)
    assert small.basis == one.basis
    assert small.delta0 == pytest.approx(one.delta0, rel=1e-6)
    np.testing.assert_allclose(small.arm, one.arm, rtol=1e-4)


@pytest.mark.parametrize(("size", "noise"), [(1e149, 1e-100), (1e140, 1e-150), (1.0, 1e-100)])
def test_means_too_far_apart_for_floats_are_refused(size, noise):
    instance = Instance([1.7 * size, 2.6 * size], [[0.0, 1.8 * size]], [size], sigma_reward=noise, sigma_cost=noise)
    with pytest.raises(ValueError, match="standard deviations apart"):
        gaps(instance)
