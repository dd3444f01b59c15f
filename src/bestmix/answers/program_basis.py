"""What a little more of a column changes in the mix of a basis of a program: weights, what it earns, and the noise."""

from typing import NamedTuple

import numpy as np

from bestmix.answers.noisy_program import NoisyProgram, Optimum
from bestmix.arrays import Floats, Integers

MOST_ENTRIES = 2_000_000  # columns times rows, or rows times rows, of a basis whose inverse is made
TINY = 1e-75  # the size of a limit whose entries are all zero


class ProgramSteps(NamedTuple):
    """What a unit more of each column changes in the mix of a basis, and in what that earns.

    Attributes
    ----------
    basis
        Its columns (S + R,); n + r is the slack of limit r.
    reduced, change
        Of all columns: reduced cost (n + R,), and change of the weights of the columns ``inside`` the basis (n + R, m).
    inside
        Those columns, without slacks (m,).
    prices, totals
        Of limits (R,) and segments (S,).
    """

    basis: Integers
    reduced: Floats
    change: Floats
    inside: Integers
    prices: Floats
    totals: Floats

    def variances(self, spread: Floats, aside: Floats, scored: Floats, x: Floats, size: Floats) -> Floats:
        """Variances of what a mix x earns at its prices, and of what is there besides, after a step of each column.

        Sizes are (n + R,), coefficients of metrics (n, M). No step changes what a column of the basis stands for.
        """
        v = aside + x[:, None] * scored
        parts = np.einsum("ni,nij,nj->n", v, spread, v)
        result = np.full(len(size), parts.sum())
        for k, column in enumerate(self.inside):
            v = aside[column] + np.outer(x[column] + size * self.change[:, k], scored[column])
            result += np.einsum("ri,ij,rj->r", v, spread[column], v) - parts[column]
        own = np.setdiff1d(np.arange(len(x)), self.inside)
        v = aside[own] + (x[own] + size[own])[:, None] * scored[own]
        result[own] += np.einsum("ri,rij,rj->r", v, spread[own], v) - parts[own]
        return np.asarray(np.maximum(result, 0.0))


def program_steps(program: NoisyProgram, best: Optimum) -> ProgramSteps | None:
    """The steps from the basis of an optimum; None where it is singular, has elastic columns, or is very large."""
    (mu, rows), n, limits = program.entries(), len(program.segment), program.limits
    basis, count = best.basis, len(program.weight)
    if len(basis) * max(len(basis), n + limits) > MOST_ENTRIES or (basis >= n + limits).any():
        return None
    size = np.maximum(np.abs(rows).max(axis=0, initial=0.0), TINY)
    columns = np.zeros((n + limits, limits + count))
    columns[:n, :limits] = rows / size
    columns[np.arange(n), limits + program.segment] = 1.0
    columns[n + np.arange(limits), np.arange(limits)] = 1.0 / size
    worth = np.r_[mu, np.zeros(limits)]
    try:
        inverse = np.linalg.inv(columns[basis].T)
    except np.linalg.LinAlgError:
        return None
    price = worth[basis] @ inverse
    change, reduced = -columns @ inverse.T, worth - columns @ price
    if not (np.isfinite(change).all() and np.isfinite(reduced).all()):
        return None
    change[basis], reduced[basis] = 0.0, 0.0
    inside = basis < n
    return ProgramSteps(basis, reduced, change[:, inside], basis[inside], price[:limits] / size, price[limits:])
