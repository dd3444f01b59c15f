"""The gaps' own small routines against those of NumPy, compiled, and of SciPy; part of ``python -m bench gaps``."""

import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from bench.timing import Figure, fastest, shown
from bestmix.kernels import balance, jit, overtaking, stopping
from bestmix.kernels.jit import compiled

TIMES = 200  # calls in compiled code, so that Python's own time does not count


@compiled
def jacobi(matrix: np.ndarray, times: int) -> float:
    """The smallest eigenvalue by ``balance.diagonalise``."""
    total, copy, vectors = 0.0, np.empty_like(matrix), np.empty_like(matrix)
    for _ in range(times):
        copy[:] = matrix
        balance.diagonalise(copy, vectors)
        total += np.diag(copy).min()
    return total


@compiled
def eigh(matrix: np.ndarray, times: int) -> float:
    """The smallest eigenvalue by NumPy."""
    total = 0.0
    for _ in range(times):
        values, _ = np.linalg.eigh(matrix)
        total += values[0]
    return total


@compiled
def cholesky(matrix: np.ndarray, times: int) -> float:
    """A positive definite system by ``overtaking.factor_and_solve``."""
    total, copy, right = 0.0, np.empty_like(matrix), np.ones(matrix.shape[0])
    answer = np.empty_like(right)
    for _ in range(times):
        copy[:] = matrix
        overtaking.factor_and_solve(copy, right, answer)
        total += answer[0]
    return total


@compiled
def elimination(matrix: np.ndarray, times: int) -> float:
    """A system by ``stopping.eliminate``."""
    n = matrix.shape[0]
    total, system, answer = 0.0, np.empty((n, n + 1)), np.empty(n)
    for _ in range(times):
        system[:, :n], system[:, n] = matrix, 1.0
        stopping.eliminate(system, answer)
        total += answer[0]
    return total


@compiled
def solve(matrix: np.ndarray, times: int) -> float:
    """A system by NumPy."""
    total, right = 0.0, np.ones(matrix.shape[0])
    for _ in range(times):
        total += np.linalg.solve(matrix, right)[0]
    return total


def measure(quick: bool) -> list[Figure]:
    rounds = 3 if quick else 15
    figures = []
    for what, own, other, name in (
        ("Jacobi's eigenvalues", jacobi, eigh, "np.linalg.eigh"),
        ("Cholesky", cholesky, solve, "np.linalg.solve"),
        ("elimination", elimination, solve, "np.linalg.solve"),
    ):
        figures += [compare(f"{what}, {n} rows / {name}", own, other, n, rounds) for n in (2, 3, 5, 7)]
    return [*figures, descent(rounds)]


def compare(what: str, own: Callable[..., float], other: Callable[..., float], n: int, rounds: int) -> Figure:
    factor = np.random.default_rng(n).normal(size=(n, n))
    matrix = factor @ factor.T + np.eye(n)
    own, other = jit.machine(own), jit.machine(other)
    assert abs(own(matrix, 1) - other(matrix, 1)) < 1e-9
    mine, theirs = fastest([lambda: own(matrix, TIMES), lambda: other(matrix, TIMES)], rounds, 0.01, time.thread_time)
    return Figure(what, theirs / mine, note=f"{shown(mine / TIMES)} against {shown(theirs / TIMES)}")


def descent(rounds: int) -> Figure:
    """One descent to a rival of five arms under two costs, from the same start."""
    rng = np.random.default_rng(4)
    columns, total = np.vstack([rng.normal(size=(6, 3)), np.eye(3)[1:]]), np.r_[np.ones(6), np.zeros(2)]
    covariance = np.repeat(np.eye(3)[None], 6, axis=0)
    best, rival, held = np.array([0, 1, 2]), np.array([2, 3, 4]), np.zeros(2, dtype=np.bool_)
    work, moved, gradient = overtaking.workspace(2), np.zeros_like(columns), np.empty(7)
    shape, start = (columns, total, covariance, 6, best, rival, held, work, moved), rng.uniform(0.5, 1.5, 7)

    def ours() -> float:
        return float(jit.machine(overtaking.minimise)(start.copy(), *shape))

    def both(free: np.ndarray) -> tuple[float, np.ndarray]:
        return jit.machine(overtaking.distance)(free, *shape, gradient), gradient.copy()

    def theirs() -> float:
        return float(minimize(both, start, jac=True, method="BFGS").fun)

    assert abs(ours() - theirs()) < 1e-5
    mine, other = fastest([ours, theirs], rounds, 0.01, time.thread_time)
    return Figure("BFGS / scipy.optimize.minimize", other / mine, note=f"{shown(mine)} against {shown(other)}")
