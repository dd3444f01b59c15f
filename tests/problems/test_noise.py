import numpy as np
import pytest
from scipy import stats

from bestmix import Instance, noise

MEANS = np.array([[0.3, 0.6, 0.1], [0.9, 0.2, 0.5]])
CORRELATED = np.array([[1.0, 0.3, 0.0], [0.3, 0.5, -0.2], [0.0, -0.2, 0.4]])
MODELS = [
    noise.Gaussian(),
    noise.Gaussian(0.3, 0.2),
    noise.Gaussian([0.3, 0.5], [0.2, 0.4]),
    noise.Gaussian(0.1, [[0.2, 0.4], [0.0, 0.7]]),
    noise.Gaussian(covariance=CORRELATED),
    noise.Gaussian(covariance=[CORRELATED, 2 * CORRELATED]),
    noise.Gaussian(covariance=np.ones((3, 3))),
    noise.StudentT(9.0),
    noise.StudentT(12.0, [0.3, 0.5], [[0.2, 0.4], [0.0, 0.7]]),
    noise.Bernoulli(),
    noise.Bernoulli(sigma_cost=0.3),
    noise.Mixed([0.0, 0.4, 0.0], [True, False, True]),
    noise.Mixed([0.2, 0.4, 0.7], [False, False, False]),
    noise.Bounded(-1.0, 2.0, 3.0),
    noise.Bounded(),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.kind)
@pytest.mark.parametrize("arm", [0, 1])
def test_draws_have_the_means_and_the_covariance_that_the_model_states(model, arm):
    # 9 moments, each within 5 standard errors: false alarms in 1 of 100,000 runs, and the seed is fixed.
    n = 40_000
    rows = model.draw(np.random.default_rng(1), MEANS, arm, n)
    assert rows.shape == (n, 3)
    covariance = model.covariance(MEANS)[arm]
    spread = np.sqrt(np.diag(covariance))
    assert (np.abs(rows.mean(axis=0) - MEANS[arm]) <= 5 * spread / np.sqrt(n) + 1e-12).all()
    products = (rows - MEANS[arm])[:, :, None] * (rows - MEANS[arm])[:, None, :]
    error = 5 * products.std(axis=0) / np.sqrt(n) + 1e-12
    assert (np.abs(products.mean(axis=0) - covariance) <= error).all()


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.kind)
def test_plain_data_and_back(model):
    again = noise.from_dict(model.to_dict())
    assert again.to_dict() == model.to_dict()
    np.testing.assert_array_equal(again.covariance(MEANS), model.covariance(MEANS))


def test_bounded_noise_never_leaves_its_interval_and_is_still_at_its_ends():
    model = noise.Bounded(0.0, 1.0, 0.5)
    rows = model.draw(np.random.default_rng(0), np.array([[0.0, 1.0, 0.5]]), 0, 1000)
    assert ((rows >= 0) & (rows <= 1)).all()
    assert (rows[:, 0] == 0).all()
    assert (rows[:, 1] == 1).all()
    assert rows[:, 2].std() > 0.1


def test_student_noise_is_the_t_distribution_scaled_to_its_deviation():
    # Quantiles instead of moments: at 4 degrees the fourth moment is infinite. False alarm in 1e-6 of the runs.
    rows = noise.StudentT(4.0, sigma_reward=3.0).draw(np.random.default_rng(3), MEANS, 1, 20_000)
    standard = (rows[:, 0] - MEANS[1, 0]) / (3.0 / np.sqrt(2.0))  # a t variable with 4 degrees has variance 2
    assert stats.kstest(standard, stats.t(4).cdf).pvalue > 1e-6
    assert stats.kstest(standard, stats.norm(0.0, np.sqrt(2.0)).cdf).pvalue < 1e-6


def test_empirical_noise_redraws_whole_trials():
    table = np.array([[1.0, 10.0], [2.0, 20.0]])
    rows = noise.Empirical([table]).draw(np.random.default_rng(0), table[:1], 0, 100)
    assert {tuple(row) for row in rows} == {(1.0, 10.0), (2.0, 20.0)}


BAD_NOISE = [
    (lambda: noise.Gaussian(sigma_reward=-1.0), "sigma_reward: .*-1"),
    (lambda: noise.Gaussian(sigma_cost=[0.5, -0.1]), "sigma_cost: .*-0.1"),
    (lambda: noise.Gaussian(sigma_reward=float("nan")), "sigma_reward: .*nan"),
    (lambda: noise.Gaussian(sigma_reward=[[1.0]]), r"sigma_reward: .*\(1, 1\)"),
    (lambda: noise.Gaussian(sigma_reward="big"), "sigma_reward: .*big"),
    (lambda: noise.Gaussian(sigma_cost=[[1.0], [1.0, 2.0]]), "sigma_cost: "),
    (lambda: noise.Gaussian(covariance=[1.0]), r"covariance: .*\(1,\)"),
    (lambda: noise.Gaussian(covariance="big"), "covariance: .*big"),
    (lambda: noise.Gaussian(covariance=np.ones((2, 3))), r"covariance: .*\(2, 3\)"),
    (lambda: noise.Gaussian(covariance=[[1.0, 0.5], [0.0, 1.0]]), "covariance: expected symmetric"),
    (lambda: noise.Gaussian(covariance=[[1.0, 2.0], [2.0, 1.0]]), "covariance: .*-1"),
    (lambda: noise.Gaussian(covariance=np.eye(2)).check(MEANS), r"covariance: .*\(3, 3\).*\(2, 2\)"),
    (lambda: noise.Gaussian([1.0, 1.0, 1.0]).check(MEANS), r"sigma_reward: .*\(2,\).*\(3,\)"),
    (lambda: noise.Gaussian(1.0, [1.0, 1.0, 1.0]).check(MEANS), r"sigma_cost: .*\(2,\).*\(3,\)"),
    (lambda: noise.Gaussian(1.0, np.ones((3, 2))).check(MEANS), r"sigma_cost: .*\(2, 2\).*\(3, 2\)"),
    (lambda: noise.StudentT(2.0), "degrees: expected a number above 2, got 2"),
    (lambda: noise.StudentT(float("nan")), "degrees: .*nan"),
    (lambda: noise.StudentT("four"), "degrees: .*four"),
    (lambda: noise.StudentT(sigma_reward=-1.0), "sigma_reward: .*-1"),
    (lambda: noise.StudentT(4.0, [1.0, 1.0, 1.0]).check(MEANS), r"sigma_reward: .*\(2,\).*\(3,\)"),
    (lambda: noise.Bernoulli(sigma_cost=-0.5), "sigma_cost: .*-0.5"),
    (lambda: noise.Bernoulli().check(MEANS * 3), "Bernoulli noise: .*2.7"),
    (lambda: noise.Bernoulli(0.5).check(MEANS * [3, 1, 1]), "Bernoulli noise: .*2.7"),
    (lambda: noise.Bounded(1.0, 0.0), "Bounded noise: expected low < high, got 1 and 0"),
    (lambda: noise.Bounded(concentration=0.0), "concentration: .*0"),
    (lambda: noise.Bounded(low="a"), "low: .*'a'"),
    (lambda: noise.Bounded(0.0, 0.5).check(MEANS), "Bounded noise: .*0.9"),
    (lambda: noise.Empirical([[[1.0, 2.0]], [[1.0]]]), r"tables\[1\]: expected trials with 2 entries"),
    (lambda: noise.Empirical([np.empty((0, 2))]), r"tables\[0\]: .*\(0, 2\)"),
    (lambda: noise.Empirical([[[1.0, float("nan")]]]), r"tables\[0\]: .*nan"),
    (lambda: noise.Empirical([[[1.0]], [[2.0]]]).check(np.ones((2, 1))), "Empirical noise: .*from_trials"),
    (lambda: noise.from_dict({"kind": "cauchy"}), "noise.kind: .*cauchy"),
    (lambda: noise.Mixed([1.0, 2.0], [True]), "binary: expected true or false for each of 2 metrics"),
    (lambda: noise.Mixed([1.0], [1.0]), "binary: expected true or false for each of 1 metrics"),
    (lambda: Instance([2.0], noise=noise.Mixed([1.0], [True])), "Mixed noise: expected means from 0 to 1"),
    (lambda: Instance([0.5], noise=noise.Mixed([1.0, 1.0], [True, True])), "Mixed noise: expected 2 metrics, got 1"),
    (lambda: noise.from_dict({}), "noise.kind: .*None"),
    (lambda: noise.from_dict("gaussian"), "noise: expected a mapping"),
    (lambda: noise.from_dict({"kind": "gaussian", "sigma": 1.0}), "noise: gaussian noise .*sigma"),
]


@pytest.mark.parametrize(("make", "message"), BAD_NOISE, ids=lambda x: x if isinstance(x, str) else "")
def test_bad_noise_is_refused_by_name(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make()


def test_noise_that_does_not_fit_is_refused_when_the_instance_is_made():
    with pytest.raises(ValueError, match=r"sigma_cost"):
        Instance([1.0, 2.0], [[0.0, 1.0]], [1.0], sigma_cost=[0.1, 0.2, 0.3])
