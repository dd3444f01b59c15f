"""Problems that are awkward for an algorithm that estimates variances and trusts them.

Most are instances of the catalog with other noise, bounds or knowledge, so that only one thing is awkward
at a time. The budgets are those at which the strategies err in some 1% to 30% of the runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bestmix import Challenger, Instance, catalog, noise, solve
from bestmix.families import uniform_instance
from bestmix.noise import Noise

HALF = 0.5  # what turns costs around 1 into probabilities


@dataclass(frozen=True, eq=False)
class Case:
    """An instance with budgets to try; ``twins`` are pairs of arms that nobody can tell apart."""

    name: str
    instance: Instance
    budgets: Sequence[int]
    challenger: Challenger = field(default_factory=Challenger)
    twins: tuple[tuple[int, int], ...] = ()

    @cached_property
    def best(self) -> np.ndarray:
        """Columns of the best basis, of twins the first one."""
        return self.merged(np.array([solve(self.instance).basis]))[0]

    def merged(self, answers: np.ndarray) -> np.ndarray:
        """Answers (runs, columns) with each second twin named as the first."""
        answers = answers.copy()
        for first, second in self.twins:
            answers[answers == second] = first
        return np.sort(answers, axis=1)


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
        Case("costs are events of 0.3% to 2%, bound 1%, A2", binary("A2", 0.01), (20_000, 60_000)),
        Case("one arm of the support 5 times noisier, A2", varied("A2", noise.Gaussian(loud)), (4_000,)),
        Case("one arm outside 5 times noisier, A2", varied("A2", noise.Gaussian(aside)), (1_000, 2_000)),
        Case("Student t with 4 degrees, A2", varied("A2", noise.StudentT(4.0)), (1_000, 2_000)),
        Case("Student t with 4 degrees, D2P", varied("D2P", noise.StudentT(4.0)), (16_000,)),
        Case("correlation 0.95, A2", varied("A2", noise.Gaussian(covariance=tight)), (500, 1_000)),
        Case("correlation -0.95, A2", varied("A2", noise.Gaussian(covariance=tight * flip)), (1_000, 2_000)),
        Case("correlation 0.9 with one cost, D2P", varied("D2P", noise.Gaussian(covariance=tight_two)), (8_000,)),
        Case("costs without noise, A2", varied("A2", noise.Gaussian(1.0, 0.0)), (1_000, 2_000)),
        Case("rewards without noise, A2", varied("A2", noise.Gaussian(0.0, 0.5)), (500, 1_000)),
    ]


def informed() -> list[Case]:
    """Half of the arms known."""
    return [
        Case("half of the arms known, A3", varied("A3", known=8), (1_000, 2_000)),
        Case("half of the arms known, D2P", varied("D2P", known=12), (8_000,)),
        Case("half of the arms known, H2", varied("H2", known=8), (1_000, 2_000)),
    ]


def at_the_edge() -> list[Case]:
    """Nearly infeasible, infeasible, and a single arm as the answer."""
    return [
        Case("nearly infeasible: 0.07 within the bound, A2", varied("A2", shift=0.6), (2_000, 4_000)),
        Case("infeasible: 0.13 above the bound, A2", varied("A2", shift=0.8), (500, 1_000)),
        Case("infeasible: 0.1 above both bounds, D2P", varied("D2P", shift=0.7), (1_000, 2_000)),
        Case("single-arm optimum, A1", catalog.load("A1"), (1_000, 2_000)),
        Case("single-arm optimum, D1P", catalog.load("D1P"), (16_000,)),
    ]


def sized() -> list[Case]:
    """Many arms, many costs."""
    return [
        Case("200 arms, 1 cost", uniform_instance(200, 1, seed=1), (16_000,)),
        Case("16 arms, 3 costs", uniform_instance(16, 3, seed=1), (4_000,)),
        Case("12 arms, 4 costs", uniform_instance(12, 4, seed=1), (4_000,)),
    ]


def tied() -> list[Case]:
    """An arm of the support stands there twice; naming either is right."""
    result = []
    for name, budgets in (("A2", (2_000, 4_000)), ("D2P", (16_000,))):
        old = catalog.load(name)
        arm, again = solve(old).basis[0], len(old.arms)
        twice = Instance(np.r_[old.reward, old.reward[arm]], np.c_[old.cost, old.cost[:, arm]], old.bound)
        result.append(Case(f"an arm of the support twice, {name}", twice, budgets, twins=((arm, again),)))
    return result


def in_rounds() -> list[Case]:
    """Few and many decisions."""
    return [
        Case(f"{rounds} rounds, {name}", catalog.load(name), (budget,), Challenger(rounds=rounds))
        for name, budget in (("A2", 2_000), ("D2P", 8_000), ("H2", 4_000))
        for rounds in (3, 10, 30, 100)
    ]
