import numpy as np
import pytest

from bestmix.kernels import sifting, simplex
from bestmix.problems.solution import scaled


@pytest.mark.parametrize("costs", [0, 1, 2, 4])
@pytest.mark.parametrize("arms", [3, 500, 520, 3000])
@pytest.mark.parametrize("kind", ["feasible", "tight", "infeasible", "duplicates"])
def test_many_columns_end_where_the_plain_simplex_ends(costs, arms, kind):
    rng = np.random.default_rng([costs, arms])
    means = rng.normal(size=(arms, 1 + costs))
    if kind == "duplicates":
        means = np.round(means)
    lowest = means[:, 1:].min(axis=0)
    bound = {"feasible": lowest * 0, "tight": lowest * 0.8, "infeasible": lowest - 1.0, "duplicates": lowest * 0}[kind]
    program, _ = scaled(means, bound, np.arange(arms + costs))
    small, large = simplex.new_basis(costs), simplex.new_basis(costs)
    status = simplex.maximise(program, small)
    assert sifting.maximise(program, large) == status
    assert large.column.max() < arms + costs
    if status == simplex.OPTIMAL:
        assert simplex.prices(large)[costs] == pytest.approx(simplex.prices(small)[costs], rel=1e-9, abs=1e-9)
        matrix = np.vstack([program.u[large.column].T, program.e[large.column]])
        np.testing.assert_allclose(simplex.inverse(large) @ matrix, np.eye(costs + 1), atol=1e-8)
