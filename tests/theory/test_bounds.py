import math

import numpy as np
import pytest
from bestmix.noise import Bernoulli, Bounded, Empirical, Gaussian, StudentT

from bestmix import SFSR, Instance, catalog, error_bounds, gaps, simulate
from bestmix.strategies.schedule import psi, rejects
from bestmix.theory.bounds import budget_for, upper_bound

FIVE = Instance([1.7, 2.6, 0.5, 2.1, 1.2], [[0.0, 1.8, 0.8, 1.3, 2.0]], [1.0], sigma_reward=1.0, sigma_cost=0.5)
FOUND = gaps(FIVE)


def by_hand(found, arms, costs, pulls):
    """The appendix's display, term by term."""
    ordered = sorted(found.arm)
    total = 0.0
    for k, n in enumerate(pulls, start=1):
        total += 3 ** (costs * (costs + 1) / 2) * math.exp(-n * found.delta0**2 / 3)
        bases = math.comb(arms + costs - 1, costs)
        total += k * bases * 3 ** ((costs + 1) ** 2) * math.exp(-n * ordered[arms + costs - k] ** 2 / 3)
    return total


def test_the_sum_over_the_rounds():
    wanted = by_hand(FOUND, 5, 1, rejects(5, 5, 1, 40_000))
    assert error_bounds(FOUND, 40_000).upper == pytest.approx(wanted, rel=1e-3)


def test_the_closed_form_with_psi():
    budget, share = 40_000, (40_000 - 5) / (3 * float(psi(5, 1)))
    ordered = sorted(FOUND.arm)
    worst = min(ordered[i] ** 2 / i for i in range(2, 6))
    wanted = 4 * 3 * math.exp(-share * FOUND.delta0**2 / 5) + 15 * 5 * 81 * math.exp(-share * worst)
    assert error_bounds(FIVE, budget).closed == pytest.approx(wanted, rel=1e-3)
    assert error_bounds(FIVE, budget).upper < wanted


def test_exponents():
    known = error_bounds(FOUND, 1000)
    smallest = min(FOUND.arm[FOUND.arm > 0])
    assert known.any_exponent == pytest.approx(smallest**2 / 2)
    assert known.uniform_exponent == pytest.approx(smallest**2 / 10)
    # The proven error falls with SFSR's exponent in the end.
    first, second = (upper_bound(FOUND, n) for n in (100_000, 200_000))
    assert -math.log(second / first) / 100_000 >= known.sfsr_exponent * 0.999
    assert known.proven
    assert known.upper == 1.0


@pytest.mark.parametrize(("name", "budgets"), [("A1", (60, 400, 3000, 30_000)), ("D1I", (100, 30_000))])
def test_the_bound_is_never_below_the_simulated_error(name, budgets):
    # False alarms: a Wilson interval's lower end passes the true rate in 2.5% of all cases, and the bound is far off.
    instance = catalog.load(name)
    found = gaps(instance, bases=False)
    for budget in budgets:
        result = simulate(instance, SFSR(), budget, runs=500, seed=3)
        assert result.interval[0] <= upper_bound(found, budget)


def test_the_bound_where_it_says_something():
    instance = Instance([3.0, 6.0, 0.0], [[0.0, 4.0, 3.0]], [2.0], sigma_reward=0.5, sigma_cost=0.5)
    found = gaps(instance)
    budget = budget_for(found, 0.2)
    assert upper_bound(found, budget) <= 0.2 < upper_bound(found, budget - 1)
    assert simulate(instance, SFSR(), budget, runs=500).error_rate <= 0.2


def test_the_bound_falls_with_the_budget():
    values = [upper_bound(FOUND, n) for n in np.geomspace(6, 1e7, 40).astype(int)]
    assert values == sorted(values, reverse=True)
    assert values[0] == 1.0
    assert values[-1] == pytest.approx(0.0, abs=1e-30)


def test_known_arms_and_nothing_to_try():
    known = error_bounds(Instance([1.0, 0.5], [[0.2, 0.4]], [1.0], known=2), 0)
    assert (known.upper, known.closed) == (0.0, 0.0)
    assert known.to_dict()["any_exponent"] is None
    half = Instance([1.0, 0.5, 0.8], [[0.2, 0.4, 0.1]], [1.0], known=1)
    assert error_bounds(half, 10**6).upper < 1e-6


def test_the_theorem_as_written_is_the_papers_display():
    # (L + 1)/2 + log K0 in place of Psi(K0, L); worked out by hand from the display for D2P and ten million trials
    known = error_bounds(catalog.load("D2P"), 10**7)
    assert known.written == pytest.approx(2.431e-22, rel=1e-3)
    assert known.upper < known.closed < known.written


def test_bounded_noise_counts_with_half_its_range():
    # With the variances in place of it the bound would be 4.2e-6; the error is 30 times that.
    coins = Instance([0.01, 0.21], noise=Bernoulli(), known=1)
    result = simulate(coins, SFSR(), 11, runs=100_000, seed=1)
    assert result.interval[0] > 4.2e-6  # what the variances would have promised
    assert result.interval[1] < error_bounds(coins, 11).upper
    like = Instance([0.01, 0.21], noise=Gaussian(0.5), known=1)
    assert error_bounds(coins, 1000).upper == pytest.approx(error_bounds(like, 1000).upper, rel=1e-9)
    assert error_bounds(coins, 1000).to_dict()["any_exponent"] is None


@pytest.mark.parametrize("noise", [Bernoulli(), Bounded(-1.0, 3.0), Empirical([[[0.0], [1.0]], [[0.5], [0.9]]])])
def test_proxies_bound_the_moments_that_proofs_use(noise):
    means = noise.means if isinstance(noise, Empirical) else np.array([[0.3], [0.6]])
    proxy, rng = noise.proxy(means), np.random.default_rng(5)
    for arm in range(2):
        draws = noise.draw(rng, means, arm, 200_000)[:, 0] - means[arm, 0]
        for v in (-3.0, -1.0, 0.5, 2.0):
            # Monte Carlo error of the mean is below 1%; the proxies leave more room than that.
            assert np.exp(v * draws).mean() <= 1.01 * math.exp(v * v * proxy[arm, 0, 0] / 2)


def test_nothing_is_proven_for_heavy_tails():
    heavy = Instance([1.0, 0.2], [[0.5, 0.4]], [1.0], noise=StudentT(3.0))
    known = error_bounds(heavy, 10**6)
    assert (known.upper, known.closed, known.written, known.proven) == (1.0, 1.0, 1.0, False)
    assert budget_for(gaps(heavy), 0.1) is None
    assert "not sub-Gaussian" in known.noise


@pytest.mark.parametrize(("budget", "part"), [(5, "at least 6"), (1.5, "whole number"), (math.nan, "whole number")])
def test_budgets_that_make_no_sense(budget, part):
    with pytest.raises(ValueError, match=part):
        error_bounds(FOUND, budget)
