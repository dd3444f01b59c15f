from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import generators

from bestmix.answers.moments import ExactSum, Moments

moderate = st.floats(-1e100, 1e100, allow_subnormal=False)
tables = st.lists(st.tuples(moderate, moderate), min_size=1, max_size=40)


def moments_of(*tables):
    moments = Moments(tables[0].shape[1])
    for table in tables:
        moments.add(table)
    return moments


def exact_scatter(rows, i, j):
    x, y = ([Fraction(row[k]) for row in rows] for k in (i, j))
    n = len(rows)
    return sum(a * b for a, b in zip(x, y, strict=True)) - sum(x) * sum(y) / n


@given(tables)
def test_the_mean_is_correctly_rounded(rows):
    mean = moments_of(np.array(rows)).mean()
    for i in range(2):
        assert mean[i] == float(sum(Fraction(row[i]) for row in rows) / len(rows))


# Beyond this range the products of a trial leave the range of floats.
@given(st.lists(st.tuples(*[st.floats(1e-60, 1e60) | st.floats(-1e60, -1e-60)] * 2), min_size=1, max_size=40))
def test_the_scatter_is_correctly_rounded(rows):
    scatter = moments_of(np.array(rows)).scatter()
    for i in range(2):
        for j in range(2):
            assert scatter[i, j] == float(exact_scatter(rows, i, j))


@given(seed=generators.seeds, size=st.integers(1, 200), cuts=st.lists(st.integers(0, 200), max_size=4))
def test_order_and_batches_change_no_bit(seed, size, cuts):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(size, 3)) * 10.0 ** rng.integers(-30, 30, (size, 3))
    plain = moments_of(rows)
    parts = np.split(rng.permutation(rows), sorted(min(c, size) for c in cuts))
    shuffled = moments_of(*parts)
    assert shuffled.to_dict() == plain.to_dict()
    np.testing.assert_array_equal(shuffled.mean(), plain.mean())
    np.testing.assert_array_equal(shuffled.scatter(), plain.scatter())


def test_a_small_spread_far_from_zero_is_not_lost():
    rows = 1e9 + np.array([[0.0], [1e-6], [2e-6]])
    exact = float(exact_scatter(rows.tolist(), 0, 0))
    assert moments_of(rows).scatter()[0, 0] == exact > 0


@pytest.mark.parametrize("size", [1e-300, 1e-155, 1e-150, 1e-140])
def test_the_scatter_of_tiny_values_is_right_too(size):
    rows = np.random.default_rng(2).normal(size=(9, 1)) * size
    assert moments_of(rows).scatter()[0, 0] == pytest.approx(
        float(exact_scatter(rows.tolist(), 0, 0)), rel=1e-12, abs=1e-320
    )


@pytest.mark.parametrize("size", [1e-300, 1e-100, 1e100, 1e150])
def test_huge_and_tiny_values_have_finite_moments(size):
    rows = np.array([[1.0, -1.0], [-0.5, 1.0], [0.25, 0.75]] * 20) * size
    moments = moments_of(rows)
    np.testing.assert_allclose(moments.mean(), rows.mean(axis=0), rtol=1e-12)
    assert np.isfinite(moments.covariance()).all()


@given(st.lists(st.floats(-1e150, 1e150), max_size=60))
def test_a_sum_of_floats_is_exact_and_survives_its_text(values):
    rows = np.array(values).reshape(-1, 1)
    one_by_one, together = moments_of(*rows[:, None], np.empty((0, 1))).sums[0], moments_of(rows).sums[0]
    again = ExactSum.parse(str(together))
    for total in (one_by_one, together, again):
        assert Fraction(total.total, 2**total.shift) == sum(map(Fraction, values))
    assert str(one_by_one) == str(together) == str(again)


@pytest.mark.parametrize("size", [1e-300, 1e-155, 1e-146, 1.0, 1e149])
def test_one_by_one_and_together_are_the_same_at_any_size(size):
    rows = np.random.default_rng(2).normal(size=(40, 2)) * size
    assert moments_of(*rows[:, None]).to_dict() == moments_of(rows).to_dict()


def test_plain_data_and_back():
    moments = moments_of(np.random.default_rng(0).normal(size=(9, 3)))
    again = Moments.from_dict(moments.to_dict())
    assert again.to_dict() == moments.to_dict()
    np.testing.assert_array_equal(again.covariance(), moments.covariance())


def test_without_trials_there_is_no_mean_and_with_one_no_covariance():
    moments = Moments(2)
    assert np.isnan(moments.mean()).all()
    assert np.isnan(moments.covariance()).all()
    moments.add(np.array([[1.0, 2.0]]))
    np.testing.assert_array_equal(moments.mean(), [1.0, 2.0])
    np.testing.assert_array_equal(moments.scatter(), np.zeros((2, 2)))
    assert np.isnan(moments.covariance()).all()


def test_covariance_is_that_of_numpy():
    rows = np.random.default_rng(1).normal(size=(50, 3))
    np.testing.assert_allclose(moments_of(rows).covariance(), np.cov(rows.T), rtol=1e-12)


def test_squares_that_no_longer_add_up_to_a_float_are_refused():
    many = Moments(1).plus(np.full((600_000, 1), 1e150))
    assert np.isfinite(many.scatter()).all()
    with pytest.raises(ValueError, match="change the unit of measurement"):
        many.plus(np.full((600_000, 1), -1e150))
    assert many.count == 600_000


def test_statistics_are_read_back_to_the_bit():
    rng = np.random.default_rng(0)
    for size in (1e-6, 1.0, 1e6):
        told = Moments(3).plus(rng.normal(size=(17, 3)) * size)
        again = Moments.from_statistics(told.count, told.mean(), told.scatter())
        assert (again.mean() == told.mean()).all()
        assert (again.scatter() == told.scatter()).all()


@pytest.mark.parametrize(
    ("values", "binary"),
    [([0.0, 1.0, 1.0], True), ([0.0], True), ([1.0], True), ([0.5, 0.5], False), ([2.0, 0.0], False), ([-1.0], False)],
)
def test_values_of_0_and_1_are_seen_from_the_sums(values, binary):
    moments = Moments(1)
    moments.add(np.array(values)[:, None])
    assert moments.binary().tolist() == [binary]
    assert Moments.from_dict(moments.to_dict()).binary().tolist() == [binary]


def test_without_trials_nothing_is_binary():
    assert Moments(2).binary().tolist() == [False, False]


@given(tables, tables)
def test_trials_can_be_taken_away_again(some, others):
    first, second = moments_of(np.array(some)), moments_of(np.array(others))
    again, before = first.joined(second).without(second).to_dict(), first.to_dict()
    if second.cubes is None:
        before.pop("cubes", None)
    assert again == before


def test_with_less_weight_mean_and_covariance_stay_and_the_count_falls():
    rows = np.random.default_rng(0).normal(size=(40, 3))
    rows[:, 2] = rows[:, 2] > 0.4
    whole, half = moments_of(rows), moments_of(rows).weighted(0.5)
    assert half.count == 20
    assert half.mean()[:2] == pytest.approx(whole.mean()[:2])
    assert half.covariance()[:2, :2] == pytest.approx(whole.covariance()[:2, :2])
    assert half.binary().tolist() == [False, False, True]
    assert half.mean()[2] == pytest.approx(whole.mean()[2], abs=0.5 / 20 + 1e-9)  # rounded to a whole number of 20
    assert np.linalg.eigvalsh(half.covariance()).min() > -1e-9
    assert whole.weighted(1.0) is whole
    assert whole.weighted(0.01).to_dict() == Moments(3).to_dict()


# --- third powers --------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=40))
def test_skewness_is_that_of_the_trials(values):
    found, x = moments_of(np.array(values)[:, None]).skewness(), np.array(values)
    spread = x.std()
    if spread > 1e-3 * (np.abs(x).max() + 1e-9):
        assert found[0] == pytest.approx(((x - x.mean()) ** 3).mean() / spread**3, rel=1e-6, abs=1e-6)


@given(st.permutations(range(30)), st.integers(1, 29))
def test_neither_order_nor_division_changes_a_bit_of_the_skewness(order, cut):
    rows = np.random.default_rng(1).lognormal(size=(30, 2)) * [1e-30, 1e20]
    once, parts = moments_of(rows), rows[list(order)]
    again = Moments.from_dict(moments_of(parts[:cut]).joined(moments_of(parts[cut:])).to_dict())
    assert again.to_dict() == once.to_dict()
    assert again.skewness().tolist() == once.skewness().tolist()
    assert Moments.together([moments_of(parts[:cut]), moments_of(parts[cut:])]).to_dict() == once.to_dict()


def test_without_third_powers_the_skewness_is_not_known():
    rows = np.random.default_rng(2).lognormal(size=(30, 2))
    known = moments_of(rows)
    old = {name: value for name, value in known.to_dict().items() if name != "cubes"}  # as 0.1 wrote it
    assert Moments.from_dict(old).skewness() is None
    assert Moments.from_dict(old).joined(known).skewness() is None
    assert known.joined(Moments.from_dict(Moments(2).to_dict())).skewness() is not None
    empty = {name: value for name, value in Moments(2).to_dict().items() if name != "cubes"}
    assert known.joined(Moments.from_dict(empty)).skewness().tolist() == known.skewness().tolist()


def test_third_powers_that_are_no_floats_are_not_kept():
    assert moments_of(np.array([[1e120], [1.0]])).skewness() is None
    assert moments_of(np.array([[1e-120], [2e-120]])).skewness().tolist() == [0.0]
    assert moments_of(np.array([[7.0], [7.0], [7.0]])).skewness().tolist() == [0.0]


def test_fewer_trials_are_as_skewed():
    whole = moments_of(np.random.default_rng(3).lognormal(size=(60, 2)))
    assert whole.weighted(0.5).skewness() == pytest.approx(whole.skewness(), rel=1e-9)


def test_a_name_that_is_not_known_is_refused():
    data = moments_of(np.ones((3, 1))).to_dict()
    with pytest.raises(ValueError, match="expected count, sums, products and cubes"):
        Moments.from_dict(data | {"cubfs": data.pop("cubes")})
