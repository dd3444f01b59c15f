import json
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from tests.theory.gaps.brute import all_bases, brute_gap, random_instance

from bestmix import Instance, limit, noise, solve
from bestmix.theory.limit.bound import divergence
from bestmix.theory.limit.gaussian import GaussianDistances
from bestmix.theory.limit.measure import has_limit, limit_at_once

FIVE = Instance([1.7, 2.6, 0.5, 2.1, 1.2], [[0.0, 1.8, 0.8, 1.3, 2.0]], [1.0])


def gaussian_time(reward, sigma):
    """Characteristic time and shares of best-arm identification, by the equations of Garivier and Kaufmann (2016).

    With x_a = w_a / w_0 every rival is as far: gap_a^2 x_a / (1 + x_a) = y, and sum x_a^2 = 1.
    """
    gap = np.square(reward[0] - np.array(reward[1:]))

    def ratios(y):
        return y / (gap - y)

    y = brentq(lambda y: (ratios(y) ** 2).sum() - 1, 0, gap.min() * (1 - 1e-12))
    first = 1 / (1 + ratios(y).sum())
    return 2 * sigma**2 / (first * y), first * np.r_[1.0, ratios(y)]


def scaled(instance, covariance):
    return instance.with_noise(noise.Gaussian(covariance=covariance))


@pytest.mark.parametrize("sigma", [(1.0, 1.0), (0.5, 2.0)])
def test_two_arms_have_a_closed_form(sigma):
    found = limit(Instance([0.7, 0.2], sigma_reward=list(sigma)), delta=0.01)
    assert found.time == pytest.approx(2 * sum(sigma) ** 2 / 0.25, rel=1e-4)
    assert found.share == pytest.approx(np.array(sigma) / sum(sigma), abs=0.01)
    assert found.trials == pytest.approx(found.time * (0.98 * math.log(99)))


@pytest.mark.parametrize("reward", [[1.0, 0.9, 0.5], [2.0, 1.9, 1.5, 1.5, 0.3, -1.0]])
def test_more_arms_without_costs_are_best_arm_identification(reward):
    found = limit(Instance(reward, sigma_reward=0.7))
    time, shares = gaussian_time(reward, 0.7)
    assert found.time <= time * (1 + 1e-9)
    assert found.time_upper >= time * (1 - 1e-9)
    assert found.time == pytest.approx(time, rel=2e-4)
    assert found.share == pytest.approx(shares, abs=0.01)
    assert found.proven


def test_three_arms_and_a_cost_against_brute_force():
    """With shares w the noise of arm a is as if divided by w_a: the nearest alternative is a gap."""
    rng = np.random.default_rng(1)
    instance = random_instance(rng, 3, 1)
    found, best = limit(instance), solve(instance).basis

    def nearest(share):
        other = scaled(instance, instance.covariance / share[:, None, None])
        rivals = [basis for basis in all_bases(instance) if basis != best]
        return min(brute_gap(other, best, rival, rng, 3) for rival in rivals) ** 2 / 2

    assert nearest(found.share) == pytest.approx(1 / found.time, rel=1e-3)
    for share in rng.dirichlet(np.full(3, 3.0), 2):
        assert nearest(share) <= 1 / found.time * (1 + 1e-6)


def test_noise_twice_as_large_takes_four_times_the_trials():
    base, double = limit(FIVE), limit(scaled(FIVE, 4 * FIVE.covariance))
    assert double.time == pytest.approx(4 * base.time, rel=2e-4)
    assert double.share == pytest.approx(base.share, abs=0.01)


def test_units_and_order_do_not_matter():
    base, order = limit(FIVE).time, [3, 0, 4, 1, 2]
    other = Instance(
        7 + 10 * FIVE.reward[order], 100 * FIVE.cost[:, order], 100 * FIVE.bound, sigma_reward=10, sigma_cost=50
    )
    assert limit(other).time == pytest.approx(base, rel=2e-4)


def test_an_arm_more_never_helps_and_a_hopeless_one_hardly_costs():
    base = limit(FIVE).time
    hopeless = Instance([*FIVE.reward, -50.0], [[*FIVE.cost[0], 1.0]], [1.0])
    twin = Instance([*FIVE.reward, 2.1], [[*FIVE.cost[0], 1.3]], [1.0])
    assert base * (1 - 1e-4) <= limit(hopeless).time <= base * 1.01
    assert limit(twin).time > base * 1.05  # a second near rival


def test_a_known_arm_needs_no_trials_and_never_makes_it_harder():
    known = Instance(FIVE.reward, FIVE.cost, FIVE.bound, known=2)
    found = limit(known)
    assert found.share[3:].tolist() == [0.0, 0.0]
    assert found.time < limit(FIVE).time
    assert set(found.shares) <= {"arm0", "arm1", "arm2"}


def test_one_cost_that_no_arm_keeps_has_a_closed_form():
    found = limit(Instance([1.0, 0.5, 0.2], [[2.0, 1.5, 1.3]], [1.0], sigma_cost=0.5))
    assert found.time == pytest.approx(2 * 0.25 * (1 + 4 + 1 / 0.09), rel=1e-4)
    assert found.proven


def test_two_costs_that_no_mix_keeps():
    found = limit(Instance([1.0, 0.5], [[2.0, 0.2], [0.3, 2.0]], [1.0, 1.0]))
    assert found.proven
    assert 0 < found.time <= found.time_upper < 1.0002 * found.time
    assert set(found.weight) <= {"arm0 with arm1", "arm0", "arm1"}


def test_different_covariances_are_best_found_but_the_bound_is_one():
    factor = np.random.default_rng(4).normal(size=(5, 2, 2))
    found = limit(scaled(FIVE, factor @ factor.transpose(0, 2, 1) + 0.1 * np.eye(2)))
    assert not found.proven
    assert found.time <= found.time_upper < 1.001 * found.time
    assert "may be higher" in found.sentence()


def test_ties_have_no_limit_and_certain_answers_need_none():
    tied = limit(Instance([1.0, 1.0], [[0.0, 0.5]], [1.0]))
    assert tied.trials == math.inf
    assert "No number of trials is enough: the best mix is not unique" in str(tied)
    sure = limit(Instance([1.0, 0.5], [[0.2, 0.4]], [1.0], known=2))
    assert sure.trials == 0.0
    assert "No trial is needed" in str(sure)
    assert limit(Instance([1.0, 0.5], [[2.0, 1.5], [2.0, 0.5]], [1.0, 1.0], known=2)).trials == 0.0
    assert "at least 1 trial here" in str(limit(Instance([1.0, 0.5], [[2.0, 1.5], [2.0, 0.5]], [1.0, 1.0], known=1)))
    for found in (tied, sure, limit(FIVE)):
        json.dumps(found.to_dict(), allow_nan=False)


def test_a_mix_whose_limit_is_met_by_known_costs_can_be_found_though_its_basis_cannot():
    means = {"reward": [0.6, 0.3, 1.0], "cost": [[0.5, 0.2, 1.0]], "bound": [1.0]}
    exact = np.array([np.diag([1.0, 0.25]), np.diag([1.0, 0.25]), np.diag([1.0, 0.0])])
    for instance in (Instance(**means, known=1), Instance(**means, noise=noise.Gaussian(covariance=exact))):
        found = limit(instance)
        assert found.trials == math.inf
        assert "No number of trials settles the basis" in str(found)
        assert "The mix itself can be found" in str(found)
    assert "No number of trials is enough: the best mix is degenerate" in str(limit(Instance(**means)))
    alike = Instance([2.0, 0.3, 2.0], [[1.0, 0.2, 1.0]], [1.0], sigma_cost=[[0.0, 0.1, 0.0]])
    assert "The mix itself" not in str(limit(alike))  # nor can the mix: two arms are alike


def test_means_without_noise_beside_noisy_ones():
    other = Instance(
        [1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=[1.0, 0.0, 1.0], sigma_cost=[[0.5, 0.5, 0.0]]
    )
    found = limit(other)
    assert not found.proven
    assert 0 < found.time <= found.time_upper < limit(Instance(other.reward, other.cost, other.bound)).time


def test_a_best_arm_without_noise_has_a_closed_form():
    """Each rival alone has to be told from a fixed reward: T* = sum of 2 sigma^2 / gap^2."""
    found = limit(Instance([1.0, 2.0, 1.2], sigma_reward=[1.0, 0.0, 1.0]))
    assert found.time == pytest.approx(2 / 1 + 2 / 0.64, rel=1e-4)
    assert found.proven
    assert found.share == pytest.approx([2 / 5.125, 0.0, 3.125 / 5.125], abs=0.005)
    assert found.share[1] == 0.0


@pytest.mark.parametrize("costs", [0, 1, 2])
def test_an_arm_without_noise_is_as_good_as_known(costs):
    rng = np.random.default_rng(costs)
    for _ in range(6):
        reward, cost = rng.uniform(0, 2, 4), rng.uniform(0, 2, (costs, 4))
        spread = np.diag([0.49] + [0.25] * costs) * np.array([1.0, 1.0, 1.0, 0.0])[:, None, None]
        exact = Instance(reward, cost, np.ones(costs), noise=noise.Gaussian(covariance=spread))
        known = Instance(reward, cost, np.ones(costs), sigma_reward=0.7, sigma_cost=0.5, known=1)
        found, wanted = limit(exact), limit(known)
        assert (found.time, found.time_upper) == pytest.approx((wanted.time, wanted.time_upper), rel=2e-4)
        assert found.proven == wanted.proven


def test_noise_that_vanishes_leads_to_the_same_limit():
    """Reward exact here, cost exact there, and one arm whose reward and cost go together."""

    def model(little):
        together = np.array([[0.5, 0.3], [0.3, 0.18 + little]])
        return noise.Gaussian(covariance=np.array([np.diag([little, 0.2]), np.diag([0.5, little]), together]))

    base = FIVE.reward[[0, 1, 3]], FIVE.cost[:, [0, 1, 3]], FIVE.bound
    exact, nearly = limit(Instance(*base, noise=model(0.0))), limit(Instance(*base, noise=model(1e-7)))
    assert exact.time == pytest.approx(nearly.time, rel=2e-3)


def test_what_has_no_noise_takes_one_trial():
    found = limit(Instance([1.0, 2.0], sigma_reward=0.0))
    assert (found.time, found.time_upper, found.proven) == (0.0, 0.0, True)
    assert "One trial of each unknown arm is enough" in str(found)


def test_that_nothing_was_found_proves_nothing(monkeypatch):
    monkeypatch.setattr(GaussianDistances, "nearest", lambda *_: None)
    monkeypatch.setattr(GaussianDistances, "exact", lambda *_: False)
    found = limit(FIVE)
    assert (found.time, found.time_upper, found.proven) == (0.0, math.inf, False)
    assert "No bound is known" in str(found)
    near = limit(FIVE, tolerance=0.1)
    assert (near.time, near.time_upper) == (0.0, math.inf)


def test_arms_without_noise_where_no_mix_keeps_several_bounds():
    reward, cost, covariance = [1.0, 0.5, 0.2], [[2.0, 0.2, 1.3], [0.3, 2.0, 1.2]], np.diag([1.0, 0.25, 0.25])
    spread = covariance * np.array([1.0, 1.0, 0.0])[:, None, None]
    exact = limit(Instance(reward, cost, [1.0, 1.0], noise=noise.Gaussian(covariance=spread)))
    known = limit(Instance(reward, cost, [1.0, 1.0], sigma_cost=0.5, known=1))
    assert exact.time == pytest.approx(known.time, rel=2e-4)
    assert exact.proven
    assert exact.share[2] == 0.0


@pytest.mark.parametrize("delta", [5e-324, 1e-300, 1e-12, 0.4999999])
def test_every_chance_below_one_half_has_a_bound(delta):
    found = limit(FIVE, delta)
    assert 0 < found.trials < math.inf
    assert found.trials == pytest.approx(found.time * (1 - 2 * delta) * (math.log1p(-delta) - math.log(delta)))
    assert "at least" in found.sentence()
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("delta", [0.5, 1, 0, -1, 2, math.nan, math.inf, "0.05", "x", None, True])
def test_what_is_no_such_chance_is_refused(delta):
    with pytest.raises(ValueError, match=r"delta: expected a (finite )?number.*; (try|give)"):
        limit(FIVE, delta)


def test_another_delta_is_another_multiple():
    found = limit(FIVE, 0.1)
    assert found.at(0.01).trials / found.trials == pytest.approx(divergence(0.01) / divergence(0.1))
    assert divergence(1e-9) == pytest.approx(math.log(1e9), rel=1e-6)


def test_the_page_says_who_gets_the_trials():
    assert "Shares of trials that attain it: arm" in str(limit(FIVE))


@pytest.mark.parametrize(
    ("instance", "delta", "complaint"),
    [
        ("D2P", 0.05, "expected an Instance"),
        (FIVE, 0.7, "expected a number between 0 and 0.5"),
        (FIVE.with_noise(noise.StudentT(5)), 0.05, "Gaussian noise or 0/1 metrics"),
        (
            Instance([0.5, 0.5], [[0.9, 0.8], [0.9, 0.8]], [0.5, 0.5], noise=noise.Bernoulli()),
            0.05,
            "Gaussian noise in every cost",
        ),
    ],
)
def test_mistakes(instance, delta, complaint):
    with pytest.raises(ValueError, match=complaint):
        limit(instance, delta)


def test_in_passing_only_what_is_quick():
    assert limit_at_once(FIVE, 0.6) is None
    assert limit_at_once(FIVE.with_noise(noise.StudentT(5)), 0.05) is None
    assert not has_limit(FIVE.with_noise(noise.StudentT(5)))
    many = Instance(np.linspace(0.1, 0.9, 20), noise=noise.Bernoulli())
    assert limit_at_once(many, 0.05) is None
    assert limit_at_once(FIVE, 0.05).proven
