import numpy as np
import pytest

from bestmix import Instance, Uniform, families
from bestmix.problems.noise import Bernoulli, Bounded, Empirical
from bestmix.theory.planning.sensitivity import Sensitivity, around, sensitivity_of, with_means

EASY = Instance([1.7, 2.6, 0.5, 2.1], [[0.0, 1.8, 0.8, 1.2]], [1.0], sigma_reward=1.0, sigma_cost=0.5)


@pytest.mark.parametrize("noise", [None, Bernoulli(), Bounded(), Empirical([[[0.2, 0.1]], [[0.7, 0.4], [0.8, 0.4]]])])
def test_draws_around_the_guesses_suit_the_noise(noise):
    means = [[0.2, 0.75], [[0.1, 0.4]]]
    instance = Instance(*means, [0.3], noise=noise)
    drawn = around(instance, np.array([0.01, 0.01]), np.random.default_rng(1))
    assert drawn.means.shape == instance.means.shape
    if noise is None:
        assert (drawn.means != instance.means).all()
    assert with_means(instance, instance.means).means == pytest.approx(instance.means)


def test_draws_with_many_trials_need_about_what_was_planned():
    found = sensitivity_of(EASY, np.full(4, 1e9), Uniform(), 0.1, planned=400, draws=3, seed=1, threads=1)
    assert found.same_support == 1.0
    assert all(found.planned / 2 < budget < 2 * found.planned for budget in found.budgets)
    assert found.furthest == 64 * 400


def test_quantiles_and_their_sentence():
    found = Sensitivity("USLP", (100, 200, 300, None), 0.75, 6400, 200)
    assert [found.quantile(q) for q in (0.1, 0.5, 0.75, 0.9)] == [100, 200, 300, None]
    assert "more than 6,400" in found.sentence()
    assert "75% of the draws have the same support" in found.sentence()


def test_of_few_draws_the_ends_are_told():
    few = Sensitivity("SFSR", (48, 52, 350), 1.0, 6400, 50)
    assert "(from the least to the most: 48 to 350)" in few.sentence()
    many = Sensitivity("SFSR", tuple(range(1, 21)), 1.0, 6400, 50)
    assert "about 10 trials (80% of the draws: 2 to 18), and 50 for the guesses themselves by" in many.sentence()
    assert many.sentence(from_log=True).startswith("Means of a pilot may be luck: in 20 draws")


def test_probabilities_of_states_that_come_next_stay_probabilities():
    instance = families.random_markov(3, 2, 1, seed=1)
    drawn = around(instance, np.full(6, 2.0), np.random.default_rng(1))
    visits = drawn.means[:, 2:]
    assert visits.min() >= 0
    assert visits.sum(axis=1).max() <= 1 + 1e-12
