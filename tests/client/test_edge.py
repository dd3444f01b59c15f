import asyncio
import os
import subprocess
import sys
import threading
import time
from collections import Counter

import numpy as np
import pytest
from tests.experiments.flows import QUICK, ROUTER, drawn, row

from bestmix import Edge, Problem, Traffic
from bestmix.client.edge import BATCH, DRAWS
from bestmix.client.edge_choices import Choice, EdgeError, Place, Table
from bestmix.experiments.audit import audit

GOOD = {"reward": 1.0, "dollars": 0.25}


@pytest.fixture
def live(running):
    return running.connect().create("live", ROUTER, traffic=QUICK)


@pytest.fixture
def edge(running, live, tmp_path):
    with Edge(running.url, "live", running.token, spool=tmp_path / "spool", interval=0.1) as made:
        yield made


def test_requests_are_counted_by_their_arm(edge, live, running):
    counts = Counter()
    for _ in range(300):
        choice = edge.choose()
        counts[choice.arm] += 1
        edge.record(choice, GOOD)
    assert edge.flush()
    assert edge.status()["reported"] == edge.status()["recorded"] == live.state.complete == 300
    sums = running.storage.store.traffic(live.record.key).sums
    assert {ROUTER.arms[arm]: found.count for (_, arm), found in sums.items()} == dict(counts)
    assert counts["small"] > 250  # 95% of them
    assert audit(running.storage.open("live")) == []


def test_the_status_knows_what_was_recorded_before_it_is_reported(running, live, tmp_path):
    with Edge(running.url, "live", running.token, spool=tmp_path, interval=30.0) as edge:
        time.sleep(0.3)  # the first report, of nothing
        for metrics in (GOOD, GOOD, {"reward": 1.0}):
            edge.record(edge.choose(), metrics)
        assert [edge.status()[name] for name in ("recorded", "reported", "pending")] == [3, 0, 3]
        assert edge.flush()
        names = "recorded", "reported", "pending", "rejected", "dropped"
        assert [edge.status()[name] for name in names] == [3, 2, 0, 1, 0]


def test_a_stopped_experiment_is_the_cause_of_every_refusal(edge, live, caplog):
    live.stop("enough")
    for dropped in (1, 2, 3):
        edge.record(edge.choose(), GOOD)
        assert edge.flush()
        assert edge.status()["dropped"] == edge.status()["recorded"] == dropped
    refusals = [record.getMessage() for record in caplog.records if "refused" in record.getMessage()]
    assert len(refusals) == 3
    assert all("the experiment was stopped" in text for text in refusals)


def test_a_choice_is_recorded_by_its_id_in_another_process(edge, live, running, tmp_path):
    text = (
        "import sys; from bestmix.client.edge import Edge\n"
        "with Edge(*sys.argv[1:4], spool=sys.argv[4]) as edge:\n"
        "    edge.record(sys.argv[5], {'reward': 1.0, 'dollars': 0.5})\n"
        "assert 'numpy' not in sys.modules\n"
    )
    words = [running.url, "live", running.token, str(tmp_path / "other"), edge.choose().id]
    subprocess.run([sys.executable, "-c", text, *words], check=True)
    assert live.state.complete == 1


def test_without_a_token_it_says_where_one_is_looked_for(running, live, tmp_path):
    with pytest.raises(EdgeError, match=r"token: http://.* wants one; set the variable BESTMIX_TOKEN"):
        Edge(running.url, "live", "", spool=tmp_path)


def test_an_id_of_another_token_is_refused(edge):
    with pytest.raises(EdgeError, match="with this token"):
        edge.record("1.-.c21hbGw.AAAAAAAAAAAAAAAA", GOOD)
    with pytest.raises(EdgeError, match="id of a choice"):
        edge.record(None, GOOD)


def test_new_weights_are_followed_by_themselves(edge, live):
    live.tell_sums([row(1, arm, drawn(arm, 250, np.random.default_rng(0))) for arm in ROUTER.arms], "bulk")
    end = time.monotonic() + 20
    while edge.version < 2 and time.monotonic() < end:
        time.sleep(0.02)
    assert edge.version == 2
    assert edge.weights == live.published().segments
    old, new = Place(1, None, "small"), edge.choose()
    assert new.version == 2
    edge.record(edge._recorder.choice(old).id, GOOD)
    assert edge.flush()
    assert live.traffic().requests[:2] == [501, 0]  # late versions count


def test_a_unit_keeps_its_arm_within_a_version_on_every_edge(edge, running, tmp_path):
    with Edge(running.url, "live", running.token, spool=tmp_path / "other") as other:
        units = [f"user {k}" for k in range(200)]
        first = [edge.choose(unit=unit).arm for unit in units]
        assert first == [edge.choose(unit=unit).arm for unit in units] == [other.choose(unit=u).arm for u in units]


def test_users_without_a_name_do_not_all_get_one_arm(edge):
    assert len({edge.choose(unit="").arm for _ in range(200)}) > 1


def test_draws_and_units_follow_the_shares():
    choices = [Choice(Place(1, None, arm), arm, 1) for arm in "abc"]
    table, total = Table(choices, [0.2, 0.5, 0.3], "salt"), 20_000
    import random

    for found in (table.draw(random.Random(1), total), [table.at(k) for k in range(total)]):
        counts = Counter(choice.arm for choice in found)
        for arm, share in zip("abc", (0.2, 0.5, 0.3), strict=True):
            assert abs(counts[arm] / total - share) < 4 * (share * (1 - share) / total) ** 0.5  # 1 in 16,000


def test_segments_have_tables_of_their_own(running, tmp_path):
    problem = Problem(["small", "large"], {"dollars": 1.0}, segments={"free": 0.5, "paid": 0.5})
    running.connect().create("split", problem, traffic=Traffic())
    with Edge(running.url, "split", running.token, spool=tmp_path / "spool") as edge:
        assert edge.choose("free").segment == "free"
        assert edge.choose(segment="paid", unit=3).segment == "paid"
        for wrong in (None, "gold"):
            with pytest.raises(EdgeError, match="one of"):
                edge.choose(wrong)


def test_many_threads_record_and_nothing_is_lost(edge, live):
    def work():
        for _ in range(2 * BATCH):
            edge.record(edge.choose(), GOOD)

    crew = [threading.Thread(target=work) for _ in range(4)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    assert edge.flush()
    assert live.state.complete == 8 * BATCH


def test_coroutines_choose_and_record_without_waiting(edge, live):
    async def serve():
        choice = edge.choose()
        await asyncio.sleep(0)
        edge.record(choice, GOOD)

    async def main():
        await asyncio.gather(*(serve() for _ in range(50)))

    asyncio.run(main())
    assert edge.flush()
    assert live.state.complete == 50


def test_a_server_that_goes_away_and_comes_back_misses_nothing(running, live, tmp_path):
    spool = tmp_path / "spool"
    edge = Edge(running.url, "live", running.token, spool=spool, interval=0.05)
    edge.record(edge.choose(), GOOD)
    assert edge.flush()
    edge._terms = edge._reporter._terms = ("http://127.0.0.1:9", "live", running.token)
    edge._stopping.set()  # the threads still speak to the server
    time.sleep(0.1)
    for _ in range(DRAWS + 10):
        edge.record(edge.choose(), GOOD)
    assert not edge.flush(patience=0.0)
    assert len(list(spool.glob("*.json"))) == 1
    assert edge.status()["pending"] == DRAWS + 10
    edge._terms = edge._reporter._terms = (running.url, "live", running.token)
    assert edge.flush()
    assert live.state.complete == DRAWS + 11
    edge.close()


def test_what_an_edge_leaves_at_its_end_is_delivered_by_the_next_one(running, live, tmp_path):
    spool = tmp_path / "spool"
    first = Edge(running.url, "live", running.token, spool=spool)
    first._reporter._terms = ("http://127.0.0.1:9", "live", running.token)
    first._stopping.set()
    time.sleep(0.1)
    first.record(first.choose(), GOOD)
    first.close(patience=0.0)
    assert live.state.complete == 0
    with Edge(running.url, "live", running.token, spool=spool, interval=0.05):
        end = time.monotonic() + 20
        while not live.state.complete and time.monotonic() < end:
            time.sleep(0.02)
    assert live.state.complete == 1
    assert list(spool.glob("*.json")) == []


def test_the_last_weights_are_served_when_the_server_is_not_there_at_first(running, live, tmp_path, monkeypatch):
    spool = tmp_path / "spool"
    with Edge(running.url, "live", running.token, spool=spool) as first:
        wanted = first.weights

    def away(*_):
        from bestmix.client.edge_server import AwayError

        raise AwayError("nobody answers")

    monkeypatch.setattr("bestmix.client.edge_server.EdgeServer._call", away)
    second = Edge(running.url, "live", running.token, spool=spool, patience=0.0)
    assert second.weights == wanted
    assert second.choose().arm in ROUTER.arms
    second.close(patience=0.0)
    with pytest.raises(EdgeError, match="no weights are kept"):
        Edge(running.url, "live", running.token, spool=tmp_path / "empty", patience=0.0)


def test_an_experiment_that_was_made_anew_under_its_name_is_followed(running, live, tmp_path, caplog):
    with Edge(running.url, "live", running.token, spool=tmp_path / "spool", interval=0.05) as edge:
        old = edge.choose()
        edge.record(old, GOOD)
        assert edge.flush()
        live.delete()
        edge.record(old, GOOD)
        assert not edge.flush(patience=0.0)
        other = Problem(["tiny", "huge"], goal="maximise quality")  # other arms, another metric
        new = running.connect().create("live", other, traffic=Traffic())
        end = time.monotonic() + 20
        while edge.metrics != ("quality",) and time.monotonic() < end:
            time.sleep(0.02)
        edge.record(old, GOOD)  # late, of what is gone
        choice = edge.choose()
        assert choice.arm in other.arms
        edge.record(choice, {"quality": 1.0})
        assert edge.flush()
        assert (new.state.complete, edge.status()["dropped"], edge.status()["reported"]) == (1, 0, 1)
        assert "was deleted, with 1 requests" in caplog.text
        assert [path.name for path in (tmp_path / "spool").glob("*.json")] == []
        new.rename("another")
        edge.record(edge.choose(), {"quality": 1.0})
        assert edge.flush()  # by its id, whatever its name
        assert new.state.complete == 2


@pytest.mark.parametrize(("name", "token"), [("nobody", "own"), ("live", "bm_0123abcd_secret")])
def test_a_server_that_refuses_is_an_error_at_once(running, live, tmp_path, name, token):
    with pytest.raises(EdgeError, match="the server refuses"):
        Edge(running.url, name, running.token if token == "own" else token, spool=tmp_path / "spool")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_reports_what_is_its_own(running, live, tmp_path):
    text = (
        "import os, sys; from bestmix.client.edge import Edge\n"
        "edge = Edge(*sys.argv[1:4], spool=sys.argv[4], interval=0.1)\n"
        "choice = edge.choose()\n"
        "for _ in range(5): edge.record(choice, {'reward': 1.0, 'dollars': 0.5})\n"
        "child = os.fork()\n"
        "for _ in range(10): edge.record(choice, {'reward': 1.0, 'dollars': 0.5})\n"
        "for _ in range(3): edge.record(edge.choose(), {'reward': 1.0, 'dollars': 0.5})\n"
        "edge.close()\n"
        "os._exit(0) if not child else os.waitpid(child, 0)\n"
    )
    words = [running.url, "live", running.token, str(tmp_path / "spool")]
    subprocess.run([sys.executable, "-W", "ignore", "-c", text, *words], check=True, timeout=60)
    assert live.state.complete == 5 + 2 * 13
    assert len(live.traffic().edges) == 2


def test_the_end_of_a_process_reports_what_is_left(running, live, tmp_path):
    text = (
        "import sys; from bestmix.client.edge import Edge\n"
        "edge = Edge(*sys.argv[1:4], spool=sys.argv[4], interval=60.0)\n"
        "for _ in range(7): edge.record(edge.choose(), {'reward': 1.0, 'dollars': 0.5})\n"
    )
    subprocess.run(
        [sys.executable, "-c", text, running.url, "live", running.token, str(tmp_path / "spool")],
        check=True,
        timeout=60,
    )
    assert live.state.complete == 7
