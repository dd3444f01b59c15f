"""Sums of a log do not depend on how it is divided, and blocks are those that DuckDB makes."""

import numpy as np
import pytest

from bestmix import from_log
from bestmix.answers.logs import sums as log_sums
from bestmix.answers.logs.sums import LogColumns, block_name, read_log_sums
from bestmix.problems.goals import Goal
from bestmix.problems.limits import Limit
from bestmix.problems.rows import Rows

ROWS = Rows(Goal.parse("maximise q"), (Limit.parse("p(d > 1) <= 50%"), Limit.parse("d <= 3")))
RNG = np.random.default_rng(0)
LOG = {
    "arm": RNG.choice(["a", "b", "c"], size=500),
    "q": RNG.normal(size=500),
    "d": RNG.gamma(1.0, size=500),
    "who": [f"user {k}" for k in RNG.integers(30, size=500)],
    "at": [f"2026-01-{1 + k // 50:02}T08:00" for k in range(500)],
}


def read(log=LOG, **options):
    return read_log_sums(log, ROWS, LogColumns.of(ROWS, "arm", "reward", **options))


def test_any_division_gives_the_same_bits(monkeypatch):
    whole, _ = read()
    monkeypatch.setattr(log_sums, "MOST_ROWS", 1)
    monkeypatch.setattr("bestmix.answers.logs.tables.ROWS", 37)
    parts, _ = read()
    assert list(whole) == list(parts)
    for group, sums in whole.items():
        assert sums.moments.to_dict() == parts[group].moments.to_dict()
        assert sums.counts.sum() == sums.moments.count


@pytest.mark.parametrize("options", [{"blocks": 7}, {"blocks": None}, {"block": "at", "blocks": "day"}])
def test_blocks_add_up(options, monkeypatch):
    options = {"block": "who"} | options
    found, number = read(**options)
    monkeypatch.setattr(log_sums, "MOST_ROWS", 1)
    monkeypatch.setattr("bestmix.answers.logs.tables.ROWS", 37)
    again, _ = read(**options)
    names = [block_name(unit, options["blocks"]) for unit in LOG[options["block"]]]
    assert number == len(set(names))
    values = np.column_stack([LOG["q"], LOG["d"] > 1, LOG["d"]])
    values = values[:, [["q", "p(d > 1)", "d"].index(str(m)) for m in ROWS.measures]]
    for (arm, _), sums in found.items():
        order = list(dict.fromkeys(names))
        for count, total, block in zip(sums.counts, sums.sums, sums.blocks, strict=True):
            mine = (LOG["arm"] == arm) & np.array([name == order[block] for name in names])
            assert count == mine.sum()
            np.testing.assert_allclose(total, values[mine].sum(axis=0))
        np.testing.assert_allclose(sums.sums, again[arm, None].sums)


def test_blocks_may_be_of_a_column_that_is_read_already():
    log = LOG | {"who": ["x", "y"] * 250}
    assert read(log, segment="who", block="who")[1] == 2


def test_missing_units_are_missing_values():
    log = LOG | {"who": [None, *LOG["who"][1:]]}
    with pytest.raises(ValueError, match="1 of 500 rows miss a value, the first is row 1: column 'who' is"):
        read(log, block="who", blocks=5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"blocks": 5}, "there is no column of the unit"),
        ({"block": "who", "blocks": 1}, "a whole number of at least 2"),
        ({"block": "who", "blocks": "day"}, "dates or times in ISO 8601, such as 2026-01-31, for blocks of days"),
        ({"block": "nobody"}, "there is no column 'nobody'"),
    ],
)
def test_mistakes(options, message):
    with pytest.raises(ValueError, match=message):
        read(**options)


def test_a_log_in_blocks_has_wider_errors_and_a_bootstrap():
    rng = np.random.default_rng(3)
    user = np.repeat(np.arange(60), 20)
    arm = rng.integers(2, size=1200)
    log = {
        "arm": np.array(["s", "l"])[arm],
        "reward": 0.5 + 0.3 * arm + 0.1 * rng.normal(size=1200),
        "d": 1.0 + 4.0 * arm + rng.normal(size=60)[user] + 0.3 * rng.normal(size=1200),
        "who": user,
    }
    plain = from_log(log, bounds={"d": 3.0})
    honest = from_log(log, bounds={"d": 3.0}, block="who", blocks=20, uncertainty="bootstrap", resamples=50)
    assert honest.limits["d"].error > 2 * plain.limits["d"].error
    assert honest.support_probability == 1.0
    assert honest.strategy == "log"
