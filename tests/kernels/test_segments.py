import numpy as np
import pytest
from tests.kernels.segment_problems import loaded, outcome, random_data

from bestmix.kernels import bounding, segments, simplex


def test_entries_are_scaled_to_one():
    data = random_data(np.random.default_rng(4))
    program = loaded(data)
    assert np.abs(program.mu).max() == pytest.approx(1.0)
    np.testing.assert_allclose(program.rows * program.scale[2:], data.rows)
    np.testing.assert_allclose(program.mu * program.scale[1] + program.scale[0], data.mu)
    assert program.segment.tolist() == data.segment.tolist()


@pytest.mark.parametrize("mu", [[2.0, 2.0], [0.0, 0.0], [-1e300, 1e300], [1e-320, 0.0]])
def test_any_rewards_are_scaled_to_finite_numbers(mu):
    program = segments.new_program(np.array([2]), 0)
    segments.load(program, np.array(mu), np.empty((2, 0)), np.empty(0), np.ones(1))
    assert np.isfinite(program.mu).all()
    bounding.maximise(program)
    assert program.key[0] == np.argmax(mu)


def test_units_of_measurement_change_nothing_but_units():
    for seed in range(30):
        data = random_data(np.random.default_rng(seed), 6, 6)
        unit = 2.0 ** np.random.default_rng(seed).integers(-20, 20, len(data.right))
        other = data._replace(mu=8.0 * data.mu, rows=data.rows * unit, right=data.right * unit)
        one, two = loaded(data), loaded(other)
        assert bounding.maximise(one) == bounding.maximise(two)
        (mixture, excess, prices, value), (same, missed, dual, times) = outcome(one), outcome(two)
        np.testing.assert_array_equal(mixture, same)
        np.testing.assert_allclose(missed, excess * unit)
        np.testing.assert_allclose(dual, 8.0 * prices / unit)
        assert times == pytest.approx(8.0 * value)


def test_prices_are_what_a_right_side_is_worth():
    compared = 0
    for seed in range(80):
        data = random_data(np.random.default_rng(seed), 6, 6)
        program, size = loaded(data), np.abs(data.mu).max()
        if bounding.maximise(program) == simplex.OPTIMAL and len(np.unique(data.mu)) == len(data.mu):
            _, _, prices, value = outcome(program)
            for r, unit in enumerate(np.eye(len(data.right))):
                step = 1e-7 * data.scale[r]
                less, more = (value_of(data._replace(right=data.right + s * step * unit)) for s in (-1, 1))
                if less + more == pytest.approx(2 * value, abs=1e-12 * size):  # no change of basis between them
                    worth = (more - less) / (2 * step)
                    assert prices[r] == pytest.approx(worth, rel=1e-3, abs=1e-4 * size / data.scale[r])
                    compared += 1
    assert compared > 15


def value_of(data):
    program = loaded(data)
    return outcome(program)[3] if bounding.maximise(program) == simplex.OPTIMAL else np.nan
