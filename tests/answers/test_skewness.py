"""A word of caution about skewed costs: where it is called for, and only there."""

import numpy as np
import pytest

from bestmix import from_log

WORDS = "Values of dollars differ widely beside their mean"


def log(spread, trials, shift=0.0):
    """Two arms whose prices are log-normal, with the deviation of their logarithms."""
    rng = np.random.default_rng(3)
    price = np.exp(spread * rng.standard_normal(2 * trials) - spread**2 / 2) * np.tile([1.0, 3.0], trials)
    reward = np.tile([1.0, 2.0], trials) + 0.1 * rng.standard_normal(2 * trials)
    return {"arm": ["a", "b"] * trials, "reward": reward, "dollars": price + shift}


@pytest.mark.parametrize(("spread", "trials", "said"), [(1.0, 100, True), (0.3, 100, False), (1.0, 3000, False)])
def test_caution_is_said_of_wide_prices_until_there_are_many_trials(spread, trials, said):
    rec = from_log(log(spread, trials), bounds={"dollars": 2.0})
    assert (WORDS in rec.note) == said
    assert (WORDS in str(rec)) == said


def test_nothing_is_said_where_values_may_be_negative_where_no_margin_is_wanted_or_of_lower_limits():
    wide = log(1.0, 100)
    assert WORDS not in from_log(wide | {"dollars": wide["dollars"] - 2.0}, bounds={"dollars": 1.0}).note
    assert WORDS not in from_log(wide, bounds={"dollars": 2.0}, safety=None).note
    assert WORDS not in from_log(wide, limits=["dollars >= 0.5"]).note


def test_with_segments_too():
    wide = log(1.0, 100) | {"tier": ["x", "x", "y", "y"] * 50}
    rec = from_log(wide, limits=["dollars <= 2"], segment="tier")
    assert rec.note.count(WORDS) == 1
