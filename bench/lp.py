"""The linear program against SciPy's HiGHS."""

from functools import partial

import numpy as np
from scipy.optimize import OptimizeResult, linprog

from bench.timing import Figure, fastest, shown
from bestmix.problems.solution import Solution, solve_means

TITLE = "Linear program: solve_means against scipy.optimize.linprog(method='highs')"


def measure(quick: bool) -> list[Figure]:
    many = 10_000 if quick else 100_000
    return [*compare(many, 10, 20.0, quick), *compare(1_000, 3, None, quick)]


def compare(arms: int, costs: int, target: float | None, quick: bool) -> list[Figure]:
    means, bound = program(arms, costs)
    ours = partial(solve_means, means, bound)
    check(ours(), highs(means, bound))
    actions = [ours, partial(highs, means, bound), partial(highs_on_the_dual, means, bound)]
    mine, other, dual = fastest(actions, rounds=2 if quick else 3, least=0.05)
    what = f"K = {arms:,}, L = {costs}"
    note = f"{shown(mine)} against {shown(other)}, same value and support"
    return [
        Figure(what, other / mine, target=target, note=note),
        Figure(f"{what}, the dual given to HiGHS", dual / mine, note=f"{shown(dual)}: its quickest way"),
    ]


def program(arms: int, costs: int) -> tuple[np.ndarray, np.ndarray]:
    """Costs around their bounds, and rewards that rise with them."""
    rng = np.random.default_rng(1)
    cost = rng.uniform(0.5, 1.6, (arms, costs))
    reward = cost.mean(axis=1) + 0.2 * rng.standard_normal(arms)
    return np.column_stack([reward, cost]), np.ones(costs)


def highs(means: np.ndarray, bound: np.ndarray) -> OptimizeResult:
    return linprog(-means[:, 0], A_ub=means[:, 1:].T, b_ub=bound, A_eq=np.ones((1, len(means))), b_eq=[1.0])


def highs_on_the_dual(means: np.ndarray, bound: np.ndarray) -> OptimizeResult:
    """Least bound.y + v with cost_j.y + v >= reward_j and y >= 0: as many rows as arms, few columns."""
    rows = np.column_stack([means[:, 1:], np.ones(len(means))])
    limits = [(0.0, None)] * len(bound) + [(None, None)]
    return linprog(np.r_[bound, 1.0], A_ub=-rows, b_ub=-means[:, 0], bounds=limits)


def check(ours: Solution, theirs: OptimizeResult) -> None:
    assert ours.feasible
    assert theirs.status == 0
    assert abs(ours.value + theirs.fun) <= 1e-7 * abs(theirs.fun)
    assert np.flatnonzero(ours.mixture > 1e-9).tolist() == np.flatnonzero(theirs.x > 1e-9).tolist()
