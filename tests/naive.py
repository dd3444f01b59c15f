"""The paper in plain Python: slow, and obviously right. Every kernel answers to it.

The linear program is the paper's own (eq. SFLP): the columns of A are an arm's costs over a one, or
a unit vector over a zero for a slack; b is the bounds over a one. Everything exact is in Fractions.
The functions that end in ``_float`` are the same in floats, with NumPy's or SciPy's solvers.

An instance is ``means``, one (reward, *costs) row for each arm, and ``bound``. Trials are, for each
unknown arm, the sequence of (reward, *costs) rows that its pulls will give, in order.
"""

import math
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import linprog

INFEASIBLE = -math.inf


class Run(NamedTuple):
    """Columns in order of rejection, the columns left (None: infeasible), and the pulls of each arm."""

    rejected: list[int]
    left: list[int] | None
    pulls: list[int]


# --- schedules -------------------------------------------------------------------------------------


def schedule(arms, unknown, costs, budget):
    """n_k for k = 1..K-1 (eq. Tk)."""
    psi = sum(Fraction(1, max(2, j - costs)) for j in range(1, unknown + 1))
    return [math.ceil(Fraction(budget - unknown) / (arms + 1 - k) / psi) if unknown else 0 for k in range(1, arms)]


def successive_rejects(trials, budget):
    """Successive Rejects (Audibert and Bubeck, 2010, figure 3), without costs: rejected arms, the best, pulls."""
    k_arms = len(trials)
    log_bar = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, k_arms + 1))
    alive, pulls, rejected = list(range(k_arms)), [0] * k_arms, []
    for k in range(1, k_arms):
        n_k = math.ceil((1 / log_bar) * Fraction(budget - k_arms, k_arms + 1 - k))
        for i in alive:
            pulls[i] = n_k
        mean = {i: sum(Fraction(x) for x in trials[i][:n_k]) / n_k for i in alive}
        worst = min(alive, key=lambda i: (mean[i], -i))
        alive.remove(worst)
        rejected.append(worst)
    return rejected, alive[0], pulls


def root_trials(amount, prices):
    """Uniform with money: one trial after another to the affordable arm with the lowest (n + 1) sqrt(price)."""
    pulls, left = [0] * len(prices), amount
    while open_ := [a for a, p in enumerate(prices) if p <= left + 1e-12 * amount]:
        a = min(open_, key=lambda a: ((pulls[a] + 1) * math.sqrt(prices[a]), a))
        pulls[a] += 1
        left -= prices[a]
    return pulls


def paid_rejects(amount, prices, costs, rejected):
    """SFSR with money: trials of each arm after each round but the last, given who is rejected in each."""
    arms, pulls, history = len(prices), [0] * len(prices), []
    alive = list(range(arms))
    for k in range(1, arms - 1):
        left = amount - sum(n * p for n, p in zip(pulls, prices, strict=True))
        paid = sum(pulls[a] * prices[a] for a in alive)
        roots = sorted((math.sqrt(prices[a]) for a in alive), reverse=True)
        c = (left + paid) / sum(b / max(2, j - costs) for j, b in enumerate(roots, start=1))
        for a in alive:
            pulls[a] = max(pulls[a], math.floor(c / ((arms + 1 - k) * math.sqrt(prices[a])) * (1 + 1e-12)))
        history.append(list(pulls))
        if rejected[k - 1] in alive:
            alive.remove(rejected[k - 1])
    return history


def paid_chunks(gap, terms, counts, prices, money, chunks=10, reserved=0.2):
    """Challenger's round with money: parts of it to the arm with the largest sum_j weight_j k_ja / (n_a^2 p_a)."""
    trials, given = [float(n) for n in counts], 0.0
    plan, first = [0] * len(prices), None
    while given < money * (1 - 1e-9):
        spread = [sum(k / n for k, n in zip(row, trials, strict=True)) for row in terms]
        square = [g * g / v if v > 0 else math.inf for g, v in zip(gap, spread, strict=True)]
        first = min(square) if first is None else first
        weight = [
            math.exp((first - q) / 2) / ((1 + math.sqrt(q)) * v) if v > 0 and q - first < 80 else 0.0
            for q, v in zip(square, spread, strict=True)
        ]
        if given / money >= 1 - reserved:
            weight[square.index(min(square))] = 0.0
        worth = [
            sum(w * row[a] for w, row in zip(weight, terms, strict=True)) / (trials[a] ** 2 * prices[a])
            for a in range(len(prices))
        ]
        a = worth.index(max(worth))
        some = max(1, int(min(money / chunks, money - given) / prices[a]))
        plan[a], trials[a], given = plan[a] + some, trials[a] + some, given + some * prices[a]
    return plan


# --- the linear program in exact arithmetic ----------------------------------------------------------


def program(means, bound):
    """(mu, columns of A, b), exactly."""
    mu = [Fraction(row[0]) for row in means] + [Fraction(0)] * len(bound)
    arms = [[*(Fraction(c) for c in row[1:]), Fraction(1)] for row in means]
    slacks = [[Fraction(int(i == l)) for i in range(len(bound))] + [Fraction(0)] for l in range(len(bound))]
    return mu, arms + slacks, [*(Fraction(x) for x in bound), Fraction(1)]


def gauss(rows, right):
    """Solution of a square system, or None when it is singular."""
    rows = [[*row, r] for row, r in zip(rows, right, strict=True)]
    n = len(rows)
    for i in range(n):
        pivot = next((r for r in range(i, n) if rows[r][i] != 0), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(n):
            if r != i and rows[r][i] != 0:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[i], strict=True)]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def feasible_bases(a, b, chosen):
    """Every (basis, weights) of a basic feasible solution that uses only the chosen columns."""
    for basis in combinations(chosen, len(b)):
        x = gauss([[a[j][i] for j in basis] for i in range(len(b))], b)
        if x is not None and min(x) >= 0:
            yield basis, x


def best_basis(means, bound, chosen=None):
    """(value, basis, weights) of a best basic feasible solution; None when there is none."""
    mu, a, b = program(means, bound)
    found = feasible_bases(a, b, range(len(mu)) if chosen is None else chosen)
    valued = [(sum(mu[j] * w for j, w in zip(basis, x, strict=True)), basis, x) for basis, x in found]
    return max(valued, key=lambda entry: entry[0], default=None)


def iv_scores(means, bound, chosen=None):
    """Intersection value score of each chosen column (eq. IVscore)."""
    mu, a, b = program(means, bound)
    chosen = range(len(mu)) if chosen is None else chosen
    score = dict.fromkeys(chosen, INFEASIBLE)
    for basis, x in feasible_bases(a, b, chosen):
        value = sum(mu[j] * w for j, w in zip(basis, x, strict=True))
        for j in basis:
            score[j] = max(score[j], value)
    return [score[j] for j in chosen]


def dual_solutions(means, bound, chosen=None):
    """For every basis that is feasible in the primal and the dual: (lambda, reduced cost of each column)."""
    mu, a, b = program(means, bound)
    chosen = range(len(mu)) if chosen is None else chosen
    found = []
    for basis, _ in feasible_bases(a, b, chosen):
        price = gauss([a[j] for j in basis], [mu[j] for j in basis])
        reduced = [mu[j] - sum(p * x for p, x in zip(price, a[j], strict=True)) for j in chosen]
        if max(reduced) <= 0:
            found.append((price, reduced))
    return found


def lagrangian_scores(means, bound, chosen=None):
    """Lagrangian scores by the first dual solution found; all minus infinity when there is none."""
    found = dual_solutions(means, bound, chosen)
    size = len(means) + len(bound) if chosen is None else len(chosen)
    return found[0][1] if found else [INFEASIBLE] * size


# --- strategies ------------------------------------------------------------------------------------


def last_lowest(scores):
    """Position of the lowest score; the last one of those that are equal."""
    return max(j for j, s in enumerate(scores) if s == min(scores))


def rank(rows):
    """Of a matrix, by elimination."""
    rows, found = [[Fraction(x) for x in row] for row in rows], 0
    for place in range(len(rows[0]) if rows else 0):
        pivot = next((k for k in range(found, len(rows)) if rows[k][place] != 0), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for k in range(found + 1, len(rows)):
            factor = rows[k][place] / rows[found][place]
            rows[k] = [x - factor * y for x, y in zip(rows[k], rows[found], strict=True)]
        found += 1
    return found


def spare(means, bound, chosen, weights):
    """How well each chosen column can be spared: 0 if it has weight, 1 if the others make no basis, else 2."""
    _, a, b = program(means, bound)
    others = [[a[k] for k in chosen if k != j] for j in chosen]
    return [0 if w > 0 else 1 + (rank(rows) == len(b)) for w, rows in zip(weights, others, strict=True)]


def loser(scores, spare):
    """Position of the column to reject: of the lowest scores the last of those that can be spared best."""
    return max((spare[j], j) for j, s in enumerate(scores) if s == min(scores))[1]


def exact_means(trials, pulls, known):
    """Means of the first pulls of each unknown arm, then the known means."""
    unknown = [
        [sum(Fraction(row[i]) for row in rows[:n]) / n for i in range(len(rows[0]))]
        for rows, n in zip(trials, pulls, strict=True)
    ]
    return unknown + [[Fraction(x) for x in row] for row in known]


def optimal_weights(means, bound, chosen):
    """Weight of each chosen column in the first best basis that is found; zeros when there is none."""
    best = best_basis(means, bound, chosen)
    weight = {} if best is None else dict(zip(best[1], best[2], strict=True))
    return [weight.get(j, 0) for j in chosen]


def sfsr(trials, known, bound, budget, scores=iv_scores, mean=exact_means, weights=optimal_weights):
    """Algorithm 1: reject a column a round until L + 1 are left, or no basis is feasible.

    Where scores tie, a column without weight in the round's optimum goes; among several optima ``weights`` decides.
    """
    unknown, arms = len(trials), len(trials) + len(known)
    left, pulls, rejected = list(range(arms + len(bound))), [0] * unknown, []
    for n_k in schedule(arms, unknown, len(bound), budget):
        for a in left:
            if a < unknown:
                pulls[a] = n_k
        means = mean(trials, pulls, known)
        score = scores(means, bound, left)
        if max(score) == INFEASIBLE:
            return Run(rejected, None, pulls)
        tied = score.count(min(score)) > 1  # exact fractions, which the twin in floats has to do without elsewhere
        spared = spare(means, bound, left, weights(means, bound, left)) if tied else [0] * len(left)
        rejected.append(left.pop(loser(score, spared)))
    return Run(rejected, left, pulls)


def uslp(trials, known, bound, budget, best=best_basis, mean=exact_means):
    """Uniform sampling, then the linear program: its basis, or None when infeasible."""
    pulls = [budget // len(trials)] * len(trials) if trials else []
    found = best(mean(trials, pulls, known), bound)
    return Run([], None if found is None else list(found[1]), pulls)


def single_arm(trials, known, bound, budget):
    """Successive rejects of single arms: the largest relative violation goes first, then the lowest reward."""
    unknown, arms = len(trials), len(trials) + len(known)
    left, pulls, rejected = list(range(arms)), [0] * unknown, []
    for n_k in schedule(arms, unknown, 0, budget):
        for a in left:
            if a < unknown:
                pulls[a] = n_k
        means = [exact_means(trials, pulls, known)[a] for a in left]
        excess = [[c - Fraction(b) for c, b in zip(row[1:], bound, strict=True)] for row in means]
        largest = [max(abs(row[l]) for row in excess) or 1 for l in range(len(bound))]
        worst = [max([x / m for x, m in zip(row, largest, strict=True)], default=0) for row in excess]
        score = [(0, -w) if w > 0 else (1, row[0]) for w, row in zip(worst, means, strict=True)]
        rejected.append(left.pop(last_lowest(score)))
    return Run(rejected, left, pulls)


# --- the same in floats ----------------------------------------------------------------------------


def program_float(means, bound):
    """(mu, A, b) as arrays."""
    means, bound = np.asarray(means, dtype=float), np.asarray(bound, dtype=float)
    costs = len(bound)
    mu = np.r_[means[:, 0], np.zeros(costs)]
    a = np.block([[means[:, 1:].T, np.eye(costs)], [np.ones((1, len(means))), np.zeros((1, costs))]])
    return mu, a, np.r_[bound, 1.0]


def iv_scores_float(means, bound, chosen=None):
    """``iv_scores`` with NumPy's solver, one basis after another."""
    mu, a, b = program_float(means, bound)
    chosen = range(len(mu)) if chosen is None else chosen
    score = dict.fromkeys(chosen, INFEASIBLE)
    for basis in combinations(chosen, len(b)):
        try:
            x = np.linalg.solve(a[:, basis], b)
        except np.linalg.LinAlgError:
            continue
        if x.min() >= 0:
            value = mu[list(basis)] @ x
            for j in basis:
                score[j] = max(score[j], value)
    return [score[j] for j in chosen]


def lagrangian_scores_float(means, bound, chosen=None):
    """``lagrangian_scores`` from SciPy's dual solution."""
    mu, a, b = program_float(means, bound)
    chosen = list(range(len(mu)) if chosen is None else chosen)
    found = linprog(-mu[chosen], A_eq=a[:, chosen], b_eq=b)
    if found.status != 0:
        return [INFEASIBLE] * len(chosen)
    return list(mu[chosen] + a[:, chosen].T @ found.eqlin.marginals)


def best_basis_float(means, bound):
    """``best_basis`` from SciPy's solver; the basis is the columns with a positive weight."""
    mu, a, b = program_float(means, bound)
    found = linprog(-mu, A_eq=a, b_eq=b)
    if found.status != 0:
        return None
    return -found.fun, tuple(np.flatnonzero(found.x > 1e-9).tolist()), found.x


def float_means(trials, pulls, known):
    """``exact_means`` in floats."""
    return [np.mean(rows[:n], axis=0) for rows, n in zip(trials, pulls, strict=True)] + list(known)


def sfsr_float(trials, known, bound, budget):
    """The plain-Python twin of SFSR."""
    return sfsr(trials, known, bound, budget, iv_scores_float, float_means)


def sfsr_lagrangian_float(trials, known, bound, budget):
    """The plain-Python twin of SFSR-L."""
    return sfsr(trials, known, bound, budget, lagrangian_scores_float, float_means)


def uslp_float(trials, known, bound, budget):
    """The plain-Python twin of USLP."""
    return uslp(trials, known, bound, budget, best_basis_float, float_means)


# --- conditions -----------------------------------------------------------------------------------


def blended_covariances(evidence, prior=5.0, unlikely=1e-6, limits=False):
    """Covariance of a trial of each arm (K, 1 + L, 1 + L): its own and ``prior`` trials' worth of the pooled one.

    A deviation of the pool counts as at most the one with which so little scatter would be seen with the chance
    ``unlikely``; in full for values of 0 and 1, and where there is no scatter at all. For ``limits`` at least as 5
    times the arm's own variance, and more where that is large beside the mean, as it is with skewed values; arms with
    more trials are in the pool as if they had as many as the arm; and the fewer these are next to the most, the more
    its own deviation counts where it is the larger one.
    """
    scatters, freedom = np.array([m.scatter() for m in evidence.moments]), np.maximum(evidence.counts - 1, 0)
    result = np.zeros((len(evidence.means), *scatters.shape[1:]))
    for a, (own, f) in enumerate(zip(scatters, freedom, strict=True)):
        pool, size = np.zeros(own.shape), 0
        for other, g in zip(scatters, freedom, strict=True):
            count = min(g, max(f, 1)) if limits else g
            pool, size = pool + (other / g * count if g else 0.0), size + count
        pool = pool / size
        scale = np.ones(len(pool))
        for i in range(len(pool)):
            if own[i, i] > 0 and pool[i, i] > 0 and not evidence.events[a, i]:
                largest = own[i, i] / stats.chi2.ppf(unlikely, f)
                if limits:
                    v = min(math.sqrt(own[i, i] / f) / abs(evidence.means[a, i]), 1.5)
                    times = (3 * v + v**3) * (2.5 + 0.25 * math.sqrt(f + 1))
                    largest = max(largest, max(times, 15.0) * own[i, i] / f)
                scale[i] = min(1.0, math.sqrt(largest / pool[i, i]))
        result[a] = (own + prior * pool * np.outer(scale, scale)) / (f + prior)
        if limits and f:
            wider = [max(own[i, i] / f / result[a, i, i], 1.0) if result[a, i, i] else 1.0 for i in range(len(own))]
            wider = np.array(wider) ** (0.5 * (1 - f / freedom.max()))
            result[a] *= np.outer(wider, wider)
    return result


def item_correlations(results, counts, pairs=20.0):
    """Correlations of the means of different arms (K0, K0, R, R), pair by pair and item by item.

    ``results`` are rows by item, for each arm; ``counts`` all trials of each arm. The correlation of two arms' results
    on one item is blended with that of all pairs, as if that had been seen on ``pairs`` items; and that with none.
    """
    arms, rows = len(results), len(next(iter(results[0].values())))
    means = [np.mean(list(found.values()), axis=0) for found in results]
    spreads = [np.std(list(found.values()), axis=0) for found in results]
    own, shared = np.zeros((arms, arms, rows, rows)), np.zeros((arms, arms))
    for a in range(arms):
        for b in range(arms):
            both = sorted(results[a].keys() & results[b].keys())
            shared[a, b] = len(both)
            for i in range(rows):
                for j in range(rows):
                    pair = [
                        (results[a][t][i] - means[a][i]) * (results[b][t][j] - means[b][j])
                        for t in both
                        if spreads[a][i] > 0 and spreads[b][j] > 0
                    ]
                    if pair:
                        own[a, b, i, j] = sum(pair) / len(both) / (spreads[a][i] * spreads[b][j])
    own = np.clip(own, -1.0, 1.0)
    pool, weight = np.zeros((rows, rows)), pairs
    for a, b in combinations(range(arms), 2):
        pool += shared[a, b] * (own[a, b] + own[a, b].T) / 2
        weight += shared[a, b]
    result = np.zeros_like(own)
    for a in range(arms):
        for b in range(arms):
            if a != b:
                blended = (shared[a, b] * own[a, b] + pairs * pool / weight) / (shared[a, b] + pairs)
                result[a, b] = blended * shared[a, b] / math.sqrt(counts[a] * counts[b])
                result[a, b][
                    np.outer(spreads[a] == 0, np.ones(rows)) + np.outer(np.ones(rows), spreads[b] == 0) > 0
                ] = 0.0
    return result


def shared_z_scores(evidence, solution, correlations):
    """``z_scores`` with these correlations of the means: every variance is c' Cov c, Cov of all means at once."""
    problem, means, unknown = evidence.problem, evidence.means, len(evidence.counts)
    arms, costs = len(means), len(problem.bounds)
    rows = 1 + costs
    spread = blended_covariances(evidence)[:unknown] / evidence.counts[:, None, None]
    errors = np.sqrt(np.array([np.diag(s) for s in spread]))
    joint = np.zeros((unknown, rows, unknown, rows))
    for a in range(unknown):
        for b in range(unknown):
            joint[a, :, b] = spread[a] if a == b else correlations[a, b] * np.outer(errors[a], errors[b])
    joint = joint.reshape(unknown * rows, unknown * rows)
    columns = np.zeros((arms + costs, costs + 1))
    columns[:arms, :costs], columns[:arms, costs] = means[:, 1:] - problem.bound, 1.0
    columns[arms:, :costs] = np.eye(costs)
    reward = np.r_[means[:, 0], np.zeros(costs)]
    basis, z = list(solution.basis), np.empty(arms + costs)
    weight = solution.inverse[:, costs]
    for j in range(arms + costs):
        vector = np.zeros((unknown, rows))
        if j in basis:
            i = basis.index(j)
            gap = weight[i]
            for k, a in enumerate(basis):
                if k != i and a < unknown:
                    share = weight[k] / (1.0 - weight[i]) if j < arms else weight[k]
                    vector[a, 1:] = share * solution.inverse[i, :costs]
        else:
            gap = solution.value * columns[j, costs] + columns[j, :costs] @ solution.dual - reward[j]
            direction, coordinates = np.r_[1.0, -solution.dual], solution.inverse @ columns[j]
            if j < unknown:
                vector[j] += direction
            for k, a in enumerate(basis):
                if a < unknown:
                    vector[a] -= coordinates[k] * direction
        variance = vector.ravel() @ joint @ vector.ravel()
        z[j] = gap / math.sqrt(variance) if variance > 0 else math.inf
    return z


def z_scores(evidence, solution):
    """Distance of each column's condition from failing, in standard errors, from the unscaled inverse (K + L,)."""
    problem, means = evidence.problem, evidence.means
    arms, costs = len(means), len(problem.bounds)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = blended_covariances(evidence)
        spread[: len(evidence.counts)] /= evidence.counts[:, None, None]  # covariance of each mean
        columns = np.zeros((arms + costs, costs + 1))
        columns[:arms, :costs] = means[:, 1:] - problem.bound
        columns[:arms, costs] = 1.0
        columns[arms:, :costs] = np.eye(costs)
        basis = np.array(solution.basis)
        inside = [(i, a) for i, a in enumerate(basis) if a < arms]
        gap, variance = np.empty(arms + costs), np.zeros(arms + costs)
        # dual: d_j = mu_j - lambda.u_j - v e_j, with the noise of reward - lambda.cost
        direction = np.r_[1.0, -solution.dual]
        noise = np.einsum("i,aij,j->a", direction, spread, direction)
        reward = np.r_[means[:, 0], np.zeros(costs)]
        gap[:] = solution.value * columns[:, costs] + columns[:, :costs] @ solution.dual - reward
        coordinates = columns @ solution.inverse.T
        variance[:arms] = noise
        for i, a in inside:
            variance += coordinates[:, i] ** 2 * noise[a]
        # primal: x_i, with the noise of g_i.cost in the other arms of the basis, weighted as where x_i is zero
        weight = solution.inverse[:, costs]
        for i, column in enumerate(basis):
            g = solution.inverse[i, :costs]
            gap[column] = weight[i]
            share = weight / (1.0 - weight[i]) if column < arms else weight
            variance[column] = sum(share[k] ** 2 * (g @ spread[a, 1:, 1:] @ g) for k, a in inside if k != i)
        z = gap / np.sqrt(variance)
    z[(variance == 0) & (gap == 0)] = 0.0
    return z


# --- segments -------------------------------------------------------------------------------------


def dense_coefficients(state):
    """Terms k of each condition's variance (N, n), and what is fixed (N,): V_j = sum_a k_ja / n_a + fixed_j."""
    program, conditions = state.program, state.conditions
    n, limits = program.rows.shape
    k, fixed = np.zeros((n + 3 * limits, n)), np.zeros(n + 3 * limits)
    for j in range(n + 3 * limits):
        if j < n:
            k[j, j] += conditions.own[j]
            k[j, program.key[program.segment[j]]] += conditions.coefficient[j, 2 * limits]
        for c, slot in enumerate(conditions.slot):
            if 0 <= slot < n:
                k[j, slot] += conditions.coefficient[j, c]
        if conditions.row[j] >= 0:
            k[j] += conditions.term[conditions.row[j]]
            fixed[j] = conditions.fixed[conditions.row[j]]
    return k, fixed


def best_policy_float(means, bound, state, start, discount):
    """Value and shares of all steps of the best policy; means are (reward, *costs, P(next = s) for all states)."""
    costs, states = len(bound), len(start)
    after = means[:, 1 + costs :]
    flow = np.array([(state == s) - discount * after[:, s] for s in range(states)])
    limits = {"A_ub": means[:, 1 : 1 + costs].T, "b_ub": bound} if costs else {}
    found = linprog(-means[:, 0], A_eq=flow, b_eq=(1.0 - discount) * np.asarray(start), **limits)
    return -found.fun, found.x


# --- features --------------------------------------------------------------------------------------


def fitted(features, trials):
    """Means of all arms by least squares over single trials, exactly: features (K rows of d), trials of each arm.

    Returns the means (K rows of M), and H, what the mean of each arm's trials counts for each arm (K rows of K).
    """
    rows = [[Fraction(x) for x in row] for row in features]
    size = range(len(rows[0]))
    counts = [len(own) for own in trials]
    normal = [[sum(n * row[i] * row[j] for row, n in zip(rows, counts, strict=True)) for j in size] for i in size]
    inverse = inverted(normal)
    weights = [
        [
            sum(one[i] * inverse[i][j] * other[j] for i in size for j in size) * len(own)
            for other, own in zip(rows, trials, strict=True)
        ]
        for one in rows
    ]
    averages = [[sum(map(Fraction, column)) / len(own) for column in zip(*own, strict=True)] for own in trials]
    means = [
        [sum(w * average[m] for w, average in zip(row, averages, strict=True)) for m in range(len(averages[0]))]
        for row in weights
    ]
    return means, weights


def inverted(matrix):
    """The inverse of a matrix of Fractions, by Gauss and Jordan."""
    size = len(matrix)
    wide = [[*row, *(Fraction(int(i == j)) for j in range(size))] for i, row in enumerate(matrix)]
    for i in range(size):
        pivot = next(k for k in range(i, size) if wide[k][i])
        wide[i], wide[pivot] = wide[pivot], wide[i]
        wide[i] = [x / wide[i][i] for x in wide[i]]
        for k in range(size):
            if k != i:
                wide[k] = [x - wide[k][i] * y for x, y in zip(wide[k], wide[i], strict=True)]
    return [row[size:] for row in wide]
