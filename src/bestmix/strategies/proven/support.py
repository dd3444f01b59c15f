"""The support with a proof, which begins when the estimates name it.

A union over all bases is the price of a proof that uses every trial, since the estimates name the basis. Here a basis
is named first, from the trials so far, and proven by later ones alone: the first that is named has most of delta. The
mixtures of its proof, ``mixtures``, are made from what is known of the arms by then.
docs/explanation/proven.md has the theorem and its proof.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bestmix.answers.evidence import Evidence
from bestmix.arrays import Floats
from bestmix.kernels import conditions
from bestmix.problems.problem import Problem
from bestmix.problems.solution import Solution, solve_means
from bestmix.strategies.proven import mixtures
from bestmix.strategies.proven.columns import columns_of, is_answer, units
from bestmix.strategies.proven.distances import nearest_condition
from bestmix.strategies.proven.tolerance import radius

INFEASIBLE = 0.1  # of delta: that no mix is said to keep the limits though one does
LEAST_TO_NAME = 2.0  # squared distance of the nearest condition from which on a basis is named
AGAIN = 1.25  # times the trials of the last naming, before another basis is named
LATER = 0.1  # of what is left of delta: for all bases that are named later
MOST_PROVEN = 1e6  # squared distances beyond are as good as this one
SOON = 0.3  # of the trials that are missing in a round, where that is less than usual
SHORTEST = 0.2  # of a usual round


@dataclass(frozen=True, eq=False)
class Naming:
    """A basis that the estimates named, the number of the naming, the sums of the trials until then, and of what it is.

    The numbers go on through all that a run is asked, so that all its namings together have the chance of error.
    """

    number: int
    basis: list[int]
    counts: Floats  # (K0,)
    means: Floats  # (K0, 1 + L)
    bound: list[float] | None = None  # None in what was saved before bounds were kept
    question: dict[str, list[str]] | None = None  # arms and limits; None in what was saved before these were

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Naming":
        """What ``to_dict`` told."""
        counts, means = np.array(data["counts"], float), np.array(data["means"], float)
        return cls(data["number"], list(data["basis"]), counts, means, data.get("bound"), data.get("question"))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        sums = {"counts": self.counts.tolist(), "means": self.means.tolist()}
        kept = {"bound": self.bound, "question": self.question}
        known = {name: value for name, value in kept.items() if value is not None}
        return {"number": self.number, "basis": self.basis, **sums, **known}

    def log_allowed(self, delta: float) -> float:
        """Logarithm of the chance that this basis is called certain though it is wrong.

        >>> some = [Naming(k, [], np.empty(0), np.empty((0, 1))).log_allowed(0.1) for k in (1, 2, 3)]
        >>> [round(math.exp(chance), 5) for chance in some]
        [0.081, 0.0081, 0.00081]
        """
        first = (1.0 - INFEASIBLE) * delta * (1.0 - LATER)
        return math.log(first) + (self.number - 1) * math.log(LATER)  # the chance itself may be too small for a number

    def is_of(self, problem: Problem) -> bool:
        """Whether the problem is still the one of the naming; the proof of another one needs a naming of its own."""
        if self.bound is not None and self.bound != problem.bound.tolist():
            return False
        return self.question is None or self.question == question_of(problem)

    def asked(self, problem: Problem) -> "Naming":
        """The same with its question, where that was not kept and is the problem's."""
        known = self.question is not None or not self.is_of(problem)
        return self if known else replace(self, question=question_of(problem))

    def carried(self, problem: Problem) -> "Naming":
        """The same where other arms may come; without its question it is of the problem so far, or of no later one."""
        asked = self.asked(problem)
        return replace(asked, question=asked.question or {})

    def later(self, evidence: Evidence, scale: Floats) -> tuple[Floats, Floats]:
        """Trials of each unknown arm since then (K0,), and the means of all arms (K, 1 + L) in these or as known.

        What has no noise is the same in all trials, and needs no difference, which would be rounded.
        """
        counts, means = evidence.counts - self.counts, evidence.means.copy()
        unknown = len(counts)
        total = evidence.counts[:, None] * means[:unknown] - self.counts[:, None] * self.means
        later = total / np.maximum(counts, 1.0)[:, None]
        means[:unknown] = np.where(scale > 0, later, means[:unknown])
        return counts, means


def question_of(problem: Problem) -> dict[str, list[str]]:
    """What a basis is named for, in the order of its columns: a bound alone does not tell ``x <= 0`` from ``x >= 0``.

    >>> question_of(Problem(["a", "b"], limits=["x >= 0"]))
    {'arms': ['a', 'b'], 'limits': ['x >= 0']}
    """
    return {"arms": list(problem.names), "limits": [str(limit) for limit in problem.limits]}


@dataclass(frozen=True, eq=False)
class Look:
    """What is certain after a round, the basis that is being proven, and how far the proof has come."""

    certain: bool
    naming: Naming | None = None
    counts: Floats | None = None  # (K0,) trials since the naming
    evidence: Floats | None = None  # (K + L,) squared distance of each condition, less what its mixtures cost
    missing: float = math.inf  # trials until the proof is complete, about, as a share of those made

    def part(self, growth: float) -> float:
        """How much of a round, which is such a share of the trials made, is enough.

        >>> Look(False).part(0.025), Look(False, missing=0.05).part(0.025), Look(False, missing=0.0).part(0.025)
        (1.0, 0.6, 0.2)
        """
        return min(max(SOON * self.missing / growth, SHORTEST), 1.0)

    def aim(self, state: conditions.State) -> None:
        """Make the next trials those that bring the proof on: only trials since the naming count for it.

        A condition counts as halfway between what these have proven and what the estimates promise for so many.
        """
        if self.counts is None or self.evidence is None:
            return
        state.counts[:] = np.maximum(self.counts, 1.0)
        for j, proven in enumerate(self.evidence):
            spread = conditions.spread_of(j, state, state.counts)
            if spread > 0.0 and state.gap[j] < np.inf:
                promised = state.gap[j] ** 2 / spread
                state.gap[j] = math.sqrt(min(max((promised + proven) / 2.0, 0.0), MOST_PROVEN) * spread)


def look(evidence: Evidence, scale: Floats, delta: float, naming: Naming | None) -> Look:
    """Whether the answer of the estimates is right for certain, with a chance of error of ``delta`` in all looks."""
    problem, bound = evidence.problem, evidence.problem.bound
    naming = None if naming is None else naming.asked(problem)
    solution = solve_means(evidence.means, bound)
    if solution.status == "infeasible":
        return Look(none_keeps(evidence, scale, INFEASIBLE * delta), naming)
    if not _has_a_basis(solution, bound) or not evidence.counts.all():
        return Look(False, naming)
    basis = sorted(int(j) for j in solution.basis)
    if naming is None or not naming.is_of(problem) or (basis != naming.basis and _is_time(evidence, naming)):
        return Look(False, _name(evidence, basis, scale, naming))
    if basis != naming.basis:
        return Look(False, naming)
    counts, means = naming.later(evidence, scale)
    if not counts.all():
        return Look(False, naming, counts, np.zeros(len(means) + len(bound)))
    proven = mixtures.evidence(basis, naming.counts, naming.means, counts, means, bound, scale)
    again, wanted = solve_means(means, bound), -2.0 * naming.log_allowed(delta)
    same = _has_a_basis(again, bound) and sorted(again.basis) == basis and is_answer(means, bound, scale, basis)
    missing = wanted / max(float(proven.min()), 1.0) - 1.0
    return Look(same and bool(proven.min() >= wanted), naming, counts, proven, missing)


def _is_time(evidence: Evidence, naming: Naming) -> bool:
    """Whether there are enough more trials to name another basis."""
    return bool(evidence.counts.sum() >= AGAIN * naming.counts.sum())


def _has_a_basis(solution: Solution, bound: Floats) -> bool:
    return solution.status == "optimal" and len(solution.basis) == 1 + len(bound)


def _name(evidence: Evidence, basis: list[int], scale: Floats, before: Naming | None) -> Naming | None:
    """The estimates' basis, as soon as it is clear enough to be worth a proof; until then the one before."""
    means, problem, unknown = evidence.means, evidence.problem, len(evidence.counts)
    columns = columns_of(means, problem.bound, units(means, problem.bound, scale))
    counts = np.full(len(columns), np.inf)
    counts[:unknown] = evidence.counts
    if nearest_condition(columns, basis, counts, np.sign(scale)) < LEAST_TO_NAME:
        return before
    number = 1 if before is None else before.number + 1
    sums = evidence.counts.astype(float), means[:unknown].copy()
    return Naming(number, basis, *sums, problem.bound.tolist(), question_of(problem))


def none_keeps(evidence: Evidence, scale: Floats, delta: float) -> bool:
    """Whether for certain no mix keeps the limits: none does with the costs at the lower ends of their intervals.

    An arm that was not tried yet may keep them.
    """
    if not evidence.counts.all():
        return False
    means = evidence.means.copy()
    width = radius(evidence.counts.astype(float), means[: len(evidence.counts), 1:].size, delta)
    means[: len(evidence.counts), 1:] -= width[:, None] * scale[1:]
    return solve_means(means, evidence.problem.bound).status == "infeasible"
