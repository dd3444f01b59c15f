"""Live traffic over HTTP."""

import asyncio
import json
import threading
import time

import anyio
import numpy as np
import pytest
from tests.experiments.flows import QUICK, ROUTER, drawn, report, row

from bestmix import open_experiment
from bestmix.experiments.audit import audit
from bestmix.experiments.errors import OutOfOrder
from bestmix.experiments.experiment import read_report
from bestmix.service import held_reports
from bestmix.service.routes.traffic import Documents, Gathering
from bestmix.service.tokens import Scope


@pytest.fixture
def live(running):
    return running.connect().create("live", ROUTER, traffic=QUICK)


def path(live, rest):
    return f"/v1/experiments/{live.record.key}{rest}"


def test_a_client_has_the_calls_of_a_local_experiment(live, running):
    rng = np.random.default_rng(0)
    for k in range(1, 6):
        assert live.tell_sums(report(live, 300, rng), f"web:{k}").value == "counted"
    local = running.storage.open("live")
    assert live.published() == local.published()
    assert live.weights() == local.weights()
    assert live.traffic().to_dict() == local.traffic().to_dict()
    assert live.weights().version == 4
    assert live.tell_sums([], "web:5").value == "repeated"
    with pytest.raises(OutOfOrder, match="report 6 of 'web' is the next"):
        live.tell_sums([], "web:9")
    assert running.connect().create("live", ROUTER, traffic=QUICK).record == live.record


def test_weights_come_again_only_when_they_have_changed(live, running):
    status, headers, content = running.send("GET", path(live, "/weights"))
    document = json.loads(content)
    assert (status, headers["ETag"], document["version"]) == (200, '"1-running"', 1)
    same = {"If-None-Match": headers["ETag"]}
    assert running.send("GET", path(live, "/weights"), headers=same)[0] == 304
    began = time.monotonic()
    assert running.send("GET", path(live, "/weights"), headers=same, wait=0.7)[0] == 304
    assert time.monotonic() - began >= 0.7


def test_a_change_is_published_to_whoever_waits(live, running):
    rng = np.random.default_rng(0)
    for k in range(1, 6):
        live.tell_sums(report(live, 300, rng), f"web:{k}")
    before, found = live.weights(), []
    same = {"If-None-Match": f'"{before.version}-running"'}
    waiting = threading.Thread(
        target=lambda: found.append(running.send("GET", path(live, "/weights"), headers=same, wait=30))
    )
    waiting.start()
    time.sleep(0.2)
    live.change(bounds={"dollars": 0.5})
    waiting.join(30)
    document = json.loads(found[0][2])
    assert document["version"] == before.version + 1
    assert document["segments"][""]["large"] < before.weights["large"]
    assert live.state.changes[0]["text"] == "dollars <= 0.5 instead of dollars <= 1"
    page = running.send("GET", f"/experiments/{live.record.key}/change")[2].decode()
    assert "the next weights are published at once" in page
    assert 'name="budget"' not in page
    assert b"dollars &lt;= 0.5 instead of" in running.send("GET", f"/experiments/{live.record.key}/report")[2]


def test_reports_that_come_together_are_counted_together_and_each_is_answered(tmp_path, monkeypatch):
    exp = open_experiment(f"sqlite:///{tmp_path / 'x.db'}", "live", ROUTER, traffic=QUICK)
    written, submit = [], exp.storage.store.submit
    monkeypatch.setattr(exp.storage.store, "submit", lambda *given: written.append(given) or submit(*given))

    async def reported():
        gathering = Gathering(Documents(anyio.CapacityLimiter(1), threading.Event()))
        rng = np.random.default_rng(0)

        def count(key, n=20):
            rows = [row(1, "small", drawn("small", n, rng))]
            return gathering.count(exp, read_report(exp, rows, key))

        alone = [await count(f"edge {k}:1") for k in range(3)]
        keys = [f"edge {k}:2" for k in range(3)] + ["edge 0:1", "edge 1:7", "edge 2:3"]
        return alone, await asyncio.gather(*map(count, keys), return_exceptions=True)

    alone, together = asyncio.run(reported())
    assert len(written) == 3 + 1
    assert {outcome.value for outcome in [*alone, *together[:3]]} == {"counted"}
    assert (together[3].value, together[-1].value) == ("repeated", "counted")
    assert isinstance(together[-2], OutOfOrder)
    assert exp.state.complete == 20 * 7
    assert audit(exp) == []
    exp.close()


def test_reports_of_many_edges_wait_for_each_other_and_nobody_else_does(live, running, monkeypatch):
    monkeypatch.setattr(held_reports, "GATHER", 1.0)

    def sums(k, body=None):
        body = body or json.dumps({"key": f"edge {k}:1", "rows": [row(1, "small", drawn("small", 2, rng))]})
        head = f"POST {path(live, '/sums')} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {running.token}\r\n"
        return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n", body

    rng = np.random.default_rng(0)
    alone = running.raw(*sums(0))
    assert alone.recv(1000).startswith(b"HTTP/1.1 200")
    first = time.monotonic()
    many = [running.raw(*sums(k, body="{}" if k == 15 else None)) for k in range(1, 20)]  # each in two parts
    gone = running.raw(*sums(20))
    began = time.monotonic()
    assert running.send("GET", "/healthz")[0] == 200
    quick = time.monotonic() - began
    gone.close()
    answers = [connection.recv(1000)[9:12] for connection in many]
    assert answers == [b"422" if k == 15 else b"200" for k in range(1, 20)]
    assert quick < 1.0 < time.monotonic() - first
    assert live.state.complete == 2 * (1 + 18)  # of whoever hung up before it was read nothing is counted


def test_whoever_waits_gets_new_weights_at_once(live, running):
    found = []
    asking = threading.Thread(
        target=lambda: found.append(
            running.send("GET", path(live, "/weights"), headers={"If-None-Match": '"1-running"'}, wait=30)
        )
    )
    asking.start()
    time.sleep(0.3)
    began = time.monotonic()
    live.tell_sums(report(live, 500, np.random.default_rng(0)), "web:1")
    asking.join(20)
    assert time.monotonic() - began < 5.0
    status, headers, content = found[0]
    assert (status, headers["ETag"], json.loads(content)["version"]) == (200, '"2-running"', 2)


def test_a_pause_changes_what_is_published(live, running):
    live.pause()
    time.sleep(0.3)
    assert running.send("GET", path(live, "/weights"))[1]["ETag"] == '"1-paused"'


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"key": "web:1"}, 422, "rows"),
        ({"rows": []}, 422, "key"),
        ({"key": "", "rows": []}, 422, "key"),
        ({"key": "web:3", "rows": []}, 409, "key"),
        ({"key": "web:1", "rows": [{"arm": "small"}]}, 422, "rows.0.version"),
        ({"key": "web:1", "rows": [row(7, "small", drawn("small", 2, np.random.default_rng(0)))]}, 422, "version"),
        ({"key": "web:1", "rows": [row(1, "huge", drawn("small", 2, np.random.default_rng(0)))]}, 422, "arm"),
    ],
)
def test_reports_that_are_not_in_order_are_refused(live, running, body, status, field):
    found, answer = running.json("POST", path(live, "/sums"), body)
    assert (found, answer["error"]["field"]) == (status, field)
    assert live.state.complete == 0


def test_edges_need_a_token_to_work(live, running):
    _, reading = running.tokens.create(Scope.read)
    _, working = running.tokens.create(Scope.work, experiment="live")
    assert running.send("GET", path(live, "/weights"), token=reading)[0] == 403
    assert running.send("POST", path(live, "/sums"), {"key": "a", "rows": []}, token=reading)[0] == 403
    assert running.send("GET", path(live, "/weights"), token=working)[0] == 200
    assert running.send("POST", path(live, "/sums"), {"key": "a", "rows": []}, token=working)[0] == 200
    assert running.send("GET", path(live, "/traffic"), token=reading)[0] == 200


def test_an_experiment_with_trials_has_no_traffic(running):
    plain = running.create("plain")
    found, answer = running.json("GET", path(plain, "/weights"))
    assert found == 422
    assert "has no live traffic" in answer["error"]["message"]
