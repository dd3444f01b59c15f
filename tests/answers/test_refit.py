import numpy as np
import pytest
from scipy.special import ndtr

from bestmix import Known, Policy
from bestmix.answers.refit import refit, refit_whole

KNOWN = {"off": Known(0.0, {"dollars": 0.0})}
POLICY = Policy({"on": 0.5, "off": 0.5}, {"dollars": 1.0}, safety=0.9, known=KNOWN)


def log(seed, n=30, arm="on"):
    rows = [2.0, 2.0] + 0.1 * np.random.default_rng(seed).normal(size=(n, 2))
    return {"arm": [arm] * n, "reward": rows[:, 0].tolist(), "dollars": rows[:, 1].tolist()}


def test_the_answer_is_of_the_policys_arms_and_certainty():
    rec = refit(POLICY, log(1))
    assert rec.problem.arms == ("on",)
    assert dict(rec.problem.known) == KNOWN
    assert (rec.safety, rec.trials) == (0.9, 30)
    assert rec.certified
    assert rec.limits["dollars"].mean < 1.0


def test_trials_before_are_added_to_the_fresh_ones():
    both, joined = refit(POLICY, log(1), before=log(2)), log(1)
    for name, values in log(2).items():
        joined[name] = joined[name] + values
    assert both.to_dict() == refit(POLICY, joined).to_dict()


def test_trials_before_may_be_all_that_an_arm_has():
    assert refit(POLICY, log(1, arm="new"), before=log(2)).trials == 30
    with pytest.raises(ValueError, match="expected fresh trials of 'on', got none"):
        refit(POLICY, log(1, arm="new"))


def test_goal_and_limits_are_kept_when_weights_are_fitted_again():
    rng = np.random.default_rng(0)
    rows = 80
    quality = np.r_[rng.random(rows) < 0.7, rng.random(rows) < 0.97].astype(float)
    log = {
        "arm": ["s"] * rows + ["l"] * rows,
        "quality": quality.tolist(),
        "dollars": np.r_[rng.normal(1, 0.1, rows), rng.normal(9, 0.5, rows)].tolist(),
    }
    policy = Policy({"s": 0.5, "l": 0.5}, goal="minimise dollars", limits=["quality >= 0.8"])
    fitted = policy.refit(log)
    assert (fitted.goal, fitted.limits) == (policy.goal, policy.limits)
    means = {arm: quality[[a == arm for a in log["arm"]]].mean() for arm in ("s", "l")}
    assert sum(weight * means[arm] for arm, weight in fitted.weights.items()) == pytest.approx(0.8)


def test_weights_have_the_arms_of_which_limits_ask_a_share():
    fresh = {"arm": ["s"] * 12, "reward": [0.6, 0.7] * 6, "dollars": [1.0, 1.1] * 6}
    for limit in ("share(l) >= 10%", "share(l) = 10%"):
        with pytest.raises(ValueError, match=r"policy: expected a weight of 'l', for 'share\(l\) >?= 10%'"):
            refit(Policy({"s": 1.0}, {"dollars": 5.0}, limits=[limit]), fresh)
        with pytest.raises(ValueError, match="trials: expected fresh trials of 'l', got none"):
            refit(Policy({"s": 1.0, "l": 0.0}, {"dollars": 5.0}, limits=[limit]), fresh)
    for limit in ("share(l) <= 10%", "share(l) >= 0"):
        assert refit(Policy({"s": 1.0}, {"dollars": 5.0}, limits=[limit]), fresh).feasible


def test_segments_are_fitted_again_from_their_column():
    rng = np.random.default_rng(1)
    cells = [("s", "free"), ("l", "free"), ("s", "paid"), ("l", "paid")]
    means = {("s", "free"): 0.9, ("l", "free"): 0.95, ("s", "paid"): 0.3, ("l", "paid"): 0.95}
    rows = [(a, g, float(rng.random() < means[a, g]), 1.0 if a == "s" else 9.0) for a, g in cells for _ in range(60)]
    log = dict(zip(("arm", "plan", "quality", "dollars"), map(list, zip(*rows, strict=True)), strict=True))
    half = {"s": 0.5, "l": 0.5}
    policy = Policy(
        None,
        goal="minimise dollars",
        limits=["quality >= 0.7"],
        segments={"free": 0.5, "paid": 0.5},
        by_segment={"free": half, "paid": half},
    )
    fitted = policy.refit(log, segment="plan")
    assert fitted.by_segment["free"]["s"] > fitted.by_segment["paid"]["s"]
    assert fitted.segments == policy.segments
    short = {name: values[:180] for name, values in log.items()}
    with pytest.raises(ValueError, match="expected fresh trials of 'l in paid'"):
        policy.refit(short, segment="plan")


def test_a_segment_need_not_use_every_arm():
    cells = [("s", "free", 0.5), ("l", "free", 2.0), ("s", "paid", 0.6), ("l", "paid", 2.2)]
    rows = [(a, g, d + e) for a, g, d in cells for e in (-0.1, 0.0, 0.1)]
    log = dict(zip(("arm", "segment", "dollars"), map(list, zip(*rows, strict=True)), strict=True))
    parts = {"free": {"s": 0.5, "l": 0.5}, "paid": {"l": 1.0}}
    policy = Policy(None, {"dollars": 3.0}, segments={"free": 0.7, "paid": 0.3}, by_segment=parts)
    found = refit_whole(policy, log | {"reward": log["dollars"]})
    assert found.deployed["dollars"].mean == pytest.approx(0.7 * 1.25 + 0.3 * 2.2)


def test_what_the_policy_as_it_is_costs_on_the_fresh_trials():
    fresh = log(1)
    found = refit_whole(POLICY, fresh, before=log(2, n=90))
    mean = found.deployed["dollars"]
    assert mean.mean == pytest.approx(0.5 * np.mean(fresh["dollars"]))
    half = 0.5 * (mean.interval[1] - mean.interval[0])
    assert half == pytest.approx(2.045 * 0.5 * np.std(fresh["dollars"], ddof=1) / np.sqrt(30), rel=0.01)
    assert found.answer.trials == 120
    assert found.left_out == {}


def test_with_segments_each_has_its_own_weights():
    parts = {"free": {"s": 1.0, "l": 0.0}, "paid": {"s": 0.0, "l": 1.0}}
    policy = Policy(None, {"dollars": 1.0}, segments={"free": 0.7, "paid": 0.3}, by_segment=parts)
    rows = [(a, g, d + e) for a, d in (("s", 0.5), ("l", 2.0)) for g in ("free", "paid") for e in (-0.1, 0.0, 0.1)]
    fresh = {"arm": [a for a, _, _ in rows], "segment": [g for _, g, _ in rows], "dollars": [d for _, _, d in rows]}
    found = refit_whole(policy, fresh | {"reward": [d for _, _, d in rows]})
    assert found.deployed["dollars"].mean == pytest.approx(0.7 * 0.5 + 0.3 * 2.0)


def test_the_fresh_trials_had_no_say_in_the_weights_that_they_judge():
    """The chance that a limit is kept is the plain one of its mean: nothing was chosen."""
    trials = log(5, n=400)
    found = refit_whole(Policy({"on": 0.499, "off": 0.501}, {"dollars": 1.0}, known=KNOWN), trials).deployed["dollars"]
    assert found.chance == pytest.approx(ndtr((1.0 - found.mean) / found.error), abs=0.01)
    assert 0.1 < found.chance < 0.9


def crowd(seed, arms, n=30):
    """Trials of arms that are alike, with good trials that are cheap ones."""
    noise = np.random.default_rng(seed).multivariate_normal([0, 0], [[0.01, -0.009], [-0.009, 0.01]], (len(arms), n))
    rows = (2.0 + noise).reshape(-1, 2)
    return {"arm": np.repeat(arms, n).tolist(), "reward": rows[:, 0].tolist(), "dollars": rows[:, 1].tolist()}


@pytest.mark.parametrize("limits", [[], ["share(off) <= 90%"]])
def test_arms_that_the_trials_before_gave_up_make_the_refit_more_careful(limits):
    """The policy's arm was chosen out of twelve that are alike; one of these alone had no choice to allow for."""
    policy = Policy({"on": 0.5, "off": 0.5}, {"dollars": 1.0}, safety=0.95, known=KNOWN, limits=limits)
    others = crowd(2, [f"other{k}" for k in range(11)])
    alone, chosen = (
        refit_whole(policy, log(1, n=3), before={name: log(3)[name] + more[name] for name in more})
        for more in ({"arm": [], "reward": [], "dollars": []}, others)
    )
    assert alone.answer.problem == chosen.answer.problem
    assert alone.answer.trials == chosen.answer.trials == 33
    assert alone.answer.certified
    assert chosen.answer.certified
    assert chosen.answer.limits["dollars"].mean < alone.answer.limits["dollars"].mean
    assert chosen.answer.best_guess == alone.answer.best_guess


def test_arms_that_were_given_up_and_are_far_behind_change_little():
    far = crowd(2, ["bad"])
    far["reward"] = [reward - 5.0 for reward in far["reward"]]
    before = {name: log(3)[name] + far[name] for name in far}
    alone, beside = refit(POLICY, log(1), before=log(3)), refit(POLICY, log(1), before=before)
    assert beside.limits["dollars"].mean == pytest.approx(alone.limits["dollars"].mean, abs=0.002)


def drifted(factor, arms=("s", "l"), seed=1):
    rng = np.random.default_rng(seed)
    means = {"s": (0.5, 1.0), "l": (0.9, 4.0 * factor)}
    rows = [(arm, *(means[arm] + 0.1 * rng.normal(size=2)).tolist()) for arm in arms for _ in range(60)]
    return dict(zip(("arm", "reward", "dollars"), map(list, zip(*rows, strict=True)), strict=True))


def test_trials_before_that_differ_from_the_fresh_ones_do_not_count():
    policy = Policy({"s": 0.5, "l": 0.5}, {"dollars": 2.5}, safety=0.95)
    fresh = refit(policy, drifted(1.5))
    together = refit(policy, drifted(1.5), before=drifted(1.0, seed=2))
    assert together.mixture == fresh.mixture
    assert together.limits["dollars"].mean < 2.5
    assert "ones of l differ by more than chance: dollars 4" in together.note
    assert "Those before do not count." in together.note
    same = refit(policy, drifted(1.0), before=drifted(1.0, seed=2))
    assert (same.trials, same.note) == (240, "")


def test_trials_before_that_differ_count_where_the_fresh_ones_do_not_tell_of_all_arms():
    policy = Policy({"s": 0.5, "l": 0.5}, {"dollars": 2.5}, safety=0.95)
    rec = refit(policy, drifted(1.5, ["l"]), before=drifted(1.0, seed=2))
    assert rec.trials == 180
    assert "so both count: limits may be broken more often than told" in rec.note


def test_an_arm_that_a_limit_is_relative_to_needs_trials_even_without_weight():
    policy = Policy({"s": 0.0, "l": 1.0}, limits=["dollars <= 5 * dollars(s)"])
    with pytest.raises(ValueError, match=r"fresh trials of 's', which 'dollars <= 5 \* dollars\(s\)' is relative to"):
        refit(policy, drifted(1.0, ["l"]))
    assert refit(policy, drifted(1.0, ["l"]), before=drifted(1.0)).feasible


def test_an_arm_that_only_trials_before_told_of_stays_out_where_they_do_not_count():
    policy = Policy({"l": 1.0, "s": 0.0}, {"dollars": 9.0}, safety=0.95)
    alone = refit_whole(policy, drifted(1.5, ["l"]))
    both = refit_whole(policy, drifted(1.5, ["l"]), before=drifted(1.0, seed=2))
    assert both.idle == alone.idle == ("s",)
    assert both.answer.regret == alone.answer.regret
