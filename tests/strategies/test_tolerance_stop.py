import json

import numpy as np
import pytest
from tests.strategies.searches import NOISE, drive, plain

from bestmix import Challenger, Instance, Problem, Search, identify, noise, open_experiment, simulate, solve
from bestmix.answers import safety
from bestmix.answers.regret import basis_regret_bound, regret_bound
from bestmix.experiments.audit import audit
from bestmix.problems.solution import solve_means
from bestmix.strategies import tolerance_stop

GOOD = Challenger(confidence=0.95, tolerance=0.1)


def twins():
    """Two equal arms in the best mix: which of them it is nobody can tell."""
    return Instance([1.7, 2.6, 2.6, 0.5], [[0.0, 1.8, 1.8, 0.8]], [1.0], **NOISE)


def at_its_bound():
    return Instance([1.0, 0.6, 0.3], [[1.0, 0.5, 0.2]], [1.0], **NOISE)


@pytest.mark.parametrize("tolerance", [0, -1.0, "x", "%", float("nan"), float("inf"), True, None, [1], "-1%"])
def test_a_tolerance_is_a_positive_amount_or_share(tolerance):
    with pytest.raises(ValueError, match="tolerance: expected a positive amount"):
        tolerance_stop.parse_tolerance(tolerance)


def test_a_share_is_of_the_value():
    assert tolerance_stop.parse_tolerance("2 %").of(-50.0) == 1.0
    assert (
        tolerance_stop.parse_tolerance("0.5")
        == tolerance_stop.parse_tolerance(0.5)
        == tolerance_stop.Tolerance(0.5, relative=False)
    )


@pytest.mark.parametrize("case", [plain, twins, at_its_bound])
def test_a_run_stops_with_a_mix_that_is_good_enough(case):
    # 30 runs: each may be wrong with a chance of 5%, at most; more than 5 have then a chance of 0.3%.
    instance, wrong = case(), 0
    for seed in range(30):
        search = drive(GOOD.start(instance.problem), instance, seed)
        means = GOOD.mixture(search.problem, search.memory) @ instance.means
        wrong += solve(instance).value - means[0] > 0.1 or (means[1:] > instance.bound).any()
        assert search.trials < 10_000
    assert wrong <= 5


def certified(search):
    """Shares of the mix that the stop was for, by arm."""
    mixture = search.strategy.mixture(search.problem, search.memory)
    return {arm: share for arm, share in zip(search.problem.names, mixture.tolist(), strict=True) if share > 0}


@pytest.mark.parametrize("case", [plain, twins, at_its_bound])
def test_what_is_recommended_after_a_stop_is_the_certified_mix(case, tmp_path):
    search = drive(GOOD.start(case().problem), case(), seed=3)
    rec = search.recommend()
    assert dict(rec.mixture) == pytest.approx(certified(search), abs=1e-12)
    assert rec.certified
    assert rec.certainty >= 0.95
    assert rec.regret <= search.memory["certificate"]["regret"] <= 0.1
    search.save(tmp_path / "search.json")
    assert Search.load(tmp_path / "search.json").recommend().to_dict() == rec.to_dict()
    assert search.recommend(safety=None).mixture == rec.best_guess  # and whoever wants the other gets it
    surer = search.recommend(safety=0.999)
    assert surer.certified
    assert surer.certainty >= 0.999


def test_while_a_run_goes_on_the_mix_is_that_of_its_latest_trials():
    search = GOOD.start(plain().problem)
    rng = np.random.default_rng(0)
    while not search.memory.get("certificate"):
        for arm, count in search.ask().items():
            rows = plain().draw(plain().arms.index(arm), count, rng)
            search.tell(arm, rows[:, 0], rows[:, 1:])
    search.memory["certificate"] |= {"certified": True, "mixture": [0.0, 0.0, 1.0]}
    assert search.recommend().mixture != {"arm2": 1.0}


def test_a_small_tolerance_needs_more_trials_than_a_large_one():
    trials = [
        identify(plain().problem, plain().sampler(seed=1), strategy=strategy).trials
        for strategy in (Challenger(confidence=0.95, tolerance="20%"), Challenger(confidence=0.95, tolerance=0.03))
    ]
    assert trials[0] < trials[1]


def test_a_verdict_is_enough_only_if_certified_and_within_the_tolerance():
    assert tolerance_stop.Verdict(np.ones(1), 0.1, 0.1, certified=True).enough
    assert not tolerance_stop.Verdict(np.ones(1), 0.2, 0.1, certified=True).enough
    assert not tolerance_stop.Verdict(np.ones(1), 0.0, 0.1, certified=False).enough


def test_a_round_goes_to_the_arms_whose_trials_matter():
    instance = Instance([1.7, 2.6, -9.0], [[0.0, 1.8, 0.8]], [1.0], **NOISE)
    scatters = np.tile(0.09 * 49 * np.eye(2), (3, 1, 1))
    data = safety.estimates(np.array(instance.means), scatters, np.full(3, 50.0))
    for by_basis in (False, True):
        gains = tolerance_stop.regret_gains(data, instance.bound, 0.9, 0.05, by_basis)
        plan = tolerance_stop.plan_trials(gains, data.counts, 100, 3)
        assert plan.trials.sum() == 100
        assert plan.trials[2] == 0
        assert {arm: sum(why.values()) for arm, why in plan.reasons.items()} == {0: plan.trials[0], 1: plan.trials[1]}


def told_apart():
    """Three arms that are easily told apart, and whose costs have little noise beside their rewards."""
    return Instance([0.62, 0.74, 0.9], [[0.0005, 0.003, 0.02]], [0.006], sigma_reward=0.3, sigma_cost=0.001)


def test_where_no_other_arm_comes_close_the_noise_of_rewards_does_not_matter():
    """The bound by the prices of the basis; 40 runs of each, on the same instance."""
    instance, trials = told_apart(), {}
    for options in ({"tolerance": 0.028}, {}):
        strategy = Challenger(confidence=0.95, **options)
        made = [drive(strategy.start(instance.problem), instance, seed).trials for seed in range(40)]
        trials[len(options)] = np.mean(made)
    assert trials[1] < 1.4 * trials[0]  # at fixed prices alone it was 1.8


def test_a_verdict_is_by_the_lower_bound_and_keeps_limits_with_a_quarter_of_the_risk():
    instance = told_apart()
    scatters = np.tile(139 * np.diag([0.3, 0.001]) ** 2, (3, 1, 1))
    data = safety.estimates(np.array(instance.means), scatters, np.full(3, 140.0))
    tolerance = tolerance_stop.parse_tolerance(0.028)
    found, best = (
        tolerance_stop.judge(data, instance.bound, 0.999, 0.05, tolerance),
        solve_means(data.means, instance.bound),
    )
    assert found.enough
    np.testing.assert_allclose(found.mixture, safety.safe_mix(data, instance.bound, 0.999, 1 - 0.05 / 4).mixture)
    tail = 0.05 * tolerance_stop.REGRET * 0.999
    assert regret_bound(data, found.mixture, instance.bound, tail, best.dual) > found.tolerance  # at fixed prices


def test_gains_are_the_slope_of_the_bound_that_is_lower():
    instance = Instance([-9.0, 0.74, 0.9], told_apart().cost, [0.006])  # no other arm comes close
    scatters = np.tile(99 * np.diag([0.3, 0.001]) ** 2, (3, 1, 1))
    data = safety.estimates(np.array(instance.means), scatters, np.array([300.0, 100.0, 100.0]))
    best, counts, tail = solve_means(data.means, instance.bound), data.counts, 0.05 * tolerance_stop.REGRET
    gain = tolerance_stop.regret_gains(data, instance.bound, 1.0, 0.05, by_basis=True)(counts)[:, :3].sum(axis=1)

    def bound(n):
        """With the quantiles of the trials as they are."""
        more = data._replace(covariances=data.covariances * (counts / n)[:, None, None])
        return basis_regret_bound(more, best.mixture, instance.bound, tail, best)

    for a in (1, 2):
        step = 1e-3 * counts * (np.arange(3) == a)
        slope = (bound(counts - step) - bound(counts + step)) / (2 * step[a])
        assert gain[a] / counts[a] ** 2 / 2 == pytest.approx(slope, rel=1e-3)
    assert gain[0] == pytest.approx(0.0)


def test_rare_successes_are_waited_for():
    """One arm succeeds in 9% of its trials and three in 1%: with the variances of the trials alone 14% were wrong.

    100 runs: more than 11 wrong have a chance of 0.4% at 5%.
    """
    instance = Instance([0.09, 0.01, 0.01, 0.01], noise=noise.Bernoulli())
    strategy = Challenger(confidence=0.95, tolerance=0.07)
    assert (simulate(instance, strategy, 10**6, 100, seed=31).outcomes.regret > 0.07).sum() <= 11


@pytest.mark.parametrize("size", [1e-170, 1e-100])
def test_costs_whose_squares_vanish_certify_nothing(size):
    """They seem to have no spread at all."""
    search, rng = GOOD.start(Problem(["a", "b"], {"x": size}), 200), np.random.default_rng(0)
    while owed := search.ask():
        for arm, count in owed.items():
            reward, cost = {"a": (1.0, 0.2), "b": (3.0, 1.8)}[arm]
            rows = np.array([reward, cost]) + 0.1 * rng.normal(size=(count, 2))
            search.tell(arm, rows[:, 0], rows[:, 1:] * size)
    assert search.memory["certificate"]["enough"] is (size > 1e-150)


def test_just_above_the_tolerance_it_is_as_sure_as_it_says():
    """The worse arm is too bad by a tenth of the tolerance. 100 runs: more than 13 wrong have a chance of 0.04%."""
    instance = Instance([0.5, 0.61], sigma_reward=1.0)
    strategy = Challenger(confidence=0.95, tolerance=0.1)
    wrong = simulate(instance, strategy, 10**6, 100, seed=3).outcomes.regret > 0.1
    assert wrong.sum() <= 13


def test_a_round_for_the_margin_goes_to_the_arms_of_the_mix():
    instance = Instance([1.7, 2.6, 2.4], [[0.0, 1.8, 1.8]], [1.0], **NOISE)
    scatters = np.tile(0.09 * 49 * np.eye(2), (3, 1, 1))
    data = safety.estimates(np.array(instance.means), scatters, np.full(3, 50.0))
    plan = tolerance_stop.plan_trials(tolerance_stop.margin_gains(data, instance.bound, 3), data.counts, 100, 3)
    assert plan.trials.sum() == 100
    assert plan.trials[2] == 0  # it is the rival, but not in the mix
    assert set().union(*plan.reasons.values()) == {3}  # the slack of the limit
    assert tolerance_stop.margin_gains(data, np.array([9.0]), 3) is None  # the best arm alone is far below its limit


def test_the_last_share_of_a_budget_goes_to_the_margin():
    instance = plain()
    share, whole = Challenger(margin_share=0.3), Challenger()
    last, before = (drive(s.start(instance.problem, 1000), instance, 0).history for s in (share, whole))
    assert last[0] == before[0]
    assert last[1].pulls == before[1].pulls
    spent = [set().union(*told.reasons.values()) for told in last[-5:]]
    assert spent == [{"slack of cost0"}] * 5
    assert "margin_share" not in whole.to_dict()
    with pytest.raises(ValueError, match="margin_share: expected a share between 0 and 1 of a fixed budget"):
        Challenger(confidence=0.95, margin_share=0.3)


def test_every_trial_has_a_reason_and_the_memory_is_plain_data():
    search = drive(GOOD.start(twins().problem, 3000), twins(), 3)
    for told in search.history[1:]:
        assert {arm: sum(why.values()) for arm, why in told.reasons.items()} == told.pulls
    assert json.loads(json.dumps(search.memory, allow_nan=False)) == search.memory


def test_a_saved_search_goes_on_exactly(tmp_path):
    whole = drive(GOOD.start(plain().problem, 2000), plain(), 5)
    search, rng = GOOD.start(plain().problem, 2000), np.random.default_rng(5)
    while owed := search.ask():
        for arm, count in owed.items():
            rows = plain().draw(plain().arms.index(arm), count, rng)
            search.tell(arm, rows[:, 0], rows[:, 1:])
            search.save(tmp_path / "search.json")
            search = Search.load(tmp_path / "search.json")
    assert json.loads(search.to_json()) == json.loads(whole.to_json())
    assert search.memory["certificate"]["enough"]


def test_an_experiment_makes_the_same_decisions(tmp_path):
    exp = open_experiment(tmp_path / "x.db", "good", plain().problem, 2000, GOOD)
    rng = np.random.default_rng(7)
    while trials := exp.ask(50):
        rows = [(t, plain().draw(plain().arms.index(t.arm), 1, rng)[0]) for t in trials]
        exp.tell_many([(t, row[0], row[1:]) for t, row in rows])
    assert exp.state.status == "done"
    assert exp.state.complete < 2000
    assert audit(exp) == []
    kept = dict(zip(plain().arms, exp.run_state().memory["certificate"]["mixture"], strict=True))
    assert dict(exp.recommend().mixture) == pytest.approx({arm: share for arm, share in kept.items() if share > 0})


def test_an_infeasible_problem_ends_with_that_verdict():
    instance = Instance([1.0, 2.0], [[1.4, 1.5]], [1.0], **NOISE)
    search = drive(GOOD.start(instance.problem), instance, 0)
    assert not search.recommend().feasible
    assert GOOD.mixture(search.problem, search.memory) is None


def test_prices_without_noise_end_at_once():
    problem = Problem(["a", "b"], {"x": 1.0})
    search = GOOD.start(problem, 1000)
    while owed := search.ask():
        for arm, count in owed.items():
            value = 1.0 + (arm == "b")
            search.tell(arm, [value] * count, [[0.5 * value]] * count)
    assert search.trials < 100
