"""Problems that are awkward for an algorithm that estimates variances and trusts them.

Most are instances of the catalog with other noise, bounds or knowledge, so that only one thing is awkward
at a time. The budgets are those at which the strategies err in some 1% to 30% of the runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linprog

from bestmix import Challenger, Instance, catalog, noise, solve
from bestmix.problems.families import uniform_instance
from bestmix.problems.noise import Noise

HALF = 0.5  # what turns costs around 1 into probabilities


@dataclass(frozen=True, eq=False)
class Case:
    """An instance with budgets to try.

    Where there is a tie that no number of trials can break, ``right`` are the bases that are all right and
    ``tied`` the arms that it is between.
    """

    name: str
    instance: Instance
    budgets: Sequence[int]
    challenger: Challenger = field(default_factory=Challenger)
    right: tuple[tuple[int, ...], ...] = ()
    tied: tuple[int, ...] = ()


def cases() -> list[Case]:
    """All of them, in the order of the table."""
    return [*scattered(), *informed(), *at_the_edge(), *sized(), *tied(), *in_rounds()]


def varied(name: str, model: Noise | None = None, known: int = 0, shift: float = 0.0) -> Instance:
    """An instance of the catalog with other noise, known arms, or all costs raised."""
    old = catalog.load(name)
    return Instance(old.reward, old.cost + shift, old.bound, noise=model or old.noise, known=known)


def binary(name: str, share: float) -> Instance:
    """Probabilities instead: rewards moved into [0, 1], costs around a bound of ``share``."""
    old = catalog.load(name)
    reward = HALF * (old.reward - min(0.0, old.reward.min()))
    return Instance(reward, share * old.cost, share * old.bound, noise=noise.Bernoulli())


def jackpot(name: str, rarity: int) -> Instance:
    """The first arm of the support pays nothing but for 1 trial in ``rarity``; all noise takes two values."""
    old = catalog.load(name)
    sign = np.array([[r, c] for r in (-1.0, 1.0) for c in (-0.5, 0.5)])  # deviations of 1 and 0.5
    tables = {arm: old.means[a] + np.tile(sign, (rarity, 1)) for a, arm in enumerate(old.arms)}
    table = tables[old.arms[solve(old).basis[0]]]
    table[:, 0] = np.where(np.arange(len(table)) < 4, rarity * table[:, 0].mean(), 0.0)
    return Instance.from_trials(tables, {"cost0": 1.0})


def scattered() -> list[Case]:
    """Other noise than equal and Gaussian."""
    loud = np.ones(16)
    loud[solve(catalog.load("A2")).basis[0]] = 5.0
    aside = np.where(np.arange(16) == 7, 5.0, 1.0)  # a cheap arm outside of the support
    tight = np.array([[1.0, 0.475], [0.475, 0.25]])  # correlation 0.95
    tight_two = np.array([[1.0, 0.45, 0.0], [0.45, 0.25, 0.0], [0.0, 0.0, 0.25]])
    flip = np.array([[1.0, -1.0], [-1.0, 1.0]])
    return [
        Case("0/1 rewards and costs, A2", binary("A2", HALF), (1_000, 2_000)),
        Case("0/1 rewards and costs, D2P", binary("D2P", HALF), (16_000,)),
        Case("costs are events of 0.3% to 2%, bound 1%, A2", binary("A2", 0.01), (3_000, 8_000)),
        Case("an arm of the support pays 1 time in 50, A2", jackpot("A2", 50), (32_000,)),
        Case("one arm of the support 5 times noisier, A2", varied("A2", noise.Gaussian(loud)), (8_000,)),
        Case("one arm outside 5 times noisier, A2", varied("A2", noise.Gaussian(aside)), (2_000, 4_000)),
        Case("Student t with 4 degrees, A2", varied("A2", noise.StudentT(4.0)), (2_000, 4_000)),
        Case("Student t with 4 degrees, D2P", varied("D2P", noise.StudentT(4.0)), (16_000,)),
        Case("correlation 0.95, A2", varied("A2", noise.Gaussian(covariance=tight)), (2_000,)),
        Case("correlation -0.95, A2", varied("A2", noise.Gaussian(covariance=tight * flip)), (2_000,)),
        Case("correlation 0.9 with one cost, D2P", varied("D2P", noise.Gaussian(covariance=tight_two)), (4_000,)),
        Case("costs without noise, A2", varied("A2", noise.Gaussian(1.0, 0.0)), (2_000,)),
        Case("rewards without noise, A2", varied("A2", noise.Gaussian(0.0, 2.0)), (200,)),
    ]


def informed() -> list[Case]:
    """Half of the arms known."""
    return [
        Case("half of the arms known, A3", varied("A3", known=8), (500, 1_000)),
        Case("half of the arms known, D2P", varied("D2P", known=12), (8_000,)),
        Case("half of the arms known, H2", varied("H2", known=8), (1_000, 2_000)),
    ]


def at_the_edge() -> list[Case]:
    """Nearly infeasible, infeasible, and a single arm as the answer."""
    return [
        Case("nearly infeasible: 0.07 within the bound, A2", varied("A2", shift=0.6), (2_000, 4_000)),
        Case("infeasible: 0.05 above the bound, A2", varied("A2", shift=0.72), (1_000, 2_000)),
        Case("infeasible: 0.05 above one bound of two, D2P", varied("D2P", shift=0.35), (2_000,)),
        *alone_at_the_bound(),
        *beside_the_bounds(16, 1),
        *beside_the_bounds(12, 2),
        *beside_the_bounds(24, 3),
        Case("single-arm optimum, A1", catalog.load("A1"), (2_000, 4_000)),
        Case("single-arm optimum, D1P", catalog.load("D1P"), (8_000,)),
    ]


def alone_at_the_bound() -> list[Case]:
    """One arm that costs a little more or less than its bound, and others that cost far more."""
    rng = np.random.default_rng(103)
    others, reward = rng.uniform(1.2, 2.0, 11), np.r_[0.0, rng.uniform(0.5, 2.0, 11)]
    above, within = (
        Instance(reward, [np.r_[cost, others]], [1.0], noise=noise.Gaussian(0.5, 0.5)) for cost in (1.05, 0.95)
    )
    return [
        Case("infeasible: one arm 0.05 above the bound, 11 far above", above, (500, 1_000)),
        Case("nearly infeasible: one arm 0.05 within the bound, 11 far above", within, (1_000, 3_000)),
    ]


def beside_the_bounds(arms: int, costs: int) -> list[Case]:
    """Uniform means, with the costs moved until the best that a mix can do is a little above all bounds, or within."""
    old = uniform_instance(arms, costs, seed=50)
    excess = old.cost - old.bound[:, None]
    least = linprog(  # of x and t: t, where every cost's excess is at most t
        np.r_[np.zeros(arms), 1.0],
        A_ub=np.c_[excess, -np.ones(costs)],
        b_ub=np.zeros(costs),
        A_eq=np.r_[np.ones(arms), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * arms + [(None, None)],
    ).fun
    above, within = (Instance(old.reward, old.cost - least + by, old.bound, noise=old.noise) for by in (0.06, -0.06))
    return [
        Case(f"infeasible: 0.06 above the bounds, {arms} arms, L = {costs}", above, (300, 1_000)),
        Case(f"nearly infeasible: 0.06 within the bounds, {arms} arms, L = {costs}", within, (3_000,)),
    ]


def sized() -> list[Case]:
    """Many arms, many costs."""
    return [
        Case("200 arms, 1 cost", uniform_instance(200, 1, seed=1), (5_000, 16_000)),
        Case("16 arms, 3 costs", uniform_instance(16, 3, seed=5), (1_000, 4_000)),
        Case("12 arms, 4 costs", uniform_instance(12, 4, seed=5), (1_000, 4_000)),
    ]


def tied() -> list[Case]:
    """Ties that nobody can break."""
    return [
        twice("A2", (2_000, 4_000)),
        twice("D2P", (16_000,)),
        aligned("A2", (2_000, 4_000)),
        exactly_at_the_bound("A2", (2_000, 4_000)),
    ]


def twice(name: str, budgets: Sequence[int]) -> Case:
    """An arm of the support stands there twice; naming either is right."""
    old = catalog.load(name)
    first, *others = (j + (j >= len(old.arms)) for j in solve(old).basis)  # slacks move by one
    again = len(old.arms)
    instance = with_arm(old, old.reward[first], old.cost[:, first])
    right = tuple(tuple(sorted((arm, *others))) for arm in (first, again))
    return Case(f"an arm of the support twice, {name}", instance, budgets, right=right, tied=(first, again))


def aligned(name: str, budgets: Sequence[int]) -> Case:
    """A third arm halfway between two of the support, with one cost: each pair around the bound is a best mix."""
    old = catalog.load(name)
    low, high = sorted(solve(old).basis, key=lambda a: old.cost[0, a])
    middle = old.means[[low, high]].mean(axis=0)
    third = len(old.arms)
    partner = low if middle[1] > old.bound[0] else high
    instance = with_arm(old, middle[0], middle[1:])
    right = (tuple(sorted((low, high))), (partner, third))
    return Case(f"three arms on the best line, {name}", instance, budgets, right=right, tied=(low, high, third))


def exactly_at_the_bound(name: str, budgets: Sequence[int]) -> Case:
    """The best mix is an arm alone that costs just what it may; whatever else is in the basis is right."""
    old = catalog.load(name)
    best = solve(old)
    instance = with_arm(old, best.value + 0.3, old.bound)
    arm = len(old.arms)
    right = tuple(tuple(sorted((j, arm))) for j in range(arm + 2) if j != arm)
    return Case(f"the best arm exactly at its bound, {name}", instance, budgets, right=right, tied=(arm,))


def with_arm(old: Instance, reward: float, cost: np.ndarray) -> Instance:
    """One more arm, the last."""
    return Instance(np.r_[old.reward, reward], np.c_[old.cost, cost], old.bound, noise=old.noise)


def in_rounds() -> list[Case]:
    """Few and many decisions."""
    return [
        Case(f"{rounds} rounds, {name}", catalog.load(name), (budget,), Challenger(rounds=rounds))
        for name, budget in (("A2", 2_000), ("D2P", 16_000), ("H2", 4_000))
        for rounds in (3, 10, 30, 100)
    ]
