"""Another bound, a new arm, an arm retired, while live traffic goes on."""

import numpy as np
import pytest
from tests.experiments.flows import MEANS, QUICK, ROUTER, drawn, report, row

from bestmix import Known, Problem, Traffic, checks, open_experiment, open_storage
from bestmix.experiments import Closed
from bestmix.experiments.audit import audit

NEW = {"tiny": (0.6, 0.1)}


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def storage(request, opener, clock):
    return opener(request.param, clock)


def serve(exp, rounds, rng, first=1, edge="web", requests=450):
    """Reports that follow the weights; the number of the next."""
    for k in range(first, first + rounds):
        exp.tell_sums(report(exp, requests, rng), f"{edge}:{k}")
    return first + rounds


@pytest.fixture
def means(monkeypatch):
    monkeypatch.setitem(MEANS, "tiny", NEW["tiny"])


def test_bounds_and_arms_change_while_requests_go_on_and_everything_replays(storage, name, means):
    exp = open_experiment(storage, name, ROUTER, traffic=QUICK)
    rng = np.random.default_rng(0)
    number, last = serve(exp, 6, rng), exp.weights()
    before = exp.recommend().limits["dollars"].mean
    exp.change(bounds={"dollars": 0.5})
    now = exp.weights()
    assert now.version == last.version + 1
    assert now.weights["large"] < last.weights["large"]  # the same sums, a tighter bound
    assert exp.recommend().limits["dollars"].mean <= 0.5 < before
    assert exp.traffic().versions[-1].carry == {"dollars": 0.0}  # the account begins anew
    number = serve(exp, 3, rng, number)

    exp.change(arms=["small", "large", "tiny"])
    now = exp.weights()
    assert now.weights["tiny"] == pytest.approx(QUICK.share)  # it explores, and the others are served without it
    assert now.weights["large"] == pytest.approx((1 - QUICK.share) * exp.traffic().versions[-1].alone[""]["large"])
    assert now.alarm == "nothing is certain of tiny before 10 trials of each"
    number = serve(exp, 4, rng, number)
    assert exp.weights().certified
    assert exp.recommend().estimates["tiny"].trials >= 10

    late = exp.weights().version
    exp.change(arms=["tiny", "large"])
    assert "small" not in exp.weights().weights
    count = exp.state.complete
    exp.tell_sums([row(late, "small", drawn("small", 9, rng))], f"web:{number}")  # a late report of what is retired
    assert exp.state.complete == count + 9
    serve(exp, 2, rng, number + 1)
    assert "small" not in exp.recommend().estimates
    exp.change(arms=["tiny", "large", "small"])
    assert exp.recommend().estimates["small"].trials > 1000  # it has its requests again

    assert [change["text"] for change in exp.state.changes] == [
        "dollars <= 0.5 instead of dollars <= 1",
        "tiny is new",
        "small is retired",
        "small is back",
    ]
    assert audit(exp) == []
    assert sum(exp.traffic().requests) == exp.state.complete


def test_arms_that_are_known_keep_their_requests_when_others_come(means):
    problem = Problem(["small", "large"], {"dollars": 1.0}, known={"off": Known(0.0, {"dollars": 0.0})})
    exp = open_experiment("memory://", "live", problem, traffic=Traffic(explore="10%", serve="off", requests=300))
    rng, nothing = np.random.default_rng(1), np.zeros((7, 2))
    exp.tell_sums([row(1, a, drawn(a, 40, rng)) for a in ("small", "large")] + [row(1, "off", nothing)], "web:1")
    exp.change(arms=["small", "large", "tiny"])
    version = exp.weights().version
    exp.tell_sums([row(version, a, drawn(a, 20, rng)) for a in ("small", "tiny")] + [row(1, "off", nothing)], "web:2")
    found = exp.recommend().estimates
    assert [found[arm].trials for arm in ("small", "large", "tiny")] == [60, 40, 20]
    assert exp.run_state().memory["known"] == [14]
    exp.change(limits=["dollars <= 0.9"])
    assert audit(exp) == []


def test_in_segments_a_new_arm_gets_its_trials_in_each(means):
    problem = Problem(["small", "large"], {"dollars": 1.0}, segments={"free": 0.7, "paid": 0.3})
    exp = open_experiment("memory://", "live", problem, traffic=QUICK)
    rng = np.random.default_rng(2)
    both = [row(1, a, drawn(a, 200, rng), s) for a in MEANS if a != "tiny" for s in ("free", "paid")]
    exp.tell_sums(both, "web:1")
    exp.change(arms=["small", "large", "tiny"])
    assert [exp.weights(s).weights["tiny"] for s in ("free", "paid")] == pytest.approx([QUICK.share] * 2)
    version = exp.weights("free").version
    exp.tell_sums([row(version, "tiny", drawn("tiny", 30, rng), "free")], "web:2")
    exp.change(bounds={"dollars": 0.9})
    assert exp.weights("paid").weights["tiny"] == pytest.approx(QUICK.share)  # it lacks them there still
    assert audit(exp) == []


def test_nothing_that_explores_leaves_a_new_arm_alone(means):
    exp = open_experiment("memory://", "live", ROUTER, traffic=Traffic(explore="0%"))
    exp.tell_sums([row(1, arm, drawn(arm, 500, np.random.default_rng(3))) for arm in ROUTER.arms], "web:1")
    exp.change(arms=["small", "large", "tiny"])
    assert "tiny" not in exp.weights().weights
    assert exp.weights().certified


def test_the_arm_that_was_served_first_can_be_retired():
    exp = open_experiment("memory://", "live", Problem(["small", "large", "huge"]), traffic=Traffic(serve="small"))
    exp.change(arms=["large", "huge"])
    assert exp.weights().weights == {"large": 0.5, "huge": 0.5}


def test_a_paused_one_changes_what_it_serves_and_a_stopped_one_does_not(means):
    exp = open_experiment("memory://", "live", ROUTER, traffic=QUICK)
    rng = np.random.default_rng(4)
    serve(exp, 5, rng)
    exp.pause()
    before = exp.weights()
    assert before.explore == 0.0
    exp.change(bounds={"dollars": 0.5})
    after = exp.weights()
    assert (after.version, after.explore) == (before.version + 1, 0.0)
    assert after.weights["large"] < before.weights["large"]
    exp.resume()
    assert exp.weights().explore > 0
    assert audit(exp) == []
    exp.stop("enough")
    with pytest.raises(Closed, match="change: the experiment was stopped"):
        exp.change(bounds={"dollars": 0.4})


def test_a_change_that_planning_fails_on_is_planned_when_it_is_resumed(monkeypatch):
    exp = open_experiment("memory://", "live", ROUTER, traffic=QUICK)
    rng = np.random.default_rng(5)
    number = serve(exp, 2, rng)
    with monkeypatch.context() as broken:
        broken.setattr("bestmix.experiments.traffic.plan_round", lambda *_: 1 / 0)
        exp.change(bounds={"dollars": 0.5})
        assert exp.state.status == "failed"
        exp.change(bounds={"dollars": 0.75})
    before = exp.weights()
    exp.resume()
    after = exp.weights()
    assert after.version == before.version + 1
    assert after.weights["large"] < before.weights["large"]
    serve(exp, 2, rng, number)
    assert exp.state.status == "running"
    assert audit(exp) == []


def test_an_arm_whose_retirement_failed_is_served_no_more_once_it_is_resumed(storage, name, monkeypatch):
    exp = open_experiment(storage, name, Problem(["small", "large", "huge"]), traffic=QUICK)
    expected = exp.traffic().versions[-1].expected
    with monkeypatch.context() as broken:
        broken.setattr("bestmix.experiments.traffic.plan_round", lambda *_: 1 / 0)
        exp.change(arms=["small", "large"])
        exp.resume()
        assert exp.state.status == "failed"  # it was planned again
    exp.resume()
    assert set(exp.weights().weights) == {"small", "large"}
    assert exp.traffic().versions[-1].expected == expected
    version = exp.weights().version
    exp.pause()
    exp.resume()
    assert exp.weights().version == version  # there is nothing left to plan
    assert audit(exp) == []


def test_what_cannot_be_changed_is_said():
    exp = open_experiment("memory://", "live", ROUTER, traffic=QUICK)
    with pytest.raises(checks.InvalidInput, match="budget: live traffic has none"):
        exp.change(bounds={"dollars": 2.0}, budget=100)
    with pytest.raises(checks.InvalidInput, match="limits on what the trials so far tell"):
        exp.change(limits=["seconds <= 1"])
    exp.change(bounds={"dollars": 1.0})  # nothing
    assert exp.weights().version == 1


def test_another_process_may_have_changed_it(tmp_path, means):
    url = f"sqlite:///{tmp_path / 'x.db'}"
    mine, rng = open_experiment(url, "live", ROUTER, traffic=QUICK), np.random.default_rng(6)
    number = serve(mine, 3, rng)
    other = open_storage(url).open("live")
    other.change(arms=["small", "large", "tiny"])
    mine.tell_sums([row(other.weights().version, "tiny", drawn("tiny", 12, rng))], f"web:{number}")
    assert mine.recommend().estimates["tiny"].trials == 12
    assert audit(other) == []
    mine.close()
    other.close()
