import numpy as np
import pytest

from bestmix import SFSR, Instance, Known, Problem, from_log, identify, open_experiment
from bestmix.pages import report
from bestmix.pages.answer_view import Answer
from bestmix.pages.experiment_view import read

LOG = {"arm": list("sssslll"), "reward": [1.0, 1.2, 1.1, 1.0, 2.0, 2.2, 2.1], "dollars": [0, 0.2, 0.1, 0, 1.8, 2.2, 2]}


@pytest.fixture(scope="module")
def instance():
    return Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=0.1, sigma_cost=0.1, costs=["dollars"])


@pytest.mark.parametrize(
    ("bound", "text", "tone"),
    [(1.0, "keeps all bounds with 95% certainty", "good"), (-1.0, "no mix keeps all bounds", "bad")],
)
def test_the_verdict(bound, text, tone):
    answer = Answer(from_log(LOG, bounds={"dollars": bound}))
    assert answer.verdict == (tone, text)
    (row,) = answer.bounds
    assert row.exceeded == (bound < 0)
    assert bool(row.price) == (bound > 0)


def test_before_any_trial_there_is_nothing_to_show():
    answer = Answer(SFSR().start(Problem(["a", "b"], {"dollars": 1.0}), budget=20).recommend())
    assert answer.verdict.text == "no answer yet"
    assert answer.bounds == answer.doubts == answer.spent == answer.rejections == []
    assert not answer.drawable
    assert [arm.estimates for arm in answer.arms] == [["not tried"] * 2] * 2


def test_doubts_begin_with_the_nearest(instance):
    rec = identify(instance.problem, instance.sampler(seed=1), 60)
    doubts = Answer(rec).doubts
    nearest = sorted(rec.z_scores.values())[: len(doubts)]
    assert [d.distance for d in doubts] == ["above 10" if z > 10 else f"{z:.1f}" for z in nearest]
    assert any("bound on dollars" in d.text for d in doubts)


def test_spent_trials_add_up(instance):
    rec = identify(instance.problem, instance.sampler(seed=1), 60)
    spent, first = Answer(rec).spent, Answer(rec).spread_trials
    assert sum(row.trials for row in spent) + first == rec.trials
    assert sum(row.share for row in spent) == pytest.approx(1)


@pytest.mark.parametrize("budget", [60, 300])  # the second plans ahead, and takes back some of it
def test_spent_trials_add_up_where_an_arm_came_later(budget):
    exp = open_experiment("memory://", "later", Problem(["a", "b"], {"dollars": 1.0}), budget=budget)
    rng, means = np.random.default_rng(1), {"a": (1.0, 0.2), "b": (2.0, 1.5), "c": (1.5, 0.9)}
    for told in range(1, budget + 1):
        (trial,) = exp.ask()
        reward, dollars = rng.normal(means[trial.arm], 0.3)
        exp.tell(trial, reward, {"dollars": dollars})
        if told == budget // 2:
            exp.change(arms=["a", "b", "c"])
    answer = read(exp).answer
    made = sum(row.trials for row in answer.spent) + answer.spread_trials - answer.unmade_trials
    assert {arm for r in answer.rec.history for arm in r.pulls} == {"a", "b", "c"}
    assert made == answer.rec.trials == budget


@pytest.mark.parametrize(("weight", "log"), [(0.5, "40 results, which count as 20 trials"), (1.0, "40 results")])
def test_a_log_is_told_apart_from_the_trials(weight, log):
    rng, means = np.random.default_rng(1), {"a": (1.0, 0.2), "b": (2.0, 1.5)}
    rows = [(arm, *rng.normal(means[arm], 0.3)) for arm in ("a", "b") for _ in range(20)]
    pilot = dict(zip(("arm", "reward", "dollars"), map(list, zip(*rows, strict=True)), strict=True))
    problem = Problem(["a", "b"], {"dollars": 1.0})
    exp = open_experiment("memory://", "pilot", problem, budget=30, log=pilot, log_weight=weight)
    while not exp.done:
        for trial in exp.ask():
            reward, dollars = rng.normal(means[trial.arm], 0.3)
            exp.tell(trial, reward, {"dollars": dollars})
    answer = read(exp).answer
    assert (answer.log, answer.unmade_trials) == (log, 0)
    assert sum(row.trials for row in answer.spent) + answer.spread_trials == 30
    assert answer.problem["log"] == log
    assert f"The run began with a log of {log}." in report.report(answer.rec)


def test_rejections_and_roles_agree(instance):
    rec = identify(instance.problem, instance.sampler(seed=1), 90, SFSR())
    answer = Answer(rec)
    rejected = [row.column for row in answer.rejections]
    assert rejected == [r.rejected for r in rec.history if r.rejected]
    assert {arm.name for arm in answer.arms if arm.role == "rejected"} == set(rejected) & set(rec.estimates)
    assert answer.roles == [r for r in ("support", "other", "rejected") if r in {a.role for a in answer.arms}]


def test_the_question_names_what_there_is():
    rec = from_log(LOG, bounds={"dollars": 1.0}, known={"base": Known(0.0, {"dollars": 0.0})})
    assert Answer(rec).problem == {
        "arms tried": "s, l",
        "known arms": "base",
        "goal": "maximise reward",
        "bounds on mean costs": "dollars ≤ 1",
        "strategy": rec.strategy,
        "budget": "none set",
    }


def test_goal_and_limits_have_their_own_words():
    log = LOG | {"quality": LOG["reward"]}
    answer = Answer(from_log(log, goal="minimise dollars", limits=["quality >= 1.5", "share(l) <= 80%"]))
    assert (answer.goal, answer.charted, answer.limits_name) == ("dollars", {"quality >= 1.5": "quality"}, "limits")
    quality, share = answer.bounds
    assert (quality.cost, quality.bound, quality.room.split()[-1]) == ("quality", "≥ 1.5", "above")
    assert (share.cost, share.bound, share.chance) == ("share(l)", "≤ 0.8", "for certain")
    assert share.price == "“share(l) <= 80%” does not limit dollars; a looser one would save nothing."
    assert answer.problem["goal"] == "minimise dollars"
    assert answer.problem["limits"] == "quality >= 1.5, share(l) <= 80%"
    quality_row, share_row = answer.whatifs
    assert "limit on quality" in quality_row.sentences[0]
    assert "limit on share(l)" in share_row.sentences[0]


def test_segments_are_rows_with_the_arms_in_use():
    rows = [(a, s, q, d) for a, q, d in (("s", 1.0, 0.1), ("l", 2.0, 2.0)) for s in ("free", "paid") for _ in range(9)]
    arm, segment, reward, dollars = map(list, zip(*rows, strict=True))
    log = {"arm": arm, "segment": segment, "reward": reward, "dollars": dollars}
    answer = Answer(from_log(log, bounds={"dollars": 1.05}, segment="segment", segments={"free": 0.5, "paid": 0.5}))
    assert [(row.name, row.users) for row in answer.segments] == [("free", 0.5), ("paid", pytest.approx(0.5))]
    assert all(sum(row.shares) == pytest.approx(1.0) for row in answer.segments)
    assert sorted(answer.used_arms) == ["l", "s"]
    assert Answer(from_log(LOG)).segments == []


def test_a_limit_that_costs_its_margin_is_not_called_free():
    log = {
        "arm": ["s", "l"] * 40,
        "reward": [1.0, 2.0, 1.2, 2.2] * 20,
        "dollars": [0.5, 0.9, 0.6, 1.4, 0.4, 1.0, 0.5, 0.6] * 10,
    }
    near, far = (Answer(from_log(log, bounds={"dollars": bound})) for bound in (1.05, 9.0))
    assert (
        near.bounds[0].price
        == "The limit on dollars does not limit the reward at the estimates; keeping it with certainty may."
    )
    assert far.bounds[0].price == "The limit on dollars does not limit the reward; a looser one would add nothing."


def test_a_share_that_breaks_its_limit_is_not_kept_rather_than_hardly():
    limits = ["share(s) >= 60%", "share(l) >= 60%"]
    rec = from_log(LOG, bounds={"dollars": 9.0}, limits=limits)
    assert not rec.feasible
    assert "share(s) >= 60%: 0.4 for at least 0.6, not kept." in str(rec)
    assert "contradict each other; looser" in rec.note
    assert [bound.chance for bound in Answer(rec).bounds][1:] == ["no", "for certain"]
