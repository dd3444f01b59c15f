"""Intersection values by plain enumeration of all bases, compiled: what the scores are measured against.

A basis of L + 1 columns is feasible when the weights that balance its costs have one sign. Those weights
are closed forms: the opposite distances, cross products or determinants. Whatever does not change in the
innermost loop is taken out of it, and columns are stored row by row.
"""

import numba
import numpy as np

from bestmix.arrays import Floats

compiled = numba.njit(cache=True, error_model="numpy")


def scores(mu: Floats, u: Floats, e: Floats) -> Floats:
    """Best value of a feasible basis through each column, of all bases there are."""
    rows = np.ascontiguousarray(u.T)
    return {1: _pairs, 2: _triples, 3: _quadruples}[u.shape[1]](mu, e, *rows)


@compiled
def _pairs(mu: Floats, e: Floats, x: Floats) -> Floats:
    n = mu.shape[0]
    score = np.full(n, -np.inf)
    for i in range(n):
        xi, gain, total, top = x[i], mu[i], e[i], score[i]
        for j in range(i):
            if xi * x[j] <= 0.0:
                # The weights are x_j and -x_i, up to their common sign.
                value = (x[j] * gain - xi * mu[j]) / (x[j] * total - xi * e[j])
                if value > score[j]:
                    score[j] = value
                if value > top:
                    top = value
        score[i] = top
    return score


@compiled
def _triples(mu: Floats, e: Floats, x: Floats, y: Floats) -> Floats:
    n = mu.shape[0]
    score = np.full(n, -np.inf)
    for i in range(n):
        xi, yi = x[i], y[i]
        for j in range(i):
            xj, yj = x[j], y[j]
            c, top = xi * yj - yi * xj, -np.inf
            for k in range(j):
                a, b = xj * y[k] - yj * x[k], x[k] * yi - y[k] * xi
                if a * c >= 0.0 and b * c >= 0.0:
                    value = (a * mu[i] + b * mu[j] + c * mu[k]) / (a * e[i] + b * e[j] + c * e[k])
                    if value > score[k]:
                        score[k] = value
                    if value > top:
                        top = value
            score[i], score[j] = max(score[i], top), max(score[j], top)
    return score


@compiled
def _quadruples(mu: Floats, e: Floats, x: Floats, y: Floats, z: Floats) -> Floats:
    n = mu.shape[0]
    score = np.full(n, -np.inf)
    for i in range(n):
        for j in range(i):
            ax, ay, az = _cross(x, y, z, i, j)
            for k in range(j):
                bx, by, bz = _cross(x, y, z, j, k)
                cx, cy, cz = _cross(x, y, z, k, i)
                d, top = -(ax * x[k] + ay * y[k] + az * z[k]), -np.inf
                for l in range(k):
                    a = bx * x[l] + by * y[l] + bz * z[l]
                    b = cx * x[l] + cy * y[l] + cz * z[l]
                    c = ax * x[l] + ay * y[l] + az * z[l]
                    if a * d >= 0.0 and b * d >= 0.0 and c * d >= 0.0:
                        gain = a * mu[i] + b * mu[j] + c * mu[k] + d * mu[l]
                        value = gain / (a * e[i] + b * e[j] + c * e[k] + d * e[l])
                        if value > score[l]:
                            score[l] = value
                        if value > top:
                            top = value
                score[i], score[j], score[k] = max(score[i], top), max(score[j], top), max(score[k], top)
    return score


@compiled
def _cross(x: Floats, y: Floats, z: Floats, i: int, j: int) -> tuple[float, float, float]:
    return y[i] * z[j] - z[i] * y[j], z[i] * x[j] - x[i] * z[j], x[i] * y[j] - y[i] * x[j]
