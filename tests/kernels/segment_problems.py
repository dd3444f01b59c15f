"""Random programs of segments, and the same programs for SciPy's HiGHS."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from bestmix.kernels import segments


class Data(NamedTuple):
    """A program of segments, not scaled."""

    sizes: np.ndarray
    weight: np.ndarray
    mu: np.ndarray
    rows: np.ndarray
    right: np.ndarray
    equality: np.ndarray

    @property
    def segment(self):
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def totals(self):
        """Rows of the segments' totals."""
        return (self.segment == np.arange(len(self.sizes))[:, None]).astype(float)

    @property
    def scale(self):
        largest = np.abs(self.rows).max(axis=0, initial=0.0)
        return np.where(largest > 0, largest, 1.0)


def random_data(rng, most_segments=50, most_arms=30, most_limits=4):
    """Limits of every kind: over all segments or in one, on shares, equalities; many ties in a third of them."""
    count, arms, limits = (
        rng.integers(1, most_segments + 1),
        rng.integers(1, most_arms + 1),
        rng.integers(most_limits + 1),
    )
    sizes = rng.integers(1, arms + 1, count)
    n, arm = sizes.sum(), np.concatenate([np.arange(size) for size in sizes])
    segment = np.repeat(np.arange(count), sizes)
    tied = rng.random() < 1 / 3
    mu = rng.integers(0, 3, n).astype(float) if tied else rng.normal(size=n) * 10.0 ** rng.integers(-3, 4)
    rows = (
        rng.integers(-1, 3, (n, limits)).astype(float)
        if tied
        else rng.normal(rng.normal(0.3, 0.5, limits), size=(n, limits))
    )
    rows *= 10.0 ** rng.integers(-3, 4, limits)
    right = np.where(rng.random(limits) < 0.2, rng.normal(0.0, 0.3, limits) * np.abs(rows).max(axis=0), 0.0)
    for r in range(limits):
        kind = rng.random()
        if kind < 0.3:
            rows[segment != rng.integers(count), r] = 0.0
        elif kind < 0.5:
            rows[:, r], right[r] = (arm == rng.integers(arms)) - rng.uniform(0.0, 0.6), 0.0
    weight = rng.dirichlet(np.ones(count)) * (rng.random(count) < 0.95)
    weight = weight / weight.sum() if weight.sum() > 0 else np.full(count, 1 / count)
    return Data(sizes, weight, mu, rows, right, rng.random(limits) < 0.25)


def loaded(data):
    program = segments.new_program(data.sizes, len(data.right))
    program.equality[:] = data.equality
    segments.load(program, data.mu, data.rows, data.right, data.weight)
    return program


def outcome(program):
    """(mixture, excess, prices, value) of a solved program."""
    mixture, excess, prices = np.empty(len(program.mu)), np.empty(len(program.right)), np.empty(len(program.right))
    segments.weights(program, mixture)
    segments.excess(program, excess)
    segments.prices(program, prices)
    return mixture, excess, prices, segments.value(program)


def highs(data):
    """(status, value) of the program."""
    at_most = ~data.equality
    result = linprog(
        -data.mu,
        A_ub=data.rows[:, at_most].T,
        b_ub=data.right[at_most],
        A_eq=np.vstack([data.totals, data.rows[:, data.equality].T]),
        b_eq=np.r_[data.weight, data.right[data.equality]],
    )
    return result.status, None if result.fun is None else -result.fun


def least_violation(data):
    """The least total by which limits fail, in units of the largest entries of their rows."""
    n, limits = data.rows.shape
    if limits == 0:
        return 0.0
    one = np.eye(limits)
    rows = np.hstack([data.rows.T / data.scale[:, None], one, -one, one])
    totals = np.hstack([data.totals, np.zeros((len(data.weight), 3 * limits))])
    free, none = (0.0, None), (0.0, 0.0)
    signs = [none if e else free for e in data.equality], [free] * limits, [free if e else none for e in data.equality]
    result = linprog(
        np.r_[np.zeros(n + limits), np.ones(2 * limits)],
        A_eq=np.vstack([totals, rows]),
        b_eq=np.r_[data.weight, data.right / data.scale],
        bounds=[free] * n + signs[0] + signs[1] + signs[2],
    )
    return result.fun
