"""How far the conditions of a named basis are from failing, against one joint mixture each.

A truth at which the basis is wrong differs from the means of the later trials along one direction w, in the arms of the
basis and at most one more, by a vector y. The mixture over y of a condition is a normal one, wide where the arms move
together as they would have to for the condition to fail and narrow across, and most of it is on the side on which the
condition holds. All this is fixed when the basis is named. docs/explanation/proven.md has the theorem and its proof.
"""

import math
from dataclasses import dataclass

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.strategies.proven.columns import columns_of, units
from bestmix.strategies.proven.distances import distance, nearest

ALONG = 2.75  # variance of the mixture where the arms move as for the condition to fail, times the trials of an arm
ACROSS = 0.25  # and across
EITHER = 0.1  # of the mixture: on either side
CLEARLY = 2.0  # z-score from which on the side counts as known
PULLS = (0.06, 0.25, 1.0, 4.0, 16.0)  # multipliers that are tried for what lies between; any is right
STRONG = 1e4  # and for what lies on the border
RIGHT = 2.0 * math.log(EITHER + (1.0 - EITHER) * (1.0 + math.erf(CLEARLY / math.sqrt(2.0))))  # gained by the side
WRONG = 2.0 * math.log(EITHER)


@dataclass(frozen=True, eq=False)
class Mixture:
    """Of the deviations of some arms: which (..., k), the combination that tells the side, and the precision.

    Many at once, for conditions with the same number of arms.
    """

    arms: Integers
    side: Floats  # (..., k)
    precision: Floats  # (..., k, k)


@dataclass(frozen=True, eq=False)
class Sums:
    """What some trials of the arms of a mixture weigh: y' form y less cost is twice the logarithm of its integral."""

    form: Floats  # (..., k, k)
    cost: Floats  # (...,)
    z: Floats  # (..., k): z.y is the z-score of the side

    @classmethod
    def of(cls, mixture: Mixture, trials: Floats) -> "Sums":
        """By so many trials (..., k)."""
        weight = trials[..., None] * np.eye(trials.shape[-1])
        inverse = np.linalg.inv(weight + mixture.precision)
        cost = np.linalg.slogdet(weight + mixture.precision)[1] - np.linalg.slogdet(mixture.precision)[1]
        mean = (inverse @ mixture.side[..., None])[..., 0]
        spread = (mixture.side * mean).sum(axis=-1, keepdims=True)
        z = trials * mean / np.sqrt(np.where(spread > 0, spread, 1.0))
        return cls(weight @ inverse @ weight, np.asarray(cost), z)

    def root(self, keep: list[int]) -> Floats:
        """Upper root of the form of some arms, the others being where it is smallest."""
        rest = np.linalg.inv(np.linalg.inv(self.form)[..., keep, :][..., keep])
        return np.asarray(np.linalg.cholesky((rest + rest.swapaxes(-1, -2)) / 2.0).swapaxes(-1, -2))


@dataclass(frozen=True, eq=False)
class Proof:
    """A named basis, the columns as they were named and as the trials since then see them, and the trials of each.

    Columns are (K + L, 1 + L + 1), trials (K + L,) and infinite for what is known.
    """

    basis: list[int]
    named: Floats
    before: Floats
    columns: Floats
    counts: Floats
    scale: Floats  # (1 + L,)

    def evidence(self) -> Floats:
        """Twice the logarithm of the smallest mixture at any truth where each condition fails (K + L,)."""
        result, others = np.empty(len(self.columns)), [j for j in range(len(self.columns)) if j not in self.basis]
        for i in self.basis:
            result[i] = self._weight(i)
        unknown = [j for j in others if np.isfinite(self.counts[j])]
        for some in [unknown, *([j] for j in others if j not in unknown)]:
            if some:
                result[some] = self._rivals(some)
        return result

    def _weight(self, i: int) -> float:
        """That column ``i`` of the basis has a positive weight."""
        mixture = self.mixture([i])
        sums = Sums.of(mixture, self.counts[mixture.arms])
        rest = [k for k in self.basis if k != i]
        zero = self._distance(rest, sums, self.columns[:, 1:-1], self.scale[1:])
        return float((np.minimum(zero, self._singular(sums)) - sums.cost)[0])

    def _rivals(self, some: list[int]) -> Floats:
        """That columns outside of the basis, all unknown or a known one, have negative reduced costs."""
        mixture = self.mixture(some)
        sums = Sums.of(mixture, self.counts[mixture.arms])
        exact = self.columns[[k for k in [*self.basis, *some] if not np.isfinite(self.counts[k])]]
        rows, root = self.columns[mixture.arms], sums.root(list(range(mixture.arms.shape[1])))
        level, sided = distance(rows, root, exact, np.append(self.scale, 0.0)), mixture.side.any(axis=1)
        usual = sided & (level > 0.0) & (level < np.inf)
        level += np.where(sided, WRONG, 0.0)
        if usual.any():
            level[usual] = self._one_sided(rows[usual], root[usual], exact, sums.z[usual])
        return np.minimum(level, self._singular(sums) + np.where(sided, WRONG, 0.0)) - sums.cost

    def _one_sided(self, rows: Floats, root: Floats, exact: Floats, z: Floats) -> Floats:
        """The smallest at any truth with a rival on the hyperplane of the basis, and prices in terms of the reward."""
        scale, side = np.append(self.scale, 0.0), (z[:, None, :] @ rows)[:, 0]

        def pulled(pull: float) -> Floats:
            wider = np.zeros((len(rows), root.shape[1] + 1, root.shape[1] + 1))
            wider[:, :-1, :-1], wider[:, -1, -1] = root, math.sqrt(pull)
            return distance(np.concatenate([rows, side[:, None]], axis=1), wider, exact, scale)

        level, plane = distance(rows, root, exact, scale), nearest(rows, root, exact, scale)
        between = np.max([pulled(pull) - pull * CLEARLY**2 for pull in PULLS], axis=0)
        least = np.minimum(np.minimum(level + RIGHT, between), pulled(STRONG) + WRONG)
        holds = plane[:, 0] * (side * plane).sum(axis=1) > 0.0
        return np.where(holds, least, level + WRONG)

    def _singular(self, sums: Sums) -> Floats:
        """Squared distance to where the basis has no weights."""
        return self._distance(self.basis, sums, self.columns[:, 1:], np.append(self.scale[1:], 0.0))

    def _distance(self, some: list[int], sums: Sums, points: Floats, scale: Floats) -> Floats:
        """Squared distance to where points of some columns of the basis lie on a hyperplane through zero."""
        noisy = [k for k in self.basis if np.isfinite(self.counts[k])]
        kept = [k for k in some if k in noisy]
        root = sums.root([noisy.index(k) for k in kept])
        return distance(points[kept], root, points[[k for k in some if k not in noisy]], scale)

    def mixture(self, some: list[int]) -> Mixture:
        """For these conditions: variances as before the naming, but for the way in which a condition fails."""
        noisy = [k for k in self.basis if np.isfinite(self.counts[k])]
        own = [[j] if j not in self.basis and np.isfinite(self.counts[j]) else [] for j in some]
        arms = np.array([noisy + one for one in own], dtype=np.int64)
        side = np.array([self._combination(j)[row] for j, row in zip(some, arms, strict=True)])
        root = np.sqrt(self.before[arms])
        move = side / root
        size = (move**2).sum(axis=1)[:, None, None]
        along = move[:, :, None] * move[:, None, :] / np.where(size > 0, size, 1.0)
        inner = np.eye(arms.shape[1]) / ACROSS - (1.0 / ACROSS - 1.0 / ALONG) * along
        return Mixture(arms, side, root[:, :, None] * inner * root[:, None, :])

    def _combination(self, j: int) -> Floats:
        """Of which columns the gap of a condition was made when the basis was named (K + L,)."""
        result = np.zeros(len(self.columns))
        goal = np.eye(self.named.shape[1] - 1)[-1] if j in self.basis else self.named[j, 1:]
        parts = self.named[self.basis, 1:].T
        size = np.abs(parts).max(axis=1)
        unit = np.where(size > 0, size, 1.0)  # the metrics' own would let small ones pass for zero
        result[self.basis] = np.linalg.lstsq(parts / unit[:, None], goal / unit, rcond=None)[0]
        result[j] = 0.0 if j in self.basis else -1.0
        return result


def evidence(
    basis: list[int], before: Floats, named: Floats, counts: Floats, means: Floats, bound: Floats, scale: Floats
) -> Floats:
    """``Proof.evidence`` of trials (K0,) and means (K0, 1 + L) at the naming, and trials and means (K, 1 + L) since."""
    first, unit = means.copy(), units(means, bound, scale)
    first[: len(named)] = named
    unknown = np.full((2, len(means) + len(bound)), np.inf)
    unknown[:, : len(counts)] = before, counts
    columns = columns_of(first, bound, unit), columns_of(means, bound, unit)
    return Proof(basis, columns[0], unknown[0], columns[1], unknown[1], np.sign(scale)).evidence()
