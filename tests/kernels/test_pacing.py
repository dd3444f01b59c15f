import numpy as np
import pytest

from bestmix.kernels import pacing


def test_twice_the_bound_raises_the_price_by_the_rate():
    """As the package's documentation says of its learning rate, without smoothing."""
    pacer = pacing.new_pacer(np.array([0.01]))
    pacing.observe((0.05, 1.0, 5.0), np.array([0.01]), np.array([0.02]), pacer)
    assert pacer.price == pytest.approx([0.05])


def test_prices_follow_smoothed_spending_between_zero_and_the_largest():
    settings, bound, rng = (0.05, 0.05, 0.4), np.array([1.0, 2.0]), np.random.default_rng(0)
    pacer, smooth, price = pacing.new_pacer(bound), bound.copy(), np.zeros(2)
    for _ in range(300):
        cost = rng.exponential([1.3, 1.5])
        pacing.observe(settings, bound, cost, pacer)
        smooth = 0.95 * smooth + 0.05 * cost
        price = np.clip(price + 0.05 * (smooth / bound - 1), 0, 0.4)
        np.testing.assert_allclose(pacer.smooth, smooth)
        np.testing.assert_allclose(pacer.price, price, atol=1e-12)


def test_a_price_moves_the_choice_to_the_cheaper_arm():
    means, bound, counts = np.array([[1.0, 0.1], [1.5, 2.0]]), np.array([1.0]), np.array([10**6, 10**6])
    free, dear = pacing.Pacer(bound, np.zeros(1)), pacing.Pacer(bound, np.ones(1))
    rng = np.random.default_rng(0)
    assert pacing.choose(rng, means, bound, counts, 1.0, free) == 1
    assert pacing.choose(rng, means, bound, counts, 1.0, dear) == 0


def test_the_variance_is_pooled():
    scatter = np.zeros((2, 1, 1))
    scatter[:, 0, 0] = 9.0, 27.0
    assert pacing.reward_variance(np.array([10, 10]), scatter) == pytest.approx(2.0)
    assert pacing.reward_variance(np.array([1, 1]), np.zeros((2, 1, 1))) == 0.0
