import numpy as np
import pytest
from scipy.optimize import minimize
from tests.answers.estimates import drawn
from tests.answers.test_cone import correlated, spread_program

from bestmix.answers import barrier, cone, safety

GROUPS = np.array([[1.0, 1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 1.0]])
EVEN = np.array([0.2, 0.2, 0.2, 0.2, 0.2])


def random_cones(seed, limits=2):
    rng = np.random.default_rng(seed)
    excess = rng.normal(-0.2, 0.5, (5, limits))
    return rng.normal(size=5), excess, cone.Margins(rng.uniform(0.05, 0.3, (5, limits)))


def test_a_step_is_that_of_all_its_equations(monkeypatch):
    means, bound, margin = spread_program(90, 4, 30)
    excess, margins = cone.scaled(means, bound, cone.Margins(margin))
    x, groups = barrier.inside(excess, margins), np.ones((1, 90))
    step, length = barrier._newton(900.0 * means[:, 0], x, excess, margins, groups)
    monkeypatch.setattr(cone, "MANY", 90)
    dense, dense_length = barrier._newton(900.0 * means[:, 0], x, excess, margins, groups)
    np.testing.assert_allclose(step, dense, rtol=1e-7, atol=1e-9 * np.abs(dense).max())
    assert length == pytest.approx(dense_length, rel=1e-9)


def test_the_path_ends_where_the_planes_do_with_correlated_arms():
    data, bound = drawn("D2P", 30, 2)
    shared = correlated(len(data.means), len(bound), 3)
    excess, margins = cone.scaled(data.means, bound, cone.Margins(safety.margins(data, 0.02), shared))
    end = barrier.follow(data.means[:, 0], barrier.inside(excess, margins), excess, margins)
    planes = cone.cone_mix(data.means, bound, safety.margins(data, 0.02), shared)
    assert end @ data.means[:, 0] == pytest.approx(planes @ data.means[:, 0], rel=5e-3)


@pytest.mark.parametrize("seed", range(6))
def test_groups_keep_their_sums_and_the_end_is_that_of_a_general_solver(seed):
    reward, excess, margins = random_cones(seed)
    start, none = barrier.room_within(excess, margins, EVEN, GROUPS)
    if start is None:
        assert none
        pytest.skip("nothing is within these cones")
    end = barrier.follow(reward, start, excess, margins, GROUPS)
    for point in (start, end):
        np.testing.assert_allclose(GROUPS @ point, GROUPS @ EVEN)
        assert (point > 0).all()
        assert (point @ excess + margins.spread(point) < 0).all()
    rows = [
        {"type": "ineq", "fun": lambda x: -(x @ excess + margins.spread(x))},
        {"type": "eq", "fun": lambda x: GROUPS @ (x - EVEN)},
    ]
    general = minimize(lambda x: -reward @ x, start, constraints=rows, bounds=[(0, 1)] * 5, options={"maxiter": 500})
    assert reward @ end == pytest.approx(-general.fun, abs=1e-4 * np.ptp(reward))


def test_that_nothing_is_within_is_said_where_it_is_certain():
    margins = cone.Margins(np.full((5, 1), 0.1))
    assert barrier.room_within(np.full((5, 1), 0.5), margins, EVEN, GROUPS) == (None, True)
    touching = cone.Margins(np.zeros((5, 1)))  # the limit can be met, and no more
    assert barrier.room_within(np.array([[0.0], [1.0], [1.0], [0.0], [1.0]]), touching, EVEN, GROUPS) == (None, False)
