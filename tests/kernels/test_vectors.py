"""What lanes are in machine code, against NumPy to the bit."""

import numba
import numpy as np
import pytest

from bestmix.kernels import jit
from bestmix.kernels.lanes import (
    LANES,
    any_lane,
    at,
    either,
    every_lane,
    larger,
    new_lanes,
    put,
    reach,
    root,
    side_by_side,
)

SIZE = 6


@jit.compiled_here
def arithmetic(one, other, result):
    for k in range(one.shape[0]):
        a, b = one[k], other[k]
        result[0, k], result[1, k] = a + b * 2 - 1.5, -a / b
        result[2, k] = either(a > b, root(abs(a)), larger(a, b))
        result[3, k] = either((a < 0.0) & (b >= 0.0) | (a == b), 1, 2.0 * b)
        result[4, k] = either((a < 1) | (b <= 0.5), a, b)
        total = 0.0
        for i in range(k):
            total = total + one[i]
        total = total * 3.0
        result[5, k] = total


@jit.compiled_here
def choices(one, index, result, answers):
    for k in range(one.shape[0]):
        answers[k, 0], answers[k, 1] = any_lane(one[k] > 1.0), every_lane(one[k] > -1.0)
    first, end = reach(index[0], one.shape[0])
    result[0, 0], result[0, 1] = first, end
    result[1, 0] = at(one, index[0])
    put(result[2], index[0], one[1])
    put(result[3], index[1], 7)
    result[4, 2] = at(result[:, 3], index[1])


@jit.compiled_here
def in_vectors(kernel_inputs, result):
    one, other = kernel_inputs
    arithmetic(side_by_side(one), side_by_side(other), side_by_side(result))


@jit.compiled_here
def choices_in_vectors(one, index, result, answers):
    choices(side_by_side(one), side_by_side(index), side_by_side(result), answers)


def several(seed):
    """Numbers with lanes, zeros and infinities among them."""
    rng, result = np.random.default_rng(seed), new_lanes(SIZE)
    result[:] = rng.normal(size=result.shape) * rng.choice(
        [0.0, 1.0, 2.0, np.inf], result.shape, p=[0.1, 0.5, 0.3, 0.1]
    )
    return np.nan_to_num(result, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf)


@pytest.mark.parametrize("seed", range(5))
def test_arithmetic_and_choices_are_those_of_numpy(seed):
    one, other, plain, made = several(seed), several(seed + 9), new_lanes(6, SIZE), new_lanes(6, SIZE)
    arithmetic(one, other, plain)
    jit.machine(in_vectors)((one, other), made)
    np.testing.assert_array_equal(plain, made)


@pytest.mark.parametrize("seed", range(5))
def test_entries_are_found_at_the_index_of_each_lane(seed):
    one, index = several(seed), new_lanes(2)
    index[:] = np.random.default_rng(seed).integers(0, SIZE, index.shape)
    found = []
    for speed in (jit.speed_for(0), jit.machine):
        result, answers = new_lanes(6, SIZE), np.zeros((SIZE, 2), dtype=bool)
        speed(choices_in_vectors)(one, index, result, answers)
        found.append((result, answers))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_one_number_is_worked_on_as_such():
    """The same lines, for arrays without lanes."""
    for speed in (jit.speed_for(0), jit.machine):
        result = np.zeros((6, SIZE))
        speed(arithmetic)(several(1)[:, 0].copy(), several(2)[:, 0].copy(), result)
        expected = new_lanes(6, SIZE)
        arithmetic(several(1), several(2), expected)
        np.testing.assert_array_equal(result, expected[:, :, 0])
        answers, place = np.zeros((SIZE, 2), dtype=bool), np.zeros((6, SIZE))
        speed(choices)(np.arange(6.0), np.array([4.0, 1.0]), place, answers)
        assert place[0, :2].tolist() == [4.0, 5.0]
        assert (place[1, 0], place[2, 4], place[3, 1]) == (4.0, 1.0, 7.0)
        np.testing.assert_array_equal(answers[:, 0], np.arange(6) > 1)


@pytest.mark.parametrize(
    "array", [new_lanes(4).astype(np.float32), new_lanes(4)[::2], new_lanes(4)[:, ::2], new_lanes(4).astype(int)]
)
def test_only_floats_that_lie_one_behind_the_other_are_seen_as_vectors(array):
    """Anything else would be read as what it is not."""
    with pytest.raises(numba.TypingError):
        jit.machine(in_vectors)((array, array), new_lanes(6, SIZE))


def test_vectors_have_as_many_places_as_lanes():
    from bestmix.kernels import vectors

    assert vectors.NUMBERS.count == vectors.FLAGS.count == LANES
