import pytest

from bestmix import from_log
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
