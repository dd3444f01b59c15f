import numpy as np
import pytest
from tests.experiments.flows import QUICK, ROUTER, drawn, report, row
from tests.experiments.kits import KINDS

from bestmix import Known, Problem, Traffic, checks, open_experiment
from bestmix.answers.moments import Moments
from bestmix.experiments import traffic
from bestmix.experiments.audit import audit
from bestmix.experiments.errors import Closed, OutOfOrder


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def storage(request, opener, clock):
    return opener(request.param, clock)


@pytest.fixture
def live(storage, name):
    return open_experiment(storage, name, ROUTER, traffic=QUICK)


def run(live, reports, seed=0, requests=300):
    rng = np.random.default_rng(seed)
    return [live.tell_sums(report(live, requests, rng), f"web:{k}") for k in range(1, reports + 1)]


def test_rounds_go_by_with_what_comes_in(live):
    assert live.weights().version == 1
    assert live.weights().alarm
    assert {outcome.value for outcome in run(live, 9)} == {"counted"}
    now = live.weights()
    assert now.version == live.state.round == 6
    assert now.certified
    assert now.explore == 0.1
    assert live.recommend().support == ("small", "large")
    assert live.recommend().budget is None
    assert audit(live) == []
    found = live.traffic()
    assert [version.number for version in found.versions] == [1, 2, 3, 4, 5, 6]
    assert sum(found.requests) == live.state.complete == 2700
    assert [(edge.name, edge.sequence, edge.requests, edge.version) for edge in found.edges] == [("web", 9, 2700, 5)]
    assert [ended.number for ended in live.history] == [1, 2, 3, 4, 5]


def test_every_store_gets_to_the_same_point(opener, clock, name):
    found = []
    for kind in KINDS:
        live = open_experiment(opener(kind, clock), name, ROUTER, traffic=QUICK)
        run(live, 5, seed=3)
        now = live.traffic().to_dict()
        found.append((now, live.recommend().to_dict(), live.published().tag, live.state.complete))
    assert found[1:] == found[:-1]


def test_a_report_is_counted_once_whatever_is_sent_again(live):
    rng = np.random.default_rng(1)
    rows = report(live, 100, rng)
    assert live.tell_sums(rows, "web:1").value == "counted"
    before = live.traffic()
    assert live.tell_sums(rows, "web:1").value == "repeated"
    assert live.tell_sums(report(live, 50, rng), "web:1").value == "repeated"
    assert live.traffic() == before
    assert live.tell_sums(rows, "other").value == "counted"
    assert live.tell_sums(rows, "other:1").value == "repeated"
    with pytest.raises(OutOfOrder, match="report 2 of 'web' is the next, got 3"):
        live.tell_sums(rows, "web:3")
    assert live.tell_sums(rows, "web:2").value == "counted"
    assert live.state.complete == 300


def test_late_versions_count_and_do_not_end_the_round(live):
    run(live, 4)
    version, before = live.weights().version, live.state.complete
    assert version > 2
    late = [row(1, "small", drawn("small", 5000, np.random.default_rng(2)))]
    live.tell_sums(late, "late:1")
    assert live.weights().version == version
    assert live.state.complete == before + 5000
    assert live.traffic().requests[0] >= 5000
    assert audit(live) == []


def test_a_version_that_was_not_published_is_refused(live):
    rows = [row(2, "small", drawn("small", 5, np.random.default_rng(2)))]
    with pytest.raises(checks.InvalidInput, match="one that was published, up to 1"):
        live.tell_sums(rows, "web:1")
    assert live.traffic().edges == []
    assert live.state.complete == 0


def test_the_time_of_a_round_ends_it_if_anybody_came(live, clock):
    first = live.published()
    clock.pass_time(61)
    assert live.published().version == 1  # nobody came
    live.tell_sums([row(1, "small", drawn("small", 12, np.random.default_rng(0)))], "web:1")
    assert live.weights().version == 2
    live.tell_sums([row(2, "small", drawn("small", 3, np.random.default_rng(0)))], "web:2")
    assert live.weights().version == 2
    clock.pass_time(59)
    assert live.weights().version == 2
    clock.pass_time(2)
    assert live.published().version == 3  # asking for weights is enough
    assert first.tag == "1-running"
    assert audit(live) == []


def test_a_jump_of_the_clock_on_the_wall_ends_no_round(live, clock):
    live.tell_sums([row(1, "small", drawn("small", 3, np.random.default_rng(0)))], "web:1")
    clock.wall += 3600.0
    assert live.weights().version == 1


def test_when_it_does_not_run_nothing_explores(live):
    run(live, 6)
    running = live.published()
    live.pause()
    paused = live.published()
    assert paused.explore == 0.0
    assert paused.version == running.version
    assert paused.segments == live.traffic().versions[-1].alone
    assert paused.tag != running.tag
    rng = np.random.default_rng(5)
    assert live.tell_sums(report(live, 1000, rng), "web:7").value == "counted"
    assert live.published() == paused  # no new version
    live.resume()
    assert live.published().version == running.version + 1
    live.stop("enough")
    assert live.published().explore == 0.0
    for key in ("web:8", "web:10", "other:3"):  # the cause, also to whoever has counted on
        with pytest.raises(Closed, match="takes no more sums"):
            live.tell_sums([], key)
    assert live.tell_sums([], "web:7").value == "repeated"
    assert audit(live) == []


def test_an_error_while_planning_loses_nothing(live, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("oh")

    rng = np.random.default_rng(0)
    with monkeypatch.context() as patch:
        patch.setattr(traffic, "plan_round", broken)
        assert live.tell_sums(report(live, 500, rng), "web:1").value == "counted"
    assert live.state.status == "failed"
    assert "ZeroDivisionError: oh" in live.state.reason
    assert live.state.complete == 500
    live.resume()
    assert live.weights().version == 2
    assert audit(live) == []


def test_it_starts_from_a_log(storage, name):
    rng = np.random.default_rng(0)
    tables = {arm: drawn(arm, 60, rng) for arm in ROUTER.arms}
    log = {
        "arm": np.repeat(ROUTER.arms, 60).tolist(),
        "reward": np.concatenate([t[:, 0] for t in tables.values()]),
        "dollars": np.concatenate([t[:, 1] for t in tables.values()]),
    }
    live = open_experiment(storage, name, ROUTER, traffic=QUICK, log=log)
    now = live.weights()
    assert now.certified
    assert live.traffic().versions[0].carry == {"dollars": 0.0}
    run(live, 3)
    assert live.state.complete == 120 + 900
    assert audit(live) == []


def test_requests_of_known_arms_count_for_the_limits(storage, name):
    known = {"off": Known(0.4, {"dollars": 0.0})}
    problem = Problem(["small", "large"], {"dollars": 1.0}, known)
    live = open_experiment(storage, name, problem, traffic=Traffic(explore="10%", serve="off", requests=100))
    rng = np.random.default_rng(0)
    rows = [row(1, "off", np.zeros((200, 2))), *(row(1, arm, drawn(arm, 20, rng)) for arm in problem.arms)]
    live.tell_sums(rows, "web:1")
    version = live.traffic().versions[-1]
    told = sum(rows[k]["sums"]["dollars"] for k in (1, 2))
    assert version.carry["dollars"] == pytest.approx(240 - told)
    assert live.history[0].pulls["off"] == 200
    assert audit(live) == []


def test_it_is_opened_again_with_the_same_settings_only(live, storage, name):
    again = open_experiment(storage, name, ROUTER, traffic=QUICK)
    assert again.weights() == live.weights()
    assert open_experiment(storage, name).published() == live.published()
    with pytest.raises(checks.AlreadyExists, match="strategy"):
        open_experiment(storage, name, ROUTER, traffic=Traffic("20%"))


def test_calls_of_the_other_kind_are_refused(live, storage):
    with pytest.raises(checks.InvalidInput, match="weights"):
        live.ask()
    plain = open_experiment("memory://", "p", ROUTER, 10)
    for call in (plain.weights, plain.traffic, lambda: plain.tell_sums([], "web:1")):
        with pytest.raises(checks.InvalidInput, match="has no live traffic"):
            call()
    with pytest.raises(checks.InvalidInput, match="takes the place"):
        open_experiment("memory://", "q", ROUTER, 10, traffic=Traffic())
    with pytest.raises(checks.InvalidInput, match="explore='5%'"):
        open_experiment("memory://", "q", ROUTER, traffic="5%")


def test_segments_have_weights_of_their_own(storage, name):
    problem = Problem(["small", "large"], {"dollars": 1.0}, segments={"free": 0.5, "paid": 0.5})
    live = open_experiment(storage, name, problem, traffic=Traffic(requests=50))
    assert set(live.published().segments) == {"free", "paid"}
    with pytest.raises(checks.InvalidInput, match="segment"):
        live.weights()
    rng = np.random.default_rng(0)
    rows = [row(1, arm, drawn(arm, 15, rng), segment) for arm in problem.arms for segment in problem.segments]
    live.tell_sums(rows, "web:1")
    assert live.weights("free").version == 2
    assert sum(live.weights("paid").weights.values()) == pytest.approx(1.0)


def test_the_first_version_is_of_what_is_known():
    version = traffic.first_version(ROUTER, QUICK, [Moments(2), Moments(2)], now=5.0)
    assert (version.number, version.at, version.expected) == (1, 5.0, 400)


@pytest.mark.parametrize("explore", ["0%", "5%"])
def test_a_segment_all_of_whose_arms_are_new_is_served_them(explore):
    problem = Problem(
        ["a", "b"], goal="maximise quality", limits=["dollars <= 2"], segments={"free": 0.99, "paid": 0.01}
    )
    exp = open_experiment("memory://", "t", problem, traffic=Traffic(explore=explore, requests=50))

    def row(version, segment, arm, n):
        values = [1 + (0.1 if k % 2 else -0.1) for k in range(n)]
        total, square = sum(values), sum(v * v for v in values)
        products = {"quality*quality": square, "quality*dollars": square, "dollars*dollars": square}
        sums = {"quality": total, "dollars": total}
        return {"version": version, "segment": segment, "arm": arm, "n": n, "sums": sums, "products": products}

    exp.tell_sums([row(1, s, a, 20) for s in ("free", "paid") for a in "ab"], key="w:1")
    exp.change(arms=["c"])
    version = exp.weights("free").version
    exp.tell_sums([row(version, "free", "c", 100), row(version, "paid", "c", 1)], key="w:2")
    for segment in ("free", "paid"):
        assert dict(exp.weights(segment).weights) == {"c": 1.0}
    assert not exp.weights("paid").certified
    assert "nothing is certain" in exp.weights("paid").alarm
    assert audit(exp) == []
