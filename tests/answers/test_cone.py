import numpy as np
import pytest
from tests.answers.estimates import drawn

from bestmix.answers import cone, safety


@pytest.mark.parametrize(("name", "n"), [("D2P", 10), ("D3P", 30), ("A2", 4), ("D3P", 1000)])
def test_both_solvers_agree_with_a_general_one(name, n):
    from scipy.optimize import minimize

    data, bound = drawn(name, n, 2)
    margin = safety.margins(data, 0.02)
    found = cone.cone_mix(data.means, bound, margin)
    c = data.means[:, 1:]
    rows = [
        {"type": "ineq", "fun": lambda p: bound - p @ c - np.sqrt((p[:, None] ** 2 * margin**2).sum(axis=0) + 1e-18)},
        {"type": "eq", "fun": lambda p: p.sum() - 1},
    ]
    start = np.full(len(c), 1 / len(c)) if found is None else found
    general = minimize(
        lambda p: -p @ data.means[:, 0], start, constraints=rows, bounds=[(0, 1)] * len(c), options={"maxiter": 500}
    )
    if found is None:
        assert not general.success
    else:
        assert (found @ c + cone.spread(margin, found) <= bound + 0.006 * cone.spread(margin, found)).all()
        assert found @ data.means[:, 0] >= -general.fun - 0.01 * abs(general.fun)


def test_nothing_fits_where_the_margins_are_wider_than_the_room():
    means, bound = np.array([[1.0, 0.9], [0.5, 0.8]]), np.array([1.0])
    assert cone.cone_mix(means, bound, np.full((2, 1), 0.5)) is None
    assert cone.cone_mix(means, bound, np.zeros((2, 1))).tolist() == [1.0, 0.0]


def test_margins_of_arms_add_up_like_standard_errors():
    assert cone.spread(np.array([[3.0], [4.0]]), np.array([0.5, 0.5])) == pytest.approx([2.5])
