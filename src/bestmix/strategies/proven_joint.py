"""How far the conditions of a named basis are from failing, against one joint mixture each: the fifth edition's proof.

A truth at which the basis is wrong differs from the means of the later trials along one direction w, in the arms of the
basis and at most one more, by a vector y. The mixture over y of a condition is a normal one, wide where the arms move
together as they would have to for the condition to fail and narrow across, and most of it is on the side on which the
condition holds. All this is fixed when the basis is named. docs/explanation/proven.md has the theorem and its proof.
"""

import math
from dataclasses import dataclass

import numpy as np

from bestmix.arrays import Floats
from bestmix.strategies.proven_support import columns_of, distance, nearest

ALONG = 2.75  # variance of the mixture where the arms move as for the condition to fail, times the trials of an arm
ACROSS = 0.25  # and across
EITHER = 0.1  # of the mixture: on either side
CLEARLY = 2.0  # z-score from which on the side counts as known
PULLS = (1.0, 4.0, 0.25, 16.0, 0.06)  # multipliers that are tried for what lies between; any is right


@dataclass(frozen=True, eq=False)
class Mixture:
    """Of the deviations of some arms: their numbers, the combination that tells the side, and the precision."""

    arms: list[int]
    side: Floats  # (k,)
    precision: Floats  # (k, k)


@dataclass(frozen=True, eq=False)
class Sums:
    """What some trials of the arms of a mixture weigh: y' form y less cost is twice the logarithm of its integral."""

    form: Floats  # (k, k)
    cost: float
    z: Floats  # (k,): z.y is the z-score of the side

    @classmethod
    def of(cls, mixture: Mixture, trials: Floats) -> "Sums":
        """By so many trials (k,)."""
        weight = np.diag(trials)
        inverse = np.linalg.inv(weight + mixture.precision)
        cost = np.linalg.slogdet(weight + mixture.precision)[1] - np.linalg.slogdet(mixture.precision)[1]
        spread = float(mixture.side @ inverse @ mixture.side)
        z = trials * (inverse @ mixture.side) / math.sqrt(spread) if spread > 0 else np.zeros(len(trials))
        return cls(weight @ inverse @ weight, float(cost), z)

    def root(self, keep: list[int]) -> Floats:
        """Upper root of the form of some arms, the others being where it is smallest."""
        others = np.linalg.inv(np.linalg.inv(self.form)[np.ix_(keep, keep)])
        return np.asarray(np.linalg.cholesky((others + others.T) / 2.0).T)


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
        return np.array([self._weight(j) if j in self.basis else self._rival(j) for j in range(len(self.columns))])

    def _weight(self, i: int) -> float:
        """That column ``i`` of the basis has a positive weight."""
        mixture = self._mixture(self.basis, self._combination(i))
        sums = Sums.of(mixture, self.counts[mixture.arms])
        rest = [k for k in self.basis if k != i]
        zero = self._distance(rest, mixture, sums, self.columns[:, 1:-1], self.scale[1:])
        return min(zero, self._singular(mixture, sums)) - sums.cost

    def _rival(self, j: int) -> float:
        """That column ``j`` outside of the basis has a negative reduced cost."""
        mixture = self._mixture([*self.basis, j], self._combination(j))
        sums = Sums.of(mixture, self.counts[mixture.arms])
        singular = self._singular(mixture, sums)
        if not sums.z.any():
            level = self._distance([*self.basis, j], mixture, sums, self.columns, np.append(self.scale, 0.0))
            return min(level, singular) - sums.cost
        return min(self._one_sided(j, mixture, sums), singular + 2.0 * math.log(EITHER)) - sums.cost

    def _one_sided(self, j: int, mixture: Mixture, sums: Sums) -> float:
        """The smallest at any truth where ``j`` is as good as the basis and the prices are positive for the reward."""
        rows, scale = self.columns[mixture.arms], np.append(self.scale, 0.0)
        exact = self.columns[[k for k in [*self.basis, j] if k not in mixture.arms]]
        root, side = sums.root(list(range(len(rows)))), sums.z @ rows
        level, least = distance(rows, root, exact, scale), 2.0 * math.log(EITHER)
        if not 0.0 < level < math.inf:
            return level + least
        plane = nearest(rows, root, exact, scale)
        if not plane[0] * (side @ plane) > 0.0:
            return level + least
        right = level + 2.0 * math.log(EITHER + (1.0 - EITHER) * (1.0 + math.erf(CLEARLY / math.sqrt(2.0))))
        wrong = distance(rows, root, np.vstack([exact, side]), scale) + least
        return min(right, wrong, self._between(rows, root, exact, side))

    def _between(self, rows: Floats, root: Floats, exact: Floats, side: Floats) -> float:
        """A bound on the squared distances of hyperplanes whose z-score of the side is from 0 to ``CLEARLY``."""
        scale, wider = np.append(self.scale, 0.0), np.zeros((len(rows) + 1, len(rows) + 1))
        wider[:-1, :-1], found = root, -math.inf
        for pull in PULLS:
            wider[-1, -1] = math.sqrt(pull)
            found = max(found, distance(np.vstack([rows, side]), wider, exact, scale) - pull * CLEARLY**2)
        return found

    def _singular(self, mixture: Mixture, sums: Sums) -> float:
        """Squared distance to where the basis has no weights."""
        return self._distance(self.basis, mixture, sums, self.columns[:, 1:], np.append(self.scale[1:], 0.0))

    def _distance(self, rows: list[int], mixture: Mixture, sums: Sums, points: Floats, scale: Floats) -> float:
        """Squared distance to where some points lie on a hyperplane through zero."""
        noisy = [k for k in mixture.arms if k in rows]
        root = sums.root([mixture.arms.index(k) for k in noisy])
        return distance(points[noisy], root, points[[k for k in rows if k not in noisy]], scale)

    def _combination(self, j: int) -> Floats:
        """Of which columns the gap of a condition was made when the basis was named (K + L,)."""
        result = np.zeros(len(self.columns))
        goal = np.eye(self.named.shape[1] - 1)[-1] if j in self.basis else self.named[j, 1:]
        result[self.basis] = np.linalg.lstsq(self.named[self.basis, 1:].T, goal, rcond=None)[0]
        result[j] = 0.0 if j in self.basis else -1.0
        return result

    def _mixture(self, columns: list[int], combination: Floats) -> Mixture:
        """For a condition: variances as those of the trials before the naming, but for the way in which it fails."""
        arms = [k for k in columns if np.isfinite(self.counts[k])]
        side, root = combination[arms], np.sqrt(self.before[arms])
        move = side / root
        size = float(move @ move)
        inner = np.eye(len(arms)) / ACROSS
        if size > 0.0:
            inner -= (1.0 / ACROSS - 1.0 / ALONG) * np.outer(move, move) / size
        return Mixture(arms, side, root[:, None] * inner * root)


def evidence(
    basis: list[int], before: Floats, named: Floats, counts: Floats, means: Floats, bound: Floats, scale: Floats
) -> Floats:
    """``Proof.evidence`` of trials (K0,) and means (K0, 1 + L) at the naming, and trials and means (K, 1 + L) since."""
    first = means.copy()
    first[: len(named)] = named
    unknown = np.full((2, len(means) + len(bound)), np.inf)
    unknown[:, : len(counts)] = before, counts
    return Proof(basis, columns_of(first, bound), unknown[0], columns_of(means, bound), unknown[1], scale).evidence()
