import numpy as np
import pytest

from bestmix import from_log, tradeoff
from bestmix.answers.prices import price_sentences, price_words


def test_a_negative_limit_is_raised():
    assert price_words("loss", -5.0, 0.2).startswith("a limit on loss of -4.95 instead of -5 would add 0.01")


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
def test_what_is_said_does_not_depend_on_the_unit(size):
    log = {"arm": list("aabb"), "reward": [1.0, 1.2, 2.0, 2.2], "dollars": [0.0, 0.2 * size, 1.8 * size, 2.2 * size]}
    (text,) = price_sentences(from_log(log, bounds={"dollars": size}))
    assert text.endswith("would add 0.0053 to the reward.")


def test_limits_that_cost_nothing_are_left_out():
    log = {"arm": list("aabb"), "reward": [1.0, 1.2, 2.0, 2.2], "dollars": [0.0, 0.2, 1.8, 2.2]}
    assert price_sentences(from_log(log, bounds={"dollars": 9.0})) == []


@pytest.mark.parametrize(
    "asked",
    [
        {"limits": ["dollars <= 2"]},
        {"limits": ["dollars / seconds <= 2"]},
        {"limits": ["dollars <= 2 * dollars(s)"]},
        {"limits": ["dollars <= 2 * dollars(s)"], "segment": "tier"},
        {"limits": ["dollars <= 2 in free", "dollars / seconds <= 2 in paid"], "segment": "tier"},
        {"goal": "minimise dollars", "limits": ["reward >= 0.7 * reward(l)"]},
    ],
)
def test_a_shadow_price_is_the_slope_of_the_trade_off(asked):
    rng, size = np.random.default_rng(1), 120
    log = {
        "arm": ["s", "l"] * (size // 2),
        "reward": [1.0 + k % 2 + 0.1 * rng.normal() for k in range(size)],
        "dollars": [1.0 + 2.0 * (k % 2) + 0.1 * rng.normal() for k in range(size)],
        "seconds": [1.0 + 0.3 * rng.random() for _ in range(size)],
        "tier": ["free", "free", "paid", "paid"] * (size // 4),
    }
    rec = from_log(log, **asked)
    told = price_sentences(rec)
    for cost in rec.problem.costs:
        found = tradeoff(log, cost, safety=None, **asked)
        here = next(piece for piece in found.pieces if found.stands_in(piece))
        assert rec.shadow_prices[cost] == pytest.approx(abs(here.slope), rel=0.01)
        assert abs(here.slope) > 0
        assert any(cost in sentence for sentence in told)
