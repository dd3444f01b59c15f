import numpy as np
import pytest
from tests import generators, naive

from bestmix.kernels import triples
from bestmix.problems.solution import scaled


@pytest.mark.parametrize("kind", generators.KINDS)
def test_values_are_those_of_all_bases(kind):
    rng = np.random.default_rng([5, generators.KINDS.index(kind)])
    found = 0
    for _ in range(25):
        means, bound = generators.grid(rng, kind, int(rng.integers(1, 8)), 2)
        n = len(means) + 2
        program, scale = scaled(means, bound, np.arange(n))
        score, space = np.empty(n), np.empty((triples.space(n), 4, n))
        expected = naive.iv_scores(means.tolist(), bound.tolist())
        if triples.all_values(program, space, score):
            found += 1
            assert scale[0] + scale[1] * score == pytest.approx([float(e) for e in expected], rel=1e-9, abs=1e-9)
    assert found >= 10
