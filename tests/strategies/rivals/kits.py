"""Runs of rivals through ask and tell, and through their kernels as plain Python, on the very same trials."""

import numpy as np

import bestmix as bm

RUNS = 3


def instance(arms, unknown, costs, seed):
    """Trials drawn from tables, so that both can draw the same ones."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(0.2, 0.8, (arms, 1 + costs))
    tables = list(means[:, None] + 0.3 * rng.normal(size=(arms, 30, 1 + costs)))
    means = np.array([table.mean(axis=0) for table in tables])
    noise = bm.noise.Empirical(tables)
    return bm.Instance(means[:, 0], means[:, 1:].T, np.full(costs, 0.5), noise=noise, known=arms - unknown)


def run_kernel(strategy, inst, budget, seed=3):
    """Answers and trials of a few runs of the kernel, not compiled."""
    bound = strategy.replicator(inst, budget)
    answer, weight = np.zeros((RUNS, 1 + len(inst.bound)), dtype=np.int64), np.zeros((RUNS, 1 + len(inst.bound)))
    pulls = np.zeros(RUNS, dtype=np.int64)
    with np.errstate(all="ignore"):
        bound.kernel(np.random.default_rng(seed), *bound.arguments, answer, weight, pulls)
    return answer, pulls


def run_live(strategy, inst, budget, rng):
    """Answer and trials of one run through ask and tell, which draws rows in the kernels' order."""
    search = strategy.start(inst.problem, budget)
    while owed := search.ask():
        for arm, n in owed.items():
            table = inst.noise.tables[inst.problem.index(arm)]
            rows = table[[rng.integers(0, len(table)) for _ in range(n)]]
            search.tell(arm, rows[:, 0], rows[:, 1:])
    said, names = search.recommend(safety=None), inst.problem.columns
    return tuple(sorted(names.index(name) for name in said.basis)) if said.feasible else None, search


def check_same(strategy, size, budget):
    """Kernel and live search decide the same on the same trials."""
    inst = instance(*size, seed=size[0])
    answer, pulls = run_kernel(strategy, inst, budget)
    rng = np.random.default_rng(3)
    for run in range(RUNS):
        expected, search = run_live(strategy, inst, budget, rng)
        assert pulls[run] == search.trials
        if expected is None:
            assert answer[run, 0] == -1
        elif len(expected) == 1 + len(inst.bound):
            assert tuple(answer[run]) == expected
