import numpy as np
import pytest

from bestmix.kernels import columns, jit, pairs, sifting, triples


def load(means, bound, chosen):
    means, bound, chosen = np.array(means, dtype=float), np.array(bound, dtype=float), np.array(chosen)
    program = columns.new_program(len(chosen), len(bound))
    columns.load(means, bound, chosen, program)
    return program


def test_arms_are_their_distance_from_the_bounds_and_slacks_unit_vectors():
    mu, u, e = load([[5.0, 1.0, 2.0], [6.0, 3.0, 4.0]], [2.0, 1.0], [1, 2, 3, 0])
    np.testing.assert_array_equal(mu, [6, 0, 0, 5])
    np.testing.assert_array_equal(u, [[1, 3], [1, 0], [0, 1], [-1, 1]])
    np.testing.assert_array_equal(e, [1, 0, 0, 1])


def test_a_cost_within_rounding_of_its_bound_is_at_its_bound():
    _, u, _ = load([[0.0, 0.1 + 0.2], [0.0, 0.3 * (1 + 1e-14)]], [0.3], [0, 1])
    assert u[0, 0] == 0.0
    assert u[1, 0] > 0.0


@pytest.mark.parametrize("size", [1e-150, 1e-6, 1.0, 1e3, 1e150])
def test_scaled_arms_fill_the_unit_box_at_any_size(size):
    rng = np.random.default_rng(1)
    means, bound = rng.normal(size=(7, 3)) * size, rng.normal(size=2) * size
    program = load(means, bound, range(9))
    mu, u, _ = program
    scale = np.empty(4)
    columns.rescale(program, scale)
    assert (mu[:7].min(), mu[:7].max()) == pytest.approx((-1, 1))
    np.testing.assert_allclose(np.abs(u[:7]).max(axis=0), 1.0)
    np.testing.assert_allclose(scale[0] + scale[1] * mu[:7], means[:, 0], rtol=1e-12, atol=1e-12 * size)
    np.testing.assert_allclose(u[:7] * scale[2:], means[:, 1:] - bound, rtol=1e-12)
    np.testing.assert_array_equal(u[7:], np.eye(2))


@pytest.mark.parametrize("reward", [0.0, 0.7, -3e9])
def test_equal_rewards_and_costs_at_the_bound_have_a_scale_too(reward):
    program = load([[reward, 1.0], [reward, 1.0]], [1.0], [0, 1])
    scale = np.empty(3)
    columns.rescale(program, scale)
    assert (scale[1:] > 0).all()
    np.testing.assert_array_equal(program.mu, 0.0)
    np.testing.assert_array_equal(program.u, 0.0)


@pytest.mark.usefixtures("for_the_instance")
def test_programs_lack_what_is_for_others():
    costs, sizes = {"ONE_COST", "TWO_COSTS", "MORE_COSTS"}, {"OVER_16", "OVER_40", "OVER_64", "OVER_512"}
    assert all(getattr(columns, name) for name in costs | sizes)
    assert columns.lacking(0, 10) == costs | sizes
    assert columns.lacking(1, 10) == costs - {"ONE_COST"} | sizes
    assert columns.lacking(2, 10) == costs - {"TWO_COSTS"} | sizes
    assert columns.lacking(7, 10) == costs - {"MORE_COSTS"} | sizes
    limits = [(2, triples.FEW, "OVER_16"), (1, pairs.FEW, "OVER_40"), (1, triples.SOME, "OVER_64")]
    for number, most, name in [*limits, (1, sifting.SMALL, "OVER_512")]:
        assert name in columns.lacking(number, most)
        assert name not in columns.lacking(number, most + 1)
    assert columns.lacking(1, 17) == columns.lacking(1, 16)
    assert columns.lacking(2, 41) == columns.lacking(2, 40)


@pytest.mark.usefixtures("for_the_instance")
def test_machine_code_for_one_or_two_costs_knows_that_number():
    assert [columns.fixed(costs) for costs in range(5)] == list(range(5))
    assert [columns.fixed_rows(rows) for rows in range(1, 5)] == list(range(1, 5))
    known = {costs: jit.machine(columns.fixed, without=columns.lacking(costs, 10)) for costs in range(4)}
    assert [known[costs](7) for costs in range(4)] == [7, 1, 2, 7]  # whatever it is asked
