"""A single tell: answered as the framework's route answers, and without it where all is in order."""

import asyncio
import json
import threading
import time

import pytest
from tests.service.servers import Running

from bestmix import open_storage
from bestmix.client.connection import Connection
from bestmix.experiments import Experiment
from bestmix.experiments.audit import audit
from bestmix.service import bodies, http_protocol, plain_call
from bestmix.service.app import Settings
from bestmix.service.http_protocol import Limited

ROUNDABOUT = "application/json; charset=utf-8"  # a type that the framework's route takes, and the direct way does not


@pytest.fixture
def exp(running):
    return running.create(budget=100)


def tell(running, exp, body, kind="application/json", token=None, path=None):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    path = path or f"/v1/experiments/{exp.record.key}/tell"
    status, _, answer = running.send(
        "POST", path, content, token=token or running.token, headers={"Content-Type": kind}
    )
    return status, answer


def result(trial, reward=1.0, **costs):
    return {"trial": trial.id, "reward": reward, "costs": costs or {"dollars": 1.0}}


def request(exp, body, token, kind="application/json", more=""):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"POST /v1/experiments/{exp.record.key}/tell HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    return f"{head}Content-Type: {kind}\r\nContent-Length: {len(content)}\r\n{more}\r\n".encode() + content


def whole(running, exp, body, kind="application/json", token=None, more=""):
    """Status, body and headers, but for date and id, of a request that is sent in one piece."""
    with running.raw(request(exp, body, token or running.token, kind, f"Connection: close\r\n{more}")) as connection:
        answer = b""
        while part := connection.recv(65536):
            answer += part
    head, _, content = answer.partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    return int(status.split()[1]), content, sorted(x for x in lines if not x.startswith((b"date:", b"x-request-id:")))


@pytest.mark.parametrize("kind", ["application/json", ROUNDABOUT])
def test_a_name_that_stands_twice_is_refused(running, exp, kind):
    """Whichever value was meant, the other would be lost for good."""
    trial = exp.ask(1)[0]
    body = json.dumps(result(trial)).replace('"reward": 1.0', '"reward": 1.0, "reward": 7.0').encode()
    status, answer = tell(running, exp, body, kind)
    assert status == 400
    assert json.loads(answer)["error"]["message"].startswith("body: 'reward' stands there twice; remove one")
    assert exp.state.complete == 0
    assert tell(running, exp, result(trial), kind)[0] == 200


@pytest.fixture
def remembering(tmp_path):
    """A server that knows its tokens for a while, as usual."""
    made = []

    def make(rate=5000.0, proxies=None, remember=60.0):
        storage = open_storage(tmp_path / "remembering.db")
        made.append(Running(storage, Settings(rate=rate, remember=remember), proxies=proxies))
        return made[-1], made[-1].create(budget=100)

    yield make
    for running in made:
        running.stop()
        running.storage.close()


def test_a_whole_result_needs_no_task(running, exp, monkeypatch):
    first, second = exp.ask(2)
    monkeypatch.setattr(running.app, "around", None)
    status, content, headers = whole(running, exp, result(first))
    assert (status, content) == (200, b'{"outcome":"counted"}')
    assert whole(running, exp, result(first))[1] == b'{"outcome":"repeated"}'
    conflict = whole(running, exp, result(first, 2.0))
    assert (conflict[0], json.loads(conflict[1])["error"]["field"]) == (409, "trial")
    monkeypatch.undo()
    assert whole(running, exp, result(second), ROUNDABOUT)[2] == headers
    counted = b'bestmix_requests_total{method="POST",route="/v1/experiments/{experiment}/tell",status="%d"} %d'
    found = running.send("GET", "/metrics")[2]
    assert all(counted % pair in found for pair in ((200, 3), (409, 1)))
    assert audit(running.storage.open(exp.name)) == []


def records(caplog, count):
    """So many lines of the log, which come after the answers."""
    limit = time.monotonic() + 10.0
    while len(caplog.records) < count and time.monotonic() < limit:
        time.sleep(0.01)
    return caplog.records


def test_a_line_in_the_log_tells_the_same(running, exp, caplog):
    caplog.set_level("INFO", "bestmix.service")
    (trial,) = exp.ask()
    caplog.clear()
    whole(running, exp, result(trial))
    whole(running, exp, result(trial), ROUNDABOUT)
    lines = records(caplog, 2)
    direct, roundabout = ({k: v for k, v in line.data.items() if k not in ("request", "ms")} for line in lines)
    assert direct == roundabout
    assert direct["token"] == running.own.prefix


def test_a_result_is_taken_after_another_on_the_same_connection(running, exp):
    trials = list(exp.ask(4))
    connection = Connection("127.0.0.1", running.port, False, 20.0)
    bearer = f"Authorization: Bearer {running.token}\r\nContent-Type: application/json\r\n"
    for trial in trials[:2]:
        path = f"/v1/experiments/{exp.record.key}/tell"
        assert connection.call("POST", path, bearer, json.dumps(result(trial)).encode()).status == 200
        assert connection.call("GET", path.removesuffix("/tell"), bearer, None).status == 200
    connection.close()
    three = [request(exp, body, running.token) for body in (result(trials[2]), {}, result(trials[3]))]
    with running.raw(b"".join(three)) as connection:
        answers = b""
        while answers.count(b"HTTP/1.1 ") < 3 or not answers.endswith(b"}"):
            answers += connection.recv(65536)
    assert [int(part[:3]) for part in answers.split(b"HTTP/1.1 ")[1:]] == [200, 422, 200]
    assert exp.state.complete == 4


class KeptConnection:
    """Requests on one connection, each of them sent in one piece after the answer to the one before."""

    def __init__(self, running, token=None):
        self.running, self.token = running, token or running.token
        self.socket = running.raw()

    def tell(self, exp, *bodies, length=2000):
        """Status and body of the answers to bodies that spaces make equally long, so that their heads are the same."""
        texts = [body if isinstance(body, bytes) else json.dumps(body).encode() for body in bodies]
        self.socket.sendall(b"".join(request(exp, text.ljust(length), self.token) for text in texts))
        answers = b""
        while answers.count(b"HTTP/1.1 ") < len(texts) or not answers.endswith(b"}"):
            answers += self.socket.recv(65536)
        found = [part.partition(b"\r\n\r\n") for part in answers.split(b"HTTP/1.1 ")[1:]]
        return [(int(head[:3]), content) for head, _, content in found]


@pytest.fixture
def reads(monkeypatch):
    """Data that went through the parser of HTTP."""
    found, read = [], Limited.read
    monkeypatch.setattr(Limited, "read", lambda self, data: found.append(data) or read(self, data))
    return found


def test_a_head_that_was_read_is_not_read_again(running, exp, reads):
    first, second, third = exp.ask(3)
    kept = KeptConnection(running)
    del reads[:]
    assert kept.tell(exp, result(first), length=200) == [(200, b'{"outcome":"counted"}')]
    assert kept.tell(exp, result(second), length=200) == [(200, b'{"outcome":"counted"}')]
    assert kept.tell(exp, result(second), length=200) == [(200, b'{"outcome":"repeated"}')]
    assert len(reads) == 1
    assert kept.tell(exp, result(third), length=201) == [(200, b'{"outcome":"counted"}')]
    assert len(reads) == 2  # another length is another head
    counted = b'bestmix_requests_total{method="POST",route="/v1/experiments/{experiment}/tell",status="200"} 4'
    assert counted in running.send("GET", "/metrics")[2]
    assert audit(running.storage.open(exp.name)) == []


def test_a_date_is_that_of_the_answer(running, exp):
    (trial,) = exp.ask()
    data, dates = request(exp, result(trial), running.token), set()
    with running.raw() as connection:
        for _ in range(2):
            connection.sendall(data)
            dates |= {line for line in connection.recv(65536).split(b"\r\n") if line.startswith(b"date: ")}
            time.sleep(2.2)
    assert len(dates) == 2


def test_requests_of_a_known_head_are_answered_in_order(running, exp, reads):
    trials = list(exp.ask(5))
    kept = KeptConnection(running)
    kept.tell(exp, result(trials[0]), length=200)
    bodies = [result(trials[1]), result(trials[1], 2.0), {}, result(trials[2])]
    assert [status for status, _ in kept.tell(exp, *bodies, length=200)] == [200, 409, 422, 200]
    assert kept.tell(exp, result(trials[3]), length=200)[0][0] == 200
    kept.socket.sendall(request(exp, json.dumps(result(trials[4])).encode().ljust(200), running.token)[:-9])
    time.sleep(0.1)
    kept.socket.sendall(b" " * 9)
    assert kept.socket.recv(12) == b"HTTP/1.1 200"
    assert exp.state.complete == 5


def test_a_known_head_behind_a_report_that_is_held_waits_for_its_turn(running, exp):
    """Reports of many edges are read together, a little later; what follows one on its connection comes after it."""
    first, second = exp.ask(2)
    kept = KeptConnection(running)
    kept.tell(exp, result(first), length=200)
    tell = request(exp, json.dumps(result(second)).encode().ljust(200), running.token)
    report = request(exp, b"{}", running.token).replace(b"/tell ", b"/sums ", 1)
    others = [running.raw(report) for _ in range(12)]
    time.sleep(0.05)
    kept.socket.sendall(report)
    time.sleep(0.02)
    kept.socket.sendall(tell)
    answers = b""
    while answers.count(b"HTTP/1.1 ") < 2:
        answers += kept.socket.recv(65536)
    assert [part[:3] for part in answers.split(b"HTTP/1.1 ")[1:]] == [b"422", b"200"]
    for one in others:
        one.close()


def test_lines_between_known_heads_do_not_add_up(running, exp, monkeypatch):
    """Old clients send an empty line after a body, which is no part of the next head."""
    monkeypatch.setattr(http_protocol, "LONGEST_HEAD", 600)
    (trial,) = exp.ask()
    data = request(exp, result(trial), running.token)
    with running.raw() as connection:
        for _ in range(320):
            connection.sendall(data)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
            connection.sendall(b"\r\n")
            time.sleep(0.001)


def test_a_known_head_whose_token_was_revoked_is_refused(remembering):
    running, exp = remembering(remember=0.3)
    made, token = running.tokens.create("work")
    first, second = exp.ask(2)
    kept = KeptConnection(running, token)
    assert [kept.tell(exp, result(first))[0][0] for _ in range(3)] == [200] * 3
    running.tokens.revoke(made.prefix)
    time.sleep(0.4)
    assert kept.tell(exp, result(second))[0][0] == 401
    assert exp.state.complete == 1


def test_too_many_with_a_known_head_are_refused(remembering):
    running, exp = remembering(rate=20.0)
    (trial,) = exp.ask()
    kept = KeptConnection(running)
    assert {kept.tell(exp, result(trial))[0][0] for _ in range(40)} == {200, 429}


def test_a_known_head_of_a_deleted_experiment_finds_none(running, exp):
    (trial,) = exp.ask()
    kept = KeptConnection(running)
    assert kept.tell(exp, result(trial))[0][0] == 200
    exp.delete()
    assert kept.tell(exp, result(trial))[0][0] in (404, 409)


def test_stopping_waits_for_a_result_with_a_known_head(running, exp, monkeypatch):
    first, second = exp.ask(2)
    kept = KeptConnection(running)
    kept.tell(exp, result(first), length=200)
    write, at_work = running.storage.store.database.write, threading.Event()
    monkeypatch.setattr(
        running.storage.store.database, "write", lambda work: at_work.set() or time.sleep(0.5) or write(work)
    )
    kept.socket.sendall(request(exp, json.dumps(result(second)).encode().ljust(200), running.token))
    assert at_work.wait(10)
    running.server.should_exit = True
    answer = b""
    while part := kept.socket.recv(65536):
        answer += part
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"connection: close" in answer
    running.thread.join(20)


def test_a_client_that_waits_to_be_told_to_go_on_is(running, exp):
    (trial,) = exp.ask()
    status, content, _ = whole(running, exp, result(trial), more="Expect: 100-continue\r\n")
    assert status == 100
    assert content.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("scope", ["read", "other", "revoked", "none", "fine"])
def test_a_known_token_may_do_what_it_may_do(remembering, scope):
    running, exp = remembering()
    (trial,) = exp.ask()
    running.create("other")
    key = {"other": "other", "fine": exp.name}.get(scope)
    made, token = running.tokens.create("read" if scope == "read" else "work", experiment=key)
    if scope == "revoked":
        running.tokens.revoke(made.prefix)
    token += "x" if scope == "none" else ""
    for _ in range(2):  # the first request makes the token known
        direct, roundabout = (
            whole(running, exp, result(trial), kind, token) for kind in ("application/json", ROUNDABOUT)
        )
        assert direct[0] == roundabout[0] == {"fine": 200, "revoked": 401, "none": 401}.get(scope, 403)
        assert scope == "fine" or direct == roundabout
    assert exp.state.complete == (scope == "fine")


def test_too_many_are_refused(remembering):
    running, exp = remembering(rate=20.0)
    (trial,) = exp.ask()
    found = [whole(running, exp, result(trial)) for _ in range(40)]
    assert {status for status, *_ in found} == {200, 429}
    assert any(line.startswith(b"retry-after:") for line in next(f[2] for f in found if f[0] == 429))


@pytest.mark.parametrize(("proxies", "address"), [("127.0.0.1", "192.0.2.7"), ("192.0.2.1", "127.0.0.1")])
def test_the_address_behind_a_proxy_is_in_the_log(remembering, caplog, monkeypatch, proxies, address):
    caplog.set_level("INFO", "bestmix.service")
    running, exp = remembering(proxies=proxies)
    (trial,) = exp.ask()
    caplog.clear()
    monkeypatch.setattr(running.app, "around", None)
    assert whole(running, exp, result(trial), more="X-Forwarded-For: 192.0.2.7\r\n")[0] == 200
    assert [record.data["from"] for record in records(caplog, 1)] == [address]


def test_stopping_waits_for_a_result_that_is_being_written(running, exp, monkeypatch):
    (trial,) = exp.ask()
    write, at_work = running.storage.store.database.write, threading.Event()

    def slow(work):
        at_work.set()
        time.sleep(0.5)
        return write(work)

    monkeypatch.setattr(running.storage.store.database, "write", slow)
    with running.raw(request(exp, result(trial), running.token)) as connection:
        assert at_work.wait(10)
        running.server.should_exit = True
        answer = b""
        while part := connection.recv(65536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"connection: close" in answer
    running.thread.join(20)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, asyncio.CancelledError])
def test_a_write_that_is_interrupted_is_answered_too(running, exp, monkeypatch, interrupt):
    (trial,) = exp.ask()

    def interrupted(work):
        raise interrupt

    monkeypatch.setattr(running.storage.store.database, "write", interrupted)
    status, content, _ = whole(running, exp, result(trial))
    assert (status, json.loads(content)["error"]["code"]) == (503, "unavailable")
    monkeypatch.undo()
    assert whole(running, exp, result(trial))[:2] == (200, b'{"outcome":"counted"}')


def test_a_result_whose_client_has_gone_is_counted(running, exp):
    (trial,) = exp.ask()
    running.raw(request(exp, result(trial), running.token)).close()
    for _ in range(200):
        if exp.state.complete:
            break
        time.sleep(0.02)
    assert exp.state.complete == 1


def test_a_plain_result_needs_no_framework(running, exp, monkeypatch):
    first, second = exp.ask(2)
    monkeypatch.setattr(Experiment, "tell", None)
    assert tell(running, exp, result(first)) == (200, b'{"outcome":"counted"}')
    assert tell(running, exp, result(first)) == (200, b'{"outcome":"repeated"}')
    assert tell(running, exp, result(second, 1, dollars=0), path=f"/v1/experiments/{exp.name}/tell")[0] == 200
    assert exp.state.complete == 2
    counted = b'bestmix_requests_total{method="POST",route="/v1/experiments/{experiment}/tell",status="200"} 3'
    assert counted in running.send("GET", "/metrics")[2]
    assert audit(running.storage.open(exp.name)) == []


BODIES = {
    "conflict": lambda trial: result(trial, 2.0),
    "repeated": result,
    "unknown trial": lambda trial: result(trial) | {"trial": "x"},
    "another's trial": lambda trial: result(trial) | {"trial": "0123456789ab-1"},
    "trial too long": lambda trial: result(trial) | {"trial": "x" * 41},
    "no such number": lambda trial: result(trial) | {"trial": trial.id.split("-")[0] + "-999"},
    "wrong cost": lambda trial: result(trial, euros=1.0),
    "text": lambda trial: result(trial, "1.0"),
    "truth": lambda trial: result(trial, True),
    "too large": lambda trial: result(trial, 1e200),
    "huge": lambda trial: result(trial, 10**400),
    "more": lambda trial: result(trial) | {"more": 1},
    "missing": lambda trial: {"trial": trial.id},
    "list": lambda trial: [result(trial)],
    "metrics": lambda trial: {"trial": trial.id, "metrics": {"reward": 1.0, "dollars": 1.0}},
    "other metrics": lambda trial: {"trial": trial.id, "metrics": {"reward": 2.0, "dollars": 1.0}},
    "wrong metrics": lambda trial: {"trial": trial.id, "metrics": {"reward": 1.0}},
    "metrics of a list": lambda trial: {"trial": trial.id, "metrics": [1.0, 1.0]},
    "metrics beside": lambda trial: result(trial) | {"metrics": {"reward": 1.0, "dollars": 1.0}},
    "costs of a list": lambda trial: result(trial) | {"costs": [1.0]},
    "no costs": lambda trial: {"trial": trial.id, "reward": 1.0},
    "not JSON": lambda trial: b"{",
    "nothing": lambda trial: b"",
    "NaN": lambda trial: b'{"trial": "%s", "reward": NaN, "costs": {"dollars": 1.0}}' % trial.id.encode(),
    "deep": lambda trial: b'{"reward": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    "UTF-16": lambda trial: json.dumps(result(trial)).encode("utf-16"),
    "no UTF-8": lambda trial: b'{"trial": "\xff"}',
    "surrogate": lambda trial: b'{"trial": "\\ud800", "reward": 1.0, "costs": {"dollars": 1.0}}',
}


@pytest.mark.parametrize("kind", BODIES)
def test_whatever_is_not_in_order_is_answered_as_the_route_does(running, exp, kind):
    (trial,) = exp.ask()
    exp.tell(trial, 1.0, [1.0])
    body = BODIES[kind](trial)
    found = tell(running, exp, body, ROUNDABOUT)
    assert tell(running, exp, body) == found
    assert whole(running, exp, body)[:2] == found
    assert whole(running, exp, body)[2] == whole(running, exp, body, ROUNDABOUT)[2]


@pytest.mark.parametrize("kind", BODIES)
def test_whatever_has_a_known_head_is_answered_as_the_route_does(running, exp, kind):
    (trial,) = exp.ask()
    kept, body = KeptConnection(running), BODIES[kind](trial)
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    length = max(2000, len(text))
    assert kept.tell(exp, result(trial), length=length) == [(200, b'{"outcome":"counted"}')]
    assert kept.tell(exp, text, length=length) == [tell(running, exp, text.ljust(length), ROUNDABOUT)]
    assert kept.tell(exp, result(trial), length=length) == [(200, b'{"outcome":"repeated"}')]


@pytest.mark.parametrize("scope", ["read", "other", "none"])
def test_the_rule_is_that_of_the_route(running, exp, scope):
    (trial,) = exp.ask()
    running.create("other")
    token = {
        "read": lambda: running.tokens.create("read")[1],
        "other": lambda: running.tokens.create("work", experiment="other")[1],
        "none": lambda: "bm_01234567_nonsense",
    }[scope]()
    direct, roundabout = (tell(running, exp, result(trial), kind, token) for kind in ("application/json", ROUNDABOUT))
    assert direct == roundabout
    assert direct[0] in (401, 403)
    assert exp.state.complete == 0


def test_a_stopped_experiment_is_closed(running, exp):
    (trial,) = exp.ask()
    exp.stop("enough")
    assert tell(running, exp, result(trial)) == tell(running, exp, result(trial), ROUNDABOUT)
    assert tell(running, exp, result(trial))[0] == 409


def head(running, exp, length):
    access = f"Authorization: Bearer {running.token}\r\nContent-Type: application/json\r\n"
    return f"POST /v1/experiments/{exp.record.key}/tell HTTP/1.1\r\nHost: x\r\n{access}Content-Length: {length}\r\n\r\n"


def test_a_body_in_parts_is_taken(running, exp):
    (trial,) = exp.ask()
    content = json.dumps(result(trial))
    with running.raw(head(running, exp, len(content)) + content[:9]) as connection:
        connection.sendall(content[9:].encode())
        assert connection.recv(12) == b"HTTP/1.1 200"


def test_a_body_that_stops_is_given_up_once(running, exp, monkeypatch):
    monkeypatch.setattr(plain_call, "STALL_SECONDS", 0.2)
    monkeypatch.setattr(bodies, "STALL_SECONDS", 5.0)
    with running.raw(head(running, exp, 100)) as connection:
        connection.settimeout(3.0)
        assert connection.recv(12) == b"HTTP/1.1 408"


def test_a_body_that_stops_behind_other_requests_is_given_up(running, exp, monkeypatch):
    monkeypatch.setattr(bodies, "STALL_SECONDS", 0.2)
    first, second = exp.ask(2)
    before = [request(exp, result(trial), running.token) for trial in (first, second)]
    with running.raw(b"".join(before) + head(running, exp, 100).encode() + b'{"a') as connection:
        connection.settimeout(3.0)
        answers = b""
        while part := connection.recv(65536):
            answers += part
    assert [int(part[:3]) for part in answers.split(b"HTTP/1.1 ")[1:]] == [200, 200, 408]


def test_a_body_whose_rest_comes_behind_another_request_is_taken_as_its_own(running, exp):
    first, second, third = exp.ask(3)
    last = request(exp, result(third), running.token)
    with running.raw(
        *[request(exp, result(trial), running.token) for trial in (first, second)], last[:-9]
    ) as connection:
        answers = b""
        while answers.count(b'{"outcome":"counted"}') < 2:
            answers += connection.recv(65536)
        connection.sendall(last[-9:])
        while answers.count(b'{"outcome":"counted"}') < 3:
            answers += connection.recv(65536)
    assert exp.state.complete == 3


def test_whoever_leaves_answers_unread_gets_no_more_of_them(running, exp):
    (trial,) = exp.ask()
    with running.raw(request(exp, result(trial), running.token)) as connection:
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        (own,) = [one for one in running.server.server_state.connections if one.client == connection.getsockname()]
        paused = threading.Event()
        own.loop.call_soon_threadsafe(lambda: own.pause_writing() or paused.set())
        assert paused.wait(10)
        connection.sendall(request(exp, result(trial), running.token))
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(65536)
        own.loop.call_soon_threadsafe(own.resume_writing)
        connection.settimeout(20.0)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
