"""Compiled runs decide as the live search does, on the very same trials."""

import numba
import numpy as np
import pytest
from tests.kernels.states import LINKED

import bestmix as bm
from bestmix.kernels import jit
from bestmix.kernels.lanes import LANES

SIZES = [(1, 1, 0), (5, 5, 0), (6, 6, 1), (7, 4, 1), (5, 5, 2), (6, 3, 2), (5, 4, 3), (20, 18, 2), (45, 45, 1)]
RUNS, FEW = 12, 4
WIDE = {"reward": (-9, 15)}


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
SIDE_BY_SIDE = [bm.Challenger(), bm.Challenger(ranges=WIDE)]


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


def live(strategy, inst, budget, rng, runs):
    """Runs through ask and tell, drawing rows in the kernels' order: (answer, recommendation) of each."""
    size = LANES if strategy in SIDE_BY_SIDE else 1
    for first in range(0, runs, size):
        searches = [strategy.start(inst.problem, budget) for _ in range(size)]
        while sum(turn(search, inst, rng) for search in searches):
            pass
        for search in searches[: runs - first]:
            said, columns = search.recommend(safety=None), inst.problem.columns
            yield (tuple(sorted(columns.index(name) for name in said.basis)) if said.feasible else None), said


def turn(search, inst, rng):
    """A round of a search, if there is one left."""
    for arm, n in search.ask().items():
        table = inst.noise.tables[inst.problem.index(arm)]
        rows = table[[rng.integers(0, len(table)) for _ in range(n)]]
        search.tell(arm, rows[:, 0], rows[:, 1:])
    return bool(search.ask())


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
    for run, (expected, said) in enumerate(live(strategy, inst, budget, np.random.default_rng(3), RUNS)):
        assert pulls[run] == said.trials
        if expected is None:
            assert answer[run, 0] == -1
        elif len(expected) == 1 + costs:  # fewer only where the arms that are left span no basis
            assert tuple(answer[run]) == expected
            shares = [said.mixture.get(inst.problem.columns[j], 0.0) for j in expected if j < arms]
            np.testing.assert_allclose(weight[run][np.array(expected) < arms], shares, atol=1e-9)


@pytest.mark.parametrize("name", ["costs add up to one", "costs of 0 and 1"])  # whose means are exact in both
def test_what_varies_only_by_rounding_decides_nothing(name):
    """Sums of live trials are exact, and those of simulated ones are not: both find no variance where there is none."""
    inst, strategy = LINKED[name], bm.Challenger()
    budget, size = 15 * len(inst.arms), 1 + len(inst.bound)
    answer, weight = np.zeros((RUNS, size), dtype=np.int64), np.zeros((RUNS, size))
    strategy.replicator(inst, budget)(np.random.default_rng(3), answer, weight, np.zeros(RUNS, dtype=np.int64))
    for run, (expected, _) in enumerate(live(strategy, inst, budget, np.random.default_rng(3), RUNS)):
        assert tuple(answer[run]) == ((-1, 0, 0) if expected is None else expected)


@pytest.mark.usefixtures("for_the_instance")
@pytest.mark.parametrize(("strategy", "size"), [("sfsr", (6, 6, 1)), ("challenger", (5, 5, 2))])
def test_runs_compiled_for_the_instance_alone_equal_live_runs(strategy, size):
    test_compiled_runs_equal_live_runs(strategy, size, "binary")


@pytest.mark.parametrize("options", [{}, {"confidence": 0.6}])
@pytest.mark.parametrize("size", [(5, 5, 0), (7, 4, 1), (5, 5, 2)])
def test_runs_with_ranges_equal_live_runs(size, options):
    """The kernels in plain Python, where an arm pays one time in 30: nothing to compile."""
    arms, unknown, costs = size
    old = instance(arms, unknown, costs, "continuous", seed=arms)
    tables = list(old.noise.tables)
    tables[0] = np.c_[np.where(np.arange(30) == 7, 15.0, 0.0), tables[0][:, 1:]]
    means = np.array([t.mean(axis=0) for t in tables])
    noise = bm.noise.Empirical(tables)
    inst = bm.Instance(means[:, 0], means[:, 1:].T, old.bound, noise=noise, known=arms - unknown)
    budget, python, chances = 12 * unknown + 7, jit.speed_for(0), []
    for strategy in (bm.Challenger(**options, ranges=WIDE), bm.Challenger(**options)):
        answer, weight = np.zeros((FEW, 1 + costs), dtype=np.int64), np.zeros((FEW, 1 + costs))
        pulls, chance = np.zeros(FEW, dtype=np.int64), np.zeros(FEW)
        strategy.with_chances(inst, budget).call(python, np.random.default_rng(3), answer, weight, pulls, chance)
        for run, (expected, said) in enumerate(live(strategy, inst, budget, np.random.default_rng(3), FEW)):
            assert pulls[run] == said.trials
            assert (answer[run, 0] == -1) if expected is None else (tuple(answer[run]) == expected)
        chances.append(chance)
    assert not np.array_equal(*chances)
