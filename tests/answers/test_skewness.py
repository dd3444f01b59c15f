"""Skewed costs: how far their skewness counts, and a word of caution where it is called for, and only there."""

import numpy as np
import pytest

from bestmix import Known, from_log, from_sums
from bestmix.answers import safety
from bestmix.answers.moments import Moments
from bestmix.answers.skewness import SHARE, SIZE, SKEWNESS, counted, of_entries, sample_skewness

WORDS = "A few values of dollars are far larger than most"
LOW = "A few values of reward are far smaller than most"
UNKNOWN = "Values of dollars differ widely beside their mean"


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


def test_nothing_is_said_where_no_margin_is_wanted_or_of_limits_on_the_other_side():
    wide = log(1.0, 100)
    assert WORDS not in from_log(wide, bounds={"dollars": 2.0}, safety=None).note
    assert WORDS not in from_log(wide, limits=["dollars >= 0.5"]).note


def test_of_sums_alone_nothing_is_known_but_their_width():
    rows = log(1.0, 100)
    table = {"arm": ["a", "b"], "n": [100, 100]}
    for name in ("reward", "dollars"):
        parts = [rows[name][k::2] for k in (0, 1)]
        table |= {name: [p.sum() for p in parts], f"{name}*{name}": [p @ p for p in parts]}
    table["reward*dollars"] = [rows["reward"][k::2] @ rows["dollars"][k::2] for k in (0, 1)]
    assert UNKNOWN in from_sums(table, bounds={"dollars": 2.0}).note


def test_with_segments_too():
    wide = log(1.0, 100) | {"tier": ["x", "x", "y", "y"] * 50}
    rec = from_log(wide, limits=["dollars <= 2"], segment="tier")
    assert rec.note.count(WORDS) == 1


def test_nothing_is_said_where_the_trials_show_that_values_are_not_skewed():
    rng = np.random.default_rng(0)
    wide = log(1.0, 100) | {"dollars": np.tile([1.0, 3.0], 100) + 1.5 * rng.standard_normal(200)}
    assert WORDS not in from_log(wide, bounds={"dollars": 2.5}).note


# --- how far it counts ---------------------------------------------------------------------------------------


def told(draw, arms=4, n=200, seed=0):
    rng = np.random.default_rng(seed)
    moments = [Moments(1).plus(draw(rng, (n, 1))) for _ in range(arms)]
    means, scatters = np.array([m.mean() for m in moments]), np.array([m.scatter() for m in moments])
    return counted(sample_skewness(moments), np.full(arms, float(n)), means, scatters, np.zeros((arms, 1), bool))


def test_normal_values_are_not_taken_for_skewed():
    """2.5 standard errors: 1.2% of samples are."""
    normal = sum(told(lambda rng, size: rng.normal(1.0, 1.0, size), n=30, seed=k) is not None for k in range(400))
    assert normal <= 14  # 4.8 expected; more with a chance below 0.1%


def test_each_side_has_its_sign_and_no_arm_counts_less_than_all_together():
    for sign in (1.0, -1.0):
        found = told(lambda rng, size, sign=sign: sign * rng.exponential(size=size))
        assert (sign * found[..., SKEWNESS] > 1.2).all()
        assert (sign * found[..., SKEWNESS] < 5.0).all()
        assert (sign * found[..., SIZE] > 1.2).all()


def test_values_of_zero_and_one_have_limits_of_their_own():
    sample, scatters = np.full((2, 1), 5.0), np.full((2, 1, 1), 9.0)
    assert (counted(sample, np.full(2, 50.0), np.ones((2, 1)), scatters, np.ones((2, 1), bool))[..., :SHARE] == 0).all()


def tail(skewness, size=0.0, share=0.0):
    """Of one arm with two metrics."""
    return np.tile([skewness, size, share], (1, 2, 1))


def test_of_a_sum_of_metrics_third_moments_add_up():
    rng = np.random.default_rng(0)
    parts = rng.exponential(size=(400_000, 2)) * [1.0, 0.5]
    both = parts @ [2.0, -1.0]
    exact = ((both - both.mean()) ** 3).mean() / both.std() ** 3
    found = of_entries(np.array([[2.0, -1.0]]), tail(2.0), np.diag([1.0, 0.25])[None])
    assert found[0, 0, SKEWNESS] == pytest.approx(exact, abs=0.05)


def test_a_long_tail_on_the_side_of_the_limit_makes_the_margin_wider():
    estimates = safety.estimates(np.ones((1, 2)), np.tile(99.0 * np.eye(2), (1, 1, 1)), np.full(1, 100.0))
    plain = safety.margins(estimates, 0.05)
    wide, narrow = (safety.margins(estimates._replace(skew=tail(g)), 0.05) for g in (3.0, -3.0))
    quantile = plain / np.sqrt(safety.mean_variances(estimates)[:, 1:])
    assert wide == pytest.approx(plain * (1 + 3.0 * (1 + 2 * quantile**2) / (60 * quantile)))
    assert narrow == pytest.approx(plain)
    assert safety.margins(estimates._replace(skew=tail(-3.0)), 0.05, -1.0) == pytest.approx(wide)


def test_limits_on_skewed_costs_are_kept_more_often():
    """Exponential prices, 60 trials of an arm whose price is within its bound or not by chance.

    By the margin without the skewness about 8% of samples claim too much, at 5%.
    """
    rng, missed = np.random.default_rng(5), {"with": 0, "without": 0}
    for _ in range(400):
        trials = np.column_stack([rng.normal(size=60), rng.exponential(size=60) ** 1.5])
        moments = [Moments(2).plus(trials)]
        sums = np.array([m.mean() for m in moments]), np.array([m.scatter() for m in moments]), np.full(1, 60.0)
        skewness = counted(sample_skewness(moments), sums[2], *sums[:2], np.zeros((1, 2), bool))
        for name, skew in (("with", skewness), ("without", None)):
            data = safety.estimates(*sums, skew=skew)
            missed[name] += data.means[0, 1] + safety.margins(data, 0.05)[0, 0] < 1.329  # the mean of E^1.5
    assert missed["without"] > 1.5 * missed["with"]
    assert missed["with"] <= 32  # 20 expected at 5%; more with a chance below 1%


def test_of_metrics_that_nearly_cancel_nothing_is_made_up():
    """Dollars in proportion to tokens: their difference is nearly nothing, and no more skewed than they are."""
    both = np.ones((2, 2)) + 1e-9 * np.eye(2)
    found = of_entries(np.array([[1.0, -1.1], [1.0, -1.0]]), tail(4.0, 9.0, 0.1), both[None])
    assert (np.abs(found) <= 4.0).all()
    assert (np.abs(of_entries(np.array([[1.0, -1.0]]), tail(4.0), 1e240 * both[None])) <= 4.0).all()
    assert (of_entries(np.array([[1.0, -1.0]]), tail(4.0), np.zeros((1, 2, 2))) == 0.0).all()


def test_a_ratio_of_linked_metrics_keeps_its_narrow_interval():
    rng, rows = np.random.default_rng(0), {"arm": [], "quality": [], "dollars": [], "tokens": []}
    for i, arm in enumerate("abc"):
        tokens = rng.lognormal(0.0, 0.8, 300)
        rows["arm"] += [arm] * 300
        rows["quality"] += list(rng.normal(0.4 + 0.2 * i, 0.2, 300))
        rows["dollars"] += list(tokens * (1.0 + 0.1 * i))
        rows["tokens"] += list(tokens)
    limit = from_log(rows, goal="maximise quality", limits=["dollars / tokens <= 1.11"]).limits
    (found,) = limit.values()
    assert 1.09 < found.interval[0] < found.mean < found.interval[1] < 1.12


def test_each_row_its_own_block_is_as_without_blocks():
    rows = log(0.8, 100)
    plain = from_log(rows, bounds={"dollars": 2.0})
    alone = from_log(rows | {"user": list(range(200))}, bounds={"dollars": 2.0}, block="user")
    assert alone.mixture == pytest.approx(plain.mixture, abs=2e-3)


# --- rare values ---------------------------------------------------------------------------------------------


def outliers(seed=0, n=50, rate=0.04, prices=(1.0, 10.0, 100.0)):
    """Prices that are 50 times as large in a few trials."""
    rng = np.random.default_rng(seed)
    return [Moments(1).plus(price * np.where(rng.random((n, 1)) < rate, 50.0, 1.0)) for price in prices]


def test_size_and_share_of_rare_values_are_found_in_units_of_each_arm():
    moments = outliers(n=2000)
    means, scatters = np.array([m.mean() for m in moments]), np.array([m.scatter() for m in moments])
    found = counted(sample_skewness(moments), np.full(3, 2000.0), means, scatters, np.zeros((3, 1), bool))
    assert found[:, 0, SIZE] == pytest.approx(49.0 * np.array([1.0, 10.0, 100.0]), rel=0.15)
    assert found[:, 0, SHARE] == pytest.approx(np.full(3, 0.04), abs=0.015)


def test_an_arm_without_large_values_may_have_the_others():
    moments = [Moments(1).plus(np.ones((50, 1)) + 1e-3 * np.arange(50)[:, None]), *outliers()]
    means, scatters = np.array([m.mean() for m in moments]), np.array([m.scatter() for m in moments])
    found = counted(sample_skewness(moments), np.full(4, 50.0), means, scatters, np.zeros((4, 1), bool))
    data = safety.estimates(means, scatters, np.full(4, 50.0), skew=found)
    width = safety.margins(data, 0.05, metrics=slice(0, 1))[0, 0]
    events = safety.binomial_margins(np.zeros(1), np.full(1, 50.0), 0.05, 1.0)[0]  # an event that was not seen in 50
    assert width == pytest.approx(events * found[0, 0, SIZE], rel=1e-3)
    assert width > 10 * safety.margins(data._replace(skew=None), 0.05, metrics=slice(0, 1))[0, 0] / 50


@pytest.mark.parametrize("n", [1, 2, 3, 10])
@pytest.mark.parametrize("value", [0.0, 1e-160, 1e80, -1e80])
def test_no_sum_breaks_it(n, value):
    rng = np.random.default_rng(0)
    rows = {"arm": ["a", "b"] * n, "reward": rng.random(2 * n), "dollars": np.append(np.full(2 * n - 1, value), 7.0)}
    assert from_log(rows, bounds={"dollars": 1.0}).mixture


def test_a_mean_next_to_zero_does_not_make_the_others_jumps_larger_than_any_that_was_seen():
    rng = np.random.default_rng(1)
    moments = [Moments(1).plus(rng.exponential(size=(400, 1)) - shift) for shift in (0.999, 0.0, -5.0)]
    means, scatters = np.array([m.mean() for m in moments]), np.array([m.scatter() for m in moments])
    found = counted(sample_skewness(moments), np.full(3, 400.0), means, scatters, np.zeros((3, 1), bool))
    assert (found[..., SIZE] < 4.0).all()  # about 2


def test_failures_of_a_quality_that_has_to_be_kept_are_told_too():
    rng = np.random.default_rng(3)
    quality = np.where(rng.random(300) < 0.05, 0.0, 0.9 + 0.02 * rng.standard_normal(300))
    rows = {"arm": ["a", "b", "c"] * 100, "reward": quality, "dollars": np.tile([1.0, 2.0, 3.0], 100) + rng.random(300)}
    rec = from_log(rows, goal="minimise dollars", limits=["reward >= 0.8"])
    assert LOW in rec.note


@pytest.mark.parametrize("options", [{"bounds": {"dollars": 0.7}}, {"limits": ["dollars <= 0.7", "share(b) <= 90%"]}])
def test_a_price_that_never_varied_counts_as_known_beside_skewed_ones(options):
    rng, n = np.random.default_rng(0), 60
    price = np.r_[np.full(n, 0.7), rng.lognormal(0.0, 1.0, n), 3.0 * rng.lognormal(0.0, 1.0, n)]
    rows = {"arm": ["fee"] * n + ["b"] * n + ["c"] * n, "reward": rng.normal(0.5, 0.1, 3 * n), "dollars": price}
    rec = from_log(rows, **options)
    assert rec.mixture == pytest.approx({"fee": 1.0})
    assert rec.certified


@pytest.mark.parametrize("price", [0.0, 0.5])
@pytest.mark.parametrize("limits", [["dollars <= 0.6"], ["dollars <= 0.6", "share(b) <= 90%"]])
def test_a_price_that_is_known_beforehand_stays_known(price, limits):
    rng, n = np.random.default_rng(0), 60
    prices = np.r_[np.full(n, price), rng.lognormal(0.0, 1.0, n), 3.0 * rng.lognormal(0.0, 1.0, n)]
    rows = {
        "arm": ["a"] * n + ["b"] * n + ["c"] * n,
        "reward": np.r_[rng.normal(0.9, 0.1, n), rng.normal(0.1, 0.1, 2 * n)],
    }
    rec = from_log(rows | {"dollars": prices}, limits=limits, known={"a": Known(None, {"dollars": price})})
    assert rec.mixture == pytest.approx({"a": 1.0})
    assert rec.certified
    assert rec.limits["dollars"].exact
