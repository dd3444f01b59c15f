"""Sums drawn in one go have the law of sums of single trials."""

import numpy as np
import pytest
from scipy import stats

import bestmix as bm
from bestmix.kernels import sampling

MEANS = np.array([[0.3, 0.6, 0.5], [0.0, 1.0, 0.25], [0.5, 0.5, 0.9]])
MODELS = {
    "independent": bm.noise.Gaussian([1.0, 0.5, 2.0], [0.1, 1.0]),
    "correlated": bm.noise.Gaussian(covariance=[[1.0, 0.8, 0.0], [0.8, 1.0, -0.3], [0.0, -0.3, 0.5]]),
    "student": bm.noise.StudentT(12.0, [1.0, 0.5, 0.8], [0.1, 1.0]),
    "binary": bm.noise.Bernoulli(),
    "binary reward": bm.noise.Bernoulli(sigma_cost=0.3),
    "mixed": bm.noise.Mixed([0.5, 0.0, 0.3], [False, True, False]),
    "bounded": bm.noise.Bounded(),
}
SAMPLES, TRIALS = 3000, 9


def sums(noise, seed):
    model = noise.compiled(MEANS)
    rng, normals = np.random.default_rng(seed), sampling.supply(3, 3)
    result, center, spread = np.empty((SAMPLES, 9)), np.empty(9), np.empty(9)
    for total in result:
        sampling.line_up(model, MEANS, center, spread, total)
        spent = sampling.add_trials(rng, model, np.arange(3), TRIALS, center, spread, total, normals)
        assert spent == 3 * TRIALS
    return result.reshape(SAMPLES, 3, 3)


@pytest.mark.parametrize("name", MODELS)
def test_sums_have_the_law_of_single_trials(name):
    noise = MODELS[name]
    rng = np.random.default_rng(1)
    single = np.stack(
        [noise.draw(rng, MEANS, a, SAMPLES * TRIALS).reshape(SAMPLES, TRIALS, 3).sum(1) for a in range(3)], 1
    )
    quick = sums(noise, 2)
    mixed = np.array([1.0, -0.7, 0.4])  # a direction that sees the correlation
    for a in range(3):
        pairs = [(quick[:, a, i], single[:, a, i]) for i in range(3)] + [(quick[:, a] @ mixed, single[:, a] @ mixed)]
        for left, right in pairs:
            if np.ptp(np.r_[left, right]) > 1e-9:
                # 12 tests a model, 7 models: a false alarm in 84e-6 of all suites.
                assert stats.ks_2samp(left, right).pvalue > 1e-6


@pytest.mark.parametrize("trials", [1, 2, 9])
@pytest.mark.parametrize("name", MODELS)
def test_sums_and_squares_have_the_law_of_single_trials(name, trials):
    noise = MODELS[name]
    model, rng = noise.compiled(MEANS), np.random.default_rng(3)
    start = sampling.origin(model, MEANS, 3)
    total, square, space = np.zeros((SAMPLES, 3)), np.zeros((SAMPLES, 3, 3)), np.empty((4, 3, 3))
    for k in range(SAMPLES):
        sampling.add_moments(rng, model, MEANS[2], 2, trials, total, square, k, space)
    rows = noise.draw(np.random.default_rng(4), MEANS, 2, SAMPLES * trials).reshape(SAMPLES, trials, 3) - start[2]
    slow_total, slow_square = rows.sum(1), np.einsum("kti,ktj->kij", rows, rows)
    np.testing.assert_allclose(square, np.swapaxes(square, 1, 2), atol=1e-12)
    mixed = np.array([1.0, -0.7, 0.4])

    def views(total, square):
        scatter = square - np.einsum("ki,kj->kij", total, total) / trials
        yield from (scatter[:, i, k] for i in range(3) for k in range(i + 1))
        yield from (total @ mixed, np.einsum("i,kij,j->k", mixed, square, mixed), total[:, 0] * scatter[:, 1, 1])

    for left, right in zip(views(total, square), views(slow_total, slow_square), strict=True):
        if np.ptp(np.r_[left, right]) > 1e-9:
            # 9 tests, 21 cases: a false alarm in 189e-6 of all suites. Rounding only breaks the ties of whole numbers.
            assert stats.ks_2samp(left.round(9), right.round(9), method="asymp").pvalue > 1e-6


@pytest.mark.parametrize("name", MODELS)
def test_draws_have_the_stated_moments(name):
    noise = MODELS[name]
    noise.check(MEANS)
    rng = np.random.default_rng(5)
    for a in range(3):
        rows = noise.draw(rng, MEANS, a, 20_000)
        covariance = noise.covariance(MEANS)[a]
        error = np.sqrt(np.diag(covariance) / len(rows))
        assert (np.abs(rows.mean(0) - MEANS[a]) <= 5 * error + 1e-12).all()  # false alarm 6e-7 an entry
        np.testing.assert_allclose(np.cov(rows.T), covariance, atol=0.08)


def test_moments_of_heavy_tails_have_the_law_of_single_trials():
    noise = bm.noise.StudentT(4.0, [1.0, 0.5, 2.0], [0.1, 1.0])
    model, rng, space = noise.compiled(MEANS), np.random.default_rng(8), np.empty((4, 3, 3))
    start = sampling.origin(model, MEANS, 3)
    np.testing.assert_array_equal(start, MEANS)
    drawn, summed, squared = np.random.default_rng(9), np.zeros((SAMPLES, 3)), np.zeros((SAMPLES, 3, 3))
    for k in range(SAMPLES):
        sampling.add_moments(rng, model, MEANS[2], 2, TRIALS, summed, squared, k, space)
    single = noise.draw(drawn, MEANS, 2, SAMPLES * TRIALS).reshape(SAMPLES, TRIALS, 3) - MEANS[2]
    products = np.einsum("rti,rtk->rik", single, single)
    np.testing.assert_array_equal(squared, np.swapaxes(squared, 1, 2))
    for i in range(3):
        assert stats.ks_2samp(summed[:, i], single[:, :, i].sum(1)).pvalue > 1e-6
        for k in range(i + 1):  # 9 tests in all: a false alarm in 9e-6 of all suites
            assert stats.ks_2samp(squared[:, i, k], products[:, i, k]).pvalue > 1e-6


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 9, 59, 10_000, 10**7])
def test_chi_squares_are_the_draws_of_numpy(freedom):
    mine, numpys = np.random.default_rng(6), np.random.default_rng(6)
    draws = [sampling.chi_square(mine, freedom) for _ in range(5000)]  # some are rejected at first
    np.testing.assert_allclose(draws, [numpys.chisquare(freedom) for _ in range(5000)], rtol=1e-12)
    assert mine.random() == numpys.random()


def test_tables_are_redrawn_row_by_row():
    tables = [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0]])]
    noise = bm.noise.Empirical(tables)
    total, ignored = np.zeros(4), np.empty(4)
    model, supply = noise.compiled(noise.means), sampling.supply(2, 2)
    sampling.add_trials(np.random.default_rng(0), model, np.arange(2), 4, ignored, ignored, total, supply)
    rng = np.random.default_rng(0)
    expected = sum(tables[0][rng.integers(0, 2)] for _ in range(4))
    np.testing.assert_array_equal(total, [*expected, 20.0, 24.0])


def test_events_that_were_not_seen_may_come():
    counts = np.array([10, 20, 0])
    means = np.array([[0.0, -1.0, 0.5, 0.3], [0.25, -0.5, 1.0, 0.0], [np.nan] * 4])
    scatter = np.zeros((3, 4, 4))
    scatter[1, 0, 0], scatter[1, 1, 1] = 20 * 0.25 * 0.75, 20 * 0.5 * 0.5
    for _ in range(2):  # arms that were not tried again keep what they were given
        sampling.raise_events(counts, means, np.array([0.2, 0.7, 0.4]), scatter)
        diagonal = np.diagonal(scatter, axis1=1, axis2=2)
        assert diagonal[0].tolist() == [1.0, 1.0, 0.0, 0.0]  # the others have values that are neither 0 nor 1
        assert diagonal[1].tolist() == [3.75, 5.0, 0.0, 0.0]
        assert not diagonal[2].any()  # it was not tried


def test_a_cost_that_is_exactly_at_its_bound_may_be_a_price():
    for bound, raised in ((1.0, 0.0), (0.9, 1.0)):
        scatter = np.zeros((2, 2, 2))
        sampling.raise_events(np.array([10, 10]), np.array([[0.4, 1.0], [0.7, 1.0]]), np.array([bound]), scatter)
        assert np.diagonal(scatter, axis1=1, axis2=2).tolist() == [[0.0, raised]] * 2
