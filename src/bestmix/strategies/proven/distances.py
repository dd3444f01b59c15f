"""How far the conditions of a basis are from failing, in units of the noise: exact distances.

The noise of a trial is sub-Gaussian with given scales, E exp(theta.X) <= exp(sum_i theta_i^2 s_i^2 / 2), the same for
all arms. A basis B of the estimates stops being the answer only where one of its conditions fails: where the columns of
B but one balance without it (primal), or where B and one more column lie on a hyperplane (dual). With the same scales
for all arms the smallest change of the means that does this is an eigenvalue.
"""

import numpy as np

from bestmix.arrays import Floats

FAR_POINT = 1e3  # units of the scales from zero: exact points beyond measure coordinates without noise in their own
NONE = 1e-12  # below it a singular value counts as zero, relative to the largest


def nearest_condition(columns: Floats, basis: list[int], counts: Floats, scale: Floats) -> float:
    """Squared distance to where the first condition of a basis fails.

    Of columns (K + L, 1 + L + 1) after so many trials (K + L,), infinite for what is known.
    """
    rest = [[k for k in basis if k != i] for i in basis]
    primal = [flatness(columns[rows, 1:-1], counts[rows], scale[1:]) for rows in rest]
    beside = [[*basis, j] for j in range(len(columns)) if j not in basis]
    dual = [flatness(columns[rows], counts[rows], np.append(scale, 0.0)) for rows in beside]
    return min(primal + dual)


def flatness(rows: Floats, counts: Floats, scale: Floats) -> float:
    """Smallest of sum_a n_a (w.x_a)^2 / sum_i s_i^2 w_i^2 over all w: how far points (k, m) are from a hyperplane.

    Points with infinite counts are exact, coordinates of scale zero too. Infinite where no w will do.

    >>> flatness(np.array([[3.0, 1.0], [5.0, 1.0]]), np.array([8.0, 8.0]), np.array([2.0, 0.0]))  # 2 * 8 (1 / 2)^2
    4.0
    """
    noisy = np.isfinite(counts)
    return float(distance(rows[noisy], np.diag(np.sqrt(counts[noisy])), rows[~noisy], scale))


def distance(rows: Floats, root: Floats, exact: Floats, scale: Floats) -> Floats:
    """Smallest of |root (w.x_a)_a|^2 / sum_i s_i^2 w_i^2 over all w that are orthogonal to the ``exact`` rows.

    Of many sets of points (..., k, m) at once.
    """
    rest, _ = _reduced(rows, root, exact, scale)
    many, k, q = rest.shape[:-2], *rest.shape[-2:]
    if not q or k < q:
        return np.full(many, 0.0 if q else np.inf)
    return np.asarray(np.float_power(np.linalg.svd(rest, compute_uv=False)[..., -1], 2.0))  # as a scalar is squared


def nearest(rows: Floats, root: Floats, exact: Floats, scale: Floats) -> Floats:
    """The w (..., m) at which ``distance`` is attained, where it is neither zero nor infinite."""
    rest, way = _reduced(rows, root, exact, scale)
    return np.asarray((way @ np.linalg.svd(rest)[2][..., -1, :, None])[..., 0])


def _reduced(rows: Floats, root: Floats, exact: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """The points in directions of norm one that are measured, the others being best, and the way back (..., m, q).

    An exact point with a single part, one, is the unused part of a limit: w has no part there, whatever the scale is.
    """
    unused = ((exact != 0.0).sum(axis=1) == 1) & (exact == 1.0).any(axis=1)
    kept = ~exact[unused].any(axis=0)
    rest, way = _measured(rows[..., kept], root, exact[~unused][:, kept], scale[kept])
    back = np.zeros((*way.shape[:-2], len(scale), way.shape[-1]))
    back[..., kept, :] = way
    return rest, back


def _measured(rows: Floats, root: Floats, exact: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """The same where w may have a part everywhere."""
    unit = np.where(scale > 0, scale, 1.0)
    # The unit of a coordinate without noise is free; where exact points are far away it is such that their direction
    # has no noise but for what it has: a share of 1 / far^2 would pass for none.
    far = np.abs(exact / unit)[:, scale > 0].max(initial=0.0)
    unit = np.where(scale > 0, unit, 1.0 / far if far > FAR_POINT else 1.0)
    free = _null(exact / unit)
    value, vector = np.linalg.eigh(free.T @ ((scale > 0)[:, None] * free))
    measured, without = value > NONE, value <= NONE
    points = root @ (rows / unit @ free @ vector)
    inner, outer = points[..., measured] / np.sqrt(value[measured]), points[..., without]
    best = np.linalg.pinv(outer) @ inner
    way = free @ (vector[:, measured] / np.sqrt(value[measured]) - vector[:, without] @ best)
    return inner - outer @ best, way / unit[:, None]


def _null(rows: Floats) -> Floats:
    """Orthonormal directions (m, q) that are orthogonal to all rows.

    A large row must not make others pass for zero, so it is made shorter; what is small is not made larger, since it
    may be a rounding error.
    """
    size = np.maximum(np.abs(rows).max(axis=1, initial=0.0, keepdims=True), 1.0)
    _, value, directions = np.linalg.svd(rows / size, full_matrices=True)
    rank = int((value > NONE * max(value.max(initial=0.0), 1.0)).sum())
    return np.asarray(directions[rank:].T)
