import numpy as np
import pytest

from bestmix.answers import bootstrap as module
from bestmix.answers.bootstrap import Redrawn, bootstrap
from bestmix.problems.problem import Problem

DRAWS = 1500
LARGEST_DISTANCE = 1.95 * np.sqrt(2 / DRAWS)  # of two empirical distributions of equal origin, but in 1 of 1,000 pairs


def redrawn_by_rows(table, rng):
    return table[rng.integers(len(table), size=len(table))].mean(axis=0)


def distance(one, two):
    """Largest difference of two empirical distribution functions."""
    both = np.sort(np.concatenate([one, two]))
    shares = [np.searchsorted(np.sort(values), both, side="right") / len(values) for values in (one, two)]
    return np.abs(shares[0] - shares[1]).max()


def outlier(rng):
    table = rng.normal(size=(3000, 2))
    table[7] = 1e4, -1e4
    return table


TABLES = {
    "normal": lambda rng: rng.normal(size=(3000, 2)) @ [[1.0, 0.8], [0.0, 0.6]],
    "heavy tails": lambda rng: np.exp(2.0 * rng.normal(size=(3000, 2))),
    "rare events": lambda rng: (rng.random((3000, 2)) < [0.001, 0.5]).astype(float),
    "one outlier": outlier,
    "a constant": lambda rng: np.column_stack([rng.normal(size=3000), np.full(3000, 2.0)]),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_means_are_distributed_as_those_of_redrawn_rows(make):
    rng = np.random.default_rng(5)
    table = make(rng)
    arm = Redrawn.of(table)
    assert arm.near == len(table) - module.FAR_ROWS
    fast = np.array([arm.mean(rng) for _ in range(DRAWS)])
    slow = np.array([redrawn_by_rows(table, rng) for _ in range(DRAWS)])
    for direction in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]):
        one, two = np.round(fast @ direction, 9), np.round(slow @ direction, 9)
        assert distance(one, two) < LARGEST_DISTANCE


def test_the_moments_are_those_of_redrawn_rows():
    rng = np.random.default_rng(1)
    table = rng.gamma(0.5, size=(4000, 2))
    arm = Redrawn.of(table)
    draws = np.array([arm.mean(rng) for _ in range(4000)])
    error = np.sqrt(table.var(axis=0) / len(table))
    assert (np.abs(draws.mean(axis=0) - table.mean(axis=0)) < 4 * error / np.sqrt(4000)).all()
    expected = np.cov(table, rowvar=False) / 4000
    noise = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / 4000)  # of a covariance of 4,000
    assert (np.abs(np.cov(draws, rowvar=False) - expected) < 4 * noise).all()


def test_of_few_rows_all_are_redrawn_and_the_draws_are_those_of_before():
    table = np.random.default_rng(0).normal(size=(50, 2))
    one, two = np.random.default_rng(3), np.random.default_rng(3)
    np.testing.assert_array_equal(Redrawn.of(table).mean(one), redrawn_by_rows(table, two))


def test_the_share_of_a_support_is_that_of_redrawn_rows(monkeypatch):
    rng = np.random.default_rng(8)
    tables = [rng.normal([mean, 1.0], 1.0, size=(1500, 2)) for mean in (1.0, 1.03)]
    problem = Problem(["a", "b"], {"x": 2.0})
    fast = bootstrap(problem, tables, ("b",), 400, seed=0)
    monkeypatch.setattr(module, "FAR_ROWS", 1500)
    slow = bootstrap(problem, tables, ("b",), 400, seed=1)
    assert 0.1 < slow < 0.99
    assert abs(fast - slow) < 4 * np.sqrt(2 * slow * (1 - slow) / 400)


def test_with_segments_and_limits_of_every_kind_logs_are_redrawn_too():
    rng = np.random.default_rng(8)
    tables = [rng.normal([mean, 1.0], 1.0, size=(60, 2)) for mean in (1.0, 1.1)]
    plain = bootstrap(Problem(["a", "b"], {"x": 2.0}), tables, ("b",), 200, seed=0)
    one = Problem(["a", "b"], {"x": 2.0}, segments={"all": 1.0})
    assert bootstrap(one, tables, ("b in all",), 200, seed=0) == plain  # one segment is the plain problem
    assert 0.1 < plain < 0.9
    halved = Problem(["a", "b"], {"x": 2.0}, limits=["share(b) <= 50%"])
    assert bootstrap(halved, tables, ("a", "b"), 200, seed=0) == pytest.approx(plain, abs=1e-12)
    assert bootstrap(halved, [tables[0], tables[1][:0]], ("a",), 20, seed=0) == 1.0  # an arm without rows


@pytest.mark.parametrize(("segments", "sure"), [({"x": 0.5, "y": 0.5}, True), (["x", "y"], False)])
def test_shares_of_a_log_are_redrawn_with_it(segments, sure):
    """Without any noise only the shares are in doubt: the dear arm is enough for x, or also for some of y."""
    tables = [np.tile([reward, cost], (50, 1)) for reward, cost in ((0.0, 0.0), (2.0, 1.0), (0.0, 0.0), (1.0, 1.0))]
    problem = Problem(["a", "b"], {"cost": 0.505}, segments=segments)
    share = bootstrap(problem, tables, ("b in x", "a in y", "b in y"), 200, seed=0)
    assert share == 1.0 if sure else 0.3 < share < 0.7


def test_a_bar_is_shown_when_wanted(capsys):
    tables = [np.array([[1.0], [2.0]]), np.array([[5.0], [6.0]])]
    for shown in (False, True):
        assert bootstrap(Problem(["a", "b"]), tables, ("b",), 3, 0, shown) == 1.0
        assert ("bootstrap" in capsys.readouterr().err) is shown
