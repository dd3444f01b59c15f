"""Calls that come often: plain ones go past the framework, and what is wrong is said as the route says it."""

import json

import numpy as np
import pytest
from tests.experiments.flows import QUICK, ROUTER, drawn, row
from tests.service.servers import everything

ROUNDABOUT = "application/json; charset=utf-8"  # a type that the framework's route takes, and the direct way does not


@pytest.fixture
def live(running):
    return running.connect().create("live", ROUTER, traffic=QUICK)


def report(running, live, body, kind="application/json"):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    path = f"/v1/experiments/{live.record.key}/sums"
    return running.send("POST", path, content, headers={"Content-Type": kind})[::2]


def test_a_plain_report_is_counted_without_the_framework(running, live, monkeypatch):
    monkeypatch.setattr("bestmix.service.schemas.SumsRow.model_dump", None)
    good = row(1, "small", drawn("small", 9, np.random.default_rng(0)))
    assert report(running, live, {"key": "web:1", "rows": [good]}, ROUNDABOUT)[0] == 500  # what the route needs is gone
    assert report(running, live, {"key": "web:1", "rows": [good]}) == (200, b'{"outcome":"counted"}')
    assert report(running, live, {"key": "web:1", "rows": [good]}) == (200, b'{"outcome":"repeated"}')
    assert live.state.complete == 9


@pytest.mark.parametrize(
    "change", [{"n": 4.5}, {"n": 0}, {"arm": "huge"}, {"sums": {}}, {"more": 1}, {"version": 9}, {"segment": "free"}]
)
def test_what_is_wrong_is_said_as_the_route_says_it(running, live, change):
    wrong = row(1, "small", drawn("small", 9, np.random.default_rng(0))) | change
    told = [report(running, live, {"key": "web:1", "rows": [wrong]}, kind) for kind in ("application/json", ROUNDABOUT)]
    assert told[0] == told[1]
    assert told[0][0] == 422
    assert live.state.complete == 0


@pytest.mark.parametrize("kinds", [("text/plain", "application/json"), ("application/json", "text/plain")])
def test_of_two_types_of_a_body_the_first_one_counts_as_on_the_route(running, live, kinds):
    body = json.dumps({"key": "web:1", "rows": [row(1, "small", drawn("small", 9, np.random.default_rng(0)))]})
    head = (
        f"POST /v1/experiments/{live.record.key}/sums HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {running.token}\r\n"
    )
    head += f"Content-Length: {len(body)}\r\nConnection: close\r\n"
    alone = everything(running.raw(f"{head}Content-Type: {kinds[0]}\r\n\r\n{body}"))
    both = everything(running.raw(head + "".join(f"Content-Type: {kind}\r\n" for kind in kinds) + f"\r\n{body}"))
    assert alone[:12] == both[:12] == (b"HTTP/1.1 200" if kinds[0] == "application/json" else b"HTTP/1.1 422")
