"""Where trials come in groups, errors are those of the groups: too small without blocks, right with them."""

from functools import cache

import numpy as np
import pytest

from bestmix import Problem, from_log, from_sums
from bestmix.answers.blocks import Blocks, at_least
from bestmix.answers.logs.sum_tables import Sums

BLOCKS, USERS, REQUESTS = 40, 120, 10
DOLLARS = {"small": 1.0, "large": 5.0}


def clustered(rng, kind):
    """Sums by block of users who make several requests each and are dear or cheap whatever the arm.

    A user's requests meet both arms, or only one of them.
    """
    user = np.repeat(np.arange(USERS), REQUESTS)
    arm = rng.integers(2, size=user.size) if kind == "both arms" else np.repeat(rng.integers(2, size=USERS), REQUESTS)
    dollars = np.array(list(DOLLARS.values()))[arm] + rng.normal(size=USERS)[user] + 0.5 * rng.normal(size=user.size)
    quality = np.array([0.5, 0.8])[arm] + 0.2 * rng.normal(size=USERS)[user] + 0.1 * rng.normal(size=user.size)
    key = arm * BLOCKS + user % BLOCKS
    columns = {"n": np.ones(user.size), "q": quality, "d": dollars}
    columns |= {"q*q": quality**2, "q*d": quality * dollars, "d*d": dollars**2}
    table = {name: np.bincount(key, values, 2 * BLOCKS) for name, values in columns.items()}
    return table | {"arm": ["small"] * BLOCKS + ["large"] * BLOCKS, "block": list(range(BLOCKS)) * 2}


@cache
def answers(kind, block):
    """Of 60 tables, the same with and without blocks."""
    rng = np.random.default_rng(5)
    return [from_sums(clustered(rng, kind), reward="q", bounds={"d": 3.0}, block=block) for _ in range(60)]


@pytest.mark.parametrize("kind", ["both arms", "one arm"])
def test_blocks_make_errors_honest_where_plain_ones_are_too_small(kind):
    def too_dear(rec):
        return sum(share * DOLLARS[arm] for arm, share in rec.mixture.items()) > 3.0

    plain, in_blocks = (answers(kind, block) for block in (None, "block"))
    assert all(rec.certified for rec in (*plain, *in_blocks))
    # Where each breaks its limit with a chance of 5%, more than 8 of 60 have a chance of 0.3%.
    assert sum(map(too_dear, in_blocks)) <= 8 < sum(map(too_dear, plain))
    # The error of the mean cost of a mix: users differ by 1, and there are 120 of them.
    errors = [np.mean([rec.limits["d"].error for rec in found]) for found in (plain, in_blocks)]
    assert errors[0] < 0.5 / np.sqrt(USERS)
    assert errors[1] == pytest.approx(np.sqrt(1.0 / USERS), rel=0.25)


def test_intervals_of_arms_hold_as_often_as_they_say():
    inside = [
        low <= DOLLARS[arm] <= high
        for rec in answers("one arm", "block")
        for arm, estimate in rec.estimates.items()
        for low, high in [estimate.cost_intervals["d"]]
    ]
    # Of 120: fewer than 106 have a chance of 0.1% where each holds with 95%.
    assert 106 <= sum(inside) < 120


def test_blocks_that_happen_to_be_alike_tell_of_no_price():
    log = {"arm": [], "q": [], "d": [], "day": []}
    for arm, mean in (("a", 1.0), ("b", 2.0)):
        for day in ("monday", "tuesday"):
            for apart in (-0.8, -0.4, 0.0, 0.4, 0.8):
                for key, value in zip(log, (arm, mean + apart / 8.0, mean + apart, day), strict=True):
                    log[key].append(value)
    plain, in_blocks = (from_log(log, reward="q", bounds={"d": 1.5}, block=block) for block in (None, "day"))
    assert in_blocks.limits["d"].error == pytest.approx(plain.limits["d"].error, rel=0.01)
    assert plain.certified
    assert in_blocks.mixture == pytest.approx(plain.mixture, abs=0.01)


def test_an_error_is_at_least_that_of_single_trials():
    own, scatter = np.diag([4.0, 1.0, 2.0]), np.array([[1.0, 1.0, 0.0], [1.0, 9.0, 0.0], [0.0, 0.0, 1e-20]])
    found = at_least(own, scatter)
    np.testing.assert_allclose(np.diag(found), [4.0, 9.0, 2.0])
    assert (np.linalg.eigvalsh(found) > 0).all()


def test_blocks_of_unequal_sizes_count_as_fewer():
    """Heavy and light users, whose dollars differ: limits are kept as often as where all are alike."""
    broken, runs = 0, 400
    for seed in range(runs):
        rng = np.random.default_rng([6, seed])
        user = np.repeat(np.arange(30), 2 + (5.0 * np.exp(1.5 * rng.normal(size=30))).astype(int))
        arm, apart = rng.integers(0, 2, user.size), rng.normal(0.0, 0.3, 30)
        dollars = np.array([0.6, 1.4])[arm] + apart[user] + rng.normal(0.0, 0.1, user.size)
        log = {"arm": np.array(["a", "b"])[arm], "q": 0.5 + 0.3 * arm, "d": dollars, "who": user.astype(str)}
        rec = from_log(log, reward="q", bounds={"d": 1.0}, block="who")
        broken += rec.certified and 0.6 + 0.8 * rec.mixture.get("b", 0.0) > 1.0
    # Meant is at most 5%: a false alarm in 0.4% of all seeds. As 30 blocks, whatever their size, it is 8%.
    assert broken <= 32


def test_an_arm_outside_the_mix_makes_blocks_neither_more_nor_fewer():
    rng = np.random.default_rng(7)
    sizes = np.array([90.0, 9.0, 5.0, 4.0, 3.0, 3.0])
    sums = sizes[:, None, None] * rng.normal(size=(6, 2, 1))
    weights = np.array([[0.4, 0.6]])
    two = Blocks(np.column_stack([sizes, sizes]), sums)
    one_more = Blocks(np.column_stack([sizes, sizes, np.full(6, 500.0)]), np.concatenate([sums, sums[:, :1]], axis=1))
    together, apart = two.variances(weights, np.eye(1), two.covariances)
    again = one_more.variances(np.column_stack([weights, [0.0]]), np.eye(1), one_more.covariances)
    np.testing.assert_allclose(again, (together, apart))
    # Heavy users count for themselves: all of one size the same deviations would be far more certain.
    rows = np.einsum("bkm,rk->br", two.deviations, weights)
    assert together > 3.0 * (rows**2).sum()


def test_what_is_widened_is_the_error_that_is_told():
    """Block means that are the same but for rounding are as wide as rows are; so is a common shift as small."""

    def answered(shift):
        log = {"arm": [], "q": [], "d": [], "day": []}
        for arm, mean in (("a", 1.0), ("b", 2.0)):
            for day, sign in (("monday", 1.0), ("tuesday", -1.0)):
                for apart in (-0.8, -0.4, 0.0, 0.4, 0.8):
                    cost = mean + apart + sign * shift
                    for key, value in zip(log, (arm, mean + apart / 8.0, cost, day), strict=True):
                        log[key].append(value)
        return from_log(log, reward="q", bounds={"d": 1.5}, block="day")

    assert answered(1e-12).mixture == pytest.approx(answered(0.0).mixture, abs=1e-6)


def test_the_bootstrap_redraws_blocks():
    rng = np.random.default_rng(0)
    table = clustered(rng, "both arms")
    table["d"] = np.array(table["d"])
    options = {"reward": "q", "bounds": {"d": 5.0}, "uncertainty": "bootstrap", "resamples": 200}
    one, again = (from_sums(table, **options, seed=3).support_probability for _ in range(2))
    assert one == again
    assert from_sums(table, **options | {"bounds": {"d": 3.0}}).support_probability == 1.0
    # A bound at the mean of the dear arm: users decide whether it is needed to mix.
    edge = float(table["d"][BLOCKS:].sum() / table["n"][BLOCKS:].sum())
    share = from_sums(table, **options | {"bounds": {"d": edge + 1e-9}}).support_probability
    assert 0.3 < share < 0.7


def test_the_bootstrap_needs_blocks():
    table = clustered(np.random.default_rng(0), "both arms")
    with pytest.raises(ValueError, match="the bootstrap redraws blocks, and the sums have none"):
        from_sums(table, reward="q", uncertainty="bootstrap", block=None)


def test_limits_of_every_kind_and_segments_have_blocks():
    table = clustered(np.random.default_rng(1), "both arms")
    table = {name: [*values, *values] for name, values in table.items()} | {"who": ["a"] * 80 + ["b"] * 80}
    limits = ["d <= 4 * d(small)", "d <= 3 in a", "share(large) <= 60%"]
    rec = from_sums(table, goal="maximise q", limits=limits, segment="who")
    plain = from_sums(table, goal="maximise q", limits=limits, segment="who", block=None)
    assert rec.feasible
    for limit in limits[:2]:
        assert rec.limits[limit].error > 1.5 * plain.limits[limit].error
    again = from_sums(table, goal="maximise q", limits=limits, segment="who", uncertainty="bootstrap", resamples=40)
    assert again.support == rec.support
    assert 0 < again.support_probability <= 1


def test_a_named_column_must_be_there_and_an_arm_needs_two_blocks():
    table = clustered(np.random.default_rng(0), "both arms")
    with pytest.raises(ValueError, match="there is no column 'user'"):
        from_sums(table, reward="q", block="user")
    with pytest.raises(ValueError, match="expected trials of 'large' in at least two blocks, got one"):
        from_sums(table | {"block": list(range(BLOCKS)) + [0] * BLOCKS}, reward="q")
    with pytest.raises(ValueError, match="1 of 80 rows miss a value, the first is row 1: column 'block' is"):
        from_sums(table | {"block": [None, *range(BLOCKS - 1), *range(BLOCKS)]}, reward="q")


def test_independent_trials_have_the_same_errors_in_blocks():
    """Each trial a block of its own: the usual variance of a mean, whatever the metric."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=(400, 2)) @ np.array([[1.0, 0.4], [0.0, 0.5]])
    problem = Problem(["a"], {"d": 1.0})
    sums = Sums(None, np.ones(400, dtype=np.int64), values, np.arange(400))
    blocks = Blocks.of(problem, {0: sums}, 400)
    np.testing.assert_allclose(blocks.covariances[0], np.cov(values, rowvar=False) / 400, rtol=0.01)
