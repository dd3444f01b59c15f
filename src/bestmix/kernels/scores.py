"""The paper's two score functions on scaled columns, and the choice of the column to reject.

Scores are filled into a caller's array. Of the columns whose scores are equal within rounding the last one
that has no weight in the optimum is rejected: arms listed first are preferred and slacks, which stand
last, go first, but never the mix that the round itself would recommend, nor a column without which there is no basis.
"""

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import bases, columns, pairs, simplex, triples
from bestmix.kernels.columns import MORE_COSTS, ONE_COST, OVER_40, OVER_64, TWO_COSTS, Program
from bestmix.kernels.jit import borrowing, compiled, inlined, plain
from bestmix.kernels.simplex import Basis

TIE = 1e-11  # scores of scaled columns closer than this count as equal
EXACT, BOUND, CLIMBED, LIFTED = 0, 1, 2, 3
NOBODY = -1  # instead of a column


@compiled
def loser(program: Program, score: Floats) -> int:
    """Position of the column to reject: of those that tie for the lowest score, the last without weight in the optimum.

    It should leave columns that make a basis, or no later round would find one. The last of all where each has weight.
    The optimum is looked for from a cold start, and only in a tie.
    """
    return loser_with(simplex.new_basis(program.u.shape[1]), program, score)


@borrowing
def loser_with(trial: Basis, program: Program, score: Floats) -> int:
    """``loser`` in the space of a basis."""
    limit, last, tied = tie_limit(score, TIE), plain(0), 0
    for j in range(score.shape[0]):
        ties = score[j] <= limit
        last, tied = j if ties else last, tied + ties
    return last if tied < 2 else loser_of_tie(trial, program, score, last, limit)


@borrowing
def loser_of_tie(basis: Basis, program: Program, score: Floats, last: int, limit: float) -> int:
    """``loser`` where several columns have scores up to the limit, ``last`` being the last of them."""
    m = program.u.shape[1] + 1
    simplex.forget(basis)
    if simplex.maximise(program, basis) != simplex.OPTIMAL:
        return last
    weights = simplex.weights(basis)
    found = NOBODY
    for j in range(last, -1, -1):
        row = plain(NOBODY)
        for i in range(m):
            if basis.column[i] == j:
                row = i
        if score[j] <= limit and (row == NOBODY or weights[row] <= TIE):
            if row == NOBODY or replaceable(program, basis, row):
                return j
            found = max(found, j)
    return found if found != NOBODY else last


@borrowing
def replaceable(program: Program, basis: Basis, row: int) -> bool:
    """Whether another column can take the place of a row's one in the basis."""
    inverse, m = simplex.inverse(basis), basis.column.shape[0]
    for j in range(program.mu.shape[0]):
        entry, inside = inverse[row, m - 1] * program.e[j], False
        for i in range(m):
            inside = inside or basis.column[i] == j
            if i < m - 1:
                entry += inverse[row, i] * program.u[j, i]
        if not inside and abs(entry) > TIE:
            return True
    return False


@borrowing
def tie_limit(score: Floats, tie: float) -> float:
    """Scores up to this one tie for the lowest."""
    low = np.inf
    for j in range(score.shape[0]):
        low = score[j] if score[j] < low else low
    return float(low + tie * (1.0 + abs(low)) if abs(low) < np.inf else low)


@borrowing
def last_lowest(score: Floats, tie: float) -> int:
    """Position of the lowest score; of those within ``tie`` of it the last one."""
    limit = tie_limit(score, tie)
    j = int(score.shape[0] - 1)
    while j > 0 and not score[j] <= limit:
        j -= 1
    return j


@compiled
def intersection_values(
    program: Program, basis: Basis, tableau: Floats, wanted: int, score: Floats, state: Integers
) -> int:
    """Intersection value scores, exact at least for the ``wanted`` lowest; returns a simplex status.

    The optimal basis gives its members the optimal value, which no score exceeds. One pivot brings
    any other column into a feasible basis, whose value bounds that column's score from below. The
    column with the lowest bound climbs from its basis to better ones that keep it, which lifts the
    bounds of all columns met on the way; a column that is lowest all the same is then evaluated
    over all of its bases, until it is seen not to be among the lowest. Where no basis is feasible
    every score is minus infinity, and only there: one pivot carries any column into a feasible one.

    ``state`` receives EXACT where the score is exact, and otherwise how the bound was obtained.
    """
    trial = simplex.new_basis(basis.column.shape[0] - 1)
    return intersection_values_with(trial, program, basis, tableau, wanted, score, state)


@borrowing
def intersection_values_with(
    trial: Basis, program: Program, basis: Basis, tableau: Floats, wanted: int, score: Floats, state: Integers
) -> int:
    """``intersection_values`` in the space of another basis."""
    n, m = program.mu.shape[0], basis.column.shape[0]
    if ONE_COST and m == 2 and n <= pairs.FEW:
        fill(state, EXACT)
        return simplex.OPTIMAL if pairs.all_values(program, tableau, score) else simplex.INFEASIBLE
    if TWO_COSTS and m == 3 and n <= triples.FEW:
        fill(state, EXACT)
        return simplex.OPTIMAL if triples.all_values(program, tableau, score) else simplex.INFEASIBLE
    if ONE_COST and not OVER_40:  # all programs are small ones: what follows is not compiled
        return simplex.STALLED
    if TWO_COSTS and not OVER_64:  # of more than a few columns ``incumbents.py`` decides
        return simplex.STALLED
    return improve_bounds(program, basis, trial, tableau, wanted, score, state)


@borrowing
def improve_bounds(
    program: Program, basis: Basis, trial: Basis, tableau: Floats, wanted: int, score: Floats, state: Integers
) -> int:
    """``intersection_values`` of more than a few columns."""
    n, m, column = program.mu.shape[0], basis.column.shape[0], basis.column
    status = simplex.maximise(program, basis)
    for j in range(n):
        score[j], state[j] = -np.inf, EXACT if status != simplex.OPTIMAL else BOUND
    if status != simplex.OPTIMAL:
        return status
    value = simplex.prices(basis)[m - 1]
    for i in range(m):
        score[column[i]], state[column[i]] = value, EXACT
    if ONE_COST and m == 2:
        pairs.lift(column[0], program, score)
        pairs.lift(column[1], program, score)
    if TWO_COSTS and m == 3:
        triples.lift(program, simplex.inverse(basis), simplex.prices(basis), score)
    if MORE_COSTS and m > 3:
        neighbours(program, basis, plain(NOBODY), score)
    pending = False  # a basis has been found whose neighbours are still to be looked at
    for _ in range(3 * n):
        j, limit = lowest_open(score, state, wanted)
        if j < 0:
            break
        if pending:
            pending = False
            lift(program, trial, score)
        elif state[j] == BOUND and climbs(j, program, basis, trial, score):
            state[j] = CLIMBED
        else:
            score[j] = max(score[j], bases.best_through(j, program, tableau, limit, trial.column))
            state[j] = LIFTED if score[j] > limit else EXACT
            pending = trial.column[0] >= 0
    return status


@borrowing
def climbs(j: int, program: Program, basis: Basis, trial: Basis, score: Floats) -> bool:
    """``climb`` from a feasible basis where that is cheaper than an exact score; False elsewhere."""
    if MORE_COSTS or OVER_64:
        m = basis.column.shape[0]
        if m > 3 or (m == 3 and program.mu.shape[0] > triples.SOME):
            simplex.copy(basis, trial)
            climb(j, program, trial, score)
            return True
    return False


@inlined
def fill(state: Integers, value: int) -> None:
    """The same value for every column."""
    for j in range(state.shape[0]):
        state[j] = value


@borrowing
def lift(program: Program, basis: Basis, score: Floats) -> None:
    """Raise scores to the values of the bases one pivot away from a feasible one."""
    m = basis.column.shape[0]
    if ONE_COST and m == 2:
        pairs.lift(basis.column[0], program, score)
    elif simplex.restart(program, basis):
        simplex.set_prices(program, basis, simplex.VALUE)
        if TWO_COSTS and m == 3:
            triples.lift(program, simplex.inverse(basis), simplex.prices(basis), score)
        elif MORE_COSTS:
            neighbours(program, basis, plain(NOBODY), score)


@borrowing
def neighbours(program: Program, basis: Basis, kept: int, score: Floats) -> tuple[int, int]:
    """Raise each column's score to the value of the basis that it enters with one pivot.

    Returns the entering column and the leaving row of the best such pivot that keeps the basis
    column ``kept`` and improves the value; (-1, -1) if there is none. The basis is feasible, with
    its prices set.
    """
    u, e, inverse, price = program.u, program.e, simplex.inverse(basis), simplex.prices(basis)
    n, m = e.shape[0], basis.column.shape[0]
    value = price[m - 1]
    gain, column, row = TIE, NOBODY, NOBODY
    for j in range(n):
        d = simplex.reduced_cost(program, price, j)
        if d <= 0.0 and score[j] >= value:
            continue
        step, leaves = np.inf, -1
        for i in range(m):
            y = inverse[i, m - 1] * e[j]
            for l in range(m - 1):
                y += inverse[i, l] * u[j, l]
            if y > simplex.PIVOT:
                ratio = max(inverse[i, m - 1], 0.0) / y
                if ratio < step:
                    step, leaves = ratio, i
        if leaves >= 0:
            score[j] = max(score[j], value + step * d)
            if step * d > gain and basis.column[leaves] != kept:
                gain, column, row = step * d, j, leaves
    return column, row


@borrowing
def climb(j: int, program: Program, basis: Basis, score: Floats) -> None:
    """From a feasible basis go to one that contains column ``j``, then to better ones that keep it."""
    m = basis.column.shape[0]
    simplex.set_direction(program, j, basis)
    row = simplex.leaving(basis, plain(simplex.STEEPEST))
    column = j
    for _ in range(4 * m):
        if row < 0:
            return
        simplex.set_direction(program, column, basis)
        simplex.pivot(row, column, basis)
        simplex.set_prices(program, basis, simplex.VALUE)
        value = simplex.prices(basis)[m - 1]
        for member in basis.column:
            score[member] = max(score[member], value)
        column, row = neighbours(program, basis, j, score)


@borrowing
def lowest_open(score: Floats, state: Integers, wanted: int) -> tuple[int, float]:
    """Lowest score that is only a bound and may be among the ``wanted`` lowest, and their limit.

    The limit is the ``wanted``-th lowest exact score so far: a score above it is of no interest.
    Returns -1 when the lowest scores are exact.
    """
    n = score.shape[0]
    j, limit, exact = -1, np.inf, 0
    for k in range(n):
        if state[k] == EXACT:
            limit, exact = min(limit, score[k]), exact + 1
        elif j < 0 or score[k] < score[j]:
            j = k
    if exact < wanted:
        return j, np.inf
    for _ in range(1, wanted):
        following = np.inf
        for k in range(n):
            if state[k] == EXACT and limit < score[k] < following:
                following = score[k]
        limit = following
    limit += TIE * (1.0 + abs(limit))
    return (-1 if j < 0 or score[j] > limit else j), limit


@borrowing
def lagrangian(program: Program, scale: Floats, basis: Basis, score: Floats) -> int:
    """Reduced costs of the optimal basis, in units of the reward spread; a simplex status.

    A slack's is its shadow price per unit of the unscaled cost, because the paper compares it with
    the arms' rewards as they are.
    """
    u, e = program.u, program.e
    n, m = e.shape[0], basis.column.shape[0]
    status = simplex.maximise(program, basis)
    for j in range(n):
        score[j] = -np.inf
    if status != simplex.OPTIMAL and status != simplex.DEFICIENT:
        return status
    price = simplex.prices(basis)
    for j in range(n):
        d = min(simplex.reduced_cost(program, price, j), 0.0)
        if e[j] == 0.0:
            for l in range(m - 1):
                if u[j, l] != 0.0:
                    d /= scale[2 + l]
        score[j] = d
    for j in basis.column:
        if j >= 0:
            score[j] = 0.0
    return simplex.OPTIMAL


@compiled
def worst_alone(means: Floats, bound: Floats, arms: Integers, score: Floats) -> int:
    """Position of the arm that is worst on its own; ``score`` receives rewards, minus infinity if infeasible.

    An infeasible arm is worse than a feasible one, and the worse the larger its largest violation,
    each cost measured against the largest distance of one of the arms from its bound.
    """
    n = arms.shape[0]
    worst, size = 0.0, 0.0
    excess = np.zeros(n)
    for l in range(bound.shape[0]):
        spread = 0.0
        for j in range(n):
            spread = max(spread, abs(columns.above(means[arms[j], 1 + l], bound[l])))
        for j in range(n):
            over = columns.above(means[arms[j], 1 + l], bound[l])
            if over > columns.SMALLEST:
                excess[j] = max(excess[j], over / spread)
    for j in range(n):
        worst, size = max(worst, excess[j]), max(size, abs(means[arms[j], 0]))
        score[j] = means[arms[j], 0] if excess[j] == 0.0 else -np.inf
    if worst == 0.0:
        for j in range(n):
            excess[j] = score[j] / size if size > 0.0 else 0.0
        return last_lowest(excess, TIE)
    for j in range(n):
        excess[j] = -excess[j]
    return last_lowest(excess, TIE)
