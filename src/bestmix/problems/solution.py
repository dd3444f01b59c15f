"""The linear program when means are known: the best mix, its basis and its shadow prices."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats, Integers
from bestmix.kernels import columns, jit, sifting, simplex
from bestmix.kernels.columns import Program
from bestmix.problems.instance import Instance
from bestmix.problems.problem import Problem

TIE_BREAK = 1e-7  # of the price of a violation: what a reward counts among mixes that violate as little


@dataclass(frozen=True, eq=False)
class Solution:
    """A solved linear program.

    Attributes
    ----------
    status
        ``"optimal"``; ``"infeasible"``, when no mix keeps all bounds; or ``"degenerate"``, when the best
        mix is of columns that span no basis, which only a restricted set of columns can give.
    value
        Mean reward of the mixture.
    mixture
        Probability of each arm (K,). When infeasible: the mix with the least total violation, each
        cost measured against the largest distance of an arm from its bound.
    slack
        Bound minus mean cost (L,); negative where a bound fails.
    basis
        Columns of the optimal basis, ascending; arms are 0..K-1, the slack of cost l is K + l.
    dual
        Shadow prices (L,): what one more unit of each bound would add to the value.
    inverse
        Inverse of the basis matrix, its rows in the order of ``basis``; its columns are the costs,
        then the total.
    """

    status: str
    value: float
    mixture: Floats
    slack: Floats
    basis: tuple[int, ...]
    dual: Floats
    inverse: Floats = field(repr=False)

    @property
    def feasible(self) -> bool:
        """Whether some mix keeps all bounds."""
        return self.status != "infeasible"

    @property
    def violation(self) -> Floats:
        """By how much each mean cost exceeds its bound (L,)."""
        return np.maximum(-self.slack, 0.0)


def solve(source: Instance | Problem) -> Solution:
    """Best mix of an instance, or of a problem in which every arm is known.

    >>> inst = Instance(reward=[1.7, 2.6, 0.5], cost=[[0.0, 1.8, 0.8]], bound=[1.0])
    >>> solution = solve(inst)
    >>> solution.mixture.round(3), round(solution.value, 3), solution.basis
    (array([0.444, 0.556, 0.   ]), 2.2, (0, 1))
    """
    if isinstance(source, Problem):
        if source.arms:
            raise checks.InvalidInput(
                "solve",
                expected="a problem whose arms are all known",
                got=f"{len(source.arms)} unknown ones",
                remedy="give their means with known=, or try them with identify",
            )
        return solve_means(source.known_means, source.bound)
    if not isinstance(source, Instance):
        raise checks.InvalidInput(
            "solve", expected="an Instance or a Problem", got=type(source).__name__, remedy="build an Instance"
        )
    return solve_means(source.means, source.bound) if source.plain else _solve_program(source)


def _solve_program(instance: Any) -> Solution:
    """Of a ``SegmentInstance``: the mixture in the order of its arms, the value in the goal's own units, no inverse."""
    truth, problem, at = instance.truth, instance.problem, instance.places
    mu, rows = instance.entries
    mixture = np.zeros(len(at))
    mixture[at] = np.where(truth.basic[: len(at)], truth.weights, 0.0)
    asked = len(problem.limits)  # the flow between states is nobody's wish
    slack = (instance.layout.right - truth.weights @ rows)[:asked]
    slack[np.abs(slack) <= 1e-12 * np.abs(rows[:, :asked]).max(axis=0, initial=0.0)] = 0.0
    used = np.flatnonzero(truth.basic)
    return Solution(
        status="optimal" if truth.feasible else "infeasible",
        value=problem.goal.sign * float(truth.weights @ mu),
        mixture=mixture,
        slack=slack,
        basis=tuple(sorted(int(at[j]) if j < len(at) else int(j) for j in used)),
        dual=truth.prices[:asked],
        inverse=np.empty((0, 0)),
    )


def solve_means(means: Floats, bound: Floats, allowed: Integers | None = None) -> Solution:
    """Best mix for means (K, 1 + L) of which only some columns may be ``allowed``."""
    arms, costs = len(means), len(bound)
    allowed = np.arange(arms + costs) if allowed is None else np.asarray(allowed, dtype=np.int64)
    program, scale = scaled(means, bound, allowed)
    basis = simplex.new_basis(costs)
    speed = jit.speed_for(len(allowed) * (1 + costs))
    status = speed(sifting.maximise)(program, basis)
    check_settled(status)
    if status == simplex.INFEASIBLE:
        allowed, program = _elastic(allowed, arms, program)
        check_settled(speed(sifting.maximise)(program, basis), feasible=True)
    basis.column.sort()
    check_settled(simplex.OPTIMAL if speed(simplex.invert)(program, basis) else simplex.STALLED)
    speed(simplex.set_prices)(program, basis, simplex.VALUE)
    weight = simplex.weights(basis).copy()
    weight[weight < simplex.FEASIBLE] = np.maximum(np.round(weight[weight < simplex.FEASIBLE], 12), 0.0)
    mixture = np.zeros(arms)
    for j, x in zip(basis.column, weight, strict=True):
        if j >= 0 and 0 <= allowed[j] < arms:
            mixture[allowed[j]] = x
    mixture /= mixture.sum()
    return Solution(
        status={simplex.OPTIMAL: "optimal", simplex.INFEASIBLE: "infeasible"}.get(status, "degenerate"),
        value=float(mixture[mixture > 0] @ means[mixture > 0, 0]),
        mixture=mixture,
        slack=_slack(means, bound, mixture),
        basis=tuple(int(allowed[j]) for j in basis.column if j >= 0 and allowed[j] >= 0),
        dual=np.full(costs, np.nan) if status == simplex.INFEASIBLE else _prices(simplex.prices(basis)[:costs], scale),
        inverse=_unscale(simplex.inverse(basis).copy(), basis.column, allowed, arms, scale),
    )


def check_settled(status: int, feasible: bool = False) -> None:
    """Refuse what is no answer of the simplex, and no feasible one where there must be some.

    >>> check_settled(simplex.STALLED)
    Traceback (most recent call last):
        ...
    ArithmeticError: expected a linear program that can be solved in floats, got means of too many ...
    """
    if status == simplex.STALLED or (feasible and status == simplex.INFEASIBLE):
        raise ArithmeticError(
            "expected a linear program that can be solved in floats, got means of too many orders of magnitude; "
            "leave out what is hopeless, or change the units of measurement"
        )


def scaled(means: Floats, bound: Floats, allowed: Integers) -> tuple[Program, Floats]:
    """Scaled columns of the program, and their scale."""
    size, costs = len(allowed), len(bound)
    if size and not 0 <= allowed.min() <= allowed.max() < len(means) + costs:
        raise ValueError(
            f"columns: expected numbers from 0 to {len(means) + costs - 1}, got {allowed.tolist()}; "
            "a search that was loaded from a file is damaged"
        )
    program, scale = columns.new_program(size, costs), np.empty(costs + 2)
    speed = jit.speed_for(size * (1 + costs))
    speed(columns.load)(means, bound, allowed, program)
    speed(columns.rescale)(program, scale)
    return program, scale


def _elastic(allowed: Integers, arms: int, program: Program) -> tuple[Integers, Program]:
    """Columns of the least violation: minus the unit vector on each row, at a price of one; among equals the reward.

    A row whose slack is not allowed could be missed on either side, and gets both signs.
    """
    costs = program.u.shape[1]
    missed = [l for l in range(costs) if arms + l not in allowed]
    extra = np.vstack([-np.eye(costs), np.eye(costs)[missed]])
    size = len(extra)
    rewards = np.r_[TIE_BREAK * program.mu, -np.ones(size)]
    longer = Program(rewards, np.vstack([program.u, extra]), np.r_[program.e, np.zeros(size)])
    return np.r_[allowed, np.full(size, -1)], longer


def _prices(price: Floats, scale: Floats) -> Floats:
    """Shadow prices of the unscaled program; infinite where they are beyond floats."""
    with np.errstate(over="ignore"):
        result: Floats = price * scale[1] / scale[2:]
    return result


def _slack(means: Floats, bound: Floats, mixture: Floats) -> Floats:
    support = mixture > 0
    slack: Floats = bound - mixture[support] @ means[support, 1:]
    size = np.maximum(np.abs(bound), np.abs(means[support, 1:]).max(axis=0, initial=0.0))
    slack[np.abs(slack) <= np.maximum(1e-12 * size, columns.SMALLEST)] = 0.0
    return slack


def _unscale(inverse: Floats, position: Integers, allowed: Integers, arms: int, scale: Floats) -> Floats:
    """The inverse for unscaled columns: u_l was divided by its spread, and slack l counted in it."""
    costs = len(scale) - 2
    with np.errstate(over="ignore", invalid="ignore"):
        inverse[:, :costs] /= scale[2:]
        for i, j in enumerate(position):
            if j >= 0 and allowed[j] >= arms:
                inverse[i] *= scale[2 + allowed[j] - arms]
    return inverse
