"""Calls that come often: plain ones go past the framework, and what is wrong is said as the route says it."""

import json

import numpy as np
import pytest
from tests.experiments.flows import QUICK, ROUTER, drawn, row

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
