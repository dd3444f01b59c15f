"""Which arms are in the best mix, with a proof: a generalised likelihood ratio that holds at all times.

The noise of a trial is sub-Gaussian with given scales, E exp(theta.X) <= exp(sum_i theta_i^2 s_i^2 / 2), the same for
all arms. A basis B of the estimates stops being the answer only where one of its conditions fails: where the columns of
B but one balance without it (primal), or where B and one more column lie on a hyperplane (dual). With the same scales
for all arms the smallest change of the means that does this is an eigenvalue, so the distances below are exact, or
smaller than that; docs/explanation/proven.md has the theorem and its proof.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestmix.answers.evidence import Evidence
from bestmix.arrays import Floats
from bestmix.problems.problem import Problem
from bestmix.problems.solution import solve_means
from bestmix.strategies.proven import radius
from bestmix.strategies.proven_columns import columns_of, is_answer, units
from bestmix.strategies.proven_scales import scales

RHOS = 5.0 * 8.0 ** np.arange(4)  # trials at which the mixtures are sharpest, each with the same weight
INFEASIBLE = 0.1  # of delta: that no mix is said to keep the limits though one does
FAR_POINT = 1e3  # units of the scales from zero: exact points beyond measure coordinates without noise in their own
NONE = 1e-12  # below it a singular value counts as zero, relative to the largest


def joint_scales(problem: Problem, sigma: Any, ranges: Any) -> Floats:
    """Scales (1 + L,) of the metrics together: as given, or of metrics that may depend in any way.

    These are all that have ranges, and a metric and its tail. (sum_i |w_i| s_i)^2 is at most 1 + L times
    sum_i w_i^2 s_i^2.

    >>> joint_scales(Problem(["a"], {"dollars": 1.0}), None, {"reward": (0, 1), "dollars": (0, 2)}).round(3)
    array([0.707, 1.414])
    """
    found = scales(problem, sigma, ranges)
    metrics = [metric for measure in problem.rows.measures[: len(found)] for metric in measure.metrics]
    apart = ranges is None and len(set(metrics)) == len(metrics)
    return found if apart else found * math.sqrt(len(found))


def is_certain(evidence: Evidence, scale: Floats, delta: float, edition: int) -> bool:
    """Whether the answer of the estimates, a support or that no mix keeps the limits, is right for certain.

    With probability 1 - ``delta`` no wrong answer is ever called certain, however the trials are allocated. The first
    ``edition`` looked at one pair of mixtures at a time.
    """
    bound, unknown = evidence.problem.bound, len(evidence.counts)
    solution = solve_means(evidence.means, bound)
    if solution.status == "infeasible":
        return none_keeps(evidence, scale, INFEASIBLE * delta)
    if solution.status != "optimal" or len(solution.basis) != 1 + len(bound) or not evidence.counts.all():
        return False
    columns = columns_of(evidence.means, bound, units(evidence.means, bound, scale))
    counts = np.full(len(columns), np.inf)
    counts[:unknown] = evidence.counts
    held = Conditions(columns, list(solution.basis), counts, np.sign(scale))
    sure = held.all_hold((1.0 - INFEASIBLE) * delta, edition)
    return sure and is_answer(evidence.means, bound, scale, held.basis)


@dataclass(frozen=True, eq=False)
class Conditions:
    """The conditions of a basis: how far they are from failing, and how far they have to be.

    A truth at which the basis is wrong differs from the estimates in the arms of the basis and in at most one column
    more, j, which the truth decides. The basis is certain when none of its conditions fails within the distance that
    these arms can be from the truth, whatever j is.
    """

    columns: Floats  # (K + L, 1 + L + 1)
    basis: list[int]
    counts: Floats  # (K + L,), infinite for what is known
    scale: Floats  # (1 + L,)

    def all_hold(self, delta: float, edition: int) -> bool:
        """Whether they do for certain."""
        many = len(RHOS) ** 2 if edition == 1 else 1
        if self.nearest(self.counts) < self.level(delta, many):  # the distances below are smaller yet
            return False
        return all(self._holds(j, delta, edition) for j in [None, *self.others])

    @property
    def others(self) -> list[int]:
        """The columns outside of the basis."""
        return [j for j in range(len(self.columns)) if j not in self.basis]

    def nearest(self, counts: Floats) -> float:
        """Squared distance to where the first of them fails."""
        return min([self.primal(counts), *(self.dual(j, counts) for j in self.others)])

    def _holds(self, j: int | None, delta: float, edition: int) -> bool:
        """Whether no truth that differs in the basis and in column ``j`` is near enough for all pairs of mixtures."""
        basis, level = self.counts[self.basis], self.level(delta, len(RHOS) ** 2)
        beyond = [
            self._distance(j, own, rho) - growth(basis, rho) - (0.0 if j is None else growth(self.counts[[j]], own))
            for own in RHOS
            for rho in RHOS
        ]
        if edition == 1:
            return max(beyond) >= level
        return 2.0 * float(np.logaddexp.reduce(np.array(beyond) / 2.0)) >= level

    def _distance(self, j: int | None, own: float, rho: float) -> float:
        """Squared distance to where a condition fails, if only the basis and ``j`` may change."""
        counts = np.full(len(self.counts), np.inf)
        counts[self.basis] = shrunk(self.counts[self.basis], rho)
        if j is not None:
            counts[j] = shrunk(self.counts[j], own)
        return self.nearest(counts)

    def level(self, delta: float, many: int) -> float:
        """Squared distance from the truth that arms of a basis and ``j`` never have, for all bases and mixtures."""
        return 2.0 * math.log(many * math.comb(len(self.columns), len(self.basis)) / delta)

    def primal(self, counts: Floats) -> float:
        """Squared distance to where a column of the basis has no weight: the others balance without it."""
        rest = [[k for k in self.basis if k != i] for i in self.basis]
        return min(flatness(self.columns[rows, 1:-1], counts[rows], self.scale[1:]) for rows in rest)

    def dual(self, j: int, counts: Floats) -> float:
        """Squared distance to where column ``j`` is as good as the basis: on one hyperplane with it."""
        rows = [*self.basis, j]
        return flatness(self.columns[rows], counts[rows], np.append(self.scale, 0.0))


def shrunk(counts: Floats, rho: float | Floats) -> Floats:
    """Trials that count, of so many, against a mixture that is sharpest at ``rho``.

    >>> shrunk(np.array([90.0, np.inf]), 10.0)
    array([81., inf])
    """
    return np.asarray(counts / (1.0 + rho / counts))


def growth(counts: Floats, rho: float) -> float:
    """What the mixtures of some arms cost, as a squared distance.

    >>> growth(np.array([90.0, np.inf]), 10.0) == math.log(10)
    True
    """
    return float(np.log1p(counts[np.isfinite(counts)] / rho).sum())


def flatness(rows: Floats, counts: Floats, scale: Floats) -> float:
    """Smallest of sum_a n_a (w.x_a)^2 / sum_i s_i^2 w_i^2 over all w: how far points (k, m) are from a hyperplane.

    Points with infinite counts are exact, coordinates of scale zero too. Infinite where no w will do.

    >>> flatness(np.array([[3.0, 1.0], [5.0, 1.0]]), np.array([8.0, 8.0]), np.array([2.0, 0.0]))  # 2 * 8 (1 / 2)^2
    4.0
    """
    noisy = np.isfinite(counts)
    return float(distance(rows[noisy], np.diag(np.sqrt(counts[noisy])), rows[~noisy], scale))


def distance(rows: Floats, root: Floats, exact: Floats, scale: Floats) -> Floats:
    """Smallest of |root (w.x_a)_a|^2 / sum_i s_i^2 w_i^2 over all w that are orthogonal to the ``exact`` rows.

    Of many sets of points (..., k, m) at once.
    """
    rest, _ = _reduced(rows, root, exact, scale)
    many, k, q = rest.shape[:-2], *rest.shape[-2:]
    if not q or k < q:
        return np.full(many, 0.0 if q else np.inf)
    return np.asarray(np.float_power(np.linalg.svd(rest, compute_uv=False)[..., -1], 2.0))  # as a scalar is squared


def nearest(rows: Floats, root: Floats, exact: Floats, scale: Floats) -> Floats:
    """The w (..., m) at which ``distance`` is attained, where it is neither zero nor infinite."""
    rest, way = _reduced(rows, root, exact, scale)
    return np.asarray((way @ np.linalg.svd(rest)[2][..., -1, :, None])[..., 0])


def _reduced(rows: Floats, root: Floats, exact: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """The points in directions of norm one that are measured, the others being best, and the way back (..., m, q).

    An exact point with a single part, one, is the unused part of a limit: w has no part there, whatever the scale is.
    """
    unused = ((exact != 0.0).sum(axis=1) == 1) & (exact == 1.0).any(axis=1)
    kept = ~exact[unused].any(axis=0)
    rest, way = _measured(rows[..., kept], root, exact[~unused][:, kept], scale[kept])
    back = np.zeros((*way.shape[:-2], len(scale), way.shape[-1]))
    back[..., kept, :] = way
    return rest, back


def _measured(rows: Floats, root: Floats, exact: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """The same where w may have a part everywhere."""
    unit = np.where(scale > 0, scale, 1.0)
    # The unit of a coordinate without noise is free; where exact points are far away it is such that their direction
    # has no noise but for what it has: a share of 1 / far^2 would pass for none.
    far = np.abs(exact / unit)[:, scale > 0].max(initial=0.0)
    unit = np.where(scale > 0, unit, 1.0 / far if far > FAR_POINT else 1.0)
    free = _null(exact / unit)
    value, vector = np.linalg.eigh(free.T @ ((scale > 0)[:, None] * free))
    measured, without = value > NONE, value <= NONE
    points = root @ (rows / unit @ free @ vector)
    inner, outer = points[..., measured] / np.sqrt(value[measured]), points[..., without]
    best = np.linalg.pinv(outer) @ inner
    way = free @ (vector[:, measured] / np.sqrt(value[measured]) - vector[:, without] @ best)
    return inner - outer @ best, way / unit[:, None]


def _null(rows: Floats) -> Floats:
    """Orthonormal directions (m, q) that are orthogonal to all rows.

    A large row must not make others pass for zero, so it is made shorter; what is small is not made larger, since it
    may be a rounding error.
    """
    size = np.maximum(np.abs(rows).max(axis=1, initial=0.0, keepdims=True), 1.0)
    _, value, directions = np.linalg.svd(rows / size, full_matrices=True)
    rank = int((value > NONE * max(value.max(initial=0.0), 1.0)).sum())
    return np.asarray(directions[rank:].T)


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
