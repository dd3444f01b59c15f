"""The gap of a rival that brings no movable arm of its own, in the space of the moves themselves.

Where the two bases share what can move, the moves of one arm have to serve both, and the least squares of
``kernels/overtaking`` become singular. There are few such rivals, and only where arms are known.
"""

from typing import Any

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.problems.noise import root
from bestmix.theory.gaps.geometry import Geometry
from bestmix.theory.gaps.hyperplanes import basis_weights

STARTS = 4
MISSED = 1e-7  # by which a condition may fail


def polish(shape: Geometry, rival: tuple[int, ...], begin: Floats) -> tuple[float, Floats]:
    """Squared gap and moves of all columns (K + L, 1 + L), from ``begin`` and random starts; infinite if none fits."""
    from scipy.optimize import minimize

    arms = np.unique([j for j in (*shape.basis, *rival) if j < shape.movable])
    factor = np.array([root(shape.covariance[a]) for a in arms])
    size = shape.columns.shape[1]

    def moves(free: Floats) -> Floats:
        result = np.zeros_like(shape.columns)
        result[arms] = np.einsum("aij,aj->ai", factor, free.reshape(len(arms), size))
        return result

    def room(free: Floats) -> Floats:
        return _room(shape, np.array(rival), shape.columns + moves(free))

    rng = np.random.default_rng([len(rival), *rival])
    first = np.linalg.solve(factor, begin[arms][:, :, None]).ravel()
    starts = [first, *rng.normal(0.0, 1.0, (STARTS, first.size))]
    best, where = np.inf, np.zeros(first.size)
    for start in starts:
        conditions: Any = {"type": "ineq", "fun": room}
        options: Any = {"maxiter": 200, "ftol": 1e-12}
        found = minimize(_squared, start, jac=_doubled, constraints=conditions, method="SLSQP", options=options)
        if found.fun < best and room(found.x).min() > -MISSED:
            best, where = float(found.fun), found.x
    return best, moves(where)


def _room(shape: Geometry, rival: Integers, columns: Floats) -> Floats:
    """Weights of both bases and the rival's lead: all are to be non-negative."""
    ours = basis_weights(columns[shape.basis], shape.total[shape.basis])
    theirs = basis_weights(columns[rival], shape.total[rival])
    if ours is None or theirs is None:
        return np.full(2 * len(rival) + 1, -1e3)
    lead = theirs @ columns[rival, 0] - ours @ columns[shape.basis, 0]
    room: Floats = np.r_[ours, theirs, lead]
    return room


def _squared(free: Floats) -> float:
    return float(free @ free)


def _doubled(free: Floats) -> Floats:
    return 2.0 * free
