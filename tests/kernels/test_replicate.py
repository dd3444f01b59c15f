"""Compiled runs decide as the live search does, on the very same trials."""

import numba
import numpy as np
import pytest

import bestmix as bm

SIZES = [(1, 1, 0), (5, 5, 0), (6, 6, 1), (7, 4, 1), (5, 5, 2), (6, 3, 2), (5, 4, 3), (20, 18, 2), (45, 45, 1)]
RUNS = 12


def flat(mu, u, e):
    """A score of one's own."""
    return mu - np.abs(u).sum(axis=1)


compiled_flat = numba.njit(flat)
STRATEGIES = {
    "sfsr": bm.SFSR(),
    "sfsr-l": bm.SFSR("lagrangian"),
    "function": bm.SFSR(flat),
    "compiled": bm.SFSR(compiled_flat),
    "uslp": bm.Uniform(),
    "single": bm.SingleArm(),
    "challenger": bm.Challenger(),
    "confident": bm.Challenger(confidence=0.6),
    "heuristic": bm.Challenger(heuristic_stop=0.5, rounds=4),
}


def instance(arms, unknown, costs, kind, seed):
    """Trials drawn from tables, so that the test can draw the same ones."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(0.2, 0.8, (arms, 1 + costs))
    size = (arms, 30, 1 + costs)
    tables = rng.random(size) < means[:, None] if kind == "binary" else means[:, None] + rng.normal(size=size)
    tables = list(tables.astype(float))
    means = np.array([t.mean(axis=0) for t in tables])
    bound = np.full(costs, 0.5)
    noise = bm.noise.Empirical(tables)
    return bm.Instance(means[:, 0], means[:, 1:].T, bound, noise=noise, known=arms - unknown)


def live(strategy, inst, budget, rng):
    """One run through ask and tell, drawing rows in the kernels' order: (answer, trials)."""
    search = strategy.start(inst.problem, budget)
    while owed := search.ask():
        for arm, n in owed.items():
            table = inst.noise.tables[inst.problem.index(arm)]
            rows = table[[rng.integers(0, len(table)) for _ in range(n)]]
            search.tell(arm, rows[:, 0], rows[:, 1:])
    said = search.recommend()
    columns = inst.problem.columns
    return (tuple(sorted(columns.index(name) for name in said.basis)) if said.feasible else None), said


@pytest.mark.parametrize("kind", ["binary", "continuous"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_compiled_runs_equal_live_runs(strategy, size, kind):
    strategy = STRATEGIES[strategy]
    arms, unknown, costs = size
    inst = instance(arms, unknown, costs, kind, seed=arms)
    budget = 12 * unknown + 7
    answer, weight = np.zeros((RUNS, 1 + costs), dtype=np.int64), np.zeros((RUNS, 1 + costs))
    pulls = np.zeros(RUNS, dtype=np.int64)
    strategy.replicator(inst, budget)(np.random.default_rng(3), answer, weight, pulls)
    rng = np.random.default_rng(3)
    for run in range(RUNS):
        expected, said = live(strategy, inst, budget, rng)
        assert pulls[run] == said.trials
        if expected is None:
            assert answer[run, 0] == -1
        elif len(expected) == 1 + costs:  # fewer only where the arms that are left span no basis
            assert tuple(answer[run]) == expected
            shares = [said.mixture.get(inst.problem.columns[j], 0.0) for j in expected if j < arms]
            np.testing.assert_allclose(weight[run][np.array(expected) < arms], shares, atol=1e-9)


def test_no_costs_is_successive_rejects():
    """Against an implementation of its own, for runs of Gaussian arms: the same law of the answer."""
    means, budget, runs = np.array([1.0, 0.8, 0.7, 0.5, 0.0]), 60, 4000
    inst = bm.Instance(means, sigma_reward=1.0)
    right = 1 - bm.simulate(inst, bm.SFSR(), budget, runs, seed=4).error_rate
    rng = np.random.default_rng(9)
    wins = 0
    arms = len(means)
    log = 0.5 + sum(1 / i for i in range(2, arms + 1))
    ends = [0] + [int(np.ceil((budget - arms) / log / (arms + 1 - k) - 1e-12)) for k in range(1, arms)]
    for _ in range(runs):
        left, total = list(range(arms)), np.zeros(arms)
        for k in range(1, arms):
            n = ends[k] - ends[k - 1]
            for a in left:
                total[a] += rng.normal(means[a], 1.0, n).sum()
            left.remove(min(left, key=lambda a: total[a]))
        wins += left == [0]
    # The difference of two proportions of 4,000 runs; 4.4 standard errors: false alarm 1e-5.
    error = np.sqrt(2 * right * (1 - right) / runs)
    assert abs(wins / runs - right) < 4.4 * error
