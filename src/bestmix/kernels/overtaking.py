"""How far an instance is from one in which another basis overtakes the optimal one (eq. deltaJ).

In an alternative instance the optimal basis I has weights x, a rival J has weights y, and J's value is
at least I's. For given weights these conditions are linear in the moves of the arms, so that the
cheapest moves have a closed form. With z_j = (mu_j, u_j) and S_a the covariance of arm a:

    rho = (sum x u, sum y u, sum (x - y) mu + surplus)       what the moves must cancel, 2 L + 1 entries
    M   = sum over movable arms of A_a S_a A_a'              A_a: how a move of arm a changes rho
    F(x, y) = rho' M^-1 rho                                  the squared gap is its minimum over x, y >= 0

The gradient is twice the product of a multiplier with the moved column. Weights are squares of free
variables, those of the arms of a basis normalised to a sum of one, so that any descent method serves.

Columns are (K + L, 1 + L), reward first; the arms before ``movable`` can be moved; ``e`` is one for arms.
The variables are those of I, those of J, and the surplus: 2 m + 1 of them, m = L + 1.
"""

import numpy as np

from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels.jit import compiled

RIDGE = 1e-13  # share of M's largest entry that is added to its diagonal, where no arm can move
STEPS = 200
FLAT = 1e-9  # a gradient below this share of the value ends the descent
ARMIJO = 1e-4


@compiled
def weights(free: Floats, columns: Integers, e: Floats, weight: Floats) -> float:
    """Weights of a basis from its free variables; returns the total by which arms were divided."""
    total = 0.0
    for i in range(columns.shape[0]):
        if e[columns[i]] != 0.0:
            total += free[i] * free[i]
    for i in range(columns.shape[0]):
        square = free[i] * free[i]
        weight[i] = square / total if e[columns[i]] != 0.0 else square
    return total


@compiled
def residual(z: Floats, best: Integers, rival: Integers, x: Floats, y: Floats, surplus: float, rho: Floats) -> None:
    """What the moves must cancel."""
    m = best.shape[0]
    costs = m - 1
    rho[:] = 0.0
    rho[2 * costs] = surplus
    for i in range(m):
        for l in range(costs):
            rho[l] += x[i] * z[best[i], 1 + l]
            rho[costs + l] += y[i] * z[rival[i], 1 + l]
        rho[2 * costs] += x[i] * z[best[i], 0] - y[i] * z[rival[i], 0]


@compiled
def join(best: Integers, rival: Integers, x: Floats, y: Floats, movable: int, arms: Integers, both: Floats) -> int:
    """Movable arms of the two bases, each once, with their weights in I and in J; returns how many."""
    m, size = best.shape[0], 0
    for i in range(m):
        if best[i] < movable:
            arms[size], both[size, 0], both[size, 1] = best[i], x[i], 0.0
            size += 1
    for i in range(m):
        if rival[i] < movable:
            place = -1
            for k in range(size):
                if arms[k] == rival[i]:
                    place = k
            if place < 0:
                place = size
                arms[place], both[place, 0] = rival[i], 0.0
                size += 1
            both[place, 1] = y[i]
    return size


@compiled
def respond(p: float, q: float, costs: int, multiplier: Floats, answer: Floats) -> None:
    """A_a' times the multiplier, for an arm with weights p in I and q in J."""
    answer[0] = (p - q) * multiplier[2 * costs]
    for l in range(costs):
        answer[1 + l] = p * multiplier[l] + q * multiplier[costs + l]


@compiled
def fill(size: int, arms: Integers, both: Floats, covariance: Floats, costs: int, matrix: Floats) -> None:
    """M, with its ridge."""
    n = 2 * costs + 1
    matrix[:] = 0.0
    for k in range(size):
        p, q = both[k, 0], both[k, 1]
        s = covariance[arms[k]]
        for l in range(costs):
            for h in range(costs):
                matrix[l, h] += p * p * s[1 + l, 1 + h]
                matrix[l, costs + h] += p * q * s[1 + l, 1 + h]
                matrix[costs + l, costs + h] += q * q * s[1 + l, 1 + h]
            matrix[l, n - 1] += p * (p - q) * s[1 + l, 0]
            matrix[costs + l, n - 1] += q * (p - q) * s[1 + l, 0]
        matrix[n - 1, n - 1] += (p - q) * (p - q) * s[0, 0]
    largest = 0.0
    for i in range(n):
        largest = max(largest, matrix[i, i])
    for i in range(n):
        matrix[i, i] += RIDGE * largest + 1e-300
        for k in range(i):
            matrix[i, k] = matrix[k, i]


@compiled
def factor_and_solve(matrix: Floats, right: Floats, answer: Floats) -> None:
    """Solve a small positive definite system by Cholesky's method; overwrites the matrix.

    4.4 times as fast as ``np.linalg.solve`` in compiled code with 3 rows, 3.2 times with 5 (``python -m bench gaps``),
    and a matrix that rounding has made singular still has an answer.
    """
    n = right.shape[0]
    for i in range(n):
        for k in range(i + 1):
            total = matrix[i, k]
            for h in range(k):
                total -= matrix[i, h] * matrix[k, h]
            if i == k:
                matrix[i, i] = np.sqrt(max(total, 1e-300))
            else:
                matrix[i, k] = total / matrix[k, k]
    for i in range(n):
        total = right[i]
        for h in range(i):
            total -= matrix[i, h] * answer[h]
        answer[i] = total / matrix[i, i]
    for i in range(n - 1, -1, -1):
        total = answer[i]
        for h in range(i + 1, n):
            total -= matrix[h, i] * answer[h]
        answer[i] = total / matrix[i, i]


@compiled
def workspace(costs: int) -> Floats:
    """Space for one evaluation."""
    return np.empty((8 * costs + 20, 2 * costs + 3))


@compiled
def distance(
    free: Floats,
    z: Floats,
    e: Floats,
    covariance: Floats,
    movable: int,
    best: Integers,
    rival: Integers,
    held: Flags,
    work: Floats,
    moved: Floats,
    gradient: Floats,
) -> float:
    """F at the free variables; fills the moves of all columns (K + L, 1 + L) and the gradient.

    ``held`` says whether I and whether J keep the weights that they have. Only the rows of the two bases are written
    in ``moved``; clear them before another rival.
    """
    m = best.shape[0]
    costs = m - 1
    n = 2 * costs + 1
    x, y = work[0, :m], work[1, :m]
    rho, multiplier, answer = work[2, :n], work[3, :n], work[4, :m]
    matrix, both = work[5 : 5 + n, :n], work[5 + n : 5 + n + 2 * m, :2]
    arms = np.empty(2 * m, dtype=np.int64)
    total_x = weights(free[:m], best, e, x)
    total_y = weights(free[m : 2 * m], rival, e, y)
    surplus = free[2 * m] * free[2 * m]
    residual(z, best, rival, x, y, surplus, rho)
    size = join(best, rival, x, y, movable, arms, both)
    fill(size, arms, both, covariance, costs, matrix)
    factor_and_solve(matrix, rho, multiplier)
    for k in range(size):
        respond(both[k, 0], both[k, 1], costs, multiplier, answer)
        for i in range(m):
            total = 0.0
            for h in range(m):
                total -= covariance[arms[k], i, h] * answer[h]
            moved[arms[k], i] = total
    descend(best, 0, x, total_x, 1.0, z, e, multiplier, moved, free, gradient)
    descend(rival, m, y, total_y, -1.0, z, e, multiplier, moved, free, gradient)
    gradient[2 * m] = 4.0 * free[2 * m] * multiplier[n - 1]
    for i in range(m):
        if held[0]:
            gradient[i] = 0.0
        if held[1]:
            gradient[m + i] = 0.0
    value = 0.0
    for i in range(n):
        value += rho[i] * multiplier[i]
    return value


@compiled
def descend(
    columns: Integers,
    first: int,
    weight: Floats,
    total: float,
    sign: float,
    z: Floats,
    e: Floats,
    multiplier: Floats,
    moved: Floats,
    free: Floats,
    gradient: Floats,
) -> None:
    """Gradient with respect to the free variables of one basis."""
    m = columns.shape[0]
    costs = m - 1
    offset = 0 if sign > 0.0 else costs
    mean = 0.0
    for i in range(m):
        j = columns[i]
        slope = sign * multiplier[2 * costs] * (z[j, 0] + moved[j, 0])
        for l in range(costs):
            slope += multiplier[offset + l] * (z[j, 1 + l] + moved[j, 1 + l])
        gradient[first + i] = 2.0 * slope
        if e[j] != 0.0:
            mean += weight[i] * 2.0 * slope
    for i in range(m):
        if e[columns[i]] != 0.0:
            gradient[first + i] = 2.0 * free[first + i] / total * (gradient[first + i] - mean)
        else:
            gradient[first + i] *= 2.0 * free[first + i]


@compiled
def minimise(
    free: Floats,
    z: Floats,
    e: Floats,
    covariance: Floats,
    movable: int,
    best: Integers,
    rival: Integers,
    held: Flags,
    work: Floats,
    moved: Floats,
) -> float:
    """Descend from ``free``, which is overwritten, by BFGS; ``moved`` receives the moves.

    145 times as fast as ``scipy.optimize.minimize`` with two costs (``python -m bench gaps``), which calls Python at
    every step.
    """
    n = free.shape[0]
    gradient, trial, slope = np.empty(n), np.empty(n), np.empty(n)
    inverse, step, change, image = np.zeros((n, n)), np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        inverse[i, i] = 1.0
    value = distance(free, z, e, covariance, movable, best, rival, held, work, moved, gradient)
    for count in range(STEPS):
        down = 0.0
        for i in range(n):
            step[i] = 0.0
            for k in range(n):
                step[i] -= inverse[i, k] * gradient[k]
            down += step[i] * gradient[i]
        if not down < -FLAT * FLAT * value:
            break
        length = 1.0
        if count == 0:
            square = 0.0
            for i in range(n):
                square += step[i] * step[i]
            length = min(1.0, 0.3 / np.sqrt(square))
        reached = np.inf
        while length > 1e-12:
            for i in range(n):
                trial[i] = free[i] + length * step[i]
            reached = distance(trial, z, e, covariance, movable, best, rival, held, work, moved, slope)
            if reached <= value + ARMIJO * length * down:
                break
            length *= 0.3
        if not reached < value:
            break
        curved, size = 0.0, 0.0
        for i in range(n):
            change[i] = slope[i] - gradient[i]
            step[i] *= length
            curved += change[i] * step[i]
        for i in range(n):
            image[i] = 0.0
            for k in range(n):
                image[i] += inverse[i, k] * change[k]
            size += image[i] * change[i]
        settled = value - reached < 1e-15 * value
        value = reached
        for i in range(n):
            free[i], gradient[i] = trial[i], slope[i]
        if settled:
            break
        if curved > 0.0:
            for i in range(n):
                for k in range(n):
                    inverse[i, k] += (
                        (1.0 + size / curved) * step[i] * step[k] - image[i] * step[k] - step[i] * image[k]
                    ) / curved
    return distance(free, z, e, covariance, movable, best, rival, held, work, moved, gradient)


@compiled
def search(
    z: Floats,
    e: Floats,
    covariance: Floats,
    movable: int,
    best: Integers,
    share: Floats,
    rivals: Integers,
    shares: Floats,
    held: Flags,
    value: Floats,
    moved: Floats,
) -> None:
    """The nearest instance found in which each rival (rivals, m) overtakes, from several starts.

    ``share`` (m,) are the weights of the optimal basis, ``shares`` (rivals, m) those of the rivals. A basis without
    a movable arm is ``held`` (rivals, 2) at its weights. ``value`` (rivals,) receives the squared gaps,
    ``moved`` (rivals, 2 m, 1 + L) the moves of the columns of the optimal basis and of the rival.
    """
    m = best.shape[0]
    work, moves = workspace(m - 1), np.zeros((z.shape[0], m))
    start = np.empty(2 * m + 1)
    for r in range(rivals.shape[0]):
        rival = rivals[r]
        value[r] = np.inf
        for attempt in range((m + 1) * (m + 1)):
            begin(attempt, share, shares[r], held[r], start)
            start[2 * m] = np.sqrt(lead(z, e, best, rival, start))
            found = minimise(start, z, e, covariance, movable, best, rival, held[r], work, moves)
            if found < value[r]:
                value[r] = found
                for i in range(m):
                    for k in range(m):
                        moved[r, i, k] = moves[best[i], k]
                        moved[r, m + i, k] = moves[rival[i], k]
            for i in range(m):
                moves[best[i]] = 0.0
                moves[rival[i]] = 0.0


@compiled
def begin(attempt: int, share: Floats, other: Floats, held: Flags, start: Floats) -> None:
    """Free variables of a start: I at its true weights or mostly at one column, J even or mostly at one column."""
    m = share.shape[0]
    ours, theirs = attempt % (m + 1), attempt // (m + 1)
    for i in range(m):
        x = share[i] + 0.02 if ours == m else (1.0 if ours == i else 0.2)
        y = 1.0 / m if theirs == m else (1.0 if theirs == i else 0.2)
        start[i] = np.sqrt(share[i] if held[0] else x)
        start[m + i] = np.sqrt(other[i] if held[1] else y)


@compiled
def lead(z: Floats, e: Floats, best: Integers, rival: Integers, start: Floats) -> float:
    """By how much J's mix is ahead of I's at the start, and at least a little."""
    m = best.shape[0]
    x, y = np.empty(m), np.empty(m)
    weights(start[:m], best, e, x)
    weights(start[m : 2 * m], rival, e, y)
    ahead = 0.0
    for i in range(m):
        ahead += y[i] * z[rival[i], 0] - x[i] * z[best[i], 0]
    return max(ahead, 0.01)
