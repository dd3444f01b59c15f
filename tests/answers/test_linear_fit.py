from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import naive
from tests.answers.estimates import LINE, with_features

from bestmix import Challenger, Known, Problem, from_log, identify, tradeoff
from bestmix.answers import certainty, linear_fit
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.recommend import recommend
from bestmix.problems.solution import solve_means


def answered(evidence):
    return recommend(evidence, evidence.tried, strategy="test")


# --- the fit -----------------------------------------------------------------------------------------------------


@given(
    st.lists(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 9)), min_size=1, max_size=4), min_size=4, max_size=4)
)
def test_means_are_those_of_least_squares_over_all_trials(trials):
    means, weights = naive.fitted(LINE, trials)
    counts = np.array([len(own) for own in trials], dtype=float)
    told = [Moments(2).plus(np.array(own, dtype=float)) for own in trials]
    found = linear_fit.linear_fit(
        Problem(list("abcd"), features=LINE).design,
        counts,
        np.array([m.mean() for m in told]),
        np.array([m.scatter() for m in told]),
    )
    np.testing.assert_allclose(found.means, np.array(means, dtype=float), atol=1e-9)
    np.testing.assert_allclose(found.weights[0], np.array(weights, dtype=float), atol=1e-9)
    # As many free directions as features; the rest of the trials tells the noise.
    rows = [np.array(own, dtype=float) - fitted for own, fitted in zip(trials, found.means, strict=True)]
    residuals = sum(part.T @ part for part in rows)
    np.testing.assert_allclose(found.pooled * (counts.sum() - 2), residuals, atol=1e-7)


def test_errors_are_those_of_redrawn_trials():
    rng, counts, deviation = np.random.default_rng(0), np.array([30, 40, 10, 25]), np.array([2.0, 0.5, 1.0, 0.6])
    truth = np.array(LINE) @ np.array([[1.0, 0.2], [0.5, -0.3]])
    drawn, told = [], []
    for _ in range(2000):
        trials = [truth[a] + deviation[a] * rng.normal(size=(n, 2)) for a, n in enumerate(counts)]
        fit = with_features(trials, LINE, {"cost": 1.0}).fitted
        drawn.append(fit.means)
        told.append([fit.mean_covariance(a) for a in range(4)])
    seen = np.var(drawn, axis=0)
    claimed = np.mean(told, axis=0)[:, [0, 1], [0, 1]]
    # Blended variances are between the arms' own and those of all arms, so that unequal ones are not met exactly.
    assert (claimed > 0.8 * seen).all()
    assert (claimed < 1.5 * seen).all()


def test_an_arm_with_features_of_its_own_is_known_by_its_own_trials():
    rng = np.random.default_rng(1)
    trials = [rng.normal(a, 1.0, size=(6 + a, 1)) for a in range(3)]
    found = with_features(trials, np.eye(3)).fit
    np.testing.assert_allclose(found.means, [own.mean(axis=0) for own in trials])
    assert np.isnan(found.misfit).all()


def test_an_arm_that_was_never_tried_is_estimated_where_others_tell_of_it():
    log = {"arm": ["a"] * 4 + ["b"] * 4, "reward": [1.0, 1.2, 0.8, 1.0, 2.0, 2.2, 1.8, 2.0]}
    features = {"a": {"x": 0}, "b": {"x": 1}, "c": {"x": 2}}
    answer = from_log(log, features=features)
    assert answer.estimates["c"].reward == pytest.approx(3.0)
    assert answer.estimates["c"].trials == 0
    assert answer.best_guess == {"c": 1.0}
    assert answer.regret < np.inf
    # It is to be tried before anybody relies on it.
    assert answer.mixture == {"b": 1.0}
    assert "Never tried, so known by others' trials alone and not in the mix to deploy: c." in answer.note
    # Of another kind of arm they tell nothing.
    strange = {name: value | {"kind": "new" if name == "c" else "old"} for name, value in features.items()}
    lost = from_log(log, features=strange)
    assert lost.mixture == {"b": 1.0}
    assert "others' trials do not tell of: c." in lost.note
    assert answer.single == "b"
    assert np.isnan(lost.estimates["c"].reward)
    assert lost.regret == np.inf


def test_too_few_trials_have_no_fit():
    evidence = with_features([[[1.0]], [[2.0]]], [[1, 0], [1, 1]])
    assert evidence.fit is None
    assert "too few trials for a fit" in answered(evidence).note


# --- whether it is right -----------------------------------------------------------------------------------------


def test_a_fit_that_is_refuted_is_not_used():
    rng = np.random.default_rng(4)
    trials = [m + 0.1 * rng.normal(size=(8, 2)) for m in ([0.0, 0.0], [1.0, 2.0], [0.3, 0.1], [2.0, 1.0])]
    evidence = with_features(trials, LINE, {"cost": 1.0})
    without = with_features(trials, None, {"cost": 1.0})
    assert evidence.fit is None
    assert evidence.fitted.refuted.all()
    assert answered(evidence).mixture == answered(without).mixture
    assert answered(evidence).support_probability == answered(without).support_probability
    assert "not linear in their features: reward (p = " in answered(evidence).note
    assert "own trials were used instead" in answered(evidence).note


def test_metrics_are_judged_one_by_one():
    rng, prices = np.random.default_rng(21), [0.1, 2.0, 0.3, 1.0]
    trials = [np.column_stack([rng.normal(a, 1.0, 9), rng.normal(prices[a], 0.1, 9)]) for a in range(4)]
    evidence = with_features(trials, LINE, {"price": 0.8})
    assert evidence.fit.refuted.tolist() == [False, True]
    np.testing.assert_allclose(evidence.measured[:, 1], [own[:, 1].mean() for own in trials])
    assert abs(np.diff(evidence.measured[:, 0], n=2)).max() < 1e-9
    note = answered(evidence).note
    assert "not linear in their features: price (p = " in note
    assert "Means of reward are of one fit" in note
    own = with_features(trials, None, {"price": 0.8})
    for name, narrower in (("reward", True), ("price", False)):
        place = ["reward", "price"].index(name)
        widths = [e.mean_covariance(1)[place, place] for e in (evidence, own)]
        assert (widths[0] < 0.7 * widths[1]) == narrower
    # A trial of an arm tells of the prices of that arm alone.
    answer = identify(evidence.problem, lambda arm: tuple(rng.normal([int(arm[-1]), prices[int(arm[-1])]], 0.3)), 300)
    assert set(answer.best_guess) == {"arm2", "arm3"}
    assert "price" in answer.note


# --- what is said by it ------------------------------------------------------------------------------------------


def random_case(rng, kind, arms=12, size=3):
    """Features, true means and bound with a feasible optimum, and a log of trials."""
    while True:
        features = np.column_stack([np.ones(arms), rng.normal(size=(arms, size - 1))])
        means = features @ rng.normal(size=(size, 2))
        if kind == "events":
            means = 0.05 + 0.5 * (means - means.min(axis=0)) / np.ptp(means, axis=0)
        bound = np.array([np.quantile(means[:, 1], 0.5)])
        best = solve_means(means, bound)
        if best.feasible:
            break
    deviation = np.exp(0.7 * rng.normal(size=arms)) if kind == "unequal" else np.ones(arms)
    counts = rng.integers(4, 20, size=arms)
    if kind == "events":
        trials = [(rng.random((n, 2)) < means[a]).astype(float) for a, n in enumerate(counts)]
    else:
        trials = [means[a] + deviation[a] * rng.normal(size=(n, 2)) for a, n in enumerate(counts)]
    return features, means, bound, best, trials


@pytest.mark.parametrize("kind", ["equal", "unequal", "events"])
def test_certificates_hold(kind):
    """Each of three claims fails in at most 5%; more than 9.5% of 250 has a chance below 0.2% then."""
    rng = np.random.default_rng({"equal": 6, "unequal": 7, "events": 8}[kind])
    broken, missed, outside, certified = 0, 0, 0, 0
    for _ in range(250):
        features, means, bound, best, trials = random_case(rng, kind)
        answer = answered(with_features(trials, features, {"cost": float(bound[0])}))
        mix = np.array([answer.mixture.get(name, 0.0) for name in answer.problem.names])
        certified += answer.certified
        broken += answer.certified and mix @ means[:, 1] > bound[0]
        missed += best.value - mix @ means[:, 0] > answer.regret
        outside += not answer.value_interval[0] <= mix @ means[:, 0] <= answer.value_interval[1]
    assert certified > 125
    assert broken <= 0.095 * certified
    assert max(missed, outside) <= 0.095 * 250


def test_conditions_have_the_variance_of_one_fit():
    """With equal noise: (sum_a v_a phi_a)' (sum_a n_a phi_a phi_a')^-1 (sum_a v_a phi_a) times it."""
    rng = np.random.default_rng(9)
    features = random_case(rng, "equal")[0]
    counts, noise = rng.integers(200, 400, size=12), np.array([[1.0, 0.4], [0.4, 2.0]])
    means = features @ rng.normal(size=(3, 2))
    problem = Problem([f"arm{a}" for a in range(12)], {"cost": float(np.median(means[:, 1]))}, features=features)
    evidence = Evidence(
        problem, [Moments.from_statistics(int(n), means[a], (n - 1) * noise) for a, n in enumerate(counts)]
    )
    best = solve_means(means, problem.bound)
    state = certainty._loaded(evidence.estimates, problem.bound, np.array(best.basis))
    weights, directions = certainty.condition_weights(state)
    inverse = np.linalg.inv(features.T @ (counts[:, None] * features))
    wanted = weights @ features
    expected = (wanted @ inverse * wanted).sum(axis=1) * (directions @ noise * directions).sum(axis=1)
    found = certainty.condition_variances(state, evidence.estimates)[0]
    np.testing.assert_allclose(found, expected, rtol=0.01, atol=1e-12)


def test_shares_and_known_prices_are_kept_without_noise():
    rng = np.random.default_rng(10)
    means = np.array(LINE) @ np.array([[1.0, 0.5], [1.0, 0.5]])
    trials = [np.column_stack([m + rng.normal(size=30), np.full(30, 9.0)]) for m in means[:, 0]]
    known = {f"arm{a}": Known(costs={"price": float(means[a, 1])}) for a in range(4)}
    shares = ["share(arm3) <= 30%", "share(arm0) >= 10%"]
    evidence = with_features(trials, LINE, {"price": 1.5}, known=known, limits=shares)
    answer = answered(evidence)
    assert evidence.fit is not None
    assert answer.certified
    assert answer.mixture["arm3"] <= 0.3 + 1e-9
    assert answer.mixture["arm0"] >= 0.1 - 1e-9
    assert answer.limits["price"].mean == pytest.approx(1.5)
    assert answer.limits["price"].error == 0.0
    assert answer.limits["share(arm3) <= 30%"].chance == 1.0


def test_what_another_limit_would_earn_knows_the_fit():
    rng = np.random.default_rng(12)
    features, _, bound, _, trials = random_case(rng, "equal")
    answer = answered(with_features(trials, features, {"cost": float(bound[0])}))
    found = tradeoff(answer)
    assert found.sentences()[-1] == found.note == answer.note
    assert found.at(found.bound).mixture == pytest.approx(dict(answer.best_guess))
    assert found.safe_at(found.bound).mixture == pytest.approx(dict(answer.mixture))
    read = type(answer).from_dict(answer.to_dict())
    assert read.problem == answer.problem
    assert tradeoff(read).safe == found.safe
    with pytest.raises(ValueError, match="has no trials that could be fitted by features"):
        tradeoff(replace(read, told=None))


# --- what went wrong once ----------------------------------------------------------------------------------------


def test_mixes_that_features_make_equal_are_told_and_end_a_run():
    """In a 2 x 2 design xq + yr = xr + yq in every metric, so that with two limits no support is the only right one."""
    features = {name: {"m": name[0], "p": name[1]} for name in ("xq", "xr", "yq", "yr")}
    effects = {"x": (0, 0, 0), "y": (1, 1, 0), "q": (0, 0, 0), "r": (1, 0, 1)}
    rng = np.random.default_rng(13)

    def pull(arm):
        told = np.add(effects[arm[0]], effects[arm[1]]) + 0.3 * rng.normal(size=3)
        return float(told[0]), told[1:]

    problem = Problem(list(features), {"c0": 0.5, "c1": 0.4}, features=features)
    answer = identify(problem, pull, 20_000, strategy=Challenger(confidence=0.95))
    assert answer.trials < 5000
    assert answer.support_probability is None
    assert "Other mixes earn exactly as much" in answer.note
    assert "Stopped: if the arms are linear in their features, with 95% certainty" in answer.note


def test_an_event_that_was_never_seen_may_happen():
    """300 trials of 100 arms without an event do not show that there are fewer than 0.4%."""
    rng = np.random.default_rng(14)
    features = np.column_stack([np.ones(100), rng.normal(size=(100, 2))])
    trials = [np.column_stack([row @ [1, 0.5, 0.2] + rng.normal(size=3), np.zeros(3)]) for row in features]
    evidence = with_features(trials, features, {"complaints": 0.004})
    assert evidence.fit is not None
    assert not answered(evidence).certified
    assert answered(with_features(trials, features, {"complaints": 0.05})).certified


def test_prices_that_are_known_of_all_arms_need_not_be_linear():
    rng, prices = np.random.default_rng(16), [1.0, 5.0, 2.0, 9.0]
    trials = [np.column_stack([rng.normal(a, 1.0, 12), np.full(12, prices[a])]) for a in range(4)]
    known = {f"arm{a}": Known(costs={"price": prices[a]}) for a in range(4)}
    evidence = with_features(trials, LINE, {"price": 4.0}, known=known)
    assert evidence.fit is not None
    assert evidence.measured[:, 1].tolist() == prices


def test_shares_are_from_0_to_1():
    rng = np.random.default_rng(17)
    trials = [np.column_stack([rng.normal(a, 1.0, 12), np.arange(12) < 4 * a]) for a in (0, 0.2, 0.1, 2)]
    answer = answered(with_features(trials, LINE, {"events": 0.5}))
    for estimate in answer.estimates.values():
        low, high = estimate.cost_intervals["events"]
        assert 0.0 <= low <= estimate.costs["events"] <= high <= 1.0


# --- kinds of arms that are noisier than others ------------------------------------------------------------------


def test_trials_weigh_alike_unless_kinds_of_arms_are_far_noisier():
    rng = np.random.default_rng(19)
    features = np.column_stack([np.ones(12), np.repeat([0.0, 1.0], 6), np.tile(np.arange(6.0), 2)])
    means = features @ np.array([1.0, 2.0, 0.5])
    for factor, weighted in ((1.0, False), (2.0, False), (30.0, True)):
        deviation = np.where(features[:, 1] > 0, factor, 1.0)
        trials = [m + d * rng.normal(size=(15, 1)) for m, d in zip(means, deviation, strict=True)]
        fit = with_features(trials, features).fit
        design = fit.design
        alike = design @ np.linalg.inv(design.T @ (15 * design)) @ design.T * 15
        assert np.allclose(fit.weights[0], alike) != weighted
        np.testing.assert_allclose(fit.weights[0] @ design, design, atol=1e-9)  # what is linear is fitted as it is
        quiet = np.sqrt([fit.mean_covariance(a)[0, 0] for a in range(6)])
        assert (quiet < 0.4).all()  # a trial's deviation over the root of a few trials, not thirty times as much


def test_weights_do_not_follow_the_luck_of_an_arm():
    """Exponential costs: a cheap sample is a quiet one, and a weight by its own variance would make all look cheap."""
    rng = np.random.default_rng(20)
    features = np.column_stack([np.ones(20), np.linspace(0, 1, 20)])
    scale = np.exp(3.0 * features[:, 1])
    errors = []
    for _ in range(300):
        trials = [
            1.0 + x + s * (rng.exponential(size=(10, 1)) - 1.0) for x, s in zip(features[:, 1], scale, strict=True)
        ]
        fit = with_features(trials, features).fitted
        errors.append(
            (fit.means[:, 0] - 1.0 - features[:, 1]) / np.sqrt([fit.mean_covariance(a)[0, 0] for a in range(20)])
        )
    assert abs(np.mean(errors)) < 0.35
    assert np.std(errors) < 1.2
