"""Short cuts from Numba's code to LLVM's: elements, arithmetic and variables mean what they mean in Python."""

import gc

import numpy as np
import pytest
from numba.core.runtime import _nrt_python as nrt

from bestmix.kernels import jit

FLOATS, WHOLE = np.arange(12.0).reshape(3, 4) - 5.5, np.arange(12).reshape(3, 4)


@jit.compiled
def element(values, i, k):
    return values[i, k]


@jit.compiled
def last(values):
    return values[-1] + values[-2]


@jit.borrowing
def shift(values: np.ndarray, by: int) -> None:
    """Assigns what it reads from either end, a whole number to floats too."""
    for i in range(values.shape[0]):
        values[i, -1] = by
        values[-1 - i, 0] += values[i, 1] * by
    values[0, np.uint8(1)] = -by


@jit.compiled
def shifted(values, by):
    result = values.copy()
    shift(result, by)
    return result


@jit.borrowing
def chosen(flags: np.ndarray, values: np.ndarray) -> float:
    """A variable that only some passes of the loop give a value."""
    best, found = -np.inf, 0
    for i in range(values.shape[0]):
        if flags[i]:
            best, found = max(best, values[i]), found + 1
            flags[i] = found > 1
    return best / found


@jit.compiled
def choose(flags, values):
    return chosen(flags, values)


@jit.compiled
def arithmetic(a, b):
    return a + b, a - b, a * b, a / b, a // b, a % b, a**2, 2**b, a < b, a == b


@jit.compiled
def replaced(values):
    """Arrays that a variable held before are given back."""
    kept = values
    for i in range(100):
        kept = np.zeros(1000)
        kept[-1] = i
    return kept


@pytest.mark.parametrize("values", [FLOATS, WHOLE, WHOLE > 4, np.asfortranarray(FLOATS), FLOATS[:, ::2]], ids=repr)
def test_an_element_counts_from_either_end(values):
    for i in (0, 2, -1, -3):
        for k in (0, values.shape[1] - 1, -1, -values.shape[1]):
            assert jit.machine(element)(values, i, k) == values[i, k]
    assert jit.machine(element)(values, np.uint8(2), np.int16(-1)) == values[2, -1]


def test_constant_indices_count_from_either_end():
    assert jit.machine(last)(FLOATS[0]) == last(FLOATS[0])
    assert jit.machine(last)(FLOATS[:, 1]) == last(FLOATS[:, 1])


@pytest.mark.parametrize("values", [FLOATS, WHOLE, FLOATS[:, ::2]], ids=repr)
def test_assignments_convert_numbers(values):
    made, wanted = jit.machine(shifted)(values, 3), shifted(values, 3)
    assert made.dtype == wanted.dtype
    assert made.tolist() == wanted.tolist()


def test_flags_and_variables_of_some_passes():
    values, flags = np.array([1.0, 3.0, 2.0]), np.array([True, False, True])
    same = flags.copy()
    assert jit.machine(choose)(flags, values) == choose(same, values) == 1.0
    assert flags.tolist() == same.tolist() == [False, False, True]


@pytest.mark.parametrize("pair", [(7, 2), (-7, 2), (7.5, -2.0), (7, -2.5), (-7.5, 2)], ids=repr)
def test_arithmetic_is_that_of_python(pair):
    assert jit.machine(arithmetic)(*pair) == pytest.approx(arithmetic(*pair), rel=1e-15)


def test_a_variable_gives_an_array_back():
    made = jit.machine(replaced)
    made(np.zeros(2))
    nrt.memsys_enable_stats()
    try:
        made_before, freed_before = nrt.memsys_get_stats_mi_alloc(), nrt.memsys_get_stats_mi_free()
        assert made(np.zeros(2))[-1] == 99.0
        assert nrt.memsys_get_stats_mi_alloc() - made_before >= 100
        assert nrt.memsys_get_stats_mi_free() - freed_before == nrt.memsys_get_stats_mi_alloc() - made_before
    finally:
        nrt.memsys_disable_stats()


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_collected_after_compiling_as_before(collects):
    @jit.compiled_here
    def compiling(value):
        return value + 1

    fails = jit.compiled_here(lambda value: value.no_such_name)
    (gc.enable if collects else gc.disable)()
    try:
        assert jit.machine(compiling)(1) == 2
        assert gc.isenabled() is collects
        with pytest.raises(Exception, match="no_such_name"):
            jit.machine(fails)(1.0)
        assert gc.isenabled() is collects
    finally:
        gc.enable()
