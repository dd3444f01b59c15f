"""The cheapest moves that let columns balance at the origin: a smallest eigenvalue on some face.

With equal covariances, and columns in coordinates in which they are the identity, the squared length of
the moves that give non-negative weights x a balance is |sum x z|^2 / sum over movable columns of x^2.
Its minimum over x >= 0 lies inside a face (a set of columns with positive weights). There the fixed
columns are projected out, and the minimum is the smallest eigenvalue of the Gram matrix of the others,
if its eigenvector is positive: any other eigenvector is no minimum. So all faces are tried.
"""

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels.jit import compiled

DEPENDENT = 1e-12
SIGN = 1e-9  # a weight above minus this share of the largest counts as not negative


@compiled
def nearest(moving: Floats, fixed: Floats, weight: Floats) -> float:
    """Smallest squared length of moves that balance the columns (n, d) and (k, d), of which ``fixed`` cannot move.

    ``weight`` (n + k,) receives the weights: some movable one is positive, or the fixed ones balance alone and all
    are left at zero.
    """
    n, k, d = moving.shape[0], fixed.shape[0], moving.shape[1]
    best = np.inf
    base, corner, rest = np.empty((k, d)), np.empty((k, k)), np.empty((n, d))
    gram, vectors, trial = np.empty((n, n)), np.empty((n, n)), np.empty(n + k)
    for chosen in range(2**k):
        if not project(chosen, moving, fixed, base, corner, rest):
            if alone(chosen, fixed):
                weight[:] = 0.0
                return 0.0
            continue
        for face in range(1, 2**n):
            trial[:] = 0.0
            value = smallest(face, rest, gram, vectors, trial)
            if value < best and complete(chosen, moving, fixed, base, corner, trial):
                best = value
                weight[:] = trial
    return best


@compiled
def project(chosen: int, moving: Floats, fixed: Floats, base: Floats, corner: Floats, rest: Floats) -> bool:
    """Take the span of the chosen fixed columns out of the others; False when they are dependent.

    They become ``corner`` (upper triangular) times the orthonormal rows of ``base``.
    """
    rank, d = 0, fixed.shape[1]
    for f in range(fixed.shape[0]):
        if chosen >> f & 1:
            whole, left = 0.0, 0.0
            for i in range(d):
                base[rank, i] = fixed[f, i]
                whole += fixed[f, i] ** 2
            for b in range(rank):
                corner[b, rank] = 0.0
            for _ in range(2):
                for b in range(rank):
                    corner[b, rank] += remove(base[rank], base[b])
            for i in range(d):
                left += base[rank, i] ** 2
            if left <= DEPENDENT * DEPENDENT * whole:
                return False
            corner[rank, rank] = np.sqrt(left)
            for i in range(d):
                base[rank, i] /= corner[rank, rank]
            rank += 1
    for j in range(moving.shape[0]):
        for i in range(d):
            rest[j, i] = moving[j, i]
        for b in range(rank):
            remove(rest[j], base[b])
    return True


@compiled
def remove(vector: Floats, unit: Floats) -> float:
    """Take a unit vector's part out of a vector; returns its size."""
    share = 0.0
    for i in range(unit.shape[0]):
        share += vector[i] * unit[i]
    for i in range(unit.shape[0]):
        vector[i] -= share * unit[i]
    return share


@compiled
def smallest(face: int, rest: Floats, gram: Floats, vectors: Floats, trial: Floats) -> float:
    """Smallest eigenvalue of the face's Gram matrix, with its vector in ``trial``; infinite if the signs differ."""
    n, d, size = rest.shape[0], rest.shape[1], 0
    for i in range(n):
        if face >> i & 1:
            other = 0
            for j in range(i + 1):
                if face >> j & 1:
                    total = 0.0
                    for k in range(d):
                        total += rest[i, k] * rest[j, k]
                    gram[size, other] = gram[other, size] = total
                    other += 1
            size += 1
    diagonalise(gram[:size, :size], vectors[:size, :size])
    low = 0
    for i in range(size):
        if gram[i, i] < gram[low, low]:
            low = i
    total = 0.0
    for i in range(size):
        total += vectors[i, low]
    place = 0
    for i in range(n):
        if face >> i & 1:
            share = vectors[place, low] if total > 0.0 else -vectors[place, low]
            if share < -SIGN:
                return np.inf
            trial[i] = max(share, 0.0)
            place += 1
    value: float = max(gram[low, low], 0.0)
    return value


@compiled
def diagonalise(matrix: Floats, vectors: Floats) -> None:
    """Jacobi's method for a few rows: eigenvalues on the diagonal, eigenvectors in the columns.

    4.7 times as fast as ``np.linalg.eigh`` in compiled code with 2 rows, 2.8 times with 3, and as fast with 5
    (``python -m bench gaps``); a face has at most L + 1.
    """
    n = matrix.shape[0]
    for i in range(n):
        for j in range(n):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(30):
        off, size = 0.0, 0.0
        for i in range(n):
            size += matrix[i, i] ** 2
            for j in range(i):
                off += matrix[i, j] ** 2
        if off <= 1e-32 * size:
            return
        for p in range(n - 1):
            for q in range(p + 1, n):
                if matrix[p, q] != 0.0:
                    rotate(p, q, matrix, vectors)


@compiled
def rotate(p: int, q: int, matrix: Floats, vectors: Floats) -> None:
    """Make entry (p, q) zero."""
    theta = (matrix[q, q] - matrix[p, p]) / (2.0 * matrix[p, q])
    t = (1.0 if theta >= 0.0 else -1.0) / (abs(theta) + np.sqrt(theta * theta + 1.0))
    c = 1.0 / np.sqrt(t * t + 1.0)
    s = t * c
    for k in range(matrix.shape[0]):
        a, b = matrix[k, p], matrix[k, q]
        matrix[k, p], matrix[k, q] = c * a - s * b, s * a + c * b
    for k in range(matrix.shape[0]):
        a, b = matrix[p, k], matrix[q, k]
        matrix[p, k], matrix[q, k] = c * a - s * b, s * a + c * b
        a, b = vectors[k, p], vectors[k, q]
        vectors[k, p], vectors[k, q] = c * a - s * b, s * a + c * b


@compiled
def complete(chosen: int, moving: Floats, fixed: Floats, base: Floats, corner: Floats, trial: Floats) -> bool:
    """Weights of the chosen fixed columns, by substitution; whether none is negative."""
    n, d, rank = moving.shape[0], moving.shape[1], 0
    for f in range(fixed.shape[0]):
        rank += chosen >> f & 1
    row = rank - 1
    for f in range(fixed.shape[0] - 1, -1, -1):
        if chosen >> f & 1:
            right = 0.0
            for j in range(n):
                for i in range(d):
                    right -= trial[j] * moving[j, i] * base[row, i]
            later = rank - 1
            for g in range(fixed.shape[0] - 1, f, -1):
                if chosen >> g & 1:
                    right -= corner[row, later] * trial[n + g]
                    later -= 1
            weight = right / corner[row, row]
            if weight < -SIGN:
                return False
            trial[n + f] = max(weight, 0.0)
            row -= 1
    return True


@compiled
def alone(chosen: int, fixed: Floats) -> bool:
    """Whether the chosen fixed columns, which are dependent, balance without any move."""
    d, size = fixed.shape[1], 0
    for f in range(fixed.shape[0]):
        size += chosen >> f & 1
    if size < 2:
        return False
    rows, right, column = np.empty((d, size - 1)), np.zeros(d), 0
    for f in range(fixed.shape[0]):
        if chosen >> f & 1:
            if column < size - 1:
                rows[:, column] = fixed[f]
            else:
                right -= fixed[f]
            column += 1
    found = np.linalg.lstsq(rows, right)[0]
    missed = right.copy()
    for i in range(size - 1):
        if found[i] < -SIGN:
            return False
        missed -= found[i] * rows[:, i]
    return bool(np.sum(missed**2) <= SIGN * SIGN * np.sum(right**2))


@compiled
def at_threshold(
    columns: Integers,
    z: Floats,
    e: Floats,
    movable: int,
    up: Floats,
    stretch: Floats,
    threshold: float,
    sign: float,
) -> float:
    """Squared distance to an instance where these columns have a feasible mix on one side of a value.

    The mix is worth at most the threshold with ``sign`` one, at least the threshold with minus one. ``up``
    is the direction of the reward. A move of column j counts ``stretch[j]`` times its squared length.
    """
    d, total = z.shape[1], columns.shape[0]
    moving, fixed = np.empty((total, d)), np.empty((total + 1, d))
    n, k = 0, 0
    for i in range(total):
        j = columns[i]
        if j < movable:
            moving[n] = np.sqrt(stretch[j]) * (z[j] - threshold * e[j] * up)
            n += 1
        else:
            fixed[k] = z[j] - threshold * e[j] * up
            k += 1
    fixed[k] = sign * up
    return nearest(moving[:n], fixed[: k + 1], np.empty(n + k + 1))


@compiled
def holds(
    best: Integers,
    rival: Integers,
    z: Floats,
    e: Floats,
    movable: int,
    up: Floats,
    value: float,
    enough: float,
    most: int,
) -> bool:
    """Whether it is certain that the rival overtakes in no instance nearer than the squared gap ``enough``.

    Some threshold parts the values of the two bases. The distance of the optimal basis falls with the
    threshold and that of the rival rises, so that the ends of an interval of thresholds bound the sum
    inside. Intervals are halved, ``most`` times at most. Of a move that both bases share each counts one
    half, which makes the bound loose; without such moves it is sharp. ``value`` is the optimal value.
    """
    stretch = np.ones(z.shape[0])
    for i in range(best.shape[0]):
        for k in range(rival.shape[0]):
            if best[i] == rival[k]:
                stretch[best[i]] = 0.5
    step = 1e-3 * (1.0 + np.sqrt(enough))
    low = value
    for _ in range(200):
        low -= step
        step *= 2.0
        if at_threshold(best, z, e, movable, up, stretch, low, 1.0) >= enough:
            break
    stack = np.empty((most + 2, 4))
    stack[0, 0], stack[0, 1], stack[0, 2] = low, value, 0.0
    stack[0, 3] = at_threshold(rival, z, e, movable, up, stretch, low, -1.0)
    size, splits = 1, 0
    while size > 0:
        size -= 1
        low, high, ours, theirs = stack[size]
        if ours + theirs >= enough:
            continue
        if splits == most:
            return False
        splits += 1
        middle = 0.5 * (low + high)
        stack[size + 1, 0], stack[size + 1, 1], stack[size + 1, 2] = middle, high, ours
        stack[size + 1, 3] = at_threshold(rival, z, e, movable, up, stretch, middle, -1.0)
        stack[size, 0], stack[size, 1], stack[size, 3] = low, middle, theirs
        stack[size, 2] = at_threshold(best, z, e, movable, up, stretch, middle, 1.0)
        size += 2
    return True
