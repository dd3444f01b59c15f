"""The support with a proof that begins when the estimates name it: the newest editions of the proven stop.

A union over all bases is the price of a proof that uses every trial, since the estimates name the basis. Here a basis
is named first, from the trials so far, and proven by later ones alone: the first that is named has most of delta. The
mixtures of its proof are made from what is known of the arms by then. The fourth edition has one for each arm; from
the fifth on each condition has a joint one, ``proven_joint``.
docs/explanation/proven.md has the theorem and its proof.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestmix.answers.evidence import Evidence
from bestmix.arrays import Floats
from bestmix.kernels import conditions
from bestmix.problems.solution import Solution, solve_means
from bestmix.strategies import proven_joint
from bestmix.strategies.proven_support import INFEASIBLE, Conditions, columns_of, none_keeps, shrunk, units

LEAST_TO_NAME = 2.0  # squared distance of the nearest condition from which on a basis is named
LEAST_IN_FOURTH = 3.0  # and in the fourth edition
AGAIN = 1.25  # times the trials of the last naming, before another basis is named
LATER = 0.1  # of what is left of delta: for all bases that are named later
MOST_PROVEN = 1e6  # squared distances beyond are as good as this one
SOON = 0.3  # of the trials that are missing in a round, where that is less than usual
SHORTEST = 0.2  # of a usual round


@dataclass(frozen=True, eq=False)
class Naming:
    """A basis that the estimates named, the number of the naming, the sums of the trials until then, and the bounds."""

    number: int
    basis: list[int]
    counts: Floats  # (K0,)
    means: Floats  # (K0, 1 + L)
    bound: list[float] | None = None  # None in what was saved before bounds were kept

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Naming":
        """What ``to_dict`` told."""
        counts, means = np.array(data["counts"], float), np.array(data["means"], float)
        return cls(data["number"], list(data["basis"]), counts, means, data.get("bound"))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        sums = {"counts": self.counts.tolist(), "means": self.means.tolist()}
        kept = {} if self.bound is None else {"bound": self.bound}
        return {"number": self.number, "basis": self.basis, **sums, **kept}

    def allowed(self, delta: float) -> float:
        """The chance that this basis is called certain though it is wrong.

        >>> some = [Naming(k, [], np.empty(0), np.empty((0, 1))).allowed(0.1) for k in (1, 2, 3)]
        >>> [round(chance, 5) for chance in some]
        [0.081, 0.0081, 0.00081]
        """
        return (1.0 - INFEASIBLE) * delta * (1.0 - LATER) * LATER ** (self.number - 1)

    def is_of(self, bound: Floats) -> bool:
        """Whether the problem is still the one of the naming; a proof of another one begins anew."""
        return self.bound is None or self.bound == bound.tolist()

    def later(self, evidence: Evidence) -> tuple[Floats, Floats]:
        """Trials of each unknown arm since then (K0,), and the means of all arms (K, 1 + L) in these or as known."""
        counts, means = evidence.counts - self.counts, evidence.means.copy()
        unknown = len(counts)
        total = evidence.counts[:, None] * means[:unknown] - self.counts[:, None] * self.means
        means[:unknown] = total / np.maximum(counts, 1.0)[:, None]
        return counts, means


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


def look(evidence: Evidence, scale: Floats, delta: float, naming: Naming | None, edition: int) -> Look:
    """Whether the answer of the estimates is right for certain, with a chance of error of ``delta`` in all looks."""
    bound = evidence.problem.bound
    solution = solve_means(evidence.means, bound)
    if solution.status == "infeasible":
        return Look(none_keeps(evidence, scale, INFEASIBLE * delta), naming)
    if not _has_a_basis(solution, bound) or not evidence.counts.all():
        return Look(False, naming)
    basis = sorted(int(j) for j in solution.basis)
    changed = naming is not None and not naming.is_of(bound)
    if naming is None or changed or (basis != naming.basis and evidence.counts.sum() >= AGAIN * naming.counts.sum()):
        least = LEAST_IN_FOURTH if edition == 4 else LEAST_TO_NAME
        return Look(False, _name(evidence, basis, scale, naming, least))
    if basis != naming.basis:
        return Look(False, naming)
    counts, means = naming.later(evidence)
    if not counts.all():
        return Look(False, naming, counts, np.zeros(len(means) + len(bound)))
    if edition == 4:
        proven = _proven(naming, counts, means, bound, scale)
    else:
        proven = proven_joint.evidence(basis, naming.counts, naming.means, counts, means, bound, scale)
    again, wanted = solve_means(means, bound), -2.0 * math.log(naming.allowed(delta))
    columns = columns_of(means, bound, units(means, bound, scale))
    same = _has_a_basis(again, bound) and sorted(again.basis) == basis and _is_answer(columns, basis)
    missing = wanted / max(float(proven.min()), 1.0) - 1.0
    return Look(same and bool(proven.min() >= wanted), naming, counts, proven, missing)


def _has_a_basis(solution: Solution, bound: Floats) -> bool:
    return solution.status == "optimal" and len(solution.basis) == 1 + len(bound)


def _is_answer(columns: Floats, basis: list[int]) -> bool:
    """Whether all weights of a basis are positive and all other reduced costs negative, without a tolerance."""
    others = [j for j in range(len(columns)) if j not in basis]
    total = np.eye(columns.shape[1] - 1)[-1]
    try:
        weights = np.linalg.solve(columns[basis, 1:].T, total)
        prices = np.linalg.solve(columns[basis, 1:], columns[basis, 0])
    except np.linalg.LinAlgError:
        return False
    return bool((weights > 0).all() and (columns[others, 0] - columns[others, 1:] @ prices < 0).all())


def _name(evidence: Evidence, basis: list[int], scale: Floats, before: Naming | None, least: float) -> Naming | None:
    """The estimates' basis, as soon as it is clear enough to be worth a proof; until then the one before."""
    means, bound, unknown = evidence.means, evidence.problem.bound, len(evidence.counts)
    columns = columns_of(means, bound, units(means, bound, scale))
    counts = np.full(len(columns), np.inf)
    counts[:unknown] = evidence.counts
    if Conditions(columns, basis, counts, np.sign(scale)).nearest(counts) < least:
        return before
    number = 1 if before is None else before.number + 1
    return Naming(number, basis, evidence.counts.astype(float), means[:unknown].copy(), bound.tolist())


def _proven(naming: Naming, counts: Floats, means: Floats, bound: Floats, scale: Floats) -> Floats:
    """Squared distance to where each condition fails (K + L,), by the trials since the naming and less their mixtures.

    A truth that is wrong about a column outside of the basis differs in the basis and in this column.
    """
    columns, unknown = columns_of(means, bound, units(means, bound, scale)), len(counts)
    some = np.full(len(columns), np.inf)
    some[:unknown] = shrunk(counts, naming.counts)
    cost = np.zeros(len(columns))
    cost[:unknown] = np.log1p(counts / naming.counts)
    held = Conditions(columns, naming.basis, some, np.sign(scale))
    primal, base = held.primal(some), cost[naming.basis].sum()
    found = np.full(len(columns), primal - base)
    for j in held.others:
        found[j] = min(primal, held.dual(j, some)) - base - cost[j]
    return found
