import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import bdtr, betaincinv, ndtr, stdtr, stdtrit
from tests.answers.estimates import drawn, made

import bestmix as bm
from bestmix.answers import certificate, safety
from bestmix.answers.safe_search import trust
from bestmix.problems.solution import solve_means


def test_one_bound_and_two_arms_is_fieller():
    data = made([[0.0, 0.2], [1.0, 1.8]], [[1.0, 0.5], [1.0, 0.7]], 1e8)
    data = data._replace(covariances=data.covariances * 1e7)  # so that Student is the normal distribution
    found = safety.safe_mix(data, np.array([1.0]), 1.0)
    # (b - c1 p1 - c2 p2)^2 = q^2 (v1 p1^2 + v2 p2^2), the larger root below the optimum
    q = -float(stdtrit(1e9, safety.affordable(0.05, 0.8)))
    v1, v2 = 0.025 * q**2, 0.049 * q**2
    # with p1 = 1 - p: (0.8 - 1.6 p)^2 = v1 (1 - p)^2 + v2 p^2
    roots = np.roots([1.6**2 - v1 - v2, -2 * 0.8 * 1.6 + 2 * v1, 0.8**2 - v1])
    assert found.mixture[1] == pytest.approx(min(roots.real), rel=2e-3)
    assert found.certified
    assert found.certainty == pytest.approx(0.95, abs=1e-3)


def test_the_tail_of_one_arm_is_students():
    data = made([[1.0, 0.9]], [[1.0, 0.5]], 20)
    z = 0.1 / (0.5 / math.sqrt(20))
    assert safety.tails(data, np.ones(1), np.array([1.0]))[0] == pytest.approx(1 - stdtr(24, z), rel=1e-3)
    assert safety.tails(data, np.ones(1), np.array([0.8]))[0] == pytest.approx(stdtr(24, z), rel=1e-3)


def test_a_mix_of_arms_is_kept_with_the_normal_tail_of_its_mean():
    data = made([[0.0, 0.2], [1.0, 1.0]], [[1.0, 0.5], [1.0, 0.7]], 1e9)._replace(counts=np.full(2, 1e9))
    data = data._replace(covariances=data.covariances * 1e8)
    p, se = np.array([0.5, 0.5]), math.sqrt(0.25 * 0.025 + 0.25 * 0.049)
    assert safety.tails(data, p, np.array([0.7]))[0] == pytest.approx(ndtr(-0.1 / se), rel=1e-3)


def test_without_costs_it_is_the_best_arm():
    found = safety.safe_mix(made([[0.1], [0.3], [0.2]], 1.0, 10), np.empty(0), 0.1)
    assert found.mixture.tolist() == [0.0, 1.0, 0.0]
    assert found.certified
    assert found.certainty == 1.0


def test_one_arm():
    assert safety.safe_mix(made([[1.0, 0.5]], [[1.0, 0.1]], 30), np.array([1.0]), 1.0).certified
    found = safety.safe_mix(made([[1.0, 0.98]], [[1.0, 0.1]], 10), np.array([1.0]), 1.0)
    assert not found.certified
    assert found.mixture.tolist() == [1.0]
    assert found.short.tolist() == [True]
    # margin t se has to fall to 0.02, and t falls too
    n = 10 + found.further[0] * np.array([0.95, 1.0])
    margin = -stdtrit(n + 4, safety.affordable(0.05, 0.8)) * 0.1 / np.sqrt(n)
    assert margin[1] <= 0.02 < margin[0]


def test_an_event_that_was_not_seen_needs_trials_in_proportion_and_not_to_the_square():
    data = made([[1.0, 0.0]], [[0.3, 0.0]], 300)._replace(binary=np.array([[0, 1]], dtype=np.int8))
    found, bound = safety.safe_mix(data, np.array([0.001]), 1.0), np.array([0.001])
    assert not found.certified
    assert safety.safe_mix(data._replace(counts=300 + found.further), bound, 1.0).certified
    assert not safety.safe_mix(data._replace(counts=300 + 0.95 * found.further), bound, 1.0).certified


def test_above_its_bound_no_trials_would_do():
    found = safety.safe_mix(made([[1.0, 1.2], [0.5, 1.1]], [[1.0, 0.1]], 10), np.array([1.0]), 0.3)
    assert not found.certified
    assert found.mixture.tolist() == [0.0, 1.0]
    assert found.further.tolist() == [0.0, math.inf]
    assert found.kept[0] < 0.01


def test_known_arms_exactly_at_their_bound_are_certain():
    data = made([[1.0, 1.0], [0.2, 0.1]], [[1.0, 0.5]], [math.inf, 10])
    found = safety.safe_mix(data, np.array([1.0]), 1.0)
    assert found.mixture.tolist() == [1.0, 0.0]
    assert found.certified
    assert found.kept.tolist() == [1.0]


def test_known_arms_mix_as_the_linear_program():
    data = made([[1.7, 0.0], [2.6, 1.8], [0.5, 0.8]], 0.0, math.inf)
    found = safety.safe_mix(data, np.array([1.0]), 1.0)
    assert found.mixture == pytest.approx([4 / 9, 5 / 9, 0.0])
    assert found.certainty == 1.0


def test_a_bound_of_zero_with_an_exact_arm():
    data = made([[1.0, 0.0], [3.0, 2.0]], [[1.0, 0.0], [1.0, 0.5]], 20)
    found = safety.safe_mix(data, np.array([0.0]), 1.0)
    assert found.mixture.tolist() == [1.0, 0.0]
    assert found.certified


def test_untried_arms_are_never_in_it():
    means = np.array([[1.0, 0.5], [np.nan, np.nan]])
    data = made(np.nan_to_num(means), [[1.0, 0.1]], [50, 0])._replace(means=means)
    found = safety.safe_mix(data, np.array([1.0]), None)
    assert found.mixture.tolist() == [1.0, 0.0]
    assert certificate.certify(data, found.mixture, np.array([1.0]), 0.9, np.zeros(1)).regret < 2.0
    nothing = safety.safe_mix(data._replace(counts=np.zeros(2)), np.array([1.0]), None)
    assert not nothing.certified
    assert not nothing.mixture.any()


def test_never_seen_events_still_count():
    data = made([[0.5, 0.0]], 0.0, 20, [[True, True]])
    tail = safety.tails(data, np.ones(1), np.array([0.1]))[0]
    assert tail > 0.0
    few = safety.safe_mix(data, np.array([0.02]), 1.0)
    assert not few.certified
    many = safety.safe_mix(data._replace(counts=np.array([400.0])), np.array([0.02]), 1.0)
    assert many.certified


def test_limits_of_shares_are_those_of_a_beta_distribution():
    n, tail = 100.0, 0.03
    k = np.arange(101.0)
    upper = k / n + safety.binomial_margins(k / n, np.full(101, n), tail, 1.0)
    beta = np.where(k < n, betaincinv(k + safety.FEW_EVENTS, n - k + 1.0 - safety.FEW_EVENTS, 1.0 - tail), 1.0)
    np.testing.assert_allclose(upper, beta)
    assert upper[0] < 1.0 - tail ** (1.0 / n)  # the exact limit where nothing was seen
    assert (np.diff(upper) >= 0).all()


@pytest.mark.parametrize("n", [30, 100, 200, 1000])
def test_one_arm_alone_is_certified_by_exact_limits(n):
    """Whatever the true share is, so few events that the bound is certified come in at most 5% of all samples."""
    for bound in (0.02, 0.05, 0.08, 0.1, 0.3):
        certified = -1
        for k in range(int(bound * n) + 1):
            means = np.array([[0.5, k / n]])
            scatters = np.diag([n / 4.0, k * (1.0 - k / n)])[None]
            data = safety.estimates(means, scatters, np.array([float(n)]), np.array([[False, True]]))
            certified = k if safety.safe_mix(data, np.array([bound]), 1.0).certified else certified
        assert bdtr(certified, n, bound) <= 0.05 if certified >= 0 else True


def test_exact_prices_keep_their_own_spread():
    scatters = np.zeros((3, 2, 2))
    scatters[:, 0, 0], scatters[0, 1, 1] = 9.0, 9.0
    means = np.array([[1.0, 1.0], [1.0, 0.1], [1.0, 0.0]])
    many = safety.estimates(means, scatters, np.full(3, 10.0)).covariances[:, 1, 1]
    assert many[0] > 0
    assert many[1] == 0  # a price
    assert many[2] > 0  # nothing seen yet
    assert (safety.estimates(means, scatters, np.full(3, 9.0)).covariances[:, 1, 1] > 0).all()


@pytest.mark.parametrize(("name", "n"), [("A2", 30), ("D2P", 400), ("H2", 100), ("D3P", 10)])
@pytest.mark.parametrize("scale", [1e-6, 1e7])
def test_units_do_not_matter(name, n, scale):
    data, bound = drawn(name, n)
    units = np.r_[3.0 * scale, np.full(len(bound), scale)]
    other = data._replace(means=data.means * units, covariances=data.covariances * units * units[:, None])
    one, two = safety.safe_mix(data, bound, 0.5), safety.safe_mix(other, bound * scale, 0.5)
    assert two.mixture == pytest.approx(one.mixture, abs=2e-3)
    assert two.kept == pytest.approx(one.kept, abs=2e-3)
    assert two.certified == one.certified
    prices = solve_means(data.means, bound).dual
    first = certificate.certify(data, one.mixture, bound, 0.5, prices).regret
    second = certificate.certify(other, one.mixture, bound * scale, 0.5, prices * 3.0).regret
    assert second == pytest.approx(3.0 * scale * first, rel=0.02)


@pytest.mark.parametrize("name", ["A2", "D2P", "H1"])
def test_more_certainty_never_earns_more(name):
    data, bound = drawn(name, 200, 1)
    values = [
        mix.mixture @ data.means[:, 0]
        for mix in (safety.safe_mix(data, bound, 0.7, s) for s in (0.6, 0.8, 0.9, 0.95, 0.99))
    ]
    best = solve_means(data.means, bound).value
    assert (np.diff([best, *values]) <= 2e-3).all()


sizes = st.floats(-1e6, 1e6, allow_nan=False)
spreads = st.one_of(st.just(0.0), st.floats(1e-9, 1e6))


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 5), st.integers(0, 3), st.sampled_from([1e-12, 1.0, 1e12]))
def test_never_fails_on_extreme_numbers(draw, arms, costs, scale):
    means = np.array([[draw.draw(sizes) for _ in range(1 + costs)] for _ in range(arms)]) * scale
    deviations = np.array([[draw.draw(spreads) for _ in range(1 + costs)] for _ in range(arms)]) * scale
    counts = np.array([draw.draw(st.sampled_from([0.0, 1.0, 2.0, 30.0, 1e7, math.inf])) for _ in range(arms)])
    bound = np.array([draw.draw(sizes) for _ in range(costs)]) * scale
    data = made(means, deviations, counts)
    found = safety.safe_mix(data, bound, draw.draw(st.sampled_from([None, 0.0, 0.3, 1.0])))
    assert (found.mixture >= 0).all()
    assert found.mixture.sum() == pytest.approx(float((counts > 0).any()))
    assert not found.mixture[counts == 0].any()
    assert 0.0 <= found.certainty <= 1.0
    if found.mixture.any():
        proof = certificate.certify(data, found.mixture, bound, 0.9, np.zeros(costs))
        assert proof.regret >= 0.0
        if found.certified:
            size = np.maximum(np.abs(bound), np.abs(means[counts > 0, 1:]).max(axis=0, initial=0.0))
            assert (found.mean <= bound + 1e-6 * size).all()


def test_each_limit_is_kept_at_least_as_surely_as_all():
    data, bound = drawn("D3P", 100)
    found = safety.safe_mix(data, bound, 0.6)
    assert (found.kept >= found.certainty).all()
    assert found.certified


@pytest.mark.parametrize(("bound", "events", "expected"), [(0.3, True, 1), (0.3, False, 0), (0.05, True, 0)])
def test_events_that_may_be_too_many_by_chance_have_the_likeliest_mix(bound, events, expected):
    """The second arm is further above the bound, but by less of its standard error."""
    data = made([[0.5, 0.32], [0.5, 0.35]], [[0.5, 0.47], [0.5, 0.48]], [2000, 20], np.full((2, 2), events))
    found = safety.safe_mix(data, np.array([bound]), 0.0)
    assert found.mixture[expected] > 0.9
    assert not found.certified
    np.testing.assert_array_equal(np.isinf(found.further), found.mixture > 0)


def test_limits_on_values_of_zero_and_one_are_counted():
    flags = np.array([[0, 1, 1, 0], [0, 1, -1, 1], [0, 0, 0, 0]], dtype=bool)
    for counts, expected in (([9, 9, np.inf], 2), ([9, 9, 0], 2), ([9, 9, 9], 0), ([0, 9, np.inf], 3), (np.inf, 0)):
        data = made(np.full((3, 4), 0.5), 0.5, counts, flags)
        assert safety.CostLimits(data, np.ones(3)).events == expected


def test_any_mix_has_a_chance_and_an_interval():
    data, bound = drawn("A2", 100)
    guess = solve_means(data.means, bound)
    found = safety.described(data, bound, guess.mixture, trust(0.9))
    assert not found.certified
    assert 0.3 < found.certainty < 0.6  # on its bound: at most even odds
    low, high = safety.mean_interval(data, guess.mixture, 0.025)
    assert (low < found.mean).all()
    assert (found.mean < high).all()
    assert high - found.mean == pytest.approx(1.96 * found.error, rel=0.05)


def test_a_price_is_not_known_after_two_trials():
    def answer(trials, bound):
        told = {"arm": ["a"] * trials, "reward": [1.0, 1.1] * (trials // 2), "dollars": [2.0] * trials}
        return bm.from_log(told, bounds={"dollars": bound})

    assert "for certain" not in answer(2, 3.0).sentence()
    assert not answer(2, 2.0).certified
    assert "All limits are kept for certain if prices stay what they were" in answer(10, 2.0).sentence()


def test_two_trials_of_each_arm_are_no_price_however_many_arms_there_are():
    """The first trial of an arm says nothing of its spread: five arms with two trials each have shown it five times."""

    def answer(trials):
        told = {"arm": list("abcde") * trials, "reward": [1.1, 2.2, 3.3, 4.4, 5.5] * trials}
        return bm.from_log(told | {"d": [1.1, 2.3, 3.4, 4.6, 5.7] * trials}, bounds={"d": 2.5})

    assert [answer(n).limits["d"].exact for n in (2, 3)] == [False, True]
    assert "for certain" not in answer(2).sentence()


def test_a_price_that_is_known_beforehand_stays_what_it_is():
    arms = {"a": bm.Known(costs={"dollars": 2.0})}
    told = {"arm": ["a"] * 10, "reward": [1.0, 1.1] * 5, "dollars": [2.0] * 10}
    found = bm.from_log(told, bounds={"dollars": 2.0}, known=arms)
    assert "All limits are kept for certain;" in found.sentence()


def test_an_arm_alone_has_no_freedom_but_that_of_its_own_trials():
    """What the pool lends comes from other arms: without them the limit is Student's, with n - 1 degrees of freedom."""
    scatter = np.array([[[1.0, 0.0], [0.0, 2.0]]])
    alone = safety.estimates(np.array([[1.0, 3.0]]), scatter, np.array([3.0]))
    np.testing.assert_allclose(safety.freedoms(alone), [2.0])
    np.testing.assert_allclose(safety.margins(alone, 0.05), [[-stdtrit(2, 0.05) * np.sqrt(1.0 / 3.0)]])
    counts = np.array([3.0, 2.0, 40.0])
    several = safety.estimates(np.ones((3, 2)), np.tile(scatter, (3, 1, 1)), counts)
    # Others count for no more than the arm has itself, and lend in proportion to what it has next to the most.
    lent = np.array([(2.0 + 1.0) * 2 / 39, (1.0 + 1.0) * 1 / 39, 2.0 + 1.0])
    np.testing.assert_allclose(safety.freedoms(several), np.array([2.0, 1.0, 39.0]) + lent)
    np.testing.assert_allclose(safety.freedoms(safety.chosen(several, np.array([2]))), [42.0])


def prices_and_complaints():
    """Four arms: prices that are nearly exact, and complaints of which few were seen."""
    rows = {"arm": [], "reward": [], "dollars": [], "complaint": []}
    for arm, quality, price, events in (
        ("a", 110, 2e-4, 1),
        ("b", 117, 9e-4, 3),
        ("c", 126, 6e-3, 3),
        ("d", 128, 0.03, 4),
    ):
        for i in range(150):
            rows["arm"].append(arm)
            rows["reward"].append(float(i * 37 % 150 < quality))
            rows["dollars"].append(price * (0.85 + 0.3 * (i * 13 % 150) / 150))
            rows["complaint"].append(float(i * 7 % 150 < events))
    return rows


@pytest.mark.parametrize("bound", [0.03, 0.032, 0.034])
def test_a_limit_in_no_danger_leaves_its_risk_to_the_other_and_more_is_never_certified_than_less(bound):
    """One half of the risk is not enough for the complaints: where it was divided evenly nothing was certified."""
    told = [
        bm.from_log(prices_and_complaints(), bounds={"dollars": 0.004, "complaint": bound}, safety=s)
        for s in (0.8, 0.85, 0.9, 0.93, 0.95, 0.97)
    ]
    certified = [rec.certified for rec in told]
    assert certified == sorted(certified, reverse=True)
    assert any(certified)
    for rec in told:
        chances = [limit.chance for limit in rec.limits.values()]
        assert rec.certainty <= min(chances)
        if not rec.certified:
            assert rec.certainty < rec.safety
            assert np.prod(chances) == pytest.approx(rec.certainty, abs=2e-3)
