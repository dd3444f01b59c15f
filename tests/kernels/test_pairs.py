import numpy as np
import pytest
from tests import generators, naive

from bestmix.kernels import pairs
from bestmix.problems.solution import scaled


@pytest.mark.parametrize("kind", generators.KINDS)
def test_the_best_pair_is_that_of_all_bases(kind):
    rng = np.random.default_rng([3, generators.KINDS.index(kind)])
    basis = np.empty(2, dtype=np.int64)
    for _ in range(60):
        means, bound = generators.grid(rng, kind, int(rng.integers(1, 9)), 1)
        program, scale = scaled(means, bound, np.arange(len(means) + 1))
        expected = max(naive.iv_scores(means.tolist(), bound.tolist()))
        if pairs.best(program, basis):
            i, j = basis
            u, mu, e = program.u[:, 0], program.mu, program.e
            assert u[i] < 0 < u[j]
            value = (u[j] * mu[i] - u[i] * mu[j]) / (u[j] * e[i] - u[i] * e[j])
            assert scale[0] + scale[1] * value == pytest.approx(float(expected), rel=1e-9, abs=1e-9)
