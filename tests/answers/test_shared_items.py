"""What arms share on items: against the naive twin, against simulated means, and nothing where nothing is shared."""

import numpy as np
import pytest
from tests import naive

from bestmix import Problem, from_log
from bestmix.answers.blocks import Blocks
from bestmix.answers.certainty import z_scores
from bestmix.answers.correlations import mean_covariances
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.shared_items import PAIRS, mean_correlations, possible
from bestmix.problems.solution import solve_means

MEANS = np.array([[1.0, 0.2], [2.0, 1.6], [1.4, 0.7], [0.9, 1.1]])
PULLS = (40, 25, 33, 12)


def drawn(rng, pulls, rho, means=MEANS):
    """Results by item of each arm (B, K0, M) with counts (B, K0): arm a has the first ``pulls[a]`` items."""
    items, (arms, size) = max(pulls), means.shape
    common = rng.normal(size=(items, 1, size))
    noise = np.sqrt(rho) * common + np.sqrt(1 - rho) * rng.normal(size=(items, arms, size))
    counts = (np.arange(items)[:, None] < np.array(pulls)).astype(float)
    return Blocks(counts, (means + noise) * counts[:, :, None])


def evidence_of(blocks, bound=1.0):
    arms = [f"arm{a}" for a in range(blocks.counts.shape[1])]
    moments = [Moments(2).plus(blocks.sums[blocks.counts[:, a] > 0, a]) for a in range(len(arms))]
    return Evidence(Problem(arms, {"cost": bound}), moments, blocks)


def by_item(blocks):
    return [{t: blocks.sums[t, a] for t in np.flatnonzero(blocks.counts[:, a])} for a in range(blocks.counts.shape[1])]


@pytest.mark.parametrize("pulls", [PULLS, (3, 2, 2, 5), (9, 9, 9, 9)])
def test_correlations_are_those_of_the_naive_twin(pulls):
    blocks = drawn(np.random.default_rng(sum(pulls)), pulls, 0.7)
    found = mean_correlations(blocks, np.array(pulls, dtype=float), np.eye(2))
    np.testing.assert_allclose(found, naive.item_correlations(by_item(blocks), pulls), atol=1e-12)


def test_trials_without_an_item_are_shared_with_nobody():
    blocks, counts = drawn(np.random.default_rng(1), PULLS, 0.7), np.array(PULLS) + np.array([0, 10, 0, 30])
    found = mean_correlations(blocks, counts.astype(float), np.eye(2))
    np.testing.assert_allclose(found, naive.item_correlations(by_item(blocks), counts), atol=1e-12)


def test_rows_that_never_vary_have_no_correlation():
    blocks = drawn(np.random.default_rng(2), PULLS, 0.7)
    sums = blocks.sums.copy()
    sums[:, 1, 1] = 0.5 * blocks.counts[:, 1]
    found = mean_correlations(Blocks(blocks.counts, sums), np.array(PULLS, dtype=float), np.eye(2))
    assert not found[1, :, 1].any()
    assert not found[:, 1, :, 1].any()
    assert found[0, 1, 0, 0] > 0


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.9])
def test_z_scores_are_those_of_the_naive_twin(rho):
    evidence = evidence_of(drawn(np.random.default_rng(5), PULLS, rho))
    solution = solve_means(evidence.means, evidence.problem.bound)
    wanted = naive.shared_z_scores(evidence, solution, naive.item_correlations(by_item(evidence.items), PULLS))
    np.testing.assert_allclose(z_scores(evidence, solution), wanted, rtol=1e-9)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_covariances_are_those_of_simulated_means(rho):
    """2,000 runs: the standard error of a correlation is 0.022; the blend with none takes 20 pairs of 160 or more."""
    rng, pulls = np.random.default_rng(7), (60, 40, 50)
    runs = [drawn(rng, pulls, rho, MEANS[:3]) for _ in range(2000)]
    errors = 1.0 / np.sqrt(np.array(pulls))[:, None] * np.ones((1, 2))
    claims = [mean_covariances(mean_correlations(b, np.array(pulls, float), np.eye(2)), errors) for b in runs]
    true = np.cov(np.array([b.means.ravel() for b in runs]).T).reshape(3, 2, 3, 2)
    claimed = np.mean(claims, axis=0)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        scale = np.sqrt(true[a, 0, a, 0] * true[b, 0, b, 0])
        assert abs(claimed[a, b, 0, 0] - true[a, 0, b, 0]) / scale < 0.1 * rho + 0.07
        assert abs(claimed[a, b, 0, 1]) / scale < 0.05


def test_contrasts_of_independent_arms_have_about_the_variance_without_items():
    rng, ratios = np.random.default_rng(9), []
    for _ in range(200):
        shared = mean_correlations(drawn(rng, (30, 30), 0.0, MEANS[:2]), np.full(2, 30.0), np.eye(2))
        ratios.append(1.0 - shared[0, 1, 0, 0])
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.04)
    assert np.std(ratios) < 1 / np.sqrt(30)


def test_what_a_few_items_say_counts_little():
    lucky = Blocks(np.ones((2, 2)), np.array([[[0.0], [0.0]], [[1.0], [1.0]]]))
    found = mean_correlations(lucky, np.full(2, 2.0), np.eye(1))[0, 1, 0, 0]
    assert found == pytest.approx((2 + PAIRS * 2 / (2 + PAIRS)) / (2 + PAIRS))
    assert found < 0.2


def test_correlations_never_contradict_each_other():
    rng = np.random.default_rng(3)
    for _ in range(50):
        pulls = rng.integers(2, 12, size=5)
        blocks = drawn(rng, tuple(pulls), 0.0, np.zeros((5, 2)))
        blocks = Blocks(blocks.counts, blocks.sums * np.array([1, -1, 1, -1, 1])[None, :, None])
        for row in range(2):
            matrix = mean_correlations(blocks, pulls.astype(float), np.eye(2))[:, :, row, row] + np.eye(5)
            assert np.linalg.eigvalsh(matrix).min() > -1e-9
    assert possible(np.zeros((2, 2, 1, 1))).shape == (2, 2, 1, 1)


def log(blocks, rng=None):
    """A log of one row for each result, in a random order."""
    rows = [(f"arm{a}", f"item {t}", *blocks.sums[t, a]) for t, a in np.argwhere(blocks.counts)]
    order = range(len(rows)) if rng is None else rng.permutation(len(rows))
    columns = zip(*[rows[i] for i in order], strict=True)
    return dict(zip(("arm", "prompt", "reward", "cost"), map(list, columns), strict=True))


def test_a_log_in_any_order_gives_the_same_answer():
    blocks, answers = drawn(np.random.default_rng(11), PULLS, 0.8), []
    for seed in (0, 1):
        rec = from_log(log(blocks, np.random.default_rng(seed)), bounds={"cost": 1.0}, item="prompt")
        answers.append(rec)
    first, second = answers
    assert first.items == second.items == 40
    assert first.mixture == pytest.approx(second.mixture, rel=1e-9)
    assert first.z_scores == pytest.approx(second.z_scores, rel=1e-9)
    assert first.support_probability == pytest.approx(second.support_probability, rel=1e-9)


def test_contrasts_gain_and_levels_lose():
    blocks = drawn(np.random.default_rng(13), (200,) * 4, 0.9)
    plain, paired = (from_log(log(blocks), bounds={"cost": 1.0}, item=item) for item in (None, "prompt"))
    assert paired.best_guess == pytest.approx(plain.best_guess)
    outside = [name for name in plain.z_scores if name not in plain.basis]
    assert all(paired.z_scores[name] > 2 * plain.z_scores[name] for name in outside)
    assert paired.regret < plain.regret
    assert paired.limits["cost"].error > 1.2 * plain.limits["cost"].error


def test_limits_of_other_kinds_have_errors_wide_enough_for_what_arms_share():
    blocks = drawn(np.random.default_rng(13), (200,) * 4, 0.9)
    asked = {"limits": ["cost <= 1", "share(arm0) <= 90%"]}
    plain, paired = (from_log(log(blocks), **asked, item=item) for item in (None, "prompt"))
    assert paired.items == 200
    assert paired.limits["cost"].error > 1.2 * plain.limits["cost"].error
    assert paired.regret >= plain.regret


def test_the_bootstrap_redraws_items():
    blocks = drawn(np.random.default_rng(13), (60,) * 4, 0.95)
    shares = [
        from_log(log(blocks), bounds={"cost": 1.0}, item=item, uncertainty="bootstrap", resamples=150)
        for item in (None, "prompt")
    ]
    assert shares[1].support_probability > shares[0].support_probability
