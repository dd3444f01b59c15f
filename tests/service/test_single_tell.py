"""A single tell: answered as the framework's route answers, and without it where all is in order."""

import json

import pytest

from bestmix.experiments import Experiment
from bestmix.experiments.audit import audit
from bestmix.service import bodies, plain_call

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
    assert tell(running, exp, body) == tell(running, exp, body, ROUNDABOUT)


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
