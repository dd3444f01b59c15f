import numpy as np
from scipy import stats
from tests.answers.estimates import LINE, with_features

from bestmix.answers.recommend import recommend


def misfits(runs, bend, seed):
    rng, x, deviation = np.random.default_rng(seed), np.arange(4.0), (1.0, 3.0, 0.5, 2.0)
    truth, found = 1.0 + x + bend * (x - 1.5) ** 2, []
    for _ in range(runs):
        trials = [truth[a] + deviation[a] * rng.normal(size=(n, 1)) for a, n in enumerate((5, 20, 9, 12))]
        found.append(with_features(trials, LINE).fitted.misfit[0])
    return np.array(found)


def test_the_test_of_fit_is_right_with_unequal_variances():
    """False alarms: 5% and 1% of 2,000 runs, each to within 3.3 standard deviations (a chance of 0.1%)."""
    found = misfits(2000, bend=0.0, seed=2)
    assert stats.binomtest(int((found < 0.05).sum()), 2000, 0.05).pvalue > 1e-3 or (found < 0.05).mean() < 0.05
    assert (found < 0.01).mean() < 0.01 + 3.3 * np.sqrt(0.01 * 0.99 / 2000)
    assert (misfits(200, bend=2.0, seed=3) < 0.01).mean() > 0.9


def test_prices_without_spread_are_linear_or_they_are_not():
    rng = np.random.default_rng(5)
    for prices, linear in (([1.0, 2.0, 3.0, 4.0], True), ([1.0, 2.0, 3.0, 5.0], False)):
        trials = [np.column_stack([rng.normal(a, 1.0, 12), np.full(12, prices[a])]) for a in range(4)]
        evidence = with_features(trials, LINE, {"price": 2.5})
        assert evidence.fit.refuted.tolist() == [False, not linear]
        assert recommend(evidence, evidence.tried, strategy="test").certified


def test_a_curve_that_no_arm_shows_alone_refutes_the_fit():
    rng, t = np.random.default_rng(15), np.linspace(0, 1, 30)
    features = np.column_stack([np.ones(30), t])
    refuted = [
        with_features([2 * x - 4 * bend * (x - x * x) + rng.normal(size=(12, 1)) for x in t], features).fit is None
        for bend in (0.0, 1.0)
        for _ in range(30)
    ]
    assert sum(refuted[:30]) <= 3
    assert sum(refuted[30:]) >= 25


def test_units_do_not_matter():
    rng = np.random.default_rng(18)
    bent = [m + 0.1 * rng.normal(size=(8, 1)) for m in (0.0, 1.0, 0.3, 2.0)]
    for scale in (1.0, 1e90, 1e-100):
        assert with_features([scale * own for own in bent], LINE).fit is None
