"""Conditions, exact distances and allocation, against plain NumPy and numerical search."""

import numpy as np
import pytest
from scipy import optimize

from bestmix import Instance, Solution, solve
from bestmix.certainty import z_scores
from bestmix.evidence import PRIOR, Evidence
from bestmix.kernels import challenge, simplex
from bestmix.moments import Moments

SIZES = [(1, 1, 0), (6, 6, 0), (6, 6, 1), (7, 4, 1), (6, 5, 2), (8, 8, 3)]


def told(instance, pulls, seed):
    rng = np.random.default_rng(seed)
    moments = [Moments(instance.means.shape[1]) for _ in instance.problem.arms]
    for a, m in enumerate(moments):
        m.add(instance.draw(a, pulls[a], rng))
    return Evidence(instance.problem, moments)


def random_instance(arms, unknown, costs, seed):
    rng = np.random.default_rng([arms, costs, seed])
    return Instance(
        rng.normal(size=arms), rng.normal(size=(costs, arms)), rng.normal(0.3, 0.2, costs), known=arms - unknown
    )


class State:
    """The arrays of the kernels for some evidence."""

    def __init__(self, evidence):
        problem = evidence.problem
        costs, n = len(problem.bounds), len(problem.columns) + 1
        self.counts = evidence.counts
        self.scatter = np.array([m.scatter() for m in evidence.moments]).reshape(-1, 1 + costs, 1 + costs)
        self.mu, self.u, self.e, self.scale = np.empty(n), np.empty((n, costs)), np.empty(n), np.empty(costs + 2)
        self.basis, self.work = np.full(1 + costs, -1), simplex.workspace(costs)
        self.pooled = np.empty((1 + costs, 1 + costs))
        self.gap, self.own, self.coefficient = np.empty(n), np.empty(n), np.empty((n, 1 + costs))
        program = self.mu, self.u, self.e, self.scale, self.basis, self.work
        self.status = challenge.solve(evidence.means, problem.bound, np.arange(n - 1), *program)
        challenge.pool(self.counts, self.scatter, self.scale, self.pooled)
        self.program = (*program, self.counts, self.scatter, self.pooled)
        self.terms = self.gap, self.own, self.coefficient
        challenge.conditions(*self.program, *self.terms)

    @property
    def z(self):
        return challenge.z_scores(*self.terms, self.basis, self.counts)


@pytest.mark.parametrize("size", SIZES)
def test_z_scores_are_those_of_the_recommendation(size):
    arms, unknown, costs = size
    compared = 0
    for seed in range(6):
        instance = random_instance(*size, seed)
        rng = np.random.default_rng(seed)
        evidence = told(instance, rng.integers(5, 60, unknown), seed)
        state = State(evidence)
        assert state.status == simplex.OPTIMAL
        solution = solve(Instance(evidence.means[:, 0], evidence.means[:, 1:].T, instance.bound))
        elastic = arms + costs in state.basis
        assert elastic == (not solution.feasible)
        if not elastic:
            np.testing.assert_allclose(state.z[:-1], z_scores(evidence, solution), rtol=1e-7, atol=1e-9)
            compared += 1
    assert compared >= 2


def nearest(state, j, row):
    """Smallest weighted squared move of the means at which the condition of column j fails, by search."""
    basis, m = state.basis, len(state.basis)
    noisy = len(state.counts)
    members = [basis[i] for i in range(m) if i != row] + ([j] if row < 0 else [])
    freedom = np.maximum(state.counts - 1, 0)
    covariance = (state.scatter + PRIOR * state.pooled) / (freedom + PRIOR)[:, None, None]
    scale = np.r_[state.scale[1], state.scale[2:]]

    def total(price):
        direction = np.r_[1.0 if row < 0 else 0.0, -price[: m - 1]] / scale
        result = 0.0
        for a in members:
            miss = (state.mu[a] if row < 0 else 0.0) - price[: m - 1] @ state.u[a]
            miss -= price[m - 1] * state.e[a] if row < 0 else 0.0
            variance = direction @ covariance[a] @ direction / state.counts[a] if a < noisy else 0.0
            result += miss**2 / (variance + 1e-9 * direction @ (PRIOR * state.pooled) @ direction * (a >= noisy))
        return result

    start = state.work[m + 1].copy() if row < 0 else state.work[row].copy()
    rng = np.random.default_rng(0)
    starts = [start + s * rng.normal(size=m) * (0.1 + np.abs(start)) for s in (0.0, 0.01, 0.1, 0.3)]
    options = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 8000, "maxfev": 8000}
    return min(optimize.minimize(total, x, method="Nelder-Mead", options=options).fun for x in starts)


@pytest.mark.parametrize("size", [(5, 5, 1), (6, 6, 2)])
def test_distances_are_those_of_the_nearest_means(size):
    instance = random_instance(*size, 1)
    state = State(told(instance, [400] * size[0], 3))
    checked = 0
    for j in range(size[0] + size[2]):
        row = int(np.flatnonzero(state.basis == j)[0]) if j in state.basis else -1
        found = challenge.distance(j, row, *state.program)
        if row >= 0 and np.isinf(found):
            continue
        expected = nearest(state, j, row)
        assert found == pytest.approx(expected, rel=0.02)
        checked += 1
    assert checked >= 4


def test_distances_agree_with_z_scores_when_there_are_many_trials():
    """Linearising is exact in the limit: with a million trials the two differ by little near the boundary."""
    instance = Instance([1.7, 2.6, 2.098], [[0.0, 1.8, 0.8]], [1.0])
    state = State(told(instance, [1_000_000, 1_000_000, 1_000_000], 0))
    assert challenge.distance(2, -1, *state.program) == pytest.approx(state.z[2] ** 2, rel=0.02)


def test_pooled_covariance_without_two_trials_is_the_spread_of_the_arms():
    state = State(told(random_instance(4, 4, 1, 0), [1] * 4, 0))
    np.testing.assert_allclose(np.diag(state.pooled), state.scale[1:] ** 2)
    assert np.isfinite(state.z[:-1]).any()


@pytest.mark.parametrize("size", SIZES)
def test_chunks_go_where_the_gradient_is_largest(size):
    _, unknown, _ = size
    state = State(told(random_instance(*size, 2), [20] * unknown, 5))
    arm, reason = np.empty(challenge.CHUNKS, dtype=np.int64), np.empty(challenge.CHUNKS, dtype=np.int64)
    owed = np.empty(unknown, dtype=np.int64)
    trials = state.counts.astype(float)
    chunks = challenge.allocate(*state.terms, state.basis, state.counts, 95, arm, reason, owed)
    assert chunks == 10
    assert owed.sum() == 95
    coefficients = np.zeros((len(state.gap), unknown))  # of each condition, by arm
    for i, a in enumerate(state.basis):
        if a < unknown:
            coefficients[:, a] += state.coefficient[:, i]
    coefficients[np.arange(unknown), np.arange(unknown)] += state.own[:unknown]
    for k in range(chunks):
        spread = (coefficients / trials).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(spread > 0, state.gap / np.sqrt(spread), np.inf)
            worth = np.where(spread > 0, np.exp(-(z**2 - z.min() ** 2) / 2) / ((1 + z) * spread), 0.0)
        if k >= 8:
            worth[np.argmin(z)] = 0.0
        gain = worth @ coefficients / trials**2
        assert gain[arm[k]] >= gain.max() * (1 - 1e-6)
        if gain.max() > 0:
            assert worth[reason[k]] * coefficients[reason[k], arm[k]] > 0
        trials[arm[k]] += 5 if k == 9 else 10
    np.testing.assert_array_equal(trials - state.counts, owed)


def test_an_infeasible_problem_doubts_its_infeasibility():
    instance = Instance([1.0, 2.0], [[1.3, 1.5]], [1.0], sigma_cost=0.5)
    state = State(told(instance, [50, 50], 0))
    assert state.status == simplex.OPTIMAL
    assert 3 in state.basis
    assert 1.0 < state.z[3] < 10.0
    assert isinstance(solve(instance), Solution)


def test_first_rounds_and_sizes_never_pass_the_budget():
    for settings in ((0.1, 30, 0.0, 0.0), (0.5, 3, 0.0, 0.0), (0.1, 30, 0.05, 0.0), (0.1, 30, 0.0, 0.05)):
        for unknown in (1, 3, 24):
            for budget in (unknown, unknown + 1, 4 * unknown, 1000, 10_001):
                spent = unknown * challenge.first_pulls(budget, unknown, settings)
                assert unknown <= spent <= budget
                while size := challenge.round_size(budget, unknown, spent, settings):
                    spent += size
                assert spent == budget
    assert challenge.first_pulls(100, 0, (0.1, 30, 0.0, 0.0)) == 0
    assert challenge.round_size(100, 0, 0, (0.1, 30, 0.0, 0.0)) == 0
