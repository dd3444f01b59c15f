"""Whether an instance has one best mix, with no zero weight in its basis: the assumption behind gaps and bounds."""

from typing import NamedTuple

import numpy as np

from bestmix import checks
from bestmix.arrays import Flags, Floats
from bestmix.kernels import bounding, segments, simplex
from bestmix.problems.instance import Instance
from bestmix.problems.segment_instance import SegmentInstance, truth_of
from bestmix.problems.solution import Solution, solve

MARGIN = 1e-9  # of a weight or a reduced cost, as a share of what it is made of
STEP = 1e-3  # of the objective, or of a share: a change that shows whether the best mix moves


class Margins(NamedTuple):
    """What keeps a basis optimal, by column: is it basic, its weight (slacks included), its reduced cost."""

    basic: Flags
    weight: Floats
    reduced: Floats


def margins(instance: Instance, solution: Solution) -> Margins:
    """Weights and reduced costs of all columns at the optimum."""
    cost = instance.cost - instance.bound[:, None]
    weight = np.r_[solution.mixture, solution.slack]
    reduced = np.r_[instance.reward - solution.value - solution.dual @ cost, -solution.dual]
    return Margins(np.isin(np.arange(len(weight)), solution.basis), weight, reduced)


def is_settled(instance: Instance, margin: float = 1e-9) -> bool:
    """Whether the best mixture exists, is unique and has no zero weight in its basis.

    Every weight of the optimal basis, slacks included, must be above ``margin``, and the reduced
    cost of every other column below minus ``margin``.

    >>> is_settled(Instance(reward=[1.7, 2.6], cost=[[0.0, 1.8]], bound=[1.0]))
    True
    >>> is_settled(Instance(reward=[1.0, 1.0], cost=[[0.0, 0.5]], bound=[1.0]))  # a tie
    False
    """
    solution = solve(instance)
    if not solution.feasible:
        return False
    basic, weight, reduced = margins(instance, solution)
    return bool((weight[basic] > margin).all() and (reduced[~basic] < -margin).all())


def broken_condition(instance: Instance, solution: Solution | None = None) -> str | None:
    """Which condition for a unique, stable best mix fails, in a sentence; None when all hold.

    >>> broken_condition(Instance(reward=[1.7, 2.6], cost=[[0.0, 1.8]], bound=[1.0]))
    >>> print(broken_condition(Instance(reward=[1.0, 1.0], cost=[[0.0, 0.5]], bound=[1.0])))
    the best mix is not unique: arm1 could take part at no loss of reward
    """
    solution = solution or solve(instance)
    if not solution.feasible:
        missed = [f"{c} by {v:.3g}" for c, v in zip(instance.costs, solution.violation, strict=True) if v > 0]
        return f"no mix keeps all bounds; the nearest one misses {', '.join(missed)}"
    names = instance.problem.columns
    if isinstance(instance, SegmentInstance):
        return _tie(instance)
    cost = instance.cost - instance.bound[:, None]
    basic, weight, reduced = margins(instance, solution)
    spread = np.r_[np.ones(len(instance.arms)), np.abs(cost).max(axis=1, initial=0.0)]
    size = np.abs(instance.reward - solution.value) + np.abs(solution.dual) @ np.abs(cost)
    worth = np.r_[size + np.ptp(instance.reward), np.abs(solution.dual).max(initial=0.0) * np.ones(len(cost))]
    empty = [names[j] for j in np.flatnonzero(basic & (weight <= MARGIN * spread))]
    tied = [names[j] for j in np.flatnonzero(~basic & (reduced >= -MARGIN * worth))]
    if empty:
        return f"the best mix is degenerate: {_listed(empty)} {_are(empty)} in its basis with a weight of zero"
    if tied:
        return f"the best mix is not unique: {_listed(tied)} could take part at no loss of reward"
    return None


def _tie(instance: SegmentInstance) -> str | None:
    """``broken_condition`` of a feasible instance of segments: what could take part in the answer at no loss."""
    (mu, rows), truth, n = instance.entries, instance.truth, len(instance.arms)
    gain = mu - rows @ truth.prices
    worth = MARGIN * (np.ptp(mu) + np.abs(rows).max(axis=0, initial=0.0) @ np.abs(truth.prices))
    best = np.array([gain[instance.segment == s].max() for s in range(len(instance.weight))])[instance.segment]
    columns = np.flatnonzero(~truth.basic[:n] & (gain >= best - worth))
    tied = [instance.arms[instance.places[j]] for j in columns if _joins(instance, int(j))]
    if tied:
        return f"the best mix is not unique: {_listed(tied)} could take part at no loss"
    just = np.flatnonzero(~truth.basic[n:] & (truth.prices <= worth) & ~instance.layout.equality)
    met = [
        f"'{instance.problem.limits[r]}'"
        for r in just
        if not instance.layout.known[r] or _moves(instance, int(r), worth)
    ]
    return f"the best mix is degenerate: {_listed(met)} {_are(met)} met exactly, at no price" if met else None


def _joins(instance: SegmentInstance, column: int) -> bool:
    """Whether a little more of the objective would bring a column into the mix: with a weight of zero it may not."""
    (mu, rows), rules = instance.entries, instance.layout
    program, mix = segments.new_program(rules.sizes, len(rules.right)), np.empty(len(mu))
    program.equality[:] = rules.equality
    bonus = STEP * (np.ptp(mu) or 1.0) * (np.arange(len(mu)) == column)
    segments.load(program, mu + bonus, rows, rules.right, instance.weight)
    bounding.maximise(program)
    segments.weights(program, mix)
    return bool(mix[column] > simplex.FEASIBLE)


def _moves(instance: SegmentInstance, row: int, worth: float) -> bool:
    """Whether a limit without noise can be tighter at no loss: then the mix moves; else only its basis can change."""
    right = instance.layout.right.copy()
    right[row] -= STEP
    tighter = truth_of(instance.layout._replace(right=right), instance.weight, instance.columns)
    return tighter.feasible and tighter.value >= instance.truth.value - STEP * worth


def check_assumption(instance: Instance, solution: Solution) -> None:
    """Refuse an instance whose answer the smallest change can flip."""
    if reason := broken_condition(instance, solution):
        raise checks.InvalidInput(
            "instance",
            expected="a unique best mix that a small change leaves as it is",
            got=f"one where {reason}",
            remedy="change the means or the bounds a little",
        )


def _listed(names: list[str]) -> str:
    shown = names[:3] + ([f"{len(names) - 3} more"] if len(names) > 3 else [])
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]


def _are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"
