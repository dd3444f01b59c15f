import math

import numpy as np
import pytest
from scipy.special import stdtrit
from tests.answers.estimates import drawn, made

from bestmix.answers import certificate, regret, safety
from bestmix.problems.solution import solve_means


def test_regret_bound_is_the_least_over_prices():
    data, bound = drawn("A2", 100, 3)
    guess = solve_means(data.means, bound)
    found = regret.regret_bound(data, guess.mixture, bound, 0.02, guess.dual)
    grid = [
        regret.priced(data, guess.mixture, bound, 0.02, np.array([lam]))[0].max() for lam in np.linspace(0, 3, 3001)
    ]
    assert found == pytest.approx(min(grid), rel=0.02)
    # convex: no grid point lies above the line between its neighbours
    assert (np.diff(grid, 2) >= -1e-9).all()


def test_regret_without_costs_is_the_gap_to_the_best_rival():
    data = made([[1.0], [0.8]], 1.0, 100)
    t = -stdtrit(104, 0.05)
    found = regret.regret_bound(data, np.array([1.0, 0.0]), np.empty(0), 0.05, np.empty(0))
    assert found == pytest.approx(max(0.0, -0.2 + t * math.sqrt(0.02)), rel=1e-6)


def by_basis(data, mix, bound, tail=0.02):
    return regret.basis_regret_bound(data, mix, bound, tail, solve_means(data.means, bound))


def lower(data, mix, bound, tail=0.02):
    best = solve_means(data.means, bound)
    return regret.least_bound(data, mix, bound, tail, best.dual, best)


def test_by_the_prices_of_a_basis_only_the_noise_of_its_costs_is_left():
    """Where no other arm comes close; that of rewards counts as far as another mix has other weights."""
    data, bound = made([[1.0, 0.2], [3.0, 1.8], [0.5, 0.9]], [[0.3, 0.4]], 400), np.array([1.0])
    t, price = -stdtrit(404, 0.02), 2.0 / 1.6
    optimum, less = np.array([0.5, 0.5, 0.0]), np.array([0.6, 0.4, 0.0])
    noise = np.hypot(price * 0.5 * 0.4 / 20, price * 0.5 * 0.4 / 20)
    assert by_basis(data, optimum, bound) == pytest.approx(t * noise, rel=1e-6)
    assert by_basis(data, less, bound) == pytest.approx(
        0.2 + t * np.hypot(noise, 0.1 * 0.3 / 20 * np.sqrt(2)), rel=1e-6
    )
    for mix, least in ((optimum, 0.0), (less, 0.2)):
        fixed = regret.regret_bound(data, mix, bound, 0.02, np.array([price]))
        assert least < by_basis(data, mix, bound) < least + 0.75 * (fixed - least)
    assert by_basis(data, optimum, np.array([0.1])) == np.inf  # no mix keeps the limit


def test_by_the_prices_of_a_basis_an_arm_that_comes_close_counts():
    bound, mix = np.array([1.0]), np.array([0.5, 0.5, 0.0])
    close, far = (made([[1.0, 0.2], [3.0, 1.8], [reward, 1.0]], [[0.3, 0.4]], 400) for reward in (1.99, 1.0))
    assert by_basis(close, mix, bound) > 1.2 * by_basis(far, mix, bound)


def test_by_the_prices_of_a_basis_none_may_be_negative():
    """The second arm earns hardly more, and may as well earn less: then the limit costs nothing."""
    data = made([[1.0, 0.2], [1.001, 1.8]], [[0.3, 0.4]], 100)
    assert by_basis(data, np.array([0.5, 0.5]), np.array([1.0])) == np.inf


def test_without_costs_it_is_the_gap_to_the_best_rival():
    data = made([[1.0], [0.8]], 1.0, 100)
    best = solve_means(data.means, np.empty(0))
    found = regret.basis_regret_bound(data, np.array([1.0, 0.0]), np.empty(0), 0.05, best)
    assert found == pytest.approx(regret.regret_bound(data, np.array([1.0, 0.0]), np.empty(0), 0.05, np.empty(0)))


def test_by_the_prices_of_a_basis_the_regret_is_bounded_as_often_as_it_says():
    """2,000 sets of trials; of so many, more than 2% + 4 standard errors would miss a bound of 2% once in 30,000."""
    truth, bound, n = np.array([[1.0, 0.2], [3.0, 1.8], [0.5, 0.9]]), np.array([1.0]), 60
    rng, missed, best = np.random.default_rng(4), 0, solve_means(truth, bound).value
    for _ in range(2000):
        trials = truth[:, None] + rng.normal(size=(3, n, 2)) * [0.3, 0.4]
        means = trials.mean(axis=1)
        scatters = np.einsum("ani,anj->aij", trials - means[:, None], trials - means[:, None])
        data = safety.estimates(means, scatters, np.full(3, float(n)))
        mix = solve_means(means, bound - 0.05).mixture
        missed += best - mix @ truth[:, 0] > by_basis(data, mix, bound)
    assert 10 < missed < 40 + 4 * np.sqrt(2000 * 0.02 * 0.98)


@pytest.mark.parametrize(("size", "wanted"), [(1e-300, 1.0), (1e-150, 1.0337), (1e150, 1.0337)])
def test_by_the_prices_of_a_basis_numbers_of_any_size_have_a_bound(size, wanted):
    """Squares of the smallest vanish, and with them the noise: whoever asks looks at ``Evidence.vanishing`` before."""
    data, mix = (
        made(size * np.array([[1.0, 0.2], [3.0, 1.8], [0.5, 0.9]]), [[0.1 * size, 0.1 * size]], 50),
        np.eye(3)[0],
    )
    with np.errstate(over="ignore", invalid="ignore"):
        best = solve_means(data.means, np.array([size]))
    found = regret.basis_regret_bound(data, mix, np.array([size]), 0.02, best)
    assert found / size == pytest.approx(wanted, abs=1e-4)


def test_events_that_were_hardly_seen_have_the_variance_of_wilson():
    means, counts = np.array([[0.05, -0.5], [1.5, 0.0]]), np.array([40.0, np.inf])
    covariances = np.array([[[0.0475, 0.01], [0.01, 0.25]], [[0.1, 0.0], [0.0, 0.0]]])
    data = safety.Estimates(means, covariances, counts, np.array([[1, -1], [0, 1]], dtype=np.int8))
    found = regret.with_events(data).covariances
    centre = (2 + 1.35) / 42.7
    assert found[0].tolist() == [[pytest.approx(centre * (1 - centre)), 0.01], [0.01, 0.25]]
    assert found[1].tolist() == covariances[1].tolist()  # it is known


def test_arms_that_were_never_seen_to_fail_may_still_do():
    """Twenty successes of each of two arms: neither bound is zero."""
    ones = safety.estimates(np.ones((2, 1)), np.zeros((2, 1, 1)), np.full(2, 20.0), np.ones((2, 1), dtype=np.bool_))
    assert lower(ones, np.array([1.0, 0.0]), np.empty(0)) > 0.1


def test_rewards_of_one_only_leave_the_next_trial_open():
    """Ten successes of each of two arms do not say that no other mix earns more; ten prices of 1.5 do."""
    counts, none = np.full(2, 10.0), np.zeros((2, 1, 1))
    ones = safety.estimates(np.ones((2, 1)), none, counts, np.ones((2, 1), dtype=np.bool_))
    prices = safety.estimates(np.full((2, 1), 1.5), none, counts)
    found, exact = (lower(data, np.array([1.0, 0.0]), np.empty(0), 0.05) for data in (ones, prices))
    assert 0.1 < found < 0.4
    assert exact == 0.0


def test_the_variance_of_the_regret_is_that_of_all_means_together_where_arms_share_items():
    rng, arms = np.random.default_rng(3), 3
    factor = rng.normal(size=(arms * 2, 4))
    joint = (factor @ factor.T + np.eye(arms * 2)).reshape(arms, 2, arms, 2)
    counts = np.full(arms, 25.0)
    covariances = np.array([joint[a, :, a] for a in range(arms)]) * counts[:, None, None]
    size = np.sqrt(np.array([np.diag(joint[a, :, a]) for a in range(arms)]))
    shared = joint.transpose(0, 2, 1, 3) / size[:, None, :, None] / size[None, :, None, :]
    shared[range(arms), range(arms)] = 0.0
    data = safety.Estimates(rng.normal(size=(arms, 2)), covariances, counts, np.zeros((arms, 2), np.int8), shared)
    p, lam, bound = np.array([0.6, 0.4, 0.0]), np.array([0.7]), np.array([0.3])
    value, slope = regret.priced(data, p, bound, 0.02, lam)
    level = data.means[:, 0] - (data.means[:, 1:] - bound) @ lam - p @ data.means[:, 0]
    deviation = (value - level) / regret.quantiles(data, p, 0.02)
    for a in range(arms):
        vector = np.zeros((arms, 2))
        vector[:, 0] -= p
        vector[a] += [1.0, -lam[0]]
        assert deviation[a] ** 2 == pytest.approx(vector.ravel() @ joint.reshape(6, 6) @ vector.ravel())
    ahead = regret.priced(data, p, bound, 0.02, lam + 1e-6)[0]
    assert slope[:, 0] == pytest.approx((ahead - value) / 1e-6, rel=1e-4)


def test_an_arm_that_is_noisier_than_the_others_has_its_own_variance_in_the_certificate():
    """Quiet arms would lend it degrees of freedom, and less variance than its trials have shown."""
    means, n, bound = np.array([[0.0, 0.1], [1.0, 0.5]]), 10, np.array([0.4])
    scatters = (n - 1) * np.array([np.diag([0.01, 0.0004]), np.diag([0.01, 0.04])])
    data = safety.estimates(means, scatters, np.full(2, float(n)))
    alone = regret.by_themselves(data)
    assert data.covariances[1, 1, 1] < 0.035
    assert alone.covariances[1, 1, 1] == pytest.approx(0.04)
    assert (safety.freedoms(data)[1], safety.freedoms(alone)[1]) == (14, 9)
    mix = np.array([0.3, 0.7])
    proof = certificate.certify(data, mix, bound, 1.0, np.array([2.5]))
    assert proof.regret == pytest.approx(lower(alone, mix, bound))
    assert proof.regret > 1.05 * lower(data, mix, bound)
