import numpy as np
import pytest
from tests import naive

from bestmix import Instance, Known, Problem, Uniform
from bestmix.answers.certainty import support_probability, z_scores
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.problems.solution import solve_means


def evidence_of(instance, pulls, seed):
    rng = np.random.default_rng(seed)
    moments = [Moments(instance.means.shape[1]) for _ in instance.problem.arms]
    for a, m in enumerate(moments):
        m.add(instance.draw(a, pulls[a], rng))
    return Evidence(instance.problem, moments)


def conditions(means, bound, basis):
    """Weight of each column of the basis, and minus the reduced cost of every other column."""
    arms, costs = len(means), len(bound)
    u = np.vstack([means[:, 1:] - bound, np.eye(costs)])
    matrix = np.column_stack([u, np.r_[np.ones(arms), np.zeros(costs)]]).T
    mu = np.r_[means[:, 0], np.zeros(costs)]
    price = np.linalg.solve(matrix[:, basis].T, mu[list(basis)])
    result = matrix.T @ price - mu
    result[list(basis)] = np.linalg.solve(matrix[:, basis], np.r_[np.zeros(costs), 1.0])
    return result


@pytest.mark.parametrize(("costs", "known"), [(0, 0), (1, 0), (1, 2), (2, 0), (2, 1), (3, 1)])
def test_z_scores_are_the_conditions_over_their_standard_errors(costs, known):
    """The standard errors by numerical differentiation of every condition in every mean.

    Where a weight is zero only the other arms of the basis bear on it, with their shares among themselves.
    """
    rng = np.random.default_rng([costs, known])
    instance = Instance(rng.normal(size=6), rng.normal(size=(costs, 6)), rng.normal(0.3, 0.2, costs), known=known)
    evidence = evidence_of(instance, rng.integers(5, 40, 6 - known), seed=1)
    means, bound = evidence.means, evidence.problem.bound
    solution = solve_means(means, bound)
    assert solution.feasible
    value, variance = conditions(means, bound, solution.basis), np.zeros(6 + costs)
    for a in range(6 - known):
        gradient = np.empty((6 + costs, 1 + costs))
        for i in range(1 + costs):
            step = np.zeros_like(means)
            step[a, i] = 1e-6
            ends = [conditions(means + s * step, bound, solution.basis) for s in (1, -1)]
            gradient[:, i] = (ends[0] - ends[1]) / 2e-6
        if a in solution.basis:
            gradient[a] = 0.0
            for j in solution.basis:
                gradient[j] /= 1.0 - solution.mixture[j] if j < 6 and j != a else 1.0
        variance += (
            np.einsum("ji,ik,jk->j", gradient, evidence.support_estimates.covariances[a], gradient) / evidence.counts[a]
        )
    z = z_scores(evidence, solution)
    sure = variance < 1e-12  # conditions on which no trial bears
    np.testing.assert_allclose(z[~sure], (value / np.sqrt(np.where(sure, 1, variance)))[~sure], rtol=1e-5)
    assert np.isinf(z[sure]).all()


def same(evidence, solution):
    """The kernel's z-scores, which are those of plain NumPy."""
    z = z_scores(evidence, solution)
    np.testing.assert_allclose(z, naive.z_scores(evidence, solution), rtol=1e-7, atol=1e-9)
    return z


@pytest.mark.parametrize("seed", range(12))
def test_z_scores_of_any_columns_and_with_untried_arms_are_those_of_plain_numpy(seed):
    rng = np.random.default_rng(seed)
    costs, known = int(rng.integers(0, 4)), int(rng.integers(0, 3))
    instance = Instance(rng.normal(size=7), rng.normal(size=(costs, 7)), rng.normal(0.5, 0.2, costs), known=known)
    pulls = rng.integers(2, 40, 7 - known)
    pulls[0] = 0  # an arm without trials
    evidence = evidence_of(instance, pulls, seed)
    restricted = 0
    for size in range(1 + costs, 7 + costs):
        usable = np.sort(rng.choice(evidence.tried, size, replace=False))
        if not (usable < 7).any():
            continue
        solution = solve_means(evidence.means, instance.bound, usable)
        if solution.status == "optimal":
            z = same(evidence, solution)
            assert np.isnan(z[0])
            restricted += (z[1:] < 0).any()  # a column that was left out would improve the answer
        else:
            assert z_scores(evidence, solution) is None
    assert restricted or costs > 1


def test_the_error_of_each_condition_is_as_large_as_its_z_score_says():
    # 600 runs: a sample deviation has a standard error of 3%; allowed 15%, five of them (false alarms
    # in fewer than 1 of 100,000 runs, and the seeds are fixed).
    instance = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=0.3, sigma_cost=0.2)
    values, errors = [], []
    for seed in range(600):
        evidence = evidence_of(instance, [200] * 3, seed)
        solution = solve_means(evidence.means, instance.bound)
        value = conditions(evidence.means, instance.bound, solution.basis)
        value[:2] = np.abs(
            evidence.means[1::-1, 1] - 1.0
        )  # the weight of an arm is zero when the other is at the bound
        values.append(value)
        errors.append(values[-1] / z_scores(evidence, solution))
    np.testing.assert_allclose(np.mean(errors, axis=0), np.std(values, axis=0), rtol=0.15)


def test_the_probability_is_near_one_with_many_trials_and_fair_with_few():
    # With 60 trials an arm the support is right in a share of runs that the estimate should match on
    # average: 300 runs, standard error below 0.03, allowed 0.1 for the approximation.
    instance = Instance([1.7, 2.6, 2.28], [[0.0, 1.8, 1.3]], [1.0], sigma_reward=0.3, sigma_cost=0.2)
    right, said = [], []
    for seed in range(300):
        evidence = evidence_of(instance, [60] * 3, seed)
        solution = solve_means(evidence.means, instance.bound)
        right.append(solution.basis == (0, 1))
        said.append(support_probability(z_scores(evidence, solution)))
    assert 0.55 < np.mean(right) < 0.99
    assert np.mean(said) == pytest.approx(np.mean(right), abs=0.1)
    evidence = evidence_of(instance, [20_000] * 3, seed=1)
    assert support_probability(z_scores(evidence, solve_means(evidence.means, instance.bound))) > 0.999


def test_what_cannot_be_said_is_none():
    instance = Instance([1.0, 2.0], [[0.0, 2.0]], [1.0])
    one_each = evidence_of(instance, [1, 1], 0)
    assert z_scores(one_each, solve_means(one_each.means, instance.bound)) is None
    infeasible = Instance([1.0, 2.0], [[5.0, 6.0]], [0.0], sigma_cost=0.1)
    evidence = evidence_of(infeasible, [9, 9], 0)
    assert z_scores(evidence, solve_means(evidence.means, infeasible.bound)) is None
    assert support_probability(None) is None
    assert support_probability(np.array([1.0, np.nan])) is None
    assert support_probability(np.array([0.0, np.inf])) == 0.5


def test_an_arm_without_trials_leaves_the_probability_open():
    search = Uniform().start(Problem(["a", "b"], {"x": 1.0}, {"k": Known(1.0, {"x": 0.0})}), 20)
    search.tell("a", [1.0, 2.0, 3.0], [[0.5], [0.7], [0.1]])
    answer = search.recommend()
    assert answer.support_probability is None
    assert answer.to_dict()["z_scores"]["b"] is None


def test_data_without_any_spread_are_certain():
    search = Uniform().start(Problem(["a", "b"], {"x": 1.0}), 12)
    search.tell("a", [1.0] * 6, [[0.0]] * 6)
    search.tell("b", [2.0] * 6, [[2.0]] * 6)
    answer = search.recommend()
    assert answer.mixture == {"a": 0.5, "b": 0.5}
    assert answer.support_probability == 1.0


def priced(costs, rewards, n=100, noisy_costs=False):
    """Evidence of arms at these prices, with noisy rewards."""
    rng = np.random.default_rng(3)
    moments = []
    for reward, cost in zip(rewards, costs, strict=True):
        spread = rng.normal(0, 0.1, (n, 2))
        rows = np.column_stack([reward + spread[:, 0], np.full(n, cost) + noisy_costs * spread[:, 1]])
        rows -= rows.mean(axis=0) - [reward, cost] if noisy_costs else [[rows[:, 0].mean() - reward, 0.0]]
        moments.append(Moments(2))
        moments[-1].add(rows)
    return Evidence(Problem([f"a{i}" for i in range(len(costs))], {"dollars": 1.0}), moments)


def chance_of(evidence):
    solution = solve_means(evidence.means, evidence.problem.bound)
    return solution, support_probability(z_scores(evidence, solution))


def test_an_arm_of_known_price_exactly_at_its_bound_does_not_halve_the_chance():
    solution, chance = chance_of(priced([1.0, 0.5, 1.9], [1.0, 0.5, 1.2]))
    assert solution.mixture.tolist() == [1.0, 0.0, 0.0]
    assert chance > 0.999


def test_a_noisy_cost_at_its_bound_leaves_it_open():
    _, chance = chance_of(priced([1.0, 0.5, 1.9], [1.0, 0.5, 1.2], noisy_costs=True))
    assert chance == pytest.approx(0.5, abs=0.02)


def test_a_dear_rival_still_counts_where_an_arm_is_at_its_bound():
    _, chance = chance_of(priced([1.0, 0.5, 1.5], [1.0, 0.5, 1.499]))
    assert 0.4 < chance < 0.7  # half of the first and half of the third, through the line from the second
