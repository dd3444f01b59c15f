from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestmix.answers.number_text import above, chance_text, level_text, measured, mix_text


@given(st.floats(0.5, 1.0, exclude_max=True), st.integers(1, 12))
def test_a_certainty_is_told_below_one_and_not_above_itself(certainty, digits):
    told = Decimal(level_text(certainty, digits).rstrip("%")) / 100
    assert told < 1
    assert 1 - told >= Decimal(f"{1 - certainty:.12g}")


@pytest.mark.parametrize("chance", [0.0, 1e-9, 0.005, 0.3, 0.9499, 0.95, 0.9949, 0.9999, 1.0])
def test_a_chance_is_never_rounded_up(chance):
    text = chance_text(chance)
    assert text not in ("0%", "100%")
    if text[0].isdigit():
        assert float(text.rstrip("%")) / 100 <= chance + 1e-9


def test_a_small_share_is_not_nothing():
    assert mix_text({"flash": 0.9971, "gemini-pro": 0.0029}) == "99.7% flash with 0.3% gemini-pro"


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(5e-324, 1.7e308))
def test_a_mean_and_its_interval_are_what_they_say(mean, half):
    shown, _, half_shown = measured(mean, half).partition(" ± ")
    assert float(half_shown) == pytest.approx(half, rel=0.051, abs=1e-323)
    assert abs(float(shown) - mean) <= 0.051 * half + 1e-14 * abs(mean)
    assert len(shown) <= 26


def test_the_smallest_number_that_there_is_is_rounded_up_as_well():
    assert above(5e-324) == "4.9e-324"
    assert above(0.0) == "0"


def test_of_a_mix_of_very_many_arms_the_largest_are_told():
    shares = {f"a{k}": (k + 1) / 5050 for k in range(100)}
    told = mix_text(shares)
    assert told.startswith("2% a99 with 2% a98 with ")
    assert told.endswith(" a88 and 88 more")
    assert mix_text(dict(list(shares.items())[:12])).count("with") == 11  # all of a dozen, in their order
