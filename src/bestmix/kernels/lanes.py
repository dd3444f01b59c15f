"""Words for decisions of one run, or of several side by side, from the same lines of code.

An entry of an array is a number, or as many numbers as there are lanes: those of several simulated runs, which a
processor's vectors work on at once. Arithmetic and comparisons read the same for both. What would branch on a number
asks ``either`` and ``any_lane`` instead, and an index that may differ from run to run goes through ``at`` and ``put``.
Sums are written ``x = x + y``: ``x += y`` would change NumPy's array in place, and with it the entry that it came from.

In plain Python lanes are the last axis of an array, and NumPy works on them; in machine code they are a processor's
vectors (``vectors.py``), for arrays that went through ``side_by_side``.
"""

from typing import Any

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels.jit import inlined

LANES = 8  # runs side by side; changing it changes every result of such runs
ALIGNED = 64  # bytes, in which a processor keeps memory together


def new_lanes(*shape: int) -> Floats:
    """Zeros (*shape, LANES); no entry's lanes are kept in two pieces of a processor's memory."""
    size = int(np.prod(shape)) * LANES
    space = np.zeros(size + ALIGNED // 8)
    first = -space.ctypes.data % ALIGNED // 8
    return space[first : first + size].reshape(*shape, LANES)


def side_by_side(array: Any) -> Any:
    """An array of floats (..., LANES), one behind the other, as one whose entries have lanes."""
    return array


def either(condition: bool, yes: float, no: float) -> float:
    """The first number where the condition holds, and else the second; both are reckoned.

    >>> either(True, 1.0, 2.0), either(np.array([True, False]), 1.0, np.array([3.0, 4.0]))
    (1.0, array([1., 4.]))
    """
    if isinstance(condition, np.ndarray):
        result: float = np.where(condition, yes, no)
        return result
    return yes if condition else no


def any_lane(condition: bool) -> bool:
    """Whether a condition holds in some lane."""
    return bool(condition.any()) if isinstance(condition, np.ndarray) else bool(condition)


def every_lane(condition: bool) -> bool:
    """Whether a condition holds in all lanes."""
    return bool(condition.all()) if isinstance(condition, np.ndarray) else bool(condition)


def root(value: float) -> float:
    """Square root; NaN of what is negative."""
    result: float = np.sqrt(value)
    return result


def at(row: Floats | Integers, index: float) -> Any:
    """Entry of a row; in each lane at the index of that lane, which is not negative.

    >>> float(at(np.array([5.0, 6.0]), 1)), at(np.array([[5.0, 7.0], [6.0, 8.0]]), np.array([1, 0]))
    (6.0, array([6., 7.]))
    """
    if isinstance(index, np.ndarray):
        return row[index.astype(np.int64), np.arange(len(index))]
    return row[int(index)]  # of NumPy's, which divides by zero without a word


def put(row: Floats, index: float, value: float) -> None:
    """Write an entry of a row; in each lane at the index of that lane."""
    if isinstance(index, np.ndarray):
        row[index.astype(np.int64), np.arange(len(index))] = value
    else:
        row[int(index)] = value


def reach(index: float, size: int) -> tuple[int, int]:
    """The first index, and the one after the last, that are to be looked at to find this one in all lanes.

    >>> reach(3, 8), reach(-1, 8), reach(np.array([3, -1]), 8)
    ((3, 4), (0, 0), (0, 8))
    """
    if isinstance(index, np.ndarray):
        return 0, size
    return (int(index), int(index) + 1) if index >= 0 else (0, 0)


@inlined
def larger(one: float, other: float) -> float:
    """The larger number; the second where one is missing."""
    return either(one > other, one, other)
