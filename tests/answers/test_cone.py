import numpy as np
import pytest
from tests.answers.estimates import drawn

from bestmix import from_log
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


def spread_program(arms, seed, trials):
    """Means, bounds and margins with which the best mix has many arms."""
    rng = np.random.default_rng(seed)
    reward = rng.uniform(0.0, 1.0, arms)
    cost = rng.uniform(0.0, 1.0, (arms, 2)) + 0.7 * reward[:, None]
    margin = rng.uniform(0.1, 2.0, (arms, 2)) / np.sqrt(trials)
    return np.column_stack([reward, cost]), np.array([0.55, 0.55]), margin


@pytest.mark.parametrize(("seed", "trials"), [(8, 30), (10, 50)])
def test_many_arms_with_wide_margins_are_mixed_as_well_as_by_a_general_solver(seed, trials):
    from scipy.optimize import minimize

    means, bound, margin = spread_program(40, seed, trials)
    found = cone.cone_mix(means, bound, margin)
    rows = [
        {"type": "ineq", "fun": lambda p: bound - p @ means[:, 1:] - cone.spread(margin, p)},
        {"type": "eq", "fun": lambda p: p.sum() - 1},
    ]
    general = minimize(lambda p: -p @ means[:, 0], np.full(40, 1 / 40), constraints=rows, bounds=[(0, 1)] * 40)
    assert general.success
    assert found @ means[:, 0] >= -general.fun - 0.001


def test_a_mix_that_is_hardly_within_the_cones_is_found():
    means, bound, margin = spread_program(20, 2, 5)
    found = cone.cone_mix(means, bound, margin)
    assert found is not None
    assert (found @ means[:, 1:] + cone.spread(margin, found) <= bound + 0.006 * cone.spread(margin, found)).all()


@pytest.mark.parametrize("seed", range(3))
def test_mixes_of_many_arms_are_those_of_all_equations(monkeypatch, seed):
    program = spread_program(90, seed, 30)
    found, (share, widest) = cone.cone_mix(*program), cone.widest_mix(*program, 6)
    monkeypatch.setattr(cone, "MANY", 91)
    np.testing.assert_allclose(found, cone.cone_mix(*program), atol=1e-6)
    dense_share, dense_widest = cone.widest_mix(*program, 6)
    assert share == pytest.approx(dense_share, abs=1e-9)
    np.testing.assert_allclose(widest, dense_widest, atol=1e-6)


def test_many_arms_are_soon_left_to_the_barrier(monkeypatch):
    rounds, solve = [], cone.solve_means
    monkeypatch.setattr(cone, "solve_means", lambda *program: rounds.append(program) or solve(*program))
    program = spread_program(90, 4, 30)
    quick = cone.cone_mix(*program)
    assert len(rounds) == cone.FEW_ROUNDS
    monkeypatch.setattr(cone, "FEW_ROUNDS", cone.ROUNDS)
    np.testing.assert_allclose(quick, cone.cone_mix(*program), atol=1e-6)


def test_nothing_fits_where_the_margins_are_wider_than_the_room():
    means, bound = np.array([[1.0, 0.9], [0.5, 0.8]]), np.array([1.0])
    assert cone.cone_mix(means, bound, np.full((2, 1), 0.5)) is None
    assert cone.cone_mix(means, bound, np.zeros((2, 1))).tolist() == [1.0, 0.0]


def test_margins_of_arms_add_up_like_standard_errors():
    assert cone.spread(np.array([[3.0], [4.0]]), np.array([0.5, 0.5])) == pytest.approx([2.5])


def correlated(arms, limits, seed):
    """Correlation matrices (L, K, K)."""
    factor = np.random.default_rng(seed).normal(size=(limits, arms, 3)) + 1.0
    square = factor @ factor.transpose(0, 2, 1) + np.eye(arms)
    size = np.sqrt(np.diagonal(square, axis1=1, axis2=2))
    return square / size[:, :, None] / size[:, None, :]


@pytest.mark.parametrize(("name", "n"), [("D2P", 10), ("D3P", 30), ("A2", 30)])
def test_both_solvers_agree_with_a_general_one_where_arms_are_correlated(name, n):
    from scipy.optimize import minimize

    data, bound = drawn(name, n, 2)
    margin, c = safety.margins(data, 0.02), data.means[:, 1:]
    shared = correlated(len(c), len(bound), 1)
    found = cone.cone_mix(data.means, bound, margin, shared)

    def width(p):
        return np.sqrt(np.einsum("a,al,lab,bl,b->l", p, margin, shared, margin, p) + 1e-18)

    rows = [
        {"type": "ineq", "fun": lambda p: bound - p @ c - width(p)},
        {"type": "eq", "fun": lambda p: p.sum() - 1},
    ]
    general = minimize(
        lambda p: -p @ data.means[:, 0], found, constraints=rows, bounds=[(0, 1)] * len(c), options={"maxiter": 500}
    )
    assert cone.spread(margin, found, shared) == pytest.approx(width(found))
    assert (found @ c + width(found) <= bound + 0.006 * width(found)).all()
    assert found @ data.means[:, 0] >= -general.fun - 0.01 * abs(general.fun)


def test_correlated_margins_of_one_limit_have_room_for_a_share():
    means, bound = np.array([[1.0, 0.5], [0.5, 0.7]]), np.array([1.0])
    alike = np.ones((1, 2, 2))
    share, mix = cone.widest_mix(means, bound, np.full((2, 1), 1.0), 12, alike)
    # Arms that are off together: nothing is gained by mixing, so that the cheaper one is best.
    assert share == pytest.approx(0.5, abs=0.01)
    assert mix[0] > 0.9


def test_planes_that_cannot_be_solved_are_left_to_the_barrier(monkeypatch):
    data, bound = drawn("D2P", 100, 1)
    margin = safety.margins(data, 0.02)
    expected = cone.cone_mix(data.means, bound, margin)

    def stalled(table, _):
        raise ArithmeticError("nearly equal planes")

    monkeypatch.setattr(cone, "solve_means", stalled)
    found = cone.cone_mix(data.means, bound, margin)
    assert found @ data.means[:, 0] == pytest.approx(expected @ data.means[:, 0], abs=2e-3)
    assert (found @ data.means[:, 1:] + (1 - cone.FINE) * cone.spread(margin, found) <= bound + 1e-9).all()


@pytest.mark.parametrize("limits", [[], ["share(dear) <= 90%"]])
def test_what_all_costs_have_in_common_changes_nothing(limits):
    """A fixed part of all costs, far above what they differ by: no arm is surer of its limit, and no price is exact."""

    def answered(offset):
        rng = np.random.default_rng(7)
        costs = offset + np.r_[rng.normal(1.0, 0.1, 12), rng.normal(3.0, 0.1, 12)]
        log = {"arm": ["cheap"] * 12 + ["dear"] * 12, "reward": rng.normal(size=24) + np.repeat([0, 5], 12), "c": costs}
        return from_log(log, bounds={"c": offset + 2.0}, limits=limits)

    plain = answered(0.0)
    for offset in (1e6, 1e8, 1e10):  # where a cost is rounded to 2e-6
        found = answered(offset)
        assert found.mixture == pytest.approx(plain.mixture, abs=1e-5)
        assert (found.certainty, found.single) == (pytest.approx(plain.certainty, abs=1e-4), plain.single)


@pytest.mark.parametrize("limits", [[], ["share(half) <= 90%"]])
def test_a_price_that_was_added_up_is_still_at_its_bound(limits):
    price = sum([1e-4] * 1000)
    assert price > 0.1
    log = {"arm": ["full"] * 50 + ["half"] * 50, "reward": [1.0, 1.1] * 25 + [0.5, 0.6] * 25}
    found = from_log(log | {"c": [price] * 50 + [0.05] * 50}, bounds={"c": 0.1}, limits=limits)
    assert (found.certified, found.certainty, found.single) == (True, 1.0, "full")
