"""The best value over the feasible bases that contain a given column (eq. IVscore).

The given column and L - 2 more are eliminated from the rows one after another (a prefix); then one
row is left, and every pair of columns with opposite signs on it completes a basis. After the
elimination a column's entry on a prefix row is minus the weight it puts on that prefix column, and
its mu and e are net of those weights, so that a pair is tested and valued by additions alone.

Columns come scaled and must span all rows (``simplex.maximise`` says so). A column that depends on
the prefix closes a degenerate solution: it has the same value in every basis that completes it.
"""

import numpy as np

from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels import pairs, triples
from bestmix.kernels.columns import MORE_COSTS, ONE_COST, TWO_COSTS, Program
from bestmix.kernels.jit import borrowing, compiled, plain
from bestmix.kernels.triples import SIGN, ZERO


@compiled
def workspace(costs: int, columns: int) -> Floats:
    """Space that the scores need: a tableau for each prefix and the two sides of the pairs."""
    extra = triples.space(columns) if costs == 2 else 0
    return np.empty((max(costs, 1) + 3 + extra, costs + 2, columns))


@borrowing
def best_through(a: int, program: Program, tableau: Floats, enough: float, basis: Integers) -> float:
    """Largest value of a feasible basis that contains column ``a``; minus infinity if none.

    With two costs or more the search ends early, with a value found above ``enough``.
    ``basis`` (L + 1,) receives the basis of that value, or -1 first where a degenerate solution has it.
    """
    basis[0] = -1
    costs = program.u.shape[1]
    if costs == 0:
        value: float = program.mu[a]
        return value
    if ONE_COST and costs == 1:
        return pairs.best_through(a, program, tableau[0, 0], basis)
    if TWO_COSTS and costs == 2:
        return triples.best_through(a, program, tableau, enough, basis)
    if MORE_COSTS:
        return search_from(a, program, tableau, enough, basis)
    return -np.inf


@borrowing
def search_from(a: int, program: Program, tableau: Floats, enough: float, basis: Integers) -> float:
    """``best_through`` for any number of costs."""
    mu, u, e = program
    costs = u.shape[1]
    for j in range(u.shape[0]):
        # A column may be scaled freely: one that is tiny beside an outlier keeps its sign.
        size = 0.0
        for l in range(costs):
            size = max(size, abs(u[j, l]))
        scale = 1.0 / size if size > 0.0 else 1.0
        for l in range(costs):
            tableau[0, l, j] = scale * u[j, l]
        tableau[0, costs, j] = scale * mu[j]
        tableau[0, costs + 1, j] = scale * e[j]
    return search(a, u.shape[0], tableau, enough, basis)


@compiled
def search(a: int, n: int, tableau: Floats, enough: float, basis: Integers) -> float:
    """Depth first over the prefixes that start with ``a`` and go on in ascending order."""
    costs = tableau.shape[1] - 2
    prefix, row_of = np.full(costs, -1), np.full(costs, -1)
    used = np.zeros(costs, dtype=np.bool_)
    best = -np.inf
    prefix[0] = a
    depth, start = plain(0), plain(-1)
    while True:
        # Here prefix[depth] is a fresh choice: eliminate it, then pair, go deeper, or move on.
        best, row = eliminate(prefix[depth], n, depth, row_of, used, tableau, best, basis)
        if row >= 0:
            row_of[depth], used[row] = row, True
            if depth == costs - 2:
                best = pair_up(start, a, n, depth + 1, prefix, row_of, used, tableau, best, enough, basis)
            elif can_balance(start, a, n, depth + 1, used, tableau):
                depth += 1
                prefix[depth] = start
                # the next column after `start` is taken below
                row_of[depth] = -1
        if best > enough:
            return best
        # Advance the deepest prefix column; drop it when it has run out.
        while depth >= 0:
            if row_of[depth] >= 0:
                used[row_of[depth]] = False
                row_of[depth] = -1
            if depth == 0:
                return best
            following = prefix[depth] + 1
            if following == a:
                following += 1
            if following < n:
                prefix[depth] = following
                start = following
                break
            depth -= 1
            start = prefix[depth] if depth > 0 else -1
        if depth < 0:
            return best


@borrowing
def eliminate(
    column: int, n: int, depth: int, row_of: Integers, used: Flags, tableau: Floats, best: float, basis: Integers
) -> tuple[float, int]:
    """Eliminate a column from the tableau at ``depth`` into the next; returns (best, its row).

    A column that depends on the prefix has no row (-1); it may close a degenerate solution.
    """
    costs = tableau.shape[1] - 2
    old, new = tableau[depth], tableau[depth + 1]
    row, size = -1, ZERO
    for r in range(costs):
        if not used[r] and abs(old[r, column]) > size:
            row, size = r, abs(old[r, column])
    if row < 0:
        return close(column, depth, row_of, old, best, basis), -1
    for j in range(n):
        new[row, j] = old[row, j] / old[row, column]
    for r in range(costs + 2):
        if r != row:
            factor = old[r, column]
            if factor == 0.0:
                for j in range(n):
                    new[r, j] = old[r, j]
            else:
                for j in range(n):
                    new[r, j] = old[r, j] - factor * new[row, j]
    return best, row


@borrowing
def close(column: int, depth: int, row_of: Integers, tableau: Floats, best: float, basis: Integers) -> float:
    """Value of the solution that a dependent column forms with the prefix, if no weight is negative."""
    costs = tableau.shape[0] - 2
    for d in range(depth):
        if tableau[row_of[d], column] > SIGN:
            return best
    total = tableau[costs + 1, column]
    if total > ZERO and tableau[costs, column] > best * total:
        best, basis[0] = tableau[costs, column] / total, -1
    return best


@borrowing
def can_balance(start: int, a: int, n: int, depth: int, used: Flags, tableau: Floats) -> bool:
    """Whether the columns after ``start`` have both signs, or a zero, on every row still open."""
    costs = tableau.shape[1] - 2
    for r in range(costs):
        if not used[r]:
            plus, minus = False, False
            for j in range(start + 1, n):
                if j != a:
                    plus = plus or tableau[depth, r, j] >= -ZERO
                    minus = minus or tableau[depth, r, j] <= ZERO
            if not (plus and minus):
                return False
    return True


@borrowing
def pair_up(
    start: int,
    a: int,
    n: int,
    depth: int,
    prefix: Integers,
    row_of: Integers,
    used: Flags,
    tableau: Floats,
    best: float,
    enough: float,
    basis: Integers,
) -> float:
    """Best value over the pairs of columns after ``start`` that complete the prefix."""
    costs = tableau.shape[1] - 2
    table, left, right = tableau[depth], tableau[costs + 1], tableau[costs + 2]
    last = 0
    while used[last]:
        last += 1
    plus, minus = 0, 0
    for j in range(start + 1, n):
        entry = table[last, j]
        if j == a:
            continue
        if abs(entry) <= ZERO:
            best = close(j, depth, row_of, table, best, basis)
        else:
            side = left if entry > 0.0 else right
            k = plus if entry > 0.0 else minus
            inverse = 1.0 / abs(entry)
            for d in range(depth):
                weight = table[row_of[d], j]
                side[d, k] = (weight - SIGN * (1.0 + abs(weight))) * inverse
            side[costs - 1, k] = j
            side[costs, k] = table[costs, j] * inverse
            side[costs + 1, k] = table[costs + 1, j] * inverse
            if entry > 0.0:
                plus += 1
            else:
                minus += 1
    for i in range(plus):
        for k in range(minus):
            if left[0, i] + right[0, k] <= 0.0:
                total = left[costs + 1, i] + right[costs + 1, k]
                gain = left[costs, i] + right[costs, k]
                if total > 0.0 and gain > best * total:
                    fits = True
                    for d in range(1, depth):
                        fits = fits and left[d, i] + right[d, k] <= 0.0
                    if fits:
                        best = gain / total
                        for d in range(depth):
                            basis[d] = prefix[d]
                        basis[depth], basis[depth + 1] = int(left[costs - 1, i]), int(right[costs - 1, k])
                        if best > enough:
                            return best
    return best
