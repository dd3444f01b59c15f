"""The columns of the program in units of the noise, and whether a basis of them is the answer, beyond rounding.

Where nothing is noisy about a condition, a sign alone decides it. At a tie no basis is the answer, and what is within
rounding of a tie counts as one, as for the bounds of the linear program.
"""

import numpy as np

from bestmix.arrays import Floats
from bestmix.kernels.columns import ROUNDING

LEAST_SCALE = 1e-100  # of the largest value of a metric: a smaller one counts as this, so that squares are numbers


def units(means: Floats, bound: Floats, scale: Floats) -> Floats:
    """What to measure each metric in (1 + L,): the scale of its noise, or its largest value where it has no noise.

    The proof is then the same whatever the metrics were told in. A scale may be raised: the noise obeys that one too.

    >>> units(np.array([[3.0, 1.0, 8.0], [5.0, 2.0, 2.0]]), np.array([4.0, 1.0]), np.array([0.5, 0.0, 1e-300]))
    array([5.e-001, 4.e+000, 8.e-100])
    """
    largest = np.abs(np.vstack([means, np.append(0.0, bound)])).max(axis=0)
    found = np.where(scale > 0, np.maximum(scale, LEAST_SCALE * largest), largest)
    return np.where(found > 0, found, 1.0)


def columns_of(means: Floats, bound: Floats, unit: Floats | float = 1.0) -> Floats:
    """Every column of the program (K + L, 1 + L + 1): reward, costs above their bounds, and its part in the total.

    Metrics are in the given units (1 + L,), unused parts of limits too.
    """
    arms = np.column_stack([(means - np.append(0.0, bound)) / unit, np.ones(len(means))])
    slacks = np.column_stack([np.zeros(len(bound)), np.eye(len(bound)), np.zeros(len(bound))])
    return np.vstack([arms, slacks])


def is_answer(means: Floats, bound: Floats, scale: Floats, basis: list[int]) -> bool:
    """Whether all weights of a basis are positive and all other reduced costs negative, by more than rounding.

    >>> means, exact = np.array([[1.0, 0.1], [2.0, 0.3]]), np.zeros(2)
    >>> is_answer(means, np.array([0.2]), exact, [0, 1]), is_answer(means, np.array([0.1]), exact, [0, 1])
    (True, False)
    """
    unit = units(means, bound, scale)
    columns = columns_of(means, bound, unit)
    sizes = columns_of(np.abs(means), -np.abs(bound), unit)  # what the rounding of each entry is relative to
    try:
        inverse = np.linalg.inv(columns[basis, 1:].T)
    except np.linalg.LinAlgError:
        return False
    others = [j for j in range(len(columns)) if j not in basis]
    weights, prices = inverse[:, -1], columns[basis, 0] @ inverse
    reduced = columns[others, 0] - columns[others, 1:] @ prices
    error = sizes[:, 0] + sizes[:, 1:] @ np.abs(prices)
    parts = np.abs(inverse @ columns[others, 1:].T)  # of the basis, of which each other column is made
    kept = weights > ROUNDING * (np.abs(inverse) @ (sizes[basis, 1:].T @ np.abs(weights)))
    return bool(kept.all() and (reduced < -ROUNDING * (error[others] + error[basis] @ parts)).all())
