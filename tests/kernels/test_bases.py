import numpy as np
import pytest
from tests import generators, naive

from bestmix.kernels import bases, simplex
from bestmix.problems.solution import scaled


@pytest.mark.parametrize("kind", generators.KINDS)
@pytest.mark.parametrize("costs", range(5))
def test_the_best_basis_through_each_column(costs, kind):
    rng = np.random.default_rng([11, costs, generators.KINDS.index(kind)])
    basis = np.empty(costs + 1, dtype=np.int64)
    for _ in range((20, 40, 20, 8, 3)[costs]):
        arms = int(rng.integers(1, 7))
        means, bound = generators.grid(rng, kind, arms, costs)
        chosen = np.arange(arms + costs)
        expected = naive.iv_scores(means.tolist(), bound.tolist())
        program, scale = scaled(means, bound, chosen)
        tableau = bases.workspace(costs, len(chosen))
        for a in chosen:
            if max(expected) == naive.INFEASIBLE:
                continue
            value = bases.best_through(a, program, tableau, np.inf, basis)
            assert scale[0] + scale[1] * value == pytest.approx(float(expected[a]), rel=1e-9, abs=1e-9)
            if basis[0] >= 0:
                assert a in basis
                found = simplex.new_basis(costs)
                found.column[:] = basis
                assert simplex.restart(program, found)


@pytest.mark.parametrize("costs", [1, 2, 3])
def test_the_search_ends_with_the_first_value_above_enough(costs):
    rng = np.random.default_rng(costs)
    means, bound = rng.normal(size=(15, 1 + costs)), np.full(costs, 0.2)
    program, _ = scaled(means, bound, np.arange(15 + costs))
    tableau, basis = bases.workspace(costs, 15 + costs), np.empty(costs + 1, dtype=np.int64)
    for a in range(15):
        best = bases.best_through(a, program, tableau, np.inf, basis)
        some = bases.best_through(a, program, tableau, best - 0.3, basis)
        assert best - 0.3 < some <= best
        none = bases.best_through(a, program, tableau, best + 0.3, basis)
        assert none == best
