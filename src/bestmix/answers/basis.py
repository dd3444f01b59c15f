"""What a little more of a column changes in the mix of a basis: weights, what it earns, and the noise of that."""

from typing import NamedTuple

import numpy as np

from bestmix.answers.correlations import floored, mean_covariances
from bestmix.answers.safety import Estimates, mean_variances
from bestmix.arrays import Floats, Integers
from bestmix.problems.solution import Solution


class BasisSteps(NamedTuple):
    """What a unit more of each column changes in the mix of a basis, and in what that earns.

    Attributes
    ----------
    reduced, change
        Of all columns: reduced cost (K + L,), and change of the weights of the arms ``inside`` the basis (K + L, m).
    inside
        Those arms (m,).
    score
        Of a trial: one for its reward, and minus the prices for its costs (1 + L,).
    """

    reduced: Floats
    change: Floats
    inside: Integers
    score: Floats

    def errors(self, data: Estimates, t: Floats, columns: Integers, x: Floats, p: Floats) -> Floats:
        """Standard errors, each arm's times its t (K,), of a mix x with a unit more of some columns, less a mix p.

        With z the mix x after the step, the means of arm a move it by w_a = (z_a - p_a, -lam z_a): p has rewards only.
        """
        each = data.covariances * (t**2 / data.counts)[:, None, None]
        outside = np.ones(len(p), dtype=np.bool_)
        outside[self.inside] = False
        rest = np.where(outside, p**2 * each[:, 0, 0], 0.0)
        variance = np.full(len(columns), rest.sum())
        for k, arm in enumerate(self.inside):
            w = np.outer(x[arm] + self.change[columns, k], self.score) - p[arm] * (np.arange(len(self.score)) == 0)
            variance += np.einsum("ni,ij,nj->n", w, each[arm], w)
        own = (columns < len(p)) & outside[np.minimum(columns, len(p) - 1)]
        arm = columns[own]
        w = self.score - p[arm, None] * (np.arange(len(self.score)) == 0)
        variance[own] += np.einsum("ni,nij,nj->n", w, each[arm], w) - rest[arm]
        if data.shared is not None:
            together = variance + self._together(data.shared, data, t, columns, x, p)
            variance = floored(together, variance, data.fitted)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def _together(self, shared: Floats, data: Estimates, t: Floats, columns: Integers, x: Floats, p: Floats) -> Floats:
        """What arms have in common that share items, in these variances (n,)."""
        z = np.tile(x, (len(columns), 1))
        z[:, self.inside] += self.change[columns]
        for row, column in enumerate(columns):
            if column < len(p) and column not in self.inside:
                z[row, column] += 1.0
        w = (z[:, :, None] * self.score - p[:, None] * (np.arange(len(self.score)) == 0)) * t[:, None]
        common = mean_covariances(shared, np.sqrt(mean_variances(data)))
        return np.asarray(np.einsum("nai,abij,nbj->n", w, common, w, optimize=True))


def basis_steps(means: Floats, bound: Floats, best: Solution) -> BasisSteps:
    """The steps from the basis of an optimum.

    >>> from bestmix.problems.solution import solve_means
    >>> means, bound = np.array([[1.0, 0.0], [3.0, 2.0], [1.5, 1.0]]), np.array([1.0])
    >>> steps = basis_steps(means, bound, solve_means(means, bound))
    >>> steps.reduced.tolist(), steps.change[2].tolist()
    ([0.0, 0.0, -0.5, -1.0], [-0.5, -0.5])
    """
    arms, costs = len(means), len(bound)
    basis, score = np.array(best.basis), np.r_[1.0, -np.maximum(best.dual, 0.0)]
    columns = np.zeros((arms + costs, 2 + costs))
    columns[:arms] = np.column_stack([means[:, 0], means[:, 1:] - bound, np.ones(arms)])
    columns[arms:, 1:-1] = np.eye(costs)
    change, reduced = -columns[:, 1:] @ best.inverse.T, columns[:, :-1] @ score - best.value * columns[:, -1]
    change[basis], reduced[basis] = 0.0, 0.0
    return BasisSteps(reduced, change[:, basis < arms], basis[basis < arms], score)
