import numpy as np

from bestmix import Known, Problem
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.kernels.conditions import PRIOR


def evidence_of(tables, known=None):
    size = tables[0].shape[1]
    bounds = {f"c{l}": 1.0 for l in range(size - 1)}
    moments = [Moments(size) for _ in tables]
    for m, table in zip(moments, tables, strict=True):
        m.add(table)
    return Evidence(Problem([f"a{i}" for i in range(len(tables))], bounds, known), moments)


def test_means_counts_and_columns():
    known = {"k": Known(9.0, {"c0": 8.0})}
    evidence = evidence_of([np.array([[1.0, 2.0], [3.0, 6.0]]), np.empty((0, 2))], known)
    np.testing.assert_array_equal(evidence.counts, [2, 0])
    np.testing.assert_array_equal(evidence.means, [[2.0, 4.0], [np.nan, np.nan], [9.0, 8.0]])
    np.testing.assert_array_equal(evidence.tried, [0, 2, 3])


def test_each_covariance_is_blended_with_the_pool():
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(n, 3)) * s for n, s in ((4, 1.0), (30, 3.0), (1, 1.0), (0, 1.0))]
    covariances = evidence_of(tables, {"k": Known(1.0, {"c0": 0.0, "c1": 0.0})}).support_estimates.covariances
    scatter = [np.cov(t.T) * (len(t) - 1) if len(t) > 1 else np.zeros((3, 3)) for t in tables]
    freedom = [3, 29, 0, 0]
    pool = sum(scatter) / sum(freedom)
    for own, s, f in zip(covariances, scatter, freedom, strict=False):
        np.testing.assert_allclose(own, (s + PRIOR * pool) / (f + PRIOR), rtol=1e-12)
    np.testing.assert_array_equal(covariances[4], 0.0)


def test_without_two_trials_of_an_arm_there_is_no_covariance():
    assert evidence_of([np.ones((1, 2)), np.ones((1, 2))]).pooled is None


def test_arms_that_show_no_spread_borrow_it():
    rng = np.random.default_rng(1)
    covariances = evidence_of([np.ones((5, 1)), rng.normal(size=(20, 1))]).estimates.covariances
    assert covariances[0, 0, 0] > 0


def test_a_metric_is_of_0_and_1_for_all_arms_or_none():
    free, dear = np.column_stack([np.ones(20), np.zeros(20)]), np.column_stack([np.ones(20), np.full(20, 0.002)])
    assert evidence_of([free, dear]).estimates.binary.tolist() == [[True, False]] * 2
    assert evidence_of([free, free]).estimates.binary.all()


def test_limits_have_a_few_times_an_arms_own_variance_of_the_pool():
    rng = np.random.default_rng(2)
    evidence = evidence_of([10.0 * s + rng.normal(size=(60, 2)) * s for s in (0.01, 3.0, 5.0)])
    pool = sum(m.scatter() for m in evidence.moments) / (3 * 59)
    own = evidence.moments[0].covariance()
    scale = np.sqrt(15.0 * np.diag(own) / np.diag(pool))  # of values that are narrow beside their mean
    capped = (59 * own + PRIOR * scale[:, None] * pool * scale) / (59 + PRIOR)
    np.testing.assert_allclose(evidence.estimates.covariances[0], capped, rtol=1e-9)
    for a in (1, 2):
        whole = (evidence.moments[a].scatter() + PRIOR * pool) / (59 + PRIOR)
        np.testing.assert_allclose(evidence.estimates.covariances[a], whole, rtol=1e-12)
    assert evidence.support_estimates.covariances[0, 1, 1] < evidence.estimates.covariances[0, 1, 1]
