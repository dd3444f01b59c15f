"""The search for a safe mix, on limits that are written down."""

import numpy as np
import pytest

from bestmix.answers import safe_search


class OneLimit:
    """A share of the second arm, at most ``most`` less a margin for each standard error."""

    counts = np.array([10.0, np.inf])
    noisy = np.array([True])
    events, size, rivals = 0, 2, 0

    def __init__(self, most, width=0.1):
        self.most, self.width = most, width

    def optimum(self):
        share = min(max(self.most, 0.0), 1.0)
        return safe_search.Guess(np.array([1 - share, share]), self.most >= 0, np.ones(1))

    def noise(self, mixture):
        """A lucky choice says nothing of the costs."""
        return np.diag([1.0, 0.0])

    def within(self, tail):
        share = self.most - self.width * self.quantile(tail)
        return np.array([1 - share, share]) if share >= 0 else None

    def widest(self, tail):
        return min(self.most / (self.width * self.quantile(tail)), 1.0), np.array([1.0, 0.0])

    def likeliest(self, mixture):
        return np.array([1.0, 0.0])

    def quantile(self, tail):
        from scipy.special import ndtri

        return float(-ndtri(np.max(tail)))

    def tails(self, mixture):
        from scipy.special import ndtr

        return ndtr(-(self.most - mixture[1:]) / self.width)

    def keeps(self, mixture, tail, times):
        return bool(mixture[1] + self.width * self.quantile(tail) / times <= self.most)  # as of an event never seen

    def means(self, mixture):
        return mixture[1:], np.array([self.width])


def test_the_whole_risk_is_spent():
    found = safe_search.search(OneLimit(0.6), 1.0, 0.95)
    assert found.certified
    assert found.certainty == pytest.approx(0.95)
    assert 1 - safe_search.told(OneLimit(0.6).tails(found.mixture), 0.8)[0] == pytest.approx(0.95)


def test_where_nothing_is_certain_enough_margins_shrink():
    found = safe_search.search(OneLimit(0.1), 1.0, 0.95)
    assert not found.certified
    assert found.short.tolist() == [True]
    assert found.mixture[1] == pytest.approx(0.0, abs=1e-3)
    tail = safe_search.affordable(0.05, 0.8)
    times = OneLimit(0.1).width * OneLimit(0.1).quantile(tail) / 0.1
    assert 10 * (times - 1) <= found.further[0] <= 1.02 * 10 * times
    assert found.further[1] == 0  # known


def test_an_estimate_beyond_the_limit_cannot_be_helped():
    found = safe_search.search(OneLimit(-0.1), 1.0, 0.95)
    assert not found.certified
    assert np.isinf(found.further[0])


def test_a_power_of_the_chance_of_the_support_is_trusted_that_grows_with_luck():
    for chance in (0.4, 1.0):
        assert safe_search.trust(chance, luck=0.0) == pytest.approx(0.8 * chance)
        assert safe_search.trust(chance) == pytest.approx(0.8 * chance**5)
    assert safe_search.trust(None) == safe_search.trust(0.0) == pytest.approx(0.8 * 0.004)
    assert safe_search.trust(0.2, supports=5) == pytest.approx(0.8 * 0.2)  # a fifth covers the choice of any


def test_supports_are_counted_up_to_many():
    limits = OneLimit(0.6)
    assert safe_search.supports(limits) == 1  # the other arm is known
    limits.counts = np.full(4, 9.0)
    assert safe_search.supports(limits) == 4 + 6
    limits.rivals = 1  # an arm that was rejected on the way
    assert safe_search.supports(limits) == 5 + 10
    limits.rivals = 0
    limits.size = 9
    assert safe_search.supports(limits) == 15
    limits.counts = np.full(400, 9.0)
    assert safe_search.supports(limits) > safe_search.MOST_SUPPORTS


def test_the_search_and_the_judge_agree():
    limits = OneLimit(0.6)
    limits.counts = np.array([10.0, 10.0])
    found = safe_search.search(limits, 0.7, 0.95)
    assert limits.tails(found.mixture)[0] == pytest.approx(safe_search.affordable(0.05, 0.8 * 0.7))
    assert safe_search.judged(limits, 0.7, found.mixture, 0.95).certified
    more = found.mixture + np.array([-0.01, 0.01])
    assert not safe_search.judged(limits, 0.7, more, 0.95).certified
    assert safe_search.judged(limits, 0.99, more, 0.95).certified


def test_told_and_affordable_are_inverse():
    assert float(safe_search.told(np.asarray(safe_search.affordable(0.03, 0.4)), 0.4)) == pytest.approx(0.03)


def test_the_tail_of_the_regret_falls_with_the_chance():
    assert safe_search.regret_tail(0.05, 0.5) == pytest.approx(0.05 * safe_search.LUCK * 0.5)
    assert safe_search.regret_tail(0.05, None) == safe_search.regret_tail(0.05, safe_search.LEAST_CHANCE) > 0


@pytest.mark.parametrize(
    ("correlation", "price", "luck"),
    [
        (0.0, 0.0, 0.0),  # costs without a price, and noise of their own
        (-1.0, 0.0, 1.0),  # a good trial is a cheap one
        (1.0, 0.0, 0.0),  # a good trial is a dear one: whoever was lucky looks dear
        (0.0, 1.0, 0.5),  # half of the score's variance is that of the costs
        (0.0, 1e9, 1.0),  # nothing but costs decides
    ],
)
def test_luck_is_the_correlation_of_score_and_costs(correlation, price, luck):
    noise = np.array([[1.0, correlation], [correlation, 1.0]]) * 1e-3
    assert safe_search.luck_of(noise, np.array([price]), np.array([True])) == pytest.approx(luck)


def test_luck_has_no_unit():
    rng = np.random.default_rng(0)
    half, prices, unit = rng.normal(size=(4, 4)), np.array([0.3, 0.0, 1.2]), np.array([1.0, 1e-120, 1e130, 7.0])
    found = safe_search.luck_of(half @ half.T, prices, np.ones(3, bool))
    other = safe_search.luck_of(half @ half.T * unit[:, None] * unit, prices / unit[1:], np.ones(3, bool))
    assert 0 < found < 1
    assert other == pytest.approx(found)


def test_a_limit_without_noise_and_a_score_without_one_bring_no_luck():
    assert safe_search.luck_of(np.zeros((2, 2)), np.ones(1), np.array([True])) == 0
    assert safe_search.luck_of(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.ones(1), np.array([False])) == 0
